"""Answers to questions about lengths, and about the maker of a NaN or an infinity, as lines of text and as data for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.exec.blame import Blame, Element
from relax_explorer.core.exec.computed import Store, call_text
from relax_explorer.core.exec.shape_panel import CheckRow, Constraint, ShapePanel
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.shapes.origins import Explanation, Step, lines
from relax_explorer.core.shapes.residual import ShapeCheck
from relax_explorer.core.shapes.why import Mismatch, WhatIf, Why
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.viz.short import short_value
from relax_explorer.viz.visible import fields_of

Line = tuple[str, object]  # the text, and the span or node that it is about
_FEW = 4  # steps of one length in a row that are shown
_ANSWERS = {Answer.YES: "is proved", Answer.NO: "always fails", Answer.UNKNOWN: "is left to the run"}


def why_lines(found: Why) -> list[Line]:
    """The origins of each length, then those of the lengths that a check compares."""
    shown: list[Line] = []
    for explanation in found.lengths:
        first = explanation.steps[0]
        shown.append((f"{found.owner}.{first.value} = {first.length}", first.span))
        shown += _steps(explanation, "  ")
    for mismatch in found.mismatches:
        shown += _mismatch(mismatch)
    return shown


def _mismatch(mismatch: Mismatch) -> Iterator[Line]:
    check, (left, right) = mismatch.check, mismatch.sides
    yield f"{check.text} {_ANSWERS[check.answer]} ({check.word}: {check.subject})", check.place
    yield "  one side", None
    yield from _steps(left, "    ")
    yield "  the other side", None
    yield from _steps(right, "    ")
    common = mismatch.common
    if common is None:
        yield "  they have nothing in common", None
    else:
        yield f"  they part behind {common.value}{_where(common)}", common.span


def _steps(explanation: Explanation, indent: str) -> Iterator[Line]:
    """A line for each step. Of many steps in a row with one length, the first and the last ones are shown."""
    rows = list(lines(explanation))
    number = 0
    while number < len(rows):
        run = _run(rows, number)
        if run > _FEW:
            yield _line(*rows[number], indent)
            depth, last = rows[number + run - 1]
            yield f"{indent}{'  ' * depth}{'':<9} … {run - 2} more values of length {last.length}", last.span
            number += run - 1
        yield _line(*rows[number], indent)
        number += 1


def _run(rows: list[tuple[int, Step]], start: int) -> int:
    """The number of rows from one on that have the same length and one source each."""
    depth, first = rows[start]
    end = start
    while (
        end < len(rows)
        and rows[end][0] == depth
        and rows[end][1].length == first.length
        and len(rows[end][1].sources) == 1
    ):
        end += 1
    return end - start


def _line(depth: int, step: Step, indent: str) -> Line:
    where = f"line {step.span.line}" if step.span is not None else ""
    length = "" if step.value == step.length else f" = {step.length}"
    return f"{indent}{'  ' * depth}{where:<9} {step.value}{length}: {step.how}", step.span


def _where(step: Step) -> str:
    return "" if step.span is None else f" in line {step.span.line}"


def what_if_lines(found: WhatIf, condition: str) -> list[Line]:
    """The values that become more precise or impossible, and the checks that the condition decides."""
    shown: list[Line] = [(f"{found.function}, if {condition}:", None)]
    if "; not of " in found.given:
        shown.append((f"  that is {found.given}", None))
    first = len(shown)
    for item in found.values:
        outcome = f"cannot be: {'; '.join(item.impossible)}" if item.impossible else f"becomes {item.after}"
        shown.append((f"  {_line_of(item.place):<9} {item.value}: {item.before} {outcome}", item.place))
    for check in found.decided:
        shown.append(
            (
                f"  {_line_of(check.place):<9} then {check.text} {_ANSWERS[check.answer]} ({check.word}: {check.subject})",
                check.place,
            )
        )
    return shown if len(shown) > first else [*shown, ("  nothing changes", None)]


def _line_of(place: object) -> str:
    span = getattr(place, "span", None)
    return "" if span is None else f"line {span.line}"


_STEP = "value length how line=span.line sources"
_CHECK = "kind subject condition=text"


def why_data(found: Why) -> dict[str, Any]:
    """The answer as data; steps name their sources by number."""
    mismatches = [
        {
            **_check_data(one.check),
            "sides": list(map(_explanation_data, one.sides)),
            "common": None if one.common is None else fields_of(one.common, _STEP) | {"sources": []},
        }
        for one in found.mismatches
    ]
    lengths = list(map(_explanation_data, found.lengths))
    return fields_of(found, "function within value") | {"lengths": lengths, "mismatches": mismatches}


def what_if_data(found: WhatIf) -> dict[str, Any]:
    """The answer as data. A value that cannot be has no StructInfo after, but the reasons."""
    values = [
        fields_of(one, "value line=place.span.line")
        | {"before": str(one.before), "after": None if one.impossible else str(one.after)}
        | {"impossible": one.impossible}
        for one in found.values
    ]
    decided = list(map(_check_data, found.decided))
    return fields_of(found, "function given") | {"values": values, "decided": decided}


def _explanation_data(explanation: Explanation) -> list[dict[str, Any]]:
    return [fields_of(step, _STEP) for step in explanation.steps]


def _check_data(check: ShapeCheck) -> dict[str, Any]:
    answer = {"answer": _ANSWERS[check.answer]}
    return fields_of(check, _CHECK) | answer | fields_of(check, "line=place.span.line")


# -- shape text ------------------------------------------------------------------------------------------------------
# The shape panel as text and as data for JSON.


_MARKS = {True: "✓", False: "✗", None: "·"}
_MOST = 6  # constraints of a shape variable
_SUBJECT = 60


def shape_lines(panel: ShapePanel, is_timed: bool = True) -> list[str]:
    """The panel, line by line. Six constraints are shown for each variable, the times only if `is_timed`."""
    known = f"shape variables of {panel.function}:"
    lines = [known if panel.variables else f"{panel.function} has no shape variables"]
    for variable in panel.variables:
        lines.append(f"  {variable}")
        lines += [f"      {line}" for line in variable.before]
        own = [item for item in variable.constraints if item.dimension != variable.name or item.count > 1]
        lines += [f"    {constraint_line(item)}" for item in own[:_MOST]]
        lines += [f"    and {len(own) - _MOST} more dimensions"] if len(own) > _MOST else []
    if panel.checks:
        lines.append(f"checks in {panel.function}:")
        lines += [f"  {check_line(item, is_timed)}" for item in panel.checks]
    return lines


def constraint_line(item: Constraint) -> str:
    """A constraint: `✓ y.shape[1] = n * 2 = 6, by parameter`."""
    more = f" and {item.count - len(item.places)} more" if item.count > len(item.places) else ""
    value = "" if item.required is None else f" = {item.required}"
    found = f", found {item.found}" if item.holds is False else ""
    return f"{_MARKS[item.holds]} {', '.join(item.places)}{more} = {item.dimension}{value}{found}, by {item.rule}"


def check_line(item: CheckRow, is_timed: bool = True) -> str:
    """A check: `✓ step 3 match_cast x: R.Tensor((n,)), checked in 0.012 ms`."""
    if item.outcome == "failed":
        return f"✗ step {item.step} {item.subject}"
    subject = item.subject if len(item.subject) <= _SUBJECT else item.subject[: _SUBJECT - 1] + "…"
    time = f" in {item.seconds * 1000:.3f} ms" if is_timed else ""
    return f"✓ step {item.step} {item.kind} {subject}, {item.outcome}{time}"


def shape_data(panel: ShapePanel) -> dict[str, Any]:
    """The panel as data for JSON."""
    variables = [
        {
            **fields_of(variable, "name value"),
            "origin": None if variable.origin is None else fields_of(variable.origin, "kind place"),
            "chain": variable.before,
            "constraints": [
                fields_of(item, "dimension places count by=rule required found holds")
                for item in variable.constraints
            ],
        }
        for variable in panel.variables
    ]
    checks = [
        fields_of(item, "step kind of=subject outcome")
        | {"ms": round(item.seconds * 1000, 4)}
        | fields_of(item, "line=span.line")
        for item in panel.checks
    ]
    return {"func": panel.function, "variables": variables, "checks": checks}


# -- blame text ------------------------------------------------------------------------------------------------------
# The maker of a NaN or an infinity as text, line by line.


_WORDS = {"nan": "NaN", "inf": "an infinity"}
_OPERANDS = 8  # shown
_TEXT = 90


def headline(found: Blame) -> str:
    """The maker in one sentence."""
    count = f"{found.wrong} of {found.size} elements"
    if found.source == "step":
        return f"step {found.position} makes {_WORDS[found.kind]}: {found.name}, {count}"
    what = f"the input {found.name}" if found.source == "input" else found.name
    return f"{what} holds {_WORDS[found.kind]}: {count}"


def blame_lines(found: Blame) -> list[str]:
    """The maker, its place, the elements that made it, the operands, the store inside a kernel, and what passed it on."""
    lines = [headline(found)]
    if found.binding is not None:
        lines.append(f"  {_place(found.function, found.binding)}")
    lines.append(f"  {_element(found.name, found.index)} = {_binding_number(found.value)}")
    lines += [f"    from {_part(item)}" for item in found.elements]
    if found.operands:
        lines.append("  operands:" if not found.elements else "  operands as a whole:")
        lines += [f"    {item.name}: {short_value(item.value, _TEXT)}" for item in found.operands[:_OPERANDS]]
        more = len(found.operands) - _OPERANDS
        lines += [f"    and {more} more"] if more > 0 else []
    if isinstance(found.store, Store):
        lines += _store("inside", found.store)
    elif found.store:
        lines.append(f"  inside: {found.store}")
    if found.began is not None:
        lines += _store("the infinity began in", found.began)
    lines += [f"  called from {_place(name, binding)}" for name, binding in found.callers]
    if found.passed_on:
        lines.append(
            f"  passed on by: {', '.join([f'{item.name} (step {item.position})' for item in found.passed_on])}"
        )
    return lines


def _place(function: str, binding: e.Binding) -> str:
    span = binding.span
    where = f"  ({span.source.filename}:{span.line})" if span is not None else ""
    return f"{function}: {call_text(binding)}{where}"


def _element(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def _binding_number(value: float) -> str:
    return f"{value:.6g}"


def _part(item: Element) -> str:
    if item.values.size == 1:
        element: Any = item.values.reshape(())[()]
        integral = item.values.dtype.kind in "biu"
        return f"{item.text} = {element if integral else _binding_number(float(element))}"
    return f"{item.text}: {short_value(item.values, _TEXT)}"


def _store(head: str, store: Store) -> list[str]:
    """A store of a kernel: its PrimFunc, line and statement, then the loop variables and the elements."""
    span = store.statement.span
    line = f", {span.source.filename}:{span.line}" if span is not None else ""
    target = BufferLoad(store.statement.buffer, store.statement.indices)
    text = f"{target} = {store.statement.value}"
    name = store.function.attrs.get("global_symbol") or "the kernel"
    where = ", ".join([f"{var} = {value}" for var, value in store.loops])
    made = f"{_element(store.statement.buffer.name, store.index)} = {_binding_number(store.value)}"
    loads = "".join([f", {name} = {_binding_number(value)}" for name, value in _loads(store)])
    return [
        f"  {head} {name}{line}:",
        f"    {text if len(text) <= _TEXT else text[: _TEXT - 1] + '…'}",
        f"    {f'where {where}: ' if where else ''}{made}{loads}",
    ]


def _loads(store: Store) -> list[tuple[str, float]]:
    """The elements that a store read."""
    return [(_element(load.buffer.name, index), value) for load, index, value in store.loads]


def blame_data(found: Blame) -> dict[str, Any]:
    """The maker as data for JSON."""
    return {
        **fields_of(found, "kind source step=position func=function name"),
        "binding": call_text(found.binding) if found.binding is not None else None,
        "place": _span(found.binding),
        **fields_of(found, "index value wrong size"),
        "from": [
            {"part": item.text, **({"value": item.values} if item.values.size == 1 else _summary(item.values))}
            for item in found.elements
        ],
        "operands": [
            {"name": item.name, "shape": np.shape(item.value), **_summary(item.value)} for item in found.operands
        ],
        "inside": _store_data(found.store),
        "infinity_began": _store_data(found.began),
        "callers": [{"func": name, "binding": call_text(binding), "place": _span(binding)} for name, binding in found.callers],
        "passed_on": [fields_of(item, "step=position func=function name") for item in found.passed_on],
    }  # fmt: skip


def _summary(value: Value) -> dict[str, str]:
    return {"summary": short_value(value, _TEXT)}


def _span(node: object) -> dict[str, Any] | None:
    span = getattr(node, "span", None)
    return None if span is None else {"file": span.source.filename, "line": span.line}


def _store_data(store: Store | str | None) -> dict[str, Any] | None:
    if not isinstance(store, Store):
        return {"unknown": store} if store else None
    return {
        "func": store.function.attrs.get("global_symbol"),
        "statement": f"{BufferLoad(store.statement.buffer, store.statement.indices)} = {store.statement.value}",
        "place": _span(store.statement),
        "loops": dict(store.loops),
        "index": list(store.index),
        "value": store.value,
        "loads": dict(_loads(store)),
    }
