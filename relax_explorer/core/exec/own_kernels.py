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
from relax_explorer.core.exec.kernels import Loops
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.values import Value, info_of, types_of
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit.decl import InferFailure, NotLowered, Op, Site
from relax_explorer.core.ops.kit.element_loops import compiler_in_use
from relax_explorer.core.ops.kit.legalize import lower
from relax_explorer.core.tir.stmt import PrimFunc

LEAST = 1 << 17  # elements: compiling takes as long as NumPy for some millions
Function = Callable[..., Any]


def function_of(at: Instruction, op: type[Op], args: Sequence[Value]) -> Function | None:
    """What computes an operator for these operands: its kernel, a view of the operand if that is enough, or NumPy."""
    if at.as_view and op.view is not None:
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
    """The kernel of one call, made when it is first called with operands of other types."""

    op: type[Op]
    call: e.Call
    types: Any = None
    made: _Made | None = None

    def __call__(self, *args: Value, **attrs: object) -> Value:  # noqa: D102  # the class says it
        loops, evaluate = compiler_in_use(), self.op.evaluate
        assert evaluate is not None  # the caller checked this
        if isinstance(loops, Loops):
            types = types_of(args)
            if types != self.types:
                self.types, self.made = types, _made(self.op, self.call, args)
            if self.made is not None:
                try:
                    value = self.made(loops, args)
                    loops.kernels.owned[id(self.call)] = self.made.fn
                    return value
                except Failure:  # NumPy gives the value, or says what is wrong
                    self.made = None
        return evaluate(*args, **attrs)


@dataclass(frozen=True, slots=True)
class _Made:
    fn: PrimFunc
    order: tuple[
        tuple[int, int], ...
    ]  # the operands that it takes: the numbers of the argument, and of the field in it
    outputs: tuple[s.TensorStructInfo, ...]
    is_tuple: bool

    def __call__(self, loops: Loops, args: Sequence[Value]) -> Value:
        taken = [args[n][part] if part >= 0 else args[n] for n, part in self.order]
        results = loops.kernels.results(self.fn, len(taken), self.outputs, {}, None)
        loops.kernels.call(self.fn, [*taken, *results])
        return tuple(results) if self.is_tuple else results[0]


def _made(op: type[Op], call: e.Call, args: Sequence[Value]) -> _Made | None:
    """The kernel for operands of these types. None if there is none."""
    places: dict[e.Var, tuple[int, int]] = {}

    def operand(value: Value, arg: e.Expr, place: tuple[int, int]) -> e.Expr:
        info = info_of(value, arg.struct_info)
        if isinstance(info, s.TensorStructInfo):
            var = e.Var(f"x{len(places)}", s.TensorStructInfo(info.dims, info.dtype, info.ndim))
            places[var] = place
            return var
        if isinstance(info, s.ShapeStructInfo) and info.values is not None:
            return e.ShapeExpr(info.values, info)
        return arg

    operands: list[e.Expr] = []
    for number, (arg, value) in enumerate(zip(call.args, args, strict=False)):
        if type(value) is tuple:
            fields = [operand(item, arg, (number, part)) for part, item in enumerate(value)]
            infos = tuple([item.struct_info or s.OBJECT for item in fields])
            operands.append(e.Tuple(tuple(fields), s.TupleStructInfo(infos)))
        else:
            operands.append(operand(value, arg, (number, -1)))
    infos = tuple([item.struct_info or s.OBJECT for item in operands])
    try:
        plain = e.Call(call.op, tuple(operands), call.attrs, call.sinfo_args, None, call.span)
        absent = [None] * (len(args) - len(operands))
        out = op.infer(Site(plain, op), *infos, *absent, **call.attrs)
        lowered = lower(e.Call(call.op, plain.args, call.attrs, call.sinfo_args, out, call.span), infos)
    except (InferFailure, NotLowered):
        return None
    outputs = out.fields if isinstance(out, s.TupleStructInfo) else (out,)
    tensors = [item for item in outputs if isinstance(item, s.TensorStructInfo)]
    order = [places[arg] for arg in lowered.args if isinstance(arg, e.Var)]
    if len(tensors) < len(outputs) or len(order) < len(lowered.args):
        return None
    return _Made(lowered.prim_func, tuple(order), tuple(tensors), isinstance(out, s.TupleStructInfo))
