"""Large results of operators come from the operator's own kernel, where that is faster; products read transposed matrices as they are."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec import own_kernels
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, uncompiled
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.engine import engine
from relax_explorer.core.exec.interrupt import Cancelled
from relax_explorer.core.exec.kernel_pieces import filled
from relax_explorer.core.exec.kernels import Kernels
from relax_explorer.core.exec.plan import plan
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops import table
from tests.support.roundtrip import function

ODD = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-40, 3e38, -3e38, 88.0, -104.0], "float32")
IMAGES, ROWS = (2, 8, 96, 96), (256, 600)
CALLS = {
    "R.nn.gelu(x)": [ROWS], "R.nn.gelu_tanh(x)": [ROWS], "R.nn.silu(x)": [ROWS], "R.nn.selu(x)": [ROWS],
    "R.nn.leakyrelu(x, alpha=0.25)": [ROWS], "R.erf(x)": [ROWS], "R.sigmoid(x)": [ROWS],
    "R.clip(x, R.prim_value(-0.5), R.prim_value(1.5))": [ROWS],
    "R.permute_dims(x)": [ROWS], "R.permute_dims(x, axes=[3, 0, 2, 1])": [IMAGES],
    "R.variance(x, axis=[1])": [ROWS], "R.std(x, axis=[0], keepdims=True)": [ROWS],
    "R.nn.max_pool2d(x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])": [IMAGES],
    "R.nn.max_pool2d(x, pool_size=[3, 2], strides=[2, 3], dilation=[2, 1], ceil_mode=True)": [IMAGES],
    "R.nn.avg_pool2d(x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])": [IMAGES],
    "R.nn.avg_pool2d(x, pool_size=[3, 3], padding=[1, 1, 1, 1], count_include_pad=True)": [IMAGES],
    "R.nn.adaptive_avg_pool2d(x, output_size=[7, 5])": [IMAGES],
    "R.nn.conv2d(x, y, padding=[1, 1, 1, 1], groups=8)": [IMAGES, (16, 1, 3, 3)],
    "R.nn.conv2d(x, y, strides=[2, 2], groups=4)": [IMAGES, (8, 2, 3, 3)],
    "R.nn.batch_norm(x, y, z, w, v, axis=1)": [IMAGES, *[(8,)] * 4],
    "R.nn.batch_norm(x, y, z, w, v, axis=1, training=False)": [IMAGES, *[(8,)] * 4],
    "R.nn.layer_norm(x, y, z, axes=[-1])": [ROWS, (600,), (600,)],
    "R.nn.layer_norm(x, y, z, axes=[-2, -1], epsilon=0.5, center=False)": [IMAGES, (96, 96), (96, 96)],
    "R.nn.rms_norm(x, y, axes=[-1])": [ROWS, (600,)], "R.nn.softmax(x, axis=-1)": [ROWS], "R.nn.log_softmax(x)": [IMAGES],
    "R.nn.instance_norm(x, y, z, channel_axis=1, axes=[2, 3])": [IMAGES, (8,), (8,)],
    'R.image.resize2d(x, R.shape([120, 70]), method="linear", layout="NCHW")': [IMAGES],
    'R.image.resize2d(x, R.shape([50, 120]), method="nearest_neighbor", layout="NCHW")': [IMAGES],
    'R.einsum((x, y), "ij,kj->ik")': [ROWS, (300, 600)],
}  # fmt: skip
EXACT = ("clip", "permute", "max_pool", "nearest", "leakyrelu")


def program(value: str, shapes: list[tuple[int, ...]], dtype: str = "float32") -> rxe.IRModule:
    """A function that returns this value of parameters x, y, …"""
    params = ", ".join(
        [f'{name}: R.Tensor({shape}, "{dtype}")' for name, shape in zip("xyzwv", shapes, strict=False)]
    )
    return rxe.normalize(rxe.parse(function(f"r = {value}\nreturn r", params)))


def arrays(shapes: list[tuple[int, ...]], dtype: str = "float32") -> list[np.ndarray]:
    """Random numbers; the last one is positive."""
    random = np.random.default_rng(len(shapes))
    made = [random.standard_normal(shape).astype(dtype) for shape in shapes]
    return [*made[:-1], np.abs(made[-1]) if len(made) == 5 else made[-1]]


def flat(value: object) -> list[np.ndarray]:
    """The arrays in a value."""
    return [array for item in value for array in flat(item)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("call", CALLS)
def test_a_large_call_gives_what_numpy_gives(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, values = program(call, CALLS[call]), arrays(CALLS[call])
    called = []
    run = Kernels.call
    monkeypatch.setattr(Kernels, "call", lambda *args: [called.append(args[1]), run(*args)][1])
    first, again = [flat(rxe.run(module, "main", values)) for _ in range(2)]
    assert len(called) == 2, "the first call is made by the kernel, too"
    by_numpy = flat(rxe.run(module, "main", values, engine="reference"))
    assert len(called) == 2
    for one, other, expected in zip(first, again, by_numpy, strict=True):
        assert one.tobytes() == other.tobytes()
        assert (one.shape, one.dtype) == (expected.shape, expected.dtype)
        if any(name in call for name in EXACT):
            np.testing.assert_array_equal(one, expected)
        else:
            np.testing.assert_allclose(one, expected, rtol=3e-6, atol=2e-6 * max(1, np.abs(expected).max()))


NAMED = {2: "b", 96: "h", 256: "n", 600: "m"}


@pytest.mark.parametrize("call", CALLS)
def test_so_does_one_whose_lengths_have_names(call: str) -> None:
    written = ", ".join([
        f"{name}: R.Tensor(({', '.join([repr(NAMED.get(n, n)) for n in shape])},), 'float32')"
        for name, shape in zip("xyzwv", CALLS[call], strict=False)
    ])  # fmt: skip
    module = rxe.normalize(rxe.parse(function(f"r = {call}\nreturn r", written)))
    for values in (arrays(CALLS[call]), [half(x) for x in arrays(CALLS[call])], arrays(CALLS[call])):
        stepped = Debugger(module, "main", values)
        while not stepped.done:
            stepped.step()
        by_numpy = flat(rxe.run(module, "main", values, engine="reference"))
        assert stepped.machine.kernels.owned or values[0].size < own_kernels.LEAST
        for one, expected in zip(flat(stepped.result), by_numpy, strict=True):
            np.testing.assert_allclose(one, expected, rtol=3e-6, atol=2e-6 * max(1, np.abs(expected).max()))


def half(x: np.ndarray) -> np.ndarray:
    """The array with half as many elements along the axes that have a name."""
    return x[tuple([slice(None, n // 2 if n in NAMED and n > 2 else None) for n in x.shape])]


@pytest.mark.parametrize("call", [call for call, shapes in CALLS.items() if len(shapes) == 1])
def test_so_are_infinities_and_what_is_no_number(call: str) -> None:
    module, (values,) = program(call, CALLS[call]), arrays(CALLS[call])
    places = np.random.default_rng(1).choice(values.size, (20, len(ODD)), replace=False)
    values.reshape(-1)[places] = ODD
    made, expected = (
        flat(rxe.run(module, "main", [values], engine=engine))[0] for engine in ("llvm", "reference")
    )
    for mask in (np.isnan, np.isposinf, np.isneginf):
        np.testing.assert_array_equal(mask(made), mask(expected))
    if any(name in call for name in EXACT):
        np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize(
    ("dtype", "shape"), [("float64", ROWS), ("float16", ROWS), ("float32", (16, 16)), ("int32", ROWS)]
)
def test_others_are_left_to_numpy(
    dtype: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, (values,) = program("R.permute_dims(x)", [shape], dtype), arrays([shape], dtype)
    monkeypatch.setattr(Kernels, "call", None)
    np.testing.assert_array_equal(rxe.run(module, "main", [values]), values.T)


def test_numpy_answers_where_the_kernel_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object) -> None:
        raise Failure

    module, values = program("R.nn.gelu(x)", [ROWS]), arrays([ROWS])
    expected = rxe.run(module, "main", values, engine="reference")
    monkeypatch.setattr(Kernels, "call", fails)
    for _ in range(2):
        np.testing.assert_array_equal(rxe.run(module, "main", values), expected)


def test_an_interrupt_ends_the_run_and_the_next_one_has_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def cancelled(*args: object) -> None:
        raise Cancelled

    module, values = program("R.nn.gelu(x)", [ROWS]), arrays([ROWS])
    expected = rxe.run(module, "main", values)
    for run in (
        module,
        program("R.nn.gelu(x)", [ROWS]),
    ):  # one that remembers the call, and one that does not
        with monkeypatch.context() as patched:
            patched.setattr(Kernels, "call", cancelled)
            with pytest.raises(Cancelled):
                rxe.run(run, "main", values)
        assert rxe.run(run, "main", values).tobytes() == expected.tobytes()


def test_each_step_gives_what_a_run_gives() -> None:
    text = "a = R.nn.gelu(x)\nb = R.add(a, x)\nc = R.nn.silu(b)\nd = R.matmul(c, R.permute_dims(x))\nreturn d"
    module = rxe.normalize(rxe.parse(function(text, f'x: R.Tensor({ROWS}, "float32")')))
    values = arrays([ROWS])
    runs = [rxe.run(module, "main", values) for _ in range(3)]
    stepped = Debugger(module, "main", values)
    while not stepped.done:
        stepped.step()
    assert {run.tobytes() for run in (*runs, stepped.result)} == {runs[0].tobytes()}


@pytest.mark.parametrize("is_stated", [True, False])
def test_one_kernel_serves_all_lengths_that_have_a_name(
    is_stated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = 'R.Tensor(("n", "m"), "float32")' if is_stated else 'R.Tensor("float32", ndim=2)'
    text = function("r = R.nn.gelu(x)\nreturn r", f"x: {info}")
    module, called = rxe.normalize(rxe.parse(text)), []
    run = Kernels.call
    monkeypatch.setattr(
        Kernels, "call", lambda self, fn, args: [run(self, fn, args), called.append((fn, args))]
    )
    for shape in (ROWS, (300, 700), (7, 9), ROWS):
        values = arrays([shape])
        expected = rxe.run(module, "main", values, engine="reference")
        np.testing.assert_allclose(rxe.run(module, "main", values), expected, rtol=3e-6, atol=3e-6)
    sizes = [args[0].shape for _, args in called]
    assert sizes == [ROWS, (300, 700), ROWS], "no kernel failed, the small array is left to NumPy"
    kernels = {id(fn): fn for fn, _ in called}
    assert len(kernels) == (1 if is_stated else 2)


def test_every_operator_that_has_a_kernel_is_compared() -> None:
    named = {op.name.rpartition(".")[2] for op in table().values() if op.by_kernel}
    known = {
        "max_pool1d",
        "max_pool3d",
        "avg_pool1d",
        "avg_pool3d",
        "adaptive_avg_pool1d",
        "adaptive_avg_pool3d",
        "resize3d",
    }
    assert not [name for name in named - known if not any(f".{name}(" in call for call in CALLS)]
    assert min(np.prod(shapes[0]) for shapes in CALLS.values()) >= own_kernels.LEAST


@pytest.mark.parametrize(("shape", "by"), [(ROWS, "llvm"), ((4, 4), "numpy")])
def test_the_compiler_of_the_kernel_is_told(shape: tuple[int, ...], by: str) -> None:
    module = program("R.nn.gelu(x)", [shape])
    stepped = Debugger(module, "main", arrays([shape]))
    binding = next(iter(bindings(module["main"])))
    assert engine(module, binding, stepped.machine.kernels) == "numpy"
    stepped.step()
    assert engine(module, binding, stepped.machine.kernels) == by


# -- views -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "is_view"),
    [
        ("t = R.permute_dims(y)\nr = R.matmul(x, t)\nreturn r", True),
        ("t = R.permute_dims(y)\nr = R.matmul(x, t)\nq = R.matmul(t, x)\nreturn (r, q)", True),
        ("t = R.permute_dims(y)\nr = R.matmul(x, t)\nreturn t", False),
        ("t = R.permute_dims(y)\nr = R.matmul(x, t)\ns = R.sum(t)\nreturn (r, s)", False),
        ("t = R.permute_dims(y)\np = (t, x)\nr = R.matmul(x, t)\nreturn (p, r)", False),
        ("t = R.permute_dims(y)\nu = t\nr = R.matmul(x, u)\nreturn r", False),
        ("t = R.permute_dims(y)\nreturn x", False),
        (
            "t = R.permute_dims(y)\nif c:\n    r = R.matmul(x, t)\nelse:\n    r = R.matmul(t, x)\nreturn r",
            True,
        ),
        ("t = R.permute_dims(y)\nif c:\n    r = R.matmul(x, t)\nelse:\n    r = R.add(x, t)\nreturn r", False),
        (
            't = R.permute_dims(y)\n@R.function\ndef f(z: R.Tensor((64, 64), "float32")) -> R.Tensor((64, 64), "float32"):\n'
            "    q = R.matmul(z, t)\n    return q\nr = f(x)\nreturn r",
            False,
        ),
    ],
)
def test_only_a_product_gets_a_view(lines: str, is_view: bool) -> None:
    params = 'x: R.Tensor((64, 64), "float32"), y: R.Tensor((64, 64), "float32"), c: R.Tensor((), "bool")'
    module = rxe.normalize(rxe.parse(function(lines, params)))
    fn = module["main"]
    transposed = next(binding for binding in bindings(fn) if binding.var.name == "t")
    made = plan(fn, "main")
    assert [bool(made.code[place].readers) for place in made.places[id(transposed)]] == [is_view]
    x, y = arrays([(64, 64)] * 2)
    for flag in (True, False):
        runs = [flat(rxe.run(module, "main", [x, y, np.array(flag)])) for _ in range(2)]
        copied = [flat(rxe.run(copying(module), "main", [x, y, np.array(flag)]))]
        for values in zip(*runs, *copied, strict=True):
            np.testing.assert_allclose(values[0], values[2], rtol=1e-5, atol=1e-5)
            assert values[0].tobytes() == values[1].tobytes()


def copying(module: rxe.IRModule) -> rxe.IRModule:
    """The module with kernels, which know no views."""
    return rxe.apply_pass(module, "LegalizeOps")


def test_a_result_that_is_no_view_shares_nothing_with_the_arguments() -> None:
    module = program("R.permute_dims(x)", [(8, 8)])
    (x,) = arrays([(8, 8)])
    result = rxe.run(module, "main", [x])
    assert not np.shares_memory(result, x)
    assert result.flags.c_contiguous


@pytest.mark.parametrize("axes", [[0, 2, 1, 3], [0, 2, 3, 1], [3, 0, 1, 2], [1, 0, 3, 2], [2, 3, 0, 1]])
def test_heads_are_multiplied_as_they_lie(axes: list[int]) -> None:
    text = f"t = R.permute_dims(x, axes={axes})\nu = R.permute_dims(t, axes=[0, 1, 3, 2])\nr = R.matmul(t, u)\nreturn r"
    module = rxe.normalize(rxe.parse(function(text, 'x: R.Tensor((3, 5, 4, 6), "float32")')))
    (x,) = arrays([(3, 5, 4, 6)])
    t = x.transpose(axes)
    np.testing.assert_allclose(rxe.run(module, "main", [x]), t @ t.swapaxes(2, 3), rtol=1e-5, atol=1e-5)


def test_another_operator_of_the_name_has_a_kernel_of_its_own() -> None:
    module, values = program("R.nn.gelu(x)", [ROWS]), arrays([ROWS])
    call = plan(module["main"], "main").code[0]
    mine = type("Gelu", (table()["relax.nn.gelu"],), {})
    first, same, other = [
        own_kernels.function_of(call, op, values) for op in (mine.__mro__[1], mine.__mro__[1], mine)
    ]
    assert first is same
    assert first is not other


# -- results of any content ------------------------------------------------------------------------------------------

KERNEL = """
@T.prim_func
def f(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32"), n: T.int64):
{body}
"""
BODIES = {
    "for i, j in T.grid(4, 6):\n    B[i, j] = A[i, j]": {1},
    "for j, i in T.grid(6, 4):\n    B[i, j] = A[i, j]": {1},
    "for i, j in T.grid(4, 6):\n    B[i, j] = A[i, j]\nfor i in range(4):\n    C[i] = B[i, 0]": {1, 2},
    "for i, j in T.grid(4, 6):\n    B[i, j] = B[i, j] + A[i, j]": set(),
    "for i, j in T.grid(4, 5):\n    B[i, j] = A[i, j]": set(),
    "for i, j in T.grid(3, 6):\n    B[i + 1, j] = A[i, j]": set(),
    "for i, j in T.grid(4, 6):\n    if A[i, j] > T.float32(0):\n        B[i, j] = A[i, j]": set(),
    "for i in range(4):\n    B[i, i] = A[i, i]": set(),
    "for i, j in T.grid(4, 6):\n    B[i, (j * 2) % 6] = A[i, j]": set(),
    "for i in range(4):\n    C[i] = B[i, 0]\nfor i, j in T.grid(4, 6):\n    B[i, j] = A[i, j]": {2},
    "for i in range(n):\n    C[i] = T.float32(1)": set(),
    'for i, k in T.grid(4, 6):\n    with T.sblock("s"):\n        v, r = T.axis.remap("SR", [i, k])\n        with T.init():\n'
    "            C[v] = T.float32(0)\n        C[v] = C[v] + A[v, r]": {2},
    'for i, k in T.grid(4, n):\n    with T.sblock("s"):\n        v, r = T.axis.remap("SR", [i, k])\n        with T.init():\n'
    "            C[v] = T.float32(0)\n        C[v] = C[v] + A[v, r]": set(),
    'for i, j in T.grid(4, 6):\n    with T.sblock("s"):\n        v, w = T.axis.remap("SS", [i, j])\n'
    "        T.where(i + j < 5)\n        B[v, w] = A[v, w]": set(),
}  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_a_result_that_a_kernel_fills_is_not_cleared_before(body: str) -> None:
    fn = rxe.parse(KERNEL.format(body="\n".join([f"    {line}" for line in body.split("\n")])))["f"]
    assert filled(fn) == BODIES[body]


@pytest.mark.parametrize("params", ['x: R.Tensor((3, 0), "float32")', 'x: R.Tensor(("n", "m"), "float32")'])
def test_a_sum_of_nothing_is_zero(params: str) -> None:
    module = rxe.normalize(rxe.parse(function("r = R.sum(x, axis=[1])\nreturn r", params)))
    for program in (module, rxe.apply_pass(module, "LegalizeOps")):
        for _ in range(2):
            assert rxe.run(program, "main", [np.zeros((3, 0), "float32")]).tolist() == [0, 0, 0]


PARTIAL = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def f(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32"), C: T.Buffer((4096,), "float32")):
        for i in range(4096):
            B[i] = A[i]
        for i in range(4000):
            C[i] = A[i]

    @R.function
    def main(x: R.Tensor((4096,), "float32")):
        y = R.call_tir(Module.f, (x,), out_ty=[R.Tensor((4096,), "float32"), R.Tensor((4096,), "float32")])
        return y
"""


@pytest.mark.parametrize("engine", ["llvm", "numba", "reference"])
def test_what_a_kernel_leaves_is_zero(engine: str) -> None:
    module, x = rxe.normalize(rxe.parse(PARTIAL)), np.ones(4096, "float32")
    for _ in range(4):
        whole, part = rxe.run(module, "main", [x], engine=engine)
        assert whole.tolist() == [1] * 4096
        assert part.tolist() == [1] * 4000 + [0] * 96


def test_the_first_error_of_a_store_is_told() -> None:
    """In a store that keeps an element or takes another one, both places being outside."""
    body = "    for i in range(4):\n        C[i * n] = T.Select(A[i, i * n * 2] > T.float32(0), C[i * n], T.float32(1))"
    fn = rxe.parse(KERNEL.format(body=body))["f"]
    arguments = [np.ones((4, 6), "float32"), np.ones((4, 6), "float32"), np.ones(4, "float32"), 9]
    told = []
    for compiled in (compile_prim_func(fn), uncompiled(fn)):
        with pytest.raises(Failure) as caught:
            compiled(*arguments)
        told.append(str(caught.value))
    assert told[0] == told[1]


@pytest.mark.parametrize("axes", [None, [1, 0], [1, 2, 0], [2, 3, 0, 1], [3, 0, 1, 2]])
def test_a_view_is_what_blas_takes(axes: list[int] | None) -> None:
    x = np.ones((3, 4, 5, 6)[: len(axes or [0, 1])], "float32")
    view = table()["relax.permute_dims"].view(x, axes)
    np.testing.assert_array_equal(view, x.transpose(axes))
    assert x.itemsize in view.strides[-2:]
