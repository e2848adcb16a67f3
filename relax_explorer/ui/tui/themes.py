"""Themes for Textual, its style sheet, and the characters that a terminal may get."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

from rich.segment import Segment
from textual.cache import LRUCache
from textual.color import Color
from textual.css.model import RuleSet, SelectorType
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.filter import LineFilter
from textual.theme import Theme

from relax_explorer.ui.process import no_colors
from relax_explorer.viz.tokens import DARK, MONO, THEMES, Tokens
from relax_explorer.viz.visible import ascii_cells, visible


class _Safe(LineFilter):
    """Replaces control characters, cell by cell."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments without control characters."""
        return [item if item.text.isprintable() else _replaced(item) for item in segments]


class _Ascii(LineFilter):
    """Replaces all other characters by ASCII, cell by cell, so that every screen keeps its layout."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments in ASCII."""
        return [
            item if item.text.isascii() else Segment(ascii_cells(item.text), item.style, item.control)
            for item in segments
        ]


def _replaced(segment: Segment) -> Segment:
    text = "".join(c if visible(c) == c else "�" for c in segment.text)
    return Segment(text, segment.style, segment.control)


SAFE = _Safe()
ASCII = _Ascii()


# -- themes ----------------------------------------------------------------------------------------------------------
# The themes of `viz.tokens` for Textual.


PLAIN = "ansi_default"
# Every colour of Textual's own widgets that would otherwise be one of the sixteen. What it said is said in reverse.
_PLAIN_VARIABLES = dict.fromkeys(
    (
        "border", "muted", "ansi-background", "ansi-foreground", "border-blurred", "block-cursor-foreground", "block-cursor-background",
        "scrollbar", "scrollbar-hover", "scrollbar-active", "scrollbar-background", "scrollbar-background-hover",
        "scrollbar-background-active", "scrollbar-corner-color", "link-background-hover", "link-color", "link-color-hover",
        "footer-key-foreground", "input-selection-background", "screen-selection-background", "screen-selection-foreground",
    ), PLAIN,
) | {"block-cursor-text-style": "reverse", "input-cursor-text-style": "reverse", "row": PLAIN, "row-style": "bold reverse"}  # fmt: skip


def chosen_theme(name: str) -> Tokens:
    """The theme of an option: auto, dark, light, classic or mono."""
    if name == "auto":
        return MONO if no_colors() else DARK
    return THEMES[f"rxe-{name}"]


def textual_theme(tokens: Tokens) -> Theme:
    """A theme as Textual takes it. The mono theme leaves the terminal its own colours."""
    return Theme(
        name=tokens.name,
        primary=tokens.focus or PLAIN,
        background=tokens.ground or PLAIN,
        surface=tokens.ground or PLAIN,
        panel=tokens.panel or PLAIN,
        foreground=tokens.role("text").color or PLAIN,
        dark=tokens.dark,
        ansi=not tokens.ground,  # the colours of the terminal, not those that Textual takes for them
        variables=_PLAIN_VARIABLES
        if not tokens.ground
        else {
            "border": tokens.border,
            "muted": tokens.role("muted").color,
            "row": tokens.cursor,
            "row-style": "bold",
        },
    )


# -- style rules -----------------------------------------------------------------------------------------------------
# The style sheet of Textual, which parses again only what changed, and styles again only widgets that it may style
# differently.


_MOST = 256  # sources whose rules are kept: those of the explorer, and one for each class of widgets
_Seen = tuple[Sequence[RuleSet], object]  # the rules that styled a widget, and what they could ask about it


class StyleRules(Stylesheet):
    """Rules stay while the colours stay, and a widget keeps its styles while they and the state that they ask for stay.

    Textual parses all sources anew for each theme that is set, also for the same one, and looks for the rules of each widget
    whenever a screen is shown, a size changes or the focus moves.
    """

    def __init__(self, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(_MOST)
        self._styled: WeakKeyDictionary[DOMNode, _Seen] = WeakKeyDictionary()
        self._classes: frozenset[str] = frozenset()  # of widgets, which any rule asks for
        self._conditions: tuple[str, ...] = ()  # pseudo-classes, likewise

    def set_variables(self, variables: dict[str, str]) -> None:
        """Set colours and other variables. The same ones change nothing."""
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        """Parse what was not parsed with these variables."""
        self.parse()

    def parse(self) -> None:
        """Parse the sources. Rules are a new list only if one of them is new."""
        old = self._rules
        super().parse()
        if _are_same(old, self._rules):
            self._rules = old
            return
        sets = [selectors for rule in self._rules for selectors in rule.selector_set]
        selectors = [selector for one in sets for selector in one.selectors]
        self._classes = frozenset([item.name for item in selectors if item.type is SelectorType.CLASS])
        self._conditions = tuple(sorted({name for item in selectors for name in item.pseudo_classes}))

    def apply(self, node: DOMNode, *, animate: bool = False, cache: dict[Any, Any] | None = None) -> None:
        """Style a widget, unless no rule can tell it from what it was when it was styled last."""
        if type(node) is DOMNode:  # it stands for a part of a widget, and is new
            super().apply(node, animate=animate, cache=cache)
            return
        rules = self.rules
        state = [self._state(item) for item in node.css_path_nodes]
        seen = self._styled.get(node)
        self._styled[node] = rules, state
        if (
            seen is not None
            and seen[1] == state
            and (seen[0] is rules or _ask_the_same(node, seen[0], rules))
        ):
            node.notify_style_update()  # the colours of what is below may have changed
        else:
            super().apply(node, animate=animate, cache=cache)

    def _state(self, node: DOMNode) -> tuple[object, ...]:
        """What selectors can ask about a node itself."""
        tests: Mapping[str, Callable[[Any], bool]] = node._PSEUDO_CLASSES
        conditions = [name in tests and tests[name](node) for name in self._conditions]
        return type(node), node.id, self._classes & node.classes, *conditions


def _are_same(some: Sequence[RuleSet], others: Sequence[RuleSet]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def _ask_the_same(node: DOMNode, old: Sequence[RuleSet], new: Sequence[RuleSet]) -> bool:
    """True if the rules that can select a node are among both, for most new rules are those of one class of widgets."""
    names = node._selector_names
    some, others = (
        [rule for rule in rules if not names.isdisjoint(rule.selector_names)] for rules in (old, new)
    )
    return _are_same(some, others)
