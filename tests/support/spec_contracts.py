"""Names for the chapter about shape contracts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.shapes import (
    contract_facts,
    contract_forms,
    contract_run,
    contract_text,
    contract_tree,
    lower,
    primitives,
    propagate,
)

FF = "@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) { <body> }\n"
MATMUL = "@matmul = fn (x : Tensor([m, k], d), y : Tensor([k, n], d)) : Tensor([m, n], d) { <body> }\n"


def propagated(text: str, keep_branches: bool = False, places: bool = False, hint: bool = False) -> Any:
    """What is known of a program; code and message if it cannot be read (`places`: and the span; `hint`: the hint alone)."""
    try:
        found = propagate.analyse(*contract_text.read_contract(text), keep_branches)
    except Failure as failure:
        problem = failure.diagnostics[0]
        if hint:
            return problem.help
        assert problem.span is not None
        said = (problem.code.id, problem.message)
        return (*said, problem.span.text) if places else said
    problems = list(found.report)
    return SimpleNamespace(
        types=found.types,
        asserted=found.asserted,
        left=[(text, origin) for _, text, origin, _ in contract_facts.residual_rows(found)],
        problems=problems,
        codes=[item.code.id for item in problems],
        messages=[item.message for item in problems],
        spans=[
            (item.span.line, item.span.column, item.span.text) for item in problems if item.span is not None
        ],
    )


def checks_of(program: contract_tree.Program, terms: contract_tree.Terms) -> int:
    """The assertions that a run makes without an analysis."""
    runner = contract_run.Runner(program, terms, {})
    runner.run()
    return runner.checks


_ROOMS = (
    contract_tree,
    contract_text,
    contract_facts,
    contract_run,
    contract_tree,
    lower,
    primitives,
    propagate,
    contract_run,
    contract_forms,
)
NAMES = {
    "contract": propagated,
    "FF": FF,
    "MATMUL": MATMUL,
    "sweet": SimpleNamespace(
        checks_of=checks_of,
        **{name: value for room in _ROOMS for name, value in vars(room).items() if not name.startswith("_")},
    ),
}
