"""What a program costs, as lines, as JSON and as a chart of its memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from relax_explorer.core.arith.polynomial import Polynomial
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.amounts import Lengths
from relax_explorer.core.cost.memory_use import Peak
from relax_explorer.core.cost.program_cost import Cost
from relax_explorer.core.cost.work import Work, summed
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.layer_names import layer_by_binding, numbered_layer
from relax_explorer.core.session.binding_matches import head_of
from relax_explorer.viz.folding import pieces, repeats
from relax_explorer.viz.visible import counted, visible

USUAL = (16, 128, 1024)
"""The lengths for which numbers are shown if nobody gives others."""
WIDEST = 160  # characters of an expression; a longer one is cut
_DECIMAL = ((1, ""), (10**3, " k"), (10**6, " M"), (10**9, " G"), (10**12, " T"), (10**15, " P"))
_BINARY = ((1, " B"), (2**10, " KiB"), (2**20, " MiB"), (2**30, " GiB"), (2**40, " TiB"))
Format = Callable[["int | None"], str]


def number_text(number: int | None) -> str:
    """`3.1 M`: three digits; `?` for a number that is not known."""
    return _scaled(number, _DECIMAL)


def bytes_text(number: int | None) -> str:
    """`2.4 MiB`."""
    return _scaled(number, _BINARY)


def _scaled(number: int | None, units: Sequence[tuple[int, str]]) -> str:
    if number is None:
        return "?"
    size, name = next((unit for unit in reversed(units) if abs(number) >= unit[0]), units[0])
    scaled = number / size
    return f"{scaled:.0f}{name}" if size == 1 or abs(scaled) >= 100 else f"{scaled:.3g}{name}"


def change_text(old: int | None, new: int | None) -> str:
    """` (−21 %)`, what a number changed to; "" if it is the same, or one is not known."""
    if not old or new is None or old == new:
        return ""
    percent = 100 * (new - old) / old
    text = f"{abs(percent):.0f}" if abs(percent) >= 1 else f"{max(abs(percent), 0.1):.1f}"
    return f" ({'−' if percent < 0 else '+'}{text} %)"


def ratio_text(ratio: float | None) -> str:
    """`2.7`, FLOPs per byte."""
    return "?" if ratio is None else f"{ratio:.3g}"


# -- stages ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StageCost:
    """The cost of a function at a stage, with the number of the stage and the pass that made it."""

    label: int
    made_by: str
    cost: Cost

    @property
    def place(self) -> str:
        """`stage 3 FuseOps`."""
        return f"stage {self.label} {self.made_by}"


Measured = Callable[[Cost], "int | None"]
_ROWS: tuple[tuple[str, Measured, Format, str], ...] = (
    ("FLOPs", lambda cost: cost.flops.value, number_text, ""),
    ("of these functions", lambda cost: cost.functions.value, number_text, "exp, sqrt, tanh, …: one each"),
    ("integer operations", lambda cost: cost.integers.value, number_text, ""),
    ("bytes moved", lambda cost: cost.moved.value, bytes_text, ""),
    ("memory of all values", lambda cost: cost.allocated.value, bytes_text, "if nothing is freed or reused"),
    ("peak of memory", lambda cost: cost.peak.value, bytes_text, ""),
)


def stage_table(stages: Sequence[StageCost], columns: Sequence[Mapping[str, int]]) -> Iterator[list[str]]:
    """The rows of a table: a measure, its numbers for each choice of lengths, the stage. A stage stands there if a number differs."""
    heads = [", ".join(f"{name} = {length:,}" for name, length in lengths.items()) for lengths in columns]
    if any(heads):
        yield ["", *heads, ""]
    costs = [(stage, [stage.cost.at(known(stage.cost, lengths)) for lengths in columns]) for stage in stages]
    for title, measured, shown, remark in _ROWS:
        before: list[int | None] | None = None
        for stage, of_columns in costs:
            numbers = [measured(cost) for cost in of_columns]
            if numbers == before or (before is None and title in _RARE and not any(numbers)):
                continue
            more = _more(stage.cost, title)
            texts = [shown(number) + more for number in numbers]
            if before is not None and texts == [shown(number) + more for number in before]:
                continue  # nobody sees the difference
            if before is not None:
                texts = [
                    text + change_text(old, new)
                    for text, old, new in zip(texts, before, numbers, strict=True)
                ]
            yield [
                title if before is None else "",
                *texts,
                _remark(stage, len(stages), remark, before is None),
            ]
            before = numbers
    yield [
        "FLOPs per byte",
        *[ratio_text(cost.intensity) for cost in costs[-1][1]],
        _last(costs[-1][0], len(stages)),
    ]


def _more(cost: Cost, title: str) -> str:
    """`+?` behind numbers that lack what is not known."""
    is_memory = title in ("memory of all values", "peak of memory")
    return MORE if (cost.memory.unknown if is_memory else cost.work.total.unknown) else ""


MORE = "+?"
_RARE = ("of these functions", "integer operations")


def _remark(stage: StageCost, count: int, remark: str, is_first: bool) -> str:
    parts = [stage.place] * (count > 1) + [remark] * bool(remark and is_first)
    return "; ".join(parts)


def _last(stage: StageCost, count: int) -> str:
    return stage.place if count > 1 else ""


def known(cost: Cost, lengths: Mapping[str, int]) -> dict[str, int]:
    """The lengths that a stage depends on; lowering may remove some."""
    return {name: length for name, length in lengths.items() if name in cost.variables}


def summary(first: StageCost, last: StageCost) -> str:
    """`main: 2·n² FLOPs · 4 KiB of parameters · peak memory 4·n bytes`."""
    cost, peak = last.cost, last.cost.peak
    flops = visible(str(first.cost.flops), WIDEST) + " + ?" * bool(first.cost.work.total.unknown)
    weights = cost.parameters
    size = str(weights) if weights.variables else bytes_text(weights.value)
    unit = "" if not weights.variables else " bytes"
    memory = visible(amounts.text(peak.amount), WIDEST) + " + ?" * bool(cost.memory.unknown)
    return f"{cost.function}: {flops} FLOPs · {size}{unit} of parameters · peak memory {memory} bytes"


def where_lines(stage: StageCost, lengths: Mapping[str, int]) -> Iterator[str]:
    """Which bindings have most of the work, who holds the peak, and how far a plan is from the lower bound."""
    cost = stage.cost.at(known(stage.cost, lengths))
    chosen = probed(cost)
    whole = amounts.value(cost.work.total.flops, chosen)
    if whole:
        yield f"most FLOPs: {', '.join(_costliest(cost, chosen, whole))}"
    if cost.peak.holders:
        yield _peak_line(cost, cost.peak)
    if cost.memory.is_planned:
        yield _plan_line(cost)


MOST_NAMED = 4  # callees in the line about FLOPs


def _costliest(cost: Cost, lengths: Lengths, whole: int) -> list[str]:
    """What is called for most of the FLOPs, each callee with its number of calls: `12 × fused_matmul_add 42 %`."""
    flops: dict[str, int] = {}
    calls: Counter[str] = Counter()
    for row in cost.bindings:
        if row.branch:  # the If has its work
            continue
        name = _what(row.binding)
        flops[name] = flops.get(name, 0) + (amounts.value(row.work.flops, lengths) or 0)
        calls[name] += 1
    named = sorted((name for name in flops if flops[name]), key=lambda name: -flops[name])[:MOST_NAMED]
    return [
        f"{f'{calls[name]} × ' * (calls[name] > 1)}{name} {100 * flops[name] / whole:.0f} %" for name in named
    ]


def probed(cost: Cost) -> Lengths:
    """The lengths of a cost, with those of `amounts.PROBE` for others: what is compared needs numbers."""
    return dict.fromkeys(cost.dims, amounts.PROBE) | dict(cost.lengths)


def _share(poly: Polynomial, lengths: Lengths, whole: int) -> str:
    return f"{100 * (amounts.value(poly, lengths) or 0) / whole:.0f} %"


def _peak_line(cost: Cost, peak: Peak) -> str:
    chosen = probed(cost)
    whole = amounts.value(peak.amount, chosen) or 1
    held = [
        f"{life.name} {_share(life.size or {}, chosen, whole)} ({visible(amounts.text(life.size or {}), 40)})"
        for life in peak.holders[:3]
    ]
    more = f" and {len(peak.holders) - 3} more" if len(peak.holders) > 3 else ""
    name = _name(cost.memory.bindings[peak.step - 1])
    return f"the peak is at binding {peak.step}, {name}: {', '.join(held)}{more}"


def _plan_line(cost: Cost) -> str:
    chosen = probed(cost)
    storages = {tensor.storage for tensor in cost.memory.tensors} - {""}
    held, least = (amounts.value(peak.amount, chosen) or 0 for peak in (cost.peak, cost.bound))
    waste = f"{100 * (held - least) / least:.0f} % above" if held > least > 0 else "at"
    owned = visible(amounts.text(cost.memory.owned), WIDEST)
    return (
        f"the plan: {counted(len(storages), 'storage')} for {counted(len(cost.memory.tensors), 'tensor')}, {owned} bytes in all; "
        f"its peak is {waste} the lower bound, {visible(amounts.text(cost.bound.amount), WIDEST)} bytes"
    )


def _name(binding: e.Binding) -> str:
    return binding.var.name if binding.var is not None and binding.var.name != "_" else _what(binding)


def _what(binding: e.Binding) -> str:
    """What a binding calls, without the prefix of the operators."""
    return head_of(binding).removeprefix("relax.")


def doubt_lines(cost: Cost) -> Iterator[str]:
    """What is in no number, and why others are upper bounds."""
    for word, reasons in (("not counted", cost.unknown), ("at most", cost.at_most)):
        for reason in reasons:
            yield f"{word}: {visible(reason)}"


# -- parts -----------------------------------------------------------------------------------------------------------
# The cost by binding, by layer, by function.


_BESIDE = "beside layers"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a program with its work, and the bytes that are held while it runs at most."""

    name: str
    what: str
    work: Work
    held: Polynomial | None
    lengths: Lengths


def parts_of(cost: Cost, by: str, others: Sequence[Cost]) -> list[Part]:
    """The parts of a cost by binding or layer; by function, the costs of all functions."""
    if by == "function":
        return [Part(item.function, "", item.work.total, item.peak.amount, item.lengths) for item in others]
    return _bindings(cost) if by == "binding" else _layers(cost)


def _bindings(cost: Cost) -> list[Part]:
    found = []
    for row in cost.bindings:
        held = cost.held(row.binding)
        what = f"{row.branch}: {_what(row.binding)}" if row.branch else _what(row.binding)
        found.append(
            Part(_name(row.binding), what, row.work, None if held is None else held.polynomial, cost.lengths)
        )
    return found


def _layers(cost: Cost) -> list[Part]:
    """The layers, each by itself, and what lies before, between and behind them. With names, bindings need not follow each other."""
    fn = cost.module.relax_functions[cost.function]
    named = ((binding, numbered_layer(name)) for binding, name in layer_by_binding(fn).items())
    layers = {binding: name for binding, name in named if name}
    numbered = layers or _repeated(fn)
    found: dict[tuple[int, str], list[int]] = {}
    runs, before = 0, ""
    for index, row in enumerate(cost.bindings):
        if row.branch:  # the If has its work
            continue
        name = numbered.get(row.binding, _BESIDE)
        runs += name != before
        before = name
        run = 0 if layers else runs
        found.setdefault((run, name), []).append(index)
    return [_layer(cost, name, indices) for (_, name), indices in found.items()]


def _repeated(fn: e.Function) -> dict[e.Binding, str]:
    """The pieces of a function that repeat, numbered, by their bindings."""
    ends: dict[e.Binding, str] = {}
    for group in repeats(fn):
        for number, piece in enumerate(pieces(group), 1):
            ends.update(dict.fromkeys(piece, f"layer {number} of {group.count}"))
    return ends


def _layer(cost: Cost, name: str, indices: Sequence[int]) -> Part:
    rows = [cost.bindings[index] for index in indices]
    chosen = probed(cost)
    held = [amount.polynomial for row in rows if (amount := cost.held(row.binding)) is not None]
    most = max(held, key=lambda poly: amounts.value(poly, chosen) or 0, default=None)
    what = f"{_name(rows[0].binding)} … {_name(rows[-1].binding)}, {counted(len(rows), 'binding')}"
    return Part(name, what, summed([row.work for row in rows]), most, cost.lengths)


PART_HEADS = ("", "FLOPs", "", "bytes moved", "", "FLOPs/B", "held", "", "FLOPs as an expression")


def part_table(cost: Cost, parts: Sequence[Part], is_whole: bool = True) -> Iterator[list[str]]:
    """The rows of a table of parts, for the lengths of the cost, with their shares. Shares need parts of one whole."""
    flops, moved = (
        amounts.value(poly, cost.lengths) for poly in (cost.work.total.flops, cost.work.total.moved)
    )
    yield list(PART_HEADS)
    for part in parts:
        of_part = amounts.value(part.work.flops, part.lengths)
        of_bytes = amounts.value(part.work.moved, part.lengths)
        yield [
            visible(part.name, 30),
            number_text(of_part) + MORE * bool(part.work.unknown),
            _percent(of_part, flops) if is_whole else "",
            bytes_text(of_bytes),
            _percent(of_bytes, moved) if is_whole else "",
            ratio_text(part.work.intensity(part.lengths)) if of_bytes else "",
            "" if part.held is None else bytes_text(amounts.value(part.held, part.lengths)),
            visible(part.what, 60),
            visible(amounts.text(part.work.flops), 60) if part.work.flops else "",
        ]


def _percent(number: int | None, whole: int | None) -> str:
    return "" if not number or not whole else f"{100 * number / whole:.0f} %"


# -- chart -----------------------------------------------------------------------------------------------------------


EIGHTHS = " ▁▂▃▄▅▆▇█"
HEIGHT = 4
LEAST_WIDTH = 20


def memory_chart(cost: Cost, width: int, height: int = HEIGHT) -> list[str]:
    """The memory that is held over the bindings, as lines of blocks; a column has the most of its bindings. [] without numbers."""
    values = [amounts.value(poly, cost.lengths) for poly in cost.memory.held]
    numbers = [value for value in values if value is not None]
    most = max(numbers, default=0)
    if len(numbers) != len(values) or not most:
        return []
    labels = [bytes_text(most * (row + 1) // height) for row in range(height)]
    margin = max(map(len, labels))
    columns = _columns(numbers, max(LEAST_WIDTH, width - margin - 4))
    lines = []
    for row in reversed(range(height)):
        levels = [min(8, max(0, -(-8 * (height * value - row * most) // most))) for value in columns]
        cells = "".join(EIGHTHS[level] for level in levels)
        lines.append(f" {labels[row].rjust(margin)} ┤{cells}".rstrip())
    return [*lines, f" {'':{margin}} └{_axis(len(numbers), len(columns))}"]


def _columns(numbers: Sequence[int], width: int) -> list[int]:
    """The bindings in at most so many columns, few ones in several columns each."""
    count = len(numbers)
    if count <= width:
        times = min(width // count, 6)
        return [number for number in numbers for _ in range(times)]
    edges = [count * column // width for column in range(width + 1)]
    return [max(numbers[start:end]) for start, end in pairwise(edges)]


def _axis(count: int, width: int) -> str:
    """`1────────10────────20─`: binding numbers below the columns in which they begin."""
    axis = ["─"] * width
    ticks = max(1, width // 10)
    free = 0
    for tick in range(ticks + 1):
        number = 1 + tick * (count - 1) // ticks if ticks else 1
        text = str(number)
        start = min((number - 1) * width // count, width - len(text))
        if start >= free:
            axis[start : start + len(text)] = text
            free = start + len(text) + 1
    return "".join(axis)


def chart_lines(stage: StageCost, lengths: Mapping[str, int], width: int) -> list[str]:
    """The chart with its title."""
    cost = stage.cost.at(known(stage.cost, lengths))
    chart = memory_chart(cost, width)
    named = ", ".join(f"{name} = {length:,}" for name, length in lengths.items())
    title = f"memory over the bindings{f' ({named})' if named else ''}, peak {bytes_text(cost.peak.value)} at {cost.peak.step}"
    return [title, *chart] if chart else []


# -- data ------------------------------------------------------------------------------------------------------------


def cost_data(cost: Cost, columns: Sequence[Mapping[str, int]]) -> dict[str, object]:
    """A cost as data: each amount as an expression, and its values for each choice of lengths."""
    costs = [cost.at(known(cost, lengths)) for lengths in columns]

    def amount(poly: Polynomial) -> dict[str, object]:
        return {
            "expression": amounts.text(poly),
            "values": [amounts.value(poly, item.lengths) for item in costs],
        }

    total, memory = cost.work.total, cost.memory
    return {
        **work_data(total, amount),
        "parameters": amount(memory.parameters),
        "inputs": amount(memory.inputs),
        "allocated": amount(memory.allocated),
        "owned": amount(memory.owned),
        "peaks": [_peak_data(item, item.peak) for item in costs],
        "lower_bounds": [_peak_data(item, item.bound) for item in costs],
        "scratch": [{"binding": step, **amount(poly)} for step, poly in memory.scratch],
        "unknown": list(cost.unknown),
        "at_most": list(cost.at_most),
    }


def work_data(work: Work, amount: Callable[[Polynomial], object]) -> dict[str, object]:
    """The amounts of work."""
    names = ("flops", "functions", "integers", "read", "written")
    return {name: amount(poly) for name, poly in zip(names, work.amounts, strict=True)}


def _peak_data(cost: Cost, peak: Peak) -> dict[str, object]:
    return {
        "binding": peak.step,
        "name": _name(cost.memory.bindings[peak.step - 1]) if peak.step else "",
        "expression": amounts.text(peak.amount),
        "value": peak.value,
        "holders": [
            {
                "name": life.name,
                "expression": amounts.text(life.size or {}),
                "value": amounts.value(life.size or {}, cost.lengths),
                "spans": [list(span) for span in life.spans],
                "storage": life.storage,
            }
            for life in peak.holders
        ],
    }


def part_data(part: Part) -> dict[str, object]:
    """A part as data, its values for its lengths."""

    def amount(poly: Polynomial) -> dict[str, object]:
        return {"expression": amounts.text(poly), "value": amounts.value(poly, part.lengths)}

    return {
        "name": part.name,
        "what": part.what,
        **work_data(part.work, amount),
        "held": None if part.held is None else amount(part.held),
        "unknown": list(part.work.unknown),
        "at_most": list(part.work.at_most),
    }
