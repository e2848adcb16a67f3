"""The answers of a debugging session, and of a walk through two runs, as text and as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.frame import Activation, Frame
from relax_explorer.core.exec.shape_panel import ShapePanel
from relax_explorer.core.exec.values import Shape, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.command import Command
from relax_explorer.core.session.debug_session import Answer, Inside, Place, Watch
from relax_explorer.viz.length_text import shape_data, shape_lines
from relax_explorer.viz.problem import render
from relax_explorer.viz.short import short_info, short_value
from relax_explorer.viz.visible import counted, fields_of, fit, visible

if TYPE_CHECKING:
    from relax_explorer.core.session.compare import Pairing, Side
    from relax_explorer.core.session.lockstep import Lockstep, ValuePair
    from relax_explorer.core.session.recording import Production

WIDTH = 80
SHOWN_WHOLE = 1_000  # elements of an array in JSON


def answer_lines(answer: Answer, width: int = WIDTH) -> list[str]:
    """An answer as lines of visible text. Lines of the program are cut at `width` columns, loop variables wrapped."""
    problems = [line for item in answer.problems for line in render(item).split("\n")]
    pairs = _PAIRS.get(answer.kind)
    if pairs is not None:
        return [*pairs(answer.data, width), *problems]
    shown = [visible(line, 600) for line in _LINES[answer.kind](answer.data)]
    return [part for line in shown for part in _fitted(answer.kind, line, width)] + problems


def _fitted(kind: str, line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    if kind in ("list", "frames", "frame") or line.startswith(("  next ", "  done ")):
        return [f"{line[: max(width - 1, 1)]}…"]
    if line.startswith(("  where ", "  from ")):
        return wrap(line, max(width, 20), subsequent_indent="    ", break_long_words=False)
    return [line]


def answer_data(answer: Answer) -> dict[str, Any]:
    """An answer as plain data."""
    pairs = _PAIR_DATA.get(answer.kind)
    if pairs is not None:
        return {"answer": answer.kind, **pairs(answer.data)}
    data = {key: described(value) for key, value in answer.data.items() if key != "blame"}
    if answer.data.get("blame") is not None:
        from relax_explorer.viz.length_text import blame_data

        data["blame"] = blame_data(answer.data["blame"])
    problems = [problem.to_json() for problem in answer.problems]
    return {"answer": answer.kind, **data, **({"problems": problems} if problems else {})}


# -- text ---------------------------------------------------------------------------------------------------------


def value_text(value: Value) -> str:
    """A value in one line."""
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, (bool, int, float)):
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    if type(value) is tuple:
        return f"({', '.join(map(value_text, value[:8]))}{', …' if len(value) > 8 else ''})"
    return short_value(value, 200)


def event_text(event: Event, frame: Frame, value: Value) -> str:
    """One step: `main: y = (2,) f32 [1 2]`, `f entered: x = …`, `f returned: r = …`."""
    name = event.binding.var.name if event.binding is not None and event.binding.var is not None else "_"
    if event.kind == "enter":
        params = [(param.name, frame.value_of(param)) for param in frame.function.params]
        shown = ", ".join(f"{key} = {value_text(item)}" for key, item in params)
        return f"{event.function} entered{': ' if shown else ''}{shown}"
    if event.kind == "return":
        return f"{event.function} returned: {name} = {value_text(value)}"
    if event.kind == "done":
        return f"{event.function} returned {value_text(value)}"
    return (
        f"{event.function} starts"
        if event.kind == "start"
        else f"{event.function}: {name} = {value_text(value)}"
    )


def binding_text(binding: e.Binding | None) -> str:
    """`y = add` for a binding; the end of a function for None."""
    if binding is None:
        return "the end of the function"
    name = binding.var.name if binding.var is not None else "_"
    return f"{name} = {_called(binding)}"


def _called(binding: e.Binding) -> str:
    value = binding.value
    if isinstance(binding, e.MatchCast):
        return f"{binding.word} to {short_info(binding.struct_info)}"
    if type(value) is e.Call:
        callee = getattr(value.op, "name", "") or getattr(value.op, "global_symbol", "") or "a call"
        kernel = next((arg.name for arg in value.args[:1] if type(arg) is e.GlobalVar), "")
        return f"{callee.removeprefix('relax.')}{f' of {kernel}' if kernel else ''}"
    words = {
        e.If: "if",
        e.Function: "function",
        e.Tuple: "tuple",
        e.TupleGetItem: "field",
        e.Constant: "constant",
    }
    return words.get(type(value), getattr(value, "name", "value"))


def _stop(data: dict[str, Any]) -> Iterable[str]:
    yield from stop_remarks(data)
    if data["call"]:
        yield data["call"]
    head = f"{_REASONS.get(data['reason'], '')}step {data['position']}, "
    if data["inside"] is not None:
        yield from _inside(head, data["inside"])
    else:
        yield head + event_text(data["event"], data["frame"], data["value"])
        if data["event"].kind != "done":
            yield f"  next {place_text(data['next'], data['frame'])}"
    yield from _change(data)
    yield from _watch_lines(data["watches"])


def _inside(head: str, at: Inside) -> Iterable[str]:
    """A stop inside a PrimFunc: the last store, the loops around it, what it read, and its line."""
    yield head + inside_text(at)
    if at.loops:
        yield f"  where {', '.join([f'{name} = {value}' for name, value in at.loops.items()])}"
    if at.operands:
        yield f"  from {', '.join([f'{name} = {value_text(value)}' for name, value in at.operands])}"
    if at.stores:
        yield f"  done {at.line}: {at.text}" if at.line else f"  done {at.text}"


def inside_text(at: Inside) -> str:
    """`store 5 of f: B[0, 1] = 3`."""
    if not at.stores:
        return f"in {at.function}, before its first store"
    return f"store {at.stores} of {at.function}" + (
        f": {at.written} = {value_text(at.value)}" if at.written else ""
    )


_REASONS = {
    "cancelled": "cancelled at ",
    "error": "the program failed after ",
    "already at the end": "already at the end: ",
    "already at the start": "already at the start: ",
}


def stop_remarks(data: dict[str, Any]) -> Iterable[str]:
    """What happened on the way to a stop: output, and the breakpoints that stopped the move."""
    yield from _printed(data.get("printed", ()))
    if data.get("taken_back"):
        lines = data["taken_back"]
        yield f"| {counted(lines, 'line')} of output taken back"
    for point, hits in data.get("hits", ()):
        yield f"breakpoint {point.number} ({point_text(point)}), hit {hits}"
        if point.problem is not None:
            yield f"  its condition: {point.problem.diagnostics[0].message}"


def _change(data: dict[str, Any]) -> Iterable[str]:
    """The value that `last-change` or `next-change` looked for."""
    if "expression" in data:
        shown = data["missing"] or f"{data['expression']} = {value_text(data['now'])}"
        yield f"  {shown}" + ("" if data["changed"] else ", and no step on the way changed it")


def stop_notice(data: dict[str, Any]) -> str:
    """A stop in one line, for a screen that shows the position itself."""
    already = [data["reason"]] if data["reason"].startswith("already") else []
    return "; ".join(line.strip() for line in (*stop_remarks(data), *already, *_change(data)))


def _watch_lines(watches: Iterable[tuple[Watch, Value, str]]) -> Iterable[str]:
    for item, value, missing in watches:
        yield f"{'*' if item.is_changed else ' '} {watch_text(item, value, missing)}"


def watch_text(item: Watch, value: Value, missing: str) -> str:
    """`1: x[0] = 3`, or why it has no value."""
    text = item.expression.text
    if not missing:
        return f"{item.number}: {text} = {value_text(value)}"
    return f"{item.number}: {missing}" if missing.startswith(text) else f"{item.number}: {text}: {missing}"


def point_text(point: Breakpoint) -> str:
    """The place and condition of a breakpoint."""
    return f"{point.text} if {point.condition.text}" if point.condition is not None else point.text


def _breakpoint(data: dict[str, Any]) -> Iterable[str]:
    point = data["breakpoint"]
    yield f"breakpoint {point.number}: {_described(point)}, {counted(data['hits'], 'hit')} up to here"


def _described(point: Breakpoint) -> str:
    first, last = point.ignored.start, point.ignored.stop - 1
    ignored = f"hit {first}" if first == last else f"hits {first} to {last}"
    notes = [
        *([point.note] if point.note else []),
        *(["once"] if point.is_temporary else []),
        *([] if point.is_enabled else ["disabled"]),
        *([f"ignores {ignored}"] if point.ignored else []),
    ]
    return point_text(point) + (f" ({', '.join(notes)})" if notes else "")


def breakpoint_text(point: Breakpoint, hits: int) -> str:
    """`1: y if n > 3 (disabled), 2 hits`."""
    return f"{point.number}: {_described(point)}, {counted(hits, 'hit')}"


def _breakpoints(data: dict[str, Any]) -> Iterable[str]:
    for point, hits in data["breakpoints"]:
        yield breakpoint_text(point, hits)
    if not data["breakpoints"]:
        yield "no breakpoints"


def _deleted(data: dict[str, Any]) -> Iterable[str]:
    names = ", ".join([f"{item.number} ({point_text(item)})" for item in data["breakpoints"]])
    yield f"deleted {names}" if names else "no breakpoints"


def _watches(data: dict[str, Any]) -> Iterable[str]:
    yield from _watch_lines(data["watches"]) if data["watches"] else ["no watches"]


def _value(data: dict[str, Any]) -> Iterable[str]:
    value = data["value"]
    if data["missing"]:
        yield data["missing"]
        return
    yield f"{data['text']} = {value_text(value)}"
    yield from element_lines(value)


def element_lines(value: Value) -> Iterable[str]:
    """The elements of an array that is too large for one line."""
    if isinstance(value, np.ndarray) and value.ndim and value.size > 4:
        text = np.array2string(value, threshold=100, edgeitems=3, precision=6, max_line_width=WIDTH - 2)
        yield from [f"  {line}" for line in text.split("\n")]


def _blame(data: dict[str, Any]) -> Iterable[str]:
    from relax_explorer.viz.length_text import blame_lines

    found = data["blame"]
    yield from blame_lines(found) if found is not None else [f"{data['name'] or 'the last value'} is finite"]


def _locals(data: dict[str, Any]) -> Iterable[str]:
    for name, value in data["values"].items():
        yield f"{name} = {value_text(value)}"
    if not data["values"]:
        yield "no values"


def _dims(data: dict[str, Any]) -> Iterable[str]:
    yield from [f"{name} = {value}" for name, value in data["dims"].items()] or ["no shape variables"]


def _shapes(data: dict[str, Any]) -> Iterable[str]:
    yield from shape_lines(data["panel"], is_timed=False)


def _frames(data: dict[str, Any]) -> Iterable[str]:
    frames = data["frames"]
    for level, (frame, place) in enumerate(frames):
        if level < 20 or level >= len(frames) - 2:
            yield _frame_text(level, frame, place, level == data["selected"])
        elif level == 20:
            yield f"  … {len(frames) - 22} more"


def _frame_text(level: int, frame: Activation, place: Place | Inside | None, is_selected: bool) -> str:
    return f"{'>' if is_selected else ' '} {level} {frame.name}, {place_text(place, frame)}"


def place_text(place: Place | Inside | None, frame: Activation) -> str:
    """`12: y = R.add(x, x)`, with the text as written if there is one."""
    if isinstance(place, Inside):
        return inside_text(place)
    if place is None:
        return f"return from {frame.name}"
    return f"{place.line}: {place.text}" if place.line else place.text or binding_text(place.binding)


def _frame(data: dict[str, Any]) -> Iterable[str]:
    yield _frame_text(data["level"], data["frame"], data["next"], True)


def _checks(data: dict[str, Any]) -> Iterable[str]:
    for position, event in data["checks"]:
        yield f"step {position}: {_check(event)}"
    if not data["checks"]:
        yield "no checks so far"


def _check(event: Event) -> str:
    bound = ", ".join(f"{var.name} = {length}" for var, length in event.dims)
    if event.kind == "enter":
        how = "proved before the run" if event.check == "proved" else "checked"
        return f"✓ arguments of {event.function}, {how}{f', {bound}' if bound else ''}"
    cast = event.binding
    info = short_info(cast.struct_info) if isinstance(cast, e.MatchCast) else ""
    name = cast.var.name if cast is not None and cast.var is not None else "the value"
    return f"✓ {name} is {info}{f', {bound}' if bound else ''}"


def _list(data: dict[str, Any]) -> Iterable[str]:
    width = len(str(data["lines"][-1][0])) if data["lines"] else 1
    for number, text in data["lines"]:
        yield f"{'▶' if number == data['next'] else ' '} {number:>{width}}  {text}".rstrip()


def _output(data: dict[str, Any]) -> Iterable[str]:
    yield from _printed(data["lines"]) if data["lines"] else ["no output"]


def _printed(output: Iterable[str]) -> Iterable[str]:
    """What the program printed, each line marked."""
    for text in output:
        yield from [f"| {line}" for line in text.split("\n")]


def _help(data: dict[str, Any]) -> Iterable[str]:
    commands: list[Command[Answer]] = data["commands"]
    if len(commands) > 1:
        for item in commands:
            doc = item.doc.partition(":")[0].partition(";")[0].rstrip(".")
            yield f"{item.name:<17}{' '.join(item.short):<14}{doc}"
        return
    short = f" (short: {', '.join(commands[0].short)})" if commands[0].short else ""
    yield f"{commands[0].usage}{short}"
    yield f"  {commands[0].doc}"


_LINES: dict[str, Callable[[dict[str, Any]], Iterable[str]]] = {
    "nothing": lambda data: (),
    "quit": lambda data: (),
    "refused": lambda data: (),
    "stop": _stop,
    "breakpoint": _breakpoint,
    "breakpoints": _breakpoints,
    "deleted": _deleted,
    "watches": _watches,
    "value": _value,
    "locals": _locals,
    "dims": _dims,
    "shapes": _shapes,
    "blame": _blame,
    "frames": _frames,
    "frame": _frame,
    "checks": _checks,
    "list": _list,
    "output": _output,
    "help": _help,
}


# -- pairs of two runs -----------------------------------------------------------------------------------------------
# The table of pairs is loaded by the first answer that has one: a run alone needs no comparison.


def _pair_stop(data: dict[str, Any], width: int) -> Iterable[str]:
    runs, at = data["runs"], data["at"]
    already = f"already at the {data['already']}: " if data["already"] else ""
    yield already + _pair_place(runs, at)
    pair = runs.pair(at)
    if pair is not None:
        yield from _pair_lines(pair, width)
    elif at:
        yield from _result_lines(runs)


def _pair_place(runs: Lockstep, at: int) -> str:
    """`pair 3 of 9, main: y | lv` at a pair, else the start or the results."""
    from relax_explorer.viz.pair_table import pair_names, verdict_word

    pair, total = runs.pair(at), len(runs.pairs)
    if pair is None:
        pairs = counted(total, "pair")
        both = runs.verdict.equal and all(runs.verdict.stopped)
        verdict = "both stop" if both else verdict_word(runs.verdict)
        return f"start, before {pairs}" if at == 0 else f"results, after {pairs}: {verdict}"
    functions = dict.fromkeys([visible(side.function, 40) for side in (pair.a, pair.b) if side is not None])
    side = pair.b or pair.a
    call = f"call {side.call}, " if side is not None and side.call else ""
    return f"pair {at} of {total}, {call}{' | '.join(functions)}: {pair_names(pair.pairing)}"


def _pair_lines(pair: ValuePair, width: int) -> Iterable[str]:
    """A pair: its bindings, its values, their distance, and its operands if it differs."""
    from relax_explorer.viz.pair_table import pair_names, pair_state

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


def _result_lines(runs: Lockstep) -> Iterable[str]:
    """The results of two runs, and what stopped them."""
    from relax_explorer.viz.pair_table import distance_text

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
    from relax_explorer.viz.pair_table import PairTable, pair_glyph

    table = PairTable.of(width - 9)
    if data["pairs"]:
        yield f"{'':9}{table.columns.heading}"
    for number, pairing in data["pairs"]:
        mark = "▶" if number == data["at"] else " "
        yield fit(f"{mark} {number:>4} {pair_glyph(pairing)} {table.row(pairing)}", width)


_PAIRS: dict[str, Callable[[dict[str, Any], int], Iterable[str]]] = {
    "pair": _pair_stop,
    "sides": _sides,
    "pairs": _pairs,
}


# -- data ---------------------------------------------------------------------------------------------------------


def described(value: object) -> object:
    """Names, numbers and texts for JSON. Values are described by shape, dtype and elements."""
    rule = _DATA.get(Frame if isinstance(value, Activation) else type(value))
    if rule is not None:
        return rule(value)
    if type(value) is tuple and value and isinstance(value[0], (Breakpoint, Watch, Activation)):
        return _row(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, Shape):
        return [described(item) for item in value]
    if isinstance(value, (e.VarBinding, e.MatchCast)):
        return binding_text(value)
    if isinstance(value, np.ndarray):
        row: dict[str, object] = {"shape": list(value.shape), "dtype": value.dtype.name}
        whole = value.size <= SHOWN_WHOLE
        return row | ({"value": value.tolist()} if whole else {"text": value_text(value)})
    return value if isinstance(value, (float, bool, int, str, type(None))) else value_text(value)


def _row(values: tuple[Any, ...]) -> dict[str, object]:
    """A breakpoint, watch or frame with what belongs to it."""
    first, *rest = values
    names = {Breakpoint: ("hits",), Watch: ("value", "missing")}.get(type(first), ("next",))
    own = _DATA[Frame if isinstance(first, Activation) else type(first)](first)
    return dict(own, **dict(zip(names, map(described, rest), strict=True)))


_DATA: dict[type, Callable[..., Any]] = {
    dict: lambda value: {key: described(item) for key, item in value.items()},
    ShapePanel: lambda panel: described(shape_data(panel)),
    Event: lambda event: described(fields_of(event, "kind function binding")),
    Frame: lambda frame: fields_of(frame, "function=name dims=shape_vars"),
    Place: lambda place: described(fields_of(place, "binding line")),
    Inside: lambda place: {
        **fields_of(place, "function stores line loops written"),
        "value": described(place.value),
        "operands": {name: described(value) for name, value in place.operands},
    },
    Breakpoint: lambda point: fields_of(
        point, "number place=text condition=condition.text enabled=is_enabled temporary=is_temporary"
    ),
    Watch: lambda item: fields_of(item, "number expression=expression.text changed=is_changed"),
    Shape: list,
    Command: lambda item: fields_of(item, "name usage short doc"),
}


def _pair_stop_data(data: dict[str, Any]) -> dict[str, Any]:
    runs: Lockstep = data["runs"]
    pair = runs.pair(data["at"])
    row: dict[str, Any] = {"position": data["at"], "pairs": len(runs.pairs), "already": data["already"]}
    if pair is not None:
        operands = [asdict(operand) for operand in pair.operands]
        return row | asdict(pair.pairing) | {"values": _side_values(pair.a, pair.b), "operands": operands}
    if data["at"]:
        verdict = runs.verdict
        row |= {"reason": verdict.reason, "stopped": list(verdict.stopped)}
        row["results"] = {name: asdict(apart) for name, apart in verdict.results}
    return row


def _side_values(a: Production | None, b: Production | None) -> list[object]:
    return [None if item is None else described(item.value) for item in (a, b)]


def _pair_row(number: int, pairing: Pairing) -> dict[str, Any]:
    return {"position": number, **asdict(pairing)}


_PAIR_DATA: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "pair": _pair_stop_data,
    "sides": lambda data: {"name": data["name"], "values": _side_values(data["a"], data["b"])},
    "pairs": lambda data: {
        "position": data["at"],
        "pairs": [_pair_row(number, pairing) for number, pairing in data["pairs"]],
    },
}
