"""The command line as a user types it: data on stdout, messages on stderr, and the exit status."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import relax_explorer as rxe
from relax_explorer.ui.cli.main import group
from relax_explorer.ui.cli.output import CANNOT, OK
from relax_explorer.ui.commands import COMMANDS
from relax_explorer.ui.run_commands import Handler
from tests.support.roundtrip import DATA, SAMPLES

MLP = str(DATA / "mlp" / "00_input.py")
LLAMA = str(DATA / "llama" / "00_input.py")
KV_CACHE = str(DATA.parent / "kv_cache" / "cpu.py")


def rxe_cli(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(group, list(arguments), input=stdin)


def test_every_command_has_a_handler_and_help() -> None:
    for item in COMMANDS:
        assert isinstance(item.run, Handler)
        assert callable(item.run.found())
        shown = rxe_cli(item.name, "--help")
        assert shown.exit_code == 0
        assert item.doc in " ".join(shown.output.split())


def test_a_bare_file_is_shown_when_there_is_no_terminal() -> None:
    assert rxe_cli(MLP).output.strip() == Path(MLP).read_text().strip()


def test_opt_reads_standard_input_and_prints_a_module() -> None:
    done = rxe_cli(
        "opt", "-", "-p", "CanonicalizeBindings,DeadCodeElimination,LegalizeOps", stdin=Path(MLP).read_text()
    )
    assert done.exit_code == 0, done.output
    assert "T.prim_func" in done.stdout
    assert rxe.parse(done.stdout)


@pytest.mark.parametrize("model", ["mlp", "llama", "diffusion", "bert_layer", "resnet_block"])
def test_run_reproduces_the_outputs(model: str) -> None:
    folder = DATA / model
    entry = json.loads((folder / "stages.json").read_text())["entry"]
    io = str(folder / "io.npz")
    done = rxe_cli("run", str(folder / "00_input.py"), "--func", entry, "--input", io, "--expect", io)
    assert done.exit_code == 0, done.output
    assert "out0: equal" in done.stderr


def test_run_with_shapes_and_as_json() -> None:
    done = rxe_cli("run", str(SAMPLES[1]), "--shape", "n=2", "--input", "x=arange", "--format", "json")
    found = json.loads(done.stdout)
    assert found["schema"] == "rxe.run/1"
    assert found["results"][0]["shape"] == [16]
    assert found["results"][0]["value"][:8] == list(range(8))


def test_run_stops_at_a_breakpoint_and_writes_a_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    done = rxe_cli("run", MLP, "--break", "add", "--trace", str(trace))
    assert "stopped after step 3" in done.stdout
    assert "n = 3" in done.stdout
    rows = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [row["var"] for row in rows] == ["permute_dims", "matmul", "add"]


def test_a_wrong_expectation_is_a_finding(tmp_path: Path) -> None:
    import numpy as np

    wrong = tmp_path / "wrong.npz"
    np.savez(wrong, out0=np.zeros((3, 8), np.float32))
    done = rxe_cli("run", MLP, "--input", str(DATA / "mlp" / "io.npz"), "--expect", str(wrong))
    assert done.exit_code == 1
    assert "DIFFERS" in done.stderr


def test_check_in_its_formats(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(
        '@R.function\ndef f(x: R.Tensor((2,), "float32"), y: R.Tensor((3,), "float32")):\n    return R.add(x, y)\n'
    )
    assert rxe_cli("check", MLP).exit_code == 0
    done = rxe_cli("check", str(bad))
    assert done.exit_code == 1
    assert "RX0204" in done.stdout
    assert "^^^" in done.stdout
    found = json.loads(rxe_cli("check", str(bad), "--output-format", "json").stdout)
    assert found["problems"][0]["code"] == "RX0204"
    assert rxe_cli("check", str(bad), "--output-format", "github").stdout.startswith("::error file=")
    assert rxe_cli("check", str(bad), "--ignore", "RX02").exit_code == 0


def test_check_compares_dimensions_by_arithmetic_or_as_they_are_written(tmp_path: Path) -> None:
    program = tmp_path / "sum.py"
    program.write_text(
        '@R.function\ndef f(x: R.Tensor(("n", "m"), "float32")):\n    n = T.int64()\n    m = T.int64()\n'
        '    y: R.Tensor((m + n,), "float32") = R.zeros(R.shape([n + m]), "float32")\n    return y\n'
    )
    assert "RX0110" not in rxe_cli("check", str(program)).stdout
    assert "RX0110" in rxe_cli("check", str(program), "--prover", "alpha").stdout
    assert rxe_cli("check", str(program), "--prover", "omega").exit_code == 2


def test_run_is_silent_about_functions_that_do_not_run() -> None:
    """Language models of TVM call functions of their cache in dataflow blocks; embedding needs none of them."""
    done = rxe_cli(
        "run", KV_CACHE, "--func", "embed", "--shape", "vocab=10", "--shape", "s=3", "--input", "ids=arange"
    )
    assert done.exit_code == OK, done.stderr
    assert "RX0112" not in done.stderr
    assert "RX0112" in rxe_cli("check", KV_CACHE).stdout
    assert done.stdout.startswith("out0: (3, 64) f16")


def test_run_names_a_packed_function_that_is_not_registered(tmp_path: Path) -> None:
    """A separate process has only the packed functions of the virtual machine, none registered by tests."""
    sample = next(path for path in SAMPLES if path.stem == "09_packed_and_purity")
    program = tmp_path / "packed.py"
    program.write_text(sample.read_text(encoding="utf-8").replace("vm.builtin.copy", "test.f"))

    def run(path: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "relax_explorer", "run", str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = run(program)
    assert done.returncode == CANNOT
    assert "RX0505" in done.stderr
    assert "'test.f'" in done.stderr
    assert '@rxe.packed_function("test.f")' in done.stderr
    assert run(sample).returncode == OK


def test_run_refuses_lengths_that_overflow(tmp_path: Path) -> None:
    program = tmp_path / "cube.py"
    program.write_text('@R.function\ndef main(x: R.Tensor(("n", "n * n * n"), "float32")):\n    return x\n')
    done = rxe_cli("run", str(program), "--input", "x=zeros", "--shape", "n=4194304")
    assert done.exit_code != 0
    assert "n * n * n overflows int64 where n = 4194304" in done.stderr


def test_diff_of_stages_and_of_files() -> None:
    done = rxe_cli("diff", MLP, "-p", "LegalizeOps", "--exit-code")
    assert done.exit_code == 1
    assert "R.call_tir(cls.matmul" in done.stdout
    assert rxe_cli("diff", MLP, MLP, "--exit-code").exit_code == 0
    found = json.loads(rxe_cli("diff", MLP, "-p", "LegalizeOps", "--style", "json").stdout)
    assert found["stat"]["changed"] == 6


def test_graph_as_svg_dot_and_text(tmp_path: Path) -> None:
    svg = tmp_path / "llama.svg"
    done = rxe_cli("graph", LLAMA, "-o", str(svg))
    assert done.exit_code == 0, done.output
    text = svg.read_text()
    assert text.count("matmul") >= 12
    assert "(b, 4, s, s) f32" in text
    assert rxe_cli("graph", MLP, "--format", "dot").stdout.startswith(("digraph", "strict digraph", "//"))
    assert "gelu" in rxe_cli("graph", MLP).stdout


def test_who_passes_ops_and_explain() -> None:
    assert "LegalizeOps" in rxe_cli("who", MLP, "gelu", "-p", "LegalizeOps").stdout
    road = rxe_cli("who", MLP, "gelu", "-p", "zero,ToNonDataflow").stdout.splitlines()
    assert [line[:5].strip() for line in road] == ["0", "1", "2-3", "4", "5", "6"]
    assert road[2] == "  2-3 = unchanged by AnnotateTIROpPattern, FoldConstant"
    assert (
        len(json.loads(rxe_cli("who", MLP, "gelu", "-p", "zero", "--format", "json").stdout)["history"]) == 6
    )
    stages = rxe_cli("who", str(DATA / "llama"), "lv").stdout.splitlines()
    assert stages[-2:] == [
        "≈ likely the same value; no pass recorded it",
        "? perhaps the same value; no pass recorded it",
    ]
    assert "DeadCodeElimination" in rxe_cli("passes").stdout
    assert "EliminateCommonSubexpr" not in rxe_cli("passes", "--changing", MLP).stdout
    assert rxe_cli("passes", "FuseOps").stdout == rxe_cli("explain", "FuseOps").stdout
    row = json.loads(rxe_cli("passes", "FuseOps", "--format", "json").stdout)["passes"]
    assert [pass_["name"] for pass_ in row] == ["FuseOps"]
    assert "did you mean FuseOps" in rxe_cli("passes", "FuseOp").stderr
    for option in (("--missing",), ("--changing", MLP), ("--explain", "LegalizeOps")):
        assert "not both" in rxe_cli("passes", "FuseOps", *option).stderr
    assert len(json.loads(rxe_cli("ops", "--format", "json").stdout)["operators"]) == len(rxe.ops.names())
    assert "inner" in rxe_cli("explain", "RX0203").stdout
    assert "Matrix product" in rxe_cli("explain", "matmul").stdout
    assert "Requires" in rxe_cli("explain", "LegalizeOps").stdout
    assert "did you mean" in rxe_cli("explain", "matmull").stderr


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(("opt", MLP, "-p", "NoSuchPass"), 2), (("show", MLP, "--func", "no"), 2), (("run", MLP, "--input", "no=zeros"), 2),
     (("run", MLP, "--shape", "k=1"), 2), (("frobnicate.py",), 2), (("graph", MLP, "--around", "no"), 2)],
)  # fmt: skip
def test_wrong_usage_ends_with_2_and_a_sentence(arguments: tuple[str, ...], status: int) -> None:
    done = rxe_cli(*arguments)
    assert done.exit_code == status, done.output
    assert done.stderr.strip()
    assert "Traceback" not in done.output


def test_the_page_of_an_operator_is_about_all_of_it() -> None:
    page = rxe_cli("explain", "relax.nn.conv2d").stdout
    assert page.startswith("R.nn.conv2d(data, weight, strides=[1, 1]")
    for part in (
        "Operands:",
        "Attributes:",
        "Result:",
        "Examples:",
        "A call may be refused with:",
        "RX0207  wrong rank",
    ):
        assert part in page
    assert re.search(r"strides +integer or list of integers +elements, default \[1, 1\]", page)
    assert re.search(r"data +tensor ", page)
    for fact in (
        "runs: evaluated with numpy",
        "a PrimFunc called conv2d",
        "fusion, complex",
        "pure",
        "Dumoulin and Visin",
    ):
        assert fact in page
    assert "core/ops/nn/conv.py:" in page
    assert not re.search(r"\b(Ints|Prims|REQUIRED|None \|)\b", page)


def test_the_page_of_an_operator_that_does_not_run_says_why() -> None:
    page = rxe_cli("explain", "ccl.allgather").stdout
    assert "does not run here: it needs several workers" in page
    assert "is not lowered: " in page
    assert "has side effects" in rxe_cli("explain", "R.print").stdout
    assert "may be left out" in rxe_cli("explain", "memory.view").stdout


def test_operators_are_listed_with_their_parts() -> None:
    found = {
        item["name"]: item for item in json.loads(rxe_cli("ops", "--format", "json").stdout)["operators"]
    }
    conv = found["relax.nn.conv2d"]
    strides = next(item for item in conv["attributes"] if item["name"] == "strides")
    assert (strides["unit"], strides["default"], strides["required"]) == ("elements", "[1, 1]", False)
    assert conv["legalization"]["kernel"] == "conv2d"
    assert conv["evaluation"] == {"runs": True, "by": "numpy", "reason": ""}
    assert conv["source"] == "Dumoulin and Visin 2016"
    assert found["relax.ccl.allreduce"]["evaluation"]["reason"]
    assert found["relax.print"]["pure"] is False
    table = rxe_cli("ops")
    lines = table.stdout.splitlines()
    assert len(lines) == len(found) + 1
    assert re.search(r"nn\.conv2d +numpy +conv2d +complex +Cross-correlation", table.stdout)
    assert re.search(r"ccl\.allreduce +no +no ", table.stdout)
    assert f"{len(found)} operators" in table.stderr


LOOSE = """
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = R.exp(x)
        R.output(y)
    return y
"""


def test_opt_records_passes_and_only_warns_about_phases(tmp_path: Path) -> None:
    path = tmp_path / "loose.py"
    path.write_text(LOOSE)
    recorded = rxe_cli("opt", str(path), "-p", "ToNonDataflow,FoldConstant", "--record")
    assert '"rx.passes": ["ToNonDataflow", "FoldConstant"]' in recorded.output
    assert '"rx.phase": "high"' in recorded.output
    reached = rxe_cli("opt", str(path), "-p", "LegalizeOps,ToNonDataflow", "--record")
    assert '"rx.phase": "non-dataflow"' in reached.output
    refused = rxe_cli("opt", str(path), "-p", "VMShapeLower")
    assert refused.exit_code != 0
    assert "run ToNonDataflow before it" in refused.output + refused.stderr
    warned = rxe_cli("opt", str(path), "-p", "VMShapeLower", "--phase-check", "warn")
    assert warned.exit_code == 0
    assert "it runs anyway" in warned.output + warned.stderr
    assert "check_tensor_info" in warned.output


def test_explain_names_the_passes_that_run_before() -> None:
    page = rxe_cli("explain", "LowerRuntimeBuiltin").output
    assert "  DecomposeOpsForInference or DecomposeOpsForTraining\n" in page


def test_an_edited_file_replaces_the_program(tmp_path: Path) -> None:
    path, edited = tmp_path / "loose.py", tmp_path / "edited.py"
    path.write_text(LOOSE)
    edited.write_text(LOOSE.replace("R.exp", "R.sin"))
    done = rxe_cli(
        "opt", str(path), "-p", f"ToNonDataflow,ReplaceModule{{text={str(edited)!r}}},FoldConstant"
    )
    assert done.exit_code == 0
    assert "R.sin" in done.output
    gone = rxe_cli("opt", str(path), "-p", "ReplaceModule{text=gone.py}")
    assert gone.exit_code == 2
    assert "gone.py" in gone.output + gone.stderr


def test_show_prints_the_instructions_of_an_executable() -> None:
    path = str(DATA.parent / "executables" / "branch.txt")
    shown = rxe_cli("show", path, "--func", "other")
    assert shown.exit_code == OK
    assert shown.stdout == "other  (instructions: 2, registers: 2)\n  0  %1 = main(c[6], %0)\n  1  ret %0\n"
    (function,) = json.loads(rxe_cli("show", path, "--func", "other", "--format", "json").stdout)["functions"]
    assert function["instructions"][0]["callee"] == "main"
    assert rxe_cli("show", path, "--func", "none").exit_code == 2
    assert rxe_cli("check", path).exit_code == 1
    told = rxe_cli("show", path, "-p", "LegalizeOps", "--func", "other")  # as the settings may say
    assert (told.stdout, "passes" in told.stderr) == (shown.stdout, True)


@pytest.mark.parametrize("more", [0, 1 << 20])
def test_an_executable_as_python_is_shown_in_any_length(more: int, tmp_path: Path) -> None:
    text = (DATA.parent / "executables" / "branch.py.txt").read_text()
    (tmp_path / "executable.py").write_text(text + "\n" * more)
    assert "1  ret %0" in rxe_cli("show", str(tmp_path / "executable.py"), "--func", "other").stdout


def test_tvms_json_is_a_program() -> None:
    path = str(DATA.parent / "tvm_json" / "expression.json")
    assert rxe_cli("check", path).exit_code == OK
    assert "R.exp(x)" in rxe_cli(path).output
    assert "T.exp(x[" in rxe_cli("opt", path, "-p", "LegalizeOps").output
    assert "R.exp(x)" in rxe_cli("show", "-", stdin=Path(path).read_text()).output


@pytest.mark.parametrize(
    "command",
    [item for item in COMMANDS if any(a.kind == "form" for a in item.arguments)],
    ids=lambda item: item.name,
)
def test_the_renderer_alone_decides_the_format(command: Any) -> None:
    """A handler gives a result for all formats: it takes none."""
    taken = inspect.signature(command.run.found()).parameters
    assert not [a.key for a in command.arguments if a.kind == "form" and a.key in taken]


def test_show_tells_what_the_pass_of_a_stage_did() -> None:
    line = ("show", str(SAMPLES[11]), "-p", "zero,default_build", "--stage", "1")
    told = "21 operators became calls of 17 new kernels, matmul of 6."
    shown = rxe_cli(*line)
    assert shown.stderr == f"1 LegalizeOps: {told}\n"
    assert told not in shown.stdout  # which is the program
    found = json.loads(rxe_cli(*line, "--format", "json").stdout)
    assert found["stage"] == {"number": 1, "pass": "LegalizeOps", "sentence": told}
    plain = rxe_cli("show", str(SAMPLES[11]), "--format", "json")
    assert "stage" not in json.loads(plain.stdout)
    assert plain.stderr == ""


@pytest.mark.parametrize("stage", ["0", "FuseOps"])
def test_a_stage_without_one_before_has_no_sentence(stage: str) -> None:
    """The first one has none; of a build a named stage is read alone."""
    build = str(SAMPLES[0].parent / "broken_build")
    found = json.loads(rxe_cli("show", build, "--stage", stage, "--format", "json").stdout)
    assert found["stage"]["sentence"] is None
    assert rxe_cli("show", build, "--stage", stage).stderr == ""
