"""Phases, contracts and orders as tables."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.passes import phase_table
from relax_explorer.core.passes.pipeline import steps
from relax_explorer.core.phases.module_properties import SHAPES_LOWERED
from relax_explorer.core.phases.phases import PHASES
from relax_explorer.core.session.session import Session
from relax_explorer.ui.cli.main import group
from tests.support.ready_modules import after

PAGE = Path(__file__).resolve().parents[2] / "docs" / "phases.md"


def said(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(group, words)
    return done.exit_code, done.output


def test_the_page_is_fresh() -> None:
    same = PAGE.read_text(encoding="utf-8") == phase_table.markdown()
    assert same, "write it anew: rxe phases --format markdown -o docs/phases.md"


def test_phases_grow() -> None:
    needed = list(PHASES.values())
    assert all(set(before) <= set(after) for before, after in pairwise(needed))


# What the phase-ordering RFC lists: an order, the step that is wrong, and the pass that the hint names.
FACTS = [
    (
        "ToNonDataflow before code generation",
        "LegalizeOps,RemovePurityChecking,CallTIRRewrite",
        2,
        "ToNonDataflow",
    ),
    (
        "LambdaLift before VMShapeLower",
        ",".join(name for name in passes.PIPELINES["default_build"] if name != "LambdaLift"),
        13,
        "LambdaLift",
    ),
    (
        "purity is erased before kernels are called",
        "LegalizeOps,ToNonDataflow,CallTIRRewrite",
        2,
        "RemovePurityChecking",
    ),
    (
        "allocation is explicit before memory is planned",
        "LegalizeOps,StaticPlanBlockMemory",
        1,
        "CallTIRRewrite",
    ),
    (
        "storages come before builtins",
        "ToNonDataflow,RemovePurityChecking,CallTIRRewrite,LowerRuntimeBuiltin",
        3,
        "LowerAllocTensor",
    ),
    (
        "code generators take marked functions",
        'FuseOpsByPattern{patterns="my.curve: exp(_)"},RunCodegen',
        1,
        "MergeCompositeFunctions",
    ),
    ("named lengths before builtins", "LowerRuntimeBuiltin", 0, "DecomposeOpsForInference"),
    ("patterns come before fusion", "LegalizeOps,FuseOps", 1, "AnnotateTIROpPattern"),
]


@pytest.mark.parametrize(
    ("order", "number", "hint"), [fact[1:] for fact in FACTS], ids=[fact[0] for fact in FACTS]
)
def test_an_order_lacks_a_pass(order: str, number: int, hint: str) -> None:
    rows = phase_table.explained(steps(order))
    assert any(hint in text for text in rows[number].hints)
    chain = steps(order)
    mended = phase_table.explained([*chain[:number], *steps(hint), *chain[number:]])
    assert not any(hint in text for text in mended[number + 1].hints)


def test_operators_are_lowered_before_functions_are_lifted() -> None:
    wrong = phase_table.explained(steps("LambdaLift,LegalizeOps"))
    assert wrong[0].remark.startswith("LegalizeOps comes after it")
    assert phase_table.explained(steps("LegalizeOps,LambdaLift"))[1].remark == ""


def test_a_step_twice_is_noticed() -> None:
    rows = phase_table.explained(steps("ToNonDataflow,ToNonDataflow,LegalizeOps"))
    assert [bool(row.remark) for row in rows] == [False, True, False]
    assert not rows[1].may_come_first


def test_contracts_tell_which_passes_commute() -> None:
    assert phase_table.commuting(passes.get("FoldConstant"), passes.get("EliminateCommonSubexpr"))
    assert not phase_table.commuting(passes.get("ToNonDataflow"), passes.get("CallTIRRewrite"))
    assert not phase_table.commuting(passes.get("LegalizeOps"), passes.get("AnnotateTIROpPattern"))
    rows = phase_table.explained(
        steps("FoldConstant,EliminateCommonSubexpr,ToNonDataflow,RemovePurityChecking")
    )
    assert [row.may_come_first for row in rows] == [False, True, True, False]


def test_no_missing_pass_is_there() -> None:
    assert not phase_table.missing().keys() & set(passes.names())


def test_the_command_line_tells_of_orders() -> None:
    status, text = said("passes", "--explain", "ToNonDataflow,RemovePurityChecking,CallTIRRewrite")
    assert (status, text.splitlines()[-1]) == (0, "The order is complete.")
    status, text = said("passes", "--explain", "VMShapeLower", "--format", "json")
    assert status == 1
    assert json.loads(text)["steps"][0]["hints"]
    assert said("passes", "--explain", "Nothing")[0] == 2
    assert "AlterOpImpl" in said("passes", "--missing")[1]


@pytest.mark.parametrize(
    ("style", "part"),
    [
        ("text", "NO_DATAFLOW"),
        ("json", '"established_by"'),
        ("svg", "<svg"),
        ("dot", "digraph"),
        ("mermaid", "VMShapeLower"),
    ],
)
def test_phases_in_every_format(style: str, part: str, tmp_path: Path) -> None:
    status, text = said("phases", "--format", style)
    assert status == 0
    assert part in text
    target = tmp_path / "phases"
    assert said("phases", "--format", style, "-o", str(target))[0] == 0
    assert part in target.read_text(encoding="utf-8")


def test_a_symbolic_shape_that_a_branch_or_a_function_returns_is_not_lowered_yet() -> None:
    text = """@R.function
def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):
    n = T.int64()
    if c:
        s = R.shape([2])
    else:
        s = R.shape([{}])
    return {}
"""
    for length, result, holds in (("n", "s", False), ("3", "s", True), ("3", "R.shape([n])", False)):
        module = rxe.normalize(rxe.parse(text.format(length, result)))
        assert SHAPES_LOWERED.holds(module) is holds
        assert SHAPES_LOWERED.holds(after(module, "VMShapeLower"))


RESHAPE = """
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    with R.dataflow():
        y = R.add(x, x)
        z = R.reshape(y, (n, 2, 2))
        w = R.multiply(z, z)
        R.output(w)
    return w
"""


def test_no_step_of_the_build_leads_back_to_an_earlier_phase() -> None:
    """RewriteDataflowReshape makes calls of `reshape` again, which the virtual machine runs."""
    session = Session(rxe.parse(RESHAPE), steps("default_build", "tvm"), "p.py", None, "tvm")
    while session.advance() is not None:
        pass
    order = list(PHASES)
    reached = [order.index(stage.phase) for stage in session.stages]
    (rewritten,) = [stage for stage in session.stages if stage.made_by.startswith("RewriteDataflowReshape")]
    assert any("R.reshape" in line.text for line in rewritten.printed.lines)
    assert rewritten.phase == "legalized"
    assert reached == sorted(reached)
    assert session.stages[-1].phase == "vm"


def test_a_reshape_of_a_program_is_legalized_all_the_same() -> None:
    session = Session(rxe.parse(RESHAPE), "LegalizeOps")
    done = session.advance()
    assert done is not None
    assert not any("R.reshape" in line.text for line in done.printed.lines)
