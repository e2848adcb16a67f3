"""Patterns as plain data, from which the oracle's process builds TVM's patterns."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.prim import IntImm
from relax_explorer.core.patterns import pattern as q


def tree(pattern: q.Pattern) -> dict[str, Any]:
    """The kind of a pattern, the patterns inside it, and its other values. A pattern that occurs twice has one `id`."""
    kind, values = _described(pattern)
    return {"id": id(pattern), "kind": kind, "values": values, "parts": [tree(p) for p in q.parts(pattern)]}


def _described(pattern: q.Pattern) -> tuple[str, list[Any]]:
    match pattern:
        case q.Exactly(value=e.OpRef(name=name)):
            return "Exactly", [name]
        case q.Variable():
            return ("Variable" if pattern.kind is e.Var else "DataflowVariable"), [pattern.hint]
        case q.FunctionRef():
            return pattern.kind.__name__, [pattern.symbol]
        case q.CallOf():
            return "CallOf", [pattern.is_open]
        case q.TupleOf():
            return "TupleOf", [not pattern.in_order]
        case q.ItemOf():
            return "ItemOf", [pattern.index]
        case q.WithAttrs():
            return "WithAttrs", [dict(pattern.attrs)]
        case q.WithDType():
            return "WithDType", [str(pattern.dtype)]
        case q.WithShape() | q.ShapeOf():
            return type(pattern).__name__, [[_number(length) for length in pattern.lengths]]
    return type(pattern).__name__, []


def _number(length: q.Length) -> int:
    assert isinstance(length, IntImm)  # TVM's patterns have no other lengths
    return length.value
