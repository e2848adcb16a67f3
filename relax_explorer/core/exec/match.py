"""Checks values against StructInfo at run time: match_cast, parameters, results.

The run-time StructInfo of a closure consists of its parameter and result types and the captured lengths. A closure is
accepted if this StructInfo certainly fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.check.compatible import YES, always_fits, compatible
from relax_explorer.core.check.matching import instantiate
from relax_explorer.core.check.purity import stated
from relax_explorer.core.diagnostics import Code
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.exec.values import (
    UNKNOWN,
    Closure,
    Lengths,
    Lifted,
    Shape,
    Value,
    describe,
    kind_of,
    scalar_dtype,
)
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, has_type
from relax_explorer.core.ir.walk import info_holders, substitute_info

Path = tuple[int, ...]


class Mismatch(Exception):
    """A value does not match its StructInfo. The message starts with the path to the wrong part.

    `position` is the index among several values. If a dimension is wrong, `dim` is the expected one, `length` the found one,
    and `place` the part of the value, such as `.shape[1]`.
    """

    position = 0
    dim: p.PrimExpr | None = None
    length = 0
    place = ""

    def __init__(self, path: Path, sentence: str, code: Code | None = None) -> None:
        self.code = code  # set if a dimension itself is invalid
        where = "".join([f".{index}" for index in path])
        super().__init__(f"{where}: {sentence}" if where else sentence)


@dataclass(frozen=True, slots=True)
class Scope:
    """The run-time context of StructInfo besides shape variables: variables that hold shapes, and global functions."""

    variable: Callable[[e.Var], Any] = lambda var: None
    function: Callable[[str], e.Function | None] = lambda name: None


NOWHERE = Scope()


def match(value: Value, info: s.StructInfo, dims: Lengths, scope: Scope = NOWHERE) -> None:
    """Check `value` against `info`, and bind new shape variables. Raises Mismatch.

    Two passes (errata E-28): first, dimensions that are single variables are bound, left to right. Then the rest is compared.
    """
    if value is not UNKNOWN and info is not s.OBJECT:
        match_all((value,), (info,), dims, scope)


def match_all(
    values: Sequence[Value], infos: Sequence[s.StructInfo], dims: Lengths, scope: Scope = NOWHERE
) -> None:
    """Like `match`, for several values with common shape variables, such as the parameters of a function."""
    matching = _Matching(dims, scope)
    try:
        for number, (value, info) in enumerate(zip(values, infos, strict=True)):
            matching.position = number
            matching.part(value, info, ())
        matching.finish()
    except Mismatch as problem:
        problem.position = matching.position
        raise


class _Matching:
    def __init__(self, dims: Lengths, scope: Scope) -> None:
        self.dims, self.scope, self.position = dims, scope, 0
        self.pending: list[tuple[int, Path, str, int, p.PrimExpr, int]] = []
        self.functions: list[tuple[int, Path, s.FuncStructInfo, s.FuncStructInfo]] = []

    def part(self, value: Value, info: s.StructInfo, path: Path) -> None:
        """The first pass over a value."""
        if value is not UNKNOWN and info is not s.OBJECT:
            _MATCHERS[type(info)](self, value, info, path)

    def finish(self) -> None:
        """The second pass: computed lengths, and functions."""
        for position, path, kind, number, dim, length in self.pending:
            self.position = position
            try:
                expected = evaluate(dim, self.dims)
            except Undefined as problem:
                raise _wrong(path, kind, number, dim, length, str(problem), problem.code) from None
            if expected is None:
                raise _wrong(path, kind, number, dim, length, f"{dim} has no value yet")
            if expected != length:
                text = f"expected {expected}" if type(dim) is p.IntImm else f"{dim} = {expected}"
                raise _wrong(path, kind, number, dim, length, f"{text}, got {length}")
        for position, path, have, want in self.functions:
            self.position = position
            self._compare(path, have, _with_lengths(want, self.dims, self._shapes(want)))

    def _shapes(self, function: s.FuncStructInfo) -> dict[e.Var, e.Expr]:
        """The shapes of variables that occur in a function type."""
        parts = (*(function.params or ()), function.ret)
        shapes = {var: self.scope.variable(var) for part in parts for var in info_holders(part)}
        return {
            var: e.ShapeExpr(tuple([p.IntImm(int(n), INT64) for n in shape]))
            for var, shape in shapes.items()
            if isinstance(shape, Shape)
        }

    def _lengths(
        self, lengths: tuple[int, ...], expected: tuple[p.PrimExpr, ...], path: Path, kind: str
    ) -> None:
        for number, (length, dim) in enumerate(zip(lengths, expected, strict=True)):
            if type(dim) is p.PrimVar and dim not in self.dims:
                self.dims[dim] = int(length)
            elif type(dim) is not p.AnyDim:
                self.pending.append((self.position, path, kind, number, dim, int(length)))

    def tensor(self, value: Value, info: s.TensorStructInfo, path: Path) -> None:
        if not isinstance(value, np.ndarray):
            raise Mismatch(path, f"expected a tensor, got {describe(value)}")
        if info.dtype is not None and not has_type(value.dtype, info.dtype):
            raise Mismatch(path, f"dtype {value.dtype.name}, expected {info.dtype}")
        if info.ndim not in (-1, value.ndim):
            raise Mismatch(path, f"rank {value.ndim}, expected {info.ndim}")
        if info.dims is not None:
            self._lengths(value.shape, info.dims, path, ".shape")
        elif isinstance(info.shape, e.Var):
            self._held(value.shape, info.shape, path)

    def _held(self, lengths: tuple[int, ...], var: e.Var, path: Path) -> None:
        """Compare with the shape held by a variable (errata E-53)."""
        held = self.scope.variable(var)
        if isinstance(held, Shape) and tuple(held) != tuple(lengths):
            text = f"shape {tuple(map(int, lengths))} does not equal {var.name} = {tuple(held)}"
            raise Mismatch(path, text)

    def shape(self, value: Value, info: s.ShapeStructInfo, path: Path) -> None:
        if not isinstance(value, Shape):
            raise Mismatch(path, f"expected a shape, got {describe(value)}")
        if info.ndim not in (-1, len(value)):
            raise Mismatch(path, f"a shape of {len(value)} lengths, expected {info.ndim}")
        if info.values is not None:
            self._lengths(value, info.values, path, "")

    def prim(self, value: Value, info: s.PrimStructInfo, path: Path) -> None:
        if kind_of(value) != "prim":
            raise Mismatch(path, f"expected a scalar, got {describe(value)}")
        dtype = scalar_dtype(value, info.dtype)
        if dtype is not info.dtype:
            raise Mismatch(path, f"a scalar of {dtype}, expected {info.dtype}")
        if type(info.value) is p.PrimVar and info.value not in self.dims:
            self.dims[info.value] = int(value)
        elif info.value is not None and info.dtype.is_int:
            self.pending.append((self.position, path, "", -1, info.value, int(value)))

    def tuple(self, value: Value, info: s.TupleStructInfo, path: Path) -> None:
        if kind_of(value) != "tuple" or len(value) != len(info.fields):
            raise Mismatch(path, f"expected a tuple of {len(info.fields)}, got {describe(value)}")
        for number, (item, field) in enumerate(zip(value, info.fields, strict=True)):
            self.part(item, field, (*path, number))

    def func(self, value: Value, info: s.FuncStructInfo, path: Path) -> None:
        have = self._function(value)
        if info.params is None:
            if kind_of(value) != "packed":
                raise Mismatch(path, f"expected a packed function, got {describe(value)}")
        elif have is None:
            raise Mismatch(path, f"expected a function of the language, got {describe(value)}")
        else:
            self.functions.append((self.position, path, have, info))

    def _function(self, value: Value) -> s.FuncStructInfo | None:
        """The signature of a function value. None for packed functions, kernels, and other values."""
        if isinstance(value, Closure):
            return _signature(value.function, value.dims)
        if isinstance(value, e.GlobalVar):
            fn = self.scope.function(value.name)
            return None if fn is None else _signature(fn, {})
        signature = self._function(value.function) if isinstance(value, Lifted) else None
        if signature is None:
            return None
        params, captured = signature.params or (), value.captured
        dims: Lengths = {}
        count = len(params) - len(captured)
        match_all(captured, params[count:], dims, self.scope)
        return _with_lengths(s.FuncStructInfo(params[:count], signature.ret, signature.pure), dims)

    def _compare(self, path: Path, have: s.FuncStructInfo, want: s.FuncStructInfo) -> None:
        if compatible(have, want) is YES:
            return
        params, actual = have.params or (), want.params or ()
        if len(params) != len(actual):
            raise Mismatch(path, f"a function of {len(params)} parameters, expected {len(actual)}")
        taken, ret = instantiate(have, actual)
        for number, (accepted, offered) in enumerate(zip(taken, actual, strict=True), 1):
            if compatible(offered, accepted) is not YES:
                raise Mismatch(path, f"parameter {number} takes {accepted}, expected {offered}")
        if compatible(ret, want.ret) is not YES:
            raise Mismatch(path, f"the function returns {ret}, expected {want.ret}")
        raise Mismatch(path, "the function may have effects, expected a pure one")


def _wrong(
    path: Path, kind: str, number: int, dim: p.PrimExpr, length: int, sentence: str, code: Code | None = None
) -> Mismatch:
    """The mismatch of one dimension."""
    problem = Mismatch(path, sentence if number < 0 else f"dim {number}: {sentence}", code)
    problem.dim, problem.length = dim, length
    problem.place = "".join([f"[{index}]" for index in path]) + (f"{kind}[{number}]" if number >= 0 else kind)
    return problem


def proved(call: e.Call) -> bool:
    """True if the StructInfo of the arguments proves that they fit the parameters of the called global function.

    Lengths are compared anyway, because StructInfo may depend on unproven annotations (errata E-44).
    """
    callee = call.op.struct_info if isinstance(call.op, e.GlobalVar) else None
    if not isinstance(callee, s.FuncStructInfo) or callee.params is None:
        return False
    actual = tuple([arg.struct_info or s.OBJECT for arg in call.args])
    params, _ = instantiate(callee, actual)
    return len(params) == len(actual) and all(
        always_fits(have, want) for have, want in zip(actual, params, strict=True)
    )


def _signature(fn: e.Function, dims: Lengths) -> s.FuncStructInfo:
    """The signature of a function with the captured lengths of its closure."""
    params = tuple([param.struct_info or s.OBJECT for param in fn.params])
    known = fn.struct_info
    pure = known.pure if isinstance(known, s.FuncStructInfo) else stated(fn) is not False
    return _with_lengths(s.FuncStructInfo(params, fn.ret_struct_info or s.OBJECT, pure), dims)


def _with_lengths(
    info: s.FuncStructInfo, dims: Lengths, shapes: dict[e.Var, e.Expr] | None = None
) -> s.FuncStructInfo:
    known: dict[p.PrimVar, p.PrimExpr] = {var: p.IntImm(value, var.dtype) for var, value in dims.items()}
    params = tuple([substitute_info(param, known, shapes) for param in info.params or ()])
    return s.FuncStructInfo(params, substitute_info(info.ret, known, shapes), info.pure)


_MATCHERS: dict[type, Callable[[_Matching, Any, Any, Path], None]] = {
    s.TensorStructInfo: _Matching.tensor,
    s.ShapeStructInfo: _Matching.shape,
    s.PrimStructInfo: _Matching.prim,
    s.TupleStructInfo: _Matching.tuple,
    s.FuncStructInfo: _Matching.func,
}
