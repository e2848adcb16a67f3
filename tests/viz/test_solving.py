"""The steps of solvers: at each position everything can be shown, lines lead to the steps that made them, and the end is the result."""

from __future__ import annotations

import json

import pytest

from relax_explorer.viz.solver_steps import ContractSteps, RelationSteps
from relax_explorer.viz.solving import TABLES, Solving
from tests.support.roundtrip import SAMPLES

FOLDER = SAMPLES[0].parent
FF = "@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) { <body> }\n"
RELATIONS = {
    "layer": (FOLDER / "relations" / "layer.relay").read_text(),
    "waiting": (FOLDER / "relations" / "waiting.relay").read_text(),
    "nothing": "",
    "open": "fn(%x, %y) { let %z = (%x, exp(%y)); %z }",
    "differs": "def @f(%x : Tensor[(2,), int8]) -> Tensor[(3,), int8] { %x }",
    "fails": "(add(Constant(1, (2,), int8), Constant(1, (3,), int8)), sum(1, axis=0))",
    "calls": "def @f(%n : Tensor[(), int32]) -> Tensor[(), int32] { if (less(%n, 1)) { %n } else { @f(subtract(%n, 1)) } }",
}
CONTRACTS = {
    "flatten": (FOLDER / "shapes" / "fast_flatten.shapes").read_text(),
    "nothing": "",
    "refused": FF + "let a : Tensor([8, 6], int8) = ..; let b = @ff(a)",
    "asserted": FF + "let e : Tensor(?, ?) = ..; assert e.dim(1) == 8; let f = @ff(e)",
    "unbound": "let a = @nobody()",
}


def check(solving: Solving) -> None:
    """Show everything at each position."""
    json.dumps(solving.data())
    for position in range(solving.last + 1):
        assert solving.line(position).text
        assert solving.about(position)
        for by in (1, -1):
            goal = solving.next_open(position, by)
            assert goal is None or (goal - position) * by > 0
        for name in TABLES:
            table = solving.table(name, position)
            assert table.shown is None or 0 <= table.shown < len(table.lines)
            for number in range(len(table.lines)):
                goal = solving.origin(name, position, number)
                assert goal is None or 0 <= goal <= solving.last
                if goal is not None and name in ("types", "made"):
                    assert goal <= position, "nothing is known before it was found"
                if goal is not None and name == "left" and isinstance(solving, RelationSteps):
                    assert goal > position, "what waits runs later"


@pytest.mark.parametrize("name", RELATIONS)
def test_relations(name: str) -> None:
    solving = RelationSteps(RELATIONS[name], f"{name}.relay")
    check(solving)
    typed = solving.typed
    shown = [line.text.strip().partition(" : ")[2] for line in solving.table("types", solving.last).lines]
    functions = [str(function) for function in typed.functions.values()]
    variables = [str(typed.solver.resolved(var.type)) for var in typed.variables]
    assert shown == [*functions, *variables, *([] if typed.main is None else [str(typed.main)])]
    made = [str(item) for run in solving.runs for item in (*run.unified, *run.assigned)]
    made += map(str, typed.solver.unified)
    assert [line.text.split("  ")[-1] for line in solving.table("made", solving.last).lines] == made
    goals = [line.node or 0 for line in solving.table("made", solving.last).lines]
    for position in range(solving.last + 1):
        known = sum(goal <= position for goal in goals)
        assert len(solving.table("made", position).lines) == known, "a step's own assignments count"


@pytest.mark.parametrize("name", CONTRACTS)
def test_contracts(name: str) -> None:
    solving = ContractSteps(CONTRACTS[name], f"{name}.shapes")
    check(solving)
    left = solving.table("left", solving.last).lines
    assert len(left) == len(solving.found.residual)
    values = [line.text.split(maxsplit=1)[1] for line in solving.table("types", solving.last).lines]
    assert values == [f"{name} : {text}" for name, text in solving.found.types.items()]


def test_a_demand_of_broadcasting_is_said_once_as_people_do() -> None:
    text = "let a : Tensor([n], int8) = ..;\nlet b : Tensor([m], int8) = ..;\nlet c = @add(a, b);\nassert c.dim(0) == n;"
    solving = ContractSteps(text, "add.shapes")
    told = next(n for n in range(len(solving.steps)) if "assert n == m" in solving.step(n)[0])
    assert solving.step(told)[0] == "assert n == m or n == 1 or m == 1: left to the run"
    assert solving.details(told)[:2] == ["assert n == m or n == 1 or m == 1", "demanded by @add, in main"]
    assert not any(line.startswith("here ") for line in solving.details(told))
    left = solving.known("left", len(solving.steps)).lines
    assert "assert n == m or n == 1 or m == 1" in left[0].text
