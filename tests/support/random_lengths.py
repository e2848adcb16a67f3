"""Random programs over shape variables whose checks may fail, and their runs on given lengths."""

from __future__ import annotations

from collections.abc import Callable
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


INNER = """        @R.function
        def inner(r: R.Tensor((n, m), "float32")) -> R.Tensor((n, m), "float32"):
            return R.multiply(r, r)
"""
TEST = "R.astype(R.min(R.astype(R.equal(R.shape_to_tensor(R.shape([n])), R.const([2], 'int64')), 'int8')), 'bool')"


def program(rng: np.random.Generator, rich: bool = False) -> str:
    """Three tensors, then casts, sums, calls and branches over them. `rich` adds a nested function, and conditions on lengths."""
    shapes = {name: [str(rng.choice(LENGTHS[:3])), str(rng.choice(LENGTHS))] for name in "xyz"}
    shapes["x"], shapes["y"][0], shapes["z"][0] = (
        ["n", "m"],
        "k",
        "k",
    )  # each variable is bound by a lone length
    parameters = ", ".join(
        f"{name}: R.Tensor(({', '.join(map(repr, dims))}), 'float32')" for name, dims in shapes.items()
    )
    nested = rich and bool(rng.integers(2))
    lines = [HEAD.format(parameters=parameters), INNER if nested else ""]
    names = ["x", "y", "z"]

    def one(indent: str, number: int) -> str:
        a, b = rng.choice(names, 2)
        kind = rng.integers(6 + nested)
        if kind == 6:
            return f"{indent}v{number} = inner({a})\n"
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
        if rng.integers(2 if rich else 5) == 0:
            lines.append(_branches(rng, rich, number, one))
        else:
            lines.append(one(" " * 8, number))
            names.append(f"v{number}")
    return "".join(lines) + f"        return {names[-1]}\n"


def _branches(rng: np.random.Generator, rich: bool, number: int, one: Callable[[str, int], str]) -> str:
    """An If over the flag, or over n == 2. That is known in the first branch only: a cast behind the If may fail.

    In the other branch it would always fail, so that a correct checker refuses the program.
    """
    inner, first = " " * 12, 10 * number + 100
    cast = "{}v{} = R.match_cast(x, R.Tensor((2, m), 'float32'))\n"
    head, parts = "        if flag:\n", (one(inner, first), one(inner, first + 1), "")
    if rich and rng.integers(4):
        head = f"        c{number} = {TEST}\n        if c{number}:\n"
        if rng.integers(4):
            parts = (
                cast.format(inner, first),
                parts[1],
                cast.format(" " * 8, first + 2) * int(rng.integers(2)),
            )
        else:
            parts = parts[0], cast.format(inner, first + 1), ""
    same = f"{inner}w{number} = x\n"
    return f"{head}{parts[0]}{same}        else:\n{parts[1]}{same}{parts[2]}"


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
        array([value(str(dim), lengths) for dim in getattr(param.struct_info, "dims", None) or ()])
        for param in main.params[:-1]
    ]
    try:
        return rxe.run(module, name, [*arrays, np.asarray(flag)])
    except Failure as failure:
        return failure.diagnostics[0]


def array(shape: list[int]) -> np.ndarray:
    """An input: numbers that differ from place to place."""
    return (np.arange(np.prod(shape), dtype="float32") % 7).reshape(shape)
