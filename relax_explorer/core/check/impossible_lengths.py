"""Lengths that no run can compute or use: negative ones, and divisions by what is always 0. Those of PrimFuncs are reported here."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.arith.prove import division_by_zero, is_negative
from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import statements

Finding = tuple[Code, str]
_ALWAYS = ", whatever the shape variables are"
_FINDINGS: PerNode[list[tuple[Finding, object]]] = PerNode()


def impossible(dim: p.PrimExpr) -> Finding | None:
    """Why a length can't be: it is negative, or divides by 0; None if it can."""
    if type(dim) is p.PrimVar:
        return None
    if type(dim) is p.IntImm:
        return (codes.NEGATIVE_LENGTH, f"the shape has the dimension {dim.value}") if dim.value < 0 else None
    division = division_by_zero(dim)
    if division is not None:
        whole = "" if division is dim else f" in the dimension {dim}"
        always = "" if type(division.b) is p.IntImm else _ALWAYS
        return codes.ZERO_DIVISION, f"{division}{whole} divides by zero{always}"
    if is_negative(dim):
        return codes.NEGATIVE_LENGTH, f"the dimension {dim} is negative{_ALWAYS}"
    return None


def violations(module: IRModule) -> Iterator[Diagnostic]:
    """The impossible lengths and strides of the buffers of each PrimFunc."""
    for fn in module.functions.values():
        if type(fn) is t.PrimFunc:
            for (code, text), place in _FINDINGS.of(fn, _of_kernel):
                # TVM folds a division by the number 0 while it reads, and stops.
                is_ours = code is codes.NEGATIVE_LENGTH or text.endswith(_ALWAYS)
                yield Diagnostic(code, text, (Label(place, "", True),), help=code.fix, spec_only=is_ours)


def _of_kernel(fn: t.PrimFunc) -> list[tuple[Finding, object]]:
    found: list[tuple[Finding, object]] = []
    for buffer, place in _buffers(fn):
        problems = [impossible(dim) for dim in buffer.shape]
        # A stride may be negative.
        problems += [
            one for one in map(impossible, buffer.strides or ()) if one and one[0] is codes.ZERO_DIVISION
        ]
        for problem in dict.fromkeys(problems):
            if problem is not None:
                found.append(((problem[0], f"buffer {buffer.name}: {problem[1]}"), place))
    return found


def _buffers(fn: t.PrimFunc) -> Iterator[tuple[Buffer, object]]:
    """The buffers of a PrimFunc, and where they are declared."""
    for param in fn.params:
        if isinstance(param, Buffer):
            yield param, param if param.span is not None else fn
    for statement in statements(fn.body):
        own: list[Buffer] = []
        if type(statement) is t.AllocBuffer:
            own = [statement.buffer]
        elif type(statement) is t.SBlock:
            own = [*statement.alloc_buffers, *[one.buffer for one in statement.match_buffers]]
        for buffer in own:
            place = buffer if buffer.span is not None else statement
            yield buffer, place if place.span is not None else fn
