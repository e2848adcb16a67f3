"""Values for operator examples: random operands, the computed results, and a check that a result has its inferred type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ml_dtypes import finfo

import relax_explorer as rxe
from relax_explorer.core.check.infer import Inferrer
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, uncompiled
from relax_explorer.core.exec.scalars import evaluate as number
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, DType
from relax_explorer.core.ir.prim import IntImm, PrimExpr, free_vars
from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit import legalize
from relax_explorer.core.ops.kit.decl import NotLowered
from tests.support.op_examples import Example
from tests.support.op_places import PLACES

_INFER = Inferrer(Report(), lambda _: None)
LOOSE = {
    "float8_e4m3fn": 0.13,
    "float8_e5m2": 0.26,
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 2e-5,
    "float64": 1e-12,
}
"""The tolerance of results by dtype, relative to the larger one, or absolute below 1."""


@dataclass
class Setting:
    """One call of an operator with values; `sizes` are the values of its symbols by name."""

    module: Any
    sizes: Mapping[str, int]
    seed: int = 0
    edges: bool = False
    values: dict[Any, Any] = field(default_factory=dict)

    @property
    def call(self) -> Any:
        """The call of the operator."""
        return self.module["main"].body.blocks[0].bindings[-1].value

    @property
    def info(self) -> Any:
        """Its inferred type."""
        return self.module["main"].body.blocks[0].bindings[-1].var.struct_info

    def length(self, dim: PrimExpr) -> Any:
        """A dimension as a number."""
        found = number(dim, {var: self.sizes[var.name] for var in free_vars(dim)})
        assert found is not None, f"{dim} has no value"
        return int(found) if dim.dtype.is_int else np.asarray(found, dim.dtype.to_numpy())[()]

    def value(self, arg: Any) -> Any:
        """The value of an operand, or of a scalar argument of a call_tir."""
        if type(arg) is e.Tuple:
            return tuple(self.value(item) for item in arg.fields)
        if type(arg) is e.ShapeExpr:
            return tuple(self.length(dim) for dim in arg.values)
        if type(arg) is e.PrimValue:
            return self.length(arg.value)
        if type(arg) in (e.DataTypeImm, e.StringImm):
            return arg.value
        if arg not in self.values:
            rng = np.random.default_rng([self.seed, len(self.values)])
            info = (
                arg.struct_info if isinstance(arg.struct_info, s.TensorStructInfo) else s.TensorStructInfo()
            )
            # defaults: 2 axes for an unknown rank, 3 for an unknown length, float32 for an unknown dtype
            known = info.dims if info.dims is not None else (IntImm(3),) * (2 if info.ndim < 0 else info.ndim)
            made = elements(rng, tuple(map(self.length, known)), info.dtype or FLOAT32)
            if self.edges and self._operand(arg) in AT_EDGES:
                name = self.call.op.name.removeprefix("relax.")
                second = arg is self.call.args[-1]
                if not (second and name in _SHIFTS):
                    made = at_edges(rng, made, name, second)
            self.values[arg] = self._rising(rng, arg, self._inside(rng, arg, made))
        return self.values[arg]

    def _operand(self, arg: Any) -> str:
        """The name of the operand that a variable is, or is a field of."""
        for q, given in zip(table()[self.call.op.name].operands, self.call.args, strict=False):
            if arg is given or (type(given) is e.Tuple and arg in given.fields):
                return q.name
        return ""

    def _inside(self, rng: np.random.Generator, arg: Any, made: Any) -> Any:
        """The elements of an operand; indices into another operand are chosen in range."""
        places = PLACES.get(self.call.op.name)
        if places is None:
            return made
        op = table()[self.call.op.name]
        given = dict(zip([q.name for q in op.operands], self.call.args, strict=False))
        whole, of = given[places.operand], given[places.of].struct_info
        fields = whole.fields if type(whole) is e.Tuple else (whole,)
        if arg not in fields or getattr(of, "dims", None) is None:
            return made

        def some(shape: tuple[int, ...], n: int) -> Any:
            length = self.length(of.dims[places.axis(self.call.attrs, of.ndim, n)])
            return rng.integers(0, max(length, 1), shape).astype(made.dtype)

        if not places.columns:
            return some(made.shape, fields.index(arg))
        for n in range(1 if places.first_only else min(made.shape[-1], of.ndim)):
            made[..., n] = some(made.shape[:-1], n)
        return made

    def _rising(self, rng: np.random.Generator, arg: Any, made: Any) -> Any:
        """The elements of an operand; starts of sequences never fall, and stay inside queries and keys."""
        if not self._operand(arg).startswith("seqstart"):
            return made
        rooms = [self.length(x.struct_info.dims[1]) for x in self.call.args[:2]]
        return np.sort(rng.integers(0, min(rooms) + 1, made.shape)).astype(made.dtype)

    def has_no_place(self) -> bool:
        """True if indices point into an empty axis, so that no value is right."""
        places = PLACES.get(self.call.op.name)
        names = [q.name for q in table()[self.call.op.name].operands]
        if places is None:
            return False
        whole, of = (self.value(self.call.args[names.index(name)]) for name in (places.operand, places.of))
        return any(
            np.size(one) and not of.shape[places.axis(self.call.attrs, of.ndim, n)]
            for n, one in enumerate(whole if isinstance(whole, tuple) else (whole,))
        )

    def inputs(self) -> list[Any]:
        """The arguments of the function."""
        found = []
        for param in self.module["main"].params:
            shape = isinstance(param.struct_info, s.ShapeStructInfo)
            found.append(tuple(map(self.length, param.struct_info.values)) if shape else self.value(param))
        return found

    def evaluate(self, op: Any) -> Any:
        """The result of the operator for the operands."""
        args = [self.value(arg) for arg in self.call.args]
        with np.errstate(all="ignore"):
            return op.evaluate(*args, *[None] * (len(op.operands) - len(args)), **self.call.attrs)


def setting(example: Example, sizes: Mapping[str, int], seed: int = 0, edges: bool = False) -> Setting:
    """The example with values; with `edges`, some are extreme values of their dtype."""
    return Setting(rxe.normalize(rxe.parse(example.module())), sizes, seed, edges)


def elements(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Any:
    """Random elements: floats between -2 and 3, or small integers other than 0."""
    kind = dtype.to_numpy()
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_int:
        return rng.integers(1, 5, shape).astype(kind)
    return np.asarray(rng.uniform(-2, 3, shape)).astype(kind)


def at_edges(rng: np.random.Generator, made: Any, name: str, second: bool) -> Any:
    """Replace about half of the elements by difficult ones: NaN, infinite, least, largest, halves.

    Elements are left out if the operator `name` has no defined value for them: a divisor of 0, numbers so large that a
    result depends on the order of a sum, and a NaN among sorted elements. So is NaN where TVM takes it for equal to itself.
    """
    kind = made.dtype
    if kind.kind == "b":
        return made
    if kind.kind in "iu":
        low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        numbers = [low, low + 1, low // 2, high, high - 1, 0, 1, 7] + [-1, -2, -7] * (kind.kind == "i")
        picked = np.array(
            [number for number in numbers if number or not (second and name in _DIVISIONS)], kind
        )
    else:
        info = finfo(kind)
        limits = [] if name.startswith(_SUMS) else [float(info.max), float(info.min), float(info.tiny)]
        special = [np.inf, -np.inf] + [np.nan] * (not name.startswith(_ORDERS))
        picked = np.array([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, *limits, *special]).astype(kind)
    chosen = rng.choice(picked, made.shape)
    return np.where(rng.integers(0, 2, made.shape).astype(bool), chosen, made).astype(kind)


AT_EDGES = frozenset(
    (
        "x",
        "x1",
        "x2",
        "x3",
        "data",
        "input_tensor",
        "tensors",
        "condition",
        "fill_value",
        "src",
        "updates",
        "values",
    )
)
"""Operands whose elements may be any number; others are indices, lengths, scales."""
EDGED = frozenset(
    (
        "elementwise", "binary", "ternary", "linalg", "reduction", "scan", "sort", "activation", "softmax", "pad",
        "pool", "manipulate", "joining", "create", "index", "gather", "scatter", "collapse", "median",
    )
)  # fmt: skip
"""Families of operators that are defined on every number."""
_DIVISIONS = frozenset({"divide", "floor_divide", "mod", "floor_mod"})
_SHIFTS = frozenset({"left_shift", "right_shift"})  # shifts must be less than the width
_ORDERS = ("not_equal", "sort", "argsort", "topk", "median", "unique", "bucketize")
_SUMS = (
    "log_add_exp",
    "matmul", "outer", "einsum", "sum", "mean", "variance", "std", "cumsum", "prod", "cumprod", "nn.avg_pool", "nn.softmax",
    "nn.log_softmax", "nn.adaptive", "collapse", "scatter", "index_put",
)  # fmt: skip


def compiled(at: Setting, reference: bool = False) -> tuple[Any, ...] | None:
    """The result of the call's PrimFunc, compiled or run by the reference evaluator; None if it has no lowering."""
    try:
        low = legalize.lower(at.call, [_INFER.info(arg) for arg in at.call.args])
    except NotLowered:
        return None
    infos: tuple[Any, ...] = getattr(low.out, "fields", (low.out,))
    results = [np.empty(tuple(map(at.length, info.dims)), info.dtype.to_numpy()) for info in infos]
    fn = low.prim_func
    kernel = uncompiled(fn) if reference else compile_prim_func(fn)
    kernel(*[at.value(arg) for arg in low.args], *results)
    return tuple(results)


def mismatch(value: Any, info: Any, at: Setting) -> str:
    """The reason why a value does not have a type; empty if it does."""
    if isinstance(info, s.TupleStructInfo):
        if not isinstance(value, tuple) or len(value) != len(info.fields):
            return f"{type(value).__name__} is no tuple of {len(info.fields)}"
        return "".join(mismatch(item, part, at) for item, part in zip(value, info.fields, strict=True))
    if info is s.OBJECT:
        return ""
    if isinstance(info, s.PrimStructInfo):
        kind = np.asarray(value).dtype
        scalar = isinstance(value, (np.generic, int, float)) and kind == info.dtype.to_numpy()
        return "" if scalar else f"{value!r} is no scalar of {info.dtype}"
    if not isinstance(value, np.ndarray):
        return f"{type(value).__name__} is no array"
    if info.dims is None:  # known at run time
        known = value.ndim == info.ndim and value.dtype == info.dtype.to_numpy()
        return "" if known else f"{value.dtype} of rank {value.ndim} instead of {info}"
    shape = tuple(map(at.length, info.dims))
    if value.shape != shape or value.dtype != info.dtype.to_numpy():
        return f"{value.dtype}{value.shape} instead of {info.dtype}{shape}"
    return ""


def apart(a: Any, b: Any, *, added_up: bool = False) -> str:
    """The place where two results differ by more than their dtype explains; empty if nowhere.

    With `added_up`, elements of narrow floats may be as wrong as the largest one, since sums in that dtype lose as much.
    """
    if len(as_tuple(a)) != len(as_tuple(b)):
        return f"{len(as_tuple(a))} results and {len(as_tuple(b))}"
    for n, (x, y) in enumerate(zip(as_tuple(a), as_tuple(b), strict=True)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"result {n}: {x.dtype}{x.shape} and {y.dtype}{y.shape}"
        left, right, wrong = x, y, x != y
        if x.dtype.kind not in "iub":
            left, right = x.astype(np.float64), y.astype(np.float64)
            wrong = _too_far(left, right, LOOSE[x.dtype.name], added_up)
        if wrong.any():
            return f"result {n}, {wrong.sum()} of {wrong.size}: {left[wrong][:6]} and {right[wrong][:6]}"
    return ""


def _too_far(left: Any, right: Any, limit: float, added_up: bool) -> Any:
    """The places where floats differ by more than `limit`, see LOOSE."""
    largest = np.abs(right[np.isfinite(right)]).max(initial=0) if added_up and limit > 1e-3 else 0.0
    return ~np.isclose(left, right, rtol=limit, atol=limit * max(1.0, largest), equal_nan=True)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """One result, or several."""
    return value if isinstance(value, tuple) else (value,)
