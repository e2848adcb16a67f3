"""The compare screen: the values of two stages on the same inputs, pair by pair, and where they first differ."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container

from relax_explorer.core.session.compare import Pairing, Side, Verdict
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.empty import no_comparison
from relax_explorer.ui.tui.pair_rows import PairRows, PairView, Spot
from relax_explorer.ui.tui.screens.passes_screen import ahead
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.state import Compared, State
from relax_explorer.ui.tui.widgets.framed import Box, CursorMoved, FixedText
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.pair_table import (
    distance_number,
    distances_line,
    largest,
    pair_glyph,
    pair_names,
    place_in_line,
    verdict_line,
)
from relax_explorer.viz.stage_line import stage_line
from relax_explorer.viz.tables import Row, text_lines
from relax_explorer.viz.visible import columns, fit, visible

NOT_COMPARED = "nothing is compared yet; b chooses a stage"
LEAST_ROWS = 30  # of a terminal from which on the distances along the run are drawn


class CompareScreen(Frame):
    """A row for each pair of values; `≠` differs, `=` is equal, `a` and `b` are in one stage only."""

    BINDINGS = keys.bindings("compare")
    name_ = "compare"
    panes = ("pairs", "program_a", "program_b")
    _shown: Compared | None = None  # after a resize, the cursor stays
    _reasons: Sequence[str] = ()  # why there is no comparison
    _line: tuple[Compared, int, str, int | None] | None = (
        None  # the distances along the run, and the largest one
    )

    def compose_body(self) -> ComposeResult:
        """The verdict, the pairs, their distances along the run, both programs, the selected pair."""
        yield FixedText(id="verdict")
        yield FixedText(id="pair_head")
        yield LineView("pairs")
        with Box(id="distances"):
            yield FixedText(id="distances_text")
        with Container(id="programs"):
            yield LineView("program_a")
            yield LineView("program_b")
        yield FixedText(id="pair")

    @property
    def shows_programs(self) -> bool:
        """True if both programs are shown."""
        state = self.explorer.state
        return state.options.shows_programs and state.compared is not None

    def fit(self) -> None:
        """Make room for the programs, side by side or one above the other."""
        super().fit()
        is_listed = not self.shows_programs and self.explorer.state.compared is not None
        self.set_class(self.shows_programs, "-programs")
        self.query_one("#pair_head").display = is_listed and self.is_narrow
        self.query_one("#distances").display = (
            is_listed and not self.is_narrow and self.app.size.height >= LEAST_ROWS
        )
        for name in ("programs", "program_a", "program_b"):
            self.query_one(f"#{name}").display = self.shows_programs

    def draw(self, state: State, old: State) -> None:
        """Draw the comparison."""
        compared = state.compared
        is_new = compared is not old.compared
        if is_new or state.options.shows_programs != old.options.shows_programs:
            self.fit()
            self.call_after_refresh(self._centre)  # the views have their sizes then
        if state.session is None or compared is None:
            self._reasons = []
            self.draw_waiting()
        elif is_new:
            self._draw_pairs(state, compared)

    def draw_waiting(self) -> None:
        """Say why there is no comparison, again when what was said is no longer true."""
        state = self.explorer.state
        if state.session is not None and state.compared is not None:
            return
        found = no_comparison(state, self.explorer.jobs.is_working("compare"))
        if found != self._reasons:
            self._reasons = found
            self.lines("pairs").show(text_lines(found), 0)
            self.query_one("#verdict", FixedText).show(Text(""))

    def idle_actions(self) -> set[str]:
        """Without a comparison there are no pairs."""
        idle = super().idle_actions()
        return (
            idle if self.explorer.state.compared else idle | {"programs", "pair(1)", "worst", "difference(1)"}
        )

    def _draw_pairs(self, state: State, compared: Compared) -> None:
        assert state.session is not None  # the caller checked this
        verdict = compared.result.verdicts[0]
        names = [
            f"{state.session.stages[number].label} {visible(state.session.stages[number].made_by, 40)}"
            for number in (compared.a, compared.b)
        ]
        if compared.compiled:
            names[0] = f"compiled, {compared.compiled}"
        pairs = [view.pairing for view in compared.pairs]
        rows = PairRows(compared.pairs, self.app.size.width - 6)
        heading = rows.heading(*names)
        view = self.lines("pairs")
        is_new, self._shown = compared is not self._shown, compared
        view.show(
            rows if pairs else text_lines(["no values to compare"]),
            _first(verdict, pairs) if is_new else None,
        )
        view.centre()
        view.show_title(f" {heading}")
        self.query_one("#pair_head", FixedText).show(Text(f"   {heading}", no_wrap=True))
        wrong = sum(not pair.equal and pair.delta is not None for pair in pairs)
        view.border_subtitle = f"{wrong} of {len(pairs)} pairs differ"
        for letter, name in zip("ab", names, strict=True):
            self.query_one(f"#program_{letter}", LineView).show_title(f"{letter.upper()} {name}")
        self.query_one("#verdict", FixedText).show(
            Text(
                f" A {names[0]}   B {names[1]}   {verdict_line(verdict)}{_largest_text(pairs)}", no_wrap=True
            )
        )
        self.query_one("#distances", Box).show_title("max|Δ| along the run, 1e−8 … 1e−4")
        self._draw_pair()

    @property
    def _pair(self) -> PairView | None:
        """The pair under the cursor."""
        node = self.lines("pairs").row_node
        return node if isinstance(node, PairView) else None

    def _draw_pair(self) -> None:
        """Tell about the pair under the cursor, and mark it in both programs."""
        pair = self._pair
        if pair is None:
            lines = []
        elif self.shows_programs:
            lines = pair.lines
            self._follow("program_a", pair.a)
            self._follow("program_b", pair.b)
        else:
            lines = pair.detail
        self._draw_distances()
        self.query_one("#pair", FixedText).show(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"))

    def _draw_distances(self) -> None:
        """Draw the distances of all pairs as one line, with the place of the cursor and of the largest one."""
        box = self.query_one("#distances", Box)
        compared = self.explorer.state.compared
        if compared is None or not box.display:
            return
        width, count = self.app.size.width - 4, len(compared.pairs)
        if self._line is None or self._line[0] is not compared or self._line[1] != width:
            pairs = [view.pairing for view in compared.pairs]
            worst = largest(pairs)
            number = None if worst is None else pairs.index(worst)
            self._line = compared, width, distances_line(pairs, width), number
        marks = [(self.lines("pairs").cursor, "▲")]
        marks += [(self._line[3], "△ largest")] if self._line[3] is not None else []
        text = Text(f" {self._line[2]}\n", no_wrap=True)
        text.append(f" {_marked(marks, count, width)}", style=self.tokens.focus or "bold")
        self.query_one("#distances_text", FixedText).show(text)

    def _centre(self) -> None:
        self.lines("pairs").centre()
        self._draw_pair()

    def _follow(self, name: str, spot: Spot | None) -> None:
        """Put the cursor of a program on the binding of a value."""
        view = self.lines(name)
        view.show(() if spot is None else spot.marked, 0 if spot is None else spot.row)
        view.centre()

    def on_cursor_moved(self, message: CursorMoved) -> None:
        """Show the pair under the cursor, in place of what was said. The programs can be read without it."""
        if message.view == "pairs":
            self.explorer.say("")
            self._draw_pair()

    def chosen(self, view: str) -> None:
        """A click on the line under the cursor."""
        if view == "pairs":
            self.action_enter()

    def resumed(self) -> None:
        """Compare with the stage before, if nothing was compared yet."""
        state = self.explorer.state
        held = state.compared
        if (
            self.explorer.starts
            and state.session is not None
            and (held is None or state.selection.stage not in (held.a, held.b))
        ):
            self.explorer.verdicts.ensure()

    def action_stage(self, step: int, changing: bool) -> None:
        super().action_stage(step, changing)
        self.explorer.verdicts.compare()

    def action_compiled(self) -> None:
        self.explorer.verdicts.compiled()

    def action_bisect(self) -> None:
        """Look between the two stages for the first one that is wrong."""
        compared = self.explorer.state.compared
        if compared is None:
            self.explorer.say(NOT_COMPARED)
        elif compared.compiled:
            self.explorer.say("there is no stage between the last one and the compiled program")
        elif compared.b - compared.a < 2:
            self.explorer.say("there is no stage between the two: b chooses another one")
        else:
            self.explorer.verdicts.bisect((compared.a, compared.b))

    def action_other_stage(self) -> None:
        """Choose a stage from a list."""
        session = self.explorer.state.session
        if session is None:
            return
        rows = [Row(stage_line(stage, None, 70), " ", stage.number) for stage in session.stages]
        self.explorer.show_rows(
            "Compare with stage", rows, 0, lambda row: self.explorer.verdicts.compare(row.node)
        )

    def action_enter(self) -> None:
        """Go to the binding of the pair, in stage B."""
        pair, compared = self._pair, self.explorer.state.compared
        if pair is None or compared is None:
            return
        side: Side | None = pair.pairing.b or pair.pairing.a
        stage = compared.b if pair.pairing.b is not None else compared.a
        if side is not None and self.explorer.stage_control.go_to_variable(side.name, stage):
            self.explorer.show_screen("passes")
        else:
            self.explorer.say("this value has no binding")

    def _differing(self) -> list[int]:
        compared = self.explorer.state.compared
        pairs = () if compared is None else compared.pairs
        return [n for n, view in enumerate(pairs) if pair_glyph(view.pairing) == "≠"]

    def action_difference(self, step: int) -> None:
        view = self.lines("pairs")
        target = ahead(self._differing(), view.cursor, step)
        if target is None:
            self.explorer.say("no further pair that differs" if self._differing() else self._why_none())
        else:
            view.move(target)

    def action_worst(self) -> None:
        view = self.lines("pairs")
        found = self._differing()
        if found:
            view.move(max(found, key=lambda n: view.rows[n].node.pairing.delta.max_abs))
        else:
            self.explorer.say(self._why_none())

    def _why_none(self) -> str:
        """Why no pair differs."""
        return NOT_COMPARED if self.explorer.state.compared is None else "all pairs are equal"

    def action_programs(self) -> None:
        """Show or hide both programs."""
        if self.explorer.state.compared is None:
            self.explorer.say(NOT_COMPARED)
            return
        self.explorer.show_with(shows_programs=not self.explorer.state.options.shows_programs)

    def action_pair(self, step: int) -> None:
        view = self.lines("pairs")
        target = view.cursor + step
        if self.explorer.state.compared is None:
            self.explorer.say(NOT_COMPARED)
        elif 0 <= target < len(view.rows):
            view.move(target)
        else:
            self.explorer.say("no further pair")


def _largest_text(pairs: Sequence[Pairing]) -> str:
    """The pair that is furthest apart, in a few words."""
    found = largest(pairs)
    if found is None or found.delta is None:
        return ""
    return f"; largest {distance_number(found.delta.max_abs)} at {fit(pair_names(found), 40)}"


def _marked(marks: Sequence[tuple[int, str]], count: int, width: int) -> str:
    """Marks below their pairs. Those that follow give way to those before."""
    line = ""
    for number, mark in sorted(marks, key=lambda item: item[0]):
        place = place_in_line(number, count, width)
        if place >= columns(line) and place + columns(mark) <= width:
            line += " " * (place - columns(line)) + mark
    return line


def _first(verdict: Verdict, pairs: Sequence[Pairing]) -> int:
    """The row of the first pair that differs, else 0."""
    first = verdict.first
    for number, pair in enumerate(pairs):
        if (
            first is not None
            and first.b is not None
            and pair.b is not None
            and (pair.b.function, pair.b.name) == (first.b.function, first.b.name)
        ):
            return number
    return next((number for number, pair in enumerate(pairs) if not pair.equal and pair.delta is not None), 0)
