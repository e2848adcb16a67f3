"""What TVM's LegalizeOps decides otherwise: the operators that it leaves, and the names and patterns of its kernels.

Facts about TVM 0.27, which `tests/oracle/test_tvm_kernels.py` asks for. The profile `tvm` follows them, so that fusion makes TVM's
groups. The loops inside a kernel are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from relax_explorer.core.arith import prove
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ops.kit.decl import Fusion, Op
from relax_explorer.core.phases import machine_calls as m

Test = Callable[[e.Call], bool]
Entry = TypeVar("Entry", bound=object)


def is_left_by_tvm(call: e.Call, var: e.Var, name: str) -> bool:
    """True if TVM does not lower a call, whose result is bound to `var`.

    It lowers a tensor whose variable does not tell the lengths only if the operator never tells them.
    """
    test, info = _LEFT.get(name), var.struct_info
    is_unshaped = isinstance(info, s.TensorStructInfo) and info.dims is None and name not in _DATA_DEPENDENT
    return is_unshaped or (test is not None and test(call))


_DATA_DEPENDENT = frozenset({"relax.arange", "relax.dynamic_strided_slice", "relax.nonzero", "relax.unique"})


def without_shape_operands(call: e.Call, name: str) -> e.Call | None:
    """The call that takes the shape of an operand instead of the operand, of which TVM makes a kernel; None if it is the same."""
    info = call.struct_info
    if name not in _LIKE or not isinstance(info, s.TensorStructInfo) or info.dims is None:
        return None
    shape = e.ShapeExpr(info.dims, s.ShapeStructInfo(info.dims))
    other = _LIKE[name]
    if name == "relax.collapse_sum_like":
        return e.Call(e.op_ref(other), (call.args[0], shape), call.attrs, (), info, call.span)
    return e.Call(
        e.op_ref(other), (shape, *call.args[1:]), call.attrs.having(dtype=info.dtype), (), info, call.span
    )


def counted(call: e.Call, name: str) -> e.Constant | None:
    """The numbers that `arange` counts, which TVM makes a constant; None if they are not known, or for another operator."""
    if name != "relax.arange":
        return None
    written = [arg.value for arg in call.args if type(arg) is e.PrimValue]
    numbers = [prim.value for prim in written if isinstance(prim, p.IntImm | p.FloatImm)]
    info = call.struct_info
    if len(numbers) != 3 or not isinstance(info, s.TensorStructInfo) or info.dtype is None:
        return None
    array = np.arange(*numbers, dtype=info.dtype.to_numpy())
    return e.Constant(array, s.constant_info(array))


FORMATS = {"relax.print": ("relax.run.print", 0), "relax.assert_op": ("relax.run.assert_op", 1)}
"""The packed functions of operators that say something, and the place of the format among their arguments."""


def said(call: e.Call, name: str) -> e.Call | None:
    """The call of the packed function that prints or asserts; None for another operator."""
    if name not in FORMATS:
        return None
    packed, place = FORMATS[name]
    written = m.text(str(call.attrs.get("format", "")))
    args = (*call.args[:place], written, *call.args[place:])
    return m.packed(packed, args, call.struct_info or m.UNIT, call)


_LIKE = {
    "relax.collapse_sum_like": "relax.collapse_sum_to",
    "relax.full_like": "relax.full",
    "relax.ones_like": "relax.ones",
    "relax.zeros_like": "relax.zeros",
}


_CONCAT = e.op_ref("relax.concat")


def with_known_operands(call: e.Call, lookup: Callable[[e.Expr], e.Expr | None]) -> e.Call:
    """The call whose tuples are those that their variables hold. What is joined has lengths in the shortest form."""
    args = tuple([(isinstance(arg, e.Var) and lookup(arg)) or arg for arg in call.args])
    info = call.struct_info
    if call.op is _CONCAT and isinstance(info, s.TensorStructInfo) and info.dims is not None:
        dims = tuple([new if (new := simplify(dim)).size < dim.size else dim for dim in info.dims])
        info = info if dims == info.dims else s.TensorStructInfo(dims, info.dtype, -1, info.vdevice)
    return (
        call if args == call.args and info is call.struct_info else replace(call, args=args, struct_info=info)
    )


def kernel_name(op: type[Op], call: e.Call) -> str:
    """The name that TVM gives to the kernel of a call, before a number is added."""
    name = _NAMES.get(op.name)
    if name is None:
        return op.kernel_name()
    return name if isinstance(name, str) else name(call)


def kernel_pattern(call: e.Call, name: str) -> Fusion | None:
    """The pattern that TVM finds in its kernel of a call; None if it is that of ours."""
    rule = _PATTERNS.get(name)
    return rule(call) if rule is not None else None


def _always(call: e.Call) -> bool:
    return True


def _is_symbolic(call: e.Call) -> bool:
    """True if an operand has a length that is no number."""
    infos = [info for arg in call.args if isinstance(info := arg.struct_info, s.TensorStructInfo)]
    return any(type(dim) is not p.IntImm for info in infos for dim in info.dims or ())


def _has_other_layout(call: e.Call) -> bool:
    """True for a pool whose result has another layout than its data."""
    attrs = call.attrs
    return attrs["out_layout"] not in (None, "", attrs["layout"])


def _is_blocked(call: e.Call) -> bool:
    """True for a convolution of blocks of channels, or whose result has another layout than its data."""
    attrs = call.attrs
    data = attrs["data_layout"]
    return attrs["out_layout"] not in (None, "", data) or not data.isalpha()


def _is_unusual_transpose(call: e.Call) -> bool:
    """True for a transposed convolution in other layouts than channels first."""
    attrs = call.attrs
    plain = attrs["data_layout"].startswith("NC") and attrs["kernel_layout"].startswith("IO")
    return _is_blocked(call) or not plain


def _is_dilated(call: e.Call) -> bool:
    return any(number != 1 for number in call.attrs["dilation"])


def _each(names: str, entry: Entry) -> dict[str, Entry]:
    """An entry for each of some operators."""
    return {f"relax.{name}": entry for name in names.split()}


_LEFT: dict[str, Test] = {
    **_each("argsort sort topk cumsum cumprod ewise_fma multinomial_from_uniform wrap_param", _always),
    **_each("nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d", _has_other_layout),
    **_each("nn.max_pool1d nn.max_pool2d nn.max_pool3d", _has_other_layout),
    **_each("nn.conv1d nn.conv2d nn.conv3d", _is_blocked),
    **_each("nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose", _is_unusual_transpose),
    **_each("grad.avg_pool2d_backward grad.max_pool2d_backward", _is_dilated),
}


def _padding(call: e.Call) -> str:
    mode = call.attrs["pad_mode"]
    return "pad" if mode == "constant" else f"{mode}_pad"


def _loss(call: e.Call) -> str:
    return "nll_loss" if len(call.args) == 3 else "nll_loss_without_weight"


def _loss_gradient(call: e.Call) -> str:
    return "nll_loss_backward" if len(call.args) == 4 else "te_nll_loss_backward_no_weight"


def _product(lengths: tuple[p.PrimExpr, ...]) -> p.PrimExpr:
    result: p.PrimExpr = p.IntImm(1)
    for length in lengths:
        result = p.Mul(result, length)
    return result


def _is_padded(call: e.Call) -> bool:
    """True for a layout that has more elements, or may have."""
    given, result = s.lengths(call.args[0].struct_info), s.lengths(call.struct_info)
    return prove.equal(_product(given), _product(result)) is not prove.Answer.YES


_NAMES: dict[str, str | Callable[[e.Call], str]] = {
    "relax.bucketize": "searchsorted",
    "relax.gather_elements": "gather",
    "relax.gather_nd": "te_gather_nd",
    "relax.grad.nll_loss_backward": _loss_gradient,
    "relax.layout_transform": lambda call: (
        "te_layout_transform_with_pad" if _is_padded(call) else "te_layout_transform"
    ),
    "relax.nn.nll_loss": _loss,
    "relax.nn.pad": _padding,
}


def _if_symbolic(pattern: Fusion) -> Callable[[e.Call], Fusion | None]:
    return lambda call: pattern if _is_symbolic(call) else None


def _always_pattern(pattern: Fusion) -> Callable[[e.Call], Fusion | None]:
    return lambda call: pattern


def _of_uneven_windows(call: e.Call) -> Fusion | None:
    """The pattern of an adaptive pool: opaque if on no axis the number of windows divides the length."""
    letters = [letter for letter in call.attrs["layout"] if letter.isalpha()]
    lengths = zip(letters, s.lengths(call.args[0].struct_info), s.lengths(call.struct_info), strict=False)
    even = [
        a
        for letter, a, b in lengths
        if letter in "DHW" and _number(a) and _number(b) and _number(a) % _number(b) == 0
    ]
    return None if even else Fusion.OPAQUE


def _number(length: p.PrimExpr) -> int:
    """A length that is a number; else 0."""
    return length.value if isinstance(length, p.IntImm) else 0


def _of_one_slope(call: e.Call) -> Fusion | None:
    return Fusion.BROADCAST if s.lengths(call.args[1].struct_info) == (p.IntImm(1),) else None


_PATTERNS: dict[str, Callable[[e.Call], Fusion | None]] = {
    **_each(
        "reshape flatten nn.batch_flatten nn.group_norm nn.attention nn.attention_bias nn.attention_var_len "
        "vision.multibox_transform_loc",
        _if_symbolic(Fusion.OPAQUE),
    ),
    **_each("nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d", _of_uneven_windows),
    **_each("argmax argmin vision.roi_align vision.roi_pool", _always_pattern(Fusion.OUT_ELEMENTWISE)),
    **_each("scatter_nd slice_scatter grad.nll_loss_backward", _always_pattern(Fusion.OPAQUE)),
    "relax.nn.batch_norm": lambda call: None if call.attrs["training"] else Fusion.INJECTIVE,
    "relax.layout_transform": lambda call: Fusion.INJECTIVE if _is_padded(call) else None,
    "relax.nn.prelu": _of_one_slope,
    "relax.repeat": lambda call: Fusion.OPAQUE if call.attrs["axis"] is None and _is_symbolic(call) else None,
}
