"""The places of a function in the order of its text: heads, blocks, bindings, branches, nested functions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple, Union

from relax_explorer.core.ir import expr as e


class Place(NamedTuple):
    """What a row shows: its kind (head, block, binding, else, result, return, kernel, text, blank), its node, and where.

    A table makes one for each of its rows at once, hence a tuple: a dataclass takes four times as long.
    """

    kind: str
    node: e.Binding | e.Function | e.BindingBlock | e.Expr | object | None
    function: str
    depth: int = 0
    number: int = 0  # of a binding, from 1
    text: str = ""  # of a line of a kernel


_WITH_BODIES = (e.Function, e.If)
_Step = Union[Place, Iterator["_Step"]]  # noqa: UP007  # an alias that names itself


def outline(name: str, fn: e.Function) -> Iterator[Place]:
    """The places of a function, in the order of its text; nested functions and branches to any depth."""
    stack: list[Iterator[_Step]] = [_Walk(name).function(fn)]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, Place):
            yield item
        else:
            stack.append(item)


class _Walk:
    """Walks through a function and numbers its bindings. An inner body is given as the walk through it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.numbers = count(1)

    def function(self, fn: e.Function) -> Iterator[_Step]:
        """The places of the function."""
        yield Place("head", fn, self.name)
        yield self._sequence(fn.body, 0, "return")

    def _sequence(self, body: e.Expr, depth: int, last: str) -> Iterator[_Step]:
        name, numbers = self.name, self.numbers
        if isinstance(body, e.SeqExpr):
            for block in body.blocks:
                if type(block) is e.DataflowBlock:
                    yield Place("block", block, name, depth)
                for binding in block.bindings:
                    yield Place("binding", binding, name, depth, next(numbers))
                    if type(binding.value) in _WITH_BODIES and isinstance(binding, e.VarBinding):
                        yield self._inner(binding, depth + 1)
        yield Place(last, body, name, depth)

    def _inner(self, binding: e.VarBinding, depth: int) -> Iterator[_Step]:
        value = binding.value
        if isinstance(value, e.Function):
            yield self._sequence(value.body, depth, "return")
        elif isinstance(value, e.If):
            yield self._sequence(value.true_branch, depth, "result")
            yield Place("else", binding, self.name, depth - 1)
            yield self._sequence(value.false_branch, depth, "result")
