"""FoldBatchnormToConv2D: multiply the weights of a convolution by the factors of the batch norm behind it."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pattern_rules import Rule, apply_rules, call
from relax_explorer.core.passes.readings import operators
from relax_explorer.core.patterns.matcher import Match
from relax_explorer.core.patterns.pattern import is_const, is_op, is_tuple_get_item, wildcard
from relax_explorer.core.phases.module_properties import BUILTINS_LOWERED, NORMAL_FORM, SHAPES_LOWERED


@function_pass(
    "FoldBatchnormToConv2D",
    reads=[operators("nn.batch_norm", "nn.conv2d")],
    rebuilds=True,
    requires=[NORMAL_FORM],
    invalidates=[BUILTINS_LOWERED, SHAPES_LOWERED],
)
def fold_batchnorm_to_conv2d(fn: e.Function, at: PassSite) -> e.Function:
    """Replace `batch_norm(conv2d(x, w), …)[0]` with constant parameters by a convolution with scaled weights, and an addition.

    As for inference, the moving moments count. FoldConstant then computes the scaled weights.
    In the profile `tvm` the results of branches lose their lengths.
    """
    return apply_rules(fn, at, [Rule("fold a batch norm", _FIRST, _folded)])


_X, _WEIGHT = wildcard(), is_const()
_GAMMA, _BETA, _MEAN, _VARIANCE = is_const(), is_const(), is_const(), is_const()
_CONV = is_op("relax.nn.conv2d")(_X, _WEIGHT)
_NORM = is_op("relax.nn.batch_norm")(_CONV, _GAMMA, _BETA, _MEAN, _VARIANCE)
_FIRST = is_tuple_get_item(_NORM, 0)
# The axis of output channels in the weights.
_CHANNELS = {"OIHW": 0, "IOHW": 1}


def _folded(found: Match) -> e.Expr | None:
    conv, norm = found.call(_CONV), found.call(_NORM)
    layouts = {conv.attrs.get(name) or "NCHW" for name in ("data_layout", "out_layout")}
    axis = _CHANNELS.get(conv.attrs["kernel_layout"])
    plain = norm.attrs["axis"] in (1, -3) and norm.attrs["center"] and norm.attrs["scale"]
    if axis is None or layouts != {"NCHW"} or not plain:
        return None
    if not all(s.lengths(found[numbers].struct_info) for numbers in (_GAMMA, _BETA)):
        return None  # a text without the data of its constants may not tell their shapes
    epsilon = p.FloatImm(norm.attrs["epsilon"], FLOAT32)
    deviation = call(
        "relax.sqrt",
        call("relax.add", found[_VARIANCE], e.PrimValue(epsilon, s.PrimStructInfo(FLOAT32, epsilon))),
    )
    factor = call("relax.divide", found[_GAMMA], deviation)
    offset = call("relax.subtract", found[_BETA], call("relax.multiply", found[_MEAN], factor))
    weight = call("relax.multiply", found[_WEIGHT], _along(axis, factor, found[_GAMMA]))
    scaled = e.Call(conv.op, (found[_X], weight), conv.attrs)
    return call("relax.add", scaled, _along(1, offset, found[_BETA]))


def _along(axis: int, channels: e.Expr, like: e.Expr) -> e.Call:
    """Numbers by channels, as a tensor of rank 4 with the channels at `axis`."""
    lengths: list[p.PrimExpr] = [p.IntImm(1)] * 4
    lengths[axis] = s.lengths(like.struct_info)[0]
    return call("relax.reshape", channels, e.ShapeExpr(tuple(lengths)))
