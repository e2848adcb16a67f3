"""Explain the lengths of operands in errors: labels at the operands of the call, and the chain of definitions of a length."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import operands
from relax_explorer.core.syntax.python_tree import operand_spans

Definitions = Mapping[e.Var, e.Expr]
_LONGEST = 4  # steps of a chain


def explained(problem: Diagnostic, call: e.Call, definitions: Definitions) -> Diagnostic:
    """The diagnostic with its labels moved to the operands of the call, and a note for each length in a label."""
    spans = operand_spans(call.span)
    places = {id(arg): span for arg, span in zip(call.args, spans, strict=False)}
    labels, notes = [], list(problem.notes)
    for label in problem.labels:
        span = places.get(id(label.place))
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
