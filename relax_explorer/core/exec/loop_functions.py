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
_SIGN = -(2**63)  # the bits of -0.0
_ROOT = 0x3FE6A09E667F3BCD  # the bits of the square root of 0.5
_EXP = (
    0.0013941108433972674, 0.008375126398153335, 0.04166635289677516, 0.16666415514653277, 0.5000000047117757, 1.000000037716214, 1.0,
)  # fmt: skip
_ERF = (
    1.1018541321764739e-08, -1.3767782580201981e-07, 9.047695319960988e-07, -2.7677443294816652e-06, 4.9095349710610585e-06,
    1.853199584857964e-05, -3.0493034462976344e-05, 0.0003446260671220913, 0.0012707130105529733, 0.003395313445508768,
    0.024538441497107467, 0.08952465561927139, 0.14104739588622953,
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
    """1 - 1 / (1 + u)**8, where u = |x| times a polynomial in |x| (Abramowitz and Stegun, 7.1.28). Beyond 4 it rounds to 1.

    (1 + u)² - 1 = u (2 + u), three times, so that nothing cancels near 0.
    """
    size, power = Var("size"), [Var(f"power{n}") for n in (1, 2, 4, 8)]
    sign = Op("&", (Bits("float64", "int64", X), Const(_SIGN)))
    steps = (
        ("size", Apply("smaller", (Const(4.0), Apply("abs", (X,))))),
        ("power1", _op("*", size, _polynomial(_ERF, size))),
        *[(power[n + 1].name, _op("*", power[n], _op("+", TWO, power[n]))) for n in range(3)],
        ("value", _op("/", power[3], _op("+", ONE, power[3]))),
    )
    return Function(steps, Bits("int64", "float64", Op("|", (Bits("float64", "int64", Var("value")), sign))))


FUNCTIONS = {"vexp": _exp(), "vtanh": _tanh(), "vlog": _log(), "verf": _erf(), "vsigmoid": _sigmoid()}
BY_NAME = {"exp": "vexp", "tanh": "vtanh", "log": "vlog", "erf": "verf", "sigmoid": "vsigmoid"}


def on_float32(op: str, value: Expr) -> Expr:
    """The function of `BY_NAME` on a float32."""
    return Convert("float32", Apply(BY_NAME[op], (Convert("float64", value),)))
