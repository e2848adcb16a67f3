"""Functions for the chapter about dimensions: simplification, provers, evaluation with its errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.arith.assume import prove, prove_under, solve
from relax_explorer.core.arith.bounds import bounds
from relax_explorer.core.arith.prove import alike, at_least, equal, proving
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.scalars import Undefined, compile_shapes, evaluate
from relax_explorer.core.ir import prim as p

I = p.IntImm  # noqa: E741  # as short as in the chapter


def failure(work: Callable[[], Any]) -> tuple[str, str]:
    """The code and the sentence of the failure of `work`."""
    try:
        value = work()
    except Failure as problem:
        return problem.diagnostics[0].code.id, problem.diagnostics[0].message
    raise AssertionError(f"no failure, but {value}")


NAMES: dict[str, Any] = {
    "I": I, "simplify": simplify, "equal": equal, "at_least": at_least, "alike": alike, "proving": proving, "bounds": bounds,
    "prove": prove, "prove_under": prove_under, "solve": solve, "evaluate": evaluate, "Undefined": Undefined,
    "compile_shapes": compile_shapes, "failure": failure,
}  # fmt: skip
