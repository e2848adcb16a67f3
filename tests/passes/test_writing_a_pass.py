"""The page `docs/writing-a-pass.md` works: its pass is tested, installed as a package, and used through the command line."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.wheels import install

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "writing-a-pass.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
PASS, TEST = [text for kind, text in BLOCKS if kind == "python"]
(PROJECT,) = [text for kind, text in BLOCKS if kind == "toml"]
(COMMANDS,) = [text for kind, text in BLOCKS if kind == "sh"]
MODEL = """
@R.function
def main(x: R.Tensor((2,), "float32")):
    y = R.multiply(x, x)
    return y
"""
OTHERS = '''
from relax_explorer.core.passes.contract import Pass, function_pass, module_pass

@function_pass("Raises")
def raises(fn, at):
    """Fail."""
    return 1 // 0

@module_pass("ReturnsNothing")
def returns_nothing(module, at):
    """Return nothing."""

@function_pass("LegalizeOps")
def taken(fn, at):
    """Have a name that is in use."""
    return fn

@function_pass("Silent")
def silent(fn, at):
    return fn

@function_pass("OddOption")
def odd_option(fn, at, *, n=1.5):
    """Have an option of another type."""
    return fn

several = [raises, returns_nothing]
'''
BROKEN = {
    "gone": "no_such_module:it",
    "lacks": "others:no_such_name",
    "stops": "stops:it",
    "number": "others:__name__",
    "taken": "others:taken",
    "silent": "others:silent",
    "odd": "others:odd_option",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages: that of the page, and one with broken entry points."""
    folder = tmp_path_factory.mktemp("packages")
    project = tomllib.loads(PROJECT)["project"]
    points = project["entry-points"]["relax_explorer.passes"]
    install(folder, project["name"], {"use_square.py": PASS}, points)
    stops = "raise SystemError('no')\n"
    entries = {**BROKEN, "several": "others:several"}
    install(folder, "others", {"others.py": OTHERS, "stops.py": stops}, entries)
    (folder / "model.py").write_text(MODEL)
    return folder


def run(site: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(map(str, (ROOT, site / "site")))
    return subprocess.run(
        [sys.executable, *words], cwd=site, env={**os.environ, "PYTHONPATH": paths, **variables},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def rxe(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(site, "-m", "relax_explorer", *words)


def test_the_test_of_the_page_passes(tmp_path: Path) -> None:
    (tmp_path / "use_square.py").write_text(PASS)
    done = run(tmp_path, "-c", TEST)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "use_square.py").write_text(PASS.replace('op_ref("relax.square")', 'op_ref("relax.exp")'))
    assert run(tmp_path, "-c", TEST).returncode == 1


def test_the_commands_of_the_page(site: Path) -> None:
    page, order, changed = [rxe(site, *shlex.split(line)[1:]) for line in COMMANDS.splitlines()]
    assert "Replace `multiply(x, x)` by `square(x)`." in page.stdout
    assert "functions: tuple[str, ...] = ()" in page.stdout
    assert "NO_SELF_PRODUCTS: no value is multiplied by itself" in page.stdout
    assert (order.returncode, order.stdout.splitlines()[-1]) == (0, "The order is complete.")
    assert changed.returncode == 0
    assert "R.square(x)" in changed.stdout


def test_the_pass_appears_everywhere(site: Path) -> None:
    listed = json.loads(rxe(site, "passes", "--format", "json").stdout)["passes"]
    assert [row["name"] for row in listed][-3:] == ["Raises", "ReturnsNothing", "UseSquare"]
    assert "UseSquare" in rxe(site, "passes", "--changing", "model.py").stdout
    phases = rxe(site, "phases", "--format", "markdown").stdout
    assert "| NO_SELF_PRODUCTS | no value is multiplied by itself | UseSquare |" in phases
    words = {
        "_RELAX_EXPLORER_COMPLETE": "bash_complete",
        "COMP_WORDS": "rxe opt m.py -p Use",
        "COMP_CWORD": "4",
    }
    assert "UseSquare" in run(site, "-m", "relax_explorer", **words).stdout


def test_the_pipeline_editor_offers_it(site: Path) -> None:
    names = "[name for name in Choices().names() if ':' not in name]"  # passes of TVM stand behind ours
    code = f"from relax_explorer.ui.tui.pass_trials import *; print({names}[-1], step_completions('UseS'))"
    assert run(site, "-c", code).stdout == "UseSquare ['UseSquare']\n"


def test_broken_entry_points_are_told_and_stop_nothing(site: Path) -> None:
    done = rxe(site, "passes")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    told = re.findall(r"RX0411\].*?entry point '(\w+)' of others", done.stderr)
    assert sorted(told) == sorted(BROKEN)
    assert "relax_explorer.core.passes.legalize_ops" not in done.stderr
    unknown = rxe(site, "opt", "model.py", "-p", "Gone")
    assert unknown.returncode == 2
    assert "RX0401" in unknown.stderr
    assert "'gone' of others" in unknown.stderr
    assert "R.call_tir" in rxe(site, "opt", "model.py", "-p", "LegalizeOps").stdout


@pytest.mark.parametrize("name", ["Raises", "ReturnsNothing"])
def test_a_pass_that_fails_is_a_diagnostic(site: Path, name: str) -> None:
    done = rxe(site, "opt", "model.py", "-p", name)
    assert done.returncode not in (0, 70)
    assert f"RX0412]: {name} failed" in done.stderr
    assert "Traceback" not in done.stderr
    assert "UseSquare" in rxe(site, "passes", "--changing", "model.py").stdout


def test_packages_are_not_asked_for_our_own_passes(site: Path) -> None:
    code = (
        "import sys, relax_explorer as rxe; m = rxe.parse(open('model.py').read());"
        "rxe.run_pipeline(m, 'default'); print('importlib.metadata' in sys.modules, 'use_square' in sys.modules)"
    )
    assert run(site, "-c", code).stdout.split()[1] == "False"
