"""What a dialect cannot say of a module, so that its printed text means less: one warning for each kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.dialects import Dialect, dialect
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.traverse import statements

_WITHIN = "the value of a scalar inside a type"
_NARROW = "the value of a scalar that is no int64"
_ERRORS = "the kind of error of an assert"


@dataclass(frozen=True, slots=True)
class _Loss:
    kind: str
    place: object


def losses(module: IRModule, dialect_name: str) -> list[Diagnostic]:
    """The warnings about the text of a module in a dialect, one for each kind of loss, at its first place."""
    surface = dialect(dialect_name)
    found: dict[str, list[object]] = {}
    for loss in _losses(module, surface):
        found.setdefault(loss.kind, []).append(loss.place)
    return [_problem(kind, places, surface) for kind, places in found.items()]


def _problem(kind: str, places: list[object], surface: Dialect) -> Diagnostic:
    more = f", in {len(places)} places" if len(places) > 1 else ""
    text = f"{surface.name} can't say {kind}{more}: the printed text leaves it out"
    return Diagnostic(codes.NOT_PRINTED, text, (Label(places[0], "", True),), help=codes.NOT_PRINTED.fix)


def _losses(module: IRModule, surface: Dialect) -> Iterator[_Loss]:
    for fn in module.functions.values():
        if isinstance(fn, t.PrimFunc) and surface.old:
            yield from _of_kernel(fn)
        elif isinstance(fn, e.Function) and not surface.old:
            yield from _of_function(fn)


def _of_kernel(fn: t.PrimFunc) -> Iterator[_Loss]:
    for stmt in statements(fn.body):
        if type(stmt) is t.AssertStmt and stmt.error != "RuntimeError":
            yield _Loss(_ERRORS, stmt)


def _of_function(fn: e.Function) -> Iterator[_Loss]:
    stated: list[tuple[s.StructInfo | None, object]] = [(param.struct_info, param) for param in fn.params]
    for binding in bindings(fn):
        if isinstance(binding, e.MatchCast):
            stated.append((binding.struct_info, binding))
        elif isinstance(binding.value, e.Function):
            stated += [(param.struct_info, param) for param in binding.value.params]
    for info, place in stated:
        if isinstance(info, s.PrimStructInfo):
            if info.value is not None and info.dtype is not INT64 and not isinstance(place, e.Var):
                yield _Loss(_NARROW, place)
        elif info is not None and _holds_value(info):
            yield _Loss(_WITHIN, place)


def _holds_value(info: s.StructInfo) -> bool:
    """True if StructInfo has the value of a scalar inside."""
    stack = [info]
    while stack:
        part = stack.pop()
        if isinstance(part, s.PrimStructInfo) and part.value is not None:
            return True
        if isinstance(part, s.TupleStructInfo):
            stack.extend(part.fields)
    return False
