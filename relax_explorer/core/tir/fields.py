"""The fields of TIR nodes that hold other nodes. They are read from the declarations, so a new field can't be forgotten."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import Any

from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.prim import AnyDim, PrimExpr, PrimVar
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer, BufferRegion, Range

PARTS = (Range, BufferRegion, t.IterVar, t.MatchBufferRegion)
"""Nodes other than statements, expressions and buffers."""
_HELD = re.compile(
    r"\b(Any|Attrs|PrimExpr|PrimVar|Stmt|Buffer|BufferRegion|Range|IterVar|MatchBufferRegion)\b"
)


_ATOMS = (PrimVar, AnyDim)  # never rebuilt
_HOLDING: dict[type, tuple[str, ...]] = {}
_PARAMETERS: dict[type, tuple[str, ...]] = {}
_BESIDES: dict[type, tuple[str, ...]] = {}


def holding(cls: type) -> tuple[str, ...]:
    """The fields of a statement, buffer, function or part of these that may hold nodes, in order of declaration."""
    names = _HOLDING.get(cls)
    if names is None:
        names = tuple([field.name for field in fields(cls) if _HELD.search(str(field.type))])
        _HOLDING[cls] = names
    return names


def parameters(cls: type[PrimExpr]) -> tuple[str, ...]:
    """The constructor arguments of an expression class; each is also an attribute."""
    names = _PARAMETERS.get(cls)
    if names is None:
        names = _PARAMETERS[cls] = tuple(inspect.signature(cls.__new__).parameters)[1:]
    return names


def besides_operands(cls: type[PrimExpr]) -> tuple[str, ...]:
    """The arguments of an expression that may hold nodes but are not operands (see `children`)."""
    names = _BESIDES.get(cls)
    if names is None:
        declared = inspect.signature(cls.__new__).parameters
        operands = cls.operands or ("args", "indices")
        selected = [name for name in declared if _HELD.search(str(declared[name].annotation))]
        names = _BESIDES[cls] = (
            () if cls in _ATOMS else tuple([name for name in selected if name not in operands])
        )
    return names


def is_node(value: object) -> bool:
    """Whether a value is a node of a PrimFunc."""
    return isinstance(value, (PrimExpr, t.Stmt, t.PrimFunc, Buffer, *PARTS))


def parts(node: Any) -> list[Any]:
    """The nodes directly inside a node, in order of declaration, including nodes in tuples and attributes."""
    if isinstance(node, PrimExpr):
        values = [getattr(node, name) for name in besides_operands(type(node))]
        return [*_nodes(values), *node.children()]
    return _nodes([getattr(node, name) for name in holding(type(node))])


def _nodes(values: list[Any]) -> list[Any]:
    nodes: list[Any] = []
    stack = values[::-1]
    while stack:
        value = stack.pop()
        if is_node(value):
            nodes.append(value)
        elif isinstance(value, tuple):
            stack.extend(reversed(value))
        elif isinstance(value, Attrs):
            stack.extend(reversed(list(value.values())))
    return nodes
