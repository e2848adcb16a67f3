"""The tokens of the themes as CSS: a variable for each ground, a class for each role."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.viz.tokens import DARK, LIGHT, Token, Tokens


def variables(tokens: Tokens) -> str:
    """`--ground: #ffffff; --text: #1b1f24; …`: the colours of a theme, for use inside of a rule."""
    scheme = f"color-scheme: {'dark' if tokens.dark else 'light'};"
    return " ".join([scheme, *[f"--{name}: {color};" for name, color in _colors(tokens)]])


def role_rules(scope: str) -> str:
    """A rule for the spans of each role, below the selector `scope`."""
    return "\n".join(
        f"{scope} span.{name} {{ {' '.join(found)} }}"
        for name, token in LIGHT.roles.items()
        if (found := list(_declarations(name, token)))
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
