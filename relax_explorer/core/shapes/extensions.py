"""Relations, operators, shape functions and primitives of a user, for the notations of type relations and shape contracts.

A file that `--packed` names registers them; a program of her own does so before it asks for the types. Registering a name
again takes the place of what was registered under it; names of this project are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from relax_explorer.core.ir import prim as p
from relax_explorer.core.relations.library import RELATIONS, Relation, register_relation, unregister_relation
from relax_explorer.core.relations.relay_types import FuncType, TensorType
from relax_explorer.core.relations.solver import Mismatch, Outcome, Solver
from relax_explorer.core.relations.text import OURS, TEXTS, read_type, signature
from relax_explorer.core.shapes.primitives import IMPLEMENTATIONS, RULES, Implementation, Shaped

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
