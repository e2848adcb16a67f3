"""Write graphs to files and to the terminal."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from relax_explorer.ui.cli import output, streams
from relax_explorer.ui.files import Target
from relax_explorer.viz.dot import DrawError
from relax_explorer.viz.drawing import Drawing

_ENDINGS = {
    ".svg": "svg",
    ".png": "png",
    ".dot": "dot",
    ".gv": "dot",
    ".txt": "unicode",
    ".json": "json",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
}


def draw(graph: Drawing, target: Target, format: str | None, engine: str) -> int:
    """Draw `graph` in `format`. Without one, the file's extension decides; a terminal gets text."""
    is_view = target.name is None and streams.is_ascii()
    style = format or (_style_of(target.name) if target.name else "unicode")
    if style in ("svg", "png"):
        return _picture(graph, target, style, engine)
    style = "ascii" if is_view and style == "unicode" else style
    texts = {
        "dot": graph.dot,
        "mermaid": graph.mermaid,
        "json": lambda: _json(graph),
        "unicode": lambda: graph.terminal(shutil.get_terminal_size().columns),
        "ascii": lambda: graph.terminal(shutil.get_terminal_size().columns, ascii=True),
    }
    output.write(texts[style](), target)  # type: ignore[no-untyped-call]  # one of five bound methods
    return output.OK


def check(target: Target, format: str | None) -> None:
    """Refuse a file whose ending tells no format, before the work begins."""
    if format is None and target.name:
        _style_of(target.name)


def _style_of(name: str) -> str:
    """The format that the ending of a file tells; that of a file without one is SVG."""
    ending = Path(name).suffix.lower()
    if ending and ending not in _ENDINGS:
        known = ", ".join(_ENDINGS)
        raise click.UsageError(f"-o {name}: no format has the ending {ending}; it takes {known}, or --format")
    return _ENDINGS.get(ending, "svg")


def _picture(graph: Drawing, target: Target, style: str, engine: str) -> int:
    try:
        picture = graph.draw(style, engine)  # type: ignore[arg-type]  # click allowed only the engines there are
    except DrawError as error:
        output.say(f"relax-explorer: {error}", err=True)
        return output.CANNOT
    output.write(picture.data, target)
    for note in picture.notices:
        output.say(note, err=True)
    if target.name is not None:
        output.say(
            f"{target.name}: {len(graph.nodes)} nodes, {len(graph.edges)} edges, laid out by {picture.engine}",
            err=True,
        )
    return output.OK


def _json(graph: Drawing) -> str:
    return output.document("graph", graph.data())
