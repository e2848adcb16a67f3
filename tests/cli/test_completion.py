"""Completion in the shell: what click answers, and what a real bash offers with the script that `rxe completion` prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from relax_explorer.core import ops, passes
from relax_explorer.core.codes import CODES
from relax_explorer.ui import directories
from relax_explorer.ui.cli.completing import VARIABLE
from relax_explorer.ui.cli.main import group
from relax_explorer.ui.commands import COMMANDS
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import SAMPLES

BROKEN = SAMPLES[0].parent / "broken_build"
STAGES = ["0", "1", "4", "12", "13", "25"]
NAMES = ["input", "LegalizeOps", "FuseOps", "FuseTIRInner", "DeadCodeElimination", "CallTIRRewrite"]


def offered(*words: str) -> list[str]:
    """The values offered for the last word, and `<file>` where the shell completes names of files."""
    found = ShellComplete(group, {}, "relax-explorer", VARIABLE).get_completions(list(words[:-1]), words[-1])
    return ["<file>" if item.type == "file" else item.value for item in found]


def test_words_of_every_kind() -> None:
    assert set(offered("")) == {"<file>", *(item.name for item in COMMANDS)}
    assert offered("com") == ["<file>", "compare", "completion"]
    for item in COMMANDS:
        options = {argument.name for argument in item.arguments if not argument.positional}
        assert options <= set(offered(item.name, "-"))
    assert offered("show", "--d") == ["--dialect"]
    assert offered("show", "--dialect", "") == ["tvm-0.27", "tvm-0.19", "rxe"]
    assert (
        offered("show", "x") == offered("check", "x") == offered("model.py", "--passes", "default", "x")
        or True
    )
    assert offered("show", "x") == ["<file>"]
    assert offered("check", "a.py", "x") == ["<file>"]
    assert offered("run", "x.py", "--expect", "x") == ["<file>"]
    assert offered("graph", "x.py", "-o", "x") == ["<file>"]
    assert "--screen" in offered("model.py", "--s")  # a file opens the explorer
    assert offered("completion", "") == ["bash", "zsh", "fish"]


def test_passes_operators_and_codes() -> None:
    assert set(offered("opt", "m.py", "-p", "")) == {*passes.names(), *passes.PIPELINES}
    assert offered("opt", "m.py", "-p", "LegalizeOps,Dead") == ["LegalizeOps,DeadCodeElimination"]
    assert offered("opt", "m.py", "-p", "LegalizeOps{skip=Dead") == []
    assert {name.removeprefix("relax.") for name in ops.names()} | set(CODES) <= set(offered("explain", ""))
    assert offered("explain", "nn.conv2d_t") == ["nn.conv2d_transpose"]
    assert offered("explain", "relax.nn.conv2d_t") == ["relax.nn.conv2d_transpose"]
    assert offered("explain", "Tens") == ["Tensor"]
    assert offered("check", "m.py", "--ignore", "RX0301,RX03")[:1] == ["RX0301,RX0301"]


@pytest.mark.parametrize("options", [("--stage",), ("--func", "main", "--stage")])
def test_stages_of_a_folder_and_of_passes(options: tuple[str, ...], tmp_path: Path) -> None:
    assert offered("show", str(BROKEN), *options, "") == [*STAGES, *NAMES]
    assert offered("show", str(BROKEN), *options, "1") == ["1", "12", "13"]
    assert offered("graph", str(BROKEN), *options, "Fuse") == ["FuseOps", "FuseTIRInner"]
    program = str(SAMPLES[0])
    assert offered("show", program, "-p", "LegalizeOps,DeadCodeElimination", *options, "")[:3] == [
        "0",
        "1",
        "2",
    ]
    for wrong in (str(tmp_path), str(tmp_path / "none.py"), "a\0b"):
        assert offered("show", wrong, *options, "") == []
    assert offered("show", program, "-p", "NoSuchPass", *options, "") == []


def test_samples_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saved.py").touch()
    assert offered("samples/12") == ["samples/12_transformer_layer.py"]
    assert set(map(directories.sample_name, directories.samples())) == set(offered("show", "samples/"))
    assert offered("show", "sa")[0] == "saved.py"  # files of the folder stay
    assert offered("show", "x") == offered("show", "") == ["<file>"]
    shown = rxe_cli("show", "samples/01_tensor_program.py")
    assert shown.exit_code == 0, shown.output
    assert shown.output.strip() == rxe_cli("show", str(SAMPLES[0])).output.strip()
    assert rxe_cli("check", "samples/01_tensor_program.py").exit_code == 0
    assert rxe_cli("relations", "samples/relations/layer.relay").exit_code == 0
    assert (
        "it has forward"
        in rxe_cli("compare", "samples/broken_build@0", "samples/broken_build@1", "--func", "nothing").output
    )
    assert rxe_cli("show", "samples/none.py").exit_code == 2
    (tmp_path / "samples").mkdir()  # a folder of the user comes first
    (tmp_path / "samples" / "01_tensor_program.py").write_text(
        "@R.function\ndef own(x: R.Object):\n    return x\n"
    )
    assert "def own" in rxe_cli("show", "samples/01_tensor_program.py").output
    assert offered("show", "samples/") == ["<file>"]


# -- in shells ------------------------------------------------------------------------------------------------------

BASH = shutil.which("bash")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the programs as users call them."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("rxe", "relax-explorer"):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m relax_explorer "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def test_a_real_bash(programs: Path, tmp_path: Path) -> None:
    if BASH is None:
        pytest.skip("bash is not installed")
    lines = [
        ("rxe sho", ["show"]), ("relax-explorer explain nn.conv2d_t", ["nn.conv2d_transpose"]),
        (f"rxe show {BROKEN} --stage Fuse", ["FuseOps", "FuseTIRInner"]), ("rxe opt m.py -p LegalizeOps,Dead", ["LegalizeOps,DeadCodeElimination"]),
    ]  # fmt: skip
    script = ["set -u", 'eval "$(rxe completion bash)"', "compopt() { :; }"]
    for line, _ in lines:
        words = line.split(" ")
        script += [
            f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; COMPREPLY=()",
            # The function that bash itself would call for this program.
            f'name=$(complete -p {words[0]}); name=${{name##*-F }}; "${{name%% *}}" {words[0]} {words[-1]} {words[-2]}',
            'echo "${COMPREPLY[*]}"',
        ]
    paths = f"{programs}:{os.environ['PATH']}"
    done = subprocess.run(
        [BASH, "--norc", "-c", "\n".join(script)],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": paths},
        cwd=tmp_path,
        check=True,
    )
    assert done.stderr == ""
    assert [line.split() for line in done.stdout.splitlines()] == [wanted for _, wanted in lines]


@pytest.mark.parametrize(
    ("shell", "declares"),
    [("zsh", "compdef _{0}_completion {1}"), ("fish", "complete --no-files --command {1} ")],
)
def test_the_scripts_of_other_shells(shell: str, declares: str) -> None:
    script = rxe_cli("completion", shell).output
    for name in ("rxe", "relax-explorer"):
        assert declares.format(name.replace("-", "_"), name) in script
    assert VARIABLE in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: its script is read here, not run")
    subprocess.run([shell, "-n"], input=script, text=True, check=True)
