"""The places of a function in the order of its text: heads, blocks, bindings, branches, nested functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

from relax_explorer.core.ir import expr as e


@dataclass(frozen=True, slots=True)
class Place:
    """What a row shows: its kind (head, block, binding, else, result, return, kernel, text, blank), its node, and where."""

    kind: str
    node: e.Binding | e.Function | e.BindingBlock | e.Expr | object | None
    function: str
    depth: int = 0
    number: int = 0  # of a binding, from 1
    text: str = ""  # of a line of a kernel


_Step = Union[Place, Iterator["_Step"]]  # noqa: UP007  # an alias that names itself


def outline(name: str, fn: e.Function) -> Iterator[Place]:
    """The places of a function, in the order of its text; nested functions and branches to any depth."""
    number = 0
    stack: list[Iterator[_Step]] = [_function(name, fn, 0)]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, Place):
            if item.kind == "binding":
                number += 1
                item = Place("binding", item.node, name, item.depth, number)
            yield item
        else:
            stack.append(item)


def _function(name: str, fn: e.Function, depth: int) -> Iterator[_Step]:
    if not depth:
        yield Place("head", fn, name)
    yield _sequence(name, fn.body, depth, "return")


def _sequence(name: str, body: e.Expr, depth: int, last: str) -> Iterator[_Step]:
    if isinstance(body, e.SeqExpr):
        for block in body.blocks:
            if type(block) is e.DataflowBlock:
                yield Place("block", block, name, depth)
            for binding in block.bindings:
                yield Place("binding", binding, name, depth)
                if isinstance(binding, e.VarBinding):
                    yield _inner(name, binding, depth + 1)
    yield Place(last, body, name, depth)


def _inner(name: str, binding: e.VarBinding, depth: int) -> Iterator[_Step]:
    value = binding.value
    if isinstance(value, e.Function):
        yield _sequence(name, value.body, depth, "return")
    elif isinstance(value, e.If):
        yield _sequence(name, value.true_branch, depth, "result")
        yield Place("else", binding, name, depth - 1)
        yield _sequence(name, value.false_branch, depth, "result")
