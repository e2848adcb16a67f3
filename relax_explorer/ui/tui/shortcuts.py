"""What the explorer does in place of Textual, in shorter ways, with names that Textual keeps to itself.

Another version of Textual may lack one of them, or give it another signature. They are asked for once, before the first screen: what
lacks a name is left to Textual, which shows the same and takes longer. `docs/textual.md` has the figures.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from operator import is_
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from textual.app import App
from textual.cache import LRUCache
from textual.command import CommandList, CommandPalette
from textual.css.model import RuleSet, SelectorType
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

from relax_explorer.ui.tui import keys

if TYPE_CHECKING:
    from textual._compositor import ChopsUpdate, Compositor
else:
    try:
        from textual._compositor import ChopsUpdate, Compositor
    except ImportError:  # then there is no painter
        ChopsUpdate, Compositor = None, object

# -- names -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Name:
    """A name of Textual: a method with its parameters, or anything else that the class or its objects have."""

    owner: type
    name: str
    parameters: str | None = None

    @property
    def is_there(self) -> bool:
        """True if Textual has the name, and calls it as we do."""
        found = getattr(self.owner, self.name, None)
        if self.parameters is not None:
            return callable(found) and " ".join(inspect.signature(found).parameters) == self.parameters
        made = [vars(base)["__init__"] for base in self.owner.__mro__ if "__init__" in vars(base)]
        return found is not None or any(self.name in _names(init) for init in made)


def _names(function: object) -> tuple[str, ...]:
    """The names that the text of a function mentions; an attribute that an object gets when it is made is among them."""
    code = getattr(function, "__code__", None)
    return () if code is None else code.co_names


NEEDED: Mapping[str, tuple[Name, ...]] = {
    "painter": (
        Name(Screen, "_compositor"),
        Name(Widget, "_repaint_regions"),
        Name(Compositor, "_dirty_regions"),
        Name(Compositor, "_regions_to_spans", "regions"),
        Name(Compositor, "_render_chops", "self crop is_rendered_line"),
        Name(Compositor, "cuts"),
        Name(Compositor, "render_partial_update", "self"),
        Name(Compositor, "update_widgets", "self widgets"),
        Name(Compositor, "visible_widgets"),
    ),
    "bar": (Name(Widget, "_vertical_scrollbar"), Name(App, "_start_widget", "self parent widget")),
    "rows": (
        Name(Widget, "_scroll_update", "self virtual_size"),
        Name(Widget, "set_reactive", "self reactive value"),
    ),
    "styles": (
        Name(DOMNode, "_PSEUDO_CLASSES"),
        Name(DOMNode, "_selector_names"),
        Name(Stylesheet, "_parse_cache"),
        Name(Stylesheet, "_rules"),
        Name(Stylesheet, "_variables"),
        Name(Stylesheet, "apply", "self node animate cache"),
        Name(Stylesheet, "parse", "self"),
        Name(Stylesheet, "reparse", "self"),
        Name(Stylesheet, "set_variables", "self variables"),
    ),
    "keys": (Name(Screen, "_bindings"),),
}
"""What each shortcut needs."""


@cache
def usable() -> frozenset[str]:
    """The shortcuts whose names Textual has."""
    return frozenset([part for part, names in NEEDED.items() if all(name.is_there for name in names)])


# -- painter ---------------------------------------------------------------------------------------------------------
# What a screen draws again after a change: only the rows that changed, and only widgets that no other one hides.


def take_painter(screen: Screen[object]) -> None:
    """Draw a new screen in the shorter way."""
    if "painter" in usable():
        screen._compositor = Painter()


_Cells = dict[int, Strip | None]  # what a row shows from a column on, up to the next column


class Painter(Compositor):
    """A compositor of Textual that asks widgets for fewer rows.

    Textual asks each widget near a change for all of its rows, also containers below it, of which nothing is seen.
    Most of the time between a key and its picture was spent there.
    """

    def update_widgets(self, widgets: set[Widget]) -> None:
        """Draw some widgets in the next picture, and with them all that wait to tell that they changed: one picture, not two."""
        super().update_widgets(
            widgets | {widget for widget in self.visible_widgets if widget._repaint_regions}
        )

    def render_partial_update(self) -> ChopsUpdate | None:
        """What changed since the last picture."""
        spans = list(self._regions_to_spans(self._dirty_regions))
        self._dirty_regions.clear()
        wanted: dict[int, list[tuple[int, int]]] = {}
        for y, start, end in spans:
            if y < self.size.height:
                wanted.setdefault(y, []).append((start, end))
        spans = [span for span in spans if span[0] in wanted]
        return ChopsUpdate(self._chops(wanted), spans, [row[1:] for row in self.cuts]) if spans else None

    def _render_chops(
        self, crop: Region, is_rendered_line: Callable[[int], bool]
    ) -> Sequence[Mapping[int, Strip]]:
        whole = [(0, self.size.width)]
        chops = self._chops({y: whole for y in crop.line_range if is_rendered_line(y)})
        return cast("Sequence[Mapping[int, Strip]]", chops)  # all of these rows are wanted

    def _chops(self, wanted: Mapping[int, list[tuple[int, int]]]) -> Sequence[Mapping[int, Strip | None]]:
        """The cells of the screen, None where they are not wanted. `wanted` has the columns by rows."""
        cuts = self.cuts
        screen: list[_Cells] = [dict.fromkeys(row[:-1]) for row in cuts]
        unseen = {
            y: [
                cell
                for cell in pairwise(cuts[y])
                if any(cell[0] < end and cell[1] > start for start, end in spans)
            ]
            for y, spans in wanted.items()
        }
        for widget, (region, clip) in self.visible_widgets.items():  # those in front come first
            left, top, width, height = area = region.intersection(clip)
            right, bottom = left + width, top + height
            gaps: list[tuple[int, list[tuple[int, int]]]] = []  # rows in which the widget is seen, and where
            for y, cells in unseen.items():
                if cells and top <= y < bottom:
                    seen = [cell for cell in cells if left <= cell[0] and cell[1] <= right]
                    if seen:
                        gaps.append((y, seen))
                        unseen[y] = [cell for cell in cells if cell not in seen]
            if gaps:
                first, last = gaps[0][0], gaps[-1][0] + 1
                strips = widget.render_lines(
                    Region(left - region.x, first - region.y, area.width, last - first)
                )
                for y, seen in gaps:
                    row, strip = screen[y], strips[y - first]
                    for start, end in seen:
                        row[start] = strip.crop(start - left, end - left)
        return screen


# -- style rules -----------------------------------------------------------------------------------------------------
# The style sheet of Textual, which parses again only what changed, and styles again only widgets that it may style
# differently.


def take_style_rules(app: App[int]) -> None:
    """Style the widgets of a new app in the shorter way."""
    if "styles" in usable():
        app.stylesheet = StyleRules(app.get_css_variables())


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


# -- lines -----------------------------------------------------------------------------------------------------------


def take_bar(view: Widget, bar: Callable[[], ScrollBar]) -> None:
    """Give a view its vertical scrollbar, before Textual makes one of its own."""
    if "bar" in usable() and view._vertical_scrollbar is None:
        own = bar()
        own.display = False
        view._vertical_scrollbar = own
        view.app._start_widget(view, own)


def resize_content(view: ScrollView, size: Size) -> None:
    """Tell a view how large its content is. Only a new scrollbar changes the layout; Textual makes a layout for each size."""
    if "rows" in usable():
        view.set_reactive(ScrollView.virtual_size, size)
        view._scroll_update(size)
    else:
        view.virtual_size = size


# -- keys ------------------------------------------------------------------------------------------------------------


def take_keys(screen: Screen[object], name: str, keymap: keys.Keymap) -> None:
    """Give a screen the keys of the user. It keeps those of the project if Textual does not let it."""
    if "keys" in usable():
        screen._bindings = keys.with_table(screen._bindings, name, keymap)


# -- palette ---------------------------------------------------------------------------------------------------------


class LatePalette(CommandPalette):
    """The palette of Textual, whose search may end when it has lost its list. Without these names nothing calls the methods."""

    def _watch__list_visible(self) -> None:
        if self.query(CommandList):
            super()._watch__list_visible()

    async def _watch__show_busy(self) -> None:
        if self.query(CommandList):
            await super()._watch__show_busy()
