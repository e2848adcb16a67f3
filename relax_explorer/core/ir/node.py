"""What every IR node has in common: slots, identity equality, children, and replacement that shares."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeVar, dataclass_transform

# Building a frozen dataclass costs four times a plain one (tests/perf: node), so nodes are frozen only where mistakes are sought.
CHECKS = os.environ.get("RELAX_EXPLORER_CHECKS", "") not in ("", "0")


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Within it Python's garbage collector rests.

    Work on large programs makes objects by the thousand and hardly any garbage, and the collector would look at all that are
    alive again and again. Every entry point whose work grows with the program is in it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_T = TypeVar("_T")
_Tree = TypeVar("_Tree", bound="Tree")
_FIELDS: dict[type, tuple[str, ...]] = {}


@dataclass_transform(frozen_default=True, eq_default=False)
def node(cls: type[_T]) -> type[_T]:
    """Make `cls` an IR node: a slotted record, equal only to itself, not to be changed once made."""
    return _made(cls, weak=False)


@dataclass_transform(frozen_default=True, eq_default=False)
def owner_node(cls: type[_T]) -> type[_T]:
    """A node that derived facts are kept of for as long as it lives (functions, modules): it can be weakly referenced."""
    return _made(cls, weak=True)


def _made(cls: type[_T], weak: bool) -> type[_T]:
    made = dataclass(slots=True, eq=False, frozen=CHECKS, repr=False, weakref_slot=weak)(cls)
    _FIELDS[made] = tuple(f.name for f in fields(made))  # type: ignore[arg-type]  # `made` is a dataclass by now
    return made


def field_names(value: object) -> tuple[str, ...]:
    """Names of the fields of a node, in order of declaration."""
    return _FIELDS[type(value)]


def replace(value: _T, /, **changes: Any) -> _T:
    """A copy of node `value` with some fields changed; `value` itself when nothing would change."""
    if all(getattr(value, name) is new for name, new in changes.items()):
        return value
    arguments = {name: getattr(value, name) for name in _FIELDS[type(value)]}
    arguments.update(changes)
    return type(value)(**arguments)


DEEP = 100  # a tree of more nodes may nest deeper than functions that call themselves can follow


def operands_first(root: _T, operands: Callable[[_T], tuple[_T, ...]], done: Container[_T]) -> Iterator[_T]:
    """The nodes of a tree that are not in `done`, each after its operands; who takes them puts them there."""
    stack = [root]
    while stack:
        item = stack[-1]
        missing = [operand for operand in operands(item) if operand not in done]
        if missing:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if item not in done:
            yield item


class Tree(Protocol):
    """A node with operands."""

    def children(self: _Tree) -> tuple[_Tree, ...]:
        """The operands."""

    def with_children(self: _Tree, children: tuple[_Tree, ...]) -> _Tree:
        """The same node over other operands."""


def over(tree: _Tree, operands: tuple[_Tree, ...]) -> _Tree:
    """A node over operands; itself where they are its own."""
    same = all([a is b for a, b in zip(tree.children(), operands, strict=True)])
    return tree if same else tree.with_children(operands)
