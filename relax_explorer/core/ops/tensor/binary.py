"""Operators that work element by element on two tensors, which broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Code
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import BOOL, FLOAT32, UINT64, DType, from_numpy
from relax_explorer.core.ir.struct_info import is_same_place
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.binary_math import (
    Element,
    Function,
    as_floats,
    bits,
    checked,
    difference,
    divide,
    floated,
    floor_divide,
    floor_mod,
    floor_quotient,
    floor_rest,
    index,
    larger,
    log_add_exp,
    log_sum,
    of_bits,
    power,
    raised,
    result_shape,
    shifted,
    smaller,
    subtract,
    truth,
)
from relax_explorer.core.ops.kit.decl import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    Fusion,
    NotLowered,
    Op,
    Site,
    Stops,
    operand,
)
from relax_explorer.core.ops.kit.devices import is_spread
from relax_explorer.core.ops.kit.flop_count import each
from relax_explorer.core.ops.kit.ndarrays import UFUNCS, Array, OfNumpy
from relax_explorer.core.ops.kit.te import Te, Tensor, cast


class Arithmetic(Op):
    """Base of the element-wise operators on two tensors of one dtype; a scalar counts as a tensor of rank 0."""

    raises: ClassVar[tuple[Code, ...]] = (codes.DTYPES_DIFFER, codes.NOT_BROADCASTABLE)
    stops = Stops.RELATIONS
    broadcasts = True
    takes_numbers = True
    literals = ("x2", "x1")
    x1: Tensor = operand("left tensor, or a scalar")
    x2: Tensor = operand("right tensor, or a scalar")
    fusion = Fusion.BROADCAST
    examples: ClassVar[tuple[str, ...]] = (
        "f32[n,4] f32[4] -> f32[n,4]",
        "i32[2,1] i32[3] -> i32[2,3]",
        "f32[] f32[n] -> f32[n]",
    )

    @staticmethod
    def infer(at: Site, x1: s.StructInfo, x2: s.StructInfo) -> s.StructInfo:
        """The broadcast shape and the common dtype (with bool, the dtype of x1); a scalar for two scalars."""
        left, right = _as_tensor(at, x1, "x1"), _as_tensor(at, x2, "x2")
        _need_one_device(at, left, right)
        kind = rules.common_dtype(at, x1=left, x2=right)
        return _both_scalars(x1, x2, kind) or rules.broadcast_info(at, left, right, kind)


def _as_tensor(at: Site, info: s.StructInfo, name: str) -> s.TensorStructInfo:
    """An operand as a tensor; a scalar counts as a tensor of rank 0."""
    if isinstance(info, s.PrimStructInfo):
        return s.TensorStructInfo((), info.dtype)
    return rules.tensor(at, info, name)


def _need_one_device(at: Site, x1: s.TensorStructInfo, x2: s.TensorStructInfo) -> None:
    """Refuse two tensors that lie on different devices; those on meshes have rules of their own."""
    if None in (x1.vdevice, x2.vdevice) or is_same_place(x1.vdevice, x2.vdevice):
        return
    if is_spread(x1) or is_spread(x2):
        return
    labels = {"x1": f"this is {x1}", "x2": f"this is {x2}"}
    text = f"x1 lies on {x1.vdevice}, x2 on {x2.vdevice}"
    raise at.fail(codes.WRONG_KIND, text, **labels, help="move one of them: R.to_vdevice")


def _both_scalars(x1: s.StructInfo, x2: s.StructInfo, common: DType | None) -> s.PrimStructInfo | None:
    """The result for two scalars."""
    scalars = isinstance(x1, s.PrimStructInfo) and isinstance(x2, s.PrimStructInfo)
    return s.PrimStructInfo(common) if scalars and common is not None else None


class Compare(Arithmetic):
    """Base of the comparisons: bool, element by element."""

    raises = (codes.NOT_BROADCASTABLE,)
    dtypes_may_differ = True
    examples: ClassVar[tuple[str, ...]] = (
        "f32[n,4] f32[4] -> bool[n,4]",
        "i32[2,1] i32[] -> bool[2,1]",
        "f32[n] 2 -> bool[n]",
    )

    @staticmethod
    def infer(at: Site, x1: s.StructInfo, x2: s.StructInfo) -> s.StructInfo:
        """The broadcast shape, bool; a scalar for two scalars."""
        left, right = _as_tensor(at, x1, "x1"), _as_tensor(at, x2, "x2")
        _need_one_device(at, left, right)
        return _both_scalars(x1, x2, BOOL) or rules.broadcast_info(at, left, right, BOOL)


class Bits(Arithmetic):
    """Base of the bitwise operators. Inference accepts floats, as TVM does, but they can't be computed."""

    stops = Stops.RELATIONS
    defined_for = INTEGERS
    kinds: ClassVar[tuple[str, ...]] = ("int", "uint", "bool")


class Shift(Bits):
    """Base of the shifts, which are not defined for bool."""

    stops = Stops.VALUES
    kinds = ("int", "uint")


def _shared(compared: bool, *kinds: DType) -> DType:
    """The dtype of the computation: the first operand's; for comparisons, one that holds both."""
    if not compared or all(element is kinds[0] for element in kinds):
        return kinds[0]
    floats = sorted({element for element in kinds if element.is_float}, key=lambda element: element.bits)
    if floats:  # the widest; of two that are equally wide neither holds the other
        return floats[-1] if len({element.bits for element in floats}) == len(floats) else FLOAT32
    return from_numpy(np.result_type(*[element.to_numpy() for element in kinds]))


def _counts(compared: bool, tensor: DType, scalar: DType) -> bool:
    """True if a scalar's dtype matters for the dtype of a comparison; otherwise it is converted to the tensor's."""
    return compared and not tensor.is_float and not (tensor is UINT64 and not scalar.is_float)


def _legalize(name: str, element: Element, base: type[Arithmetic]) -> Callable[[Te, Tensor, Tensor], Tensor]:
    compared = base is Compare

    def legalize(te: Te, x1: Tensor, x2: Tensor) -> Tensor:
        shape = result_shape(x1, x2)
        kinds = [x.dtype for x in (x1, x2) if isinstance(x, Tensor)]
        loose = [x.dtype for x in (x1, x2) if not isinstance(x, Tensor)]
        common = _shared(compared, *kinds, *[x for x in loose if _counts(compared, kinds[0], x)])
        common = x1.dtype if common is BOOL and not compared else common  # a scalar with a bool tensor
        if issubclass(base, Bits) and common.kind not in base.kinds:
            raise NotLowered(f"the elements are {common}, and these have no bits")

        def body(*i: p.PrimExpr) -> p.PrimExpr:
            return element(cast(index(x1, i, shape), common), cast(index(x2, i, shape), common))

        return te.compute(name, shape, body)

    return legalize


def _evaluate(function: Function, compared: bool) -> Function:
    def evaluate(x1: Array, x2: Array) -> Array:
        if type(x1) is np.ndarray and type(x2) is np.ndarray and x1.dtype == x2.dtype:
            same = function(x1, x2)
            if type(same) is np.ndarray and (compared or same.dtype == x1.dtype):
                return same
        arrays = [np.asarray(x) for x in (x1, x2)]
        kinds = [from_numpy(x.dtype) for x in (x1, x2) if isinstance(x, np.ndarray)]
        if kinds:
            loose = [from_numpy(a.dtype) for a, x in zip(arrays, (x1, x2), strict=True) if a is not x]
            shared = _shared(compared, *kinds, *[x for x in loose if _counts(compared, kinds[0], x)])
            shared = from_numpy(arrays[0].dtype) if shared is BOOL and not compared else shared
            arrays = [x.astype(shared.to_numpy(), copy=False) for x in arrays]
        result = np.asarray(function(*arrays))
        if not kinds:  # two scalars make a scalar
            return result[()]
        return result if compared else result.astype(arrays[0].dtype, copy=False)

    plain = OfNumpy("subtract") if function is subtract else function
    if isinstance(plain, OfNumpy) and not compared:
        UFUNCS[evaluate] = plain  # of numbers; bools are not computed by it
    return evaluate


_ONE_FLOP = (p.Add, difference, p.Mul, p.Div, p.Max, p.Min)
"""The operations on floats that are one FLOP."""


def _binary(
    name: str,
    base: type[Arithmetic],
    function: Function,
    element: Element,
    doc: str,
    examples: tuple[str, ...] = (),
    defined_for: tuple[str, ...] = (),
    *,
    source: str,
) -> type[Arithmetic]:
    short = name.split(".")[-1]
    members: dict[str, Any] = {
        "__doc__": doc,
        "source": source,
        "__module__": __name__,
        "evaluate": staticmethod(_evaluate(function, base is Compare)),
        "legalize": staticmethod(_legalize(f"T_{short}", element, base)),
    }
    if base is Compare or element in _ONE_FLOP:
        members["flops"] = staticmethod(lambda out, x1, x2: each(out, int(base is not Compare)))
    if examples:
        members["examples"] = examples
    if defined_for:
        members["defined_for"] = defined_for
    return type(short.title().replace("_", ""), (base,), members, name=name)


_INTS = ("i32[n,4] i32[4] -> i32[n,4]", "u8[] u8[2,n] -> u8[2,n]")
_BOOLS = ("bool[n,4] bool[4] -> bool[n,4]", "i32[2,1] i32[n] -> i32[2,n]")
_WRAP = "Integers wrap around if a result does not fit their dtype."
_BY_ZERO = "The run stops if an integer is divided by 0."
_NO_FLOATS = "Floating point tensors pass inference, as in TVM, but can't be computed: bitwise operations are not defined for floats."
_NO_SHIFT = "Tensors of other dtypes than integers pass inference, as in TVM, but can't be computed."
_WIDTH = "The run stops if x2 is negative or not below the number of bits of x1."
_KINDS = "The dtypes may differ: integers are converted to the dtype of floats, else both to a dtype that holds both."
Add = _binary(
    "relax.add",
    Arithmetic,
    OfNumpy("add"),
    p.Add,
    f"x1 plus x2, element by element.\n{_WRAP} The sum of bools is their logical or.",
    source="numpy.add",
)
Subtract = _binary(
    "relax.subtract",
    Arithmetic,
    subtract,
    difference,
    f"x1 minus x2, element by element.\n{_WRAP} Bools can't be subtracted.",
    defined_for=NUMBERS,
    source="numpy.subtract",
)
Multiply = _binary(
    "relax.multiply",
    Arithmetic,
    OfNumpy("multiply"),
    p.Mul,
    f"x1 times x2, element by element.\n{_WRAP} The product of bools is their logical and.",
    source="numpy.multiply",
)
Divide = _binary(
    "relax.divide",
    Arithmetic,
    divide,
    p.Div,
    f"x1 divided by x2, element by element; the quotient of integers is truncated towards zero.\n{_BY_ZERO}",
    defined_for=FLOATS,
    source="TVM",
)
FloorDivide = _binary(
    "relax.floor_divide",
    Arithmetic,
    checked(floor_quotient),
    floor_divide,
    "x1 divided by x2, element by element, the quotient rounded down."
    f"\n{_BY_ZERO} Floats are divided first and rounded then: 1 by 0.1 gives 10, where numpy gives 9.",
    defined_for=FLOATS,
    source="numpy.floor_divide",
)
Power = _binary(
    "relax.power",
    Arithmetic,
    power,
    raised,
    "x1 to the power of x2, element by element."
    "\nIntegers are computed in float64 and truncated: 2 to the power of -1 is 0, and large results lose digits.",
    source="numpy.power",
)
Atan2 = _binary(
    "relax.atan2",
    Arithmetic,
    as_floats(OfNumpy("arctan2")),
    floated(lambda a, b: p.PrimCall("atan2", (a, b), a.dtype)),
    "Angle of the point (x2, x1) with the first axis, in radians from -pi to pi."
    "\nThe angle of integers is truncated to their dtype.",
    source="numpy.arctan2",
)
LogAddExp = _binary(
    "relax.log_add_exp",
    Arithmetic,
    log_add_exp,
    log_sum,
    "Natural logarithm of exp(x1) + exp(x2), computed without overflow."
    "\nThe logarithm of integers is truncated to their dtype.",
    source="numpy.logaddexp",
)
Mod = _binary(
    "relax.mod",
    Arithmetic,
    checked(OfNumpy("fmod")),
    p.Mod,
    f"The remainder of x1 divided by x2, with the sign of x1, like % in C.\n{_BY_ZERO}",
    defined_for=FLOATS,
    source="numpy.fmod",
)
FloorMod = _binary(
    "relax.floor_mod",
    Arithmetic,
    checked(floor_rest),
    floor_mod,
    "The remainder of x1 divided by x2, with the sign of x2, like % in Python."
    f"\n{_BY_ZERO} If x2 is infinite the result is NaN, unlike numpy.",
    defined_for=FLOATS,
    source="numpy.mod",
)
Maximum = _binary(
    "relax.maximum",
    Arithmetic,
    larger,
    p.Max,
    "The larger of two elements; the element of x2 where either is NaN.",
    source="TVM; unlike numpy.maximum",
)
Minimum = _binary(
    "relax.minimum",
    Arithmetic,
    smaller,
    p.Min,
    "The smaller of two elements; the element of x2 where either is NaN.",
    source="TVM; unlike numpy.minimum",
)
Equal = _binary(
    "relax.equal",
    Compare,
    OfNumpy("equal"),
    p.EQ,
    f"Whether x1 equals x2, element by element.\nNaN equals nothing, not even NaN. {_KINDS}",
    source="numpy.equal",
)
NotEqual = _binary(
    "relax.not_equal",
    Compare,
    OfNumpy("not_equal"),
    p.NE,
    f"Whether x1 differs from x2, element by element.\nNaN differs from NaN. {_KINDS}",
    source="numpy.not_equal",
)
Less = _binary(
    "relax.less",
    Compare,
    OfNumpy("less"),
    p.LT,
    f"Whether x1 is less than x2, element by element; false for NaN.\n{_KINDS}",
    source="numpy.less",
)
LessEqual = _binary(
    "relax.less_equal",
    Compare,
    OfNumpy("less_equal"),
    p.LE,
    f"Whether x1 is less than x2 or equal to it, element by element; false for NaN.\n{_KINDS}",
    source="numpy.less_equal",
)
Greater = _binary(
    "relax.greater",
    Compare,
    OfNumpy("greater"),
    lambda a, b: p.LT(b, a),
    f"Whether x1 is greater than x2, element by element; false for NaN.\n{_KINDS}",
    source="numpy.greater",
)
GreaterEqual = _binary(
    "relax.greater_equal",
    Compare,
    OfNumpy("greater_equal"),
    lambda a, b: p.LE(b, a),
    f"Whether x1 is greater than x2 or equal to it, element by element; false for NaN.\n{_KINDS}",
    source="numpy.greater_equal",
)
LogicalAnd = _binary(
    "relax.logical_and",
    Arithmetic,
    OfNumpy("logical_and"),
    truth(p.And),
    "Whether x1 and x2 are both true, or not 0, as 1 or 0 in their dtype.",
    _BOOLS,
    source="numpy.logical_and",
)
LogicalOr = _binary(
    "relax.logical_or",
    Arithmetic,
    OfNumpy("logical_or"),
    truth(p.Or),
    "Whether x1 or x2 or both are true, or not 0, as 1 or 0 in their dtype.",
    _BOOLS,
    source="numpy.logical_or",
)
LogicalXor = _binary(
    "relax.logical_xor",
    Arithmetic,
    lambda a, b: np.bitwise_xor(a, b) if a.dtype.kind in "iub" else np.logical_xor(a, b),
    lambda a, b: (truth(bits("bitwise_xor")) if a.dtype.is_float else bits("bitwise_xor"))(a, b),
    "Whether only one of x1 and x2 is true, or not 0, as 1 or 0 in their dtype."
    "\nFor integers it is `bitwise_xor`, as in TVM: for 2 and 1 it is 3.",
    _BOOLS,
    source="numpy.logical_xor",
)
BitwiseAnd = _binary(
    "relax.bitwise_and",
    Bits,
    of_bits(OfNumpy("bitwise_and")),
    bits("bitwise_and"),
    f"The bits that are set in both x1 and x2.\n{_NO_FLOATS}",
    _INTS,
    source="numpy.bitwise_and",
)
BitwiseOr = _binary(
    "relax.bitwise_or",
    Bits,
    of_bits(OfNumpy("bitwise_or")),
    bits("bitwise_or"),
    f"The bits that are set in x1 or x2 or both.\n{_NO_FLOATS}",
    _INTS,
    source="numpy.bitwise_or",
)
BitwiseXor = _binary(
    "relax.bitwise_xor",
    Bits,
    of_bits(OfNumpy("bitwise_xor")),
    bits("bitwise_xor"),
    f"The bits that are set in only one of x1 and x2.\n{_NO_FLOATS}",
    _INTS,
    source="numpy.bitwise_xor",
)
LeftShift = _binary(
    "relax.left_shift",
    Shift,
    shifted(OfNumpy("left_shift")),
    bits("shift_left"),
    f"The bits of x1 shifted left by x2; zeros are shifted in.\n{_WIDTH} {_NO_SHIFT}",
    _INTS,
    source="numpy.left_shift",
)
RightShift = _binary(
    "relax.right_shift",
    Shift,
    shifted(OfNumpy("right_shift")),
    bits("shift_right"),
    f"The bits of x1 shifted right by x2; for signed integers the sign bit is shifted in.\n{_WIDTH} {_NO_SHIFT}",
    _INTS,
    source="numpy.right_shift",
)
