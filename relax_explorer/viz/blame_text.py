"""The maker of a NaN or an infinity as text, line by line."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_explorer.core.exec.blame import Blame, Element
from relax_explorer.core.exec.computed import Store, call_text
from relax_explorer.core.ir import expr as e
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.viz.short import short_value

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
    lines.append(f"  {_element(found.name, found.index)} = {_number(found.value)}")
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


def _number(value: float) -> str:
    return f"{value:.6g}"


def _part(item: Element) -> str:
    if item.values.size == 1:
        element: Any = item.values.reshape(())[()]
        integral = item.values.dtype.kind in "biu"
        return f"{item.text} = {element if integral else _number(float(element))}"
    return f"{item.text}: {short_value(item.values, _TEXT)}"


def _store(head: str, store: Store) -> list[str]:
    """A store of a kernel: its PrimFunc, line and statement, then the loop variables and the elements."""
    span = store.statement.span
    line = f", {span.source.filename}:{span.line}" if span is not None else ""
    target = BufferLoad(store.statement.buffer, store.statement.indices)
    text = f"{target} = {store.statement.value}"
    name = store.function.attrs.get("global_symbol") or "the kernel"
    where = ", ".join([f"{var} = {value}" for var, value in store.loops])
    made = f"{_element(store.statement.buffer.name, store.index)} = {_number(store.value)}"
    loads = "".join([f", {name} = {_number(value)}" for name, value in _loads(store)])
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
        "kind": found.kind,
        "source": found.source,
        "step": found.position,
        "func": found.function,
        "name": found.name,
        "binding": call_text(found.binding) if found.binding is not None else None,
        "place": _span(found.binding),
        "index": list(found.index),
        "value": found.value,
        "wrong": found.wrong,
        "size": found.size,
        "from": [
            {"part": item.text, **({"value": item.values} if item.values.size == 1 else {"summary": short_value(item.values, _TEXT)})}
            for item in found.elements
        ],
        "operands": [
            {"name": item.name, "shape": list(np.shape(item.value)), "summary": short_value(item.value, _TEXT)}
            for item in found.operands
        ],
        "inside": _store_data(found.store),
        "infinity_began": _store_data(found.began),
        "callers": [{"func": name, "binding": call_text(binding), "place": _span(binding)} for name, binding in found.callers],
        "passed_on": [{"step": item.position, "func": item.function, "name": item.name} for item in found.passed_on],
    }  # fmt: skip


def _span(node: Any) -> dict[str, Any] | None:
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
