"""Explains in the explorer what the command line explains: operators, passes, codes and StructInfo."""

from __future__ import annotations

import re
from textwrap import wrap

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ops import find
from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.selection import room
from relax_explorer.viz.explanations import page_of
from relax_explorer.viz.visible import visible

_CODE = re.compile(r"\bRX[0-9]{4}\b")
_INDENT = re.compile(r" *(\S+ {2,})?")


def explain(app: Controls, text: str) -> None:
    """Show the page of a name, or of what is selected."""
    subject = text or _selected(app)
    if not subject:
        app.say("explain takes a name (matmul, FuseOps, RX0203); or select an operator")
        return
    width = room(app.size.width)

    def work(job: Job) -> list[str] | str:
        try:
            lines = _joined(page_of(subject).split("\n"))
        except KeyError as error:
            return str(error.args[0])
        return [part for line in lines for part in _wrapped(visible(line, 2_000), width)]

    def done(found: list[str] | str) -> None:
        if isinstance(found, str):
            app.say(found)
        else:
            app.show_text(visible(subject, 60), found)

    app.jobs.start("checks", f"explaining {visible(subject, 60)}", work, done)


def _selected(app: Controls) -> str:
    """The code of the problem under the cursor, else the operator of the selected binding, else the pass that made the stage."""
    row, stage = app.view.row, app.state.stage
    if app.screen_name == "problems":
        view = app.view
        above = [view.rows[n].text for n in range(view.cursor, -1, -1)]
        return next((hit[0] for line in above if (hit := _CODE.search(line))), "")
    binding = app.state.selection.binding
    if app.view.id == "stages" and row is not None and stage is not None:
        return stage.made_by if stage.number else ""
    call = binding.value if binding is not None else None
    op = call.op if isinstance(call, e.Call) else None
    return op.name if isinstance(op, e.OpRef) and find(op.name) is not None else ""


def _joined(lines: list[str]) -> list[str]:
    """Paragraphs as one line each: a docstring is cut at the width of a source file. Indented lines and lists stay."""
    found: list[str] = []
    for line in lines:
        before = found[-1] if found else ""
        is_text = bool(line) and not line.startswith((" ", "* "))
        goes_on = is_text and before and not before.startswith((" ", "* ")) and not before.endswith(":")
        if goes_on:
            found[-1] = f"{before} {line}"
        else:
            found.append(line)
    return found


def _wrapped(line: str, width: int) -> list[str]:
    """A line cut at words; what follows stands below its text, and that of a program deeper."""
    hit = _INDENT.match(line)
    deeper = 4 if line.startswith("    ") else 0
    inner = " " * min(len(hit[0]) + deeper if hit is not None else 0, width // 3)
    return wrap(line, width, subsequent_indent=inner) or [""]
