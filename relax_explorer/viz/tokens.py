"""The colours of the terminal by meaning: four themes, each with the same tokens. Views name tokens, never colours.

Every text token has a contrast of at least 4.5:1 on the ground and on the cursor row (WCAG 2.1, 1.4.3; tests/viz/test_tokens.py). The
hues follow Okabe and Ito (2008). A glyph repeats what a colour says, so that the mono theme loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Token:
    """The look of one meaning. An empty colour is that of the terminal."""

    color: str = ""
    ground: str = ""
    bold: bool = False
    dim: bool = False
    underline: bool = False
    strike: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """A theme: its grounds, and the look of each role of a piece, glyph or label."""

    name: str
    dark: bool
    ground: str
    panel: str
    cursor: str
    border: str
    focus: str
    roles: Mapping[str, Token] = field(default_factory=dict)

    def role(self, name: str) -> Token:
        """The look of a role. An unknown role looks like plain text."""
        return self.roles.get(name, self.roles["text"])


GLYPH_ROLES: Mapping[str, str] = {
    "+": "added",
    "-": "removed",
    "~": "new",
    "⊞": "added",
    "⊟": "new",
    "≠": "breakpoint",
    "t": "dimension",
    "k": "muted",
    ">": "muted",
    "▶": "now",
    "✓": "muted",
    "·": "muted",
    "●": "breakpoint",
    "◆": "breakpoint",
    "○": "breakpoint",
    "✗": "breakpoint",
    "*": "new",
}
"""The roles of the glyphs in gutters."""


def _roles(colors: Mapping[str, str], added: str, removed: str) -> dict[str, Token]:
    """The roles from the colours of the table; `added` and `removed` are grounds."""
    plain = {name: Token(color) for name, color in colors.items()}
    return plain | {
        "number": plain["muted"],
        "punctuation": plain["muted"],
        "module": plain["muted"],
        "comment": plain["muted"],
        "attribute": plain["muted"],
        "keyword": Token(colors["call"]),
        "decorator": Token(colors["call"]),
        "string": Token(colors["reduce"]),
        "type": plain["dimension"],
        "operator": Token(colors["matmul"]),
        "function": Token(colors["text"], bold=True),
        "var": plain["text"],
        "name": plain["text"],
        "other": plain["text"],
        "added": Token(colors["added"], added, bold=True),
        "removed": Token(colors["removed"], removed, bold=True),
        "old": Token(colors["muted"], strike=True),
        "new": Token(colors["call"], underline=True, bold=True),
        "now": Token(colors["memory"], bold=True),
        "breakpoint": Token(colors["effect"], bold=True),
        "nan": Token(colors["effect"], bold=True),
        "title": Token(colors["text"], bold=True),
    }


_DARK_COLORS = {
    "text": "#d7dce2", "muted": "#8f9ba9", "dimension": "#7fb8a4", "matmul": "#56b4e9", "elementwise": "#35b18c", "reduce": "#e69f00",
    "shape": "#a7b3c0", "call": "#d58fb5", "memory": "#f0e442", "effect": "#ff7a45", "added": "#7cc4f0", "removed": "#f0b040",
}  # fmt: skip
_LIGHT_COLORS = {
    "text": "#1b1f24", "muted": "#5b6672", "dimension": "#2f6b57", "matmul": "#005f96", "elementwise": "#00694d", "reduce": "#8a5a00",
    "shape": "#4f5b67", "call": "#8d3f6c", "memory": "#6b6400", "effect": "#a84600", "added": "#005f96", "removed": "#8a5a00",
}  # fmt: skip

DARK = Tokens(
    "rxe-dark",
    True,
    "#101418",
    "#161b21",
    "#22303f",
    "#39424e",
    "#56b4e9",
    _roles(_DARK_COLORS, "#0f2a3d", "#35260c"),
)
LIGHT = Tokens(
    "rxe-light",
    False,
    "#ffffff",
    "#f4f6f8",
    "#dcebf7",
    "#c8d0d8",
    "#0072b2",
    _roles(_LIGHT_COLORS, "#e2f1fb", "#fdf1dc"),
)
CLASSIC = Tokens(
    "rxe-classic", True, DARK.ground, DARK.panel, DARK.cursor, DARK.border, DARK.focus,
    _roles(_DARK_COLORS | {"added": "#7ee787", "removed": "#ff9d96"}, "#0f2d1a", "#3d1517"),
)  # fmt: skip
MONO = Tokens(
    "rxe-mono", True, "", "", "", "", "",
    {
        "text": Token(), "muted": Token(dim=True), "number": Token(dim=True), "attribute": Token(dim=True), "punctuation": Token(dim=True),
        "added": Token(bold=True), "removed": Token(dim=True), "old": Token(dim=True, strike=True), "new": Token(underline=True),
        "now": Token(bold=True), "breakpoint": Token(bold=True), "nan": Token(bold=True), "title": Token(bold=True),
        "function": Token(bold=True), "comment": Token(dim=True),
    },
)  # fmt: skip
THEMES: Mapping[str, Tokens] = {theme.name: theme for theme in (DARK, LIGHT, CLASSIC, MONO)}


# -- theme css -------------------------------------------------------------------------------------------------------
# The tokens of the themes as CSS: a variable for each ground, a class for each role.


def variables(tokens: Tokens) -> str:
    """`--ground: #ffffff; --text: #1b1f24; …`: the colours of a theme, for use inside of a rule."""
    scheme = f"color-scheme: {'dark' if tokens.dark else 'light'};"
    return " ".join([scheme, *[f"--{name}: {color};" for name, color in _colors(tokens)]])


ELEMENTS = {"muted": "i", "dimension": "em"}
"""The elements that stand for spans of frequent roles: a page of many rows is a third shorter."""


def role_rules(scope: str) -> str:
    """A rule for the spans of each role, below the selector `scope`, and for the elements that stand for some."""
    rules = [
        f"{scope} {selector} {{ {' '.join(found)} }}"
        for name, token in LIGHT.roles.items()
        if (found := list(_declarations(name, token)))
        for selector in (f"span.{name}", *([ELEMENTS[name]] if name in ELEMENTS else []))
    ]
    return "\n".join(
        [*(f"{scope} {element} {{ font-style: normal; }}" for element in ELEMENTS.values()), *rules]
    )


def _colors(tokens: Tokens) -> Iterator[tuple[str, str]]:
    yield from (("ground", tokens.ground), ("panel", tokens.panel), ("cursor", tokens.cursor))
    yield from (("border", tokens.border), ("focus", tokens.focus))
    for name, token in tokens.roles.items():
        yield name, token.color
        if token.ground:
            yield f"{name}-ground", token.ground


def _declarations(name: str, token: Token) -> Iterator[str]:
    if name not in ("text", "var", "name", "other"):  # these look like the text around them
        yield f"color: var(--{name});"
    if token.ground:
        yield f"background: var(--{name}-ground);"
    if token.bold:
        yield "font-weight: 600;"
    if token.underline or token.strike:
        yield f"text-decoration: {'underline' if token.underline else 'line-through'};"


def notebook_theme(scope: str) -> str:
    """The variables below `scope`: light or dark as the reader's system, unless the page of the notebook says which.

    JupyterLab, VS Code and Colab mark their pages.
    """
    light, dark = variables(LIGHT), variables(DARK)
    marked_light = f'[data-jp-theme-light="true"] {scope}, .vscode-light {scope}, html[theme="light"] {scope}'
    marked_dark = f'[data-jp-theme-light="false"] {scope}, .vscode-dark {scope}, html[theme="dark"] {scope}'
    return (
        f"{scope} {{ {light} }}\n@media (prefers-color-scheme: dark) {{ {scope} {{ {dark} }} }}\n"
        f"{marked_light} {{ {light} }}\n{marked_dark} {{ {dark} }}"
    )


# -- gutter ----------------------------------------------------------------------------------------------------------
# What the marks at the left of lines mean, screen by screen.


Marks = tuple[tuple[str, str], ...]

MARKS: Mapping[str, Marks] = {
    "passes": (
        ("+", "added by the stage"),
        ("-", "removed by it: the line of the stage before"),
        ("~", "changed: the old piece, then the new one"),
        ("~›", "at the right: more changed there, l scrolls to it"),
        ("⊞", "several values became this one"),
        ("⊟", "this value became several bindings"),
        ("t", "only its StructInfo changed"),
        ("k", "only its kind changed: DataflowVar or Var"),
        (">", "moved"),
    ),
    "source": (
        ("✗", "an error is in the line; what is wrong stands below it"),
        ("*", "a warning is"),
    ),
    "debug": (
        ("▶", "the next binding"),
        ("✓", "done in this call"),
        ("·", "not done yet"),
        ("●", "breakpoint"),
        ("◆", "breakpoint with a condition"),
        ("○", "breakpoint that is turned off"),
    ),
    "compare": (
        ("=", "equal values"),
        ("≠", "values that differ"),
        ("a", "a value that only A has"),
        ("b", "a value that only B has"),
        ("?", "a value that was not kept"),
    ),
    "ranks": (
        ("=", "the ranks make the value of the undivided program, or have the same value"),
        ("≠", "they do not"),
        ("?", "a value that the undivided program does not have"),
    ),
    "checks": (
        ("✓", "proved"),
        ("·", "left to the run"),
        ("✗", "fails in every run"),
    ),
}
