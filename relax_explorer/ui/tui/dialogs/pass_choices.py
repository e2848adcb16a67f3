"""The passes that a pipeline may get: which of them would change the program at a place, and the texts that complete their names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from relax_explorer.core import passes as registry
from relax_explorer.core.passes.pipeline import Verdict
from relax_explorer.core.phases.module_properties import Property
from relax_explorer.ui.tui.widgets.line_view import Row
from relax_explorer.viz.visible import visible

UNKNOWN, CHANGES, SAME, REFUSES = "·", "●", "○", "✗"


@dataclass(slots=True)
class Choices:
    """All passes with their verdicts so far. `text` narrows the list; `only_changing` hides passes that would change nothing."""

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    text: str = ""
    only_changing: bool = False
    trouble: str = ""  # why there are no verdicts

    def names(self) -> list[str]:
        """The passes of the list, in reading order."""
        near = [name for name in registry.names() if self.text.lower() in name.lower()]
        return [name for name in near if not self.only_changing or self.glyph(name) in (CHANGES, UNKNOWN)]

    def glyph(self, name: str) -> str:
        """The verdict as one character."""
        found = self.verdicts.get(name)
        if found is None:
            return UNKNOWN
        return CHANGES if found.changes else REFUSES if found.refusal else SAME

    def rows(self) -> list[Row]:
        """A row for each pass; those that would do nothing are grey."""
        return [self._row(name) for name in self.names()]

    def _row(self, name: str) -> Row:
        glyph = self.glyph(name)
        role = "text" if glyph in (CHANGES, UNKNOWN) else "muted"
        pieces = (("dimension" if glyph == CHANGES else role, f"{glyph} "), (role, name))
        return Row(f"{glyph} {name}", node=name, pieces=pieces)

    def title(self, place: int) -> str:
        """What the list shows: passes to add behind a step; how far trying them is."""
        where = f"behind {place}" if place else "add"
        if self.text:
            return f"{where} · /{visible(self.text, 12)}"
        tried, count = len(self.verdicts), len(registry.names())
        if self.trouble or tried == count:
            return f"{where} · ● would change"
        return f"{where} · tried {tried} of {count}" if tried else f"{where} · passes"

    def about(self, name: str, held: Collection[Property]) -> list[str]:
        """A pass: what it does, its contract, and its verdict."""
        found = self.verdicts.get(name)
        said = (
            f"not tried: {self.trouble}" if self.trouble and found is None
            else "not tried yet" if found is None
            else "would change the program" if found.changes
            else found.refusal or "would change nothing here"
        )  # fmt: skip
        return [*about(name, held), f"{self.glyph(name)} {said}"]


def about(name: str, held: Collection[Property]) -> list[str]:
    """A pass: what it does, its contract, its options. ✓ marks requirements that hold at the place, ✗ those that do not."""
    of = registry.get(name)
    needs = [f"{item.name} {'✓' if item in held else '✗'}" for item in of.requires]
    parts = [
        f"{word} {', '.join(items)}"
        for word, items in (
            ("requires", needs),
            ("establishes", [item.name for item in of.establishes]),
            ("breaks", [item.name for item in of.invalidates]),
        )
        if items
    ]
    options = ", ".join(f"{option.name}={option.default!r}" for option in of.options)
    parts += [f"options {options}"] if options else []
    return [f"{of.name}: {of.doc.splitlines()[0] if of.doc else ''}", " · ".join(parts)]


def step_completions(text: str) -> list[str]:
    """The texts that complete the last name: passes and pipelines; behind a brace, options of the pass."""
    head, brace, last = text.rpartition("{")
    name = head.rpartition(",")[2].strip()
    if brace and "}" not in last:
        of = registry.table().get(registry.ALIASES.get(name, name))
        found = [f"{option.name}=" for option in of.options] if of is not None else []
        return [f"{head}{{{item}" for item in found if item.startswith(last)]
    before, comma, last = text.rpartition(",")
    known = [*registry.names(), *registry.PIPELINES]
    near = [item for item in known if item.startswith(last.strip())] or [
        item for item in known if last.strip().lower() in item.lower()
    ]
    return [f"{before}{comma}{item}" for item in near]
