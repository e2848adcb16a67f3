"""The ranks screen: the values of one program on several ranks beside each other, and how they make those of the undivided program."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult

from relax_explorer.core.session.ranked import RankRow
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.empty import no_ranks
from relax_explorer.ui.tui.screens.passes_screen import ahead
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.state import OnRanks, State
from relax_explorer.ui.tui.widgets.framed import CursorMoved, Fitted, FixedText
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.rank_table import RankTable, detail, outputs, verdict
from relax_explorer.viz.tables import LazyRows, Row, colored_row, text_lines, wrapped
from relax_explorer.viz.visible import visible

_AROUND = 6  # cells of a line that are not text: frame, gutter, scrollbar
NOT_RUN = "no ranks ran yet; :ranks N FILE runs them"


class RankRows(LazyRows[Row]):
    """The table of values, each row made when it is drawn."""

    def __init__(self, rows: Sequence[RankRow], table: RankTable) -> None:
        super().__init__()
        self._values, self._table = rows, table

    def __len__(self) -> int:
        return len(self._values)

    def _made(self, number: int) -> Row:
        row = self._values[number]
        return colored_row(self._table.pieces(row), self._table.glyph(row), row)


class RanksScreen(Frame):
    """A row for each binding; `=` makes the value of the undivided program, `≠` does not, `?` has nothing to be compared with."""

    BINDINGS = keys.bindings("ranks")
    name_ = "ranks"
    panes = ("ranks", "rank")
    _shown: OnRanks | None = None  # after a resize, the cursor stays
    _reasons: Sequence[str] = ()  # why there is nothing to show

    def compose_body(self) -> ComposeResult:
        """The verdict, the table, and the row under the cursor."""
        yield FixedText(id="verdict")
        yield FixedText(id="pair_head")
        yield LineView("ranks")
        yield LineView("rank", colored=False)

    def fit(self) -> None:
        """Name the columns in a line of their own where no frame has a title."""
        super().fit()
        self.query_one("#pair_head").display = self.is_narrow and self.explorer.state.ranked is not None

    def draw(self, state: State, old: State) -> None:
        """Draw the values."""
        if state.session is None or state.ranked is None:
            self._shown, self._reasons = None, []
            self.draw_waiting()
        elif state.ranked is not old.ranked:
            self.fit()
            self._draw_rows(state.ranked)

    def draw_waiting(self) -> None:
        """Say why there are no values, again when what was said is no longer true."""
        state = self.explorer.state
        if state.session is not None and state.ranked is not None:
            return
        found = no_ranks(state, self.explorer.jobs.is_working("ranks"))
        if found != self._reasons:
            self._reasons = found
            self.lines("ranks").show(text_lines(found), 0)
            self.lines("rank").show([], 0)
            self.query_one("#verdict", FixedText).show(Text(""))

    def idle_actions(self) -> set[str]:
        """Without values there is nothing to step through."""
        idle = super().idle_actions()
        return idle if self.explorer.state.ranked else idle | {"pair(1)", "difference(1)"}

    def _draw_rows(self, shown: OnRanks) -> None:
        found, view = shown.found, self.lines("ranks")
        room = self.app.size.width - _AROUND - (self._side if self._is_wide else 0)
        table = RankTable(len(found.ranks), found.whole is not None, room)
        is_new, self._shown = shown is not self._shown, shown
        first = next((n for n, row in enumerate(found.rows) if row.is_apart), 0)
        rows = RankRows(found.rows, table) if found.rows else text_lines(["no values to compare"])
        view.show(rows, first if is_new else None)
        view.centre()
        heading = table.columns.heading
        view.show_title(f" {heading}")
        self.query_one("#pair_head", FixedText).show(Text(f"   {heading}", no_wrap=True))
        wrong = sum(row.is_apart for row in found.rows)
        view.border_subtitle = f"{wrong} of {len(found.rows)} part" if found.whole is not None else ""
        whole = f" beside {visible(shown.unsharded, 60)}" if shown.unsharded else ""
        text = f" {'; '.join(verdict(found))}{whole}"
        self.query_one("#verdict", FixedText).show(Text(text, no_wrap=True, overflow="ellipsis"))
        self._draw_row()

    _side = 60  # cells of the column at the right in a wide terminal, as the style sheet says

    @property
    def _is_wide(self) -> bool:
        return self.has_class("-wide")

    def _draw_row(self) -> None:
        """Tell about the row under the cursor, and what the ranks printed."""
        row, shown = self.lines("ranks").row_node, self.explorer.state.ranked
        if not isinstance(row, RankRow) or shown is None:
            self.lines("rank").show([], 0)
            return
        printed = outputs(shown.found)
        view = self.lines("rank")
        width = max(20, (view.scrollable_content_region.width or self.app.size.width) - 4)
        view.show(wrapped([*detail(row), *(["", *map(visible, printed)] if printed else [])], width), 0)
        view.show_title(f"{visible(row.name, 40)}")

    def on_cursor_moved(self, message: CursorMoved) -> None:
        """Show the row under the cursor, in place of what was said."""
        if message.view == "ranks":
            self.explorer.say("")
            self._draw_row()

    def on_fitted(self, message: Fitted) -> None:
        """Wrap the lines about the row for the width that they have now."""
        if message.view == "rank":
            self._draw_row()

    def chosen(self, view: str) -> None:
        """A click on the line under the cursor."""
        if view == "ranks":
            self.action_enter()

    def resumed(self) -> None:
        """Run the ranks that were asked for, if they did not run on this stage."""
        if self.explorer.starts and self.explorer.state.session is not None:
            self.explorer.rank_control.ensure()

    def action_stage(self, step: int, changing: bool) -> None:
        super().action_stage(step, changing)
        self.explorer.rank_control.ensure()

    def action_enter(self) -> None:
        """Go to the binding of the row."""
        row, shown = self.lines("ranks").row_node, self.explorer.state.ranked
        if not isinstance(row, RankRow) or shown is None:
            return
        name = row.name.rpartition(".")[2]
        if self.explorer.stage_control.go_to_variable(name, shown.stage):
            self.explorer.show_screen("passes")
        else:
            self.explorer.say("this value has no binding")

    def action_difference(self, step: int) -> None:
        shown, view = self.explorer.state.ranked, self.lines("ranks")
        apart = [] if shown is None else [n for n, row in enumerate(shown.found.rows) if row.is_apart]
        target = ahead(apart, view.cursor, step)
        if target is not None:
            view.move(target)
        elif shown is None:
            self.explorer.say(NOT_RUN)
        else:
            self.explorer.say("no further value that parts" if apart else "no value parts")

    def action_pair(self, step: int) -> None:
        view = self.lines("ranks")
        target = view.cursor + step
        if self.explorer.state.ranked is None:
            self.explorer.say(NOT_RUN)
        elif 0 <= target < len(view.rows):
            view.move(target)
        else:
            self.explorer.say("no further value")
