"""Large results of operators by the operator's own kernel, where that was measured to be faster than NumPy (`Op.by_kernel`).

Its values differ from those of NumPy by rounding only, and do not depend on how often a call ran: a call that is large enough never
asks NumPy while a compiler is at hand. The engine `reference` has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.interrupt import Cancelled
from relax_explorer.core.exec.kernels import Loops
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.values import Types, Value, info_of, types_of
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit.decl import InferFailure, NotLowered, Op, Site
from relax_explorer.core.ops.kit.element_loops import compiler_in_use
from relax_explorer.core.ops.kit.legalize import lower
from relax_explorer.core.tir.stmt import PrimFunc

LEAST = 1 << 17  # elements: compiling takes as long as NumPy for some millions
Function = Callable[..., Any]


def function_of(at: Instruction, op: type[Op], args: Sequence[Value]) -> Function | None:
    """What computes an operator for these operands: its kernel, a view of the operand if that is enough, or NumPy."""
    if at.readers and op.view is not None:
        return op.view
    if not (op.runs_by_kernel(at.node.attrs) and _is_worth(args)):
        return op.evaluate
    own: OwnKernel | None = at.own
    if own is None or own.op is not op:
        own = at.own = OwnKernel(op, at.node)
    return own


def _is_worth(args: Sequence[Value]) -> bool:
    arrays = [item for arg in args for item in (arg if type(arg) is tuple else (arg,))]
    arrays = [item for item in arrays if type(item) is np.ndarray]
    return sum([item.size for item in arrays]) >= LEAST and all([item.dtype == "float32" for item in arrays])


@dataclass(slots=True, eq=False)
class OwnKernel:
    """The kernel of one call. It is made again for operands of other types, unless it serves all lengths."""

    op: type[Op]
    call: e.Call
    latest: tuple[Types | None, _Made | None] = (None, None)  # one value: another thread may run the program

    def __call__(self, *args: Value, **attrs: object) -> Value:  # noqa: D102  # the class says it
        loops, evaluate = compiler_in_use(), self.op.evaluate
        assert evaluate is not None  # the caller checked this
        if isinstance(loops, Loops):
            types = types_of(args)
            known, made = self.latest
            if types != known and not (made is not None and made.variables):
                made = _made(self.op, self.call, args)
            self.latest = types, made
            if made is not None:
                try:
                    value = made(loops, args)
                    loops.kernels.owned[id(self.call)] = made.fn
                    return value
                except Cancelled:
                    raise
                except Failure:  # NumPy gives the value, or says what is wrong
                    self.latest = types, None
        return evaluate(*args, **attrs)


Place = tuple[int, int]  # the number of an argument, and of the field in it; -1 for the argument itself


@dataclass(frozen=True, slots=True)
class _Made:
    """A kernel with what it takes, and what it fills. If lengths are `variables`, it is for operands of all lengths."""

    fn: PrimFunc
    order: tuple[Place | p.PrimVar, ...]
    outputs: tuple[s.TensorStructInfo, ...]
    is_tuple: bool
    variables: dict[p.PrimVar, tuple[Place, int]]  # an axis with this length

    def __call__(self, loops: Loops, args: Sequence[Value]) -> Value:
        dims = {var: _at(args, place).shape[axis] for var, (place, axis) in self.variables.items()}
        taken = [dims[item] if isinstance(item, p.PrimVar) else _at(args, item) for item in self.order]
        tensors = [item for item in taken if type(item) is np.ndarray]
        results = loops.kernels.results(self.fn, len(tensors), self.outputs, dims, None)
        loops.kernels.call(self.fn, [*tensors, *results, *taken[len(tensors) :]])
        return tuple(results) if self.is_tuple else results[0]


def _at(args: Sequence[Value], place: Place) -> Value:
    number, field = place
    return args[number] if field < 0 else args[number][field]


def _made(op: type[Op], call: e.Call, args: Sequence[Value]) -> _Made | None:
    """The kernel for all operands that the call states, or else for those of these types. None if there is none."""
    return _kernel(op, call, args, _is_known) or _kernel(op, call, args, lambda info: False)


def _kernel(
    op: type[Op], call: e.Call, args: Sequence[Value], is_enough: Callable[[s.StructInfo | None], bool]
) -> _Made | None:
    places: dict[e.Var, Place] = {}
    pairs = enumerate(zip(call.args, args, strict=False))
    operands = tuple([_operand(arg, value, number, places, is_enough) for number, (arg, value) in pairs])
    infos = tuple([item.struct_info or s.OBJECT for item in operands])
    try:
        plain = e.Call(call.op, operands, call.attrs, call.sinfo_args, None, call.span)
        absent = [None] * (len(args) - len(operands))
        out = op.infer(Site(plain, op), *infos, *absent, **call.attrs)
        lowered = lower(e.Call(call.op, operands, call.attrs, call.sinfo_args, out, call.span), infos)
    except (InferFailure, NotLowered):
        return None
    outputs = out.fields if isinstance(out, s.TupleStructInfo) else (out,)
    tensors = tuple([item for item in outputs if isinstance(item, s.TensorStructInfo)])
    order = tuple([place for arg in lowered.args if (place := _taken(arg, places)) is not None])
    if len(tensors) < len(outputs) or len(order) < len(lowered.args):
        return None
    axes = {
        dim: (place, axis)
        for var, place in places.items()
        for axis, dim in enumerate(s.lengths(var.struct_info or s.OBJECT))
        if type(dim) is p.PrimVar
    }
    return _Made(lowered.prim_func, order, tensors, isinstance(out, s.TupleStructInfo), axes)


def _operand(
    arg: e.Expr,
    value: Value,
    number: int,
    places: dict[e.Var, Place],
    is_enough: Callable[[s.StructInfo | None], bool],
) -> e.Expr:
    """The operand of a call for one of these values, with what the call states where that `is_enough`. Notes where tensors are."""

    def leaf(value: Value, stated: s.StructInfo | None, field: int) -> e.Expr:
        info = stated if is_enough(stated) else info_of(value, stated)
        if isinstance(info, s.TensorStructInfo):
            var = e.Var(f"x{len(places)}", s.TensorStructInfo(info.dims, info.dtype, info.ndim))
            places[var] = number, field
            return var
        if isinstance(info, s.ShapeStructInfo) and info.values is not None:
            return e.ShapeExpr(info.values, info)
        return arg

    stated = arg.struct_info
    if type(value) is not tuple:
        return leaf(value, stated, -1)
    known = stated.fields if isinstance(stated, s.TupleStructInfo) else [None] * len(value)
    fields = tuple([leaf(item, known[part], part) for part, item in enumerate(value)])
    return e.Tuple(fields, s.TupleStructInfo(tuple([item.struct_info or s.OBJECT for item in fields])))


def _is_known(info: s.StructInfo | None) -> bool:
    """True for a tensor of known dtype with known lengths, or with names for them."""
    if not isinstance(info, s.TensorStructInfo) or info.dims is None or info.dtype is None:
        return False
    return all([isinstance(dim, p.IntImm | p.PrimVar) for dim in info.dims])


def _taken(arg: e.Expr, places: dict[e.Var, Place]) -> Place | p.PrimVar | None:
    """What a kernel takes for an argument of its call. None for another one."""
    if isinstance(arg, e.PrimValue) and type(arg.value) is p.PrimVar:
        return arg.value
    return places.get(arg) if isinstance(arg, e.Var) else None
