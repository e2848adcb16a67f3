"""Rules on two values look at both of them, at each end of a range, and don't take what is unknown for an answer."""

from __future__ import annotations

import pytest

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.check.compatible import compatible, fits
from relax_explorer.core.check.matching import captured
from relax_explorer.core.check.order import more_specific, unify
from relax_explorer.core.check.stopping import Interval, interval
from relax_explorer.core.check.wildcards import Wildcards, alike
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64

N, M = p.PrimVar("n", INT64), p.PrimVar("m", INT64)
ANY, OTHER = p.AnyDim(), p.AnyDim()


def shape(*dims: p.PrimExpr | int) -> s.ShapeStructInfo:
    return s.ShapeStructInfo(tuple([p.as_prim(dim) for dim in dims]))


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        (shape(ANY), shape(4), Answer.NO),
        (shape(4), shape(ANY), Answer.YES),
        (shape(4, 5), shape(ANY, 6), Answer.NO),
        (shape(4, 5), shape(ANY, 5), Answer.YES),
        (s.PrimStructInfo(INT64, p.IntImm(4)), s.PrimStructInfo(INT64, p.IntImm(5)), Answer.NO),
        (s.PrimStructInfo(INT64, p.IntImm(4)), s.PrimStructInfo(INT64, N), Answer.UNKNOWN),
    ],
)
def test_the_order_compares_two(a: s.StructInfo, b: s.StructInfo, answer: Answer) -> None:
    assert more_specific(a, b) is answer


def test_ranks_of_both_count() -> None:
    two, three = s.ShapeStructInfo(None, 2), s.ShapeStructInfo(None, 3)
    assert compatible(two, three) is fits(two, three) is fits(three, two) is Answer.NO
    assert fits(s.ShapeStructInfo(None, -1), two) is Answer.UNKNOWN
    assert fits(s.ShapeStructInfo(None, -1), shape(ANY, OTHER)) is Answer.UNKNOWN
    assert fits(two, shape(ANY, OTHER)) is Answer.YES
    assert fits(two, shape(ANY)) is Answer.NO
    assert unify(two, three, True) is s.ShapeStructInfo(None, -1)
    assert unify(shape(4), three, True) is unify(three, shape(4), True) is s.ShapeStructInfo(None, -1)


def test_captured_variables_in_tuples() -> None:
    tensor = s.TensorStructInfo((N,), None, 1)
    binds = s.FuncStructInfo((tensor,), tensor, True)
    fixed = s.TensorStructInfo((p.Add(N, p.IntImm(0, INT64)),), None, 1)
    pinned = s.FuncStructInfo((fixed,), fixed, True)
    assert captured(s.TupleStructInfo((s.OBJECT, binds)), s.TupleStructInfo((s.OBJECT, pinned))) == ("n",)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (shape(ANY, N), shape(OTHER, N), True),
        (shape(ANY, N), shape(OTHER, M), False),
        (shape(ANY, ANY), shape(OTHER, OTHER), True),
        (shape(ANY, ANY), shape(OTHER, p.AnyDim()), False),
        (shape(ANY), shape(4), False),
        (shape(4), shape(ANY), False),
    ],
)
def test_wildcards_stand_for_one_another(a: s.StructInfo, b: s.StructInfo, same: bool) -> None:
    assert alike(a, b) is same


FIVE_LESS = p.Sub(N, p.IntImm(5, INT64))
DOMAINS = {
    "i": (p.IntImm(1, INT64), N),
    "j": (p.IntImm(2, INT64), M),
    "from n": (FIVE_LESS, N),
    "below 0": (p.IntImm(-5, INT64), p.IntImm(9, INT64)),
}
VARS = {name: p.PrimVar(name, INT64) for name in DOMAINS}


@pytest.mark.parametrize(
    ("op", "left", "right", "low", "high"),
    [
        (p.Mul, "i", "j", "2", "n * m"),
        (p.FloorDiv, "j", 2, "1", "m // 2"),
        (p.FloorMod, "j", 2, "0", "1"),
        (p.Mul, "i", "from n", "", ""),
        (p.Mul, "from n", "i", "", ""),
        (p.Mul, "i", "below 0", "", ""),
        (p.Mul, "below 0", "i", "", ""),
        (p.FloorDiv, "i", "j", "", ""),
        (p.FloorMod, "i", "j", "", ""),
        (p.FloorDiv, "i", FIVE_LESS, "", ""),
        (p.FloorMod, "i", FIVE_LESS, "", ""),
    ],
)
def test_bounds_of_kernels(op: type, left: str, right: str | int | p.PrimExpr, low: str, high: str) -> None:
    domains = {VARS[name]: bounds for name, bounds in DOMAINS.items()}
    found: Interval | None = interval(
        op(VARS[left], VARS[right] if isinstance(right, str) else p.as_prim(right)), domains
    )
    assert (None if found is None else tuple([str(simplify(end)) for end in found])) == (
        (low, high) if low else None
    )


def test_a_wildcard_belongs_to_one_value() -> None:
    wildcards, info = Wildcards(), shape(ANY)
    assert wildcards.result(None, info, ()) is info
    second = wildcards.result(None, info, ())
    assert alike(info, second)
    assert second is not info
    assert wildcards.result(None, second, ()) not in (info, second)
    both = wildcards.result(None, shape(ANY, OTHER), ())
    assert isinstance(both, s.ShapeStructInfo)
    assert (both.values or ())[1:] == (OTHER,)
    assert wildcards.result(None, shape(OTHER), ()) is not shape(OTHER)
