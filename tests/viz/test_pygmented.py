"""Pygments' lexers say what our own highlighting says, and pip finds them and the styles."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.styles import get_style_by_name
from pygments.token import Error

from relax_explorer.viz.lexer import LIMIT, highlight
from relax_explorer.viz.pygmented import KINDS, TerminalColors, code_pieces
from relax_explorer.viz.tokens import DARK, LIGHT, MONO, THEMES, Tokens
from tests.support.corpus import MODELS, Model

ROOT = Path(__file__).resolve().parents[2]
_NOTATIONS = [*sorted(ROOT.glob("samples/*/*.relay")), *sorted(ROOT.glob("samples/*/*.shapes"))]


def _by_lines(text: str) -> list[tuple[str, str]]:
    """The pieces of all lines; blanks are one piece with the ends of lines around them."""
    pieces = [piece for line in text.splitlines(keepends=True) for piece in highlight(line)]
    return _joined(pieces)


def _joined(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    joined: list[tuple[str, str]] = []
    for role, text in pieces:
        if role == "text" and joined and joined[-1][0] == "text":
            text = joined.pop()[1] + text
        joined.append((role, text))
    return joined


def _differing(paths: Iterable[Path]) -> list[str]:
    """The files of which both paths do not say the same, token by token. Longer lines have no colours when a key draws them."""
    texts = {
        str(path): "".join(
            [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if len(line) < LIMIT]
        )
        for path in paths
    }
    return [path for path, text in texts.items() if _joined([*code_pieces(text)]) != _by_lines(text)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_both_say_the_same_of_every_token(model: Model) -> None:
    assert _differing(model.stages[::4]) == []


@pytest.mark.parametrize(
    "folder", ["samples", "tests/data/imported", "tests/data/cases", "tests/data/kv_cache"]
)
def test_both_say_the_same_of_other_programs(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    assert _differing(paths) == []


def test_the_ends_of_dotted_names_are_the_same() -> None:
    text = "R.\nadd R .add cls.f.g(T.int64) R.1e-5 I.ir_module R.If if R.if\nx.R.y cls. # R.add\n'R.add\\'' R\n@R.f T"
    assert _joined([*code_pieces(text)]) == _by_lines(text)


@pytest.mark.parametrize("name", ["tvmscript", "relax", "relay", "shapes"])
def test_pip_finds_the_lexers(name: str) -> None:
    assert get_lexer_by_name(name).__class__.__module__ == "relax_explorer.viz.pygmented"


@pytest.mark.parametrize("path", _NOTATIONS, ids=lambda path: path.name)
def test_the_notations_have_their_tokens(path: Path) -> None:
    lexer = get_lexer_for_filename(path.name, stripnl=False, ensurenl=False)
    text = path.read_text(encoding="utf-8")
    tokens = list(lexer.get_tokens(text))
    assert "".join(part for _, part in tokens) == text
    assert Error not in {kind for kind, _ in tokens}
    assert {KINDS["keyword"], KINDS["type"], KINDS["comment"], KINDS["function"]} <= {
        kind for kind, _ in tokens
    }


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_a_style_has_the_colours_of_its_theme(theme: Tokens) -> None:
    style = get_style_by_name(theme.name)
    for role, kind in KINDS.items():
        look = theme.role(role)
        found = style.style_for_token(kind)
        assert (f"#{found['color']}" if found["color"] else "", found["bold"]) == (look.color, look.bold), (
            role
        )
    assert HtmlFormatter(style=style).get_style_defs()


def test_a_terminal_keeps_its_own_colour_for_plain_text() -> None:
    line = "y = R.add(x)"
    colored = TerminalColors(DARK, all_colors=True).code(line)
    assert colored.startswith("y ")
    assert "\x1b[38;2;86;180;233madd\x1b[39m" in colored  # the colour of operators
    assert TerminalColors(LIGHT).code(line) != TerminalColors(DARK).code(line)
    assert TerminalColors(MONO).code(line) == line
