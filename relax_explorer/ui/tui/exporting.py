"""Files to take away: the screen as SVG, HTML, JSON, text or Mermaid, and the session as a report. Each is written by a job."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from relax_explorer import __version__
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.one_run import BindingTimes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.run_log import RunLog, logged
from relax_explorer.core.session.samples import start_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.files import CannotWrite, target
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.pictures import graph_of, graphed_function
from relax_explorer.ui.tui.run_control import RunControl
from relax_explorer.viz.report import Pane, html_page, panes_page, panes_text
from relax_explorer.viz.solving import Solving
from relax_explorer.viz.visible import visible, visible_json

ENDINGS = {"svg": ".svg", "html": ".html", "json": ".json", "text": ".txt", "mermaid": ".mmd"}
_USAGE = f"export takes {', '.join(ENDINGS)}; or a file with such an ending"


class Exports:
    """The jobs that write files. The run that a report records can be cancelled."""

    def __init__(self, app: Host, run: RunControl) -> None:
        self.app, self.run = app, run
        self.interrupt = Interrupt()

    def cancel(self) -> None:
        """Cancel what runs."""
        self.interrupt.cancel()

    def export(self, text: str) -> None:
        """Write what the screen shows; `text` is a format, a file, or both."""
        state = self.app.state
        style, name = _asked(text)
        if not style:
            self.app.say(_USAGE)
        elif state.solving is not None:
            self._export_steps(state.solving, state.step, style, name)
        elif state.session is None or state.stage is None:
            self.app.say("no program is open")
        else:
            stem = f"{Path(state.path or 'program').stem}-{self.app.screen_name}-{state.stage.label}"
            made = self._maker(style)
            self._write(name or stem + ENDINGS[style], f"writing {style}", lambda: (made(), ""))

    def _export_steps(self, solving: Solving, step: int, style: str, name: str) -> None:
        """Write the steps of a solver: all as JSON, or the panes of the present one."""
        if style in ("svg", "mermaid"):
            self.app.say("type relations and shape contracts have no graph; export html, json or text")
            return
        shown, title = self.app.shown_panes(), f"{Path(solving.path).name} · step {step}"

        def made() -> tuple[str, str]:
            if style == "json":
                return _document(solving.schema, solving.data()), ""
            return _panes(style, title, shown), ""

        self._write(
            name or f"{Path(solving.path).stem}-solver-{step}{ENDINGS[style]}", f"writing {style}", made
        )

    def _maker(self, style: str) -> Callable[[], str]:
        """The function that makes the text of a format. It runs in a job, so it reads no widget."""
        state, screen = self.app.state, self.app.screen_name
        session, stage = state.opened
        if style in ("svg", "mermaid"):
            return lambda: graph_of(state, None).svg() if style == "svg" else graph_of(state, None).mermaid()
        if screen == "graph":
            makers: dict[str, Callable[[], str]] = {
                "html": lambda: _graph_page(graph_of(state, None).title, graph_of(state, None).svg()),
                "json": lambda: _document("graph", graph_of(state, None).data()),
                "text": lambda: graph_of(state, None).terminal(200) + "\n",
            }
            return makers[style]
        if style == "json":
            return lambda: _document("stage", _stage_data(session, stage))
        shown = self.app.shown_panes()
        title = f"{Path(state.path).name} · {screen.title()} · stage {stage.label} {stage.made_by}"
        return lambda: _panes(style, title, shown)

    def report(self, text: str) -> None:
        """Write the whole session as one page, with a run of the first stage if it runs; or all steps of a solver."""
        session, solving = self.app.state.session, self.app.state.solving
        if solving is not None:
            from relax_explorer.viz.solving_report import solving_report

            name = text or f"{Path(solving.path).stem}-report.html"
            self._write(name, "writing the report", lambda: (solving_report(solving), ""))
            return
        if session is None:
            self.app.say("no program is open")
            return
        self.interrupt = interrupt = Interrupt()
        name = self.run.call.function or session.stages[0].entry
        given = self.run.given(name)

        def made() -> tuple[str, str]:
            from relax_explorer.viz.report import report

            log, remark = _log(session, name, given, interrupt)
            left = session.total + 1 - len(session.stages)
            return report(session, log), f"{remark}; {left} passes had not run" if left > 0 else remark

        self._write(
            text or f"{Path(session.filename or 'program').stem}-report.html", "writing the report", made
        )

    def graph(self, times: BindingTimes | None) -> None:
        """Write the graph as SVG into the folder where the explorer was started."""
        state = self.app.state
        if state.session is None:
            return

        def made() -> tuple[bytes, str]:
            picture = graph_of(state, times).draw("svg")
            return picture.data, f", laid out by {picture.engine}"

        shown = "calls" if state.options.calls else graphed_function(state)
        name = f"{Path(state.path or 'graph').stem}-{shown}-{state.selection.stage}.svg"
        self._write(name, "drawing the SVG", made)

    def _write(self, name: str, what: str, made: Callable[[], tuple[str | bytes, str]]) -> None:
        """Write a file in a job, unless a recording asks for it: who recorded it may be a stranger."""
        if said := self.app.permit.to_write(name):
            self.app.say(said)
            return
        if not name.isprintable():
            self.app.say(f"a file name has no control characters: {visible(name, 60)}")
            return

        def work(job: Job) -> str:
            try:
                goal = target(str(Path(name).expanduser()))
                if goal.name is None:
                    return "a file is written, not standard output"
                content, remark = made()
                data = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
                goal.write(data)
            except CannotWrite as error:
                return str(error)
            return f"wrote {goal.name}{remark}"

        self.app.jobs.start("export", what, work, self.app.say)


def _asked(text: str) -> tuple[str, str]:
    """The format and the file of `svg`, `svg a.svg` or `a.svg`. Empty for what is missing or unknown."""
    word, _, rest = text.strip().partition(" ")
    if word in ENDINGS:
        return word, rest.strip()
    ending = Path(text.strip()).suffix.lower()
    known = {own: style for style, own in ENDINGS.items()} | {".mermaid": "mermaid", ".htm": "html"}
    return known.get(ending, ""), text.strip()


def _panes(style: str, title: str, shown: Sequence[Pane]) -> str:
    """Panes as HTML or text."""
    return panes_page(title, shown) if style == "html" else panes_text(shown)


def _graph_page(title: str, svg: str) -> str:
    data = base64.b64encode(svg.encode()).decode()
    alt = escape(f"dataflow graph of {visible(title)}")
    return html_page(title, f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}">')


def _document(schema: str, content: dict[str, object]) -> str:
    head = {"tool": "relax-explorer", "version": __version__, "schema": f"rxe.{schema}/1"}
    return visible_json({**head, **content}, 2) + "\n"


def _stage_data(session: Session, stage: Snapshot) -> dict[str, object]:
    """A stage: its program, what it changed, and its problems."""
    stat = session.diff(stage.number - 1, stage.number).stat if stage.number else {}
    return {
        "file": session.filename, "stage": stage.label, "pass": stage.made_by, "phase": stage.phase, "changed": stage.changed, "stat": stat,
        "functions": list(stage.module.functions), "text": stage.text or stage.module.script(),
        "problems": [problem.to_json() for problem in stage.located],
    }  # fmt: skip


def _log(session: Session, name: str, given: CallInputs, interrupt: Interrupt) -> tuple[RunLog | None, str]:
    """A run of the first stage, or why there is none."""
    module = session.stages[0].module
    if not given.calls and type(module.functions.get(name)) is not e.Function:
        return None, ""
    try:
        start = start_of(module, name, given)
        debugger = Debugger(start.module, start.name, start.args, session.cache, interrupt, private=True)
        return logged(debugger, start.note), ""
    except Failure as failure:
        return None, f"; no run: {failure.diagnostics[0].message}"
