"""The answers of a walk through two runs as text and as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from relax_explorer.core.session.compare import Pairing, Side
from relax_explorer.core.session.debug_session import Answer
from relax_explorer.core.session.lockstep import Lockstep, ValuePair
from relax_explorer.core.session.recording import Production
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


def pair_lines(pair: ValuePair, width: int = WIDTH) -> Iterable[str]:
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
        yield f"{'':9}{table.columns.heading}"
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
