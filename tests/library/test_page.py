"""The page of the library names all of it, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import relax_explorer as rxe

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")


def test_the_page_names_each_public_name() -> None:
    table = "\n".join(line for line in PAGE.splitlines() if line.startswith("|"))
    named = {name.partition("(")[0] for name in re.findall(r"`([\w.()]+)`", table)}
    assert named - {"module.script", "module.relax_functions", "print"} == set(rxe.__all__) - {"__version__"}


def test_the_examples_of_the_page_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    for block in blocks:
        exec(compile(block, "docs/library.md", "exec"), names)  # a page of ours
    out = capsys.readouterr().out
    assert len(blocks) == 2
    assert "the test holds after every pass" in out
    assert "<Occurrence shifted" in out
    assert "@@ main changed" in out
