"""What the compare screen shows of two runs in lock-step: each pair of values, with its places in the programs of both stages.

Pairs are read in the thread that ran the stages. They hold no recorded values, which may be large.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from relax_explorer.core.exec.interrupt import Interrupt, polled
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.compare import Pairing
from relax_explorer.core.session.compiled_beside import BesideOurs, seconds_of
from relax_explorer.core.session.compiled_values import CompiledRun
from relax_explorer.core.session.lockstep import Lockstep
from relax_explorer.core.session.recording import Production
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.tui.table_rows import TableRows
from relax_explorer.viz.debug_text import value_text
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.lexer import Piece
from relax_explorer.viz.marked_graph import amount_text
from relax_explorer.viz.pair_table import PairTable, pair_detail, pair_glyph, pair_state
from relax_explorer.viz.tables import LazyRows, Row, cell, colored_row, side
from relax_explorer.viz.value_table import inline_value

BESIDE = 170  # cells from which on both programs stand beside the distances
MIDDLE = 34  # cells between both programs


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a program stands: the rows of its function, the row, and the binding that made the value with the value as text.

    `look` has the distribution and the range of an array.

    Without a value (`binding` is None) a program stays at the value before.
    """

    rows: TableRows
    row: int
    binding: e.Binding | None
    value: str
    look: str = ""

    @property
    def marked(self) -> TableRows:
        """The rows with `▶` at the binding."""
        if self.binding is None:
            return self.rows
        here = {id(self.binding): "▶"}
        marks = ChainMap(here, self.rows.marks)  # type: ignore[arg-type]  # nothing writes to it
        return TableRows(self.rows.table, marks=marks)


@dataclass(frozen=True, slots=True)
class PairView:
    """A pair of values with the places of A and B; None for a program that makes no value at all."""

    pairing: Pairing
    a: Spot | None
    b: Spot | None

    @property
    def lines(self) -> list[str]:
        """Both values, and how far they are apart."""
        values = [
            f" {letter} = {spot.value}"
            if spot is not None and spot.binding is not None
            else f" {letter} has no value here"
            for letter, spot in (("A", self.a), ("B", self.b))
        ]
        return [*values, f" {pair_state(self.pairing)}"]

    @property
    def detail(self) -> list[str]:
        """What an array looks like on each side, with its binding, and how far they are apart."""
        lines = pair_detail(self.pairing)
        sides = [
            (side, spot)
            for side, spot in ((self.pairing.a, self.a), (self.pairing.b, self.b))
            if side is not None
        ]
        looks = [spot.look if spot is not None else "" for _, spot in sides]
        shown = [
            f"{line[:3]}{look}  {line[3:]}" if look.strip() else line
            for line, look in zip(lines, looks, strict=False)
        ]
        return [*shown, *lines[len(sides) :]]


class PairRows(LazyRows[Row]):
    """The table of pairs in some cells, each row made when it is drawn. From `BESIDE` cells on, both programs stand side by side."""

    def __init__(self, pairs: Sequence[PairView], width: int) -> None:
        super().__init__()
        self._pairs = pairs
        self._table = PairTable.of(width)
        self._half = (width - MIDDLE) // 2 if width >= BESIDE else 0

    def __len__(self) -> int:
        return len(self._pairs)

    def _made(self, number: int) -> Row:
        view = self._pairs[number]
        pieces = self._beside(view) if self._half else self._table.pieces(view.pairing)
        return colored_row(pieces, pair_glyph(view.pairing), view)

    def heading(self, a: str, b: str) -> str:
        """The names of the columns, or of both stages."""
        if not self._half:
            own = self._table.columns.heading
            return own.replace("A       ", "compiled", 1) if a.startswith("compiled") else own
        return f"{cell(f'A {a}', self._half)} │ {'max|Δ|':>8}{' ' * (MIDDLE - 14)} │ B {b}"

    def _beside(self, view: PairView) -> list[Piece]:
        """The binding of A, the distance, the binding of B."""
        pairing = view.pairing
        differs = pairing.delta is not None and not pairing.equal
        return [
            *_binding(view.a, self._half),
            ("muted", " │ "),
            ("breakpoint" if differs else "muted", cell(self._table.middle(pairing), MIDDLE - 6)),
            ("muted", " │ "),
            *_binding(view.b, self._half),
        ]


def _binding(spot: Spot | None, width: int) -> list[Piece]:
    """The row of a binding in exactly some cells; blank where a program stays at an earlier one."""
    is_here = spot is not None and spot.binding is not None
    return side(spot.rows.table[spot.row] if is_here and spot is not None else None, width)


class _Side:
    """The functions of one stage as rows. A binding is marked `≠` if one of its values differs."""

    def __init__(self, stage: Snapshot) -> None:
        self.stage = stage
        self.marks: dict[int, str] = {}
        self.rows: dict[str, TableRows] = {}

    def mark(self, item: Production | None, glyph: str) -> None:
        if item is not None and self.marks.get(id(item.binding)) != "≠":
            self.marks[id(item.binding)] = glyph

    def spots(self, items: Sequence[Production | None], interrupt: Interrupt | None) -> list[Spot | None]:
        """The places of values. Before the first one, a program stands there already."""
        found = [None if item is None else self._spot(item) for item in polled(items, interrupt)]
        last = next((spot for spot in found if spot is not None), None)
        spots = []
        for spot in found:
            if spot is None and last is not None:
                spot = Spot(last.rows, last.row, None, "")
            spots.append(spot)
            last = spot
        return spots

    def _spot(self, item: Production) -> Spot:
        """The place of a value. A function that is nested in another has no rows of its own: then all are shown."""
        name = item.function if item.function in self.stage.module.functions else ""
        if name not in self.rows:
            self.rows[name] = TableRows(IrTable(self.stage, name), marks=self.marks)
        rows = self.rows[name]
        return Spot(
            rows,
            rows.row_of(item.binding) or 0,
            item.binding,
            value_text(item.value),
            inline_value(item.value),
        )


def pair_views(runs: Lockstep, stages: Sequence[Snapshot]) -> tuple[PairView, ...]:
    """The pairs of two runs of these two stages, in the order of the walk. Raises Cancelled if the runs' trial was interrupted."""
    a, b = [_Side(stage) for stage in stages]
    for pair in runs.pairs:
        glyph = pair_glyph(pair.pairing)
        a.mark(pair.a, glyph)
        b.mark(pair.b, glyph)
    spots = zip(
        runs.pairs,
        a.spots([pair.a for pair in runs.pairs], runs.trial.interrupt),
        b.spots([pair.b for pair in runs.pairs], runs.trial.interrupt),
        strict=True,
    )
    return tuple([PairView(pair.pairing, left, right) for pair, left, right in spots])


def compiled_views(found: BesideOurs, runs: Sequence[CompiledRun], stage: Snapshot) -> tuple[PairView, ...]:
    """The values of a compiled run beside ours, in the last stage of a recording, with what their calls took there."""
    if found.here is None or found.verdict is None:
        return ()
    made = {item.name: item for item in found.here.productions}  # the last of each name
    side, views = _Side(stage), []
    for pairing in found.verdict.pairs:
        item = made.get("" if pairing.b is None else pairing.b.name)
        if item is not None:
            side.mark(item, pair_glyph(pairing))
            (ours,) = side.spots([item], None)
            views.append(PairView(pairing, _there(found, ours, item, runs), ours))
    return tuple(views)


def _there(
    found: BesideOurs, ours: Spot | None, item: Production, runs: Sequence[CompiledRun]
) -> Spot | None:
    """The place of a value of ours with the value of the compiled program."""
    if ours is None:
        return ours
    value, seconds = found.run.values[item.name], seconds_of(runs, found.run.name, item.name)
    took = f"  {amount_text(seconds[0], 'machine')} there" if seconds else ""
    return replace(ours, value=f"{value_text(value)}{took}", look=f"{inline_value(value)}{took}")
