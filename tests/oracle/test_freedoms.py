"""What TVM leaves open is given our order, and nothing else: a slot, a store or an argument in the wrong place is noticed."""

from __future__ import annotations

import pytest

from tests.support.freedoms import in_our_order
from tests.support.judged import is_equal, read
from tests.support.pass_agreement import as_module
from tests.support.promises import with_our_rounding

LENGTHS = """
@I.ir_module
class Module:
    @R.function(private=True)
    def h(y: R.Tensor((2,), "float32"), param_a: R.Shape(["a"]), param_b: R.Shape(["b"])) -> R.Tensor(("a", "b"), "float32"):
        a = T.int64()
        b = T.int64()
        r = R.zeros(R.shape([a, b]), "float32")
        return r
    @R.function
    def main(x: R.Tensor(("a", "b"), "float32"), y: R.Tensor((2,), "float32")):
        a = T.int64()
        b = T.int64()
        cls = Module
        v = cls.h(y, R.shape([a]), R.shape([b]))
        w = cls.h(y, R.shape([b]), R.shape([a]))
        return (v, w)
"""
SWAPPED = LENGTHS.replace(
    'param_a: R.Shape(["a"]), param_b: R.Shape(["b"])', 'param_b: R.Shape(["b"]), param_a: R.Shape(["a"])'
)
BOTH = SWAPPED.replace(", R.shape([a]), R.shape([b])", ", R.shape([B]), R.shape([A])").replace(
    ", R.shape([b]), R.shape([a])", ", R.shape([a]), R.shape([b])"
)
TVMS = BOTH.replace("[B]", "[b]").replace("[A]", "[a]")
STORES = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def shape_func(H: T.Buffer((T.int64(4),), "int64")):
        H[T.int64(1)] = H[T.int64(0)] * T.int64(2)
        H[T.int64(2)] = H[T.int64(0)] + T.int64(1)
    @T.prim_func(private=True)
    def shape_func1(H: T.Buffer((T.int64(4),), "int64")):
        H[T.int64(3)] = H[T.int64(0)] * T.int64(7)
    @R.function
    def main(heap: R.Tensor("int64", ndim=1)):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        _ = cls.shape_func(heap)
        _1 = cls.shape_func1(heap)
        return heap
"""
FIRST, SECOND = (
    "        H[T.int64(1)] = H[T.int64(0)] * T.int64(2)\n",
    "        H[T.int64(2)] = H[T.int64(0)] + T.int64(1)\n",
)
MOVED = (
    STORES.replace(FIRST + SECOND, SECOND + FIRST)
    .replace("shape_func", "shape_func1")
    .replace("func11", "func")
)

SCALARS = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def zeros(k: T.int64, n: T.int64, B: T.Buffer((k * T.int64(2) - n,), "float32")):
        T.evaluate(0)
    @R.function
    def main(x: R.Tensor(("n", "k"), "float32")):
        n, k = T.int64(), T.int64()
        cls = Module
        a = R.call_tir(cls.zeros, (k, n), out_ty=R.Tensor((k * 2 - n,), "float32"))
        return a
"""
TURNED = SCALARS.replace("(k, n),", "(n, k),")


def is_accepted(name: str, ours: str, theirs: str) -> bool:
    """True if TVM's result of a pass is ours but for the order."""
    mine, other = read(ours), read(theirs)
    assert mine is not None
    assert other is not None
    return is_equal(mine, in_our_order(name, mine, other))


@pytest.mark.parametrize(
    ("name", "ours", "theirs"),
    [
        ("RemoveUnusedParameters", LENGTHS, TVMS),
        ("VMShapeLower", STORES, MOVED),
        ("LegalizeOps", SCALARS, TURNED),
    ],
    ids=["parameters", "stores", "scalars"],
)
def test_an_order_is_taken(name: str, ours: str, theirs: str) -> None:
    assert not is_accepted("Normalize", ours, theirs)
    assert is_accepted(name, ours, theirs)


@pytest.mark.parametrize(
    "wrong",
    [
        SWAPPED,  # the definition alone
        TVMS.replace("v = cls.h(y, R.shape([b]), R.shape([a]))", "v = cls.h(y, R.shape([a]), R.shape([b]))"),
        TVMS.replace("R.zeros(R.shape([a, b])", "R.zeros(R.shape([b, a])"),
        TVMS.replace("param_a", "other"),
    ],
    ids=["definition", "one call", "body", "name"],
)
def test_another_argument_is_noticed(wrong: str) -> None:
    assert not is_accepted("RemoveUnusedParameters", LENGTHS, wrong)


@pytest.mark.parametrize("wrong", ["(n, n),", "(n, k * 2),"])
def test_another_scalar_is_noticed(wrong: str) -> None:
    assert not is_accepted("LegalizeOps", SCALARS, SCALARS.replace("(k, n),", wrong))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (FIRST, FIRST.replace("int64(1)", "int64(3)")),
        (FIRST, ""),
        (FIRST, FIRST.replace("* T.int64(2)", "* T.int64(3)")),
        ("_ = cls.shape_func1(heap)", "_ = cls.shape_func(heap)"),
        ("        _1 = cls.shape_func(heap)\n", ""),
    ],
    ids=["slot", "missing", "value", "call", "no call"],
)
def test_another_store_is_noticed(old: str, new: str) -> None:
    assert old in MOVED
    assert not is_accepted("VMShapeLower", STORES, MOVED.replace(old, new))


def test_stores_that_read_each_other_have_an_order() -> None:
    ours = STORES.replace("H[T.int64(0)] + T.int64(1)", "H[T.int64(1)] + T.int64(1)")
    second = SECOND.replace("H[T.int64(0)] +", "H[T.int64(1)] +")
    assert not is_accepted("VMShapeLower", ours, ours.replace(FIRST + second, second + FIRST))


ROUNDED = """
@R.function
def main(x: R.Tensor((), "float32"), c: R.Tensor((), "bool")):
    if c:
        y = R.add(x, R.const(A, "float32"))
        z = R.multiply(y, R.const(3.0, "float32"))
    else:
        z = R.const(B, "float32")
    return z
"""


@pytest.mark.parametrize(
    ("first", "second", "third", "is_promised"),
    [
        ("1.0000001", "0.5", "3.0", True),
        ("1.0000001", "0.50000006", "3.0", True),
        ("1.00001", "0.5", "3.0", False),
        ("1.0000001", "0.5", "4.0", False),
        ("-1.0", "0.5", "3.0", False),
    ],
)
def test_the_last_bits_of_a_constant_are_ours_and_nothing_else(
    first: str, second: str, third: str, is_promised: bool
) -> None:
    ours = read(as_module(ROUNDED.replace("A", "1.0").replace("B", "0.5")))
    theirs = read(as_module(ROUNDED.replace("A", first).replace("B", second).replace("3.0", third)))
    assert ours is not None
    assert theirs is not None
    assert is_equal(ours, with_our_rounding(ours, theirs)) == is_promised
