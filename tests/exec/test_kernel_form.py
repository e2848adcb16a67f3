"""Kernels that are equal but for the numbers in their arithmetic are compiled once, and give the bits of the reference engine."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import machine_code
from relax_explorer.core.exec.kernel_code import CHECKED, TRUSTING
from relax_explorer.core.exec.kernel_form import MOST, form, template, whole_form
from relax_explorer.core.exec.kernels import Kernels
from relax_explorer.core.exec.loop_fusion import fused
from relax_explorer.core.exec.loop_statements import translate
from relax_explorer.core.exec.loop_text import source
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.node import over
from relax_explorer.core.program.prim_func_equal import ARITHMETIC
from relax_explorer.core.tir.mutator import Mutator
from relax_explorer.core.tir.stmt import BufferStore, PrimFunc
from relax_explorer.core.tir.traverse import statements
from tests.support.corpus import MODELS

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
    ("number", "is_left_out"),
    [("0", False), ("1", False), ("-1", False), ("0.5", False), ("1024", False), ("-0.25", False), ("3", True), ("0.1", True),
     ("-0.1", True), ("1e-30", True), ("inf", False), ("nan", False)],
)  # fmt: skip
def test_numbers_that_decide_how_a_kernel_is_optimized_stay(number: str, is_left_out: bool) -> None:
    literal = f'T.float32("{number}")' if number in ("inf", "nan") else f"T.float32({number})"
    fn = program([f"A[v] * {literal}"])["k0"]
    numbers = form(fn).numbers
    new, variables = template(fn)
    assert (new is not fn) == is_left_out == bool(numbers) == bool(variables)
    if is_left_out:
        assert np.array(numbers, np.int64).view(np.float64).tolist() == [float(number)]


def kernel(value: str, dtype: str = "float32") -> PrimFunc:
    """A kernel that is not run."""
    return program([value], dtype, 8)["k0"]


def test_the_first_numbers_are_left_out_and_equal_ones_once() -> None:
    terms = ["A[v] * T.float32(0.3)", *[f"T.float32({n}.7)" for n in range(1, 9)], "T.float32(0.3)"]
    fn = kernel(" + ".join(terms))
    numbers = form(fn).numbers
    assert len(set(numbers)) == len(numbers) == MOST
    _, variables = template(fn)
    routine = translate(template(fn)[0], numbers=variables).routine
    assert routine.params[-MOST:] == ("k0", "k1", "k2", "k3")


ALIKE = [
    ("A[v] * T.float32(0.3) + T.float32(0.7)", "A[v] * T.float32(0.1) + T.float32(3)", True),
    ("A[v] * T.float32(0.3) + T.float32(0.3)", "A[v] * T.float32(0.3) + T.float32(0.7)", False),  # one number, and two
    ("A[v] * T.float32(0.3) + T.float32(0.7)", "A[v] * T.float32(0.3) + T.float32(0.5)", False),
    ("A[v] * T.float32(0.3)", "T.float32(0.3) * A[v]", False),
    ("A[v] - T.float32(0.3)", "A[v] + T.float32(0.3)", False),
    ("A[v] * T.float32(0.3)", "A[v] * A[v]", False),
    ("T.max(A[v] * T.float32(0.3), T.float32(0.7))", "T.max(A[v] * T.float32(0.3), T.float32(0.6))", False),
    ("T.max(A[v] * T.float32(0.3), T.float32(0.7))", "T.max(A[v] * T.float32(0.2), T.float32(0.7))", True),
    ("T.max(A[v] * T.float32(0.3), T.float32(0.3))", "T.max(A[v] * T.float32(0.2), T.float32(0.2))", False),
    ("T.pow(A[v], T.float32(0.3))", "T.pow(A[v], T.float32(0.7))", False),
    ("A[v] + T.Cast(\"float32\", T.int32(3))", "A[v] + T.Cast(\"float32\", T.int32(7))", False),
    ("T.Cast(\"float32\", T.Cast(\"float64\", A[v]) * T.float64(0.3))", "T.Cast(\"float32\", T.Cast(\"float64\", A[v]) * T.float64(0.7))", True),
    ("A[v] + T.Cast(\"float32\", T.float16(0.3) / T.Cast(\"float16\", A[v]))",
     "A[v] + T.Cast(\"float32\", T.float16(0.7) / T.Cast(\"float16\", A[v]))", True),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "are_alike"), ALIKE)
def test_forms_are_equal_if_only_numbers_of_arithmetic_differ(one: str, other: str, are_alike: bool) -> None:
    a, b = kernel(one), kernel(other)
    assert (form(a).digest == form(b).digest) == are_alike
    assert whole_form(a).digest != whole_form(b).digest
    x = np.linspace(0.1, 2, 8, dtype="float32")
    for fn in (a, b, a):
        y, z = np.zeros_like(x), np.zeros_like(x)
        Kernels().call(fn, [x, y])
        Kernels(engine="reference").call(fn, [x, z])
        np.testing.assert_allclose(y, z, rtol=1e-6)


def test_a_number_that_stands_in_other_places_too_stays_there() -> None:
    fn = kernel("T.max(A[v] * T.float32(0.3), T.float32(0.3))")
    (store,) = [node for node in statements(template(fn)[0].body) if type(node) is BufferStore]
    assert str(store.value) == "T.max(A[v] * k0, T.float32(0.29999999999999999))"


def alike(value: str, size: int = 8) -> list[PrimFunc]:
    """Two kernels that differ in a number."""
    module = program([value.format(a="0.3"), value.format(a="0.7")], "float32", size)
    return [fn for fn in module.functions.values() if type(fn) is PrimFunc]


SHARED = 1 << 20  # elements that threads share


@pytest.mark.parametrize("engine", ["llvm", "numba"])
@pytest.mark.parametrize("size", [8, SHARED])
def test_each_engine_gives_each_kernel_its_numbers(engine: str, size: int) -> None:
    kernels = Kernels(engine=engine)
    x = np.linspace(1, 2, size, dtype="float32")
    for fn, number in [*zip(alike("T.sqrt(A[v]) * T.float32({a})", size), (0.3, 0.7), strict=True)] * 2:
        y = np.zeros_like(x)
        kernels.call(fn, [x, y])
        np.testing.assert_allclose(y, np.sqrt(x) * np.float32(number), rtol=1e-6)
        assert kernels.compiler(fn) == engine
        z = x.copy()
        kernels.call(fn, [z, z])  # memory that is shared: in the order of the program
        assert z.tobytes() == y.tobytes()
    assert kernels.remarks == []


def test_numbers_where_llvm_has_no_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "is_possible", lambda: False)
    kernels = Kernels()
    x = np.linspace(1, 2, SHARED + 1, dtype="float32")
    for fn, number in zip(alike("T.exp(A[v]) * T.float32({a})", SHARED + 1), (0.3, 0.7), strict=True):
        y = np.zeros_like(x)
        kernels.call(fn, [x, y])
        np.testing.assert_allclose(y, np.exp(x) * np.float32(number), rtol=1e-6)
        assert kernels.compiler(fn) == "numba"
    assert kernels.remarks == []


def test_a_folder_gets_the_translation_of_a_kernel_that_ran_without_it(tmp_path: Path) -> None:
    x = np.ones(8, "float32")
    one, other = alike("A[v] * T.float32({a})")
    Kernels().call(one, [x, np.zeros_like(x)])
    Kernels(tmp_path / "cache").call(other, [x, np.zeros_like(x)])
    assert [*(tmp_path / "cache").glob("translations_*")]


CHECKING = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(A: T.Buffer((5,), "float32"), p: T.handle, B: T.Buffer((3,), "float32")):
        n = T.int64()
        P = T.match_buffer(p, (n,), "int64")
        for i in range(3):
            with T.sblock("s"):
                v = T.axis.spatial(3, i)
                B[v] = A[T.int64(v) + T.int64(v) * (n // T.int64(1000)) - T.int64(v) * T.truncdiv(n, T.int64(1000))] * T.float32({a})
"""


@pytest.mark.parametrize(("length", "name"), [(4, TRUSTING), (5000, CHECKED)])
def test_each_text_takes_the_numbers_of_each_kernel(length: int, name: str) -> None:
    kernels, x = Kernels(), np.arange(5, dtype="float32")
    for a in (0.3, 0.7):
        fn = rxe.parse(CHECKING.replace("{a}", str(a)))["k"]
        y = np.zeros(3, "float32")
        kernels.call(fn, [x, np.zeros(length, "int64"), y])
        assert y.tobytes() == (x[:3] * np.float32(a)).tobytes()
        assert name in kernels.get(fn).code.texts


class Other(Mutator):
    """Gives each number that a form leaves out another value."""

    def __init__(self, numbers: tuple[p.FloatImm, ...]) -> None:
        super().__init__()
        self.numbers: dict[p.PrimExpr, p.PrimExpr] = {
            n: p.FloatImm(k / 7 + 0.3, n.dtype) for k, n in enumerate(numbers)
        }

    def expr(self, expr: p.PrimExpr) -> p.PrimExpr:
        new = super().expr(expr)
        if type(expr) not in ARITHMETIC:
            return new
        return over(new, tuple([self.numbers.get(operand, operand) for operand in new.children()]))


MODELS_HAVE = 20  # kernels with numbers that their forms leave out


def kernels_of_models() -> Iterator[PrimFunc]:
    """Kernels of the corpus, before and after stages of them are fused, each once."""
    found = {}
    for model in MODELS:
        for path in (
            model.stages[-1],
            *[path for path in model.stages if "FuseTIR" in path.name or "Legalize" in path.name],
        ):
            module = rxe.parse(path.read_text(encoding="utf-8"))
            found.update(
                {whole_form(fn).digest: fn for fn in module.functions.values() if type(fn) is PrimFunc}
            )
    yield from found.values()


def test_kernels_of_models_do_not_depend_on_the_numbers_that_their_forms_leave_out() -> None:
    """Fused or not: another number makes neither other loops nor other facts."""
    looked_at = 0
    for fn in kernels_of_models():
        numbers = form(fn).literals
        if not numbers:
            continue
        other = Other(numbers).function(fn)
        assert other is not fn
        assert form(other).digest == form(fn).digest
        for joined in (fn, fused(fn)):
            a = translate(joined)
            b = translate(fused(other) if joined is not fn else other)
            assert (a.facts, a.ways) == (b.facts, b.ways)
            text = source(a.routine)
            for old, new in zip(numbers, form(other).literals, strict=True):
                text = text.replace(repr(old.value), repr(new.value))
            assert text == source(b.routine)
        looked_at += 1
    assert looked_at >= MODELS_HAVE


def test_an_expression_that_is_deeper_than_calls_may_be_is_left_alone() -> None:
    fn = kernel(" + ".join(["A[v]", *[f"T.float32({n}.7)" for n in range(300)]]))
    assert form(fn) == whole_form(fn)
    assert template(fn) == (fn, ())


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
