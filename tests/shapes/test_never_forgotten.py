"""No check that can fail is called proved, and no run is called impossible that ends: random programs on random lengths."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.shapes.residual import ShapeCheck, shape_checks

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


@pytest.mark.parametrize("seed", range(6))
def test_what_is_proved_never_stops_a_run(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen: dict[str, int] = {"proved": 0, "stopped": 0, "ended": 0}
    for _ in range(40):
        module = rxe.parse(program(rng))
        if any(item.is_error for item in rxe.check(module)):
            continue
        module = rxe.normalize(module)
        checks = shape_checks(module)
        seen["proved"] += sum(one.answer is Answer.YES for one in checks)
        for _ in range(4):
            lengths = {name: int(rng.choice([1, 2, 4], p=[0.5, 0.2, 0.3])) for name in "nmk"}
            stopped = _stop(module, lengths, bool(rng.integers(2)))
            seen["stopped" if stopped is not None else "ended"] += 1
            if stopped is not None:
                assert any(_may_stop(one, stopped) for one in checks), (module.script(), lengths, stopped)
            else:
                certain = [one for one in checks if one.answer is Answer.NO and not _in_branch(module, one)]
                assert not certain, (module.script(), lengths)
    assert min(seen.values()) > 5, seen


def _stop(module: rxe.IRModule, lengths: dict[str, int], flag: bool) -> object | None:
    """The place at which a run stops; None if it ends."""
    main = module.relax_functions["main"]
    arrays = [
        np.ones([value(str(dim), lengths) for dim in param.struct_info.dims or ()], "float32")
        for param in main.params[:-1]
    ]
    try:
        rxe.run(module, "main", [*arrays, np.asarray(flag)])
    except Failure as failure:
        return failure.diagnostics[0]
    return None


def _may_stop(check: ShapeCheck, stopped: object) -> bool:
    """True if a check that was not proved stands in a line that the problem names."""
    lines = {label.span.line for label in stopped.labels if label.span is not None}  # type: ignore[attr-defined]
    span = getattr(check.place, "span", None)
    return check.answer is not Answer.YES and span is not None and span.line in lines


def _in_branch(module: rxe.IRModule, check: ShapeCheck) -> bool:
    """True if the place of a check may not be reached."""
    main = module.relax_functions["main"]
    outside = [binding for block in main.body.blocks for binding in block.bindings]
    return check.function != "main" or not any(binding is check.place for binding in outside)
