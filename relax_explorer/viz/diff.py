"""Differences of two modules as lines: what was added, removed, changed, retyped, renamed or moved, binding by binding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from relax_explorer.core.session.align import FunctionDiff, Group, ModuleDiff, Pair, Unit
from relax_explorer.core.syntax.dialects import NEW
from relax_explorer.core.syntax.doc import Line
from relax_explorer.core.syntax.names import Names
from relax_explorer.core.syntax.printer import FunctionPrinter
from relax_explorer.core.syntax.printer_expr import Constants, ExprText

GLYPHS = {
    "added": "+",
    "removed": "-",
    "changed": "~",
    "type": "t",
    "kind": "k",
    "renamed": "r",
    "moved": ">",
    "same": " ",
}
GROUP_GLYPHS = {"merged": "⊞", "split": "⊟"}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a difference: its kind, its text, and the binding or statement shown.

    `note` tells what its value was merged or split from. `is_old` marks a node of the old module: a removed one, or the first line of a change.
    """

    kind: str
    text: str
    binding: Any = None
    is_old: bool = False
    note: str = ""

    @property
    def glyph(self) -> str:
        """One character for the kind, readable without colour."""
        return "-" if self.is_old else "+" if self.kind == "changed" else GLYPHS[self.kind]


def lines(diff: ModuleDiff, context: int = 3) -> Iterator[DiffLine]:
    """The differences, with `context` unchanged bindings around each; unchanged functions give no lines."""
    for fn in diff.functions:
        if fn.status != "same":
            yield DiffLine("same", _title(fn))
            yield from _function(fn, context)


def _title(fn: FunctionDiff) -> str:
    counts = " ".join(
        f"{GLYPHS[kind]}{fn.count(kind)}" for kind in GLYPHS if kind != "same" and fn.count(kind)
    )
    return f"@@ {fn.name} {fn.status}{' ' + counts if counts else ''} @@"


def _function(fn: FunctionDiff, context: int) -> Iterator[DiffLine]:
    old, new = _Text(), _Text()
    near = _near([pair.kind in ("same", "renamed") for pair in fn.pairs], context)
    skipped = 0
    for pair, shown in zip(fn.pairs, near, strict=True):
        if not shown:
            skipped += 1
            continue
        if skipped:
            yield DiffLine("same", f"  … {skipped} unchanged")
            skipped = 0
        yield from _pair(fn, pair, old, new)
    if skipped:
        yield DiffLine("same", f"  … {skipped} unchanged")


def _near(unchanged: list[bool], context: int) -> list[bool]:
    shown = [not same for same in unchanged]
    for number, same in enumerate(unchanged):
        if not same:
            for near in range(max(0, number - context), min(len(shown), number + context + 1)):
                shown[near] = True
    return shown


def _pair(fn: FunctionDiff, pair: Pair, old: _Text, new: _Text) -> Iterator[DiffLine]:
    before = fn.old[pair.a] if pair.a is not None else None
    after = fn.new[pair.b] if pair.b is not None else None
    if before is not None and (after is None or pair.kind in ("changed", "type")):
        yield DiffLine(pair.kind, old(before), unit_node(before), True)
    if after is not None:
        group = fn.groups.get(pair.b) if pair.b is not None else None
        note = group_text(fn, group) if group is not None else ""
        yield DiffLine(pair.kind, new(after), unit_node(after), note=note)


def group_text(fn: FunctionDiff, group: Group) -> str:
    """`merged from a, b` or `split from a into b, c`, by the names of the variables."""
    old, new = (
        ", ".join([_name(side[n]) for n in numbers])
        for side, numbers in ((fn.old, group.old), (fn.new, group.new))
    )
    return f"merged from {old}" if group.kind == "merged" else f"split from {old} into {new}"


def _name(unit: Unit) -> str:
    var = getattr(unit, "var", None)
    return "_" if var is None else var.name


def unit_node(unit: Unit) -> Any:
    """The IR node that a unit of a difference prints."""
    return unit.node if isinstance(unit, Line) else unit


class _Text:
    """Bindings as text, one line each; lines of PrimFuncs unchanged."""

    def __init__(self) -> None:
        self.names = Names()

    def __call__(self, binding: Unit) -> str:
        if isinstance(binding, Line):
            return binding.text
        printer = FunctionPrinter(ExprText(self.names, NEW, Constants()))
        printer.binding(binding, 1)
        return printer.lines[0].text + (" …" if len(printer.lines) > 1 else "")


def stat_line(diff: ModuleDiff) -> str:
    """`+40 −12 ~3`: the counts that are not zero."""
    parts = [f"{GLYPHS[kind]}{count}" for kind, count in diff.stat.items() if count]
    names = [f"{fn.name} {fn.status}" for fn in diff.functions if fn.status in ("added", "removed")]
    text = " ".join(parts) or ("no binding differs" if not diff.is_empty else "no difference")
    if len(names) > 4:
        names = [*names[:4], f"{len(names) - 4} more"]
    return f"{text} ({'; '.join(names)})" if names else text
