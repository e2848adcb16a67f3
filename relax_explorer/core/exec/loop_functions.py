"""Functions of mathematics on float32, as loops compute them: without branches and calls, so that loops over them become vectors.

Each is computed in float64 and rounded once, so its result is nearly always the float32 next to the true value, and never further
off than its neighbour (`tests/exec/test_loop_functions.py`). They are data of `loop_ir`, from which both compilers make them, so both
give the same bits. The coefficients are Chebyshev approximations, computed with 40 digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

from relax_explorer.core.exec.loop_ir import Apply, Bits, Choice, Const, Convert, Expr, Op, Var

_ROUNDER = 1.5 * 2.0**52  # a small number plus this one has its nearest integer in its last bits
_ONE = 0x3FF0000000000000  # the bits of 1.0
_ROOT = 0x3FE6A09E667F3BCD  # the bits of the square root of 0.5
_EXP = (
    0.0013941108433972674, 0.008375126398153335, 0.04166635289677516, 0.16666415514653277, 0.5000000047117757, 1.000000037716214, 1.0,
)  # fmt: skip
_ERF = (
    1.058938064107502e-06, -1.3909340021874599e-05, 0.0001195656256820733, -0.0008542637997087229, 0.005223783477189248,
    -0.026866133235095593, 0.11283791308604582, -0.3761263888963531, 1.1283791670946768,
)  # fmt: skip
_ERFC = (
    2.347756752806171e-05, 0.0001660272717714123, 4.399759513346677e-05, -0.0009810545445174538, -0.0008471645637690944,
    0.0069974169768619076, 0.003732892825504452, -0.07897858012839472, 0.24165819424013024, -0.4271858474188863, 0.25539567631050575,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the float64 `x`: what it computes step by step, and its result."""

    steps: tuple[tuple[str, Expr], ...]
    result: Expr


def _op(symbol: str, *args: Expr) -> Expr:
    return reduce(lambda a, b: Op(symbol, (a, b)), args)


def _polynomial(coefficients: tuple[float, ...], x: Expr) -> Expr:
    """A polynomial; the coefficient of the highest power is the first. Pairs of terms first, so that few steps wait for each other."""
    terms: list[Expr] = [Const(value) for value in reversed(coefficients)]
    while len(terms) > 1:
        pairs = [_op("+", a, _op("*", b, x)) for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = [*pairs, *terms[len(pairs) * 2 :]]
        x = _op("*", x, x)
    return terms[0]


X, ONE, TWO = Var("x"), Const(1.0), Const(2.0)


def _exp() -> Function:
    """x = n log 2 + r with |r| ≤ log 2 / 2; the bits of 2**n are made from n. Beyond ±110 float32 has only 0 and infinity."""
    x, shifted = Var("near"), Var("shifted")
    steps = (
        ("near", Apply("smaller", (Const(110.0), Apply("larger", (Const(-110.0), X))))),
        ("shifted", _op("+", _op("*", x, Const(1 / math.log(2))), Const(_ROUNDER))),
        ("rest", _op("-", x, _op("*", _op("-", shifted, Const(_ROUNDER)), Const(math.log(2))))),
        ("power", Apply("add", (Apply("left", (Bits("float64", "int64", shifted), Const(52))), Const(_ONE)))),
    )
    return Function(steps, _op("*", _polynomial(_EXP, Var("rest")), Bits("int64", "float64", Var("power"))))


def _sigmoid() -> Function:
    """1 / (1 + exp(-x))."""
    return Function((), _op("/", ONE, _op("+", ONE, Apply("vexp", (Op("neg", (X,)),)))))


def _tanh() -> Function:
    """1 - 2 / (exp(2x) + 1); near 0 its series."""
    square = Var("square")
    series = _polynomial((-17 / 315, 2 / 15, -1 / 3, 1.0), square)
    steps = (
        ("square", _op("*", X, X)),
        ("small", _op("*", X, series)),
        ("power", Apply("vexp", (_op("*", TWO, X),))),
        ("large", _op("-", ONE, _op("/", TWO, _op("+", Var("power"), ONE)))),
    )
    return Function(steps, Choice(_op("<", square, Const(1e-4)), Var("small"), Var("large")))


def _log() -> Function:
    """x = 2**n m with m around 1; log m = 2 atanh(s) with s = (m - 1) / (m + 1)."""
    bits, n, s = Bits("float64", "int64", X), Var("n"), Var("s")
    series = _polynomial(tuple([2 / k for k in range(17, 0, -2)]), Var("square"))
    top = Apply("right", (Apply("add", (bits, Const(_ONE - _ROOT))), Const(52)))  # n + 1023
    count = Bits("int64", "float64", Op("|", (top, Const(0x4330000000000000))))  # 2**52 + n + 1023
    steps = (
        ("n", Apply("sub", (top, Const(1023)))),
        ("count", _op("-", count, Const(2.0**52 + 1023))),
        ("m", Bits("int64", "float64", Apply("sub", (bits, Apply("left", (n, Const(52))))))),
        ("s", _op("/", _op("-", Var("m"), ONE), _op("+", Var("m"), ONE))),
        ("square", _op("*", s, s)),
        ("value", _op("+", _op("*", Var("count"), Const(math.log(2))), _op("*", s, series))),
        ("finite", Choice(_op("<", X, Const(math.inf)), Var("value"), X)),  # infinity and NaN stay
        ("real", Choice(_op("<", X, Const(0.0)), Const(math.nan), Var("finite"))),
    )
    return Function(steps, Choice(_op("==", X, Const(0.0)), Const(-math.inf), Var("real")))


def _erf() -> Function:
    """Near 0 an odd polynomial; beyond, 1 - exp(-x²) times a polynomial in (x - 2) / (x + 2). Beyond 4 it rounds to 1."""
    size, square, place = Var("size"), Var("square"), Var("place")
    steps = (
        ("size", Apply("smaller", (Const(4.0), Apply("abs", (X,))))),
        ("square", _op("*", size, size)),
        ("small", _op("*", X, _polynomial(_ERF, square))),
        ("place", _op("/", _op("-", size, TWO), _op("+", size, TWO))),
        ("rest", _op("*", Apply("vexp", (Op("neg", (square,)),)), _polynomial(_ERFC, place))),
        ("large", _op("-", ONE, Var("rest"))),
        ("signed", Choice(_op("<", X, Const(0.0)), Op("neg", (Var("large"),)), Var("large"))),
    )
    return Function(steps, Choice(_op("<", square, ONE), Var("small"), Var("signed")))


FUNCTIONS = {"vexp": _exp(), "vtanh": _tanh(), "vlog": _log(), "verf": _erf(), "vsigmoid": _sigmoid()}
BY_NAME = {"exp": "vexp", "tanh": "vtanh", "log": "vlog", "erf": "verf", "sigmoid": "vsigmoid"}


def on_float32(op: str, value: Expr) -> Expr:
    """The function of `BY_NAME` on a float32."""
    return Convert("float32", Apply(BY_NAME[op], (Convert("float64", value),)))
