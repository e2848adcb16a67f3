"""Products of matrices, and sums of products in Einstein's notation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.binary_math import repeated
from relax_explorer.core.ops.kit.decl import REQUIRED, Fusion, Op, Site, Stops, Tensors, attr, operand
from relax_explorer.core.ops.kit.flop_count import FlopCount, products
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast


class Matmul(Op, name="relax.matmul"):
    """Matrix product of the last two axes; the axes before them broadcast.

    [..., n, k] by [..., k, m] gives [..., n, m]. A vector on the left is one row, a vector on the right one column; that axis
    is then removed from the result.
    """

    source = "numpy.matmul"
    raises = (codes.DTYPES_DIFFER, codes.INNER_LENGTHS, codes.NOT_BROADCASTABLE, codes.RANK_WRONG)
    stops = Stops.RELATIONS
    takes_views = True
    x1: Tensor = operand("left matrices, or a vector")
    x2: Tensor = operand("right matrices, or a vector")
    out_dtype: DType | None = attr(
        None, "dtype of the computation and of the result; None means the dtype of the operands"
    )
    fusion = Fusion.OUT_ELEMENTWISE
    examples = ("f32[n,4] f32[4,8] -> f32[n,8]", "f32[b,n,4] f32[4] -> f32[b,n]", "f32[4] f32[4] -> f32[]")

    @staticmethod
    def infer(at: Site, x1: s.StructInfo, x2: s.StructInfo, out_dtype: DType | None) -> s.StructInfo:
        """The broadcast axes before the last two, the rows of x1, the columns of x2; the dtype is out_dtype."""
        left, right = rules.tensor(at, x1, "x1"), rules.tensor(at, x2, "x2")
        element = out_dtype if out_dtype is not None else rules.common_dtype(at, x1=left, x2=right)
        for name, info in (("x1", left), ("x2", right)):
            if info.ndim == 0:
                raise at.fail(
                    codes.RANK_WRONG,
                    f"{name} has rank 0, at least 1 is needed",
                    **{name: f"this is {info}"},
                )
        a, b = rules.known_dims(at, left), rules.known_dims(at, right)
        if a is None or b is None:
            return s.TensorStructInfo(None, element, _rank(left.ndim, right.ndim))
        inner = b[-2] if len(b) > 1 else b[0]
        if at.equal(a[-1], inner) is Answer.NO:
            labels = {"x1": f"{a[-1]} columns", "x2": f"{inner} rows"}
            raise at.fail(codes.INNER_LENGTHS, f"inner dimensions differ: {a[-1]} and {inner}", **labels)
        lead = rules.broadcast(at, a[:-2], b[:-2])
        if lead is None:
            return s.TensorStructInfo(None, element, _rank(len(a), len(b)))
        return s.TensorStructInfo((*lead, *a[-2:-1], *(b[-1:] if len(b) > 1 else ())), element)

    @staticmethod
    def flops(
        out: s.StructInfo, x1: s.StructInfo, x2: s.StructInfo, out_dtype: DType | None
    ) -> FlopCount | None:
        """2·m·n·k: a product and an addition for each term of each element (Golub and Van Loan, Matrix Computations, 1.1)."""
        dims = x1.lengths if isinstance(x1, s.TensorStructInfo) else None
        return products(out, dims[-1:]) if dims else None

    @staticmethod
    def evaluate(x1: Array, x2: Array, out_dtype: DType | None) -> Array:
        """numpy.matmul, narrow floats accumulated in float32."""
        target = out_dtype.to_numpy() if out_dtype is not None else x1.dtype
        if out_dtype is not None and out_dtype.is_int:
            x1, x2 = x1.astype(target, copy=False), x2.astype(target, copy=False)
        return np.asarray(np.matmul(wide(x1), wide(x2))).astype(target, copy=False)

    @staticmethod
    def legalize(te: Te, x1: Tensor, x2: Tensor, out_dtype: DType | None) -> Tensor:
        """A sum over the inner axis."""
        return product(te, "matmul", x1, x2, out_dtype)


def product(te: Te, name: str, x1: Tensor, x2: Tensor, out_dtype: DType | None) -> Tensor:
    """The product of two tensors as a stage with this name."""
    a, b = x1.shape, x2.shape
    lead = rules.broadcast(Site(None), a[:-2], b[:-2]) or ()
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    element = out_dtype or x1.dtype
    count = len(lead)

    def term(*i: p.PrimExpr) -> p.PrimExpr:
        k, outer = i[-1], i[:-1]
        left = (*_lead(a[:-2], lead, outer), *(outer[count : count + 1] if rows else ()), k)
        right = (*_lead(b[:-2], lead, outer), k, *(outer[-1:] if columns else ()))
        return p.Mul(cast(x1[left], element), cast(x2[right], element))

    return te.sum(name, (*lead, *rows, *columns), (a[-1],), term, element)


def _lead(dims: rules.Dims, lead: rules.Dims, outer: tuple[p.PrimExpr, ...]) -> tuple[p.PrimExpr, ...]:
    offset = len(lead) - len(dims)
    return tuple(
        [
            p.IntImm(0) if dim is rules.ONE and lead[n + offset] is not rules.ONE else outer[n + offset]
            for n, dim in enumerate(dims)
        ]
    )


def _rank(a: int, b: int) -> int:
    if a < 0 or b < 0:
        return -1
    return max(a, b) - 1 if min(a, b) == 1 and max(a, b) > 1 else 0 if a == b == 1 else max(a, b)


class Outer(Op, name="relax.outer"):
    """The product of each element of x1 with each element of x2."""

    source = "numpy.outer"
    raises = (codes.RANK_WRONG,)
    stops = Stops.RELATIONS
    x1: Tensor = operand("left vector")
    x2: Tensor = operand("right vector")
    fusion = Fusion.BROADCAST
    examples = ("f32[n] f32[4] -> f32[n,4]", "i32[3] i32[n*2] -> i32[3,n*2]")

    @staticmethod
    def infer(at: Site, x1: s.StructInfo, x2: s.StructInfo) -> s.StructInfo:
        """A matrix with a row for each element of x1 and a column for each element of x2, in the dtype of x1."""
        left, right = rules.tensor(at, x1, "x1"), rules.tensor(at, x2, "x2")
        rules.need_rank(at, left, 1, "x1")
        rules.need_rank(at, right, 1, "x2")
        for name, info in (("x1", left), ("x2", right)):
            if info.ndim < 0:
                raise at.fail(
                    codes.RANK_WRONG,
                    f"the rank of {name} is not known, 1 is needed",
                    **{name: f"this is {info}"},
                )
        if left.dims is None or right.dims is None:
            return s.TensorStructInfo(None, left.dtype, 2)
        return s.TensorStructInfo((*left.dims, *right.dims), left.dtype)

    @staticmethod
    def evaluate(x1: Array, x2: Array) -> Array:
        """numpy.outer in the dtype of x1."""
        return np.outer(x1, x2).astype(x1.dtype, copy=False)

    @staticmethod
    def legalize(te: Te, x1: Tensor, x2: Tensor) -> Tensor:
        """One product for each pair."""
        return te.compute("T_outer", (*x1.shape, *x2.shape), lambda i, j: p.Mul(x1[i], cast(x2[j], x1.dtype)))


# -- einsum ----------------------------------------------------------------------------------------------------------
# Sums of products over named axes.


DOTS = "..."
Labels = tuple[str, ...]  # a letter for one axis, or `...` for any number of axes
_ELLIPSIS_OF_RANK = [f"…{n}" for n in range(64)]  # names of the axes of an ellipsis, the last one first


class BadEquation(ValueError):
    """The equation is malformed."""


def equation(text: str) -> tuple[list[Labels], Labels]:
    """The labels of each operand's axes, and of the result's."""
    left, arrow, right = text.replace(" ", "").partition("->")
    inputs = [_labels(part) for part in left.split(",")]
    if arrow:
        if "->" in right or "," in right:
            raise BadEquation(f"{text!r} has more than one result")
        return inputs, _labels(right)
    letters = [label for part in inputs for label in part]
    once = sorted({label for label in letters if label != DOTS and letters.count(label) == 1})
    return inputs, ((DOTS, *once) if DOTS in letters else tuple(once))


def _labels(text: str) -> Labels:
    labels: list[str] = []
    while text:
        label = DOTS if text.startswith(DOTS) else text[0]
        if label != DOTS and not (label.isascii() and label.isalpha()):
            raise BadEquation(f"{label!r} names no axis: that is a letter, or ...")
        if label == DOTS and DOTS in labels:
            raise BadEquation("... occurs twice for one tensor")
        labels.append(label)
        text = text[len(label) :]
    return tuple(labels)


def spread(labels: Labels, count: int) -> Labels:
    """The labels with an ellipsis expanded to `count` axes."""
    if DOTS not in labels:
        return labels
    place = labels.index(DOTS)
    return (*labels[:place], *reversed(_ELLIPSIS_OF_RANK[:count]), *labels[place + 1 :])


def assigned(text: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of operands of known rank and of the result, with ellipses expanded; raises BadEquation."""
    inputs, result = equation(text)
    if len(inputs) != len(ranks):
        raise BadEquation(f"subscripts names {len(inputs)} operands, {len(ranks)} are given")
    most, all_labels = 0, []
    for number, (labels, rank) in enumerate(zip(inputs, ranks, strict=True)):
        extra = rank - len(labels) + (DOTS in labels)
        if extra < 0 or (extra and DOTS not in labels):
            raise BadEquation(
                f"field {number} of operands has rank {rank}, the equation names {len(labels)} axes of it"
            )
        most = max(most, extra if DOTS in labels else 0)
        all_labels.append(spread(labels, extra))
    outputs = spread(result, most)
    used = {label for labels in all_labels for label in labels}
    for label in outputs:
        if label not in used:
            raise BadEquation(f"no operand has the axis {label!r} of the result")
        if outputs.count(label) > 1:
            raise BadEquation(f"the result names the axis {label!r} twice")
    return all_labels, outputs


class Einsum(Op, name="relax.einsum"):
    """Products of elements along named axes, summed over the letters that the result lacks.

    Axes of the same letter have the same length, or length 1, which is broadcast. A letter used twice in one operand takes its diagonal.
    """

    source = "numpy.einsum"
    by_kernel = True
    raises = (codes.DTYPES_DIFFER, codes.NOT_BROADCASTABLE)
    # named as TVM names it; the tuple of all operands, which has that name in the base, is made from it
    stops = Stops.LENGTHS
    operands: Tensors = operand(  # type: ignore[misc]
        "a tuple of tensors of one dtype"
    )
    subscripts: str = attr(
        REQUIRED,
        'a letter for each axis of each operand, then those of the result: "ij,jk->ik"; ... stands for further axes; '
        "without -> the result has the letters that occur once, in alphabetical order",
    )
    fusion = Fusion.OUT_ELEMENTWISE
    examples = (
        '(f32[n,4],f32[4,8]) subscripts="ij,jk->ik" -> f32[n,8]',
        '(f32[n,3],) subscripts="ij->ji" -> f32[3,n]',
        '(f32[2,n,4],f32[4,5]) subscripts="...j,jk" -> f32[2,n,5]',
        '(f32[4,4],f32[4]) subscripts="ii,i->" -> f32[]',
        '(i32[2,n],i32[1]) subscripts="ij,i->ij" -> i32[2,n]',
    )

    @staticmethod
    def infer(at: Site, operands: s.StructInfo, subscripts: str) -> s.StructInfo:
        """The lengths of the axes of the result, the dtype of the operands."""
        infos = rules.tensors(at, operands, "operands")
        if not infos:
            text = "operands is an empty tuple, at least one tensor is needed"
            raise at.fail(codes.ARGUMENT_COUNT, text, operands="an empty tuple", help="give a tensor")
        element = infos[0].dtype
        if any(info.dtype is not element for info in infos):
            kinds = ", ".join(dict.fromkeys(str(info.dtype or "unknown") for info in infos))
            text = f"the fields of operands are {' and '.join(kinds.split(', '))}, one dtype is needed"
            raise at.fail(codes.DTYPES_DIFFER, text, operands=f"dtypes {kinds}")
        try:
            inputs, result = equation(subscripts)
            if any(info.ndim < 0 for info in infos):
                if len(inputs) != len(infos):
                    raise BadEquation(f"subscripts names {len(inputs)} operands, {len(infos)} are given")
                return s.TensorStructInfo(None, element, -1 if DOTS in result else len(result))
            inputs, result = assigned(subscripts, [info.ndim for info in infos])
        except BadEquation as error:
            raise at.fail(codes.BAD_ATTRIBUTE, str(error)) from None
        if any(info.dims is None for info in infos):
            return s.TensorStructInfo(None, element, len(result))
        lengths = _lengths(at, inputs, [info.dims or () for info in infos])
        return s.TensorStructInfo(tuple([lengths[label] for label in result]), element)

    @staticmethod
    def evaluate(operands: tuple[Any, ...], subscripts: str) -> Array:
        """numpy.einsum, narrow floats as float32."""
        inputs, result = assigned(subscripts, [x.ndim for x in operands])
        number = {label: n for n, label in enumerate(dict.fromkeys(x for labels in inputs for x in labels))}
        args: list[Any] = []
        for x, labels in zip(operands, inputs, strict=True):
            args += [wide(x), [number[label] for label in labels]]
        product = np.einsum(*args, [number[label] for label in result], optimize=len(operands) > 2)
        return np.array(product).astype(operands[0].dtype)

    @staticmethod
    def legalize(te: Te, operands: Sequence[Tensor], subscripts: str) -> Tensor:
        """A product for each index of all axes, summed over the axes that the result lacks."""
        inputs, result = assigned(subscripts, [x.ndim for x in operands])
        lengths = _lengths(Site(None), inputs, [x.shape for x in operands])
        over = [label for label in lengths if label not in result]

        def product(*i: p.PrimExpr) -> p.PrimExpr:
            place = dict(zip((*result, *over), i, strict=True))
            value: p.PrimExpr | None = None
            for x, labels in zip(operands, inputs, strict=True):
                index = [
                    repeated(dim, lengths[label], place[label])
                    for label, dim in zip(labels, x.shape, strict=True)
                ]
                value = x[index] if value is None else p.Mul(value, x[index])
            assert value is not None  # there is an operand
            return value

        shape, element = [lengths[label] for label in result], operands[0].dtype
        if not over:
            return te.compute("T_einsum", shape, product, element)
        return te.sum("T_einsum", shape, [lengths[label] for label in over], product, element)


def _lengths(at: Site, inputs: Sequence[Labels], shapes: Sequence[rules.Dims]) -> dict[str, p.PrimExpr]:
    """The length of each axis, from the operands in which it is not 1."""
    lengths: dict[str, p.PrimExpr] = {}
    for labels, dims in zip(inputs, shapes, strict=True):
        for label, dim in zip(labels, dims, strict=True):
            lengths[label] = dim if label not in lengths else _common(at, label, lengths[label], dim)
    return lengths


def _common(at: Site, label: str, a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    if b is rules.ONE or a is b:
        return a
    if a is rules.ONE:
        return b
    answer = at.equal(a, b, or_one=(a, b))
    if answer is Answer.NO:
        text = f"the axis {label!r} has the lengths {a} and {b}"
        raise at.fail(codes.NOT_BROADCASTABLE, text, operands=f"lengths {a} and {b}")
    if label in _ELLIPSIS_OF_RANK and isinstance(b, p.IntImm):
        return b  # the other one is 1 or the same
    if (
        answer is Answer.YES
        or isinstance(b, p.IntImm)
        or (label in _ELLIPSIS_OF_RANK and isinstance(a, p.IntImm))
    ):
        return a
    return b if isinstance(a, p.IntImm) else p.Max(a, b)
