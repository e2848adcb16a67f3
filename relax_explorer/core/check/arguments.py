"""Compare the arguments and attributes of a call with what the callee declares: one problem each, with the origin of each length."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.check.compatible import (
    Conversion,
    captured_lengths,
    cast_operand,
    conversion,
    counterexample,
    typed_alike,
)
from relax_explorer.core.check.matching import pinned
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.codes import syntax as syntax_codes
from relax_explorer.core.diagnostics import Diagnostic, Edit, Label, Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs, Verbatim
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.fold import DimMap, beyond
from relax_explorer.core.ir.index_map import IndexMap
from relax_explorer.core.ir.prim import FloatImm, PrimExpr
from relax_explorer.core.ir.walk import bindings, operands, sequences, substitute_info
from relax_explorer.core.ops.kit.decl import Kind, Op, Parameter
from relax_explorer.core.ops.kit.page import kind_phrase
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.source import Span
from relax_explorer.core.syntax.python_tree import operand_spans

# -- missing ---------------------------------------------------------------------------------------------------------
# Constants without data in the text. Their values are unknown, so annotations of them are trusted.


_FAR = 100  # the maximal number of values to search for such a constant


def is_missing(expr: e.Expr) -> bool:
    """True for a constant tensor without data."""
    return type(expr) is e.Constant and expr.data is None and isinstance(expr.struct_info, s.TensorStructInfo)


def depends_on_missing(value: e.Expr, definitions: Mapping[e.Var, e.Expr]) -> bool:
    """True if `value` depends on such a constant, directly or through variables with incomplete StructInfo."""
    stack, seen = [value], {value}
    while stack and len(seen) < _FAR:
        part = stack.pop()
        if is_missing(part):
            return True
        parts = list(operands(part))
        if isinstance(part, e.Var) and part in definitions and not _is_whole(part.struct_info):
            parts.append(definitions[part])
        stack += [operand for operand in parts if operand not in seen]
        seen.update(parts)
    return False


def _is_whole(info: s.StructInfo | None) -> bool:
    if isinstance(info, s.TupleStructInfo):
        return all(map(_is_whole, info.fields))
    return isinstance(info, s.TensorStructInfo) and info.dims is not None and info.dtype is not None


def _constants(fn: e.Function) -> Iterator[e.Constant]:
    """The constants of a function, in text order but for bodies of branches. Variables, which most operands are, are skipped."""
    for value in (*[binding.value for binding in bindings(fn)], fn.body.body):
        stack = [*[seq.body for seq in sequences(value)[::-1]], value]
        while stack:
            expr = stack.pop()
            if type(expr) is e.Constant:
                yield expr
            else:
                stack.extend([part for part in operands(expr)[::-1] if type(part) in _HOLDING])


_HOLDING = frozenset({e.Constant, e.Call, e.Tuple, e.TupleGetItem})


def violations(module: IRModule) -> list[Diagnostic]:
    """One diagnostic for all constants without data."""
    constants = [
        expr for fn in module.relax_functions.values() for expr in _constants(fn) if is_missing(expr)
    ]
    if not constants:
        return []
    count = len({expr.key for expr in constants if isinstance(expr, e.Constant)})
    text = (
        f"the module was printed without show_meta=True: the data of {count} constant{'s' if count > 1 else ''} "
        "is not in the text, and annotations are trusted"
    )
    return [
        Diagnostic(
            syntax_codes.MISSING_METADATA,
            text,
            (Label(constants[0], "", True),),
            help=syntax_codes.MISSING_METADATA.fix,
        )
    ]


# -- arguments -------------------------------------------------------------------------------------------------------
# Compare the arguments of a call with the parameters: one problem per argument, with the origin of each length.


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


# -- attributes ------------------------------------------------------------------------------------------------------
# Check the attributes of a call against the declaration of its operator.


_COUNTS = (Kind.INT, Kind.AXES, Kind.INTS, Kind.INT_LIST, Kind.INT_OR_INTS)
_VALUES = (
    Kind.TENSOR,
    Kind.TENSORS,
    Kind.SHAPE,
    Kind.PRIM,
    Kind.PRIMS,
    Kind.ARGUMENTS,
)  # never literals of their own
LIMIT = (1 << 63) - 1
"""The size of the result decides how large a number may be. What is made once for each number has a limit in its rule."""


def problem(op: type[Op], attrs: Attrs) -> str:
    """The problem of the attributes as one sentence; empty if there is none."""
    for parameter in op.attributes:
        if parameter.required and parameter.name not in attrs:
            return f"{parameter.name} is missing"
        value = attrs.get(parameter.name)
        if parameter.kind is not Kind.ANY and any(
            isinstance(item, Verbatim) for item in (value if type(value) is tuple else (value,))
        ):
            return f"{parameter.name} is {value!r}, which is not a value"
        if value is None and parameter.is_optional:
            continue
        if not _KINDS[parameter.kind](value):
            return f"{parameter.name} is {_shown_value(value)}, it must be {kind_phrase(parameter)}"
        if parameter.kind in _COUNTS and not _near(value):
            return f"{parameter.name} is {_shown_value(value)}, it must fit int64"
    return ""


def with_numbers(op: type[Op], attrs: Attrs) -> Attrs:
    """The attributes with True and False as 1 and 0 where numbers are needed, as TVM reads them."""
    kinds = {q.name: q.kind for q in op.attributes}
    return Attrs([(name, _as_number(value, kinds.get(name))) for name, value in attrs.items()])


def _as_number(value: object, kind: Kind | None) -> object:
    if type(value) is tuple and kind in _COUNTS:
        return tuple([_as_number(item, Kind.INT) for item in value])
    if type(value) is not bool or (kind not in _COUNTS and kind is not Kind.FLOAT):
        return value
    return (int(value),) if kind in (Kind.AXES, Kind.INTS) else int(value)


def completed(op: type[Op], attrs: Attrs) -> Attrs:
    """The attributes with defaults added. A program that builds a call may omit them; the parser never does."""
    missing = {q.name: q.default for q in op.attributes if q.name not in attrs and not q.required}
    complete = {**attrs, **missing}
    order = {q.name: place for place, q in enumerate(op.attributes)}
    return Attrs(sorted(complete.items(), key=lambda item: order.get(item[0], len(order))))


def _shown_value(value: object) -> str:
    """A constant in TVMScript."""
    return str(list(value)) if type(value) is tuple else repr(value)


def operand_problem(q: Parameter, arg: e.Expr, info: s.StructInfo) -> str:
    """The problem of an operand against its declaration alone, as one sentence; empty if there is none."""
    literal = {e.StringImm: "a string", e.DataTypeImm: "a dtype"}.get(type(arg))
    if literal is not None and q.kind in _VALUES:
        return f"{q.name} is {literal}, it must be {kind_phrase(q)}"
    left_out = q.default == () and isinstance(info, s.TupleStructInfo) and not info.fields
    other = isinstance(info, (s.TupleStructInfo, s.ShapeStructInfo, s.FuncStructInfo))
    if q.kind is Kind.PRIM and other and not left_out:
        return f"{q.name} is {info}, it must be {kind_phrase(q)}"
    return ""


def _integer(value: object) -> bool:
    return type(value) is int


def _number(value: object) -> bool:
    return type(value) in (int, float) or isinstance(value, PrimExpr)


def _integers(value: object) -> bool:
    return _integer(value) or (type(value) is tuple and all(_integer(item) for item in value))


def _near(value: object) -> bool:
    items = value if type(value) is tuple else (value,)
    return all(abs(item) <= LIMIT for item in items if type(item) is int)


_KINDS: dict[Kind, Callable[[Any], bool]] = {
    Kind.INT: _integer,
    Kind.FLOAT: lambda value: type(value) in (int, float),
    Kind.FLOAT_IMM: lambda value: type(value) in (int, float, FloatImm),
    Kind.NUMBERS: lambda value: all(map(_number, value if type(value) is tuple else (value,))),
    Kind.BOOL: lambda value: type(value) is bool,
    Kind.STR: lambda value: type(value) is str,
    Kind.AXES: _integers,
    Kind.INTS: _integers,
    Kind.INT_LIST: lambda value: type(value) is tuple and _integers(value),
    Kind.DTYPE: lambda value: isinstance(value, DType),
    Kind.INT_OR_INTS: _integers,
    Kind.INDEX_MAP: lambda value: isinstance(value, IndexMap),
    Kind.EXPR: _number,
    Kind.ANY: lambda value: True,
}


# -- because ---------------------------------------------------------------------------------------------------------
# Explain the lengths of operands in errors: labels at the operands of the call, and the chain of definitions of a
# length.


Definitions = Mapping[e.Var, e.Expr]
_LONGEST = 4  # steps of a chain


def explained(problem: Diagnostic, call: e.Call, definitions: Definitions) -> Diagnostic:
    """The diagnostic with its labels moved to the operands of the call, and a note for each length in a label."""
    spans = operand_spans(call.span)
    places: dict[int, list[Span]] = {}
    for arg, place in zip(call.args, spans, strict=False):
        places.setdefault(id(arg), []).append(place)
    labels, notes = [], list(problem.notes)
    for label in problem.labels:
        own = places.get(id(label.place), [])
        span = own[0] if own else None
        if len(own) > 1:  # a variable that stands twice has a label at each place
            own.pop(0)
        labels.append(label if span is None else Label(span, label.text, label.primary))
        if isinstance(label.place, e.Var) and not label.primary:
            notes += _chains(label.place, label.text, definitions)
    return replace(problem, labels=tuple(labels), notes=tuple(dict.fromkeys(notes)))


def _chains(var: e.Var, text: str, definitions: Definitions) -> list[str]:
    words = set(re.findall(r"\w+", text))
    chains = []
    for dim in dict.fromkeys(_dims(var.struct_info)):
        if str(dim) in words or (not isinstance(dim, (p.IntImm, p.PrimVar)) and str(dim) in text):
            steps = _steps(var, dim, definitions)
            if steps:
                chains.append(f"{dim} because {', '.join(steps)}")
    return chains


def _steps(var: e.Var, dim: p.PrimExpr, definitions: Definitions) -> list[str]:
    """The definitions that pass `dim` on to `var`, the nearest first."""
    steps: list[str] = []
    current: e.Var | None = var
    while current is not None and len(steps) < _LONGEST:
        value = definitions.get(current)
        if value is None:
            steps.append(_written(f"{current.name}: {current.struct_info}", current))
            break
        steps.append(_written(f"{current.name} = {_short(value)}", current))
        current = _source(value, dim)
    return steps


def _source(value: e.Expr, dim: p.PrimExpr) -> e.Var | None:
    """The first operand of a value that has the length."""
    stack = list(reversed(operands(value)))
    while stack:
        operand = stack.pop()
        if isinstance(operand, e.Var):
            if dim in _dims(operand.struct_info):
                return operand
        elif isinstance(operand, e.Tuple):
            stack.extend(reversed(operand.fields))
    return None


def _dims(info: s.StructInfo | None) -> tuple[p.PrimExpr, ...]:
    if isinstance(info, s.TupleStructInfo):
        return tuple([dim for field in info.fields for dim in _dims(field)])
    return s.lengths(info)


def _written(text: str, var: e.Var) -> str:
    return f"`{text}` (line {var.span.line})" if var.span is not None else f"`{text}`"


def _short(value: e.Expr) -> str:
    """The source text of a value, shortened."""
    if value.span is None:
        return type(value).__name__
    text = " ".join(value.span.text.split())
    return text if len(text) <= 48 else f"{text[:47]}…"
