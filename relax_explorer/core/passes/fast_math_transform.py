"""FastMathTransform: compute exp, erf, tanh and softmax by short formulas that are fast and nearly right."""

from __future__ import annotations

from functools import partial, reduce

import numpy as np

from relax_explorer.core.check.infer import UNREPORTED
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT16, FLOAT32, INT32
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import called
from relax_explorer.core.ops.kit import legalize
from relax_explorer.core.ops.kit.decl import NotLowered
from relax_explorer.core.ops.kit.te import Te, Tensor, call, lowest
from relax_explorer.core.ops.tensor.reduction import reduce_stage
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.readings import OPERATORS
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases.module_properties import ADDED_KERNELS, NORMAL_FORM


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
        return call("exp", x)
    number = partial(p.as_prim, dtype=FLOAT32)
    most, least, log2_e, log_2 = map(number, _BOUNDS_AND_LOGARITHMS)
    x_in = p.Max(p.Min(x, most), least)
    n = call("floor", p.Add(p.Mul(x_in, log2_e), number(0.5)))
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
        return te.compute("T_erf", data.shape, lambda *i: call("erf", data[i]))

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
        return te.compute("T_fast_tanh", data.shape, lambda *i: call("tanh", data[i]))
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
