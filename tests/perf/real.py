"""Classes of kernels and whole models, each as operators and lowered: beside TVM's build, PyTorch, NumPy by hand, and what the machine
can do; and their first runs in new processes, with no kernel compiled before (`cold`) and with all in the cache (`cached`).

The models are those of `tests/data/real_models`. A kernel by hand is the NumPy function, or a copy of as many bytes as it must move.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from tests.perf.benchmark import Benchmark, Seconds, Work
from tests.perf.exec import WARM
from tests.perf.scratch import empty_folder
from tests.support.oracle import Answer, Oracle

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).parents[2]
MODELS = ROOT / "tests" / "data" / "real_models"


# -- kernels ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """A value of parameters x, y, z with these shapes, and its work by hand. It moves `moved` floats and does `operations`."""

    name: str
    value: str
    shapes: tuple[tuple[int, ...], ...]
    hand: Callable[..., object] | None = None
    moved: int = 0
    operations: int = 0
    most: float = 1.5

    @property
    def text(self) -> str:
        """The program."""
        params = ", ".join(
            [f'{n}: R.Tensor({shape}, "float32")' for n, shape in zip("xyz", self.shapes, strict=False)]
        )
        return (
            f"@I.ir_module\nclass Module:\n    @R.function\n    def main({params}):\n        with R.dataflow():\n"
            f"            r = {self.value}\n            R.output(r)\n        return r\n"
        )

    def arrays(self) -> list[Array]:
        """Random operands."""
        random = np.random.default_rng(0)
        return [random.standard_normal(shape).astype("float32") for shape in self.shapes]

    def work(self, is_lowered: bool) -> tuple[str, Work]:
        """A run of the program."""
        module, values = rxe.normalize(rxe.parse(self.text)), self.arrays()
        module = rxe.run_pipeline(module, "zero") if is_lowered else module
        for _ in range(WARM):
            rxe.run(module, "main", values)
        return self.text, lambda: rxe.run(module, "main", values)

    def by_hand(self) -> Work:
        """NumPy, or the copy of as many bytes."""
        if self.hand is not None:
            return partial(self.hand, *self.arrays())
        source, target = np.ones(self.moved // 2, "float32"), np.zeros(self.moved // 2, "float32")
        return lambda: np.copyto(target, source)

    def benchmarks(self) -> list[Benchmark]:
        """The program as operators, and lowered."""
        amount = (4 * self.moved, "GB/s") if self.moved else (self.operations, "GFLOP/s")
        return [
            Benchmark(
                f"{self.name}{'-lowered' if is_lowered else ''}", partial(self.work, is_lowered), "run", 1, hand=self.by_hand,
                most=self.most, torch=self.name, amount=amount,
            )
            for is_lowered in (False, True)
        ]  # fmt: skip


def _elementwise(count: int) -> str:
    """So many operators, one after the other."""
    value = "x"
    for n in range(count):
        value = f"R.{'multiply' if n % 2 else 'add'}({value}, x)"
    return value


def _softmax(x: Array) -> Array:
    x = np.exp(x - x.max(1, keepdims=True))
    x /= x.sum(1, keepdims=True)
    return x


SQUARE, LINE, IMAGE = (4096, 4096), (10_000_000,), (1, 64, 112, 112)
HEADS = (12, 128, 64)
KERNELS = [
    Kernel("elementwise-8", _elementwise(8), (LINE,), moved=20_000_000),
    Kernel("exp-tanh-sigmoid", "R.sigmoid(R.tanh(R.exp(x)))", (LINE,), lambda x: 1 / (1 + np.exp(-np.tanh(np.exp(x)))), moved=20_000_000, most=2),
    Kernel("softmax", "R.nn.softmax(x, axis=-1)", (SQUARE,), _softmax, moved=2 * 4096**2, most=2),
    Kernel("sum-rows", "R.sum(x, axis=[1])", (SQUARE,), lambda x: x.sum(1), moved=4096**2),
    Kernel("sum-columns", "R.sum(x, axis=[0])", (SQUARE,), lambda x: x.sum(0), moved=4096**2),
    Kernel("sum-all", "R.sum(x)", (LINE,), np.sum, moved=10_000_000),
    Kernel("max-rows", "R.max(x, axis=[1])", (SQUARE,), lambda x: x.max(1), moved=4096**2),
    Kernel("argmax-rows", "R.argmax(x, axis=1)", (SQUARE,), lambda x: x.argmax(1), moved=4096**2),
    Kernel("layer-norm", "R.nn.layer_norm(x, y, z, axes=[-1])", ((4096, 1024), (1024,), (1024,)), moved=2 * 4096 * 1024),
    Kernel("gelu", "R.nn.gelu(x)", ((128, 3072),), moved=2 * 128 * 3072, most=4),
    Kernel("max-pool", "R.nn.max_pool2d(x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])", (IMAGE,), moved=64 * 112 * 112 * 5 // 4, most=4),
    Kernel("depthwise", "R.nn.conv2d(x, y, padding=[1, 1, 1, 1], groups=128)", ((1, 128, 56, 56), (128, 1, 3, 3)), moved=2 * 128 * 56 * 56, most=4),
    Kernel("linear-transposed", "R.matmul(x, R.permute_dims(y))", ((128, 768), (3072, 768)), lambda x, y: x @ y.T, operations=2 * 128 * 768 * 3072),
    Kernel("matmul-batched", "R.matmul(x, y)", (HEADS, (12, 64, 128)), np.matmul, operations=2 * 12 * 128 * 64 * 128),
    Kernel("gemv", "R.matmul(x, y)", ((2048, 2048), (2048,)), np.matmul, moved=2048**2),
    Kernel("transpose", "R.permute_dims(x)", (SQUARE,), moved=2 * 4096**2, most=3),
]  # fmt: skip


# -- models ----------------------------------------------------------------------------------------------------------

LENGTHS = {"s": 1, "p": 63, "t": 64}
ENTRIES = {"decoder": "forward", "bert": "forward", "resnet50": "main"}


@cache
def _text(name: str) -> str:
    return (MODELS / f"{name}.py").read_text(encoding="utf-8")


def _value(info: s.StructInfo | None, name: str, random: np.random.Generator) -> Any:
    """A random value like those of trained models, so that nothing overflows."""
    if isinstance(info, s.TupleStructInfo):
        return tuple([_value(field, name, random) for field in info.fields])
    assert isinstance(info, s.TensorStructInfo)
    shape = [
        LENGTHS[n.name] if isinstance(n, p.PrimVar) else n.value
        for n in info.dims or ()
        if isinstance(n, p.IntImm | p.PrimVar)
    ]
    if info.dtype is not None and info.dtype.is_int:
        return random.integers(0, 900, shape).astype(info.dtype.name)
    array = random.standard_normal(shape).astype("float32") * np.float32(0.05 if len(shape) > 1 else 0.1)
    if len(shape) == 4 and name.endswith("_w"):
        array *= np.float32(20 * (2 / np.prod(shape[1:])) ** 0.5)
    return np.abs(array) + 1 if name.endswith(("_v", "_g")) else array


def model(name: str, passes: str = "") -> tuple[rxe.IRModule, str, list[Any]]:
    """A model after passes, the name of its function, and values for it."""
    module, entry, random = rxe.normalize(rxe.parse(_text(name))), ENTRIES[name], np.random.default_rng(0)
    values = [_value(param.struct_info, param.name, random) for param in module.relax_functions[entry].params]
    return rxe.run_pipeline(module, passes) if passes else module, entry, values


def _run(name: str, passes: str) -> tuple[str, Work]:
    module, entry, values = model(name, passes)
    for _ in range(3):
        rxe.run(module, entry, values)
    return _text(name), lambda: rxe.run(module, entry, values)


def _theirs(name: str, oracle: Oracle) -> Answer[float]:
    return oracle.run_time(_text(name), ENTRIES[name], LENGTHS, repeat=1, seconds=150)


def bert_by_hand(ids: Array, given: Mapping[str, Array]) -> Array:
    """BERT-base with NumPy."""
    from relax_explorer.core.ops.kit.special import erf

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-12))
        result: Array = centred / scale * given[f"{name}_weight"] + given[f"{name}_bias"]
        return result

    def dense(x: Array, name: str) -> Array:
        result: Array = x @ given[f"{name}_weight"].T + given[f"{name}_bias"]
        return result

    def heads(x: Array) -> Array:
        return x.reshape(128, 12, 64).transpose(1, 0, 2)

    x = norm(given["embed_weight"][ids[0]] + given["pos"][0], "n")
    for layer in [f"layers_{n}_" for n in range(12)]:
        q, k, v = [heads(dense(x, layer + part)) for part in "qkv"]
        scores = q @ k.swapaxes(1, 2) * np.float32(0.125)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        x = norm(x + dense((scores @ v).transpose(1, 0, 2).reshape(128, 768), layer + "o"), layer + "n1")
        up = dense(x, layer + "up")
        up *= np.float32(0.5) * (1 + erf(up * np.float32(0.5**0.5)))
        x = norm(x + dense(up, layer + "down"), layer + "n2")
    return x[None]


def _bert() -> Work:
    module, entry, values = model("bert")
    given = dict(zip([param.name for param in module.relax_functions[entry].params], values, strict=True))
    return lambda: bert_by_hand(given["ids"], given)


# -- cold processes --------------------------------------------------------------------------------------------------

ADDITIONS = 1000  # lowered alone, so that each is a kernel; all their numbers differ


def additions() -> tuple[rxe.IRModule, str, list[Any]]:
    """A chain of kernels that differ in a number."""
    lines = [f"    v{n + 1} = R.add(v{n}, R.const({n / 7}, 'float32'))\n" for n in range(ADDITIONS)]
    text = "@R.function\ndef main(v0: R.Tensor((8, 8), 'float32')):\n" + "".join(lines)
    module = rxe.normalize(rxe.parse(f"{text}    return v{ADDITIONS}\n"))
    return rxe.run_pipeline(module, "LegalizeOps"), "main", [np.ones((8, 8), "float32")]


def first_run(name: str, cache: Path) -> float:
    """The seconds of the first run of a lowered program in this process, with its kernels in this folder."""
    module, entry, values = additions() if name == "additions" else model(name, "zero")
    started = time.perf_counter()
    rxe.run(module, entry, values, cache=cache)
    return time.perf_counter() - started


def _first_run(name: str, is_cached: bool) -> tuple[str, Work]:
    kept = empty_folder()

    def work() -> Seconds:
        cache = kept if is_cached else empty_folder()
        code = f"from pathlib import Path\nfrom tests.perf.real import first_run\nprint(first_run({name!r}, Path({str(cache)!r})))"
        command = [sys.executable, "-c", code]
        return Seconds(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)

    return "", work


COLD = {
    "decoder": (0.8, 0.15),
    "bert": (2, 0.3),
    "resnet50": (2, 0.3),
    "additions": (1, 0.3),
}  # limits: seconds

BESIDE = {"bert": 1.15, "resnet50": 1.25}  # ours, as operators, may take so many times as long as PyTorch
FORMS = {"": "", "-lowered": "zero", "-last": "default_build"}
REAL = [
    *[row for kernel in KERNELS for row in kernel.benchmarks()],
    *[
        Benchmark(
            f"{name}{suffix}", partial(_run, name, passes), repeat=10, theirs=partial(_theirs, name), goal=1,
            hand=_bert if name == "bert" else None, most=1.15 if name == "bert" else None,
            torch=name if name in BESIDE else None, beside=BESIDE.get(name) if not passes else None,
        )
        for name in ENTRIES
        for suffix, passes in FORMS.items()
    ],
    *[
        Benchmark(f"{name}-{'cached' if is_cached else 'cold'}", partial(_first_run, name, is_cached), limit=limits[is_cached], repeat=3)
        for name, limits in COLD.items()
        for is_cached in (False, True)
    ],
]  # fmt: skip
