"""Control flow, closures, packed functions, match_cast, and errors at run time."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.engine import ENGINES, engine
from relax_explorer.core.exec.kernels import Kernels
from relax_explorer.core.ir.walk import bindings
from tests.support.roundtrip import SAMPLES, function

F = np.float32


def sample(number: int) -> rxe.IRModule:
    return rxe.load(next(p for p in SAMPLES if p.name.startswith(f"{number:02}")))


def test_symbolic_shape() -> None:
    x = np.arange(12, dtype=F).reshape(3, 4)
    np.testing.assert_array_equal(rxe.run(sample(2), "main", [x]), np.concatenate([x.ravel(), x.ravel()]))


def test_match_cast_binds_a_variable() -> None:
    assert rxe.run(sample(3), "main", [np.zeros((5, 4), F)]).shape == (20,)
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(sample(3), "main", [np.zeros((5, 3), F)])
    assert caught.value.diagnostics[0].code.id == "RX0503"


def test_prim_func() -> None:
    np.testing.assert_array_equal(
        rxe.run(sample(4), "main", [np.full((2, 4), 3, F)]), np.full((2, 4), 1.5, F)
    )


@pytest.mark.parametrize("flag", [True, False])
def test_branches(flag: bool) -> None:
    x = np.array([1, 2, 3], F)
    expected = np.exp(x) if flag else -x
    np.testing.assert_allclose(rxe.run(sample(5), "main", [np.array(flag), x]), 2 * expected, rtol=1e-6)


def test_recursion_and_closure() -> None:
    assert rxe.run(sample(6), "main", [np.array(2, F)]) == F(32)
    x, b = np.zeros((2, 3), F), np.array([1, 2, 3], F)
    np.testing.assert_array_equal(rxe.run(sample(7), "main", [x, b]), np.tile(2 * b, (2, 1)))


def test_endless_recursion_is_reported() -> None:
    text = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        cls = Module
        y = cls.main(x)
        return y
"""
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(rxe.parse(text), "main", [np.array(1, F)])
    assert caught.value.diagnostics[0].code.id == "RX0513"


def test_effects_happen_once_going_back_and_forth() -> None:
    calls: list[int] = []

    @rxe.packed_function("test.count")
    def count(x: np.ndarray) -> np.ndarray:
        calls.append(1)
        return x

    text = function(
        'y = R.call_packed("test.count", x, ty_args=(R.Tensor((2, 3), "float32"),))\nz = R.add(y, y)\nreturn z'
    )
    debugger = rxe.debug(rxe.parse(text), "main", [np.ones((2, 3), F)])
    debugger.step()
    debugger.back()
    debugger.step()
    debugger.step()
    assert len(calls) == 1
    np.testing.assert_array_equal(debugger.frame["z"], np.full((2, 3), 2, F))


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ([], "RX0502"),
        ([np.zeros((2, 3))], "RX0501"),
        ([np.zeros((2, 4), F)], "RX0501"),
        ([3], "RX0501"),
        (["x"], "RX0501"),
    ],
)
def test_inputs_that_do_not_fit(args: list[object], code: str) -> None:
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(rxe.parse(function("return x")), "main", args)
    assert caught.value.diagnostics[0].code.id == code


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('return R.call_packed("no.such", x, ty_args=(R.Object,))', "RX0505"),
        ("return R.frobnicate(x)", "RX0504"),
        ('y = R.assert_op(R.const(False, "bool"), format="no")\nreturn x', "RX0510"),
        ('return R.floor_divide(R.const(1, "int32"), R.const(0, "int32"))', "RX0509"),
    ],
)
def test_traps(body: str, code: str) -> None:
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(rxe.parse(function(body)), "main", [np.zeros((2, 3), F)])
    assert caught.value.diagnostics[0].code.id == code


def test_a_packed_function_that_nobody_registered_is_named() -> None:
    def problem(name: str) -> rxe.Diagnostic:
        program = function(f'return R.call_packed("{name}", x, ty_args=(R.Object,))')
        with pytest.raises(rxe.Failure) as caught:
            rxe.run(rxe.parse(program), "main", [np.zeros((2, 3), F)])
        return caught.value.diagnostics[0]

    assert "'no.such'" in problem("no.such").message
    assert '@rxe.packed_function("no.such")' in problem("no.such").help
    assert problem("test.inc_inplac").help == "did you mean 'test.inc_inplace'?"


def test_take_never_reads_outside() -> None:
    text = function(
        "return R.take(x, i, axis=0)", 'x: R.Tensor((2, 3), "float32"), i: R.Tensor((2,), "int64")'
    )
    x = np.arange(6, dtype=F).reshape(2, 3)
    far = np.array([10**9, -(10**9)], np.int64)
    for program in (rxe.parse(text), rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps")):
        with pytest.raises(rxe.Failure) as caught:
            rxe.run(program, "main", [x, far])
        assert caught.value.diagnostics[0].code.id == "RX0508"
    clipped = text.replace("axis=0)", 'axis=0, mode="clip")')
    for program in (rxe.parse(clipped), rxe.apply_pass(rxe.normalize(rxe.parse(clipped)), "LegalizeOps")):
        np.testing.assert_array_equal(rxe.run(program, "main", [x, far]), x[[1, 0]])


def test_a_kernel_that_the_module_has_not_is_named() -> None:
    text = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        y = R.call_tir(cls.missing, (x,), out_sinfo=R.Tensor((4,), "float32"))
        return y
"""
    module = rxe.parse(text)
    (problem,) = [item for item in rxe.check(module) if item.is_error]
    assert (problem.code.id, problem.message) == ("RX0106", "the module has no function 'missing'")
    assert problem.span is not None
    assert problem.span.line == 7
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(module, "main", [np.ones(4, F)])
    stopped = caught.value.diagnostics[0]
    assert (stopped.code.id, stopped.message) == ("RX0506", "y: 'missing' is not a PrimFunc of the module")
    assert stopped.span is not None
    assert stopped.span.line == 7


def test_each_binding_tells_its_engine() -> None:
    out = 'out_ty=R.Tensor((2,), "float32")'
    text = f"""
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def same(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            B[i] = A[i]
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        a = R.call_tir(Module.same, (x,), {out})
        b = R.call_dps_packed("nobody.f", (a,), {out})
        c = R.exp(b)
        return c
"""
    module = rxe.normalize(rxe.parse(text))
    for name in ENGINES:
        found = [engine(module, binding, Kernels(engine=name)) for binding in bindings(module["main"])]
        assert found == [name, "python", "numpy"]
