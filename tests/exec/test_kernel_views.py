"""Lowered products read a transposed matrix as it lies: the kernel that only transposes gives a view, if products alone read it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec import compiled_kernel
from relax_explorer.core.exec import kernels as kernels_of_runs
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.known_call import KnownCode, KnownPieces, KnownView
from relax_explorer.core.exec.loop_fusion import transposition
from relax_explorer.core.exec.plan import plan
from relax_explorer.core.ir.expr import Function
from tests.perf.real import model

SIZE = 56  # of matrices: BLAS computes their products, and they are hardly larger than that needs

HEAD = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def turn(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n}, {n}), "float32")):
        for i, j in T.grid({n}, {n}):
            with T.sblock("s"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[w, v]
    @T.prim_func(private=True)
    def multiply(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n}, {n}), "float32"), C: T.Buffer(({n}, {n}), "float32")):
        for i, j, k in T.grid({n}, {n}, {n}):
            with T.sblock("s"):
                v, w, r = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[v, w] = T.float32(0)
                C[v, w] = C[v, w] + A[v, r] * B[r, w]
    @T.prim_func(private=True)
    def scale(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n}, {n}), "float32")):
        for i, j in T.grid({n}, {n}):
            with T.sblock("s"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] * T.float32(2)
    @T.prim_func(private=True)
    def add_product(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n}, {n}), "float32"), C: T.Buffer(({n}, {n}), "float32")):
        D = T.alloc_buffer(({n}, {n}))
        for i, j, k in T.grid({n}, {n}, {n}):
            with T.sblock("s"):
                v, w, r = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    D[v, w] = T.float32(0)
                D[v, w] = D[v, w] + A[v, r] * B[r, w]
        for i, j in T.grid({n}, {n}):
            with T.sblock("t"):
                v, w = T.axis.remap("SS", [i, j])
                C[v, w] = D[v, w] + B[v, w]
    @T.prim_func(private=True)
    def fill(A: T.Buffer(({n}, {n}), "float32")):
        for i, j in T.grid({n}, {n}):
            with T.sblock("s"):
                v, w = T.axis.remap("SS", [i, j])
                A[v, w] = T.float32(1)
    @R.function{pure}
    def main(x: R.Tensor(({n}, {n}), "float32"), y: R.Tensor(({n}, {n}), "float32")):
        cls = Module
"""


def program(lines: str, size: int = SIZE) -> rxe.IRModule:
    """`turn`, `multiply` and `scale` are written as calls of one or two operands."""
    text = HEAD.format(n=size, pure="(pure=False)" if "fill" in lines else "")
    for line in lines.split("; "):
        for name in ("turn", "multiply", "scale", "add_product"):
            start = f"{name}("
            if start in line:
                end = line.index(")", line.index(start)) + 1
                operands = line[line.index(start) + len(start) : end - 1]
                call = (
                    f'R.call_tir(cls.{name}, ({operands},), out_sinfo=R.Tensor(({size}, {size}), "float32"))'
                )
                line = line.replace(f"{name}({operands})", call)
        text += f"        {line}\n"
    return rxe.normalize(rxe.parse(text))


def values(size: int = SIZE) -> list[np.ndarray]:
    """Small whole numbers, so that every order of the sums gives equal bits."""
    random = np.random.default_rng(size)
    return [random.integers(-4, 5, (size, size)).astype("float32") for _ in range(2)]


def known(module: rxe.IRModule) -> list[type]:
    """What is known of each call of `main`."""
    main = module["main"]
    assert isinstance(main, Function)
    return [type(at.known) for at in plan(main, "main").code if at.known is not None]


def parts(value: Any) -> list[np.ndarray]:
    return [value] if isinstance(value, np.ndarray) else [part for item in value for part in parts(item)]


VIEWS = {
    "t = turn(y); r = multiply(x, t); return r": lambda x, y: x @ y.T,
    "t = turn(y); r = multiply(t, x); return r": lambda x, y: y.T @ x,
    "t = turn(y); r = multiply(t, t); return r": lambda x, y: y.T @ y.T,
    "t = turn(y); u = turn(x); r = multiply(t, u); return r": lambda x, y: y.T @ x.T,
    "t = turn(y); q = multiply(x, t); r = multiply(q, t); return r": lambda x, y: x @ y.T @ y.T,
}
COPIES = {
    "t = turn(y); r = multiply(x, t); return (r, t)": lambda x, y: [x @ y.T, y.T],
    "t = turn(y); r = multiply(x, t); s = scale(t); return (r, s)": lambda x, y: [x @ y.T, 2 * y.T],
    "t = turn(y); u = turn(t); r = multiply(x, u); return r": lambda x, y: x @ y,
    "t = turn(y); return t": lambda x, y: y.T,
    "t = turn(y); s = scale(t); return s": lambda x, y: 2 * y.T,
    "t = turn(y); p = (t, x); r = multiply(x, t); return (r, p)": lambda x, y: [x @ y.T, y.T, x],
    "t = turn(y); r = multiply(x, t); s = R.add(t, t); return (r, s)": lambda x, y: [x @ y.T, 2 * y.T],
    "t = turn(y); r = multiply(x, t); s = add_product(x, t); return (r, s)": lambda x, y: [
        x @ y.T,
        x @ y.T + y.T,
    ],
    "t = turn(y); r = R.matmul(x, t); return r": lambda x, y: x @ y.T,
}


@pytest.mark.parametrize("lines", [*VIEWS, *COPIES])
def test_a_transposed_matrix_is_a_view_if_products_alone_read_it(lines: str) -> None:
    module, (x, y) = program(lines), values()
    expected = parts(({**VIEWS, **COPIES})[lines](x, y))
    for _ in range(4):
        found = parts(rxe.run(module, "main", [x, y]))
        assert [item.tobytes() for item in found] == [item.tobytes() for item in expected]
        assert all(
            item.flags.c_contiguous and not np.may_share_memory(item, y)
            for item in found[: len(expected) - lines.count("p =")]
        )
    found = known(module)
    first = [type_ for type_ in found if type_ in (KnownView, KnownCode)]
    views = sum(type_ is KnownView for type_ in found)
    if lines in VIEWS:
        assert views == lines.count("turn(")
        assert len(first) == views
        assert found.count(KnownPieces) == lines.count("multiply")
    else:
        assert views == lines.count("u = ")  # that of the view is read by a product alone


@pytest.mark.parametrize("lines", list(VIEWS))
def test_first_runs_later_runs_and_steps_give_equal_bits(lines: str) -> None:
    module, random = program(lines), np.random.default_rng(1)
    x, y = [random.standard_normal((SIZE, SIZE)).astype("float32") for _ in range(2)]
    runs = [rxe.run(module, "main", [x, y]).tobytes() for _ in range(4)]
    debugger = Debugger(module, "main", [x, y])
    while not debugger.done:
        debugger.step()
    assert {*runs, debugger.result.tobytes()} == {runs[0]}
    np.testing.assert_allclose(debugger.result, VIEWS[lines](x, y), rtol=1e-4, atol=1e-3)


def test_the_kernel_that_transposes_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    module, (x, y) = program("t = turn(y); r = multiply(x, t); return r"), values()
    called: list[object] = []
    monkeypatch.setattr(kernels_of_runs.Kernels, "call", lambda self, fn, args: called.append(fn))
    rxe.run(module, "main", [x, y])
    assert called == [module["multiply"]]
    called.clear()
    rxe.run(module, "main", [x, y], engine="reference")
    assert called == [module["turn"], module["multiply"]]


def test_a_kernel_that_gives_a_view_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    module, (x, y) = program("t = turn(y); r = multiply(x, t); return r"), values()
    compiled: list[object] = []
    compile_one = compiled_kernel.compile_prim_func
    monkeypatch.setattr(
        compiled_kernel,
        "compile_prim_func",
        lambda fn, *args: (compiled.append(fn), compile_one(fn, *args))[1],
    )
    for _ in range(3):
        rxe.run(module, "main", [x, y])
    assert module["multiply"] in compiled
    assert module["turn"] not in compiled


def test_a_kernel_that_writes_is_not_seen_through_a_view() -> None:
    lines = "v = scale(y); t = turn(v); _ = cls.fill(v); r = multiply(x, t); return (r, v)"
    module, (x, y) = program(lines), values()
    for _ in range(3):
        r, v = rxe.run(module, "main", [x, y])
        assert r.tobytes() == (x @ (2 * y).T).tobytes()
        assert np.all(v == 1)


def test_products_that_are_too_small_for_blas_get_a_copy() -> None:
    module, (x, y) = program("t = turn(y); r = multiply(x, t); return r", 6), values(6)
    for _ in range(4):
        assert rxe.run(module, "main", [x, y]).tobytes() == (x @ y.T).tobytes()
    assert known(module) == [KnownCode, KnownCode]  # a kernel in loops would have to copy a view in each run


def test_an_argument_of_another_length_is_refused() -> None:
    text = HEAD.format(n=SIZE, pure="")
    params = f'x: R.Tensor(({SIZE}, {SIZE}), "float32"), y: R.Tensor'
    text = text.replace(f'{params}(({SIZE}, {SIZE}), "float32")', f'{params}(("a", "b"), "float32")')
    calls = [("t", "turn", "y"), ("r", "multiply", "x, t")]
    for target, name, operands in calls:
        text += f'        {target} = R.call_tir(cls.{name}, ({operands},), out_sinfo=R.Tensor(({SIZE}, {SIZE}), "float32"))\n'
    module, (x, y) = rxe.normalize(rxe.parse(f"{text}        return r\n")), values()
    assert rxe.run(module, "main", [x, y]).tobytes() == (x @ y.T).tobytes()
    said = []
    for engine in ("llvm", "reference"):
        with pytest.raises(Failure) as caught:
            rxe.run(module, "main", [x, y[:, :40]], engine=engine)
        said += [str(item) for item in caught.value.diagnostics]
    assert said == [said[0]] * 2
    assert "RX0507" in said[0]


def test_a_step_into_the_product_and_the_transposition() -> None:
    for stop, size in ((0, SIZE), (1, 6)):
        module, (x, y) = program("t = turn(y); r = multiply(x, t); return r", size), values(size)
        debugger = Debugger(module, "main", [x, y])
        for _ in range(stop):
            debugger.step()
        walk = debugger.enter()
        while walk.step():
            pass
        assert np.array_equal(walk.values["C" if stop else "B"], x @ y.T if stop else y.T)


SYMBOLIC = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), y: R.Tensor(("m", 64), "float32")):
        with R.dataflow():
            t = R.permute_dims(y)
            r = R.matmul(x, t)
            R.output(r)
        return r
"""


def test_lengths_with_names() -> None:
    module = rxe.run_pipeline(rxe.normalize(rxe.parse(SYMBOLIC)), "zero")
    random = np.random.default_rng(2)
    for n, m in [(64, 96), (3, 5), (1, 300), (300, 8), (300, 1), (64, 96)]:
        x, y = [random.integers(-4, 5, (length, 64)).astype("float32") for length in (n, m)]
        for _ in range(3):
            assert rxe.run(module, "main", [x, y]).tobytes() == (x @ y.T).tobytes()
        is_large = n * m * 64 >= 1 << 17
        assert known(module) == ([KnownView, KnownPieces] if is_large else [KnownCode, KnownCode]), (n, m)


@pytest.mark.parametrize("axes", [[0, 2, 1, 3], [0, 2, 3, 1], [1, 2, 0, 3], [3, 2, 1, 0]])
def test_heads(axes: list[int]) -> None:
    text = (
        '@R.function\ndef main(x: R.Tensor((8, 24, 6, 24), "float32"), y: R.Tensor((8, 24, 6, 24), "float32")):\n'
        f"    t = R.permute_dims(x, axes={axes})\n    u = R.permute_dims(t, axes=[0, 1, 3, 2])\n    v = R.matmul(t, u)\n    return v\n"
    )
    module = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps")
    x = np.random.default_rng(3).integers(-4, 5, (8, 24, 6, 24)).astype("float32")
    t = x.transpose(axes)
    for _ in range(3):
        assert np.array_equal(rxe.run(module, "main", [x, x]), t @ t.swapaxes(2, 3))


TURNS = {
    "B[v, w] = A[w, v]": (1, 0),
    "B[v, w] = A[v, w]": (0, 1),
    "B[w, v] = A[v, w]": (1, 0),
    "B[v, w] = A[v, v]": None,
    "B[v, v] = A[v, w]": None,
    "B[v, w] = A[w, 7 - v]": None,
    "B[v, w] = A[w, v] * T.float32(2)": None,
    "B[v, w] = B[w, v]": None,
    "A[v, w] = B[w, v]": None,
}


@pytest.mark.parametrize("store", TURNS)
def test_kernels_that_only_transpose(store: str) -> None:
    text = (
        '@T.prim_func\ndef f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):\n    for i, j in T.grid(8, 8):\n'
        f'        with T.sblock("s"):\n            v, w = T.axis.remap("SS", [i, j])\n            {store}\n'
    )
    assert transposition(rxe.parse(text)["f"]) == TURNS[store]


@pytest.mark.parametrize(
    ("shapes", "loops", "block", "is_one"),
    [
        (((8, 6), (6, 8)), "6, 8", "B[v, w] = A[w, v]", True),
        (((8, 6), (6, 8)), "6, 7", "B[v, w] = A[w, v]", False),
        (((8, 6), (6, 7)), "6, 7", "B[v, w] = A[w, v]", False),
        (((8, 6), (6, 8)), "6, 8", "T.where(i + j < 3)\n            B[v, w] = A[w, v]", False),
        (((8, 8, 8), (8, 8)), "8, 8", "B[v, w] = A[w, v, v]", False),
        (((8,), (8, 8)), "8, 8", "B[v, w] = A[w]", False),
    ],
)
def test_lengths_of_kernels_that_only_transpose(
    shapes: tuple[tuple[int, ...], ...], loops: str, block: str, is_one: bool
) -> None:
    text = (
        f'@T.prim_func\ndef f(A: T.Buffer({shapes[0]}, "float32"), B: T.Buffer({shapes[1]}, "float32")):\n'
        f'    for i, j in T.grid({loops}):\n        with T.sblock("s"):\n            v, w = T.axis.remap("SS", [i, j])\n            {block}\n'
    )
    assert (transposition(rxe.parse(text)["f"]) is not None) == is_one


def test_no_call_of_a_lowered_decoder_needs_its_checks_again() -> None:
    module, entry, arguments = model("decoder", "zero")
    for _ in range(4):
        rxe.run(module, entry, arguments)
    fn = module[entry]
    assert isinstance(fn, Function)
    calls = [at for at in plan(fn, entry).code if at.kind == "op"]
    assert len(calls) > 100
    assert [at.binding for at in calls if at.known is None] == []
