"""Which lengths of its operands an operator makes a length of its result from: inference is asked with a variable for each."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.check.arguments import problem
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit.decl import InferFailure, Op, Site

Path = tuple[int, ...]  # fields of tuples, then the axis
Source = tuple[e.Var | None, Path]  # None: written at the operand


def paths(info: s.StructInfo | None) -> Iterator[tuple[Path, p.PrimExpr]]:
    """The known lengths of a StructInfo."""
    if isinstance(info, s.TupleStructInfo):
        for number, field in enumerate(info.fields):
            yield from (((number, *path), dim) for path, dim in paths(field))
    elif isinstance(info, s.TensorStructInfo):
        yield from (((axis,), dim) for axis, dim in enumerate(info.lengths or ()))
    elif isinstance(info, s.ShapeStructInfo):
        yield from (((axis,), dim) for axis, dim in enumerate(info.values or ()))
    elif isinstance(info, s.PrimStructInfo) and info.value is not None:
        yield (), info.value


def tensors(name: str, info: s.StructInfo | None) -> Iterator[tuple[str, s.TensorStructInfo]]:
    """The tensors of a value with their names: itself, or those in a tuple."""
    if isinstance(info, s.TensorStructInfo):
        yield name, info
    elif isinstance(info, s.TupleStructInfo):
        for number, field in enumerate(info.fields):
            yield from tensors(f"{name}[{number}]", field)


def length_at(info: s.StructInfo | None, path: Path) -> p.PrimExpr | None:
    """One length of a StructInfo, if it is known."""
    return next((dim for where, dim in paths(info) if where == path), None)


def lengths(operand: e.Expr) -> Iterator[tuple[e.Var | None, Path, p.PrimExpr]]:
    """The lengths of an operand: of which variable, where in it, and how long."""
    if isinstance(operand, e.Tuple):
        for field in operand.fields:
            yield from lengths(field)
        return
    leaf = operand if isinstance(operand, e.Var) else None
    yield from ((leaf, path, dim) for path, dim in paths(operand.struct_info))


def derived(op: type[Op], call: e.Call, path: Path) -> tuple[str, list[Source]] | None:
    """A length of the result in terms of lengths of operands, and these; None if inference does not tell.

    First each length has a variable of its own. Where lengths must agree, equal ones share a variable.
    """
    if problem(op, call.attrs):
        return None
    for is_shared in (False, True):
        variables = _Variables(is_shared)
        infos = [variables.info(arg.struct_info, arg) for arg in call.args]
        try:
            result = op.infer(Site(call, op), *infos, *[None] * (len(op.operands) - len(infos)), **call.attrs)
        except (InferFailure, OverflowError):
            continue
        found = length_at(result, path)
        if found is not None:
            return str(found), [
                source for var in p.free_vars(found) for source in variables.sources.get(var, ())
            ]
    return None


class _Variables:
    """StructInfo with a variable, named like its place, for each length."""

    def __init__(self, is_shared: bool) -> None:
        self.is_shared = is_shared
        self.of: dict[p.PrimExpr, p.PrimVar] = {}
        self.sources: dict[p.PrimVar, list[Source]] = {}

    def info(self, info: s.StructInfo | None, operand: e.Expr, path: Path = ()) -> s.StructInfo | None:
        """The StructInfo of an operand, or of a field of it."""
        if isinstance(info, s.TupleStructInfo):
            fields = [
                self.info(field, operand.fields[n], path)
                if isinstance(operand, e.Tuple)
                else self.info(field, operand, (*path, n))
                for n, field in enumerate(info.fields)
            ]
            return s.TupleStructInfo(tuple([field or s.OBJECT for field in fields]))
        if isinstance(info, s.TensorStructInfo) and info.lengths is not None:
            return s.TensorStructInfo(
                self.dims(info.lengths, operand, path), info.dtype, info.ndim, info.vdevice
            )
        if isinstance(info, s.ShapeStructInfo) and info.values is not None:
            return s.ShapeStructInfo(self.dims(info.values, operand, path))
        if isinstance(info, s.PrimStructInfo) and info.value is not None and info.dtype.is_int:
            return s.PrimStructInfo(info.dtype, self.dims((info.value,), operand, path)[0])
        return info

    def dims(self, dims: tuple[p.PrimExpr, ...], operand: e.Expr, path: Path) -> tuple[p.PrimExpr, ...]:
        """A variable for each length. A 1 stays where lengths are compared, for it broadcasts."""
        return tuple([self._dim(dim, operand, (*path, axis)) for axis, dim in enumerate(dims)])

    def _dim(self, dim: p.PrimExpr, operand: e.Expr, path: Path) -> p.PrimExpr:
        if self.is_shared and isinstance(dim, p.IntImm) and dim.value == 1:
            return dim
        leaf = operand if isinstance(operand, e.Var) else None
        form = CANONICAL.simple(dim)
        var = self.of.get(form) if self.is_shared else None
        if var is None:
            name = str(dim) if leaf is None else leaf.name + "".join([f"[{number}]" for number in path])
            var = self.of[form] = p.PrimVar(name, dim.dtype)
        self.sources.setdefault(var, []).append((leaf, path))
        return var
