"""The answers of a walk through two runs, and the maker of a NaN or an infinity, as text and as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from relax_explorer.core.exec.blame import Blame, Element
from relax_explorer.core.exec.computed import call_text
from relax_explorer.core.exec.found_store import Store
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.compare import Lockstep, Pair, Pairing, Side
from relax_explorer.core.session.debug_session import Answer
from relax_explorer.core.session.recording import Production
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.viz.compact import short_value
from relax_explorer.viz.debug_text import WIDTH, answer_data, answer_lines, element_lines, plain, value_text
from relax_explorer.viz.pair_table import (
    PairTable,
    distance_text,
    pair_glyph,
    pair_names,
    pair_state,
    verdict_line,
)
from relax_explorer.viz.visible import fit, visible

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


# -- lockstep text ---------------------------------------------------------------------------------------------------
# The answers of a walk through two runs as text and as data.


def lockstep_lines(answer: Answer, width: int = WIDTH) -> list[str]:
    """An answer as lines of visible text. Bindings are cut at `width` columns."""
    rule = _LINES.get(answer.kind)
    return answer_lines(answer, width) if rule is None else [*rule(answer.data, width)]


def lockstep_data(answer: Answer) -> dict[str, Any]:
    """An answer as plain data."""
    rule = _DATA.get(answer.kind)
    return answer_data(answer) if rule is None else {"answer": answer.kind, **rule(answer.data)}


# -- text ---------------------------------------------------------------------------------------------------------


def _stop(data: dict[str, Any], width: int) -> Iterable[str]:
    runs, at = data["runs"], data["at"]
    already = f"already at the {data['already']}: " if data["already"] else ""
    yield already + where_text(runs, at)
    pair = runs.pair(at)
    if pair is not None:
        yield from pair_lines(pair, width)
    elif at:
        yield from result_lines(runs)


def where_text(runs: Lockstep, at: int) -> str:
    """`pair 3 of 9, main: y | lv` at a pair, else the start or the results."""
    pair, total = runs.pair(at), len(runs.pairs)
    if pair is None:
        pairs = f"{total} pair{'s' * (total != 1)}"
        return f"start, before {pairs}" if at == 0 else f"results, after {pairs}: {_verdict(runs)}"
    functions = dict.fromkeys([visible(side.function, 40) for side in (pair.a, pair.b) if side is not None])
    side = pair.b or pair.a
    call = f"call {side.call}, " if side is not None and side.call else ""
    return f"pair {at} of {total}, {call}{' | '.join(functions)}: {pair_names(pair.pairing)}"


def _verdict(runs: Lockstep) -> str:
    verdict = runs.verdict
    if not verdict.equal:
        return f"DIFFERENT, {verdict.reason}"
    return verdict_line(verdict) if verdict.ran else "both stop"


def pair_lines(pair: Pair, width: int = WIDTH) -> Iterable[str]:
    """A pair: its bindings, its values, their distance, and its operands if it differs."""
    for letter, side in (("A", pair.pairing.a), ("B", pair.pairing.b)):
        yield fit(f"  {letter} {_side_text(side)}", width)
    if pair.pairing.equal and pair.a is not None:
        yield f"  both {value_text(pair.a.value)}"
    else:
        for letter, item in (("A", pair.a), ("B", pair.b)):
            if item is not None:
                yield f"  {letter} = {value_text(item.value)}"
    by = f" [{pair.pairing.by}]" if pair.pairing.by else ""
    yield f"  {pair_state(pair.pairing)}{by}"
    for operand in pair.operands:
        yield f"  operand {pair_names(operand)}: {pair_state(operand)}"


def _side_text(side: Side | None) -> str:
    if side is None:
        return "-"
    line = f"{side.line}: " if side.line else ""
    return f"{line}{visible(side.text or side.name, 400)}"


def result_lines(runs: Lockstep) -> Iterable[str]:
    """The results of two runs, and what stopped them."""
    for letter, message in zip("AB", runs.verdict.stopped, strict=True):
        if message:
            yield f"  {letter} stops: {visible(message, 300)}"
    for name, apart in runs.verdict.results:
        yield f"  {visible(name, 60)}: {distance_text(apart)}"


def _sides(data: dict[str, Any], width: int) -> Iterable[str]:
    sides: list[tuple[str, Production | None]] = [("A", data["a"]), ("B", data["b"])]
    for letter, item in sides:
        if item is None:
            yield f"{letter} has no value {visible(data['name'], 100)}".rstrip() + " here"
        else:
            yield f"{letter} {visible(item.name, 100)} = {value_text(item.value)}"
            yield from element_lines(item.value)


def _pairs(data: dict[str, Any], width: int) -> Iterable[str]:
    table = PairTable.of(width - 9)
    if data["pairs"]:
        yield f"{'':9}{table.heading}"
    for number, pairing in data["pairs"]:
        mark = "▶" if number == data["at"] else " "
        yield fit(f"{mark} {number:>4} {pair_glyph(pairing)} {table.row(pairing)}", width)


_LINES: dict[str, Callable[[dict[str, Any], int], Iterable[str]]] = {
    "pair": _stop,
    "sides": _sides,
    "pairs": _pairs,
}


# -- data ---------------------------------------------------------------------------------------------------------


def _stop_data(data: dict[str, Any]) -> dict[str, Any]:
    runs: Lockstep = data["runs"]
    pair = runs.pair(data["at"])
    row: dict[str, Any] = {"position": data["at"], "pairs": len(runs.pairs), "already": data["already"]}
    if pair is not None:
        operands = [asdict(operand) for operand in pair.operands]
        return row | asdict(pair.pairing) | {"values": _values(pair.a, pair.b), "operands": operands}
    if data["at"]:
        verdict = runs.verdict
        row |= {"reason": verdict.reason, "stopped": list(verdict.stopped)}
        row["results"] = {name: asdict(apart) for name, apart in verdict.results}
    return row


def _values(a: Production | None, b: Production | None) -> list[object]:
    return [None if item is None else plain(item.value) for item in (a, b)]


def _row(number: int, pairing: Pairing) -> dict[str, Any]:
    return {"position": number, **asdict(pairing)}


_DATA: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "pair": _stop_data,
    "sides": lambda data: {"name": data["name"], "values": _values(data["a"], data["b"])},
    "pairs": lambda data: {
        "position": data["at"],
        "pairs": [_row(number, pairing) for number, pairing in data["pairs"]],
    },
}
