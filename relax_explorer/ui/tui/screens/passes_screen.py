"""The passes screen: the stages, the program with its changes, and the details of the selected value; and any screen with a program that folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container

from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.ui.tui import keys, rows
from relax_explorer.ui.tui.empty import no_program, no_rows
from relax_explorer.ui.tui.rows import Folder, OffPass, rail_rows, strip_line
from relax_explorer.ui.tui.screens.screen_frame import WIDE, Frame
from relax_explorer.ui.tui.state import DIFFS, LEAST_BESIDE, State
from relax_explorer.ui.tui.table_rows import BesideRows, TableRows, matches
from relax_explorer.ui.tui.widgets.framed import Box, CursorMoved, FixedLines, FixedText
from relax_explorer.ui.tui.widgets.line_view import STEP, LineView
from relax_explorer.viz.stage_line import change_counts
from relax_explorer.viz.stage_sentence import stage_sentence
from relax_explorer.viz.table_folds import LAYER, Fold, Folded
from relax_explorer.viz.tables import Row, TextRows, text_lines
from relax_explorer.viz.visible import visible

if TYPE_CHECKING:
    from relax_explorer.core.session.session import Session
    from relax_explorer.core.session.snapshot import Snapshot
    from relax_explorer.ui.tui.values_beside import ValuesBeside

# -- program frame ---------------------------------------------------------------------------------------------------
# A screen with a program that folds: functions, blocks, branches and kernels, at the cursor or all at once.


class ProgramFrame(Frame):
    """A screen whose view `program_` shows a program. What is folded is an option, so that it stays from screen to screen."""

    program_: ClassVar[str] = ""

    @property
    def program(self) -> LineView:
        """The view of the program."""
        return self.lines(self.program_)

    @property
    def table(self) -> TableRows | None:
        """The program as a table; None if it is shown as text."""
        shown = self.program.rows
        return shown if isinstance(shown, TableRows) else None

    def select_row(self, row: Row) -> None:
        """Select the binding and the function of a row."""
        selection = self.explorer.state.selection
        self.explorer.select(
            replace(selection, binding=row.binding, function=row.function or selection.function)
        )

    def action_uses(self) -> None:
        """Go to the next reader of the selected value; behind the last one, back to its definition."""
        state = self.explorer.state
        found = rows.uses(state.stage, state.selection) if state.stage is not None else []
        if len(found) < 2:
            self.explorer.say("nothing reads this value" if found else "select a binding first")
            return
        self.explorer.stage_control.go_to(state.selection.stage, state.selection.function, found[1])
        self.explorer.say(f"read by {len(found) - 1}; ctrl+o goes back")

    # -- going to rows --------------------------------------------------------------------------------------------

    def reveal(self, number: int) -> None:
        """Go to a row of the program. Folds that hide it open."""
        table = self.table
        hiding = table.hiding(number) if table is not None else frozenset()
        if hiding:
            self.explorer.show_with(folded=self.explorer.state.options.folded.opened(hiding))
        table = self.table
        self.program.move(number if table is None else table.line_of(number))

    def to_match(self, number: int, step: int) -> None:
        """Go to a row that matches the search; folds that hide it open."""
        if self.view is self.program:
            self.reveal(number)
        else:
            super().to_match(number, step)

    def action_mark(self) -> None:
        self.explorer.ask_key("mark this place with a letter; Esc leaves", (), self.explorer.marks.set)

    def action_to_mark(self) -> None:
        marks = [row.text for row in self.explorer.marks.rows()] or ["no marks yet; m and a letter set one"]
        self.explorer.ask_key("go to a mark, ' goes back; Esc leaves", marks, self.explorer.marks.go)

    # -- folding --------------------------------------------------------------------------------------------------

    def action_fold(self) -> None:
        table = self.table
        if table is None:
            self.explorer.say("only the compact table folds; t shows it")
            return
        fold = table.fold_at(self.program.cursor)
        if fold is None:
            self.explorer.say("nothing folds here: functions, blocks, branches, kernels and checks do")
            return
        self.fold(self.explorer.state.options.folded.toggled(fold.key), fold)

    def fold(self, folded: Folded, at: Fold | None = None) -> None:
        """Fold these places; the cursor goes to the head of `at`, or stays on its row."""
        table = self.table
        if table is None:
            return
        number = table.number_of(self.program.cursor) if at is None else table.row_at(at.head)
        self.explorer.show_with(folded=folded)
        table = self.table
        if table is not None:
            self.program.move(table.line_of(number))

    @property
    def head(self) -> Fold | None:
        """The fold whose head is under the cursor."""
        table = self.table
        fold = table.fold_at(self.program.cursor) if table is not None else None
        if table is None or fold is None:
            return None
        return fold if table.in_table(table.number_of(self.program.cursor)) == fold.head else None

    @property
    def is_on_closed(self) -> bool:
        """True if the cursor is on the head of a closed fold."""
        fold = self.head
        return fold is not None and fold.key in self.explorer.state.options.folded


# -- passes screen ---------------------------------------------------------------------------------------------------


RAIL = 31  # cells of a line in the list of stages
RAIL_FRAME = 38  # cells of the list of stages with its frame
WITH_VALUES = 160  # cells of a terminal from which on the values of a run stand beside their bindings
ROOMY = 180  # cells of a terminal from which on details stand at the right of the program
DETAILS = 50  # cells of this column
AROUND = 6  # cells of a line that are not text: frame, gutter, scrollbar


class PassesScreen(ProgramFrame):
    """Stages at the left, the program in the middle, details below it or at the right."""

    BINDINGS = keys.bindings("passes")
    name_ = "passes"
    panes = ("ir", "stages")
    program_ = "ir"
    _shift = 0  # cells that two stages side by side are scrolled
    _traced: object = None  # what the history is of
    _recent: rows.Recent
    _beside: ValuesBeside | None = None  # made when there first is room for values
    _made: tuple[tuple[object, ...], TableRows] | None = (
        None  # the rows made last, without folds, and what for
    )

    def compose_body(self) -> ComposeResult:
        """The list of stages, a strip for narrow terminals, the program, the details."""
        yield FixedText(id="strip")
        yield LineView("stages", colored=False, is_menu=True)
        with Container(id="program"):
            yield FixedText(id="sentence")
            yield LineView("ir")
        with Container(id="about"):
            with Box(id="details"):
                yield FixedText(id="details_text")
            with Box(id="history"):
                yield FixedLines(id="history_text")

    def fit(self) -> None:
        """The list of stages is a drawer where the program needs the room."""
        super().fit()
        stages = self.query_one("#stages")
        has_drawer = self._has_drawer
        self.set_class(has_drawer, "-drawer")
        self.set_class(self.is_beside, "-beside")
        self.set_class(self.app.size.width >= ROOMY, "-roomy")
        stages.display = not has_drawer or self.focused is stages
        self.query_one("#strip").display = has_drawer
        self.query_one("#about").display = self.explorer.state.options.shows_details

    @property
    def is_beside(self) -> bool:
        """True if two stages stand side by side."""
        options = self.explorer.state.options
        return options.diff == "beside" and not self._no_beside()

    @property
    def _room(self) -> int:
        """The cells beside the list of stages and a column of details."""
        width = self.app.size.width
        has_column = width >= ROOMY and self.explorer.state.options.shows_details and not self.is_beside
        return width - RAIL_FRAME * (not self._has_drawer) - DETAILS * has_column

    @property
    def _has_drawer(self) -> bool:
        return self.is_narrow or (self.is_beside and self.app.size.width < WIDE)

    def _no_beside(self) -> str:
        """Why two stages cannot stand side by side; empty if they can."""
        if self.app.size.width < LEAST_BESIDE:
            return f"side by side needs {LEAST_BESIDE} columns"
        return (
            "" if self.explorer.state.options.density == "compact" else "side by side is compact only, see t"
        )

    # -- drawing --------------------------------------------------------------------------------------------------

    def draw(self, state: State, old: State) -> None:
        """Draw what changed: the list, the program, or only the details."""
        if state.session is None:
            self._draw_waiting(state, old)
            return
        is_other = state.session is not old.session or state.selection.stage != old.selection.stage
        if is_other:
            self._shift = 0
        if state.options != old.options:
            self.fit()
        if is_other or state.options != old.options or state.values_of_run is not old.values_of_run:
            self._draw_program(state, is_other)
            state = self.explorer.state  # it may have selected the first change
        elif (
            state.selection.binding is not old.selection.binding
            or state.selection.function != old.selection.function
        ):
            self._follow(state)
        if is_other or state.stages != old.stages or state.options != old.options:
            self._draw_stages(state)
        self._draw_details(state)

    def _draw_waiting(self, state: State, old: State) -> None:
        """Draw the text of a program that is being read, or why there is none."""
        busy = not self.explorer.jobs.is_idle
        if state.preview and busy:
            if state.preview is not old.preview:
                self.program.show(TextRows(state.preview), self.explorer.read_line)
                self.program.centre()
        else:
            self.program.show(text_lines(no_program(state, state.path or self.explorer.asked, busy)), 0)

    def _draw_program(self, state: State, is_other: bool) -> None:
        session, stage = state.opened
        view, shown = self.program, self._rows(state) or text_lines(no_rows(stage))
        to_kernel = state.selection is self.explorer.stage_control.landed and rows.has_kernel(
            stage, state.selection.function
        )
        cursor = rows.cursor_in(shown, stage, state.selection, is_other and not to_kernel)
        view.show(shown, cursor)
        view.centre()
        since = state.options.before(stage.number)
        is_far = since < stage.number - 1
        counts = (
            change_counts(session.diff(since, stage.number))
            if stage.number and (stage.changed or is_far)
            else ""
        )
        far = (
            f" since {session.stages[since].label} {visible(session.stages[since].made_by, 30)}"
            if is_far
            else ""
        )
        view.show_title(f"{stage.label} {visible(stage.made_by, 60)}  {counts}{far}")
        self._draw_sentence(session, stage, since)
        why_not = self._no_beside() if state.options.diff == "beside" else ""
        view.border_subtitle = f"{why_not}: changes are marked" if why_not else ""
        is_left_out = state.options.diff == "only" and stage.number > 0
        if (is_other or is_left_out) and state.selection.binding is not view.row_node:
            self._select_row(view.cursor)

    def _draw_sentence(self, session: Session, stage: Snapshot, since: int) -> None:
        """What the pass did, above the program."""
        view = self.query_one("#sentence", FixedText)
        change = self._cost_change(session, stage, since) if stage.number else ""
        room = self._room - 2 - len(change)
        text = f"{stage_sentence(session, stage, since, room)}{change}" if stage.number else ""
        if view.display != bool(text):  # the program has another height from the next picture on
            view.display = bool(text)
            self.call_after_refresh(self.program.centre)
        view.show(Text(f" {text}", no_wrap=True, overflow="ellipsis"))

    def _cost_change(self, session: Session, stage: Snapshot, since: int) -> str:
        """How the costs in columns changed: `  moved −31 %`."""
        options = self.explorer.state.options
        if not options.columns:
            return ""
        from relax_explorer.ui.tui.cost_columns import (  # costs, only where they are asked for
            columns_of,
            known,
        )

        found = columns_of(self.explorer, options, stage, self._room - AROUND, self.redraw)
        before = None if found is None else known(self.explorer, session.stages[since], self.redraw)
        change = "" if found is None or before is None else found.change(before, stage.entry)
        return f"  {change}" if change else ""

    def _rows(self, state: State) -> Sequence[Row]:
        """The rows of the program. They are made again if they differ by more than folds."""
        (session, stage), options = state.opened, state.options
        mode = "inline" if options.diff == "beside" and not self.is_beside else options.diff
        if options.density != "compact":
            return rows.text_rows(
                session, stage, mode, options.density == "written", options.before(stage.number)
            )
        width = self.app.size.width - AROUND - (RAIL_FRAME if self.app.size.width >= WIDE else 0)
        since = options.before(stage.number)
        beside = width if mode == "beside" else 0
        layers = (self._room - AROUND) // 2 - 1 if options.shows_layers else 0
        found = None
        if options.columns and mode != "beside":
            from relax_explorer.ui.tui.cost_columns import columns_of  # as above

            found = columns_of(self.explorer, options, stage, self._room - AROUND, self.redraw)
        goal = (session, stage, mode, since, options.opened, beside, self._shift, layers, found)
        if self._made is None or self._made[0] != goal:
            if self._made is None or self._made[0][0] is not session:
                self._recent = rows.Recent()  # what is kept of another program would keep it alive
            made = rows.compact_rows(
                session, stage, mode, options.opened, width, self._shift, since, self._recent, layers
            )
            self._made = (goal, made.with_columns(found))
        shown = self._made[1]
        if self._beside is None and self.app.size.width >= WITH_VALUES:
            from relax_explorer.ui.tui.values_beside import ValuesBeside  # as above

            self._beside = ValuesBeside(self.explorer, WITH_VALUES, self.redraw)
        if self._beside is not None and found is None and not isinstance(shown, BesideRows):
            values = self._beside.of_stage()
            shown = shown if values is None else shown.with_values(values)
        return shown.with_folds(options.folded)

    def _follow(self, state: State) -> None:
        """Put the cursor on the selection, if something else moved it."""
        view, stage, selection = self.lines("ir"), state.opened[1], state.selection
        is_here = (
            view.row_node is selection.binding
            if selection.binding is not None
            else view.row is None or view.row.function in ("", selection.function)
        )
        if not is_here:
            view.move(rows.cursor_in(view.rows, stage, selection, False), tell=False)
            view.centre()  # what follows a head that was gone to is in sight, too

    def _draw_stages(self, state: State) -> None:
        session = state.opened[0]
        found = rail_rows(state, RAIL)
        here = next((n for n, row in enumerate(found) if row.node == state.selection.stage), 0)
        view = self.lines("stages")
        view.show(found, here)
        changed = sum(stage.changed for stage in session.stages[1 : state.stages])
        aside = sum(item.count for item in session.asides)
        view.show_title(f"{changed} of {state.stages - 1} changed{f' · {aside} aside' * (aside > 0)}")
        view.border_subtitle = "U shows all"
        self.query_one("#strip", FixedText).show_line(strip_line(state, self.app.size.width))

    def _draw_details(self, state: State) -> None:
        session, stage = state.opened
        lines = rows.detail_lines(session, stage, state.selection)
        place = " ▸ ".join(part for part in (state.selection.function, state.selection.variable) if part)
        self.query_one("#details", Box).show_title(visible(place or stage.made_by))
        text = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
        self.query_one("#details_text", FixedText).show(text)
        self._draw_history(state)

    def _draw_history(self, state: State) -> None:
        """Ask for the history of the selected value."""
        goal = (state.session, state.stages, state.selection)
        if goal == self._traced or self.has_class("-drawer") or self.is_narrow:
            return
        self._traced = goal
        name = state.selection.variable
        self.query_one("#history", Box).show_title(visible(f"History of {name}" if name else "History"))
        self._show_history([] if name else ["no value is selected"])
        if name:
            self.fill("trace", self.explorer.pictures.tracing(), self._show_history)
        else:
            self.leave_empty("trace")

    def _show_history(self, lines: list[str]) -> None:
        for view in self.query("#history_text").results(FixedLines):  # none is left while the screen closes
            view.show(lines)

    # -- selecting ------------------------------------------------------------------------------------------------

    def on_cursor_moved(self, message: CursorMoved) -> None:
        """Select what the cursor is on."""
        if message.view == "ir":
            self._select_row(message.line)

    def _select_row(self, line: int) -> None:
        view = self.lines("ir")
        if len(view.rows):
            self.select_row(view.rows[min(line, len(view.rows) - 1)])

    def chosen(self, view: str) -> None:
        """A click on the line under the cursor."""
        if view == "stages" or self.is_on_closed:
            self.action_enter()

    def action_enter(self) -> None:
        view = self.view
        if view.id == "stages" and view.row is not None:
            number = view.row.node
            if isinstance(number, Folder):
                self.explorer.stage_control.open(number.path)
                return
            if not isinstance(number, int):  # a pass that is off
                self.action_toggle_pass()
                return
            self.set_focus(self.query_one("#ir"))
            self.fit()
            self.explorer.stage_control.show(number)
        elif (
            view.row is not None and view.row.mark != "-" and isinstance(self._function(view.row), PrimFunc)
        ) or self.is_on_closed:
            self.action_fold()
        elif name := rows.callee(self.explorer.state.selection.binding):
            self.explorer.stage_control.go_to(self.explorer.state.selection.stage, name)
            self.explorer.say(f"{name}; ctrl+o goes back")
        else:
            self.action_details()

    def action_next_pane(self) -> None:
        self.query_one("#stages").display = True
        super().action_next_pane()
        self.fit()

    def action_previous_pane(self) -> None:
        self.action_next_pane()

    def close_drawer(self) -> None:
        """Close the list of stages where it hides the program."""
        if self.has_class("-drawer") and self.focused is self.query_one("#stages"):
            self.set_focus(self.query_one("#ir"))
            self.fit()

    def action_cancel(self) -> None:
        if self.focused is self.query_one("#stages"):
            self.set_focus(self.query_one("#ir"))
            self.fit()
        else:
            super().action_cancel()

    def action_back(self) -> None:
        if self.focused is self.query_one("#stages"):
            self.action_cancel()
        else:
            self.explorer.leave()

    # -- moving ---------------------------------------------------------------------------------------------------

    def _here(self) -> int:
        """The number of the row under the cursor."""
        return self.program.cursor if self.table is None else self.table.number_of(self.program.cursor)

    def idle_actions(self) -> set[str]:
        """The first stage shows no change, and recorded stages have no pipeline."""
        state, idle = self.explorer.state, super().idle_actions()
        if state.selection.stage == 0:
            idle |= {"change(1)", "diff"}
        if state.stages < 2:
            idle.add("bisect")
        if self._beside is None or not self._beside.is_dear:
            idle.add("debug_here")
        return idle if state.plan is not None else idle | {"edit_pipeline"}

    def action_change(self, step: int) -> None:
        starts = rows.marked_runs(self.program.rows)
        target = ahead(starts, self._here(), step)
        if target is not None:
            self.reveal(target)
            self.explorer.say(f"change {starts.index(target) + 1} of {len(starts)}")
        else:
            self.explorer.say("no further change in this stage" if starts else "this stage shows no change")

    def action_function(self, step: int) -> None:
        target = ahead(rows.function_starts(self.program.rows), self._here(), step)
        if target is not None:
            self.reveal(target)

    def to_match(self, number: int, step: int) -> None:
        """Go to a row that matches the search; a fold or kernel with it opens."""
        super().to_match(number, step)
        row, table = self.program.row, self.table
        if table is None or row is None or self.view is not self.program or matches(row, self.found):
            return
        self.explorer.show_with(opened=self.explorer.state.options.opened | {row.function})
        lines = [
            n
            for n, item in enumerate(self.program.rows)
            if item.function == row.function and matches(item, self.found)
        ]
        if lines:
            self.program.move(lines[0 if step > 0 else -1])

    def action_side(self, by: int) -> None:
        table = self._made[1] if self._made is not None else None
        if not isinstance(table, BesideRows) or self.view is not self.program:
            super().action_side(by)
            return
        top = int(self.program.scroll_offset.y)
        lines = range(top, min(top + self.program.lines_shown, len(self.program.rows)))
        widest = table.widest([self.table.number_of(n) for n in lines] if self.table is not None else [])
        self._shift = max(0, min(self._shift + by * STEP, widest - table.width // 4))
        self.program.show(self._rows(self.explorer.state))

    # -- showing --------------------------------------------------------------------------------------------------

    def action_diff(self) -> None:
        order = list(DIFFS)
        mode, why_not = order[(order.index(self.explorer.state.options.diff) + 1) % len(order)], ""
        if mode == "beside" and (why_not := self._no_beside()):
            mode = "only"
        self.explorer.say(f"{DIFFS[mode]} ({why_not})" if why_not else DIFFS[mode])
        self.explorer.show_with(diff=mode)

    def action_unchanged(self) -> None:
        shown = not self.explorer.state.options.shows_unchanged
        self.explorer.show_with(shows_unchanged=shown)

    def action_details(self) -> None:
        self.explorer.show_with(shows_details=not self.explorer.state.options.shows_details)

    def _function(self, row: Row | None) -> object:
        stage = self.explorer.state.stage
        return None if row is None or stage is None else stage.module.functions.get(row.function)

    def action_fold(self) -> None:
        row, stage = self.program.row, self.explorer.state.stage
        if row is None or stage is None or not isinstance(self._function(row), PrimFunc):
            super().action_fold()
        elif self._is_changed(row.function):
            self.explorer.say("a kernel that this stage changed stays open")
        else:
            self.explorer.select(replace(self.explorer.state.selection, binding=None, function=row.function))
            self.explorer.show_with(opened=self.explorer.state.options.opened ^ {row.function})

    def _is_changed(self, function: str) -> bool:
        """True if the stage changed a function, and changes are shown."""
        session, stage = self.explorer.state.session, self.explorer.state.stage
        if session is None or stage is None or not stage.number or self.explorer.state.options.diff == "off":
            return False
        since = self.explorer.state.options.before(stage.number)
        found = session.diff(since, stage.number).functions
        return any(fn.name == function and fn.status == "changed" for fn in found)

    def action_fold_all(self, goal: str = "") -> None:
        stage, options, table = self.explorer.state.stage, self.explorer.state.options, self.table
        if stage is None or table is None:
            self.explorer.say("only the compact table folds; t shows it")
            return
        kernels = frozenset(name for name, fn in stage.module.functions.items() if type(fn) is PrimFunc)
        heads, layers = (
            frozenset(fold.key for fold in table.table.folds if fold.key.kind == kind)
            for kind in ("function", LAYER)
        )
        checks = frozenset(fold.key for fold in table.table.check_folds)
        if goal == "layers":
            self.explorer.say("layers are folded" if layers else "no layer has a number here")
            self.fold(Folded(options.folded.turned | layers))
        elif options.folded.hides_code and not goal:
            self.explorer.say("all but kernels is open")
            self.fold(Folded())
        elif goal == "open" or (kernels and not options.opened and not goal):
            self.explorer.say("everything is open")
            self.explorer.show_with(opened=kernels)
            self.fold(Folded(checks))
        else:
            self.explorer.say("functions are folded")
            self.explorer.show_with(opened=frozenset())
            self.fold(Folded(heads))

    def action_toggle_pass(self) -> None:
        control, row = self.explorer.pipeline_control, self.view.row
        node = row.node if row is not None and self.view.id == "stages" else None
        if isinstance(node, OffPass):
            control.toggle(node.number)
        else:
            control.toggle_stage(node if isinstance(node, int) else self.explorer.state.selection.stage)

    def action_undo(self) -> None:
        self.explorer.pipeline_control.undo()

    def action_redo(self) -> None:
        self.explorer.pipeline_control.redo()

    def action_debug_here(self) -> None:
        self.explorer.show_screen("debug")


def ahead(starts: list[int], cursor: int, step: int) -> int | None:
    """The next of some lines in a direction."""
    found = [n for n in starts if (n > cursor if step > 0 else n < cursor)]
    return (found[0] if step > 0 else found[-1]) if found else None
