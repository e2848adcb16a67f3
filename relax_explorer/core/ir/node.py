"""The base of all IR nodes: slots, identity equality, children, and copies that share unchanged parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, fields
from typing import NoReturn, Protocol, TypeVar, dataclass_transform

from relax_explorer.core.shown import on_one_line, written

# A frozen dataclass takes four times as long to build (tests/perf: node), so nodes are frozen only for checks.
CHECKS = os.environ.get("RELAX_EXPLORER_CHECKS", "") not in ("", "0")


_T = TypeVar("_T")
_Tree = TypeVar("_Tree", bound="Tree")
_FIELDS: dict[type, tuple[str, ...]] = {}


@dataclass_transform(frozen_default=True, eq_default=False)
def node(cls: type[_T]) -> type[_T]:
    """Make `cls` an IR node: a slotted record, equal only to itself and not to be changed."""
    return _made(cls, weak=False)


@dataclass_transform(frozen_default=True, eq_default=False)
def owner_node(cls: type[_T]) -> type[_T]:
    """Make `cls` a node with weak references (functions, modules). Derived facts are cached as long as it lives."""
    return _made(cls, weak=True)


def _made(cls: type[_T], weak: bool) -> type[_T]:
    node_class = dataclass(slots=True, eq=False, frozen=CHECKS, repr=False, weakref_slot=weak)(cls)
    for name, method in _METHODS.items():
        if getattr(node_class, name, None) is getattr(object, name, None):
            setattr(node_class, name, method)
    _FIELDS[node_class] = tuple(f.name for f in fields(node_class) if f.init)  # type: ignore[arg-type]  # `made` is a dataclass by now
    return node_class


def _alone(value: object) -> NoReturn:
    # Nodes are compared by identity, and StructInfo is interned: a copy of a part would equal nothing.
    raise TypeError(f"a {type(value).__name__} can't be pickled alone: pickle its module")


def _copied(value: _T) -> _T:
    kind: Callable[..., _T] = type(value)
    return kind(*[getattr(value, name) for name in _FIELDS[type(value)]])


_METHODS = {"__repr__": on_one_line, "__str__": written, "__reduce__": _alone, "__copy__": _copied}


def fields_of(kind: type) -> tuple[str, ...]:
    """Names of the fields of a type of nodes, in order of declaration."""
    return _FIELDS[kind]


def replace(value: _T, /, **changes: object) -> _T:
    """A copy of node `value` with some fields changed. `value` itself if nothing changes."""
    for name, new in changes.items():  # a loop: all() would take twice as long, and most calls change nothing
        if getattr(value, name) is not new:
            break
    else:
        return value
    kind: Callable[..., _T] = type(value)
    return kind(
        *[changes[name] if name in changes else getattr(value, name) for name in _FIELDS[type(value)]]
    )


DEEP = 100  # a tree of more nodes may nest too deep for recursive functions


def operands_first(root: _T, operands: Callable[[_T], tuple[_T, ...]], done: Container[_T]) -> Iterator[_T]:
    """The nodes of a tree that are not in `done`, each after its operands. The caller adds each node to `done`."""
    stack = [root]
    while stack:
        node_ = stack[-1]
        missing = [operand for operand in operands(node_) if operand not in done]
        if missing:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if node_ not in done:
            yield node_


class Tree(Protocol):
    """A node with operands."""

    def children(self: _Tree) -> tuple[_Tree, ...]:
        """The operands."""

    def with_children(self: _Tree, children: tuple[_Tree, ...]) -> _Tree:
        """A copy with other operands."""


def over(tree: _Tree, operands: tuple[_Tree, ...]) -> _Tree:
    """`tree` with other operands. The same object if they are unchanged."""
    same = all([a is b for a, b in zip(tree.children(), operands, strict=True)])
    return tree if same else tree.with_children(operands)
