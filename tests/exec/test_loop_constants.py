"""Kernels that are equal but for the numbers in their arithmetic are compiled once, and give the bits of the reference engine."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import machine_code
from relax_explorer.core.exec.kernels import Kernels
from relax_explorer.core.exec.loop_constants import MOST, lifted
from relax_explorer.core.exec.loop_ir import Const, Convert, Expr, Op, Return, Routine, Var, parts
from relax_explorer.core.exec.loop_statements import translate
from relax_explorer.core.exec.loop_text import source

NEW = count(9)  # lengths: no kernel of a test was compiled before
KERNEL = """
    @T.prim_func(private=True)
    def k{n}(A: T.Buffer(({size},), "{dtype}"), B: T.Buffer(({size},), "{dtype}")):
        for i in range({size}):
            with T.sblock("s"):
                v = T.axis.spatial({size}, i)
                B[v] = {value}
"""


def program(values: list[str], dtype: str = "float32", size: int | None = None) -> rxe.IRModule:
    """A chain of kernels, with one of these values each."""
    size = next(NEW) if size is None else size
    kernels = [KERNEL.format(n=n, size=size, dtype=dtype, value=value) for n, value in enumerate(values)]
    text = f'@I.ir_module\nclass Module:{"".join(kernels)}\n    @R.function\n    def main(x: R.Tensor(({size},), "{dtype}")):\n'
    for n in range(len(values)):
        out = f'R.Tensor(({size},), "{dtype}")'
        text += f"        v{n} = R.call_tir(Module.k{n}, ({f'v{n - 1}' if n else 'x'},), out_sinfo={out})\n"
    return rxe.normalize(rxe.parse(f"{text}        return v{len(values) - 1}\n"))


def runs(module: rxe.IRModule, dtype: str = "float32") -> list[bytes]:
    """The bits of the first run, of later ones (as rows of machine code) and of the reference engine."""
    size = module["main"].params[0].struct_info.dims[0].value
    x = np.random.default_rng(size).standard_normal(size).astype(dtype)
    found = [rxe.run(module, "main", [x]).tobytes() for _ in range(5)]
    return [*found, rxe.run(module, "main", [x], engine="reference").tobytes()]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that LLVM compiles."""
    found: list[str] = []
    known = machine_code.machine_code

    def watched(text: str) -> bytes:
        found.append(text)
        return known(text)

    monkeypatch.setattr(machine_code, "machine_code", watched)
    return found


VALUES = {
    "A[v] * T.{d}({a}) + T.{d}({b})": 1,
    "(A[v] - T.{d}({a})) / T.{d}({b})": 1,
    "T.{d}({a}) / (A[v] * A[v] + T.{d}({b}))": 1,
    "T.exp(A[v] * T.{d}({a})) - T.{d}({a})": 1,
    "T.if_then_else(A[v] > T.{d}(0), A[v] * T.{d}({a}), A[v] + T.{d}({b}))": 1,
    "T.max(A[v] * T.{d}({a}), T.{d}({b}))": 6,  # a limit is part of the text
    "T.if_then_else(A[v] > T.{d}({b}), A[v], T.{d}(1))": 6,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", VALUES)
def test_kernels_are_compiled_once_if_only_numbers_differ(
    value: str, dtype: str, compiled: list[str]
) -> None:
    numbers = [(0.1 + n / 7, 3.3 - n / 11) for n in range(6)]
    module = program([value.format(d=dtype, a=a, b=b) for a, b in numbers], dtype)
    found = runs(module, dtype)
    kernels = [text for text in compiled if "kernel_" in text]
    assert len(kernels) == VALUES[value]
    if "exp" not in value or dtype == "float64":  # float32 has an exp of its own
        assert set(found) == {found[0]}
    assert set(found[:-1]) == {found[0]}


@pytest.mark.parametrize(
    ("number", "is_lifted"),
    [("0", False), ("1", False), ("-1", False), ("0.5", False), ("1024", False), ("-0.25", False), ("3", True), ("0.1", True),
     ("-0.1", True), ("1e-30", True), ("inf", False), ("nan", False)],
)  # fmt: skip
def test_numbers_that_decide_how_a_kernel_is_optimized_stay(number: str, is_lifted: bool) -> None:
    literal = f'T.float32("{number}")' if number in ("inf", "nan") else f"T.float32({number})"
    fn = program([f"A[v] * {literal}"])["k0"]
    routine = translate(fn).routine
    new, constants = lifted(routine)
    assert (new is not routine) == is_lifted == bool(constants)
    if is_lifted:
        assert np.array(constants, np.int64).view(np.float64).tolist() == [float(number)]


def test_the_first_numbers_are_lifted_and_equal_ones_once() -> None:
    terms = ["A[v] * T.float32(0.3)", *[f"T.float32({n}.7)" for n in range(1, 9)], "T.float32(0.3)"]
    fn = program([" + ".join(terms)])["k0"]
    routine, constants = lifted(translate(fn).routine)
    assert len(set(constants)) == len(constants) == MOST
    assert source(routine).count("c0") == 3  # where it is set, and two operands


def test_a_sum_that_is_deeper_than_calls_may_be() -> None:
    value: Expr = Var("v0")
    for n in range(5000):
        value = Op("+-"[n % 2], (value, Convert("float32", Const(n + 0.3))))
    routine = Routine(("v0",), (Return(value),))
    new, constants = lifted(routine)
    assert len(constants) == MOST
    changed = [part for part in parts(new) if type(part) is Op and type(part.args[1]) is Var]
    assert len(changed) == MOST
    assert lifted(Routine((), (Return(Op("+", (Var("v0"), Const(1)))),)))[1] == ()


def test_loops_that_threads_share_and_memory_that_is_shared() -> None:
    size = 1 << 20
    text = KERNEL.format(
        n=0, size=size, dtype="float32", value="T.exp(A[v] * T.float32(0.3)) / T.float32(0.7)"
    )
    fn = rxe.parse(f"@I.ir_module\nclass Module:{text}")["k0"]
    x = np.linspace(-3, 3, size, dtype="float32")
    for engine in ("llvm", "numba"):
        y = np.zeros_like(x)
        Kernels(engine=engine).call(fn, [x, y])
        np.testing.assert_allclose(y, np.exp(x * np.float32(0.3)) / np.float32(0.7), rtol=1e-6)
        z = x.copy()
        Kernels(engine=engine).call(fn, [z, z])  # an output that is the input: in the order of the program
        np.testing.assert_allclose(z, y, rtol=1e-6)


def test_nothing_stays() -> None:
    node = Op("+", (Var("v0"), Convert("float32", Const(0.0))))
    routine = Routine(("v0",), (Return(node),))
    assert lifted(routine) == (routine, ())


STAGES = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(A: T.Buffer((50,), "float32"), d: T.handle, B: T.Buffer((50,), "float32")):
        n = T.int64()
        D = T.match_buffer(d, (n,))
        C = T.sblock_alloc_buffer((50,))
        for i in range(50):
            with T.sblock("s"):
                v = T.axis.spatial(50, i)
                C[v] = A[v] * T.float32(0.3)
        for i in range(50):
            with T.sblock("t"):
                v = T.axis.spatial(50, i)
                B[v] = (C[v] - T.float32(0.7)) + T.if_then_else(v < n, D[v], T.float32(0))
    @R.function
    def main(x: R.Tensor((50,), "float32"), y: R.Tensor(("n",), "float32")):
        r = R.call_tir(Module.k, (x, y), out_sinfo=R.Tensor((50,), "float32"))
        return r
"""


@pytest.mark.parametrize("size", [50, 40, 60])
def test_each_text_takes_its_numbers(size: int) -> None:
    module = rxe.normalize(rxe.parse(STAGES))
    x, y = np.linspace(1, 2, 50, dtype="float32"), np.linspace(3, 4, size, dtype="float32")
    expected = rxe.run(module, "main", [x, y], engine="reference").tobytes()
    assert [rxe.run(module, "main", [x, y]).tobytes() for _ in range(4)] == [expected] * 4
    Kernels().call(
        module["k"], [x, y, x]
    )  # the memory of the result is that of an operand: the stages run in order
    assert x.tobytes() == expected
