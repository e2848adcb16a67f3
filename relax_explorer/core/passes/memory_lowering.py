"""Memory: reused (DataflowUseInplaceCalls), planned (StaticPlanBlockMemory), allocated and freed; and RewriteCUDAGraph."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.arith.prove import Answer as Proof
from relax_explorer.core.arith.prove import shapes_equal
from relax_explorer.core.check.block_memory import BlockMemory, FreshResults
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.infer import UNREPORTED
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import INT64, UINT8, DType
from relax_explorer.core.ir.facts import Facts, add_read, facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import called, dataflow_blocks, sequences
from relax_explorer.core.ops import get
from relax_explorer.core.ops.kit import legalize
from relax_explorer.core.ops.kit.decl import NotLowered
from relax_explorer.core.passes.canonicalize_bindings import canonicalize
from relax_explorer.core.passes.contract import PassSite, function_pass, module_pass
from relax_explorer.core.passes.eliminate import KILLS, killed
from relax_explorer.core.passes.readings import ALLOCATIONS, DATAFLOW, OPERATORS
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.memory_plan import DYNAMIC_RESULTS, Storage, plan
from relax_explorer.core.phases.module_properties import (
    ADDED_KERNELS,
    ALLOCATION_LOWERED,
    BUILTINS_LOWERED,
    EXPLICIT_ALLOCATION,
    MEMORY_PLANNED,
    NO_DATAFLOW,
    NORMAL_FORM,
    PURITY_ERASED,
    SHAPES_LOWERED,
)
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.mutator import Substitution
from relax_explorer.core.tir.stmt import Buffer


@function_pass(
    "LowerAllocTensor",
    requires=[NORMAL_FORM, EXPLICIT_ALLOCATION],
    establishes=[ALLOCATION_LOWERED],
    invalidates=[BUILTINS_LOWERED, SHAPES_LOWERED],
)
def lower_alloc_tensor(fn: e.Function, at: PassSite) -> e.Function:
    """Turn each `builtin.alloc_tensor` into `memory.alloc_storage` and `memory.alloc_tensor`."""
    names = FreshNames.of(fn)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if not m.is_allocation(value):
            return binding
        lengths, dtype, device, scope = value.args
        assert isinstance(lengths, e.ShapeExpr)  # inference refuses other operands
        assert isinstance(dtype, e.DataTypeImm)
        size = m.shape((bytes_of(lengths.values, dtype.value),))
        storage = m.bound(
            names("storage"),
            m.operation(
                "relax.memory.alloc_storage", (size, device, scope, m.element_type(UINT8)), s.OBJECT, value
            ),
        )
        return storage, e.with_value(binding, m.tensor_of(storage.var, value, 0))

    return rewrite(fn, at, rule)


def bytes_of(lengths: tuple[p.PrimExpr, ...], dtype: DType) -> p.PrimExpr:
    """The size of a tensor in bytes: the bytes of an element times the number of elements, without factors of 1."""
    size: p.PrimExpr = p.IntImm((dtype.bits * dtype.lanes + 7) // 8, INT64)
    for length in lengths:
        if isinstance(size, p.IntImm) and isinstance(length, p.IntImm):
            size = p.IntImm(size.value * length.value, INT64)
        elif getattr(size, "value", None) == 1 or getattr(length, "value", None) == 0:
            size = length
        elif getattr(length, "value", None) != 1:
            size = size * length
    return size


# -- kill after last use ---------------------------------------------------------------------------------------------
# KillAfterLastUse: end the life of each value after its last use.


@function_pass(
    "KillAfterLastUse",
    has_profiles=True,
    requires=[NORMAL_FORM],
    needs=[NO_DATAFLOW, PURITY_ERASED],
    invalidates=[BUILTINS_LOWERED],
)
def kill_after_last_use(fn: e.Function, at: PassSite) -> e.Function:
    """Canonicalize the bindings, then kill tensors, storages and objects after their last use.

    The machine then frees the memory at once. A value that a branch reads is killed after the If. Values that are returned, or
    that a nested function captures, stay. In the profile `tvm`, nothing is killed behind an If or a nested function of its block.
    """
    fn = canonicalize(fn, at)
    kills = _Lives(fn).kills()
    if not kills:
        return fn

    left = set[e.BindingBlock | None]()  # blocks in which nothing more is killed

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if at.as_tvm and type(binding.value) in (e.If, e.Function):
            left.add(walk.block)
        dying = None if walk.block in left else kills.get(binding.var or binding)
        return binding if dying is None else (binding, *[m.statement(call) for call in dying])

    return rewrite(fn, at, rule)


class _Lives:
    """The lives of the variables of a function."""

    def __init__(self, fn: e.Function) -> None:
        self.fn = fn
        self.facts: Facts = facts(fn)
        self.owner: dict[e.Binding, e.SeqExpr] = {}
        self.around: dict[e.SeqExpr, e.Binding] = {}
        todo = [fn.body]
        while todo:
            seq = todo.pop()
            for block in seq.blocks:
                for binding in block.bindings:
                    self.owner[binding] = seq
                    inner = sequences(binding.value)
                    self.around.update(dict.fromkeys(inner, binding))
                    todo.extend(inner)

    def kills(self) -> dict[e.Var | e.Binding, list[e.Call]]:
        """The kills after each binding, by its variable: tensors first, then storages, then other objects."""
        dying: dict[e.Var | e.Binding, list[tuple[int, e.Var]]] = {}
        dead = killed(self.fn)
        for binding in self.facts.bindings:
            var, rank = binding.var, _rank(binding)
            if var is None or rank is None or var in dead:
                continue
            last = self._last(binding)
            if last is not None:
                dying.setdefault(last.var or last, []).append((rank, var))
        return {
            place: [
                m.operation(KILLS[rank], (var,), m.UNIT)
                for rank, var in sorted(row, key=lambda pair: pair[0])
            ]
            for place, row in dying.items()
        }

    def _last(self, binding: e.Binding) -> e.Binding | None:
        """The last binding, in the sequence of `binding`, that uses its variable. None if the variable is unused or lives on."""
        assert binding.var is not None  # the caller checked this
        last = None
        for number in self.facts.users(binding.var):
            last = self._in_sequence(number, self.owner[binding])
            if last is None:
                return None
        return last

    def _in_sequence(self, number: int, seq: e.SeqExpr) -> e.Binding | None:
        """The binding of `seq` that is, or contains, binding `number`. None for results and nested functions."""
        if number == len(self.facts.bindings):
            return None
        binding = self.facts.bindings[number]
        while True:
            if type(binding.value) is e.Function:
                return None
            owner = self.owner[binding]
            if owner is seq:
                return binding
            outer = self.around.get(owner)
            if outer is None:
                return None
            binding = outer


def _rank(binding: e.Binding) -> int | None:
    """The kind of kill that a variable needs, a place in `KILLS`. None if it holds nothing that is freed."""
    var, value = binding.var, binding.value
    name = called(value)
    if var is None or name == "relax.null_value":
        return None
    if name == "relax.memory.alloc_storage":
        return 1
    if isinstance(var.struct_info, s.TensorStructInfo):
        return None if type(value) is e.Constant else 0
    is_object = var.struct_info is s.OBJECT or isinstance(var.struct_info, s.TupleStructInfo)
    return 2 if is_object and var.struct_info is not m.UNIT else None


# -- static plan block memory ----------------------------------------------------------------------------------------
# StaticPlanBlockMemory: let tensors whose lives do not overlap share storages.


@function_pass(
    "StaticPlanBlockMemory",
    has_profiles=True,
    reads=[ALLOCATIONS],
    requires=[NORMAL_FORM, EXPLICIT_ALLOCATION],
    establishes=[MEMORY_PLANNED],
    invalidates=[BUILTINS_LOWERED, SHAPES_LOWERED],
)
def static_plan_block_memory(fn: e.Function, at: PassSite) -> e.Function:
    """Turn each `builtin.alloc_tensor` whose life ends in its block into a tensor in a storage, which later ones use again.

    A tensor that leaves its block keeps its `builtin.alloc_tensor`: results, branches, and operands of packed functions whose
    result is used. The attribute `tir_var_upper_bound` of a function gives shape variables a largest value, for the sizes. With the
    attribute `relax.memory_plan_dynamic_func_output`, which goes, such a tensor of symbolic lengths has a storage of its own. In the
    profile `tvm`, operands of packed functions are planned as well, though the result may be one of them, and operands of operators that
    are not lowered are not.
    """
    storages = plan(fn, at.editor.done(), at.as_tvm).storages
    if fn.attrs.get(DYNAMIC_RESULTS):
        fn = replace(fn, attrs=fn.attrs.without(DYNAMIC_RESULTS))
    if not storages:
        return fn
    by_var = {binding.var: storage for binding, storage in storages.items()}
    names = FreshNames.of(fn)
    emitted: dict[Storage, e.Var] = {}

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value, storage = binding.value, by_var.get(binding.var)
        if storage is None or not m.is_allocation(value):
            return binding
        if storage in emitted:
            return e.with_value(binding, m.tensor_of(emitted[storage], value, 0))
        first = m.bound(names("storage"), _allocated(storage, value))
        emitted[storage] = first.var
        return first, e.with_value(binding, m.tensor_of(first.var, value, 0))

    return rewrite(fn, at, rule)


def _allocated(storage: Storage, like: e.Expr) -> e.Call:
    device, scope = storage.place
    args = (m.shape((storage.size,)), device, scope, m.element_type(storage.dtype))
    return m.operation("relax.memory.alloc_storage", args, s.OBJECT, like)


# -- rewrite cuda graph ----------------------------------------------------------------------------------------------
# RewriteCUDAGraph: holds the place that it has in TVM's pipelines.


@function_pass("RewriteCUDAGraph", requires=[NORMAL_FORM])
def rewrite_cuda_graph(fn: e.Function, at: PassSite) -> e.Function:
    """Change nothing: TVM captures CUDA graphs only if its setting `relax.backend.use_cuda_graph` is on.

    With it, TVM moves calls of kernels on static memory into functions that a GPU captures once and replays later, by
    `vm.builtin.cuda_graph.run_or_capture`. It is off by default, and here always: no program runs on a GPU. So both results are
    equal, and the pass stands in pipelines so that the numbers of stages are those of TVM.
    """
    return fn


# -- dataflow use inplace calls --------------------------------------------------------------------------------------
# DataflowUseInplaceCalls: let elementwise operators overwrite an operand that nothing reads afterwards.


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
