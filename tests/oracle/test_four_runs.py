"""Law of the engines: a fused run, a stepped run, lowered kernels and TVM's virtual machine compute the same values."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from tests.support.oracle import Oracle

PROGRAMS = 16
WARM = 6  # runs: the first are checked, then traces take over, and their parts
HEAD = """@I.ir_module
class Module:
    @R.function(private=True)
    def helper(x: R.Tensor(("k", 4), "float32")) -> R.Tensor(("k", 4), "float32"):
        with R.dataflow():
            h = R.add(x, x)
            out = R.tanh(h)
            R.output(out)
        return out

    @R.function
    def main(
        x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32"),
        w: R.Tensor((4, 4), "float32"), b: R.Tensor((4,), "float32"), c: R.Tensor((), "bool"),
    ):
        n = T.int64()
"""
# Bindings by the shape of their result. A name in braces is replaced by a variable of that shape.
RULES = {
    "n4": [
        "R.add({n4}, {n4})", "R.subtract({n4}, {b})", "R.multiply({n4}, {n1})", "R.maximum({n4}, {n4})",
        "R.nn.relu({n4})", "R.sigmoid({n4})", "R.negative({n4})", "R.abs({n4})", "R.nn.softmax({n4}, axis=-1)",
        "R.matmul({n4}, {w})", "R.nn.layer_norm({n4}, {b}, {b}, axes=[-1])", "R.cumsum(R.tanh({n4}), axis=0)",
        "R.where(R.less({n4}, {n4}), {n4}, {n4})", "R.reshape({flat}, R.shape([n, 4]))",
        "R.strided_slice(R.concat(({n4}, {n4}), axis=1), axes=[1], begin=[2], end=[6])",
        "R.concat((R.split({n4}, 2, axis=1)[1], R.split({n4}, 2, axis=1)[0]), axis=1)", "Module.helper({n4})", "R.permute_dims(R.permute_dims({n4}))",
        'R.astype(R.astype({n4}, "float64"), "float32")', "R.clip({n4}, -2, 2)", "R.flip({n4}, axis=0)",
        "R.take({n4}, R.const([3, 0, 1, 1], 'int64'), axis=1, mode='clip')",
    ],
    "w": ["R.add({w}, {b})", "R.permute_dims({w})", "R.tanh(R.matmul({w}, {w}))", "R.multiply({w}, {w})"],
    "b": ["R.mean({w}, axis=0)", "R.max({w}, axis=[1])", "R.add({b}, {b})"],
    "n1": ["R.mean({n4}, axis=-1, keepdims=True)", "R.max({n4}, axis=-1, keepdims=True)", "R.sigmoid({n1})"],
    "flat": ["R.reshape({n4}, R.shape([n * 4]))", "R.add({flat}, {flat})", "R.sin({flat})"],
}  # fmt: skip
# One operator each: TVM plans one storage for intermediate tensors of both sides, allocates it in one, and crashes in the other.
SIDES = ["R.subtract({n4}, {n4})", "R.nn.relu({n4})", "R.matmul({n4}, {w})"]
BRANCH = """        if c:
            t{0} = {1}
            v{0} = t{0}
        else:
            e{0} = {2}
            v{0} = e{0}
"""


class Written:
    """The lines of one program; `known` has the variables of each shape."""

    def __init__(self, seed: int) -> None:
        self.random, self.has_branches = Random(seed), seed % 2 == 0
        self.known = {"n4": ["x", "y"], "w": ["w"], "b": ["b"], "n1": [], "flat": []}
        self.lines: list[str] = []
        self.count = 0

    def bind(self, shape: str) -> str:
        """A new variable of a shape."""
        name = f"v{self.count}"
        self.count += 1
        if self.has_branches and shape == "n4" and self.random.random() < 0.15:
            sides = [self.value(shape, SIDES) for _ in range(2)]
            self.lines.append(BRANCH.format(name[1:], *sides).rstrip())
        else:
            self.lines.append(f"        {name} = {self.value(shape)}")
        self.known[shape].append(name)
        return name

    def value(self, shape: str, rules: list[str] | None = None) -> str:
        text = self.random.choice(rules or RULES[shape])
        while "{" in text:
            start, end = text.index("{"), text.index("}")
            text = text[:start] + self.pick(text[start + 1 : end]) + text[end + 1 :]
        return text

    def pick(self, shape: str) -> str:
        known = self.known[shape]
        if not known:
            source = {"n1": "R.mean(x, axis=-1, keepdims=True)", "flat": "R.reshape(y, R.shape([n * 4]))"}[
                shape
            ]
            known.append(f"f{shape}")
            self.lines.insert(0, f"        f{shape} = {source}")
        return self.random.choice(known[-4:])


def program(seed: int) -> str:
    """A program with tensors that depend on each other, a call and branches. Its values stay small."""
    written = Written(seed)
    for _ in range(written.random.randrange(4, 16)):
        written.bind(written.random.choice(["n4", "n4", "n4", *RULES]))
    last = [written.bind("n4"), written.bind("n1"), written.bind("w")]
    lines, names = "\n".join(written.lines), ", ".join(last)
    if seed % 2:  # without branches: one block, whose bindings can be fused
        block = "\n".join(f"    {line}" for line in lines.split("\n"))
        lines = f"        with R.dataflow():\n{block}\n            R.output({names})"
    return f"{HEAD}{lines}\n        return ({names})\n"


def arguments(seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 7))
    shapes = [(n, 4), (n, 4), (4, 4), (4,)]
    return [*[random.uniform(-1, 1, shape).astype("float32") for shape in shapes], np.array(seed % 2 == 0)]


def stepped(module: rxe.IRModule, args: list[Any]) -> Any:
    at = rxe.debug(module, "main", args)
    while not at.done:
        at.step()
    at.goto(at.position // 2)
    at.continue_()
    return at.result


def differences(oracle: Oracle | None, seed: int) -> str:
    """What differs for one program; empty if all agree."""
    text, args = program(seed), arguments(seed)
    module = rxe.normalize(rxe.parse(text))
    lowered = rxe.apply_pass(module, "LegalizeOps")
    fused = rxe.run_pipeline(module, "zero")
    built = rxe.run_pipeline(fused, "default_build")
    first = rxe.run(module, "main", args, engine="numba")
    results = {
        "reference": rxe.run(lowered, "main", args, engine="reference"),
        "stepped": stepped(module, args),
    }
    results["stepped lowered"] = stepped(lowered, args)
    for name, other in (
        ("operators", module),
        ("lowered", lowered),
        ("fused kernels", fused),
        ("built", built),
    ):
        for run in range(WARM):
            results[f"{name}, run {run}"] = rxe.run(other, "main", args)
    if oracle is not None:
        results["TVM"] = oracle.run(text, "main", args).get()
    for name, result in results.items():
        for number, (found, expected) in enumerate(zip(result, first, strict=True)):
            if not np.allclose(found, expected, rtol=1e-4, atol=1e-5):
                return f"seed {seed}: {name} differs in field {number}\n{text}"
    return ""


@pytest.mark.parametrize("part", range(4))
def test_every_way_to_run_gives_the_same_values(oracle: Oracle, part: int) -> None:
    for seed in range(part, PROGRAMS, 4):
        assert not differences(oracle, seed)
