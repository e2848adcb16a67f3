"""Makes values for parameters: `zeros`, `ones`, `arange`, `randn:SEED` or a number, within a memory limit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from relax_explorer.core.check import arguments
from relax_explorer.core.check.matching import match_dims
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.codes import syntax
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label, Severity
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.exec.values import MOST_AXES, Shape
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT64, DType, limits
from relax_explorer.core.ir.fold import DimMap
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, exprs, map_blocks, map_operands, substitute_info
from relax_explorer.core.phases.module_check import checked
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.arrays import INPUT_LIMIT, too_much
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import prim_func_info

DEFAULT_LENGTH = 3  # of a shape variable without a given value
_SOURCES = "use zeros, ones, randn:SEED, arange, a number, or a .npy or .npz file"
_MADE = re.compile(r"(zeros|ones|arange|randn)|randn:([0-9]{1,18})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,40}")


@dataclass(slots=True)
class Maker:
    """Makes values of known lengths. `most` is the remaining number of bytes, `hint` tells how to give a length."""

    dims: dict[p.PrimVar, int]
    most: int
    hint: str = "give it with --shape"
    is_unnamed: bool = False  # True once a length without a name (`R.any_dim`) was made up

    def make(self, info: s.StructInfo, source: str, param: e.Var, number: int) -> Any:
        """A value of this StructInfo. `number` gives each parameter its own random values."""
        if isinstance(info, s.TupleStructInfo):
            return tuple([self.make(field, source, param, number + i) for i, field in enumerate(info.fields)])
        if isinstance(info, s.ShapeStructInfo):
            if info.values is None:
                return Shape([DEFAULT_LENGTH] * max(info.ndim, 0))
            return Shape(self._length(dim, param) for dim in info.values)
        if isinstance(info, s.PrimStructInfo):
            known = self._known(info.value)
            return known if known is not None else scalar(source, info, param)
        if isinstance(info, s.TensorStructInfo):
            return self._tensor(info, source, param, number)
        raise failure(
            f"parameter {param.name!r} is {info}: no value can be made for it",
            "give a file; what another call makes, such as a cache, comes from a file of calls: --calls, or I in Debug",
            param,
        )

    def _known(self, value: p.PrimExpr | None) -> Any:
        try:
            return None if value is None else evaluate(value, self.dims)
        except Undefined:
            return None

    def _length(self, dim: p.PrimExpr, param: e.Var) -> int:
        if type(dim) is p.AnyDim:
            self.is_unnamed = True
            return DEFAULT_LENGTH
        try:
            value = evaluate(dim, self.dims)
        except Undefined as problem:
            raise failure(f"{problem} in {param.name!r}", "give other lengths with --shape", param) from None
        if value is None or value < 0:
            text = f"the dimension {dim} of {param.name!r} has no value"
            raise failure(text, self.hint, param)
        return int(value)

    def _tensor(self, info: s.TensorStructInfo, source: str, param: e.Var, number: int) -> Any:
        dims = info.dims
        lengths = (
            tuple([self._length(dim, param) for dim in dims])
            if dims is not None
            else (DEFAULT_LENGTH,) * max(info.ndim, 0)
        )
        if len(lengths) > MOST_AXES:
            text = f"{param.name!r} has {len(lengths)} axes; runs support at most {MOST_AXES}"
            raise failure(text, "use fewer axes", param)
        element_dtype = info.dtype or FLOAT32
        try:
            dtype = element_dtype.to_numpy()
        except TypeError as problem:
            raise failure(
                f"no value can be made for {param.name!r}: {problem}", "use another dtype", param
            ) from None
        needed = math.prod(lengths) * dtype.itemsize
        if needed > self.most:
            raise too_much(f"{param.name!r}, a tensor {lengths} of {element_dtype},", needed, self.most)
        self.most -= needed
        return _filled(source, lengths, element_dtype, param, number)


def _filled(source: str, lengths: tuple[int, ...], element_dtype: DType, param: e.Var, number: int) -> Any:
    """A tensor filled as `source` says."""
    dtype = element_dtype.to_numpy()
    match = _MADE.fullmatch(source)
    if match is None:
        return np.full(lengths, number_in(source, element_dtype, param)).astype(dtype)
    if match[1] == "zeros":
        return np.zeros(lengths, dtype)
    if match[1] == "ones":
        return np.ones(lengths, dtype)
    if match[1] == "arange":
        return np.arange(math.prod(lengths)).reshape(lengths).astype(dtype)
    generator = np.random.default_rng([int(match[2] or 0), number])
    if dtype.kind == "f" or dtype.name.startswith(("bfloat", "float")):
        return generator.standard_normal(lengths).astype(dtype)
    return generator.integers(0, 2 if dtype.kind == "b" else 4, lengths).astype(dtype)


def scalar(source: str, info: s.PrimStructInfo, param: e.Var) -> Any:
    """A scalar of this StructInfo: the number in `source`."""
    found = _MADE.fullmatch(source)
    if found is None:
        return number_in(source, info.dtype or INT64, param)
    return {"zeros": 0, "ones": 1}.get(found[1], DEFAULT_LENGTH)


def number_in(source: str, dtype: DType, param: e.Var) -> int | float:
    """The number in `source`. Raises Failure if the dtype cannot hold it."""
    try:
        value: int | float = int(source) if _WHOLE.fullmatch(source) else float(source)
    except ValueError:
        text = f"{source[:40]!r} is not a source of values for {param.name!r}"
        raise failure(text, _SOURCES, param) from None
    if dtype.name == "bool":
        return value
    if dtype.is_float:
        with np.errstate(over="ignore"):
            fits = np.isfinite(np.asarray(value, dtype.to_numpy())) or not re.search(
                r"\d", source
            )  # inf, nan
    else:
        low, high = limits(dtype)
        fits = low <= value <= high and int(value) == value
    if not fits:
        raise failure(
            f"{source[:40]} does not fit {dtype}, the dtype of {param.name!r}",
            "give a number of this dtype",
            param,
        )
    return value if dtype.is_float else int(value)


def failure(text: str, hint: str, place: object) -> Failure:
    """The Failure for an unusable input."""
    return Failure(Diagnostic(codes.WRONG_INPUT, text, (Label(place, "", True),), help=hint))


# -- made constants --------------------------------------------------------------------------------------------------
# Values for constants whose data is not in the text, where calls or annotations tell their shapes.


_NUMBER = re.compile(r"\[([0-9]+)\]")


def with_constants(stage: Stage, source: str) -> tuple[Stage, str]:
    """A stage with values for all constants without data, and a note of what was made up.

    `source` is `zeros`, `ones`, `arange`, `randn:SEED` or a number. Raises Failure for a constant whose shape is not known: calls
    of PrimFuncs and Relax functions and annotations of variables tell it.
    """
    module = stage.module
    constants = _missing(module)
    if not constants:
        return stage, ""
    infos = _infos(checked(module).module)
    maker = Maker({}, INPUT_LIMIT)
    data = {}
    for number, (key, constant) in enumerate(constants.items()):
        found = infos.get(key, [])
        if len(found) != 1:
            raise _unknown(constant, found)
        info = found[0]
        named = _NUMBER.search(key)
        value = maker.make(info, source, e.Var(key, info, constant.span), int(named[1]) if named else number)
        value.setflags(write=False)
        data[key] = e.Constant(value, s.constant_info(value), "", constant.span)
    note = ", ".join([f"{key.rpartition('.')[2]} {data[key].struct_info}" for key in data])
    return Stage(
        stage.number, stage.made_by, _with_constants(module, data), stage.file
    ), f"{note} by {source}"


def _missing(module: IRModule) -> dict[str, e.Constant]:
    """The constants without data, each once."""
    found: dict[str, e.Constant] = {}
    for fn in module.relax_functions.values():
        for expr in exprs(fn):
            if type(expr) is e.Constant and arguments.is_missing(expr):
                found.setdefault(expr.key, expr)
    return found


def _infos(module: IRModule) -> dict[str, list[s.TensorStructInfo]]:
    """What the program says of each constant without data: known shapes with a dtype."""
    found: dict[str, list[s.TensorStructInfo]] = {}
    for fn in module.relax_functions.values():
        values = {b.var: b.value for b in bindings(fn) if type(b.value) in (e.Constant, e.Tuple)}
        for binding in bindings(fn):
            todo = list(_said(module, binding))
            while todo:
                info, expr = todo.pop()
                expr = values.get(expr, expr) if isinstance(expr, e.Var) else expr
                if isinstance(info, s.TupleStructInfo) and type(expr) is e.Tuple:
                    todo += zip(info.fields, expr.fields, strict=False)
                elif type(expr) is e.Constant and arguments.is_missing(expr) and _is_known(info):
                    known = found.setdefault(expr.key, [])
                    known += [info] if info not in known else []
    return found


def _said(module: IRModule, binding: e.Binding) -> Iterator[tuple[s.StructInfo, e.Expr]]:
    """The StructInfo that a binding demands of parts of its value."""
    value = binding.value
    if type(value) is not e.Call:
        if binding.var is not None and binding.var.struct_info is not None:
            yield binding.var.struct_info, value
        return
    callee, args = value.op, value.args
    if type(callee) is e.OpRef and args and type(args[0]) is e.GlobalVar:  # call_tir and the like
        callee, args = args[0], args[1].fields if type(args[1]) is e.Tuple else args[1:2]
    params = _params(module, callee.name) if type(callee) is e.GlobalVar else ()
    dims: DimMap = {}
    for want, arg in zip(params, args, strict=False):  # outputs have no operand
        if arg.struct_info is not None:
            match_dims(want, arg.struct_info, dims)
    for want, arg in zip(params, args, strict=False):
        yield substitute_info(want, dims), arg


def _params(module: IRModule, name: str) -> Sequence[s.StructInfo]:
    """The StructInfo of the parameters of a function or PrimFunc."""
    fn = module.functions.get(name)
    if isinstance(fn, PrimFunc):
        return prim_func_info(fn).params or ()
    return [param.struct_info or s.OBJECT for param in fn.params] if type(fn) is e.Function else ()


def _is_known(info: s.StructInfo) -> TypeGuard[s.TensorStructInfo]:
    if not isinstance(info, s.TensorStructInfo) or info.dims is None or info.dtype is None:
        return False
    return all(isinstance(dim, p.IntImm) for dim in info.dims)


def _unknown(constant: e.Constant, infos: Sequence[s.StructInfo]) -> Failure:
    text = (
        f"{constant.key} is used as {infos[0]} and as {infos[1]}"
        if infos
        else f"the shape of {constant.key} is not in the text: no call of a function tells it"
    )
    return Failure(
        Diagnostic(
            syntax.MISSING_METADATA,
            text,
            (Label(constant, "", True),),
            help=syntax.MISSING_METADATA.fix,
            severity=Severity.ERROR,
        )
    )


def _with_constants(module: IRModule, data: dict[str, e.Constant]) -> IRModule:
    """The module with these constants."""

    def value(expr: e.Expr) -> e.Expr:
        if type(expr) is e.Constant and arguments.is_missing(expr):
            return e.replace_span(data[expr.key], expr.span)
        if isinstance(expr, e.SeqExpr):
            return sequence(expr)
        if type(expr) is e.If:
            return replace(
                expr,
                condition=value(expr.condition),
                true_branch=value(expr.true_branch),
                false_branch=value(expr.false_branch),
            )
        if type(expr) is e.Function:
            return replace(expr, body=sequence(expr.body))
        return map_operands(expr, value)

    def sequence(seq: e.SeqExpr) -> e.SeqExpr:
        return replace(
            map_blocks(seq, lambda item: replace(item, value=value(item.value))), body=value(seq.body)
        )

    functions = {name: replace(fn, body=sequence(fn.body)) for name, fn in module.relax_functions.items()}
    return module.having({**module.functions, **functions})
