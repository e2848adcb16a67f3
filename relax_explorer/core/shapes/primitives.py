"""Primitives of the notation: how their result is computed, and the rule that tells its shape (note 004, Tests G, H and J).

A rule is given outside of the language: here by a relation. A primitive without a rule is known by its contract only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ops.kit.decl import equal_or_one
from relax_explorer.core.relations.adapt import solve_one
from relax_explorer.core.relations.library import (
    ATTRIBUTES,
    RELATIONS,
    Relation,
    register_relation,
    unregister_relation,
)
from relax_explorer.core.relations.relay_types import FuncType, TensorType, TupleType, is_dim_hole
from relax_explorer.core.relations.solver import Mismatch, Outcome, Solver
from relax_explorer.core.relations.text import OURS, TEXTS, read_type, signature

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


# -- extensions ------------------------------------------------------------------------------------------------------
# Relations, operators, shape functions and primitives of a user, for the notations of type relations and shape
# contracts.
#
# A file that `--packed` names registers them; a program of her own does so before it asks for the types. Registering
# a name again takes the place of what was registered under it; names of this project are refused.


__all__ = ["Mismatch", "Outcome", "Shaped", "Solver", "TensorType", "forget", "operator", "primitive", "relation", "shape_function"]  # fmt: skip
ShapeFunction = Callable[..., "Sequence[p.PrimExpr | int | None] | Shaped | None"]
_Function = TypeVar("_Function", bound=Callable[..., Any])
_OWN: dict[str, frozenset[str]] = {
    "relation": frozenset(RELATIONS),
    "operator": OURS,
    "shape function": frozenset(RULES),
    "primitive": frozenset(IMPLEMENTATIONS),
}


def relation(name: str) -> Callable[[Relation], Relation]:
    """Register the decorated function as the relation `name` of types.

    It gets the types (the result last), the number of arguments, the attributes and the solver; it tells the solver what it
    learns (`unify`, `same_dim`), and returns an `Outcome`, True or False. It may raise `Mismatch` with the reason.
    """
    _refuse("relation", name)

    def register(function: Relation) -> Relation:
        if name in RELATIONS:
            unregister_relation(name)
        return register_relation(name, function)

    return register


def operator(name: str, type: str) -> None:
    """Give the operator `name` a type of Relay's notation, such as `fn<a, b>(a) -> b where Half`.

    A run calls the packed function of this name, with the arguments and then the attributes in the order of the call.
    Raises ValueError for a type of another kind, and Failure for a text that is no type.
    """
    _refuse("operator", name)
    if not isinstance(read_type(type), FuncType):
        raise ValueError(f"{type} is no type of a function")
    TEXTS[name] = type
    signature.cache_clear()


def shape_function(name: str) -> Callable[[ShapeFunction], ShapeFunction]:
    """Register the decorated function as the shape function of the primitive `@name` of contracts.

    It gets the shapes of the arguments, and attributes by name. It returns the lengths of the result: a number, an expression
    of lengths, or None for one that only the data tell; None for a result of any rank. It may raise `Mismatch`.
    """
    _refuse("shape function", name)

    def register(function: ShapeFunction) -> ShapeFunction:
        def rule(shapes: Sequence[tuple[p.PrimExpr, ...]], attrs: dict[str, Any]) -> Shaped:
            found = function(*shapes, **attrs)
            if found is None or isinstance(found, Shaped):
                return found or Shaped(None)
            return Shaped(tuple([None if dim is None else p.as_prim(dim) for dim in found]))

        RULES[name] = rule
        return function

    return register


def primitive(name: str) -> Callable[[Implementation], Implementation]:
    """Register the decorated function as what computes the primitive `@name` of contracts: from arrays, and attributes by name."""
    _refuse("primitive", name)

    def register(function: Implementation) -> Implementation:
        IMPLEMENTATIONS[name] = function
        return function

    return register


def forget(name: str) -> None:
    """Remove all that a user registered under a name."""
    tables: dict[str, dict[str, Any]] = {
        "relation": RELATIONS, "operator": TEXTS, "shape function": RULES, "primitive": IMPLEMENTATIONS,
    }  # fmt: skip
    for what, table in tables.items():
        if name not in _OWN[what]:
            table.pop(name, None)
    signature.cache_clear()


def _refuse(what: str, name: str) -> None:
    """Raise ValueError for a name of this project."""
    if name in _OWN[what]:
        raise ValueError(f"{name} is a {what} of relax_explorer; give yours another name")
