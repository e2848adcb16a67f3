"""Operators by others: as calls of simpler ones (DecomposeOps…), and by short formulas that are fast and nearly right (FastMathTransform)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Annotated

import numpy as np

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.check.infer import UNREPORTED
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT16, FLOAT32, INT32, INT64
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import called
from relax_explorer.core.ops.kit import legalize
from relax_explorer.core.ops.kit.decl import NotLowered
from relax_explorer.core.ops.kit.te import Te, Tensor, lowest
from relax_explorer.core.ops.kit.te import call as te_call
from relax_explorer.core.ops.tensor.reduction import reduce_stage
from relax_explorer.core.passes.contract import PassSite, function_pass, relax_function
from relax_explorer.core.passes.pattern_rules import call
from relax_explorer.core.passes.readings import OPERATORS
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
    ADDED_KERNELS,
    NO_HIGH_LEVEL_OPS,
    NO_TENSOR_TO_SHAPE,
    NORMAL_FORM,
    PURITY_ERASED,
    SHAPES_LOWERED,
)

Decomposition = Callable[[BlockBuilder, e.Call, str], e.Expr | None]
"""Emits the parts of a call and returns its new value, or None to keep the call. The text is the name of its variable."""


def decomposed(
    fn: e.Function, at: PassSite, table: Mapping[str, Decomposition], func_name: str
) -> e.Function:
    """The function, if it has this name or none is given, with the calls of the operators in `table` replaced by their parts."""
    if func_name and relax_function(at.module, func_name) is not at.module.functions[at.function]:
        at.waived.add(NO_TENSOR_TO_SHAPE)
        return fn
    if at.as_tvm:
        table = {**table, "relax.tensor_to_shape": tensor_to_any_shape}

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        decompose = table.get(called(value))
        if type(binding) is not e.VarBinding or type(value) is not e.Call or decompose is None:
            return binding
        build = walk.front_of(binding)
        new = decompose(build, value, binding.var.name)
        if new is None:
            if called(value) == "relax.tensor_to_shape":
                at.waived.add(NO_TENSOR_TO_SHAPE)
            return binding
        var = binding.var
        if type(new) is e.ShapeExpr:  # now its lengths have names
            var = e.var_like(var, new.struct_info)
            walk.rename(binding.var, var)
            binding = replace(binding, annotation=None)
        return *build.bindings, replace(binding, var=var, value=e.replace_span(new, value.span))

    return rewrite(fn, at, rule)


def batch_norm(build: BlockBuilder, norm: e.Call, name: str) -> e.Expr | None:
    """The normalized tensor of a batch norm with its given moments."""
    if not is_known(norm.args[0]):
        return None
    return _with_moments(build, norm, norm.args[3], norm.args[4])


def batch_norm_of_batch(build: BlockBuilder, norm: e.Call, name: str) -> e.Expr | None:
    """A batch norm with the moments of the batch, and the moving moments after it."""
    if not is_known(norm.args[0]):
        return None
    axes, momentum = _other_axes(norm), norm.attrs["momentum"]
    mean = build.emit(call("relax.mean", norm.args[0], axis=axes, keepdims=False))
    variance = build.emit(call("relax.variance", norm.args[0], axis=axes, keepdims=False))
    whole = build.emit(_with_moments(build, norm, mean, variance))
    result = build.emit(e.TupleGetItem(whole, 0))
    moved = [
        build.emit(
            call(
                "relax.add",
                call("relax.multiply", _constant(1 - momentum, norm), old),
                call("relax.multiply", _constant(momentum, norm), new),
            )
        )
        for old, new in ((norm.args[3], mean), (norm.args[4], variance))
    ]
    return e.tuple_of((result, *moved))


def _with_moments(build: BlockBuilder, norm: e.Call, mean: e.Expr, variance: e.Expr) -> e.Tuple:
    axes = _other_axes(norm)

    def along(channels: e.Expr) -> e.Call:
        return call("relax.expand_dims", channels, axis=axes)

    centred = call("relax.subtract", norm.args[0], along(mean))
    deviation = call("relax.sqrt", call("relax.add", along(variance), _constant(norm.attrs["epsilon"], norm)))
    result = _moved(norm, call("relax.divide", centred, deviation), *map(along, norm.args[1:3]))
    return e.tuple_of((build.emit(result), mean, variance))


def _moved(norm: e.Call, result: e.Expr, scale: e.Expr, offset: e.Expr) -> e.Expr:
    """A normalized tensor, scaled and moved as far as the norm does so."""
    if norm.attrs["scale"]:
        result = call("relax.multiply", result, scale)
    return call("relax.add", result, offset) if norm.attrs["center"] else result


def layer_norm(build: BlockBuilder, norm: e.Call, name: str) -> e.Expr | None:
    """A layer norm as a mean, a variance and arithmetic."""
    x, *parameters = norm.args
    axes = norm.attrs["axes"]
    between = _unnormalized(x, axes)
    if between is None:
        return None
    # The parameters have the normalized axes only.
    scale, offset = [call("relax.expand_dims", arg, axis=between) if between else arg for arg in parameters]
    centred = call("relax.subtract", x, call("relax.mean", x, axis=axes, keepdims=True))
    variance = call("relax.variance", x, axis=axes, keepdims=True)
    deviation = call("relax.sqrt", call("relax.add", variance, _constant(norm.attrs["epsilon"], norm)))
    return build.informed(_moved(norm, call("relax.divide", centred, deviation), scale, offset))


def _unnormalized(x: e.Expr, axes: Sequence[int]) -> list[int] | None:
    """The axes behind the first of `axes` that are none of them, counted from it. None if they are not known, or not in order."""
    info = x.struct_info
    if not isinstance(info, s.TensorStructInfo) or not is_known(x):
        return None
    of = [axis % info.ndim for axis in axes]
    if of != sorted(of):
        return None
    return [axis - of[0] for axis in range(of[0], info.ndim) if axis not in of]


def tensor_to_shape(build: BlockBuilder, conversion: e.Call, name: str) -> e.Expr | None:
    """A shape of new shape variables, which a match_cast binds to the elements of the vector."""
    rank = s.lengths(conversion.args[0].struct_info)[0]
    return _shape_of_rank(build, conversion, name, rank.value) if isinstance(rank, p.IntImm) else None


def tensor_to_any_shape(build: BlockBuilder, conversion: e.Call, name: str) -> e.Expr | None:
    """As `tensor_to_shape`, but a vector of unknown length becomes a shape without lengths, as in TVM."""
    return tensor_to_shape(build, conversion, name) or _shape_of_rank(build, conversion, name, -1)


def _shape_of_rank(build: BlockBuilder, conversion: e.Call, name: str, rank: int) -> e.Expr:
    dims = tuple([p.PrimVar(f"x_{n}", INT64) for n in range(rank)])
    packed = e.Call(
        e.op_ref("relax.call_pure_packed"),
        (m.extern("vm.builtin.tensor_to_shape"), conversion.args[0]),
        sinfo_args=(s.ShapeStructInfo(None, rank),),
    )
    # As in TVM, the variable of the match_cast is visible outside its dataflow block.
    info = s.ShapeStructInfo(dims)
    build.add(e.MatchCast(e.Var(build.names(name)), build.emit(packed), info, None, conversion.span))
    return m.shape(dims)


def is_known(x: e.Expr) -> bool:
    """True if the rank and the dtype of a tensor are known."""
    info = x.struct_info
    return isinstance(info, s.TensorStructInfo) and info.ndim >= 0 and info.dtype is not None


def _other_axes(norm: e.Call) -> tuple[int, ...]:
    """The axes of the data except that of the channels."""
    info = norm.args[0].struct_info
    assert isinstance(info, s.TensorStructInfo)  # the callers asked for a known rank
    return tuple([axis for axis in range(info.ndim) if axis != norm.attrs["axis"] % info.ndim])


def _constant(value: float, norm: e.Call) -> e.Constant:
    """A number in the dtype of the data."""
    info = norm.args[0].struct_info
    assert isinstance(info, s.TensorStructInfo)  # the callers asked for a known dtype
    assert info.dtype is not None
    array = np.array(value, info.dtype.to_numpy())
    return e.Constant(array, s.constant_info(array))


# -- decompose ops for inference -------------------------------------------------------------------------------------
# DecomposeOpsForInference: replace operators by simpler ones, for inference.


_INFERENCE_PARTS = {
    "relax.nn.batch_norm": batch_norm,
    "relax.tensor_to_shape": tensor_to_shape,
}


@function_pass(
    "DecomposeOpsForInference",
    rebuilds=True,
    reads=[OPERATORS],
    requires=[NORMAL_FORM],
    establishes=[NO_TENSOR_TO_SHAPE],
    invalidates=[NO_HIGH_LEVEL_OPS, PURITY_ERASED, SHAPES_LOWERED],
)
def decompose_ops_for_inference(
    fn: e.Function,
    at: PassSite,
    *,
    func_name: Annotated[str, "the function to change; all by default"] = "",
) -> e.Function:
    """Write `nn.batch_norm` as arithmetic with its moving moments, and `tensor_to_shape` as a packed call with a match_cast.

    `nn.batch_norm(x, gamma, beta, mean, var)` becomes `((x - mean) / sqrt(var + epsilon) * gamma + beta, mean, var)`. A call stays if
    the rank or the dtype of its data is unknown. In the profile `tvm` a vector of unknown length becomes a shape without lengths.
    """
    return decomposed(fn, at, _INFERENCE_PARTS, func_name)


# -- decompose ops for training --------------------------------------------------------------------------------------
# DecomposeOpsForTraining: replace operators by simpler ones, for training.


_TRAINING_PARTS = {
    "relax.nn.batch_norm": batch_norm_of_batch,
    "relax.nn.layer_norm": layer_norm,
    "relax.tensor_to_shape": tensor_to_shape,
}


@function_pass(
    "DecomposeOpsForTraining",
    rebuilds=True,
    reads=[OPERATORS],
    requires=[NORMAL_FORM],
    establishes=[NO_TENSOR_TO_SHAPE],
    invalidates=[NO_HIGH_LEVEL_OPS, PURITY_ERASED, SHAPES_LOWERED],
)
def decompose_ops_for_training(
    fn: e.Function,
    at: PassSite,
    *,
    func_name: Annotated[str, "the function to change; all by default"] = "",
) -> e.Function:
    """Write `nn.batch_norm` and `nn.layer_norm` as arithmetic with the moments of their data, which has a gradient.

    `nn.layer_norm(x, gamma, beta, axes)` becomes `(x - mean) / sqrt(variance + epsilon) * gamma + beta`. A batch norm also returns its
    moving moments after the batch. `tensor_to_shape` becomes a packed call with a match_cast. In the profile
    `tvm` a vector of unknown length becomes a shape without lengths.
    """
    return decomposed(fn, at, _TRAINING_PARTS, func_name)


# -- fast math transform ---------------------------------------------------------------------------------------------
# FastMathTransform: compute exp, erf, tanh and softmax by short formulas that are fast and nearly right.


@function_pass(
    "FastMathTransform",
    rebuilds=True,
    reads=[OPERATORS],
    only_with=[OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=ADDED_KERNELS,
)
def fast_math_transform(fn: e.Function, at: PassSite) -> e.Function:
    """Replace exp, erf, tanh and nn.softmax by kernels that approximate them.

    exp is a formula of Cephes with a relative error below 5e-6, and 0 below -87.34. erf and tanh are quotients of polynomials from
    Eigen with an absolute error below 5e-7. They are made for float32, that of erf serves float16 as well; kernels of other
    dtypes compute exactly. A call whose shape or dtype is unknown stays, and a warning tells it.
    """

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        kernel = _KERNELS.get(called(value))
        if type(binding) is not e.VarBinding or type(value) is not e.Call or kernel is None:
            return binding
        infos = [UNREPORTED.info(arg) for arg in value.args]
        try:
            for info in (*infos, value.struct_info or s.OBJECT):
                legalize.need_known(info, "its operand")
        except NotLowered as reason:
            at.report.say(codes.NO_LEGALIZATION, f"{called(value)} is kept: {reason}", value)
            return binding
        name, formula = kernel
        at.rule = name
        function, scalars = _kernel(value, infos, name, formula, at)
        build = walk.front_of(binding)
        out = value.struct_info or s.OBJECT
        return replace(binding, value=build.call_tir(function, (*value.args, *scalars), out))

    return rewrite(fn, at, rule)


def _kernel(
    value: e.Call, infos: list[s.StructInfo], name: str, formula: legalize.KernelRule, at: PassSite
) -> tuple[e.GlobalVar, tuple[e.Expr, ...]]:
    """The kernel of a call, shared by equal calls, and the scalars that it takes behind the tensor."""

    def make() -> tuple[e.GlobalVar, tuple[e.Expr, ...]]:
        rule = partial(formula, **value.attrs)
        fn, args = legalize.kernel(_of_one(rule), value.args, infos, value.struct_info or s.OBJECT)
        return at.editor.add(name, fn), args[1:]

    return at.once((name, legalize.exact_key(value, infos)), make)


def _of_one(rule: legalize.KernelRule) -> legalize.KernelRule:
    """A rule that needs no StructInfo of its result."""
    return lambda te, data, _: rule(te, data)


# -- formulas -----------------------------------------------------------------------------------------------------


def _singles(*values: float) -> tuple[float, ...]:
    """The numbers of a formula that was made for float32."""
    return tuple([float(np.float32(value)) for value in values])


def _polynomial(x: p.PrimExpr, coefficients: tuple[float, ...]) -> p.PrimExpr:
    """By Horner's rule, the highest power first: x * (x * a + b) + c."""
    first, *rest = (p.as_prim(a, x.dtype) for a in coefficients)
    return reduce(lambda sum_, a: p.Add(p.Mul(x, sum_), a), rest, first)


def _exp(x: p.PrimExpr) -> p.PrimExpr:
    """exp(x) is 2 ** n * exp(f), where n is x / log(2), rounded, and the rest f is small. Cephes, `expf`."""
    if x.dtype is not FLOAT32:
        return te_call("exp", x)
    number = partial(p.as_prim, dtype=FLOAT32)
    most, least, log2_e, log_2 = map(number, _BOUNDS_AND_LOGARITHMS)
    x_in = p.Max(p.Min(x, most), least)
    n = te_call("floor", p.Add(p.Mul(x_in, log2_e), number(0.5)))
    f = p.Sub(x_in, p.Mul(n, log_2))
    first, *rest = map(number, _EXP)
    y = reduce(lambda sum_, a: p.Add(p.Mul(sum_, f), a), rest, first)
    y = p.Add(p.Add(p.Mul(p.Mul(y, f), f), f), number(1.0))
    exponent = p.Cast(INT32, p.Add(n, number(127.0)))
    power = p.PrimCall("shift_left", (exponent, p.IntImm(23, INT32)), INT32)
    bits = p.PrimCall("reinterpret", (p.PrimString("float32"), power), FLOAT32)
    return p.Max(p.Mul(bits, y), x)


_BOUNDS_AND_LOGARITHMS = _singles(88.3762626647950, -88.3762588500976, 1.44269504088896341, 0.693147180559945)
_EXP = _singles(
    1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1
)


def _elementwise(te: Te, name: str, data: Tensor) -> Tensor:
    return te.compute(name, data.shape, lambda *i: _exp(data[i]))


def _fast_exp(te: Te, data: Tensor) -> Tensor:
    return _elementwise(te, "T_fast_exp", data)


def _fast_erf(te: Te, data: Tensor) -> Tensor:
    """x * P(x ** 2) / Q(x ** 2) between -4 and 4. Eigen, `erf`."""
    if data.dtype not in (FLOAT16, FLOAT32):
        return te.compute("T_erf", data.shape, lambda *i: te_call("erf", data[i]))

    def at(x: p.PrimExpr) -> p.PrimExpr:
        x = p.Max(p.Min(x, p.as_prim(4.0, x.dtype)), p.as_prim(-4.0, x.dtype))
        square = p.Mul(x, x)
        return p.Div(p.Mul(x, _polynomial(square, _ERF)), _polynomial(square, _ERF_BELOW))

    return te.compute("T_fast_erf", data.shape, lambda *i: at(data[i]))


_ERF = _singles(
    -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04,
    -2.95459980854025e-03, -1.60960333262415e-02,
)  # fmt: skip
_ERF_BELOW = _singles(
    -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02
)  # fmt: skip


def _fast_tanh(te: Te, data: Tensor) -> Tensor:
    """x * P(x ** 2) / Q(x ** 2) between -9 and 9. Eigen, `generic_fast_tanh_float`."""
    if data.dtype is not FLOAT32:
        return te.compute("T_fast_tanh", data.shape, lambda *i: te_call("tanh", data[i]))
    least, most = p.as_prim(-9.0, FLOAT32), p.as_prim(9.0, FLOAT32)
    below = te.compute("T_minimum", data.shape, lambda *i: p.Min(most, data[i]))
    within = te.compute("T_maximum", data.shape, lambda *i: p.Max(least, below[i]))

    def at(x: p.PrimExpr) -> p.PrimExpr:
        square = p.Mul(x, x)
        return p.Div(p.Mul(x, _polynomial(square, _TANH)), _polynomial(square, _TANH_BELOW))

    return te.compute("T_fast_tanh", data.shape, lambda *i: at(within[i]))


_TANH = (
    -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08, 1.48572235717979e-05,
    6.37261928875436e-04, 4.89352455891786e-03,
)  # fmt: skip
_TANH_BELOW = (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)


def _fast_softmax(te: Te, data: Tensor, axis: int) -> Tensor:
    """Maximum, difference, powers, sum, quotient."""
    place = axis % data.ndim

    def drop(i: tuple[p.PrimExpr, ...]) -> tuple[p.PrimExpr, ...]:
        return (*i[:place], *i[place + 1 :])

    largest = reduce_stage(te, data, (place,), False, "T_softmax_maxelem", p.Max, lowest(data.dtype))
    shifted = te.compute("T_softmax_delta", data.shape, lambda *i: p.Sub(data[i], largest[drop(i)]))
    power = _elementwise(te, "T_fast_exp", shifted)
    total = reduce_stage(te, power, (place,), False, "T_softmax_expsum", p.Add, p.as_prim(0, data.dtype))
    return te.compute(
        "T_softmax_norm", data.shape, lambda *i: p.Div(power[i], total[drop(i)]), None, {"axis": place}
    )


_KERNELS: dict[str, tuple[str, legalize.KernelRule]] = {
    "relax.exp": ("fast_exp", _fast_exp),
    "relax.erf": ("fast_erf", _fast_erf),
    "relax.tanh": ("fast_tanh", _fast_tanh),
    "relax.nn.softmax": ("fast_softmax", _fast_softmax),
}
