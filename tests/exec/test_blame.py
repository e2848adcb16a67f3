"""Who made a NaN or an infinity: the step, the element, the elements it was made of, and the store in a kernel."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.blame import BOTH, Blame, blame, given_wrong, on_not_finite
from relax_explorer.core.exec.computed import Store
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.viz.length_text import blame_lines

X = np.array([[1, 2, 3], [4, -5, 6]], "float32")
MATRIX = 'x: R.Tensor((2, 3), "float32")'
ROOTS = """    @T.prim_func
    def roots(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
        T.func_attr({"global_symbol": "roots"})
        for i, j in T.grid(2, 3):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.sqrt(A[vi, vj] + T.float32(1))
"""
SOFTMAX = """    @T.prim_func
    def softmax(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
        S = T.alloc_buffer((2,))
        E = T.alloc_buffer((2, 3))
        M = T.alloc_buffer((2,))
        for i, j in T.grid(2, 3):
            with T.sblock("m"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    M[vi] = T.float32("-inf")
                M[vi] = T.max(M[vi], A[vi, vj])
        for i, j in T.grid(2, 3):
            with T.sblock("e"):
                vi, vj = T.axis.remap("SS", [i, j])
                E[vi, vj] = T.exp(A[vi, vj] * T.float32(100))
        for i, j in T.grid(2, 3):
            with T.sblock("s"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + E[vi, vj]
        for i, j in T.grid(2, 3):
            with T.sblock("n"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = E[vi, vj] / S[vi]
"""


@pytest.fixture(autouse=True)
def _no_files_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels without a cache are compiled without files, which a process that is killed would leave behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert list(tmp_path.iterdir()) == []


def at_the_end(body: str, *args: Any, head: str = MATRIX, rest: str = "") -> Debugger:
    """A debugger after the last step of a program."""
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    text = f"@I.ir_module\nclass M:\n{rest}    @R.function(pure=False)\n    def main({head}):\n{lines}"
    session = rxe.debug(rxe.parse(text), "main", list(args) or [X.copy()])
    session.goto(10**9)
    return session


def stopped(session: Debugger, kinds: tuple[str, ...] = BOTH) -> Blame | None:
    """The maker at the first stop of a run that begins again."""
    session.goto(0)
    session.add(on_not_finite(session, kinds))
    session.continue_()
    return None if session.done else blame(session, kinds=kinds)


def texts(found: Blame | None) -> list[str]:
    assert found is not None
    return [f"{item.text}={item.values.reshape(-1).tolist()}" for item in found.elements]


@pytest.mark.parametrize(
    ("body", "name", "index", "parts"),
    [
        ("y = R.log(x)\nz = R.add(y, y)\nreturn z", "y", (1, 1), ["x[1, 1]=[-5.0]"]),
        ("y = R.add(x, x)\nz = R.sqrt(y)\nreturn R.sum(z)", "z", (1, 1), ["y[1, 1]=[-10.0]"]),
        ('y = R.power(x, R.const([0.5, 0.5, 0.5], "float32"))\nreturn y', "y", (1, 1), ["x[1, 1]=[-5.0]", "a constant[1]=[0.5]"]),
        ("y = R.expand_dims(x, 1)\nz = R.permute_dims(R.log(y))\nreturn z", "gv", (1, 0, 1), ["y[1, 0, 1]=[-5.0]"]),
        ("y = R.concat((x, R.log(x)))\nz = R.reshape(y, (12,))\nw = R.split(z, 2)\nreturn w", "gv", (1, 1), ["x[1, 1]=[-5.0]"]),
        ('y = R.multiply(x, R.const(3e38, "float32"))\nreturn y', "y", (0, 1), ["x[0, 1]=[2.0]", "a constant=[3"]),
        ('y = R.multiply(x, R.const(1e38, "float32"))\nz = R.sum(y, axis=[1])\nreturn z', "y", (1, 0), ["x[1, 0]=[4.0]", "a constant=["]),
        ('y = R.multiply(R.abs(x), R.const(4e37, "float32"))\nz = R.sum(y, axis=[1])\nreturn z', "z", (1,), ["y[1, :]="]),
        ('y = R.multiply(R.abs(x), R.const(1e19, "float32"))\nz = R.matmul(y, R.permute_dims(y))\nreturn z', "z", (0, 0), ["y[0, :]=", "[:, 0]="]),
        ('y = R.cumsum(R.multiply(R.abs(x), R.const(5e37, "float32")), axis=1)\nreturn y', "y", (1, 1), ["[1, :2]="]),
        ('y = R.nn.softmax(R.full((2, 3), R.const(float("-inf"), "float32"), "float32"))\nreturn y', "y", (0, 0), ["[0, :]=[-inf, -inf, -inf]"]),
    ],
)  # fmt: skip
def test_the_maker_and_its_elements_are_found(
    body: str, name: str, index: tuple[int, ...], parts: list[str]
) -> None:
    found = stopped(at_the_end(body))
    assert found is not None
    assert (found.source, found.index) == ("step", index)
    assert found.name.rstrip("123") == name
    assert found.span is not None
    for part, text in zip(parts, texts(found), strict=True):
        assert part in text


def test_what_passed_it_on_is_listed_in_order() -> None:
    found = blame(at_the_end("y = R.log(x)\nz = (y, x)\nw = z[0]\nv = R.add(w, w)\nu = R.sum(v)\nreturn u"))
    assert found is not None
    assert (found.name, found.position) == ("y", 1)
    assert [item.name for item in found.passed_on] == ["v", "u"]


@pytest.mark.parametrize(
    "body",
    [
        'm = R.full((2, 3), R.const(float("-inf"), "float32"), "float32")\ny = R.add(x, m)\nz = R.maximum(y, x)\nreturn R.nn.softmax(z)',
        'm = R.const(float("-inf"), "float32")\nreturn m',
        'c = R.greater(x, R.const(0.0, "float32"))\ny = R.where(c, x, R.const(float("-inf"), "float32"))\nreturn R.exp(y)',
        'y = R.clip(x, min=R.prim_value(T.float32("-inf")), max=R.prim_value(2.0))\nreturn y',
        'a = R.builtin.alloc_tensor(R.shape([2]), "float32", 0)\nreturn a',
    ],
)  # fmt: skip
def test_infinities_that_are_meant_do_not_stop(body: str) -> None:
    assert stopped(at_the_end(body)) is None


def test_an_infinity_beside_a_mask_is_found() -> None:
    head = f'{MATRIX}, m: R.Tensor((2, 3), "float32")'
    mask = np.array([[-np.inf, 0, 0], [0, 200, 0]], "float32")
    found = stopped(at_the_end("y = R.exp(R.add(x, m))\nreturn y", X, mask, head=head))
    assert found is not None
    assert (found.kind, found.index, found.wrong) == ("inf", (1, 1), 1)


def test_a_nan_beside_other_nan_is_found_and_one_that_they_explain_is_not() -> None:
    bad = X.copy()
    bad[0, 0] = np.nan
    session = at_the_end("y = R.add(x, x)\nz = R.log(y)\nreturn z", bad)
    given = given_wrong(session)
    assert given is not None
    assert (given.source, given.name, given.index) == ("input", "x", (0, 0))
    found = stopped(session)
    assert found is not None
    assert (found.name, found.index) == ("z", (1, 1))
    explained = at_the_end("y = R.matmul(x, R.permute_dims(x))\nreturn y", bad)
    assert stopped(explained) is None
    explained.goto(10**9)
    source = blame(explained)
    assert source is not None
    assert (source.source, source.name) == ("input", "x")
    assert [item.name for item in source.passed_on][-1] == "y"
    row = at_the_end('y = R.sum(R.multiply(x, R.const(1e38, "float32")), axis=[1])\nreturn y', np.abs(bad))
    partial = stopped(row, ("inf",))
    assert partial is not None
    assert partial.index[0] == 1


@pytest.mark.parametrize(
    ("dtype", "body", "kind"),
    [
        ("float16", 'y = R.astype(R.multiply(x, R.const(20000.0, "float32")), "float16")\nreturn y', "inf"),
        ("bfloat16", 'y = R.log(R.astype(x, "bfloat16"))\nreturn y', "nan"),
        ("float8_e4m3fn", 'y = R.astype(R.multiply(x, R.const(100.0, "float32")), "float8_e4m3fn")\nreturn y', "nan"),
        ("float8_e5m2", 'y = R.astype(R.multiply(x, R.const(20000.0, "float32")), "float8_e5m2")\nreturn y', "inf"),
        ("float64", 'y = R.log(R.astype(x, "float64"))\nreturn y', "nan"),
    ],
)  # fmt: skip
def test_narrow_floats(dtype: str, body: str, kind: str) -> None:
    found = stopped(at_the_end(body))
    assert found is not None
    assert (found.kind, found.name) == (kind, "y")
    assert len(found.elements) == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_a_store_that_overflows_a_narrow_float_is_found(dtype: str) -> None:
    rest = f"""    @T.prim_func
    def grow(A: T.Buffer((3,), "{dtype}"), B: T.Buffer((3,), "{dtype}")):
        for i in range(3):
            with T.sblock("b"):
                vi = T.axis.spatial(3, i)
                B[vi] = A[vi] * A[vi]
"""
    most = float(ml_dtypes.finfo(dtype).max)
    x = np.array([1, 2, most], dtype)
    session = at_the_end(
        f'y = R.call_tir(M.grow, (x,), R.Tensor((3,), "{dtype}"))\nreturn y',
        x,
        head=f'x: R.Tensor((3,), "{dtype}")',
        rest=rest,
    )
    found = blame(session)
    assert found is not None
    assert isinstance(found.store, Store), found.store
    assert (found.store.index, found.store.loads[0][-1]) == ((2,), most)


@pytest.mark.parametrize(
    ("body", "overwritten"),
    [
        ('y = R.call_tir(M.roots, (x,), R.Tensor((2, 3), "float32"))\nreturn y', "y"),
        ('y = R.call_tir_inplace(M.roots, (x, x), [1], R.Tensor((2, 3), "float32"))\nreturn y', "y"),
        ('a = R.builtin.alloc_tensor(R.shape([2, 3]), "float32", 0)\n_ = M.roots(x, a)\nreturn a', "a"),
        ('a = R.builtin.alloc_tensor(R.shape([2, 3]), "float32", 0)\n_ = M.roots(x, a)\nb = R.add(a, a)\nreturn b', "a"),
        ('_ = R.call_packed("roots", x, x)\ny = R.add(x, x)\nreturn y', "x"),
        ("_ = M.roots(x, x)\ny = R.add(x, x)\nreturn y", "x"),
        ('a = R.builtin.alloc_tensor(R.shape([2, 3]), "float32", 0)\n_ = R.vm.call_tir_dyn(M.roots, (x, a))\nreturn a', "a"),
    ],
)  # fmt: skip
def test_the_store_in_a_kernel_is_found(body: str, overwritten: str) -> None:
    session = at_the_end(body, rest=ROOTS)
    found = stopped(session)
    assert found is not None
    assert (found.name, found.index) == (overwritten, (1, 1))
    store = found.store
    assert isinstance(store, Store), store
    assert (store.index, store.loops) == ((1, 1), (("i", 1), ("j", 1)))
    assert [value for *_, value in store.loads] == [-5.0]
    assert store.statement.span is not None
    assert "T.sqrt" in store.statement.span.source.line(store.statement.span.line)
    session.goto(10**9)
    name = next((name for name in ("b", "y", "a", "x") if name in session.frame.values), "x")
    later = blame(session, name)
    assert later is not None
    assert (later.position, later.name) == (found.position, found.name)


def test_the_infinity_behind_a_nan_inside_a_kernel_is_found_and_the_start_of_a_maximum_is_meant() -> None:
    body = 'y = R.call_tir(M.softmax, (x,), R.Tensor((2, 3), "float32"))\nreturn y'
    found = stopped(at_the_end(body, rest=SOFTMAX))
    assert found is not None
    assert isinstance(found.store, Store)
    assert [value for *_, value in found.store.loads] == [np.inf, np.inf]
    assert found.began is not None
    assert (found.began.index, found.began.loads[0][-1]) == ((0, 0), 1.0)
    text = "\n".join(blame_lines(found))
    assert "E[vi, vj] = T.exp(A[vi, vj] * T.float32(100.0))" in text
    fine = body.replace("(x,)", '(R.multiply(x, R.const(0.01, "float32")),)')
    assert stopped(at_the_end(fine, rest=SOFTMAX)) is None


def test_makers_are_found_in_functions_closures_branches_and_packed_functions() -> None:
    nested = """    @R.function
    def inner(a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        b = R.log(a)
        return b
"""
    body = """@R.function
def g(y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    r = M.inner(y)
    return r
c = R.const(True, "bool")
if c:
    z = g(x)
else:
    z = x
w = R.add(z, z)
return w"""
    found = blame(at_the_end(body, rest=nested))
    assert found is not None
    assert (found.name, found.function) == ("b", "inner")
    assert [name for name, _ in found.callers] == ["g", "main"]
    assert "called from main" in "\n".join(blame_lines(found))

    @rxe.packed_function("test.blame.spoil")
    def spoil(x: Any) -> None:
        x[0, 1] = np.nan

    session = at_the_end('_ = R.call_packed("test.blame.spoil", x)\ny = R.add(x, x)\nreturn y')
    packed = blame(session)
    assert packed is not None
    assert (packed.name, packed.index, packed.store) == (
        "x",
        (0, 1),
        "a packed function: its inside is not seen",
    )
    assert [item.value[0, 1] for item in packed.operands] == [2.0]


def test_an_input_is_found_behind_the_functions_that_pass_it_on() -> None:
    nested = """    @R.function
    def inner(a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        b = R.add(a, a)
        c = R.add(b, b)
        return c
"""
    bad = X.copy()
    bad[0, 0] = np.nan
    session = at_the_end("y = M.inner(x)\nreturn y", bad, rest=nested)
    session = rxe.debug(session.module, "main", [bad])
    session.goto(2)
    assert len(session.frames) == 2
    found = blame(session, "b")
    assert found is not None
    assert (found.source, found.name, found.function) == ("input", "x", "main")


def test_one_own_element_is_found_beside_hundreds_that_operands_explain() -> None:
    head = 'x: R.Tensor((400,), "float32")'
    for body, kind in (
        ("y = R.sqrt(x)\nreturn y", -1),
        ("z = R.negative(x)\ny = R.add(x, z)\nreturn y", np.inf),
    ):
        bad = np.full(400, np.nan, "float32")
        bad[399] = kind
        found = stopped(at_the_end(body, bad, head=head), ("nan",))
        assert found is not None
        assert (found.name, found.index) == ("y", (399,))


def test_what_is_told_stays_when_memory_is_written_again() -> None:
    body = """a = R.builtin.alloc_tensor(R.shape([2, 3]), "float32", 0)
_ = M.roots(x, a)
b = R.add(a, a)
_1 = M.roots(a, x)
_2 = R.call_packed("test.blame.clear", a, x)
return b"""

    @rxe.packed_function("test.blame.clear")
    def clear(*arrays: Any) -> None:
        for array in arrays:
            array[:] = 0

    session = at_the_end(body, rest=ROOTS)
    session.goto(2)
    found = blame(session, "a")
    assert found is not None
    session.goto(10**9)
    assert found.position == 2
    assert [item.value[1, 1] for item in found.operands] == [-5, 0]


def test_the_arguments_and_the_position_stay_as_they_are() -> None:
    session = at_the_end("_ = M.roots(x, x)\nreturn x", rest=ROOTS)
    session.goto(1)
    before = session.frame["x"].copy()
    assert blame(session) is not None
    assert session.position == 1
    np.testing.assert_array_equal(session.frame["x"], before)
    session.back()
    assert not np.isnan(session.frame["x"]).any()
    assert blame(session) is None
    bump = ROOTS.replace("roots", "bump").replace(
        "                B[vi", "                A[vi, vj] = A[vi, vj] - T.float32(9)\n                B[vi"
    )
    body = 'a = R.builtin.alloc_tensor(R.shape([2, 3]), "float32", 0)\n_ = M.roots(x, a)\n_1 = M.bump(x, a)\nreturn a'
    session = at_the_end(body, rest=ROOTS + bump)
    assert blame(session, "a") is not None
    session.goto(0)
    np.testing.assert_array_equal(session.frame["x"], X)


REUSED = """    @T.prim_func
    def spread(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[0, 0] - A[1, 2]
"""


def test_memory_that_held_other_nan_before_is_no_reason() -> None:
    """Storage is reused, and the kernel writes the NaN that are there already."""
    body = """s = R.memory.alloc_storage(R.shape([24]), 0, "global", "float32")
a = R.memory.alloc_tensor(s, 0, R.shape([2, 3]), "float32")
_ = M.spread(x, a)
b = R.add(a, a)
_1 = R.memory.kill_tensor(a)
y = R.multiply(b, b)
c = R.memory.alloc_tensor(s, 0, R.shape([2, 3]), "float32")
_2 = M.spread(y, c)
z = R.add(c, c)
_3 = R.memory.kill_tensor(c)
return z"""
    x = X.copy()
    x[0, 0], x[1, 2] = np.inf, np.inf
    session = at_the_end(body, x, rest=REUSED)
    found = blame(session)
    assert found is not None
    assert (found.name, found.position) == ("a", 3)
    assert [item.name for item in found.passed_on] == ["b", "y", "_2", "z"]
    assert isinstance(found.store, Store)
    assert [item.value[0, 0] for item in found.operands] == [np.inf, 0]
    assert session.done
    assert (session.position, session.event.kind) == (len(session.machine.log), "done")
    again = blame(at_the_end(body.replace("M.spread(y, c)", "M.spread(x, c)"), x, rest=REUSED))
    assert again is not None
    assert (again.name, [item.name for item in again.passed_on]) == ("c", ["z"])


@pytest.mark.parametrize("budget", [0, 1 << 14, None])
def test_makers_are_found_among_evicted_values(budget: int | None) -> None:
    steps = "".join(f"    v{n} = R.add(v{n - 1}, x)\n" for n in range(1, 30))
    text = f'@R.function\ndef main(x: R.Tensor((40, 40), "float32")):\n    v0 = R.log(x)\n{steps}    return v29\n'
    x = np.ones((40, 40), "float32")
    x[3, 4] = -1
    session = Debugger(rxe.parse(text), "main", [x], budget=budget)
    session.goto(10**9)
    found = blame(session)
    assert found is not None
    assert (found.name, found.position, found.index) == ("v0", 1, (3, 4))
    assert len(found.passed_on) == 29
    assert stopped(session) is not None
