"""`run`, `debug` and `check` on a folder of numbered stages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.stages import StageText
from tests.cli.test_commands import rxe_cli

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.{op}(x)
        return y
"""
KERNEL = """
@I.ir_module
class Module:
    @T.prim_func
    def k(a: T.Buffer((2,), "float32")):
        for i in range(2):
            a[i] = T.float32(1)
"""


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    texts = {"00_input": "negative", "03_Square": "square", "07_Wrong": "def ("}
    for name, op in texts.items():
        text = PROGRAM.format(op=op) if op.isalpha() else op
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "09_Lowered.py").write_text(KERNEL)
    return tmp_path


def test_run_takes_the_last_stage_that_can_run_and_says_so(dumps: Path) -> None:
    done = rxe_cli("run", str(dumps), "--input", "x=3")
    assert done.exit_code == 0, done.output
    assert "[9. 9.]" in done.stdout
    assert done.stderr.splitlines() == [
        "3 stages of the module; aside: 1 with kernels alone (9)",
        "stage 7 Wrong can't be read; it is skipped",
        f"stage 3 Square of {dumps}; --stage chooses another",
    ]


@pytest.mark.parametrize("stage", ["0", "input", "00", "-3"])
def test_stage_chooses_another(dumps: Path, stage: str) -> None:
    done = rxe_cli("run", str(dumps), "--input", "x=3", "--stage", stage)
    assert done.exit_code == 0, done.output
    assert "[-3. -3.]" in done.stdout
    assert "; --stage" not in done.stderr


def test_stage_also_chooses_one_after_passes(dumps: Path) -> None:
    options = ("-p", "LegalizeOps,ToNonDataflow", "--stage")
    path = str(dumps / "00_input.py")
    first, second = [
        rxe_cli("debug", path, *options, stage, stdin="step\n").stdout.splitlines()[1]
        for stage in ("input", "LegalizeOps")
    ]
    assert "R.negative(x)" in first
    assert "R.call_tir(" in second
    assert "no stage '3'" in rxe_cli("run", path, *options, "3").stderr


def test_debug_steps_through_a_stage(dumps: Path) -> None:
    answers = rxe_cli("debug", str(dumps), "--input", "x=3", stdin="step\nprint y\n")
    assert "9" in answers.stdout.split("print y")[1]
    first = rxe_cli("debug", str(dumps), "--stage", "input", "--input", "x=3", stdin="step\nprint y\n")
    assert "-3" in first.stdout.split("print y")[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--stage", "Fuse"), "no stage 'Fuse'; there are 0 input, 3 Square, 7 Wrong"),
        (("--stage", "Wrong"), "07_Wrong.py:1:5: error[RX0005]"),
        (("--stage", "9"), "'k' is a PrimFunc"),
        (("-p", "LegalizeOps"), "--passes goes on from one of them"),
    ],
)
@pytest.mark.parametrize("command", ["run", "debug"])
def test_stages_that_cannot_run_get_a_message(
    dumps: Path, command: str, options: tuple[str, ...], said: str
) -> None:
    done = rxe_cli(command, str(dumps), *options, stdin="")
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_folder_without_stages_gets_a_message(tmp_path: Path) -> None:
    for command in ("run", "debug", "check"):
        done = rxe_cli(command, str(tmp_path), stdin="")
        assert done.exit_code == 2
        assert "has no files such as 00_input.py" in done.output
    (tmp_path / "00_k.py").write_text(KERNEL)
    assert "'k' is a PrimFunc" in rxe_cli("run", str(tmp_path)).stderr


def test_check_names_the_stage_of_each_problem(dumps: Path) -> None:
    (dumps / "05_Unknown.py").write_text(PROGRAM.format(op="square").replace("(x)\n", "(z)\n"))
    done = rxe_cli("check", str(dumps), "--output-format", "json")
    assert done.exit_code == 1
    document = json.loads(done.stdout)
    errors = [item for item in document["problems"] if item["severity"] == "error"]
    assert [(item["stage"]["number"], item["stage"]["pass"]) for item in errors] == [
        (5, "Unknown"),
        (7, "Wrong"),
    ]
    assert document["files"] == 4
    text = rxe_cli("check", str(dumps))
    assert "05_Unknown.py:6:" in text.stdout
    assert text.stderr.splitlines()[1] == "stage 5 Unknown: 1 error"
    assert "stage 0" not in text.stderr
    assert text.stderr.splitlines()[-1].startswith("4 stages checked: 2 errors")


@pytest.mark.parametrize(
    "command",
    [
        ("show", "--format", "json"),
        ("graph", "--format", "dot"),
        ("find", "relax.square(_)"),
        ("shapes",),
    ],
    ids=lambda command: command[0],
)
def test_a_named_stage_is_read_alone(
    command: tuple[str, ...], dumps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    as_ever = StageText.parsed

    def noted(stage: StageText) -> IRModule:
        read.append(Path(stage.file).name)
        return as_ever(stage)

    monkeypatch.setattr(StageText, "parsed", noted)
    name, *options = command
    done = rxe_cli(name, str(dumps), *options, "--stage", "Square")
    assert done.exit_code == 0, done.output
    assert "square" in done.stdout or name == "shapes"
    assert set(read) == {"03_Square.py"}
    assert "error" not in done.stderr


def test_a_named_stage_says_its_own_errors(dumps: Path) -> None:
    (dumps / "03_Square.py").write_text(PROGRAM.format(op="square").replace("square(x)", "square(nothing)"))
    done = rxe_cli("show", str(dumps), "--stage", "3")
    assert "nothing" in done.stderr
    assert "07_Wrong.py" in rxe_cli("show", str(dumps), "--stage", "7").stderr
    assert "nothing" not in rxe_cli("show", str(dumps), "--stage", "0").stderr


def test_names_of_weights_come_from_an_earlier_stage(tmp_path: Path) -> None:
    """The file has them in another order than the tuple."""
    text = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32"), params: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))):
        a_weight: R.Tensor((2,), "float32") = params[0]
        b_weight: R.Tensor((2,), "float32") = params[1]
        y = R.add(x, a_weight)
        z = R.multiply(y, b_weight)
        return z
"""
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    (dumps / "00_input.py").write_text(text)
    (dumps / "01_Names.py").write_text(text.replace("a_weight", "lv").replace("b_weight", "lv1"))
    np.savez(tmp_path / "w.npz", b_weight=np.full(2, 10, "float32"), a_weight=np.ones(2, "float32"))
    done = rxe_cli(
        "run", str(dumps), "--stage", "1", "--input", "x=ones", "--input", f"*={tmp_path / 'w.npz'}"
    )
    assert "[20. 20.]" in done.stdout, done.output


# -- whose rules hold ------------------------------------------------------------------------------------------------

IN_A_BLOCK = """@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), cache: R.Object):
        with R.dataflow():
            y = R.call_dps_packed("vm.builtin.other", (cache, x), out_sinfo=R.Tensor((2,), "float32"))
            R.output(y)
        return y
"""
"""The specification forbids the call in a dataflow block, TVM makes it there for each cache of keys and values."""


def test_stages_that_tvm_made_are_judged_by_its_rules(tmp_path: Path) -> None:
    for name in ("00_input.py", "01_LegalizeOps.py"):
        (tmp_path / name).write_text(IN_A_BLOCK)
    both = rxe_cli("check", str(tmp_path))
    assert both.exit_code == 0
    assert "warning[RX0112]" in both.stdout
    assert rxe_cli("bisect", str(tmp_path), "--test", "well-formed").exit_code == 0
    by_specification = rxe_cli("check", str(tmp_path), "--profile", "spec")
    assert by_specification.exit_code == 1
    alone = rxe_cli("check", str(tmp_path / "00_input.py"))
    assert alone.exit_code == 1
    assert "error[RX0112]" in alone.stdout
    assert rxe_cli("bisect", str(tmp_path), "--test", "well-formed", "--profile", "spec").exit_code == 1  # fmt: skip


def test_what_tvm_would_not_read_again_is_no_fault_of_a_stage(tmp_path: Path) -> None:
    """TVM prints an argument of R.builtin.alloc_tensor that it refuses to read."""
    (tmp_path / "00_input.py").write_text(ONCE_MORE.format("R.add(x, x)"))
    allocated = 'R.builtin.alloc_tensor(R.shape([2]), R.dtype("float32"), R.prim_value(0), R.str("global"), ty_args=[R.Tensor((2,), "float32")])'
    (tmp_path / "01_CallTIRRewrite.py").write_text(ONCE_MORE.format(allocated))
    assert rxe_cli("check", str(tmp_path)).exit_code == 0
    assert rxe_cli("bisect", str(tmp_path), "--test", "well-formed").exit_code == 0


ONCE_MORE = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        R.func_attr({{"relax.force_pure": True}})
        y = {}
        return y
"""
