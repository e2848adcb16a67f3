"""Random programs over shape variables whose checks may fail, and their runs on given lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Diagnostic, Failure

LENGTHS = ("n", "m", "k", "n * 2", "n + m", "4", "1")
HEAD = """@I.ir_module
class Module:
    @R.function(private=True)
    def same(p: R.Tensor(("a", "b"), "float32"), q: R.Tensor(("a", "b"), "float32")) -> R.Tensor(("a", "b"), "float32"):
        return R.multiply(p, q)

    @R.function
    def main({parameters}, flag: R.Tensor((), "bool")):
        n, m, k = T.int64(), T.int64(), T.int64()
"""


def program(rng: np.random.Generator) -> str:
    """Three tensors, then casts, sums, calls and branches over them."""
    shapes = {name: [str(rng.choice(LENGTHS[:3])), str(rng.choice(LENGTHS))] for name in "xyz"}
    shapes["x"], shapes["y"][0], shapes["z"][0] = (
        ["n", "m"],
        "k",
        "k",
    )  # each variable is bound by a lone length
    parameters = ", ".join(
        f"{name}: R.Tensor(({', '.join(map(repr, dims))}), 'float32')" for name, dims in shapes.items()
    )
    lines = [HEAD.format(parameters=parameters)]
    names = ["x", "y", "z"]

    def one(indent: str, number: int) -> str:
        a, b = rng.choice(names, 2)
        kind = rng.integers(6)
        if kind == 4:
            return f"{indent}v{number} = R.matmul({a}, {b})\n"
        if kind == 5:
            return f"{indent}v{number} = R.concat(({a}, {b}, {a}), axis={rng.integers(2)})\n"
        if kind == 0:
            return f"{indent}v{number} = R.add({a}, {b})\n"
        if kind == 1:
            return f"{indent}v{number} = Module.same({a}, {b})\n"
        first, second = rng.choice(LENGTHS, 2)
        return f"{indent}v{number} = R.match_cast({a}, R.Tensor(({first}, {second}), 'float32'))\n"

    for number in range(int(rng.integers(1, 5))):
        if rng.integers(5) == 0:
            lines.append("        if flag:\n" + one(" " * 12, 10 * number + 100))
            lines.append(f"            w{number} = x\n        else:\n" + one(" " * 12, 10 * number + 101))
            lines.append(f"            w{number} = x\n")
        else:
            lines.append(one(" " * 8, number))
            names.append(f"v{number}")
    return "".join(lines) + f"        return {names[-1]}\n"


def value(text: str, lengths: dict[str, int]) -> int:
    """The value of a length of LENGTHS."""
    if "*" in text:
        return lengths["n"] * 2
    if "+" in text:
        return lengths["n"] + lengths["m"]
    return lengths[text] if text in lengths else int(text)


def stop(module: rxe.IRModule, lengths: dict[str, int], flag: bool) -> Diagnostic | None:
    """The problem that stops a run; None if it ends."""
    found = outcome(module, lengths, flag)
    return found if isinstance(found, Diagnostic) else None


def outcome(
    module: rxe.IRModule, lengths: dict[str, int], flag: bool, name: str = "main", like: str = ""
) -> Any:
    """The result of a run, or the problem that stops it. `like` is the function that the lengths are for."""
    main = module.relax_functions[like or name]
    arrays = [
        array([value(str(dim), lengths) for dim in param.struct_info.dims or ()])
        for param in main.params[:-1]
    ]
    try:
        return rxe.run(module, name, [*arrays, np.asarray(flag)])
    except Failure as failure:
        return failure.diagnostics[0]


def array(shape: list[int]) -> np.ndarray:
    """An input: numbers that differ from place to place."""
    return (np.arange(np.prod(shape), dtype="float32") % 7).reshape(shape)
