"""The debug screen: the program with its marks, and tables of values, shapes, calls and breakpoints over a timeline."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Click

from relax_explorer.core.ir import expr as e
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.debug_rows import RunView, call_line, step_at, timeline
from relax_explorer.ui.tui.empty import no_run
from relax_explorer.ui.tui.screens.passes_screen import ProgramFrame
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.widgets.framed import (
    Box,
    ButtonLine,
    CursorMoved,
    Fitted,
    FixedLines,
    FixedText,
    tab_line,
)
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.table_folds import CHECKS, LAYER, Folded
from relax_explorer.viz.tables import Row, text_lines
from relax_explorer.viz.value_table import value_page
from relax_explorer.viz.visible import columns, fit, visible

ROOMY = 170  # cells from which on values stand beside their bindings
LOWER = ("values", "shapes", "calls", "points")


class Timeline(FixedText):
    """The steps of the run; a click goes to a step."""

    def on_click(self, event: Click) -> None:
        """Go to the step under the pointer."""
        screen = self.screen
        if isinstance(screen, DebugScreen):
            screen.to_cell(event.x)


MOST_BESIDE = 5  # rows of calls and of breakpoints beside the program


class DebugScreen(ProgramFrame):
    """Lower-case keys go forward, UPPER-CASE keys back."""

    BINDINGS = keys.bindings("debug")
    name_ = "debug"
    panes = ("debug_ir", "values", "shapes", "calls", "points")
    program_ = "debug_ir"
    _inspected: tuple[str, int, str, int] | None = (
        None  # what the inspector shows at this position of the run, and its width
    )
    _reasons: Sequence[str] = ()  # why there is no run
    _drawn_width = 0  # the cells of a row of the table of values

    def compose_body(self) -> ComposeResult:
        """The program, the tables, the next binding, the timeline."""
        yield FixedText(id="call")
        yield LineView("debug_ir")
        yield FixedText(id="tabs")
        with Vertical(id="side"):
            yield LineView("shapes", colored=False)
            yield LineView("calls", colored=False)
            yield LineView("points", colored=False)
            with Box(id="inspector"):
                yield FixedLines(id="inspector_text")
        with Vertical(id="values_box"):
            yield FixedText(id="value_head")
            yield LineView("values", colored=False)
        yield FixedText(id="next")
        yield Timeline(id="timeline")

    def prepare(self) -> None:
        """Title the tables."""
        for name, title in (("shapes", "Shapes"), ("calls", "Calls"), ("points", "Breakpoints and watches")):
            self.query_one(f"#{name}").border_title = title
        self.query_one("#points").border_subtitle = "b breaks · a watches"

    def fit(self) -> None:
        """In a narrow terminal one table at a time stands below the program."""
        super().fit()
        lower = self.explorer.state.options.lower
        for name in LOWER:
            self.query_one(f"#{name}").display = not self.is_narrow or name == lower
        self.query_one("#side").display = not self.is_narrow or lower != "values"
        self.query_one("#values_box").display = not self.is_narrow or lower == "values"
        self.query_one("#value_head").display = self.is_narrow

    # -- drawing --------------------------------------------------------------------------------------------------

    def draw(self, state: State, old: State) -> None:
        """Draw the view of the run."""
        if state.options.lower != old.options.lower:
            self.fit()
        view = state.run
        if view is not old.run:
            self._inspected = None
        if view is None:
            self._draw_nothing(state)
        elif view is not old.run or state.options != old.options:
            self._draw_run(view, old.run)
        elif state.selection.binding is not self._selected_node():
            self._follow(view, state.selection.binding)
        self._draw_inspector()

    def _draw_inspector(self) -> None:
        """On a wide screen, show the value under the cursor."""
        if not self.has_class("-wide"):
            return
        name, value, missing = self._under_cursor()
        width = self.query_one("#inspector_text").size.width
        if not width:  # not laid out yet; `on_fitted` comes back
            return
        if self._inspected == (name, id(value), missing, width):
            return
        self._inspected = (name, id(value), missing, width)
        self.query_one("#inspector", Box).show_title(visible(name) or "Value")
        self._show_page([missing])
        if missing:
            self.leave_empty("inspect")
        else:
            self.fill("inspect", lambda: value_page(name, value, width), self._show_page)

    def on_fitted(self, message: Fitted) -> None:
        """Make the page and the table of values for the widths that they have now."""
        view = self.explorer.state.run
        if message.view == "inspector_text":
            self._draw_inspector()
        elif message.view == "values" and view is not None and self._values_width() != self._drawn_width:
            self._draw_values(view, None)  # the run may have ended before they were laid out

    def _show_page(self, lines: list[str]) -> None:
        for view in self.query("#inspector_text").results(FixedLines):  # none is left while the screen closes
            view.show(lines)

    def _follow(self, view: RunView, binding: e.Binding | None) -> None:
        """Put the cursor on a binding that another screen selected."""
        line = view.lines.row_of(binding) if binding is not None else None
        if line is not None:
            ir = self.lines("debug_ir")
            ir.move(line if self.table is None else self.table.line_of(line), tell=False)
            ir.centre()

    def draw_waiting(self) -> None:
        """Say why there is no run, again when what was said is no longer true."""
        state = self.explorer.state
        if state.run is None and no_run(state, self._is_starting()) != self._reasons:
            self._draw_nothing(state)

    def _is_starting(self) -> bool:
        return self.explorer.jobs.is_working("run")

    def _draw_nothing(self, state: State) -> None:
        found = self._reasons = no_run(state, self._is_starting())
        for name in self.panes:
            self.lines(name).show([], 0)
        self.lines("debug_ir").show(text_lines(found), 0)
        self.lines("debug_ir").show_title("")
        self.remove_class("-calls")
        for name in ("tabs", "value_head", "next", "timeline"):
            self.query_one(f"#{name}", FixedText).show(Text(""))

    def _draw_run(self, view: RunView, old: RunView | None) -> None:
        ir = self.lines("debug_ir")
        is_moved = (
            old is None or (view.position, view.now) != (old.position, old.now) or self.explorer.follows
        )
        shown = view.lines if self.app.size.width >= ROOMY else view.lines.without_values()
        state = self.explorer.state
        if state.session is not None and state.options.columns:
            from relax_explorer.ui.tui.cost_columns import columns_of  # costs, only where they are asked for

            at = state.session.stages[view.stage]
            width = ir.scrollable_content_region.width or self.app.size.width
            found = columns_of(self.explorer, state.options, at, width, self.redraw)
            shown = shown if found is None else shown.without_values().with_columns(found)
        lines = shown.with_folds(state.options.folded)
        ir.show(lines, lines.line_of(view.now) if is_moved else None)
        if is_moved:
            ir.centre()
        ir.show_title(visible(view.title))
        self._draw_values(view)
        self.lines("shapes").show(view.shapes, 0)
        self.lines("calls").show(view.calls, 0)
        points = (*view.watches, *view.points) or (Row("none yet"),)
        self.lines("points").show(points, 0)
        for name, rows in (
            ("calls", view.calls),
            ("points", points),
        ):  # what they leave empty goes to the shapes
            self.lines(name).styles.max_height = (
                min(max(1, len(rows)), MOST_BESIDE) + 2 if not self.is_narrow else None
            )
        self._draw_lines(view)

    def _values_width(self) -> int:
        """The cells of a row of the table of values; those of the terminal before it is laid out."""
        return max(40, self.lines("values").scrollable_content_region.width or self.app.size.width) - 3

    def _draw_values(self, view: RunView, cursor: int | None = 0) -> None:
        """Draw the table of values. Without `cursor` the cursor stays."""
        width = self._drawn_width = self.explorer.run_control.shown_width = self._values_width()
        values = view.values.of_width(width)
        watches = view.watches if self.is_narrow else ()
        self.lines("values").show([*watches[:3], *values] if watches else values, cursor)
        self.lines("values").show_title(f" {values.head}")
        head = (
            values.head
            if columns(values.head) + 3 <= self.app.size.width
            else values.head.removesuffix(" inf")
        )
        self.query_one("#value_head", FixedText).show(Text(f"   {head}", style="dim", no_wrap=True))

    def _draw_lines(self, view: RunView) -> None:
        """The tabs, the next binding, and the timeline."""
        width = self.app.size.width
        self.set_class(view.call is not None, "-calls")
        if view.call is not None:
            line = call_line(view.call, view.position, view.last, width)
            self.query_one("#call", FixedText).show(Text(line, no_wrap=True))
        self.query_one("#tabs", FixedText).show_line(self._tabs(view, width))
        following = fit(f" next {view.next}" if not view.is_done else f" {view.next}", width - 1)
        self.query_one("#next", FixedText).show(Text(following, no_wrap=True))
        self.query_one("#timeline", FixedText).show(Text(timeline(view, width), no_wrap=True))

    def _tabs(self, view: RunView, width: int) -> ButtonLine:
        titles, tables = (
            ("Values", "Shapes", "Calls", "Breaks"),
            (view.values, view.shapes, view.calls, view.points),
        )
        words = {
            name: f"{title} {len(rows)}" for name, title, rows in zip(LOWER, titles, tables, strict=True)
        }
        line = tab_line(words, self.explorer.state.options.lower)
        line.write(" v next table", "lower")
        shapes = f"   {view.shapes_line}" if view.shapes_line else ""
        line.write(fit(shapes, max(0, width - 1 - line.width)))
        return line

    # -- selecting ------------------------------------------------------------------------------------------------

    def on_cursor_moved(self, message: CursorMoved) -> None:
        """Select what the cursor is on."""
        if message.view == "values":
            self._draw_inspector()
        if message.view != "debug_ir":
            return
        row = self.lines("debug_ir").row
        if row is not None:
            self.select_row(row)

    def _selected(self) -> e.Binding | None:
        row = self.lines("debug_ir").row
        if row is not None and row.binding is not None:
            return row.binding
        self.explorer.say("select a binding first")
        return None

    def _value(self) -> tuple[str, object] | None:
        """The value under the cursor. If there is none, it is said."""
        name, value, missing = self._under_cursor()
        if missing and self.explorer.state.run is not None:
            self.explorer.say(missing)
        return None if missing else (name, value)

    def _under_cursor(self) -> tuple[str, object, str]:
        """The value of the line of the table, or of the selected binding: its name, itself, and why there is none."""
        view = self.explorer.state.run
        if view is None:
            return "", None, "no run"
        at = f"has no value at step {view.position}"
        row, watches = self.view.row, view.watches
        if row is not None and (self.view.id == "values" or any(row is watch for watch in watches)):
            return row.function, row.node, f"{visible(row.function)} {at}" if row.node is None else ""
        name, node = self._name_of_line(), self._selected_node()
        done = view.lines.values  # not counted: that takes time with each binding
        # By the binding: two may have one name, and one of an ended block is in no table.
        if name and done is not None and id(node) in done:
            return name, done[id(node)], ""
        if view.values.items and (
            not name or node is view.node
        ):  # the cursor waits on a binding without a value
            name, value, _ = view.values.items[0]
            return name, value, ""
        return name, None, f"{visible(name)} {at}" if name else "no value is selected"

    def _selected_node(self) -> object:
        row = self.lines("debug_ir").row
        return None if row is None else row.node

    def _name_of_line(self) -> str:
        row = self.lines("debug_ir").row
        var = getattr(row.node, "var", None) if row is not None else None
        return "" if var is None else str(var.name)

    # -- actions --------------------------------------------------------------------------------------------------

    def action_run(self, text: str) -> None:
        self.explorer.run_control.typed(text)

    def to_cell(self, cell: int) -> None:
        """Go to the step of a cell of the timeline."""
        view = self.explorer.state.run
        if view is not None:
            self.action_run(f"goto {step_at(cell, view, self.app.size.width)}")

    def action_to_cursor(self, is_back: bool) -> None:
        binding = self._selected()
        if binding is not None:
            self.explorer.run_control.to(binding, is_back)

    def action_breakpoint(self) -> None:
        binding = self._selected()
        if binding is not None:
            self.explorer.run_control.toggle(binding)

    def action_condition(self) -> None:
        binding = self._selected()
        if binding is not None:
            self.explorer.run_control.condition(binding)

    def action_enter(self) -> None:
        if self.view.id == "values":
            self.action_inspect()
        elif self.view.id == "debug_ir" and self.is_on_closed:
            self.action_fold()
        elif self.view.id == "debug_ir":
            self.action_breakpoint()

    def action_inspect(self) -> None:
        found = self._value()
        if found is not None:
            self.explorer.run_control.inspect(*found)

    def action_blame(self) -> None:
        view = self.explorer.state.run
        found = self._value() if view is not None else None
        if found is not None:
            self.explorer.run_control.typed("blame" if found[0] == "result" else f"blame {found[0]}")

    def action_inputs(self) -> None:
        self.explorer.ask_inputs()

    def action_restart(self) -> None:
        self.explorer.run_control.restart()

    def action_lower(self) -> None:
        lower = self.explorer.state.options.lower
        self.action_table(LOWER[(LOWER.index(lower) + 1) % len(LOWER)])

    def action_table(self, name: str) -> None:
        """Show a table; where all are shown, go there."""
        self.explorer.show_with(lower=name)
        if not self.is_narrow:
            self.set_focus(self.query_one(f"#{self.explorer.state.options.lower}"))

    def action_fold_all(self, goal: str = "") -> None:
        view, folded = self.explorer.state.run, self.explorer.state.options.folded
        if view is None:
            return
        own = {fold.key for fold in view.lines.table.folds if goal != "layers" or fold.key.kind == LAYER}
        inner = frozenset({key for key in own if key.kind not in ("function", CHECKS)})
        hiding = view.lines.with_folds(Folded(inner)).hiding(view.now)  # what runs stays in sight
        closes = goal in ("close", "layers") or (goal != "open" and not any(key in folded for key in own))
        folded_now = "layers are folded" if goal == "layers" else "blocks, branches and layers are folded"
        self.explorer.say(folded_now if closes else "everything is open")
        if closes:
            turned = {key for key in own if key not in hiding and key.kind != "function"}
            self.fold(
                Folded(folded.turned - own | {key for key in turned if key.kind != CHECKS}).opened(hiding)
            )
        else:
            self.fold(folded.opened(own))

    def resumed(self) -> None:
        """Start a run if there is none."""
        if self.explorer.starts:
            self.explorer.run_control.ensure()
