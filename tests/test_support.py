"""The support code of the tests: goldens, values on the wire, removed annotations, the setup of a session."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.perf import __main__ as perf
from tests.perf import by_torch
from tests.perf.__main__ import GROUPS, named
from tests.perf.benchmark import Benchmark, Result
from tests.perf.generate import transformer
from tests.support import wire
from tests.support.annotations import strip_binding_annotations
from tests.support.golden import Golden
from tests.support.house import size_of, untyped_of
from tests.support.left_files import Watch, files
from tests.support.module_sizes import EXCEPTIONS, PACKAGE, ROOT, ModuleSize

COMMAND = "pytest tests/x.py --update"

WITHOUT_TVM = """
import sys, pytest
from tests.support.oracle import Oracle
Oracle.is_installed = staticmethod(lambda: False)
names = ["tests/oracle/test_oracle_itself.py", "-k", "reparsable_says"]
sys.exit(pytest.main(["-n0", "-p", "no:cacheprovider", *names]))
"""


def test_a_missing_golden_fails_with_the_command_that_creates_it(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=COMMAND):
        Golden(tmp_path, update=False, command=COMMAND).check("shape.txt", "text")
    assert not list(tmp_path.iterdir())


def test_a_golden_is_rewritten_by_update_only(tmp_path: Path) -> None:
    Golden(tmp_path, update=True, command=COMMAND).check("shape.txt", "one\n")
    reading = Golden(tmp_path, update=False, command=COMMAND)
    reading.check("shape.txt", "one\n")
    with pytest.raises(AssertionError, match="differs"):
        reading.check("shape.txt", "two\n")
    assert (tmp_path / "shape.txt").read_text() == "one\n"


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "uint16", "bfloat16", "float8_e4m3fn"])
def test_a_tensor_keeps_dtype_and_bytes_on_the_wire(dtype: str) -> None:
    value = np.arange(6).reshape(2, 3).astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))
    back = wire.decode(wire.encode(value))
    assert (back.dtype, back.shape) == (value.dtype, value.shape)
    assert back.tobytes() == value.tobytes()


def test_shapes_and_tuples_are_told_apart_on_the_wire() -> None:
    value = ((2, 3), (), (True, 1.5, None, "a"))
    assert wire.decode(wire.encode(value)) == value
    assert wire.encode((2, 3)) == {"shape": [2, 3]}


def test_only_annotations_of_relax_bindings_are_removed() -> None:
    text = (
        "class M:\n"
        "    @T.prim_func\n"
        "    def p(a: T.Buffer):\n"
        "        x: T.int32 = 1\n"
        "    @R.function(private=True)\n"
        "    def f(a: R.Tensor) -> R.Tensor:\n"
        "        with R.dataflow():\n"
        "            é: R.Tensor(\n"
        "                (1,)) = R.add(a, 'ö: x')\n"
        "        if c:\n"
        "            y: R.Object = é; z: R.Object\n"
        "        else:\n"
        "            y = é\n"
    )
    removed = text.replace("é: R.Tensor(\n                (1,)) =", "é =").replace("y: R.Object =", "y =")
    assert strip_binding_annotations(text) == removed


def test_an_exception_for_a_long_module_may_only_shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ModuleSize("a.py", 600).problem == ""
    assert "split" in ModuleSize("a.py", 601).problem
    monkeypatch.setitem(EXCEPTIONS, "a.py", 700)
    assert ModuleSize("a.py", 700).problem == ""
    assert "shrink" in ModuleSize("a.py", 701).problem
    assert "lower" in ModuleSize("a.py", 650).problem
    assert "remove" in ModuleSize("a.py", 600).problem


def test_update_is_refused_in_ci() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n0",
        "-p",
        "no:cacheprovider",
        "--update",
        "--collect-only",
        "tests",
    ]
    run = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "CI": "1"}, capture_output=True, text=True, check=False
    )
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--update" in run.stderr


def test_without_tvm_the_session_says_how_much_it_could_not_ask() -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_TVM], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
    assert "oracle: 0 questions asked, 16 could not be asked" in run.stdout
    assert "16 skipped" in run.stdout


def test_a_file_that_a_test_left_is_seen_once(tmp_path: Path) -> None:
    (tmp_path / "tests" / "fuzz" / "found").mkdir(parents=True)
    (tmp_path / "model.py").touch()
    watch, before = Watch(tmp_path), files(tmp_path)
    assert watch.new() == []
    made = ["big.py", "tests/a.npz", "tests/fuzz/b.py"]
    for name in (*made, ".coverage.1", "build", "tests/c.pyc", "tests/fuzz/found/d.py"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    assert watch.new() == ["big.py", "folder"]
    assert watch.new() == []
    assert sorted(files(tmp_path) - before) == made


@pytest.mark.parametrize("bindings", [2, 34, 100])
def test_a_generated_module_has_the_bindings_that_were_ordered(bindings: int) -> None:
    body = transformer(bindings).partition("with R.dataflow():\n")[2].partition("R.output")[0]
    assert sum(" = " in line for line in body.splitlines()) == bindings


def test_a_group_names_its_benchmarks_and_each_is_in_one_group() -> None:
    assert named(["exec", "parse-1000"]) == {item.name for item in GROUPS["exec"]} | {"parse-1000"}
    names = [item.name for members in GROUPS.values() for item in members]
    assert len(names) == len(set(names))
    assert GROUPS.keys().isdisjoint(names)


def test_a_row_beside_torch_is_below_the_goal_when_it_takes_too_long() -> None:
    within, beyond = [Result("bert", ours, None, None, torch=0.2, beside=1.15) for ours in (0.229, 0.231)]
    assert (within.verdict, beyond.verdict) == ("ok", "below the goal")
    assert Result("bert", 0.3, None, None, beside=1.15).verdict == ""  # nobody was asked


def test_torch_is_left_out_with_a_word_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = Benchmark("gelu", lambda: ("", lambda: None), torch="gelu")
    monkeypatch.setattr(perf, "BENCHMARKS", [row])
    monkeypatch.setattr(perf.by_torch, "is_installed", lambda: False)
    monkeypatch.setattr(sys, "argv", ["perf", "gelu", "--processor"])
    assert perf.main() == 0
    out, err = capsys.readouterr()
    assert "PyTorch is not asked" in err
    assert out.splitlines()[1].split()[0] == "gelu"


def test_torch_is_asked_for_the_same_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    units: list[str] = []

    @contextmanager
    def asked(name: str, unit: str) -> Iterator[Callable[[], float]]:
        units.append(f"{name} {unit}")
        yield lambda: 0.25

    monkeypatch.setattr(
        perf, "BENCHMARKS", [Benchmark("row", lambda: ("", lambda: None), torch="gelu", beside=1.5)]
    )
    monkeypatch.setattr(perf.by_torch, "is_installed", lambda: True)
    monkeypatch.setattr(perf.by_torch, "asked", asked)
    for options in (["--processor"], ["--no-tvm", "--json"]):
        monkeypatch.setattr(sys, "argv", ["perf", "row", *options])
        assert perf.main() == 0
    out, err = capsys.readouterr()
    assert "PyTorch" not in err
    assert units == ["gelu processor", "gelu wall"]
    assert "250" in out.splitlines()[1].split()
    assert '"torch": 0.25' in out


def test_a_child_that_does_not_answer_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_torch.sys, "executable", "/bin/echo")  # it says what it was asked
    with pytest.raises(RuntimeError, match="torch_child gelu"), by_torch.asked("gelu", "wall"):
        pass


def test_uses_of_any_are_counted() -> None:
    text = "from typing import Any\ndef f(x: Any, *y: Any | None, z: list[Any]) -> dict[str, Any]: ...\nvalue: Any = 1\n"
    size = size_of(text)
    assert (size.untyped, size.inside) == (2, 3)


def test_few_parameters_and_results_are_unchecked() -> None:
    """Each new one is a real type, `object` or a type variable, or takes the place of one that goes."""
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    assert sum(untyped_of(ast.parse(text)) for text in texts if "Any" in text) <= 80
