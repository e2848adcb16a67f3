"""Graphs to files and to the terminal."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from relax_explorer.ui.cli import output
from relax_explorer.viz.dot import DrawError
from relax_explorer.viz.graph import Graph

_ENDINGS = {".svg": "svg", ".png": "png", ".dot": "dot", ".gv": "dot", ".txt": "unicode", ".json": "json"}


def draw(graph: Graph, path: str | None, format: str | None, engine: str) -> int:
    """Draw `graph` in a format (told by the file's name when not given; text on a terminal)."""
    kind = format or (_ENDINGS.get(Path(path).suffix.lower(), "svg") if path else "unicode")
    if kind in ("svg", "png"):
        return _picture(graph, path, kind, engine)
    texts = {
        "dot": graph.dot,
        "json": lambda: _json(graph),
        "unicode": lambda: graph.terminal(shutil.get_terminal_size().columns),
        "ascii": lambda: graph.terminal(shutil.get_terminal_size().columns, ascii=True),
    }
    output.write(texts[kind](), path)  # type: ignore[no-untyped-call]  # one of four bound methods
    return output.OK


def _picture(graph: Graph, path: str | None, kind: str, engine: str) -> int:
    try:
        picture = graph.draw(kind, engine)  # type: ignore[arg-type]  # click allowed only the engines there are
    except DrawError as error:
        click.echo(f"relax-explorer: {error}", err=True)
        return output.CANNOT
    output.write(picture.data, path)
    for note in picture.notices:
        click.echo(note, err=True)
    if path is not None:
        click.echo(
            f"{path}: {len(graph.nodes)} nodes, {len(graph.edges)} edges, laid out by {picture.engine}",
            err=True,
        )
    return output.OK


def _json(graph: Graph) -> str:
    nodes = [
        {
            "id": n.id,
            "title": n.title,
            "kind": str(n.kind),
            "lines": n.lines,
            "shape": n.shape_text,
            "cluster": n.cluster,
        }
        for n in graph.nodes
    ]
    edges = [{"source": x.source, "target": x.target, "label": x.label} for x in graph.edges]
    return output.document(
        "graph", {"title": graph.title, "nodes": nodes, "edges": edges, "notes": graph.notes}
    )
