"""Operators as calls of simpler ones, for the passes that decompose them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import numpy as np

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import called
from relax_explorer.core.passes.contract import PassSite, function_pass, relax_function
from relax_explorer.core.passes.pattern_rules import call
from relax_explorer.core.passes.readings import OPERATORS
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
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
