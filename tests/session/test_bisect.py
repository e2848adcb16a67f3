"""The first bad pass, the passes to leave out, and the wrong binding: planted mistakes are named at the first try."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.codes import passes as pass_codes
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pipeline import Step
from relax_explorer.core.session.bisect import LeftOut, NoNan, SameOutput, WellFormed, left_out
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.samples import samples_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.stages import Stage
from relax_explorer.ui.cli.main import group
from tests.support.planted import LLAMA, PLANTS, Plant, before

PROGRAM = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")):
    with R.dataflow():
        a = R.matmul(x, w)
        b = R.subtract(a, x)
        c = R.exp(b)
        d = R.add(c, x)
        R.output(d)
    return d
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of kernels for all tests of this file."""
    folder = tmp_path_factory.mktemp("kernels")
    folder.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("relax_explorer.ui.directories.kernel_cache", lambda: folder)
        yield folder


def test_the_plants_are_in_ten_stages() -> None:
    assert len({plant.stage for plant in PLANTS}) >= 10
    assert all(plant.text() != (LLAMA / f"{plant.stage}.py").read_text() for plant in PLANTS)


@pytest.mark.parametrize("plant", PLANTS, ids=[plant.kind.replace(" ", "_") for plant in PLANTS])
def test_a_planted_mistake_is_named_at_the_first_try(plant: Plant, kernels: Path, tmp_path: Path) -> None:
    plant.write(tmp_path, [before(plant.stage), plant.stage])
    values = str(LLAMA / "io.npz")
    words = ["bisect", str(tmp_path), "--input", values, "--ref", values, "--format", "json"]
    done = CliRunner().invoke(group, words)
    assert done.exit_code == 1, done.output
    found = json.loads(done.stdout)
    assert plant.is_named(found), found["verdict"]["first"]


# -- passes that make mistakes --------------------------------------------------------------------------------------


def swapping(name: str, change: str, to: str) -> Step:
    """A pass that calls another operator wherever `change` is called."""

    @function_pass(name)
    def swap(fn: e.Function, at: PassSite) -> e.Function:
        """Call another operator."""
        text = at.module.script()
        if f"R.{change}(" not in text:
            return fn
        new = rxe.normalize(rxe.parse(text.replace(f"R.{change}(", f"R.{to}(")))[at.function]
        assert type(new) is e.Function
        return new

    return Step(swap)


NOTHING = Step(rxe.passes.get("Normalize"))
SUB_ADD, ADD_SUB = swapping("SubtractToAdd", "subtract", "add"), swapping("AddToSubtract", "add", "subtract")
EXP_TANH = swapping("ExpToTanh", "exp", "tanh")
TANH_EXP = swapping("TanhToExp", "tanh", "exp")
EXP_LOG = swapping("ExpToLog", "exp", "log")


def built(*steps: Step) -> Session:
    session = Session(rxe.parse(PROGRAM), steps)
    session.run_all()
    return session


def test_the_pass_and_the_binding_are_named() -> None:
    found = rxe.bisect(built(NOTHING, EXP_TANH, NOTHING))
    assert found.failed is not None
    assert (found.failed.number, found.failed.made_by) == (2, "ExpToTanh")
    assert found.left_out == LeftOut(((1, "ExpToTanh"),), True)
    assert found.comparison is not None
    verdict = found.comparison.first
    assert verdict is not None
    assert verdict.first is not None
    assert verdict.first.b is not None
    assert verdict.first.b.name == "c"
    assert [pair.equal for pair in verdict.operands] == [True]


def test_passes_before_the_first_one_left_out_do_not_run_again() -> None:
    ran = []

    @function_pass("Counted")
    def counted(fn: e.Function, at: PassSite) -> e.Function:
        """Count."""
        ran.append(at.function)
        return fn

    session = built(Step(counted), ADD_SUB, Step(counted), EXP_TANH, Step(counted))
    assert len(ran) == 3
    found = rxe.bisect(session)
    assert found.left_out == LeftOut(((1, "AddToSubtract"), (3, "ExpToTanh")), True)
    # Alone, the first is left out with two passes behind it that count, and the second with one. Both together: two.
    assert len(ran) == 3 + 2 + 1 + 2


def test_passes_after_one_that_failed_run_again() -> None:
    @function_pass("Failing")
    def failing(fn: e.Function, at: PassSite) -> e.Function:
        """Fail after the first pass."""
        raise rxe.Failure(Diagnostic(pass_codes.FOREIGN_FAILURE, "it fails"))

    found = rxe.bisect(built(NOTHING, Step(failing), EXP_TANH))
    assert found.failed is not None
    assert found.failed.made_by == "ExpToTanh"
    assert found.left_out is None  # no build without it ends


def test_a_mistake_that_a_later_pass_hides_is_still_found() -> None:
    found = rxe.bisect(built(EXP_TANH, TANH_EXP))
    assert found.failed is not None
    assert found.failed.made_by == "ExpToTanh"
    assert found.left_out is not None  # the whole build is right, and stays so without one pass only
    assert [number for number, _ in found.left_out.passes] == [0]


def test_two_mistakes_need_both_passes_to_be_left_out() -> None:
    found = rxe.bisect(built(EXP_TANH, NOTHING, SUB_ADD))
    assert found.left_out == LeftOut(((0, "ExpToTanh"), (2, "SubtractToAdd")), True)


def test_four_mistakes_are_found_by_delta_debugging() -> None:
    wrong = [
        swapping(f"Exp{n}", old, new)
        for n, (old, new) in enumerate([("exp", "tanh"), ("tanh", "sin"), ("sin", "cos")])
    ]
    found = rxe.bisect(built(*wrong, SUB_ADD))
    assert found.left_out is not None
    # Without the first, the second and third find nothing to change.
    assert [name for _, name in found.left_out.passes] == ["Exp0", "SubtractToAdd"]
    every = [swapping(f"Always{n}", "exp", name) for n, name in enumerate(["tanh", "sin", "cos", "abs"])]
    found = rxe.bisect(built(*every))
    first = Stage(0, "input", rxe.parse(PROGRAM))
    out = left_out(first, every, range(4), SameOutput(first, "main"))
    assert out is not None
    assert [number for number, _ in out.passes] == [0, 1, 2, 3]
    assert out.smallest is False
    between = [NOTHING, every[0], NOTHING, every[1], every[2], NOTHING]
    out = left_out(first, between, range(6), SameOutput(first, "main"))
    assert out is not None
    assert [number for number, _ in out.passes] == [1, 3, 4]
    assert out.smallest is True  # no one and no two passes are enough


def test_nothing_helps_if_the_input_fails() -> None:
    first = Stage(0, "input", rxe.parse(PROGRAM.replace("R.exp(b)", "R.log(b)")))
    nan = NoNan(first, "main", samples_of(first.module, "main"))
    found = rxe.bisect([first, first], nan)
    assert len(found.attempts) == 1
    assert found.failed is not None
    assert left_out(first, [EXP_TANH, SUB_ADD, ADD_SUB], range(3), nan) is None


def test_the_first_nan_is_named() -> None:
    session = built(NOTHING, EXP_LOG)
    first = Stage(0, "input", session.stages[0].module)
    found = rxe.bisect(session, NoNan(first, "main", samples_of(first.module, "main")))
    assert found.failed is not None
    assert found.failed.made_by == "ExpToLog"
    assert found.place is not None
    assert found.place.name == "c"


def test_a_stage_that_breaks_a_rule_is_found() -> None:
    stages = [Stage(0, "a", PROGRAM), Stage(1, "b", PROGRAM.replace("R.output(d)", "R.output(c)"))]
    found = rxe.bisect(stages, WellFormed())
    assert found.failed is not None
    assert found.failed.number == 1
    assert found.failed.reason.startswith("RX")


def test_a_program_that_never_runs_to_its_end_is_not_called_right() -> None:
    stops = PROGRAM.replace(
        "R.exp(b)", 'R.call_pure_packed("nobody.knows", b, sinfo_args=(R.Tensor((n, 4), "float32"),))'
    )
    found = rxe.bisect([Stage(0, "a", stops), Stage(1, "b", stops)])
    assert [item.unknown for item in found.attempts] == [
        "c: no packed function 'nobody.knows' is registered"
    ] * 2
    asserts = (
        '@R.function(pure=False)\ndef main(x: R.Tensor((2,), "float32")):\n'
        '    _ = R.assert_op(R.const(False, "bool"), format="no")\n    return x\n'
    )
    found = rxe.bisect([Stage(0, "a", asserts), Stage(1, "b", asserts)])
    assert found.failed is not None
    assert "stops on every sample" in found.failed.reason


# -- stages in files -------------------------------------------------------------------------------------------------


def test_stages_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("10_Last.py", "2_Second.py", "00_input.py", "notes.txt", "x.py"):
        (tmp_path / name).write_text(PROGRAM)
    assert [str(stage) for stage in open_build(tmp_path).stages] == ["0 input", "2 Second", "10 Last"]
    with pytest.raises(rxe.Failure):
        open_build(tmp_path.parent / "nothing")


def test_one_text_may_hold_several_stages(tmp_path: Path) -> None:
    path = tmp_path / "all.py"
    path.write_text(
        f"# after the parser, in prose\n{PROGRAM}# after SubtractToAdd\n{PROGRAM.replace('subtract', 'add')}\n# -----\n"
    )
    stages = open_build(path).stages
    assert [str(stage) for stage in stages] == ["0 input", "1 SubtractToAdd"]
    found = rxe.bisect(stages)
    assert found.failed is not None
    assert found.comparison is not None
    assert found.comparison.first is not None
    first = found.comparison.first.first
    assert first is not None
    assert first.b is not None
    assert (
        path.read_text().split("\n")[first.b.line - 1].strip() == "b = R.add(a, x)"
    )  # the line in the whole file
    assert len(open_build(LLAMA / "04_FuseOps.py").stages) == 1
