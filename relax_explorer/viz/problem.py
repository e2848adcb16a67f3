"""A diagnostic as text: the sentence, the place with an excerpt and carets, notes and a hint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_explorer.core.diagnostics import Diagnostic, Label, Severity
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.source import Span
from relax_explorer.viz.visible import visible

if TYPE_CHECKING:  # most runs need no colours, and Pygments takes 30 ms to load
    from relax_explorer.core.session.snapshot import Snapshot
    from relax_explorer.viz.pygmented import TerminalColors

_STYLES = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.NOTE: "\x1b[1;34m"}
_BOLD, _DIM, _OFF = "\x1b[1m", "\x1b[2m", "\x1b[0m"
WIDTH = 110


def headline(diagnostic: Diagnostic, colors: TerminalColors | None = None) -> str:
    """The diagnostic in one line: place, code, sentence."""
    paint = _Paint(colors)
    span = diagnostic.span
    where = f"{visible(span.source.filename)}:{span.line}:{span.file_column}: " if span else ""
    level = paint(_STYLES[diagnostic.level], f"{diagnostic.level}[{diagnostic.code}]")
    return f"{where}{level}: {paint(_BOLD, visible(diagnostic.message, 600))}"


def render(diagnostic: Diagnostic, colors: TerminalColors | None = None) -> str:
    """The diagnostic in several lines: the headline, excerpts, notes and the hint."""
    paint = _Paint(colors)
    lines = [headline(diagnostic, colors)]
    above: Label | None = None
    digits = max(
        [len(str(label.span.line)) for label in diagnostic.labels if label.span is not None], default=0
    )
    for label in sorted(diagnostic.labels, key=lambda item: not item.primary):
        lines += _excerpt(label, paint, above, digits)
        above = label
    lines += [f"  note: {visible(note)}" for note in diagnostic.remarks]
    if diagnostic.origin:
        lines.append(f"  origin: {visible(diagnostic.origin)}")
    if diagnostic.help:
        lines.append(f"  hint: {visible(diagnostic.help, 600)}")
    return "\n".join(lines)


class _Paint:
    def __init__(self, colors: TerminalColors | None) -> None:
        self.colors = colors

    def __call__(self, style: str, text: str) -> str:
        return f"{style}{text}{_OFF}" if self.colors else text

    def code(self, text: str) -> str:
        return self.colors.code(text) if self.colors else text


def _excerpt(label: Label, paint: _Paint, above: Label | None, digits: int) -> list[str]:
    """The line of a label and its mark below; only the mark if the label `above` is on the same line. Numbers take `digits` columns."""
    span = label.span
    if span is None:
        return [f"  at {visible(_node_text(label.place))}: {visible(label.text)}".rstrip(": ")]
    text = span.source.line(span.line)
    if not text.strip():
        return []
    number = str(span.line).rjust(digits)
    start, width = span.column, _width(span, text)
    shown, start = _window(text, start)
    width = max(1, min(width, len(shown) - start))
    mark = ("^" if label.primary else "-") * width
    margin = " " * len(number)
    tail = f" {visible(label.text)}" if label.text else ""
    pad = len(visible(shown[:start], WIDTH))
    marked = f"{paint(_DIM, f'{margin} |')} {' ' * pad}{paint(_BOLD, mark)}{tail}"
    if above is not None and _same_window(above, span, text):
        return [marked]
    return [
        paint(_DIM, f"{margin} |"),
        f"{paint(_DIM, f'{number} |')} {paint.code(visible(shown, WIDTH + 2))}",
        marked,
    ]


def _same_window(above: Label, span: Span, text: str) -> bool:
    """True if the line shown last is the line of `span`, cut at the same columns."""
    last = above.span
    if last is None or last.source is not span.source or last.line != span.line:
        return False
    return _window(text, last.column)[0] == _window(text, span.column)[0]


def _width(span: Span, text: str) -> int:
    return span.end_column - span.column if span.end_line == span.line else len(text) - span.column


def _window(text: str, start: int) -> tuple[str, int]:
    """The part of a long line around column `start`, and the column in it."""
    indent = len(text) - len(text.lstrip())
    cut = max(0, min(indent, start) - 4)
    if len(text) - cut <= WIDTH:
        return text[cut:], start - cut
    left = max(cut, start - WIDTH // 3)
    return text[left : left + WIDTH], start - left


def _node_text(node: object) -> str:
    var = getattr(node, "var", None)
    return f"binding {var.name}" if var is not None else getattr(node, "name", type(node).__name__)


# -- stages of a problem ---------------------------------------------------------------------------------------------


MOST_STAGES = 8  # that are named


def stages_text(stage: Snapshot, later: Sequence[Snapshot]) -> str:
    """The stage that has a problem first, and the later ones that have it too."""
    where = f"stage {stage.label} {stage.made_by}"
    if not later:
        return where
    shown = ", ".join(str(item.label) for item in later[:MOST_STAGES])
    return f"{where}, and in {len(later)} later stage{'s' * (len(later) > 1)}: {shown}{', …' if len(later) > MOST_STAGES else ''}"


def place_in(stage: Snapshot, span: Span | None) -> tuple[int, str, e.Binding | None]:
    """The stage of a problem, and the function and binding at its line, if the text of the stage has the line."""
    if span is None:
        return stage.number, stage.entry, None
    for name, fn in stage.module.relax_functions.items():
        for binding in bindings(fn):
            own = binding.span
            if own is not None and own.source is span.source and own.line <= span.line <= own.end_line:
                return stage.number, name, binding
    lines = stage.printed.lines
    if span.line <= len(lines):
        line = lines[span.line - 1]
        node = line.node if isinstance(line.node, (e.VarBinding, e.MatchCast)) else None
        return stage.number, line.function or stage.entry, node
    return stage.number, stage.entry, None
