"""`doctor` tells of every part what was found and what to do, also where parts are missing, broken or crash."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from relax_explorer.ui.cli.doctor import Part
from relax_explorer.ui.cli.main import group
from relax_explorer.viz.answering_child import INSTALL
from tests.support.oracle import ROOT, Oracle

NOTHING = """
import sys
import importlib.metadata as metadata
def version(name):
    raise metadata.PackageNotFoundError(name)
metadata.version = version
sys.modules["tvm"] = None
"""
CRASH = "import ctypes\nctypes.string_at(0)\n"


def doctor(*words: str, code: str = "", **more: str) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit status and the parts by name; `code` runs in the process behind the command."""
    start = "import sys; sys.argv = ['rxe', 'doctor', '--format', 'json', *sys.argv[1:]]; from relax_explorer.ui.cli.main import main\n"
    text = f"{start}try:\n    main()\nfinally:\n    {code or 'pass'}\n"
    env = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    done = subprocess.run(
        [sys.executable, "-c", text, *words],
        capture_output=True,
        text=True,
        check=False,
        env=env,
        timeout=200,
    )
    assert "Traceback" not in done.stderr, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "rxe.doctor/1"
    parts = {part["name"]: part for part in document["parts"]}
    assert sum(document["counts"].values()) == len(parts)
    assert (done.returncode == 1) == any(part["state"] == "broken" for part in parts.values())
    return done.returncode, parts


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def python_with(folder: Path, name: str, text: str) -> str:
    """A Python that finds a module of ours before any other."""
    place = folder / name.replace(".", "_")
    place.mkdir()
    (place / name).write_text(text)
    return script(folder / f"python-{name}", f'PYTHONPATH={place} exec {sys.executable} "$@"')


def without_tvm(folder: Path) -> tuple[str, str]:
    """The option of a Python that has none of the packages: to look at TVM takes longer than at all else."""
    return "--python", python_with(folder, "sitecustomize.py", NOTHING)


def test_a_whole_machine() -> None:
    """It imports none of the packages that it looks at."""
    status, parts = doctor(
        code="assert not {'numba', 'llvmlite', 'textual', 'tvm', 'pygraphviz'} & sys.modules.keys(), 'Traceback'"
    )
    assert status == 0, parts
    assert list(parts) == [
        "Python",
        "packages",
        "compilers",
        "explorer",
        "graphs",
        "cache",
        "terminal",
        "TVM",
        "onnx",
        "torch",
        "tflite",
    ]
    for name in ("Python", "packages", "compilers", "explorer", "graphs", "cache"):
        assert (parts[name]["state"], parts[name]["advice"]) == ("ok", ""), parts[name]
    if Oracle.is_installed():
        assert parts["TVM"]["state"] == "ok"
        assert "smoke test passed" in parts["TVM"]["found"]


def test_a_tvm_that_crashes_is_told_with_the_command_that_mends_it(tmp_path: Path) -> None:
    python = python_with(tmp_path, "tvm.py", CRASH)
    status, parts = doctor("--python", python)
    assert status == 1
    assert "importing tvm crashed: SIGSEGV" in parts["TVM"]["found"]
    assert parts["TVM"]["advice"] == f"{python} -m pip install {INSTALL}"


def test_a_tvm_that_crashes_when_it_prints(tmp_path: Path) -> None:
    """As the pair with a newer ffi does: it is imported, and crashes at the first print of a constant."""
    if not Oracle.is_installed():
        pytest.skip("TVM is not installed")
    text = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "tvm.relax":
            sys.meta_path.remove(self)
            import importlib
            import tvm
            importlib.import_module(name)
            def script(self, **options):
                import ctypes
                ctypes.string_at(0)
            tvm.IRModule.script = script
            sys.meta_path.insert(0, self)
        return None
sys.meta_path.insert(0, Finder())
"""
    status, parts = doctor("--python", python_with(tmp_path, "sitecustomize.py", text))
    assert status == 1
    assert "the smoke test crashed: SIGSEGV" in parts["TVM"]["found"]
    assert INSTALL in parts["TVM"]["advice"]


def test_a_python_without_tvm_or_that_is_none(tmp_path: Path) -> None:
    empty = without_tvm(tmp_path)
    status, parts = doctor(*empty)
    assert (status, parts["TVM"]["state"]) == (0, "warning")
    assert f"-m pip install {INSTALL}" in parts["TVM"]["advice"]
    assert all("pip install" in parts[name]["advice"] for name in ("onnx", "torch", "tflite"))
    for python in (
        str(tmp_path / "none"),
        script(tmp_path / "fake", "echo hello; exit 0"),
        script(tmp_path / "failing", "exit 3"),
    ):
        status, parts = doctor("--python", python)
        assert (status, parts["TVM"]["state"]) == (1, "broken")
        assert "--python" in parts["TVM"]["advice"]


@pytest.mark.parametrize(
    ("module", "text", "part", "said"),
    [
        (
            "numba",
            "raise ImportError('numba needs another numpy')\n",
            "compilers",
            "numba needs another numpy",
        ),
        ("llvmlite", CRASH, "compilers", "it crashed: SIGSEGV"),
        ("textual", "print('no')\nraise SystemExit(0)\n", "explorer", "something else"),
    ],
)
def test_a_broken_package_is_told_and_the_others_too(
    tmp_path: Path, module: str, text: str, part: str, said: str
) -> None:
    (tmp_path / f"{module}.py").write_text(text)
    status, parts = doctor(*without_tvm(tmp_path), PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert (status, parts[part]["state"]) == (1, "broken")
    assert said in parts[part]["found"]
    assert "pip install" in parts[part]["advice"]
    assert parts["graphs"]["state"] == "ok"


def test_a_broken_graphviz_leaves_our_own_layout(tmp_path: Path) -> None:
    (tmp_path / "pygraphviz.py").write_text(CRASH)
    more = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "PATH": str(tmp_path)}
    status, parts = doctor(*without_tvm(tmp_path), **more)
    assert (status, parts["graphs"]["state"]) == (0, "warning")
    assert "our own layout" in parts["graphs"]["found"]
    assert "pip install pygraphviz" in parts["graphs"]["advice"]


def test_a_cache_that_can_t_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, parts = doctor(*without_tvm(tmp_path), XDG_CACHE_HOME=str(tmp_path / "file"))
    assert (status, parts["cache"]["state"]) == (0, "warning")
    assert "XDG_CACHE_HOME" in parts["cache"]["advice"]


@pytest.mark.parametrize(
    ("env", "found", "advice"),
    [
        ({"TERM": "dumb"}, "no colours", "set TERM"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}, "16 million colours", ""),
        ({"TERM": "xterm", "COLORTERM": "", "LANG": "C.UTF-8"}, "16 colours", "COLORTERM"),
        (
            {
                "TERM": "xterm-256color",
                "COLORTERM": "truecolor",
                "LC_ALL": "C",
                "PYTHONCOERCECLOCALE": "0",
                "PYTHONUTF8": "0",
            },
            "ASCII only",
            "UTF-8",
        ),
        ({"TERM": "xterm-256color", "COLUMNS": "40", "LINES": "10"}, "40×10", "60×16"),
    ],
)
def test_terminals(env: dict[str, str], found: str, advice: str, tmp_path: Path) -> None:
    """In a terminal that answers no question; lines have marks."""
    outer, inner = pty.openpty()
    command = [sys.executable, "-m", "relax_explorer", "doctor", *without_tvm(tmp_path)]
    size = {} if "COLUMNS" in env else {"COLUMNS": "100", "LINES": "40"}
    whole = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "", **size, **env}
    child = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env=whole)
    os.close(inner)
    text = b""
    while True:
        try:
            part = os.read(outer, 65536)
        except OSError:  # the other side is closed
            break
        text += part
    assert child.wait(100) == 0
    os.close(outer)
    lines = text.decode().replace("\r", "").split("\n")
    (number,) = [n for n, line in enumerate(lines) if " terminal: " in line]
    shown = found.replace("×", "x") if found == "40×10" and "40x10" in lines[number] else found
    assert shown in lines[number]
    assert advice in lines[number + 1]
    assert ("! " in lines[number]) == bool(advice)


def test_a_check_that_fails_itself_is_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are there as well."""

    def _cache() -> list[Part]:
        raise ZeroDivisionError("nobody thought of that")

    monkeypatch.setattr("relax_explorer.ui.cli.doctor._cache", _cache)
    done = CliRunner().invoke(group, ["doctor", *without_tvm(tmp_path)])
    assert done.exit_code == 1
    assert "✗ cache: ZeroDivisionError: nobody thought of that" in done.stdout
    assert "✓ compilers: LLVM" in done.stdout


@pytest.mark.parametrize("gone", [("click",), ("platformdirs",), ("click", "platformdirs")])
def test_without_what_it_starts_with_the_command_that_mends_it_is_told(gone: tuple[str, ...]) -> None:
    code = f"import sys; sys.modules.update(dict.fromkeys({gone})); sys.argv = ['rxe', 'doctor']; from relax_explorer.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines() == [
        f"relax-explorer needs {' and '.join(gone)}, not installed in {sys.executable}",
        f"    {sys.executable} -m pip install {' '.join(gone)}",
    ]
