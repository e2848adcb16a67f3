"""Three right builds, as TVM itself writes them: no command blames a pass, and faults that are put into the raw files are found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.stages import Kind
from tests.cli.test_commands import rxe_cli
from tests.support.oracle import ROOT, Oracle

MODELS = ("expression", "cnn", "decoder")
ASIDE = [(Kind.HELPER, "14"), (Kind.MANAGER, "18–19"), (Kind.KERNELS, "20–78")]


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three builds, made once for all processes of the tests."""
    if not Oracle.is_installed():
        pytest.skip("TVM is not installed")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "builds"
    try:
        folder.mkdir()
    except FileExistsError:
        end = time.monotonic() + 250
        while not (folder / "done").exists():  # another process makes them
            assert time.monotonic() < end
            time.sleep(0.2)
        return folder
    command = [sys.executable, "-m", "tests.builds.make", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=240, capture_output=True)
    (folder / "done").touch()
    return folder


def inputs(model: str, folder: Path) -> tuple[str, ...]:
    """The options for the inputs and the answers that TVM computed."""
    if model == "decoder":
        return ("--calls", str(folder / "calls.txt"), "--ref", str(folder / "io.npz"))
    return ("--input", str(folder / "io.npz"), "--ref", str(folder / "io.npz"))


@pytest.mark.parametrize("form", ["dumpir", "print_after_all.log"])
@pytest.mark.parametrize("model", MODELS)
def test_the_lineages_of_a_raw_build(builds: Path, model: str, form: str) -> None:
    build = open_build(builds / model / form)
    assert [stage.number for stage in build.stages] == [*range(14), 15, 16, 17]
    assert [(item.kind, item.numbers) for item in build.asides] == ASIDE
    assert (build.asides[0].of, len(build.every)) == ("ComputePrimValue", 79)
    assert build.stages[4].made_by == "LegalizeOps"


@pytest.mark.parametrize("form", ["dumpir", "print_after_all.log"])
@pytest.mark.parametrize("model", MODELS)
def test_no_pass_of_a_right_build_is_blamed(builds: Path, model: str, form: str) -> None:
    path, folder = str(builds / model / form), builds / model
    found = rxe_cli("bisect", path, *inputs(model, folder), "--format", "json")
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert [item["number"] for item in document["attempts"]] == [*range(14), 15, 16, 17]
    checked = rxe_cli("check", path)
    assert (checked.exit_code, "17 stages checked" in checked.stderr) == (0, True)
    if form == "dumpir":
        given = inputs(model, folder)[:2] if model == "decoder" else ()
        assert rxe_cli("validate", path, *given).exit_code == 0


FORMS = ("dumpir", "print_after_all.log", "shown.ansi", "build.py", "module.json")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", MODELS)
def test_every_form_opens(builds: Path, model: str, form: str, tmp_path: Path) -> None:
    folder = builds / model
    path = str(folder / form)
    entry = {"expression": "main", "cnn": "forward", "decoder": "decode"}[model]
    assert f"def {entry}(" in rxe_cli("show", path, *["--stage", "0"] * (form in FORMS[:2])).stdout
    variable = {"expression": "gv", "cnn": "conv2d", "decoder": "lv16"}[model]
    history = rxe_cli("who", path, variable, "--func", entry)
    assert (history.exit_code, variable in history.stdout) == (0, True), history.output
    assert rxe_cli("diff", path, "--style", "stat").exit_code == 0
    given = (
        ("--calls", str(folder / "calls.txt")) if model == "decoder" else ("--input", str(folder / "io.npz"))
    )
    expected = ("--expect", str(folder / "io.npz"))
    run = rxe_cli("run", path, *given, *expected, "--rtol", "1e-4", "--atol", "1e-4")
    assert run.exit_code == 0, run.output
    if form in ("dumpir", "build.py"):
        page = tmp_path / "report.html"
        assert rxe_cli("report", path, "-o", str(page), "--no-run").exit_code == 0
        assert entry in page.read_text()


def test_stages_beside_the_module_can_be_asked_for(builds: Path) -> None:
    path = str(builds / "cnn" / "dumpir")
    assert "class Module:\n    pass" in rxe_cli("show", f"{path}@14").stdout
    assert "__tvm_ffi_relu" in rxe_cli("show", path, "--stage", "78", "--func", "relu").stdout
    tail = rxe_cli("diff", path, "--between", "36..37", "--style", "stat")
    assert (tail.exit_code, "LowerOpaqueBlock" in tail.stdout) == (0, True)
    kernel = json.loads(rxe_cli("who", path, "@conv2d", "--format", "json").stdout)["kernel"]
    changes = {row["stage"]: row["change"] for row in kernel}
    assert (changes[3], changes[4], changes[16], changes[20], changes[37]) == (
        "none",
        "made",
        "unchanged",
        "changed",
        "changed",
    )
    assert set(changes) == {*range(79)} - {14, 18, 19, 75}
    assert open_build(f"{path}@20..78").stages[0].made_by == "tirx.BindTarget"


def planted(folder: Path, to: Path, first: int, old: str, new: str) -> Path:
    """A copy of a folder in which a stage and all later ones of the module have a fault."""
    shutil.copytree(folder, to)
    count = 0
    for path in sorted(to.iterdir()):
        text = path.read_text()
        if first <= int(path.name[:3]) <= 19 and old in text:
            path.write_text(text.replace(old, new, 1))
            count += 1
    assert count > 1
    return to


ADD = "T_add[v_ax0, v_ax1, v_ax2, v_ax3] = lv[v_ax0, v_ax1, v_ax2, v_ax3] + lv1[T.int64(0), v_ax1, T.int64(0), T.int64(0)]"
FAULTS: dict[str, tuple[str, int, str, str, str, Callable[[str], bool]]] = {
    "an axis in a kernel": (
        "cnn", 8, ADD, ADD.replace("T.int64(0), v_ax1,", "T.int64(0), v_ax2,"), "CallTIRRewrite", lambda text: "add" in text,
    ),
    "swapped operands": (
        "cnn", 11, "norm_weight, norm_bias, alloc", "norm_bias, norm_weight, alloc", "LowerAllocTensor",
        lambda text: "norm_bias, norm_weight" in text,
    ),
    "a constant": ("cnn", 5, "/ T.float32(16.0)", "/ T.float32(15.0)", "RewriteDataflowReshape", lambda text: "divide" in text),
    "the cache": (
        "decoder", 6, '"vm.builtin.attention_kv_cache_append", layers_0_attention_v_cache2, squeeze5',
        '"vm.builtin.attention_kv_cache_append", layers_0_attention_v_cache2, squeeze4', "ToNonDataflow",
        lambda text: "layers_0_attention_v_cache2, squeeze4" in text,
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_raw_files_is_found_by_one_command(builds: Path, tmp_path: Path, fault: str) -> None:
    model, first, old, new, made_by, is_named = FAULTS[fault]
    folder = planted(builds / model / "dumpir", tmp_path / "dumpir", first, old, new)
    found = rxe_cli("bisect", str(folder), *inputs(model, builds / model), "--format", "json")
    assert found.exit_code == 1, found.output
    document: dict[str, Any] = json.loads(found.stdout)
    bad = document["first_bad"]
    assert (bad["number"], bad["made_by"]) == (first, made_by)
    assert is_named(json.dumps(document))


def test_a_stage_that_was_cut_in_half_is_skipped_and_named(builds: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dumpir"
    shutil.copytree(builds / "cnn" / "dumpir", folder)
    for name in ("008_CallTIRRewrite.py", "017_AttachGlobalSymbol.py"):
        half = (folder / name).read_text()
        (folder / name).write_text(half[: len(half) // 2])
    (folder / "011_LowerAllocTensor.py").write_bytes(b"\xff\xfe\x00")
    skipped = [(8, "CallTIRRewrite"), (11, "LowerAllocTensor"), (17, "AttachGlobalSymbol")]
    build = open_build(folder)
    assert [(item.kind, item.numbers) for item in build.asides] == [ASIDE[0], (Kind.MANAGER, "19"), ASIDE[2]]
    for command in ("bisect", "validate"):
        done = rxe_cli(command, str(folder))
        assert done.exit_code == 3, done.output
        said = [line for line in done.stderr.splitlines() if line.startswith("skipped: ")]
        assert [
            f"stage {number} {name} " in line for line, (number, name) in zip(said, skipped, strict=True)
        ] == [True] * 3
    assert rxe_cli("who", str(folder), "conv2d").exit_code == 0
    run = rxe_cli("run", str(folder))
    assert (run.exit_code, "stage 18 sequential" in run.stderr) == (0, True)


@pytest.mark.parametrize("model", MODELS)
def test_each_binding_of_the_last_stage_has_its_instructions(builds: Path, model: str) -> None:
    found = rxe_cli("diff", str(builds / model / "dumpir"), "--between", "17..executable", "--style", "json")
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    without = [item["binding"] for item in document["bindings"] if not item["instructions"]]
    assert [text for text in without if "R.null_value()" not in text] == []
    assert [item["instruction"] for item in document["alone"]] == []


@pytest.mark.parametrize("form", ["dumpir", "print_after_all.log"])
@pytest.mark.parametrize("model", MODELS)
def test_the_explorer_shows_a_raw_build(builds: Path, model: str, form: str, tmp_path: Path) -> None:
    keys = tmp_path / "session.keys"
    keys.write_text("key 1\n")
    options = ("--size", "120x30")
    shown = rxe_cli("play", str(keys), str(builds / model / form), *options).stdout
    assert "of 16 changed · 62 aside" in shown
    assert all(text in shown for text in ("4 LegalizeOps", "14 a helper module", "20–78 kernels alone (59)"))
    keys.write_text("key 2 s\n")
    debug = rxe_cli(
        "play", str(keys), str(builds / model / form), *inputs(model, builds / model)[:2], *options
    )
    assert (debug.exit_code, "step 1 of" in debug.stdout) == (0, True), debug.output
    assert ("call 1 of 5  _initialize_effect()" in debug.stdout) == (model == "decoder")
