"""Warnings about lengths that the facts of a program settle: inference compares types, and knows no earlier check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.conditions import fits_without_lengths
from relax_explorer.core.shapes.residual import ARGUMENTS, RESULT, shape_checks
from relax_explorer.core.source import Span
from relax_explorer.core.syntax.part_spans import operand_spans

_KINDS = {codes.MAYBE_ARGUMENT: ARGUMENTS, codes.MAYBE_RETURN: RESULT}


def unsettled(module: IRModule, problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The problems of a normalized module without warnings about arguments and results that are proved to fit."""
    items = list(problems)
    if not any(item.code in _KINDS for item in items):
        return items
    proved = _proved(module)
    return [
        item
        for item in items
        if item.code not in _KINDS or (_KINDS[item.code], _key(item.span)) not in proved
    ]


def _proved(module: IRModule) -> set[tuple[str, object]]:
    """Calls and results whose lengths fit, by kind and span."""
    answers: dict[tuple[str, int], set[Answer]] = {}
    for check in shape_checks(module):
        answers.setdefault((check.kind, id(check.place)), set()).add(check.answer)
    found: set[tuple[str, object]] = set()
    for kind, place, span, pairs in _places(module):
        if (
            answers.get((kind, id(place))) == {Answer.YES}
            and span is not None
            and all(
                have is not None and want is not None and fits_without_lengths(have, want)
                for have, want in pairs
            )
        ):
            found.add((kind, _key(span)))
    return found


def _key(span: Span | None) -> object:
    """A value that equal spans share."""
    return span and (id(span.source), span.line, span.column, span.end_line, span.end_column)


_Pair = tuple[s.StructInfo | None, s.StructInfo | None]


def _places(module: IRModule) -> Iterator[tuple[str, object, Span | None, list[_Pair]]]:
    """The calls of functions of the module, and the results: what there is, and what is wanted."""
    for fn in module.relax_functions.values():
        inside = [b for b in bindings(fn) if b.value.span is not None]
        for owner in (fn, *[b.value for b in inside if isinstance(b.value, e.Function)]):
            yield (
                RESULT, owner, (owner.body if owner.body.span else owner).span,
                [(owner.body.struct_info, owner.ret_struct_info)],
            )  # fmt: skip
        for binding in inside:
            call = binding.value
            callee = (
                module.relax_functions.get(call.op.name)
                if isinstance(call, e.Call) and isinstance(call.op, e.GlobalVar)
                else None
            )
            if isinstance(call, e.Call) and callee is not None and len(callee.params) == len(call.args):
                pairs = [
                    (a.struct_info, q.struct_info) for a, q in zip(call.args, callee.params, strict=True)
                ]
                for span in (call.span, *operand_spans(call.span)):
                    yield ARGUMENTS, binding, span, pairs
