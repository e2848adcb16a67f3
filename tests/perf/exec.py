"""Running programs, beside TVM's virtual machine with the kernels that TVM generates without schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from tests.perf import by_hand
from tests.perf.benchmark import Benchmark, Work

HEAD = "@I.ir_module\nclass Module:\n    @R.function\n    def main({params}):\n        with R.dataflow():\n"
WARM = 8  # runs before the measured ones: they compile
Program = tuple[str, list[tuple[int, ...]]]


def _program(params: Mapping[str, tuple[int, ...]], values: list[str]) -> Program:
    """A program of float32 parameters; binding `vN` has the Nth value."""
    written = ", ".join(f'{name}: R.Tensor({shape}, "float32")' for name, shape in params.items())
    lines = [f"            v{n} = {value}" for n, value in enumerate(values)]
    last = f"v{len(values) - 1}"
    end = f"            R.output({last})\n        return {last}\n"
    return HEAD.format(params=written) + "\n".join(lines) + "\n" + end, list(params.values())


def chain(length: int) -> Program:
    """Additions of small vectors: the cost of a binding."""
    values = [f"R.add({'x' if n == 0 else f'v{n - 1}'}, y)" for n in range(length)]
    return _program({"x": (4,), "y": (4,)}, values)


def elementwise(size: int) -> Program:
    """Eight cheap element-wise operators: the cost of memory."""
    values = [
        "R.add(x, y)", "R.multiply(v0, y)", "R.nn.relu(v1)", "R.subtract(v2, x)",
        "R.abs(v3)", "R.maximum(v4, y)", "R.negative(v5)", "R.add(v6, x)",
    ]  # fmt: skip
    return _program({"x": (size,), "y": (size,)}, values)


def softmax() -> Program:
    """Softmax over rows of 4096."""
    return _program({"x": (4096, 4096)}, ["R.nn.softmax(x, axis=-1)"])


def layer_norm() -> Program:
    """Layer normalization of rows of 1024."""
    value = "R.nn.layer_norm(x, g, b, axes=[-1])"
    return _program({"x": (4096, 1024), "g": (1024,), "b": (1024,)}, [value])


def matmul() -> Program:
    """One large product."""
    return _program({"x": (1024, 1024), "y": (1024, 1024)}, ["R.matmul(x, y)"])


def perceptron() -> Program:
    """Three dense layers on 256 rows."""
    shapes = {"x": (256, 1024), "a": (1024, 1024), "b": (1024, 1024), "c": (1024, 1024)}
    values = ["R.matmul(x, a)", "R.nn.relu(v0)", "R.matmul(v1, b)", "R.nn.relu(v2)", "R.matmul(v3, c)"]
    return _program(shapes, values)


def transformer_block() -> Program:
    """Attention of 8 heads over 128 rows of 512, then two dense layers, each behind a normalization."""
    shapes = {"x": (1, 128, 512), "g": (512,), "b": (512,), "q": (512, 512), "k": (512, 512), "v": (512, 512)}
    shapes |= {"o": (512, 512), "u": (512, 2048), "d": (2048, 512)}
    heads = "R.permute_dims(R.reshape(R.matmul(v0, {}), (1, 128, 8, 64)), axes={})"
    values = [
        "R.nn.layer_norm(x, g, b, axes=[-1])",
        heads.format("q", [0, 2, 1, 3]), heads.format("k", [0, 2, 3, 1]), heads.format("v", [0, 2, 1, 3]),
        "R.multiply(R.matmul(v1, v2), R.const(0.125, 'float32'))", "R.nn.softmax(v4, axis=-1)",
        "R.reshape(R.permute_dims(R.matmul(v5, v3), axes=[0, 2, 1, 3]), (1, 128, 512))",
        "R.add(x, R.matmul(v6, o))", "R.nn.layer_norm(v7, g, b, axes=[-1])",
        "R.nn.relu(R.matmul(v8, u))", "R.add(v7, R.matmul(v9, d))",
    ]  # fmt: skip
    return _program(shapes, values)


def conv2d() -> Program:
    """The convolution of a ResNet block."""
    value = "R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1, 1, 1])"
    return _program({"x": (1, 64, 56, 56), "w": (64, 64, 3, 3)}, [value, "R.nn.relu(v0)"])


def _run(program: Callable[[], Program], lowered: bool = False) -> tuple[str, Work]:
    import relax_explorer

    text, shapes = program()
    module = relax_explorer.normalize(relax_explorer.parse(text))
    if lowered:
        module = relax_explorer.apply_pass(module, "LegalizeOps")
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape).astype("float32") for shape in shapes]
    for _ in range(WARM):
        relax_explorer.run(module, "main", arrays)
    return text, lambda: relax_explorer.run(module, "main", arrays)


LOOP = """@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def wave(x: T.Buffer((4096, 1024), "float32"), y: T.Buffer((4096, 1024), "float32")):
        for i in T.{kind}(4096):
            for j in range(1024):
                y[i, j] = T.exp(T.sin(x[i, j]))

    @R.function
    def main(x: R.Tensor((4096, 1024), "float32")):
        return R.call_tir(Module.wave, (x,), out_ty=R.Tensor((4096, 1024), "float32"))
"""


def loop(kind: str) -> Program:
    """A loop with two calls for each element, of this kind."""
    return LOOP.format(kind=kind), [(4096, 1024)]


OPERATORS = {
    "nms": (
        'data: R.Tensor((1, 2000, 6), "float32"), n: R.Tensor((1,), "int32"), i: R.Tensor((1, 2000), "int32")',
        "R.vision.non_max_suppression(data, n, i, iou_threshold=0.5, return_indices=False)",
    ),
    "roi-align": (
        'x: R.Tensor((1, 64, 56, 56), "float32"), r: R.Tensor((100, 5), "float32")',
        "R.vision.roi_align(x, r, pooled_size=[7, 7], spatial_scale=0.5, sample_ratio=2)",
    ),
    "scatter-mean": (
        'x: R.Tensor((10,), "float32"), i: R.Tensor((100000,), "int64"), u: R.Tensor((100000,), "float32")',
        'R.scatter_elements(x, i, u, axis=0, reduction="mean")',
    ),
}


def operator(name: str, engine: str) -> tuple[str, Work]:
    """An operator that loops over elements: numba compiles it, and the engine `reference` leaves it to NumPy."""
    import relax_explorer

    params, value = OPERATORS[name]
    text = f"@R.function\ndef main({params}):\n    return {value}\n"
    module, random = relax_explorer.normalize(relax_explorer.parse(text)), np.random.default_rng(0)
    corner = random.random((2000, 2), "float32") * 100
    boxes = np.concatenate([corner, corner + random.random((2000, 2), "float32") * 20], 1)
    labels = np.concatenate([np.zeros((2000, 1), "float32"), random.random((2000, 1), "float32")], 1)
    numbers = random.random(100_000, "float32")
    arrays: dict[str, list[object]] = {
        "nms": [np.concatenate([labels, boxes], 1)[None], np.array([2000], "int32"), np.arange(2000, dtype="int32")[None]],
        "roi-align": [random.random((1, 64, 56, 56), "float32"), np.concatenate([labels[:100, :1], boxes[:100]], 1)],
        "scatter-mean": [numbers[:10], random.integers(0, 10, 100_000), numbers],
    }  # fmt: skip
    work = partial(relax_explorer.run, module, "main", arrays[name], engine=engine)
    work()
    return text, work


def _hand(name: str) -> Work:
    return operator(name, "reference")[1]


EXEC = [
    Benchmark("run-chain-1000", partial(_run, partial(chain, 1000)), "run", 1, tvm_repeat=20),
    Benchmark("run-chain-lowered-1000", partial(_run, partial(chain, 1000), True), "run", 1, tvm_repeat=20),
    # Without memory that is used again (`large_arrays`), clearing a new result took 4 ms beside 3.4 ms of work.
    Benchmark(
        "run-elementwise",
        partial(_run, partial(elementwise, 10_000_000)),
        "run",
        3,
        hand=by_hand.COPY,
        most=1.5,
    ),
    Benchmark("run-softmax", partial(_run, softmax), "run", 2, repeat=20, tvm_repeat=20),
    Benchmark("run-layer-norm", partial(_run, layer_norm), "run", 2, repeat=20, tvm_repeat=20),
    Benchmark("run-matmul", partial(_run, matmul), "run", 20, tvm_repeat=1, hand=by_hand.MATMUL, most=1.2),
    Benchmark(
        "run-mlp", partial(_run, perceptron), "run", 20, tvm_repeat=1, hand=by_hand.PERCEPTRON, most=1.2
    ),
    Benchmark(
        "run-block", partial(_run, transformer_block), "run", 20, tvm_repeat=1, hand=by_hand.BLOCK, most=1.2
    ),
    Benchmark("run-conv2d", partial(_run, conv2d), "run", 20, tvm_repeat=1, hand=by_hand.CONV2D, most=1.2),
    Benchmark(
        "run-matmul-lowered", partial(_run, matmul, True), "run", 5, tvm_repeat=1, hand=by_hand.MATMUL, most=3
    ),
    Benchmark(
        "run-mlp-lowered",
        partial(_run, perceptron, True),
        "run",
        5,
        tvm_repeat=1,
        hand=by_hand.PERCEPTRON,
        most=3,
    ),
    Benchmark(
        "run-block-lowered",
        partial(_run, transformer_block, True),
        "run",
        5,
        tvm_repeat=1,
        hand=by_hand.BLOCK,
        most=3,
    ),
    Benchmark(
        "run-conv2d-lowered", partial(_run, conv2d, True), "run", 5, tvm_repeat=1, hand=by_hand.CONV2D, most=3
    ),
    # By hand is the serial loop. On two idle cores 0.5 of its time is the best; one core takes all of it.
    Benchmark(
        "run-parallel",
        partial(_run, partial(loop, "parallel")),
        "run",
        hand=lambda: _run(partial(loop, "serial"))[1],
        most=0.7,
    ),
    *[
        Benchmark(f"run-{name}", partial(operator, name, "llvm"), hand=partial(_hand, name), most=0.3)
        for name in OPERATORS
    ],
]
