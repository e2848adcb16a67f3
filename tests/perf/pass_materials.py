"""The programs on which each pass is measured, and the options with which it is called: a pass should have something to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tests.perf.generate import WIDTH, closures, transformer
from tests.support import wire
from tests.support.oracle import Pass
from tests.support.pass_variants import LAYOUTS, PRODUCT, PRODUCT_TREE

ONE_ROUND, ROUNDS = (
    137,
    73,
)  # four layers and a result; TVM repeats them: its parser would need half a minute for 10,000 bindings
STAGES: tuple[Pass, ...] = (
    "LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR", "DispatchSampling", "DispatchSortScan",
    "LegalizeOps", "RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite", "StaticPlanBlockMemory",
    "RewriteCUDAGraph", "LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin", "ComputePrimValue", "VMShapeLower",
    "AttachGlobalSymbol",
)  # fmt: skip
"""The pipelines `zero` and `default_build`: a pass in them is measured on what those before it leave."""


@dataclass(frozen=True)
class Material:
    """A program, the passes that run before, and options; `theirs` are TVM's, if they are written otherwise."""

    text: str
    rounds: int = 1  # how often TVM repeats the dataflow block of its text
    tvm_text: str = ""  # empty for the same text
    before: tuple[Pass, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    theirs: dict[str, Any] | None = None


def material(name: str) -> Material:
    """The material of a pass: a transformer of 10,000 bindings, or after the passes before it in the pipelines."""
    own = _OWN.get(name)
    if own is not None:
        return own()
    before = STAGES[: STAGES.index(name)] if name in STAGES else ()
    return _transformer(before)


@cache
def _long() -> str:
    return transformer(10_000)


def _transformer(
    before: tuple[Pass, ...] = (), options: dict[str, Any] | None = None, theirs: dict[str, Any] | None = None
) -> Material:
    return Material(_long(), ROUNDS, transformer(ONE_ROUND), before, options or {}, theirs)


def _bound_params() -> Material:
    arrays = {name: np.ones((WIDTH, WIDTH), "float32") for name in ("wq0", "wk1", "wo2")}
    encoded = {name: wire.encode_tensor(array) for name, array in arrays.items()}
    return _transformer((), {"params": arrays}, {"func_name": "main", "params": encoded})


def _chain(lines: tuple[str, ...], count: int, params: str, result: str, last: str) -> str:
    """A function of `count` bindings in one dataflow block: the lines again and again, {0} is a number and {1} the one before."""
    body = "".join([lines[n % len(lines)].format(n, n - 1) for n in range(1, count)])
    return (
        "from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n\n@I.ir_module\nclass Module:\n"
        f"    @R.function\n    def main({params}):\n        with R.dataflow():\n            y0 = R.nn.relu(x)\n"
        f"{body}            {result} = {last.format(count - 1)}\n            R.output({result})\n        return {result}\n"
    )


SHORT = 2_000  # bindings that TVM's parser reads in seconds
_SQUARE = 'R.Tensor((4, 4), "float32")'
_IMAGE = 'R.Tensor((1, 4, 8, 8), "float32")'


def _products() -> str:
    lines = (
        "            y{0} = R.matmul(y{1}, w)\n", "            y{0} = R.add(y{1}, b)\n", "            y{0} = R.tanh(y{1})\n",
        "            y{0} = R.multiply(y{1}, y{1})\n",
    )  # fmt: skip
    return _chain(
        lines, SHORT, f'x: {_SQUARE}, w: {_SQUARE}, b: R.Tensor((4,), "float32")', "gv", "R.sum(y{0})"
    )


def _images() -> str:
    lines = (
        "            y{0} = R.nn.conv2d(y{1}, k, padding=(1, 1))\n", "            y{0} = R.nn.relu(y{1})\n",
        "            y{0} = R.nn.max_pool2d(y{1}, pool_size=(3, 3), padding=(1, 1))\n",
    )  # fmt: skip
    return _chain(lines, SHORT, f'x: {_IMAGE}, k: R.Tensor((4, 4, 3, 3), "float32")', "gv", "R.nn.relu(y{0})")


def _private_functions() -> str:
    """A function that calls private ones, each of two bindings."""
    head, _, main = _chain(("            y{0} = cls.f{0}(y{1})\n",), SHORT // 3, f"x: {_SQUARE}", "gv", "R.nn.relu(y{0})").partition(
        "    @R.function\n"
    )  # fmt: skip
    one = (
        f"    @R.function(private=True)\n    def f{{0}}(p: {_SQUARE}) -> {_SQUARE}:\n        with R.dataflow():\n"
        "            q = R.exp(p)\n            r = R.tanh(q)\n            R.output(r)\n        return r\n\n"
    )
    private = "".join([one.format(n) for n in range(1, SHORT // 3)])
    return (
        head
        + private
        + "    @R.function\n"
        + main.replace("        with", "        cls = Module\n        with", 1)
    )


def _weights() -> str:
    """Products with weights that are transposed first, which LiftTransformParams moves into another function."""
    lines = (
        "            t{0} = R.permute_dims(w)\n            y{0} = R.matmul(y{1}, t{0})\n",
        "            t{0} = R.add(w, w)\n            y{0} = R.matmul(y{1}, t{0})\n",
    )
    text = _chain(lines, SHORT // 2, f"x: {_SQUARE}, w: {_SQUARE}", "gv", "R.nn.relu(y{0})")
    return text.replace("        with", '        R.func_attr({"num_input": 1})\n        with', 1)


_OWN: dict[str, Callable[[], Material]] = {
    "BindParams": _bound_params,
    "BindSymbolicVars": lambda: _transformer((), {"binding_map": {"n": 16}}),
    "ConvertLayout": lambda: Material(_images(), options=LAYOUTS),
    "DecomposeOpsForInference": _transformer,
    "FuseOpsByPattern": lambda: _transformer((), {"patterns": (PRODUCT,)}, {"patterns": [PRODUCT_TREE]}),
    "Gradient": lambda: Material(_products(), options={"func_name": "main"}),
    "InlinePrivateFunctions": lambda: Material(_private_functions()),
    "LambdaLift": lambda: Material(closures(SHORT // 2)),
    "LiftTransformParams": lambda: Material(_weights()),
    "MergeCompositeFunctions": lambda: _transformer((("FuseOpsByPattern", {"patterns": [PRODUCT_TREE]}),)),
    "SpecializeShapes": lambda: _transformer((), {"bindings": ("n=16",)}),
    "UpdateParamType": lambda: _transformer((), {"types": {"b0": 'R.Tensor((64,), "float32")'}}),
}
