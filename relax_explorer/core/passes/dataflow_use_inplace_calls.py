"""DataflowUseInplaceCalls: let elementwise operators overwrite an operand that nothing reads afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.arith.prove import Answer as Proof
from relax_explorer.core.arith.prove import shapes_equal
from relax_explorer.core.check.block_memory import BlockMemory, FreshResults
from relax_explorer.core.check.infer import UNREPORTED
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.facts import add_read
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import dataflow_blocks
from relax_explorer.core.ops import get
from relax_explorer.core.ops.kit import legalize
from relax_explorer.core.ops.kit.decl import NotLowered
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.readings import DATAFLOW, OPERATORS
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases.module_properties import ADDED_KERNELS, NORMAL_FORM
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.mutator import Substitution
from relax_explorer.core.tir.stmt import Buffer

_ELEMENTWISE = frozenset(
    f"relax.{name}" for name in ("add", "subtract", "multiply", "divide", "nn.relu", "nn.silu")
)
"""The operators that TVM's pass knows. Each element of the result needs that element of the operand, and no other."""


@module_pass(
    "DataflowUseInplaceCalls",
    rebuilds=True,
    reads=[DATAFLOW, OPERATORS],
    only_with=[DATAFLOW, OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=ADDED_KERNELS,
)
def dataflow_use_inplace_calls(module: IRModule, at: PassSite) -> IRModule:
    """In dataflow blocks, compute add, subtract, multiply, divide, nn.relu and nn.silu in the memory of an operand.

    The operand has the shape and dtype of the result, its memory was made in the block, and no later binding names a value that
    may share it. If several operands are so, the last one is overwritten. The call becomes a call_tir_inplace of a kernel.
    """
    for name, fn in module.relax_functions.items():  # here TVM goes by the text
        at.function = name
        at.editor.replace(name, _in_its_blocks(fn, at))
    return at.editor.done()


def _in_its_blocks(fn: e.Function, at: PassSite) -> e.Function:
    places = {binding: place for block in dataflow_blocks(fn) for binding, place in _found(block, at)}

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        place = places.get(binding)  # the pass renames nothing, so the walk meets the bindings themselves
        if place is None or type(binding) is not e.VarBinding or type(binding.value) is not e.Call:
            return binding
        try:
            return replace(binding, value=_in_place(binding.value, place, at))
        except NotLowered:  # its shape is not known
            return binding

    return rewrite(fn, at, rule) if places else fn


def _found(block: e.DataflowBlock, at: PassSite) -> Iterator[tuple[e.Binding, int]]:
    """The bindings that may overwrite an operand, with the number of the operand."""
    if not _has_last_reader(block):
        return
    memory: BlockMemory | None = None
    for position, binding in enumerate(block.bindings):
        call = binding.value
        if type(binding) is not e.VarBinding or type(call) is not e.Call or type(call.op) is not e.OpRef:
            continue
        if call.op.name not in _ELEMENTWISE:
            continue
        if memory is None:
            memory = BlockMemory(block, at.once("fresh", lambda: FreshResults(at.module)))
        for place in reversed(range(len(call.args))):
            if _may_overwrite(call, place, position, memory):
                yield binding, place
                break


def _has_last_reader(block: e.DataflowBlock) -> bool:
    """True if an operator that can overwrite is the last to read a like tensor of the block: most often one walk tells that none is."""
    later = set[e.Expr]()
    own = {binding.var for binding in block.bindings}
    for binding in reversed(block.bindings):
        call = binding.value
        if type(call) is e.Call and type(call.op) is e.OpRef and call.op.name in _ELEMENTWISE:
            for arg in call.args:
                is_last = type(arg) is e.DataflowVar and arg in own and arg not in later
                if is_last and _same_tensor(arg.struct_info, call.struct_info):
                    return True
        add_read(binding, later)
    return False


def _may_overwrite(call: e.Call, place: int, position: int, memory: BlockMemory) -> bool:
    operand = call.args[place]
    return (
        isinstance(operand, e.Var)
        and memory.is_last(operand, position)
        and _same_tensor(operand.struct_info, call.struct_info)
        and not any(other is not operand and memory.share(other, operand) for other in call.args)
    )


def _same_tensor(a: s.StructInfo | None, b: s.StructInfo | None) -> bool:
    """True if both are tensors of one dtype on one device, with shapes that are proved to be equal."""
    if not isinstance(a, s.TensorStructInfo) or not isinstance(b, s.TensorStructInfo):
        return False
    if a.dims is None or b.dims is None or a.dtype is None:
        return False
    return a.dtype is b.dtype and a.vdevice == b.vdevice and shapes_equal(a.dims, b.dims) is Proof.YES


_IN_PLACE = e.op_ref("relax.call_tir_inplace")


def _in_place(call: e.Call, place: int, at: PassSite) -> e.Call:
    """The call that overwrites the operand at `place`."""
    infos = [UNREPORTED.info(arg) for arg in call.args]
    flat = legalize.flat_operands(call)
    # Some operands are literals of the kernel.
    place = max(n for n, arg in enumerate(flat) if arg is call.args[place])

    def make() -> tuple[e.GlobalVar, tuple[e.Expr, ...], s.StructInfo]:
        lowered = legalize.lower(call, infos)
        kernel = _kernel(call, lowered.prim_func, place, legalize.key(call, infos), at)
        return kernel, lowered.args[len(flat) :], lowered.out

    kernel, lengths, info = at.once(("exact", place, legalize.exact_key(call, infos)), make)
    args, attrs = (kernel, e.tuple_of((*flat, *lengths))), Attrs({"inplace_indices": (place,)})
    return e.Call(_IN_PLACE, args, attrs, (info,), struct_info=info, span=call.span)


def _kernel(call: e.Call, prim_func: t.PrimFunc, place: int, key: object, at: PassSite) -> e.GlobalVar:
    """The kernel that overwrites its operand at `place`. Calls with equal keys share it."""
    assert type(call.op) is e.OpRef  # the caller saw one
    like = get(call.op.name).kernel_name()  # TVM names it after the one that would fill new memory

    def make() -> e.GlobalVar:
        base = at.once(("name", key), lambda: at.editor.fresh_name(like))
        return at.editor.add(f"{base}_inplace", _overwriting(prim_func, place))

    return at.once(("in place", place, key), make)


def _overwriting(kernel: t.PrimFunc, place: int) -> t.PrimFunc:
    """A kernel with one result that fills the buffer of its operand at `place` instead of one of its own."""
    *params, result = kernel.params
    overwritten = params[place]
    assert isinstance(result, Buffer)  # an elementwise operator has one result
    assert isinstance(overwritten, Buffer)
    body = Substitution({}, {result: overwritten}).stmt(kernel.body)
    return replace(kernel, params=tuple(params), body=body)
