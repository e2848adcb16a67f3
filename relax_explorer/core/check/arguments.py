"""Compare the arguments of a call with the parameters: one problem per argument, with the origin of each length."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.check.conversion import (
    Conversion,
    captured_lengths,
    cast_operand,
    conversion,
    counterexample,
    typed_alike,
)
from relax_explorer.core.check.matching import pinned
from relax_explorer.core.check.missing import depends_on_missing
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Edit, Label, Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.fold import DimMap, beyond
from relax_explorer.core.ir.walk import substitute_info
from relax_explorer.core.source import Span
from relax_explorer.core.syntax.python_tree import operand_spans

SHOWN = 40  # maximal length of an operand that a hint repeats


@dataclass(frozen=True, slots=True)
class Application:
    """A call of a function, with the StructInfo of parameters and arguments.

    `pinned` is the StructInfo of the arguments for comparing. `dims` are the values of the callee's shape variables,
    `caller` is the name of the function with the call.
    """

    call: e.Call
    params: Sequence[s.StructInfo]
    infos: Sequence[s.StructInfo]
    pinned: Sequence[s.StructInfo]
    dims: DimMap
    caller: str


def check(
    report: Report, at: Application, poisoned: Collection[e.Expr], definitions: Mapping[e.Var, e.Expr]
) -> bool:
    """Report every argument that does not fit. True if the result of the call can be inferred."""
    good, call = True, at.call
    for number, verdict in _misfits(at):
        want, have = at.params[number], at.infos[number]
        if call.args[number] in poisoned:
            continue
        if verdict is not Conversion.NEVER and depends_on_missing(call.args[number], definitions):
            continue
        problem = _Argument(report, at, number)
        if verdict is Conversion.MAYBE:
            problem.say_maybe()
        elif _only_dims(have, want):
            problem.say_dims()
        else:
            good = False
            problem.say_wrong(verdict is Conversion.NARROWS, spec_only=_is_opaque(have, want))
    return good


def all_fit(at: Application) -> bool:
    """True if every argument fits by its StructInfo, whatever else is known."""
    return next(_misfits(at), None) is None


def requirement(expected: p.PrimExpr, value: p.PrimExpr, callee: str, caller: str) -> str:
    """A length of a callee and its value at a call. Two variables of one name are told apart by their functions."""
    if value is expected:
        return str(expected)
    names = [{var.name for var in p.free_vars(length)} for length in (expected, value)]
    if names[0] & names[1]:
        return f"{expected} of {callee} = {value} of {caller}"
    return f"{expected} = {value}"


def _misfits(at: Application) -> Iterator[tuple[int, Conversion]]:
    """The numbers of arguments that do not fit surely, with the verdict. A kernel compares lengths at its start."""
    scope = p.free_vars(*at.dims.values())
    is_kernel = _is_kernel(at.call)
    for number, want in enumerate(at.params):
        verdict = conversion(at.pinned[number], pinned(substitute_info(want, at.dims), scope))
        if verdict is not Conversion.FITS and not (verdict is Conversion.MAYBE and is_kernel):
            yield number, verdict


def _is_kernel(call: e.Call) -> bool:
    """True if a PrimFunc is called with its buffers. It returns nothing, and compares their shapes at its start."""
    info = call.op.struct_info
    return isinstance(info, s.FuncStructInfo) and info.ret is s.VOID and not info.pure


def _is_opaque(have: s.StructInfo, want: s.StructInfo) -> bool:
    """True if a function with known parameters is passed as `R.Callable`. TVM accepts it (errata E-11)."""
    known = isinstance(have, s.FuncStructInfo) and have.params is not None
    return known and isinstance(want, s.FuncStructInfo) and want.params is None and want.derive_func is None


def _only_dims(have: s.StructInfo, want: s.StructInfo) -> bool:
    """True if only symbolic lengths contradict each other. TVM accepts such a call, and compares the lengths at run time."""
    if not typed_alike(have, want):
        return False
    if isinstance(have, s.TupleStructInfo) and isinstance(want, s.TupleStructInfo):
        return all(map(_only_dims, have.fields, want.fields))
    pairs = zip(s.lengths(have), s.lengths(want), strict=False)
    return not any(type(a) is type(b) is p.IntImm and a is not b for a, b in pairs)


class _Argument:
    """One argument that does not fit."""

    def __init__(self, report: Report, at: Application, number: int) -> None:
        self.report, self.call, self.number = report, at.call, number
        self.params, self.infos, self.dims, self.caller = at.params, at.infos, at.dims, at.caller
        self.want, self.pinned = substitute_info(at.params[number], at.dims), at.pinned[number]
        spans = operand_spans(at.call.span)
        self.spans = spans if len(spans) == len(at.call.args) else []
        self.name = getattr(at.call.op, "name", "the function")

    @property
    def _span(self) -> Span | None:
        return self.spans[self.number] if self.spans else None

    @property
    def _place(self) -> object:
        return self._span or self.call

    def say_wrong(self, castable: bool, spec_only: bool = False) -> None:
        """Report an argument of another kind, rank or dtype, or one whose kind, rank or dtype is unknown."""
        have = self.infos[self.number]
        text = f"argument {self.number + 1} of {self.name} is {have}, the parameter {self.want}"
        if castable:
            self.report.say(
                codes.ARGUMENT_INFO,
                text,
                self._place,
                help=self._cast,
                edits=self._edits(),
                spec_only=spec_only,
            )
        else:
            fix = codes.ARGUMENT_INFO.fix
            self.report.say(codes.ARGUMENT_INFO, text, self._place, help=fix, spec_only=spec_only)

    def say_maybe(self) -> None:
        """Report an argument whose dimensions are known only at run time."""
        have = self.infos[self.number]
        text = f"argument {self.number + 1} of {self.name} is {have}; whether it is {self.want} is known only at run time"
        notes = counterexample(have, self.want) + captured_lengths(have, self.pinned)
        self.report.say(
            codes.MAYBE_ARGUMENT, text, self._place, help=self._cast, notes=notes, edits=self._edits()
        )

    def say_dims(self) -> None:
        """Report an argument whose dimensions contradict the values that other arguments give the callee's shape variables."""
        have, param = self.infos[self.number], self.params[self.number]
        text, labels = f"argument {self.number + 1} of {self.name} is {have}, the parameter {self.want}", []
        conflict = _conflict(have, param, self.dims)
        if conflict is not None:
            axis, actual, expected = conflict
            value = simplify(p.substitute(expected, self.dims))
            overflow = beyond(p.substitute(expected, self.dims))
            needed = requirement(expected, value, self.name, self.caller)
            if overflow is not None:
                needed = f"{expected} = {overflow}, which does not fit int64"
            text = f"argument {self.number + 1} of {self.name}, dimension {axis}: {needed}, got {actual}"
            labels = self._origins(expected)
        fix = codes.ARGUMENT_DIMS.fix
        self.report.say(
            codes.ARGUMENT_DIMS, text, self._place, help=fix, labels=tuple(labels), spec_only=True
        )

    def _origins(self, expected: p.PrimExpr) -> list[Label]:
        """Labels for the arguments that give the shape variables of the expected length their values."""
        labels = []
        for var in p.free_vars(expected):
            for number, param in enumerate(self.params):
                dims = s.lengths(param)
                if var in dims and number < len(self.spans):
                    axis = dims.index(var)
                    text = f"{var.name} is {self.dims.get(var)} because of dimension {axis} of this argument"
                    labels.append(Label(self.spans[number], text))
                    break
        return labels

    @property
    def _cast(self) -> str:
        written = _shown(self.call.args[self.number], self._span)
        return f"cast it first: R.match_cast({written}, {self.want})"

    def _edits(self) -> tuple[Edit, ...]:
        return cast_operand(self.call.args[self.number], self._span, self.call.span, self.want)


def _conflict(
    have: s.StructInfo, param: s.StructInfo, dims: DimMap
) -> tuple[int, p.PrimExpr, p.PrimExpr] | None:
    """The first axis with different lengths: its number, the length of the argument, and the length of the parameter."""
    for axis, (a, b) in enumerate(zip(s.lengths(have), s.lengths(param), strict=False)):
        if equal(a, p.substitute(b, dims)) is Answer.NO:
            return axis, a, b
    return None


def _shown(expr: e.Expr, used: Span | None) -> str:
    """The source text of an operand: the name of a variable, or a short expression."""
    if used is None or used.text.isidentifier():
        return expr.name if isinstance(expr, e.Var) else "…"
    written = " ".join(used.text.split())
    return written if len(written) <= SHOWN else "…"
