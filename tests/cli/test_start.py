"""The command line loads only the modules that the command needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
from relax_explorer.ui.cli import main
sys.argv[0] = "relax-explorer"
try:
    main.main()
except SystemExit as end:
    assert not end.code, end.code
print(*sys.modules, file=sys.stderr)
"""
SAMPLE = str(Path(__file__).resolve().parents[2] / "samples" / "01_tensor_program.py")
ARRAYS = {
    "numpy._core",
    "ml_dtypes._ml_dtypes_ext",
    "numba",
    "llvmlite",
}  # the first is loaded with numpy itself
ROOMS = ("ir", "syntax", "check", "passes", "exec", "ops", "codes", "session.session", "diagnostics")
HEAVY = {
    "numpy",
    "textual",
    "platformdirs",
    "tempfile",
    "secrets",
    *(f"relax_explorer.core.{room}" for room in ROOMS),
}
OF_PASSES = {
    f"relax_explorer.core.{room}"
    for room in ("passes.contract", "passes.pipeline", "exec", "session.session")
}
RARE = {f"relax_explorer.core.syntax.{name}" for name in ("executable", "metadata", "tvm_json")}


def modules(*words: str, env: dict[str, str] | None = None) -> tuple[str, set[str]]:
    """What a call prints, and the modules that are loaded at its end."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *words], capture_output=True, text=True, check=True, env=env
    )
    *remarks, loaded = done.stderr.splitlines()
    return "\n".join([*done.stdout.splitlines(), *remarks]), set(loaded.split())


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_what_needs_no_compiler_loads_none(word: str) -> None:
    text, loaded = modules(word)
    assert text.startswith("relax-explorer" if word == "--version" else "Usage")
    assert loaded & (HEAVY - {"numpy"} | ARRAYS) == set()


def test_completion_of_commands_loads_no_program() -> None:
    asked = {
        "_RELAX_EXPLORER_COMPLETE": "bash_complete",
        "COMP_WORDS": "relax-explorer ch",
        "COMP_CWORD": "1",
    }
    text, loaded = modules(env=asked)
    assert "plain,check" in text
    assert loaded & (HEAVY - {"numpy"} | ARRAYS) == set()


def test_a_check_needs_no_arrays_no_passes_and_no_runs() -> None:
    text, loaded = modules("check", SAMPLE)
    assert text == "1 file checked: no problems"
    assert "relax_explorer.core.phases.module_check" in loaded
    assert loaded & (ARRAYS | OF_PASSES | RARE | {"textual"}) == set()


def test_a_program_is_shown_without_arrays_and_runs() -> None:
    text, loaded = modules("show", SAMPLE)
    assert "class Module" in text
    assert "relax_explorer.viz.stage_sentence" in loaded
    runs = {f"relax_explorer.core.{name}" for name in ("exec.machine", "session.bisect", "session.compare")}
    assert loaded & (ARRAYS | runs | {"textual"}) == set()


def test_no_kernel_is_translated_for_operators() -> None:
    _, loaded = modules("run", SAMPLE)
    assert "relax_explorer.core.exec.machine" in loaded
    assert loaded & {"relax_explorer.core.exec.loop_statements", "llvmlite", "numba"} == set()


def test_arrays_are_loaded_when_one_is_needed() -> None:
    text, loaded = modules("run", SAMPLE)
    assert "numpy._core" in loaded
    assert text


def test_a_sample_that_is_not_here_is_one_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import relax_explorer as rxe
    from relax_explorer.ui.directories import sample

    monkeypatch.chdir(tmp_path)
    for name in ("01_tensor_program.py", "broken_build", "broken_build/", "decode_diverges/calls.txt"):
        assert Path(sample(f"samples/{name}")).samefile(Path(SAMPLE).parent / name)
    assert sample("samples/broken_build@LegalizeOps").endswith("broken_build@LegalizeOps")
    for name in (
        "",
        "nothing.py",
        "../pyproject.toml",
        "broken_build/../../pyproject.toml",
        "/etc/passwd",
        "a\0b",
    ):
        assert sample(f"samples/{name}") == f"samples/{name}"
    assert sample("01_tensor_program.py") == "01_tensor_program.py"
    assert list(rxe.load("samples/01_tensor_program.py")) == ["main"]
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "01_tensor_program.py").write_text("mine")
    assert sample("samples/01_tensor_program.py") == "samples/01_tensor_program.py"
