"""Relations and shape functions as rules of Relax operators (note 004, Test J), and StructInfo rules as relations.

`relation_to_infer` makes a StructInfo rule of a relation, `infer_to_relation` a relation of a rule, and `relation_op` declares
an operator that has nothing else. A shape function tells the shape of a result from concrete shapes, or from values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relax_explorer.core.codes import relations as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ops.kit.decl import InferFailure, Op, Site, attr, operand
from relax_explorer.core.relations.library import RELATIONS, Relation
from relax_explorer.core.relations.relay_types import (
    Hole,
    Kind,
    TensorType,
    TupleType,
    Type,
    TypeRelation,
    dim_hole,
    holes_in,
    is_dim_hole,
)
from relax_explorer.core.relations.solver import Item, Mismatch, Outcome, Solver

ShapeFunction = Callable[..., Sequence[int]]


def to_type(info: s.StructInfo) -> Type:
    """A StructInfo as a type of Relay: what it does not tell is a hole."""
    if isinstance(info, s.TensorStructInfo):
        lengths = info.lengths
        if lengths is not None:
            shape: Any = tuple([dim_hole() if type(d) is p.AnyDim else d for d in lengths])
        else:
            shape = Hole(Kind.SHAPE) if info.ndim < 0 else tuple([dim_hole() for _ in range(info.ndim)])
        return TensorType(shape, Hole(Kind.BASE) if info.dtype is None else info.dtype)
    if isinstance(info, s.TupleStructInfo):
        return TupleType(tuple([to_type(field) for field in info.fields]))
    return Hole()


def to_info(part: Type) -> s.StructInfo:
    """A type as a StructInfo. A shape with a hole keeps its rank only."""
    if isinstance(part, TensorType):
        element = part.dtype if isinstance(part.dtype, DType) else None
        if not isinstance(part.shape, tuple):
            return s.TensorStructInfo(None, element, -1)
        is_known = not any(is_dim_hole(var) for dim in part.shape for var in p.free_vars(dim))
        return s.TensorStructInfo(part.shape if is_known else None, element, len(part.shape))
    if isinstance(part, TupleType):
        return s.TupleStructInfo(tuple([to_info(field) for field in part.fields]))
    return s.OBJECT


def solve_one(
    name: str, relation: Relation, inputs: Sequence[Type], attrs: Mapping[str, Any]
) -> tuple[Item, Type, Solver]:
    """Run one relation on types of inputs and an unknown result: the outcome, the result, and the solver."""
    solver, result = Solver(), Hole()
    item = solver.add(TypeRelation(name, relation, (*inputs, result), tuple(attrs.items())))
    solver.run()
    found: Type = solver.resolved(result)
    return item, found, solver


def relation_to_infer(relation: str | Relation) -> Callable[..., s.StructInfo]:
    """A StructInfo rule `(at, *infos, **attributes)` of a relation, given itself or by name.

    A relation that fails refuses the call. One that cannot tell leaves the unknown parts of the result unknown, and lengths that
    must be equal to the run.
    """
    name = relation if isinstance(relation, str) else getattr(relation, "__name__", "relation")
    function = RELATIONS[relation] if isinstance(relation, str) else relation

    def infer(at: Site, *infos: s.StructInfo, **attrs: object) -> s.StructInfo:
        item, result, solver = solve_one(name, function, [to_type(info) for info in infos], attrs)
        if solver.unsettled:
            raise at.fail(
                codes.NEVER_SETTLES, f"{solver.text(item)} still changes types after {item.runs} runs"
            )
        if item.outcome is Outcome.FAILS:
            reason = f": {item.reason}" if item.reason else ""
            raise at.fail(codes.RELATION_FAILS, f"{solver.text(item)} does not hold{reason}")
        for a, b in solver.open_now():
            if not any(map(is_dim_hole, p.free_vars(a, b))):
                at.oblige(a, b)
        for a, b in solver.joins_now():
            if not any(map(is_dim_hole, p.free_vars(a, b))):
                at.oblige(a, b, or_one=(a, b))
        return to_info(result)

    return infer


def infer_to_relation(op: type[Op]) -> Relation:
    """The relation of an operator's StructInfo rule: it holds if the rule accepts the inputs and gives the result."""

    def relation(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Outcome:
        if any(isinstance(part, Hole) for part in types[:inputs]):
            return Outcome.UNKNOWN
        site = Site(None, op)
        defaults = {q.name: q.default for q in op.attributes if not q.required}
        try:
            info = op.infer(site, *[to_info(part) for part in types[:inputs]], **defaults | attrs)
        except InferFailure as failure:
            raise Mismatch(failure.diagnostic.message) from failure
        known = to_type(info)
        reporter.unify(types[-1], known)
        is_open = bool(site.obligations) or bool(holes_in(known)) or any(map(holes_in, types[:inputs]))
        return Outcome.UNKNOWN if is_open else Outcome.HOLDS

    return relation


def relation_op(
    name: str,
    relation: str | Relation,
    inputs: Sequence[str],
    attributes: Mapping[str, Any] | None = None,
    impl: Callable[..., Any] | None = None,
    shape_function: ShapeFunction | None = None,
    reads_values: bool = False,
) -> type[Op]:
    """An operator whose StructInfo rule is a relation; add it with `ops.register`.

    `inputs` names its operands, `attributes` its attributes with their defaults. `impl` computes it from NumPy arrays. A
    `shape_function` takes the shapes of the inputs, or with `reads_values` the arrays, and the attributes by name. It gives
    the shape where the relation leaves it open: at compile time if all lengths (or values) are constants.
    """
    by_relation = relation_to_infer(relation)

    def infer(at: Site, *infos: s.StructInfo, **attrs: object) -> s.StructInfo:
        """By the relation, then by the shape function."""
        found = by_relation(at, *infos, **attrs)
        return _with_shape(at, found, infos, attrs, shape_function, reads_values)

    body: dict[str, Any] = {
        "__doc__": f"What the relation {relation if isinstance(relation, str) else relation.__name__} types.",
        "__module__": __name__,
        "__annotations__": {},
        "source": "note 004, Test J",
        "infer": staticmethod(infer),
        "evaluate": None if impl is None else staticmethod(impl),
        "no_evaluate": "" if impl is not None else "it was registered without an implementation",
        "no_legalize": "it was registered with a relation only",
        "by_info": not reads_values,
    }
    for field in inputs:
        body[field] = operand("an input of the relation")
        body["__annotations__"][field] = "Tensor"
    for field, default in (attributes or {}).items():
        body[field] = attr(default, "an attribute of the relation")
        body["__annotations__"][field] = "Any"
    return type(name.rsplit(".", 1)[-1].title(), (Op,), body, name=name)


def _with_shape(
    at: Site,
    found: s.StructInfo,
    infos: Sequence[s.StructInfo],
    attrs: Mapping[str, Any],
    shape_function: ShapeFunction | None,
    reads_values: bool,
) -> s.StructInfo:
    """A result with the shape that a shape function gives, if it is not known and the inputs are."""
    if shape_function is None or not isinstance(found, s.TensorStructInfo) or found.shape is not None:
        return found
    known = _values(at) if reads_values else _shapes(infos)
    if known is None:
        return found
    shape = [int(n) for n in shape_function(*known, **attrs)]
    if found.ndim not in (-1, len(shape)) or any(n < 0 for n in shape):
        raise at.fail(
            codes.RELATION_FAILS, f"the shape function gives {shape}, but the relation gives {found}"
        )
    return s.TensorStructInfo(tuple([p.IntImm(n) for n in shape]), found.dtype, len(shape))


def _shapes(infos: Sequence[s.StructInfo]) -> list[tuple[int, ...]] | None:
    """The shapes of the inputs if all lengths are literals."""
    shapes = []
    for info in infos:
        lengths = info.lengths if isinstance(info, s.TensorStructInfo) else None
        if lengths is None or not all(type(d) is p.IntImm for d in lengths):
            return None
        shapes.append(tuple([d.value for d in lengths if type(d) is p.IntImm]))
    return shapes


def _values(at: Site) -> list[np.ndarray[Any, Any]] | None:
    """The inputs if all are constants of the program."""
    given = () if at.call is None else at.call.args
    args = [at.definitions.get(arg, arg) for arg in given]
    if not args or not all(isinstance(arg, e.Constant) for arg in args):
        return None
    return [arg.data for arg in args]
