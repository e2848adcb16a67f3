"""Programs with contracts on random sizes: runs give the shapes that were derived, and no assertion that can fail is dropped."""

from __future__ import annotations

import numpy as np
import pytest

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes.contract_run import Runner
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.propagate import analyse

FUNCTIONS = """
@twice = fn(x : Tensor([a, b], int8)) : Tensor([a, b * 2], int8) { @concat([x, x], axis=1) }
@product = fn(x : Tensor([a, b], int8), y : Tensor([b, c], int8)) : Tensor([a, c], int8) { @matmul(x, y) }
@even = fn(x : Tensor([a * 2, b], int8)) : Tensor([a * 2, b], int8) { x }
@same = fn(x : Tensor(s, int8), y : Tensor(s, int8)) : Tensor(s, int8) { @add(x, y) }
"""
CALLS = (
    "@twice({})",
    "@product({}, {})",
    "@even({})",
    "@same({}, {})",
    "@add({}, {})",
    "@matmul({}, {})",
    "@flatten({})",
)
DIMS = ("n", "m", "n * 2", "4", "1", "?")


def program(rng: np.random.Generator) -> tuple[str, list[str]]:
    """A program, and the names of its inputs."""
    lines, names = [FUNCTIONS, "let i : Tensor([n, m], int8) = ..;"], ["i"]
    for name in "jk":
        dims = ", ".join(map(str, rng.choice(DIMS, 2)))
        lines.append(f"let {name} : Tensor([{dims}], int8) = ..;")
        names.append(name)
    values = [*names]
    for number in range(int(rng.integers(1, 5))):
        call = str(rng.choice(CALLS))
        mark = "" if rng.integers(3) else f" ! Tensor([{', '.join(map(str, rng.choice(DIMS, 2)))}], int8)"
        lines.append(f"let v{number}{mark} = {call.format(*rng.choice(values, 2))};")
        values.append(f"v{number}")
    return "\n".join(lines), names


@pytest.mark.parametrize("seed", range(5))
def test_runs_give_what_was_derived(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = {"ended": 0, "stopped": 0, "refused": 0, "derived": 0}
    for _ in range(60):
        text, inputs = program(rng)
        tree, terms = read_contract(text)
        found = analyse(tree, terms)
        for _ in range(6):
            sizes = {"n": int(rng.choice([1, 2, 4])), "m": int(rng.choice([1, 2, 4]))}
            arrays = {name: _array(tree, name, sizes, rng) for name in inputs}
            whole = _run(Runner(tree, terms, arrays))
            if found.report.errors:
                counts["refused"] += 1
                assert whole is None, (text, sizes)
                continue
            checked = _run(Runner(tree, terms, arrays, found))
            assert (whole is None) == (checked is None), (text, sizes, found.residual)
            counts["stopped" if whole is None else "ended"] += 1
            if whole is not None:
                counts["derived"] += _agree(found.values, whole, sizes, text)
    assert min(counts.values()) > 5, counts


def _array(tree: object, name: str, sizes: dict[str, int], rng: np.random.Generator) -> np.ndarray:
    """A value for an input of the declared shape; `?` is any length."""
    let = next(item for item in tree.main if getattr(item, "name", "") == name)  # type: ignore[attr-defined]
    shape = [int(rng.choice([1, 2, 4])) if dim == "?" else _number(dim, sizes) for dim in let.type.shape]
    return np.ones(shape, "int8")


def _number(dim: p.PrimExpr, sizes: dict[str, int]) -> int:
    known = {var: p.as_prim(sizes[var.name]) for var in p.free_vars(dim) if var.name in sizes}
    number = simplify(p.substitute(dim, known))
    return number.value if isinstance(number, p.IntImm) else -1


def _run(runner: Runner) -> dict | None:
    try:
        return runner.run()
    except Failure:
        return None


def _agree(known: dict, values: dict, sizes: dict[str, int], text: str) -> int:
    """Compare the derived lengths, as far as they are over the sizes; how many were."""
    count = 0
    for name, value in values.items():
        for axis, dim in enumerate(known[name].dims or ()):
            number = _number(dim, sizes)
            if number >= 0 and {var.name for var in p.free_vars(dim)} <= sizes.keys():
                assert value.shape[axis] == number, (text, name, sizes)
                count += 1
        if known[name].dims is not None:
            assert value.ndim == len(known[name].dims), (text, name)
    return count
