"""The pipeline as a list to edit: steps on and off, moved, added and removed, with what the order lacks; and the text of a stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from textwrap import wrap

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input, Static, TextArea

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.passes.pipeline import Step, Verdict
from relax_explorer.core.passes.replace_module import edited_text, problem_of
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.session import Plan, Session
from relax_explorer.ui.commands import command
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.keys import Keymap
from relax_explorer.ui.tui.pass_trials import Choices, about, step_completions
from relax_explorer.ui.tui.screens.moving import Moving, Settling
from relax_explorer.ui.tui.twins import piped
from relax_explorer.ui.tui.widgets.framed import BarInput, Choice, CommandInput, CursorMoved, RowChosen
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.stage_line import change_counts
from relax_explorer.viz.tables import Row
from relax_explorer.viz.visible import visible

REMARKS = 4  # warnings
ROWS = 2  # of a sentence
WIDEST = 130  # columns of the frame, as in explorer.tcss
LEAST = 8  # columns of a remark; a narrower terminal cuts it
QUIET = 0.2  # seconds without a change of the place before passes are tried there


@dataclass(slots=True)
class Edits:
    """A plan with the plans before and after it."""

    plan: Plan
    past: list[Plan] = field(default_factory=list)
    future: list[Plan] = field(default_factory=list)

    def take(self, plan: Plan) -> None:
        """Go on with another plan."""
        if plan != self.plan:
            self.past.append(self.plan)
            self.future.clear()
            self.plan = plan

    def undo(self) -> bool:
        """Back to the plan before; False if there is none."""
        return self._swap(self.past, self.future)

    def redo(self) -> bool:
        """Forward again; False if there is nothing."""
        return self._swap(self.future, self.past)

    def _swap(self, source: list[Plan], other: list[Plan]) -> bool:
        if not source:
            return False
        other.append(self.plan)
        self.plan = source.pop()
        return True


class PipelineEditor(Moving, ModalScreen["Plan | None"]):
    """Edits the plan of a session. Enter returns it, Esc nothing."""

    BINDINGS = [  # noqa: RUF012  # as Textual declares it
        *keys.bindings("pipeline"),
        Binding("escape", "close", "Close", show=False, priority=True),
        Binding("q", "close", "Close", show=False, priority=True),
    ]

    def __init__(self, session: Session, plan: Plan, cursor: int = 0) -> None:
        super().__init__()
        self.session, self.edits, self._cursor = session, Edits(plan), cursor
        self._ran = plan
        self._replaced: int | None = None  # the step that the typed text replaces
        self._notice = ""
        self.choices = Choices()
        self._place: object = None  # where the passes of `choices` are tried
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """The steps, what the order lacks, the command line, the keys."""
        with Vertical(id="pipeline_frame"):
            with Horizontal(id="pipeline_lists"):
                yield LineView("steps", colored=False)
                yield LineView("choices")
            yield BarInput(id="filter", placeholder="a part of the name of a pass")
            yield Static(id="remarks", markup=False)
            yield CommandInput(self.explorer.history, _step_choices, "step")
            yield Static(id="pipeline_keys")

    def on_mount(self) -> None:
        """Fill the list."""
        if not self.is_filled:
            return
        self.query_one(
            "#pipeline_frame"
        ).border_title = f"Pipeline of {visible(Path(self.session.filename).name, 60)}".replace("[", "\\[")
        self.take_keys("pipeline")
        for view in self.query(LineView):
            view.recolor(self.tokens)
        self._draw(self._cursor)
        self.steps.focus()

    def on_unmount(self) -> None:
        """Stop trying passes."""
        self.explorer.pass_trials.close()

    @property
    def view(self) -> LineView:
        """The list with the focus, else the steps."""
        return self.focused if isinstance(self.focused, LineView) else self.steps

    @property
    def steps(self) -> LineView:
        """The list of steps."""
        return self.lines("steps")

    @property
    def choice(self) -> str:
        """The selected pass in the list of passes; empty unless the list has the focus."""
        row = self.view.row
        return str(row.node) if self.view.id == "choices" and row is not None and row.node else ""

    @property
    def plan(self) -> Plan:
        """The plan as it is now."""
        return self.edits.plan

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw(self, cursor: int | None = None, notice: str = "") -> None:
        self._notice = notice
        remarks = {number for number, _ in self.plan.remarks(self.session.properties[0])}
        found = [self._row(number, number in remarks) for number in range(len(self.plan.entries))]
        self.steps.show(found or [Row("no passes; a adds one")], cursor)
        frame = self.query_one("#pipeline_frame")
        frame.border_subtitle = "Enter runs it · Esc leaves" if self.plan != self._ran else "Esc leaves"
        self._draw_remarks()
        self._ask_trials()

    def _row(self, number: int, is_wrong: bool) -> Row:
        entry = self.plan.entries[number]
        text = f"[{'x' if entry.is_on else ' '}] {number + 1:>2} {visible(entry.step.label, 200)}"
        return Row(text, "!" if is_wrong else " ", number, right=self._changed(number))

    def _changed(self, number: int) -> str:
        """What a step changed, if the steps up to it ran like this."""
        stage = self.plan.stage_of(number)
        if stage is None or not self._has_run(stage) or not self.session.stages[stage].changed:
            return ""
        return change_counts(self.session.diff(stage - 1, stage))

    def _has_run(self, stage: int) -> bool:
        """True if the steps up to a stage ran like this."""
        ran = stage < len(self.session.stages)
        return ran and self.plan.steps[:stage] == self.session.pipeline[:stage]

    def _draw_remarks(self) -> None:
        """The selected pass, the warnings, and the command line."""
        lines = [
            row for line in ([self._notice] if self._notice else self._about()) for row in self._wrapped(line)
        ]
        warnings = self._warnings()
        roomy = len(warnings) <= REMARKS // 2
        lines += [
            row for line in warnings[:REMARKS] for row in self._wrapped(f"! {line}", ROWS if roomy else 1)
        ]
        lines += [f"! and {len(warnings) - REMARKS} more"] if len(warnings) > REMARKS else []
        lines.append(visible(self.command_line, 400))
        shown = Text("\n".join(f" {line}" for line in lines), no_wrap=True, overflow="ellipsis")
        self.query_one("#remarks", Static).update(shown)
        self.query_one("#pipeline_keys", Static).update(
            Text(_hints(self.explorer.keymap, self._width), style="dim")
        )

    @property
    def _width(self) -> int:
        """The columns inside the frame."""
        return min(self.size.width, WIDEST) - 2

    def _wrapped(self, line: str, rows: int = ROWS) -> list[str]:
        """A line as rows of the frame."""
        return wrap(
            visible(line, 400),
            max(LEAST, self._width - 2),
            max_lines=rows,
            placeholder="…",
            subsequent_indent="  ",
        )

    def on_resize(self, event: Resize) -> None:
        """Wrap the sentences anew."""
        if self.is_filled:
            self._draw_remarks()

    def _warnings(self) -> list[str]:
        """What the order lacks, what to do first, and what its result lacks that the one before had."""
        holding = self.session.properties[0]
        found = [f"{n + 1} {problem.help}: {problem.message}" for n, problem in self.plan.remarks(holding)]
        gone = self.plan.lost(self._ran, holding)
        return [*found, *[f"the result lacks {item.name} ({item.meaning}), which it had" for item in gone]]

    def _about(self) -> list[str]:
        """The selected pass: what it does, its contract, its options; of one that could be added, what it would do."""
        holding = self.session.properties[0]
        if self.choice:
            return self.choices.about(self.choice, self.plan.before(self._behind, holding))
        number = self.steps.cursor
        if number >= len(self.plan.entries):
            return []
        return about(self.plan.entries[number].step.of.name, self.plan.before(number, holding))

    @property
    def command_line(self) -> str:
        """The command that applies these passes."""
        before, path = piped(self.session.filename)
        return before + command("opt").text({"input": path or None, "passes": self.plan.text})

    def on_cursor_moved(self, message: CursorMoved) -> None:
        """Tell about the selected pass."""
        self._notice = ""
        self._draw_remarks()
        if message.view == "steps":
            self._ask_trials()

    def on_row_chosen(self, message: RowChosen) -> None:
        """A click on the line under the cursor turns the step on or off, or adds the pass."""
        self.action_switch_step()

    # -- passes that could be added -------------------------------------------------------------------------------

    @property
    def _behind(self) -> int:
        """The number of the entry that a pass from the list becomes."""
        return self.steps.cursor + 1 if self.plan.entries else 0

    def _ask_trials(self) -> None:
        """Try all passes at the place of the cursor, once no key changes it for a moment."""
        place = tuple(self.plan.entries[: self._behind])
        if place != self._place:
            self._place = place
            self.choices.verdicts, self.choices.trouble = {}, ""
            self.explorer.pass_trials.stop()
            if self._timer is not None:
                self._timer.stop()
            self._timer = self.set_timer(QUIET, self._begin_trials)
        self._draw_choices()

    def _begin_trials(self) -> None:
        steps = Plan(self.plan.entries[: self._behind]).steps
        self.explorer.pass_trials.start(self.session, steps, self._tried)

    def _tried(self, found: list[Verdict], trouble: str) -> None:
        """Show the verdicts that arrived."""
        if self.is_attached:
            self.choices.verdicts.update({item.name: item for item in found})
            self.choices.trouble = trouble
            self._draw_choices()
            if self.choice:
                self._draw_remarks()

    def _draw_choices(self) -> None:
        view = self.lines("choices")
        name = view.row.node if view.row is not None else None
        found = self.choices.rows()
        here = next((n for n, row in enumerate(found) if row.node == name), view.cursor)
        view.show(found or [Row("no pass has such a name")], here)
        view.show_title(self.choices.title(self._behind))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow the list while its text is typed."""
        if event.input.id == "filter":
            self.choices.text = event.value.strip()
            self._draw_choices()

    # -- editing --------------------------------------------------------------------------------------------------

    def _edit(self, change: Callable[[Plan, int], Plan], to: int = 0) -> None:
        """Change the selected step; the cursor moves by `to`."""
        number = self.steps.cursor
        if number < len(self.plan.entries):
            self.edits.take(change(self.plan, number))
            self._draw(number + to)

    def _add(self, name: str) -> None:
        """Add a pass behind the selected step."""
        place = self._behind

        def then(typed: list[Step]) -> None:
            if self.is_attached:
                self.edits.take(self.plan.with_text(place, typed))
                self._draw(place, notice=f"{name} is step {place + 1}; i inserts what it lacks, u undoes")

        self.explorer.pipeline_control.read(
            name, then, lambda problems: self._draw(notice=problems[0].message)
        )

    def action_switch_step(self) -> None:
        if self.choice:
            self._add(self.choice)
            return
        self._edit(lambda plan, number: plan.toggled(number))

    def action_move_step(self, by: int) -> None:
        self._edit(lambda plan, number: plan.moved(number, by), by)

    def action_edit_text(self) -> None:

        number = self.steps.cursor
        stage = self.plan.stage_of(number) if number < len(self.plan.entries) else None
        if stage is None or not self._has_run(stage):
            self._draw(notice="this step has not run like this; Enter runs the pipeline")
            return

        def done(text: str | None) -> None:
            if text is not None:
                self.edits.take(self.plan.with_edit(number, text))
                self._draw(number + 1, notice="the edited text is a step of its own; Enter runs the rest")

        module = self.session.stages[stage].module
        self.app.push_screen(TextEditor.of(f"Text behind {number + 1}", module), done)

    def action_remove(self) -> None:
        self._edit(lambda plan, number: plan.without(number))

    def action_insert_missing(self) -> None:
        number = self.steps.cursor
        if number >= len(self.plan.entries):
            return
        holding = self.session.properties[0]
        lacking = self.plan.missing(number, holding)
        new = self.plan.with_missing(number, holding)
        more = len(new.entries) - len(self.plan.entries)
        name = self.plan.entries[number].step.of.name
        self.edits.take(new)
        if more:
            names = ", ".join(entry.step.of.name for entry in new.entries[number : number + more])
            self._draw(number + more, notice=f"inserted {names}; u undoes")
        elif lacking:
            self._draw(notice=f"no pass establishes {lacking[0].name}, which {name} requires")
        else:
            self._draw(notice=f"{name} lacks nothing here")

    def action_next_pane(self) -> None:
        other = "steps" if self.view.id == "choices" else "choices"
        self.set_focus(self.lines(other))
        self._notice = ""
        self._draw_remarks()

    def action_unchanged(self) -> None:
        self.choices.only_changing = not self.choices.only_changing
        self._draw_choices()
        self._draw(
            notice="only passes that would change the program" if self.choices.only_changing else "all passes"
        )

    def action_undo(self) -> None:
        self._draw(notice="undone; ctrl+r redoes" if self.edits.undo() else "nothing to undo")

    def action_redo(self) -> None:
        self._draw(notice="redone" if self.edits.redo() else "nothing to redo")

    def action_add(self) -> None:
        self._replaced = None
        self._ask("")

    def action_edit_step(self) -> None:
        number = self.steps.cursor
        if number < len(self.plan.entries):
            self._replaced = number
            self._ask(str(self.plan.entries[number].step))

    def _ask(self, text: str) -> None:
        line = self.query_one("#step", CommandInput)
        line.placeholder = "a pass: Name or Name{option=value}; Tab completes"
        line.begin(text)

    def submitted(self, event: Input.Submitted) -> None:
        """Add what was typed behind the selected step, or put it in its place. A wrong text is said, and stays."""
        if event.input.id == "filter":
            self.set_focus(self.lines("choices"))
            self._draw_remarks()
            return
        place, replaced = self._behind if self._replaced is None else self._replaced, self._replaced
        text = event.value

        def then(typed: list[Step]) -> None:
            if not self.is_attached:
                return
            self.edits.take(self.plan.with_text(place, typed, int(replaced is not None)))
            self.query_one("#step", CommandInput).remember(text)
            self.set_focus(self.steps)
            self._draw(place)

        def refused(problems: tuple[Diagnostic, ...]) -> None:
            first = problems[0]
            self._draw(notice=f"{first.message}; {first.help}" if first.help else first.message)

        self.explorer.pipeline_control.read(text, then, refused)

    def action_search(self) -> None:
        self.query_one("#filter", BarInput).begin(self.choices.text)

    # -- leaving --------------------------------------------------------------------------------------------------

    def action_copy(self) -> None:
        self.explorer.copied(self.plan.text)
        self._draw(notice=f"copied: {self.plan.text}")

    def action_copy_command(self) -> None:
        self.explorer.copied(self.command_line)
        self._draw(notice=f"copied: {self.command_line}")

    def action_run_plan(self) -> None:
        if self.choice:
            self._add(self.choice)
        else:
            self.leave(self.plan)

    def action_close(self) -> None:
        """Close the line, or leave the pipeline as it was."""
        if isinstance(self.focused, Input):
            self.set_focus(self.steps)
        elif self.view.id == "choices":
            self.action_next_pane()
        else:
            self.leave(None)


def _hints(table: Keymap, width: int) -> str:
    """The keys that fit into one line. `Y` is a key of all screens; the frame tells of Enter when there is something to run."""
    own = [key for key in keys.keys_of("pipeline", table) if key.hint and key.screens]
    shown = [f"{key.label} {key.hint}" for key in own]
    line = ""
    for hint in (*shown[:-1], "Y copy", shown[-1]):
        if len(line) + len(hint) + 3 <= width:
            line += f"{'  ' if line else ' '}{hint}"
    return line


def _step_choices(text: str) -> list[Choice]:
    return [Choice(item, item) for item in step_completions(text)]


# -- text editor -----------------------------------------------------------------------------------------------------
# A text to edit: what is wrong is told as it is typed.


HELP = " ctrl+s takes the text · Esc leaves"
WRITES = " ctrl+s opens the text, the file stays · ctrl+o writes the file and opens it · Esc"
_PAUSE = 0.3  # seconds without a change before the text is read


class TextEditor(Settling, ModalScreen["str | None"]):
    """Edits a text. ctrl+s returns it if it can be read, Esc nothing.

    ctrl+o returns any text, to be written into its file, if it has one.
    """

    BINDINGS = [  # noqa: RUF012  # as Textual declares it
        Binding("ctrl+s", "take", "Take the text", show=False, priority=True),
        Binding("ctrl+o", "write", "Write the file", show=False, priority=True),
        Binding("escape", "close", "Close", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        text: str,
        problem: Callable[[str], Diagnostic | None],
        place: tuple[int, int] = (0, 0),
        has_file: bool = False,
        remark: Callable[[str], Diagnostic | None] = lambda text: None,
    ) -> None:
        """`problem` tells why a text can't be read, `remark` what is wrong in one that can; `place` is the line and column of the
        cursor, from 0."""
        super().__init__()
        self.title_text, self.text, self.problem, self.place = title, text, problem, place
        self.has_file, self.remark = has_file, remark
        self.is_to_write = False  # was the text returned to be written?
        self._timer: Timer | None = None

    @classmethod
    def of(cls, title: str, module: IRModule) -> TextEditor:
        """Edits the text of a module. Constants keep their numbers."""
        return cls(title, edited_text(module), partial(problem_of, module=module))

    def compose(self) -> ComposeResult:
        """The text, and a line that tells the first problem."""
        with Vertical(id="text_frame"):
            yield TextArea(self.text, show_line_numbers=True, tab_behavior="indent", id="text")
            yield Static(id="text_problem", markup=False)
            yield Static(Text(WRITES if self.has_file else HELP, style="dim"), id="text_help")

    def on_mount(self) -> None:
        """Title the frame."""
        if not self.is_filled:
            return
        self.query_one("#text_frame").border_title = visible(self.title_text, 80).replace("[", "\\[")
        self.area.move_cursor(self.place, center=True)
        self.area.focus()
        if self.has_file:  # it has problems already
            self._timer = self.set_timer(_PAUSE, self._tell)

    @property
    def area(self) -> TextArea:
        """The text."""
        return self.query_one("#text", TextArea)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Read the text once nothing is typed for a moment."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PAUSE, self._tell)

    def _tell(self) -> bool:
        """Tell why the text can't be read, or what is wrong in it; True if it can be read."""
        problem = self.problem(self.area.text)
        told = problem or self.remark(self.area.text)
        place = f"line {told.span.line}: " if told is not None and told.span is not None else ""
        text = "" if told is None else f" {place}{visible(told.message, 300)}"
        shown = Text(text, no_wrap=True, overflow="ellipsis")
        self.query_one("#text_problem", Static).update(shown)
        return problem is None

    def action_take(self) -> None:
        """Return the text, if it can be read."""
        if self._tell():
            self.leave(self.area.text)
        else:
            self.app.bell()

    def action_write(self) -> None:
        """Return the text, to be written into its file."""
        if self.has_file:
            self.is_to_write = True
            self.leave(self.area.text)

    def action_close(self) -> None:
        """Leave everything as it was."""
        self.leave(None)
