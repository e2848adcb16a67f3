"""Emit bindings into blocks: fresh names, the open block, and its variables.

The normalizer and `core/build` share this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import is_

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, merged_blocks
from relax_explorer.core.source import Span


class FreshNames:
    """Generates unused names: `lv`, `lv1`, `lv2`, … It keeps the next number of each base."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._reserved = [taken]  # read at the first request
        self._taken: set[str] | None = None
        self._numbers: dict[str, int] = {}

    @classmethod
    def of(cls, fn: e.Function) -> FreshNames:
        """Names that no parameter or variable of a function has, branches and nested functions included."""
        return cls(_names(fn))

    def take(self, names: Iterable[str]) -> None:
        """Reserve these names."""
        if self._taken is None:
            self._reserved.append(names)
        else:
            self._taken.update(names)

    def __call__(self, base: str, separator: str = "") -> str:
        """An unused name. It is reserved from now on."""
        taken, base_ = self._read(), base + separator
        number = self._numbers.get(base_, 0)
        name = f"{base_}{number}" if number else base
        while name in taken:
            number += 1
            name = f"{base_}{number}"
        self._numbers[base_] = number
        taken.add(name)
        return name

    def _read(self) -> set[str]:
        if self._taken is None:
            self._taken = set().union(*self._reserved)
        return self._taken


def _names(fn: e.Function) -> Iterator[str]:
    yield from (param.name for param in fn.params)
    for binding in bindings(fn):
        if binding.var is not None:
            yield binding.var.name


class OpenBlocks:
    """The blocks of a sequence under construction: the closed blocks, and the bindings of the open one."""

    __slots__ = ("bindings", "closed", "dataflow", "like")

    def __init__(self, dataflow: bool = False) -> None:
        self.closed: list[e.BindingBlock] = []
        self.bindings: list[e.Binding] = []
        self.dataflow = dataflow
        self.like: e.BindingBlock | None = None

    def start(self, dataflow: bool, like: e.BindingBlock | None = None) -> None:
        """Close the open block and open another. If it gets the bindings of `like`, it becomes `like` itself."""
        self.close()
        self.dataflow, self.like = dataflow, like

    def close(self) -> None:
        """Close the open block. An empty one is dropped."""
        bindings, like = self.bindings, self.like
        if bindings:
            if like is None:
                block_type = e.DataflowBlock if self.dataflow else e.BindingBlock
                self.closed.append(block_type(tuple(bindings)))
            elif len(bindings) == len(like.bindings) and all(map(is_, bindings, like.bindings)):
                self.closed.append(like)
            else:
                self.closed.append(replace(like, bindings=tuple(bindings)))
        self.bindings, self.like = [], None

    def variable(self, name: str, info: s.StructInfo | None, span: Span | None = None) -> e.Var:
        """A new variable for the open block; a DataflowVar if it is a dataflow block."""
        return (e.DataflowVar if self.dataflow else e.Var)(name, info, span)

    def sequence(self, like: e.SeqExpr, body: e.Expr, info: s.StructInfo) -> e.SeqExpr:
        """The sequence of these blocks. Adjacent blocks of one type merge. The same object as `like` if nothing changed."""
        self.close()
        blocks = merged_blocks(self.closed)
        same = len(blocks) == len(like.blocks) and all(
            a is b for a, b in zip(blocks, like.blocks, strict=True)
        )
        return replace(like, blocks=like.blocks if same else tuple(blocks), body=body, struct_info=info)
