"""Pygments' lexers and styles, made of our rules and themes: `pygmentize -l tvmscript`, Sphinx, MkDocs, IPython, and our own terminal output.

`pip` registers them by the entry points in `pyproject.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from pygments import highlight
from pygments.formatters import Terminal256Formatter, TerminalTrueColorFormatter
from pygments.lexer import RegexLexer, default
from pygments.style import Style
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Punctuation,
    String,
    Token,
    Whitespace,
    _TokenType,
)

from relax_explorer.viz.lexer import NOTATION, TVMSCRIPT, Piece, States
from relax_explorer.viz.tokens import CLASSIC, DARK, LIGHT, MONO, Tokens
from relax_explorer.viz.tokens import Token as Look

KINDS: dict[str, _TokenType] = {
    "text": Whitespace,
    "comment": Comment,
    "decorator": Name.Decorator,
    "string": String,
    "number": Number,
    "keyword": Keyword,
    "module": Name.Namespace,
    "operator": Name.Builtin,
    "type": Name.Class,
    "function": Name.Function,
    "name": Name,
    "punctuation": Punctuation,
}
"""Pygments' kind of token for each role."""
_MOST = 2_000_000  # characters: Pygments takes a second for each million


def _rules(states: States) -> dict[str, list[Any]]:
    """The rules as Pygments takes them: a state is entered from the first one, and left where its rules end or do not fit."""
    return {
        name: [
            *[(rule.pattern, KINDS[rule.role], *_step(name, rule.then)) for rule in rules],
            *([] if name == "root" else [default("#pop")]),
        ]
        for name, rules in states.items()
    }


def _step(state: str, then: str) -> Iterator[str]:
    if then != state:
        yield "#pop" if then == "root" else then


class TvmScriptLexer(RegexLexer):
    """TVMScript, the text of Relax and TIR programs."""

    name = "TVMScript"
    url = "https://tvm.apache.org"
    aliases: ClassVar = ["tvmscript", "relax"]
    filenames: ClassVar = ["*.tvmscript"]
    mimetypes: ClassVar = ["text/x-tvmscript"]
    tokens: ClassVar = _rules(TVMSCRIPT)


class RelayTypesLexer(RegexLexer):
    """Programs in the notation of Relay's types."""

    name = "Relay types"
    aliases: ClassVar = ["relay"]
    filenames: ClassVar = ["*.relay"]
    tokens: ClassVar = _rules(NOTATION)


class ShapeContractsLexer(RegexLexer):
    """Contracts on shapes."""

    name = "Shape contracts"
    aliases: ClassVar = ["shapes"]
    filenames: ClassVar = ["*.shapes"]
    tokens: ClassVar = _rules(NOTATION)


def _look(look: Look) -> str:
    parts = (
        "bold" * look.bold,
        "underline" * look.underline,
        look.color,
        f"bg:{look.ground}" * bool(look.ground),
    )
    return " ".join(part for part in parts if part) or "noinherit"


def _style(theme: Tokens, in_terminal: bool = False) -> type[Style]:
    """The style of a theme. In a terminal, plain text and the ground stay as they are."""
    plain = "noinherit" if in_terminal else _look(theme.role("text"))
    looks = {
        kind: plain if role in ("text", "name") else _look(theme.role(role)) for role, kind in KINDS.items()
    }
    body: dict[str, Any] = {"name": theme.name, "styles": {Token: plain, **looks}}
    if theme.ground and not in_terminal:
        body |= {"background_color": theme.ground, "highlight_color": theme.cursor}
    return type(theme.name.title().replace("-", ""), (Style,), body)


RxeDark, RxeLight, RxeClassic, RxeMono = [_style(theme) for theme in (DARK, LIGHT, CLASSIC, MONO)]
_LEXER = TvmScriptLexer(stripnl=False, ensurenl=False)


_ROLES = {kind: role for role, kind in KINDS.items()}


def code_pieces(text: str) -> tuple[Piece, ...]:
    """The pieces of a program, by Pygments: what pages show, which no key press waits for."""
    return tuple([(_ROLES[kind], part) for kind, part in _LEXER.get_tokens(text)])


@dataclass(frozen=True, slots=True)
class TerminalColors:
    """The colours of a terminal: a theme, and whether it has all colours or 256."""

    theme: Tokens
    all_colors: bool = False

    def code(self, text: str) -> str:
        """TVMScript with escape sequences. A very long text stays as it is."""
        if len(text) > _MOST:
            return text
        return highlight(text, _LEXER, _formatter(self))


@cache
def _formatter(colors: TerminalColors) -> Terminal256Formatter[str]:
    kind = TerminalTrueColorFormatter if colors.all_colors else Terminal256Formatter
    return kind(style=_style(colors.theme, in_terminal=True))
