"""Primitives of the notation: how their result is computed, and the rule that tells its shape (note 004, Tests G, H and J).

A rule is given outside of the language: here by a relation. A primitive without a rule is known by its contract only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ops.kit.decl import equal_or_one
from relax_explorer.core.relations.adapt import solve_one
from relax_explorer.core.relations.library import ATTRIBUTES, RELATIONS
from relax_explorer.core.relations.relay_types import TensorType, TupleType, is_dim_hole
from relax_explorer.core.relations.solver import Mismatch, Outcome

Dims = tuple[p.PrimExpr, ...]


@dataclass(frozen=True)
class Shaped:
    """The shape that a rule tells, with None for a length that is not known, and pairs of lengths that must be equal for it."""

    dims: tuple[p.PrimExpr | None, ...] | None
    equal: tuple[tuple[p.PrimExpr, p.PrimExpr], ...] = ()


ShapeRule = Callable[[Sequence[Dims], dict[str, Any]], Shaped]
Implementation = Callable[..., np.ndarray[Any, Any]]

RULES: dict[str, ShapeRule] = {}
IMPLEMENTATIONS: dict[str, Implementation] = {}


def register_shape_rule(name: str, rule: ShapeRule) -> None:
    """Add a rule: shapes of the arguments and attributes → the shape. It raises Mismatch to refuse them."""
    RULES[name] = rule


def register_primitive(name: str, implementation: Implementation) -> None:
    """Add what computes a primitive from NumPy arrays, and attributes by name."""
    IMPLEMENTATIONS[name] = implementation


def how_to_compute(name: str) -> str:
    """The hint for a function or primitive that nothing computes."""
    return f'write its body, or register what computes it: --packed FILE.py with @rxe.extensions.primitive("{name}") above a function'


def unregister(name: str) -> None:
    """Remove the rule and the implementation of a primitive."""
    RULES.pop(name, None)
    IMPLEMENTATIONS.pop(name, None)


def by_relation(relation: str, is_tuple: bool = False) -> ShapeRule:
    """The shape rule of a relation of Relay."""

    def rule(shapes: Sequence[Dims], attrs: dict[str, Any]) -> Shaped:
        element, read = dtype("float32"), ATTRIBUTES.get(relation, attrs)
        for name in attrs:
            if name not in read:
                raise Mismatch(f"there is no attribute {name}")
        types = [TensorType(tuple(shape), element) for shape in shapes]
        inputs = [TupleType(tuple(types))] if is_tuple else types
        item, result, solver = solve_one(relation, RELATIONS[relation], inputs, attrs)
        if item.outcome is Outcome.FAILS:
            raise Mismatch(item.reason)
        joins = [(equal_or_one(a, b, (a, b)), p.IntImm(0)) for a, b in solver.joins_now()]
        demands = (*solver.open_now(), *joins)
        shape = result.shape if isinstance(result, TensorType) else None
        if not isinstance(shape, tuple):
            return Shaped(None, demands)
        is_open = [any(map(is_dim_hole, p.free_vars(dim))) for dim in shape]
        dims = [None if unknown else simplify(dim) for dim, unknown in zip(shape, is_open, strict=True)]
        return Shaped(tuple(dims), demands)

    return rule


BROADCASTING = ("add", "subtract", "multiply", "maximum")
"""Of tensors of one shape, or a tensor and a scalar, these have the same shape, whatever the rank."""

for _name in BROADCASTING:
    RULES[_name], IMPLEMENTATIONS[_name] = by_relation("Broadcast"), getattr(np, _name)
RULES["matmul"], IMPLEMENTATIONS["matmul"] = by_relation("Matmul"), np.matmul
RULES["flatten"], IMPLEMENTATIONS["flatten"] = by_relation("Flatten"), lambda x: x.reshape(len(x), -1)
RULES["concat"] = by_relation("Concat", is_tuple=True)
IMPLEMENTATIONS["filter"] = lambda x: x[x != 0]  # only the data tell how many there are (note 004, Test G)
IMPLEMENTATIONS["concat"] = lambda *xs, axis=0: np.concatenate(xs, axis)
