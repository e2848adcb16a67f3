"""The ending of a file chooses the format of a graph; an unknown one is refused before anything is drawn or written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relax_explorer.ui.cli.graphing import _ENDINGS
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import SAMPLES

PROGRAM = str(SAMPLES[0])
STARTS = {
    "svg": b"<svg",
    "png": b"\x89PNG",
    "dot": b"digraph",
    "json": b"{",
    "mermaid": b"flowchart",
    "unicode": "┌".encode(),
}


@pytest.mark.parametrize("ending", [*_ENDINGS, ".MERMAID", ""])
def test_a_known_ending_chooses_its_format(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"g{ending}"
    assert rxe_cli("graph", PROGRAM, "-o", str(file)).exit_code == 0
    assert STARTS[_ENDINGS.get(ending.lower(), "svg")] in file.read_bytes()


@pytest.mark.parametrize("ending", [".pdf", ".html", ".md", ".py", ".mermaid2", ".svg.gz", ".jpeg"])
def test_an_unknown_ending_is_refused_with_those_that_are_known(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"g{ending}"
    done = rxe_cli("graph", PROGRAM, "-o", str(file))
    assert (done.exit_code, file.exists()) == (2, False)
    assert all(item in done.output for item in (".svg", ".mermaid", "--format"))
    assert rxe_cli("graph", PROGRAM, "-o", str(file), "--format", "json").exit_code == 0
    assert json.loads(file.read_text())
