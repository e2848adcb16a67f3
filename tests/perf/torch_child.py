"""A child that runs kernels and models of `real` by PyTorch, and takes the time: `python -m tests.perf.torch_child NAME`.

It compares PyTorch's value with ours and says `ready`, then answers each line that it reads with the seconds of a run: of the clock, or
of the processor where the line says so. PyTorch runs on as many threads as BLAS.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

import relax_explorer as rxe
from tests.perf.real import KERNELS, model


def bert(given: Mapping[str, Tensor]) -> Tensor:
    """BERT-base."""

    def norm(x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, (768,), given[f"{name}_weight"], given[f"{name}_bias"], 1e-12)

    def dense(x: Tensor, name: str) -> Tensor:
        return F.linear(x, given[f"{name}_weight"], given[f"{name}_bias"])

    x = norm(F.embedding(given["ids"], given["embed_weight"]) + given["pos"], "n")
    for layer in [f"layers_{n}_" for n in range(12)]:
        q, k, v = [dense(x, layer + part).view(1, 128, 12, 64).transpose(1, 2) for part in "qkv"]
        scores = torch.softmax(q @ k.transpose(2, 3) * 0.125, -1)
        x = norm(x + dense((scores @ v).transpose(1, 2).reshape(1, 128, 768), layer + "o"), layer + "n1")
        x = norm(x + dense(F.gelu(dense(x, layer + "up")), layer + "down"), layer + "n2")
    return x


def resnet50(given: Mapping[str, Tensor]) -> Tensor:
    """ResNet-50, whose normalizations use the moments of the batch, as in the text."""

    def layer(x: Tensor, name: str, kernel: int, stride: int = 1) -> Tensor:
        made = F.conv2d(x, given[f"{name}_w"], stride=stride, padding=kernel // 2)
        return F.batch_norm(made, None, None, given[f"{name}_g"], given[f"{name}_b"], True, 0.1, 1e-5)

    x = F.max_pool2d(F.relu(layer(given["x"], "stem", 7, 2)), 3, 2, 1)
    for stage, count in enumerate((3, 4, 6, 3)):
        for n in range(count):
            name, stride = f"s{stage}b{n}", 2 if stage and not n else 1
            y = F.relu(layer(F.relu(layer(x, f"{name}a", 1)), f"{name}b", 3, stride))
            x = F.relu(layer(y, f"{name}c", 1) + (x if n else layer(x, f"{name}d", 1, stride)))
    return x.mean((2, 3)) @ given["fc_w"] + given["fc_b"]


def _chain(x: Tensor) -> Tensor:
    value = x
    for n in range(8):
        value = value * x if n % 2 else value + x
    return value


BY_KERNEL: dict[str, Callable[..., Tensor]] = {
    "elementwise-8": _chain,
    "exp-tanh-sigmoid": lambda x: torch.sigmoid(torch.tanh(torch.exp(x))),
    "softmax": lambda x: torch.softmax(x, -1),
    "sum-rows": lambda x: x.sum(1),
    "sum-columns": lambda x: x.sum(0),
    "sum-all": lambda x: x.sum(),
    "max-rows": lambda x: x.amax(1),
    "argmax-rows": lambda x: x.argmax(1),
    "layer-norm": lambda x, y, z: F.layer_norm(x, (1024,), y, z, 1e-5),
    "gelu": F.gelu,
    "max-pool": lambda x: F.max_pool2d(x, 3, 2, 1),
    "depthwise": lambda x, y: F.conv2d(x, y, padding=1, groups=128),
    "linear-transposed": F.linear,
    "matmul-batched": torch.matmul,
    "gemv": torch.matmul,
    "transpose": lambda x: x.T.contiguous(),
}


def work_of(name: str) -> tuple[Callable[[], Tensor], np.ndarray[Any, Any]]:
    """What PyTorch runs, and our value of it."""
    if name in BY_KERNEL:
        kernel = next(item for item in KERNELS if item.name == name)
        arrays = kernel.arrays()
        ours = rxe.run(rxe.normalize(rxe.parse(kernel.text)), "main", arrays)
        return partial(BY_KERNEL[name], *[torch.from_numpy(array) for array in arrays]), ours
    module, entry, values = model(name)
    names = [param.name for param in module.relax_functions[entry].params]
    given = {name: torch.from_numpy(value) for name, value in zip(names, values, strict=True)}
    return partial({"bert": bert, "resnet50": resnet50}[name], given), rxe.run(module, entry, values)


def main() -> int:
    """Answer until the lines end. Returns 1, with a sentence, if the values differ."""
    torch.set_num_threads(int(os.environ.get("OPENBLAS_NUM_THREADS", 0)) or os.cpu_count() or 1)
    with torch.inference_mode():
        work, ours = work_of(sys.argv[1])
        theirs = work().numpy()
        far = float(np.abs(theirs - ours).max())
        if theirs.shape != ours.shape or not far <= 1e-4 * max(1, float(np.abs(ours).max())):
            print(f"PyTorch's value of {sys.argv[1]} differs by {far} from ours")
            return 1
        work()
        print("ready", flush=True)
        for line in sys.stdin:
            clock = time.process_time if "processor" in line else time.perf_counter
            started = clock()
            work()
            print(clock() - started, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
