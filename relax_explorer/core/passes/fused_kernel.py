"""One PrimFunc for a private function of kernel calls (FuseTIR): the bodies in sequence, with buffers for the values between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from relax_explorer.core.arith.prove import Answer as Proof
from relax_explorer.core.arith.prove import shapes_equal
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.fold import substitute
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops.kit.decl import NotLowered
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.eliminate import drop_uncalled, eliminate_dead_code
from relax_explorer.core.passes.fusion_groups import is_kernel_call
from relax_explorer.core.passes.readings import PRIVATE
from relax_explorer.core.passes.rewrite import at_calls, rewrite
from relax_explorer.core.passes.unused_signatures import (
    calls,
    expand_tuple_arguments,
    fits,
    following,
    remove_unused_parameters,
    used_as_values,
)
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
    EXPLICIT_ALLOCATION,
    NORMAL_FORM,
    PATTERNS_ANNOTATED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.mutator import Substitution
from relax_explorer.core.tir.stmt import Buffer, BufferRegion
from relax_explorer.core.tir.traverse import children

Functions = Mapping[str, object]
_Value = Buffer | p.PrimExpr


class FusedKernel(NamedTuple):
    """The PrimFunc of a function. `in_place` has the parameter that each result overwrites, or -1; it is empty if none does."""

    prim_func: t.PrimFunc
    in_place: tuple[int, ...]


def fused_kernel(fn: e.Function, functions: Functions, keep_checks: bool = True) -> FusedKernel:
    """The kernel of a function whose bindings are calls of kernels and fields of tuples. Raises NotLowered for others.

    With `keep_checks`, also for calls that compare lengths which may differ: inside of one kernel nothing would compare them.
    """
    return _Fused(fn, functions, keep_checks).kernel()


class _Fused:
    """Builds the PrimFunc. `values` has the buffers and scalars of each Relax variable; a tuple has those of its fields."""

    def __init__(self, fn: e.Function, functions: Functions, keep_checks: bool) -> None:
        self.fn, self.functions, self.keep_checks = fn, functions, keep_checks
        self.names, self.blocks = FreshNames(), FreshNames()
        self.bound: set[p.PrimVar] = set()  # loop variables and axes so far
        self.values: dict[e.Var, list[_Value]] = {}
        self.params: list[Buffer | p.PrimVar] = []
        self.inner: list[Buffer] = []
        self.overwritten: set[_Value] = set()  # inputs and inner buffers
        self.body: list[t.Stmt] = []

    def kernel(self) -> FusedKernel:
        """The PrimFunc: inputs, then the outputs that overwrite none of them."""
        for param in self.fn.params:
            self.values[param] = self._parameters(param)
            self.params += [q for q in self.values[param] if isinstance(q, (Buffer, p.PrimVar))]
        for binding in bindings(self.fn):
            self._binding(binding)
        outputs = self._outputs()
        places = tuple([self.params.index(q) if q in self.params else -1 for q in outputs])
        inner = tuple([buffer for buffer in self.inner if buffer not in outputs])
        body = self.body[0] if len(self.body) == 1 else t.SeqStmt(tuple(self.body))
        if inner or type(body) is t.SBlock:
            body = t.SBlock("root", (), (), body, alloc_buffers=inner)
        params = (*self.params, *[q for q, place in zip(outputs, places, strict=True) if place < 0])
        prim_func = t.PrimFunc(params, body, None, Attrs({"tirx.noalias": True}), True)
        return FusedKernel(prim_func, places if max(places) >= 0 else ())

    def _outputs(self) -> list[Buffer]:
        """The buffers of the result. Raises NotLowered if call_tir and call_tir_inplace have no such results."""
        result = self.fn.body.body
        info = result.struct_info
        if isinstance(info, s.TupleStructInfo) and s.TupleStructInfo in map(type, info.fields):
            raise NotLowered("its result has a tuple in a tuple")
        outputs = [value for value in self._flat(result) if isinstance(value, Buffer)]
        if not outputs or len(set(outputs)) < len(outputs):
            raise NotLowered("it has no result, or a result twice")
        if any(q in self.params and q not in self.overwritten for q in outputs):
            raise NotLowered("a result is an input")
        if any(q in self.overwritten and q not in outputs for q in self.params):
            raise NotLowered("it overwrites an input that is no result")
        return outputs

    def _parameters(self, param: e.Var) -> list[_Value]:
        info = param.struct_info
        if isinstance(info, s.TensorStructInfo):
            return [self._buffer(param.name, info)]
        if isinstance(info, s.PrimStructInfo):
            return [p.PrimVar(self.names(param.name), info.dtype)]
        if isinstance(info, s.ShapeStructInfo) and info.values is not None:
            return list(info.values)
        raise NotLowered(f"parameter {param.name!r} is {info}")

    def _buffer(self, name: str, info: s.StructInfo) -> Buffer:
        if not isinstance(info, s.TensorStructInfo) or info.dims is None or info.dtype is None:
            raise NotLowered(f"{name!r} is {info}, its lengths and dtype must be written")
        return Buffer(self.names(name), info.dims, info.dtype)

    def _binding(self, binding: e.Binding) -> None:
        value = binding.value
        if type(binding) is not e.VarBinding:
            raise NotLowered("it has a match_cast")
        if type(value) is e.Call and is_kernel_call(value):
            self.values[binding.var] = self._call(value)
        elif isinstance(value, (e.Var, e.Tuple, e.TupleGetItem)):
            self.values[binding.var] = self._flat(value)
        else:
            raise NotLowered(f"{binding.var.name!r} is not the call of a kernel")

    def _flat(self, value: e.Expr) -> list[_Value]:
        """The buffers and scalars of a value."""
        if isinstance(value, e.Var):
            return self.values[value]
        if type(value) is e.Tuple:
            return [item for field in value.fields for item in self._flat(field)]
        if type(value) is e.TupleGetItem:
            return [self._flat(value.tuple)[value.index]]
        if type(value) is e.PrimValue:
            return [value.value]
        if type(value) is e.ShapeExpr:
            return list(value.values)
        raise NotLowered(f"{type(value).__name__} is no operand of a kernel")

    def _call(self, call: e.Call) -> list[_Value]:
        """Append the body of a kernel; returns its outputs."""
        callee = call.args[0]
        kernel = self.functions.get(callee.name) if isinstance(callee, e.GlobalVar) else None
        if not isinstance(kernel, t.PrimFunc):
            raise NotLowered("it calls something else than a PrimFunc")
        inputs = [item for arg in call.args[1:2] for item in self._flat(arg)]
        out = call.sinfo_args[0]
        infos = out.fields if isinstance(out, s.TupleStructInfo) else (out,)
        places = _overwritten(call) or (-1,) * len(infos)
        names = iter([q.name for q in kernel.params if isinstance(q, Buffer)][-places.count(-1) :])
        outputs = [
            self._buffer(f"{next(names)}_intermediate", info) if place < 0 else inputs[place]
            for place, info in zip(places, infos, strict=True)
        ]
        new = [q for q, place in zip(outputs, places, strict=True) if place < 0 and isinstance(q, Buffer)]
        scalars = [item for arg in call.args[2:] for item in self._flat(arg)]
        self._inline(kernel, [*inputs, *new, *scalars])
        self.inner += new
        self.overwritten.update(inputs[place] for place in places if place >= 0)
        return outputs

    def _inline(self, kernel: t.PrimFunc, args: list[_Value]) -> None:
        if len(args) != len(kernel.params):
            raise NotLowered("a kernel gets another number of operands than it has parameters")
        buffers: dict[Buffer, Buffer] = {}
        scalars: dict[p.PrimVar, p.PrimExpr] = {}
        for param, arg in zip(kernel.params, args, strict=True):
            if isinstance(param, Buffer) and isinstance(arg, Buffer):
                buffers[param] = arg
                _match(param, arg, scalars)
            elif isinstance(param, p.PrimVar) and isinstance(arg, p.PrimExpr):
                scalars[param] = arg
            else:
                raise NotLowered("a kernel gets a scalar for a tensor, or a tensor for a scalar")
        if self.keep_checks and not all(_fits(*pair, scalars) for pair in buffers.items()):
            raise NotLowered("a kernel compares lengths that may differ")
        body, inner = _root(kernel)
        for buffer in (*inner, *_allocated(body)):
            shape = tuple([substitute(length, scalars) for length in buffer.shape])
            buffers[buffer] = replace(buffer, name=self.names(buffer.name), shape=shape)
        self.inner += [buffers[buffer] for buffer in inner]
        new = _Renamed(scalars, buffers, self.blocks, self.bound).stmt(body)
        self.body += new.stmts if isinstance(new, t.SeqStmt) else (new,)


class _Renamed(Substitution):
    """Replaces variables and buffers. Each block gets a name, and each loop a variable, of its own.

    Regions that become equal, because two parameters of a kernel are one buffer now, are written once.
    """

    def __init__(
        self,
        variables: Mapping[p.PrimVar, p.PrimExpr],
        buffers: Mapping[Buffer, Buffer],
        names: FreshNames,
        bound: set[p.PrimVar],
    ) -> None:
        super().__init__(variables, buffers)
        self.names, self.bound = names, bound

    def binder(self, var: p.PrimVar) -> p.PrimVar:
        """The variable itself, or a new one if a kernel before this one binds it."""
        new = super().binder(var)
        if new in self.bound:
            new = p.PrimVar(var.name, var.dtype, var.pointee)
            self._begin({**self.variables, var: new})
        self.bound.add(new)
        return new

    def stmt(self, node: t.Stmt) -> t.Stmt:
        """Rewrite a statement and everything inside it."""
        if not isinstance(node, t.SBlock):
            return super().stmt(node)
        new = super().stmt(replace(node, name=self.names(node.name)))
        assert isinstance(new, t.SBlock)  # a substitution keeps statements
        return replace(new, reads=_once(new.reads), writes=_once(new.writes))


def _overwritten(call: e.Call) -> tuple[int, ...]:
    """The number of the input that each result of a call overwrites, or -1. Empty if the call allocates them all."""
    places = call.attrs.get("inplace_indices", ())
    return places if isinstance(places, tuple) else (places,)


def _once(regions: tuple[BufferRegion, ...] | None) -> tuple[BufferRegion, ...] | None:
    """The regions, of equal ones the first."""
    if regions is None or len(regions) < 2:
        return regions
    found: dict[object, BufferRegion] = {}
    for region in regions:
        bounds = tuple([(q.start, q.extent) for q in region.ranges])
        found.setdefault((region.buffer, bounds), region)
    return regions if len(found) == len(regions) else tuple(found.values())


def _match(param: Buffer, arg: Buffer, scalars: dict[p.PrimVar, p.PrimExpr]) -> None:
    """Give the shape variables of a kernel the lengths of the buffer that it gets."""
    if len(param.shape) != len(arg.shape):
        raise NotLowered("a kernel gets a tensor of another rank")
    for length, known in zip(param.shape, arg.shape, strict=True):
        if isinstance(length, p.PrimVar):
            scalars.setdefault(length, known)


def _fits(param: Buffer, arg: Buffer, scalars: dict[p.PrimVar, p.PrimExpr]) -> bool:
    """True if the lengths of a buffer are proved to be those of the parameter that gets it."""
    wanted = tuple([substitute(length, scalars) for length in param.shape])
    return wanted == arg.shape or shapes_equal(wanted, arg.shape) is Proof.YES


def _root(kernel: t.PrimFunc) -> tuple[t.Stmt, tuple[Buffer, ...]]:
    """The statements of a kernel, and the buffers that its root block allocates."""
    body = kernel.body
    if isinstance(body, t.SBlock) and body.name == "root" and not body.iter_vars:
        return body.body, body.alloc_buffers
    return body, ()


def _allocated(node: t.Stmt) -> Iterator[Buffer]:
    """The buffers that inner blocks and statements allocate."""
    if isinstance(node, t.SBlock):
        yield from node.alloc_buffers
        yield from (match.buffer for match in node.match_buffers)
    elif isinstance(node, t.AllocBuffer):
        yield node.buffer
    for child in children(node):
        yield from _allocated(child)


# -- fuse tir --------------------------------------------------------------------------------------------------------
# FuseTIR: make one PrimFunc of each function that FuseOps gathered.


@module_pass(
    "FuseTIR",
    reads=[PRIVATE],
    has_profiles=True,
    requires=[NORMAL_FORM],
    invalidates=[PATTERNS_ANNOTATED, EXPLICIT_ALLOCATION, SHAPES_LOWERED, SYMBOLS_ATTACHED],
)
def fuse_tir(module: IRModule, at: PassSite) -> IRModule:
    """Replace each private function with the attribute `Primitive` by one PrimFunc, and its calls by call_tir.

    The PrimFunc has the bodies of the called kernels in sequence; values between them become buffers of its root block. If a kernel
    overwrites a parameter that is a result, the calls become call_tir_inplace. Before, ExpandTupleArguments and
    RemoveUnusedParameters run, which change other private functions, too; at the end, dead code is removed. A function that can't be
    fused is kept with a warning.
    """
    ready = expand_tuple_arguments.run(module, at)
    site = following(at, ready)
    site = following(site, remove_unused_parameters.run(ready, site))
    kernels = dict(_kernels(site))
    if not kernels and site.module is module:  # dead code was looked for, and only functions may be dead
        return drop_uncalled(site)
    for name, kernel in kernels.items():
        site.editor.replace(name, kernel.prim_func)
    # Only now references to them have their StructInfo.
    rule = at_calls({name: (site.editor.reference(name), k) for name, k in kernels.items()}, _kernel_call)
    for name, fn in site.module.relax_functions.items():
        if name not in kernels:
            site.editor.replace(name, rewrite(fn, site, rule))
    # A nested function may have read what only it reads until it was dropped itself.
    result: IRModule = eliminate_dead_code.run(site.editor.done(), following(site, site.editor.done()))
    return result


def _kernels(at: PassSite) -> Iterator[tuple[str, FusedKernel]]:
    """The names and kernels of the functions that can be fused. A warning tells why another one is kept."""
    functions = at.module.relax_functions
    primitive = {name: fn for name, fn in functions.items() if fn.attrs.get("Primitive") and fn.is_private}
    values = used_as_values(at.module) if primitive else set()
    unproved: set[str] | None = None  # found for the first kernel that overwrites an argument
    for name, fn in primitive.items():
        try:
            if name in values:
                raise NotLowered("it is used as a value")
            found = fused_kernel(fn, at.module.functions, not at.as_tvm)
            if found.in_place and unproved is None:
                called = [(callee, call) for callee, call in calls(at.module) if callee in primitive]
                unproved = {callee for callee, call in called if not fits(primitive[callee], call)}
            if found.in_place and unproved and name in unproved:
                raise NotLowered("it overwrites an argument whose shape is known to the run only")
        except NotLowered as reason:
            at.report.say(codes.NO_LEGALIZATION, f"{name} is kept: {reason}", fn)
        else:
            yield name, found


def _kernel_call(kernel: tuple[e.GlobalVar, FusedKernel], call: e.Call) -> e.Call:
    """The call of a kernel in place of that of its function."""
    args: list[e.Expr] = []
    for arg in call.args:
        args += map(m.number, arg.values) if type(arg) is e.ShapeExpr else (arg,)
    reference, (_, in_place) = kernel
    out = call.struct_info or s.OBJECT
    op, attrs = (_INTO, Attrs({"inplace_indices": in_place})) if in_place else (_NEW, EMPTY)
    return e.Call(op, (reference, e.tuple_of(tuple(args))), attrs, (out,), out, call.span)


_NEW, _INTO = e.op_ref("relax.call_tir"), e.op_ref("relax.call_tir_inplace")
