"""What a page tells to type happens as it shows. `pytest tests/pages --update` writes what is printed now."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import indent

import pytest

from tests.pages.snippets import ANY, Snippet, fits, missing, printed, snippets

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TRIED = [
    DOCS / "start.md",
    *sorted(path for room in ("learn", "find", "use") for path in (DOCS / room).glob("*.md")),
]


@pytest.mark.parametrize("path", TRIED, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_a_page_shows_what_happens(
    path: Path, update: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    page = path.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    wrong = []
    for snippet in snippets(page):
        if missing(snippet):
            continue
        text = printed(snippet, names)
        if snippet.shown is not None and not fits(snippet.shown.text, text):
            wrong.append((snippet, text))
    if update:
        path.write_text(_updated(page, wrong), encoding="utf-8")
        wrong = [(snippet, text) for snippet, text in wrong if _is_cut(snippet)]
    told = [f"line {snippet.line} prints\n{text}\n" for snippet, text in wrong]
    assert not told, "\n".join([*told, "and the page shows something else"])


def _is_cut(snippet: Snippet) -> bool:
    """True if a line of what the page shows was cut out by hand; then the rest is left to the hand, too."""
    return snippet.shown is not None and ANY in snippet.shown.text.split("\n")


def _updated(page: str, wrong: list[tuple[Snippet, str]]) -> str:
    """The page with what its commands print now."""
    for snippet, text in reversed(wrong):
        if snippet.shown is not None and not _is_cut(snippet):
            page = (
                page[: snippet.shown.start] + indent(text, snippet.shown.margin) + page[snippet.shown.end :]
            )
    return page


def test_a_page_that_shows_something_else_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (shown,) = snippets("```python\nprint(1)\nprint(2)\nprint(3)\n```\n\n```text\n1\n…\n3\n```\n")
    assert shown.shown is not None
    assert shown.shown.text == "1\n…\n3\n"
    assert fits(shown.shown.text, printed(shown, {}))
    assert not fits(shown.shown.text, "1\n2\n3\n4\n")
    assert not fits("1\n3\n", "1\n2\n3\n")
    assert fits("…\n3\n", "1\n3\n")


def test_what_a_page_cannot_run_is_refused() -> None:
    (wrong,) = snippets("```sh\nrm -r nothing\n```\n")
    with pytest.raises(AssertionError, match="cannot run"):
        printed(wrong, {})
    assert snippets("<!-- not run: it takes a network -->\n\n```sh\npip install x\n```\n") == []
    (python,) = snippets("<!-- needs no_such_module -->\n\n```python\nimport no_such_module\n```\n")
    assert missing(python)


def test_a_screen_without_the_text_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sample = "samples/01_tensor_program.py"
    right, wrong = snippets(
        f"<!-- keys {sample}: 2 s -> product -->\n\n<!-- keys {sample}: 2 s -> no such text -->\n"
    )
    assert printed(right, {}) == ""
    with pytest.raises(AssertionError, match="no such text"):
        printed(wrong, {})


def test_every_page_for_readers_is_tried() -> None:
    assert len(TRIED) >= 25
    assert os.sep not in TRIED[0].name
