"""`run --trace FILE.json`: a document for Perfetto and chrome://tracing, with passes, bindings and kernels."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from relax_explorer.ui.cli.main import group

PROGRAM = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((8, 8), "float32")):
        cls = M
        y = cls.twice(x)
        z = cls.twice(y)
        w = R.matmul(z, z)
        return w

    @R.function(private=True)
    def twice(x: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
        inner = R.add(x, x)
        return inner
"""


def traced(tmp_path: Path, program: str, *arguments: str, status: int = 0) -> list[dict[str, Any]]:
    """The events of a run."""
    (tmp_path / "m.py").write_text(program)
    file = tmp_path / "run.json"
    done = CliRunner().invoke(group, ["run", str(tmp_path / "m.py"), "--trace", str(file), *arguments])
    assert done.exit_code == status, done.output
    document = json.loads(file.read_text())
    assert document["displayTimeUnit"] == "ms"
    return list(document["traceEvents"])


def rows(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The events of the row with this name, by their start."""
    thread = next(item["tid"] for item in events if item["ph"] == "M" and item["args"].get("name") == name)
    return sorted(
        [item for item in events if item["ph"] == "X" and item["tid"] == thread], key=lambda item: item["ts"]
    )


def test_calls_hold_what_runs_inside(tmp_path: Path) -> None:
    found = rows(traced(tmp_path, PROGRAM), "bindings")
    assert [item["name"] for item in found] == ["y", "inner", "z", "inner", "w"]
    for call, inner in (found[0:2], found[2:4]):
        assert call["ts"] <= inner["ts"]
        assert inner["ts"] + inner["dur"] <= call["ts"] + call["dur"] + 0.01
        assert inner["args"]["function"] == "twice"
    assert found[0]["ts"] + found[0]["dur"] <= found[2]["ts"] + 0.01
    assert found[4]["args"]["operation"] == "relax.matmul"
    assert found[4]["args"]["bytes"] == 256


def test_passes_come_before_the_run_and_kernels_have_a_row(tmp_path: Path) -> None:
    events = traced(tmp_path, PROGRAM, "-p", "LegalizeOps")
    passes, kernels = rows(events, "passes"), rows(events, "kernels")
    assert [item["name"] for item in passes] == ["LegalizeOps"]
    assert passes[0]["dur"] > 0
    assert all(item["ts"] >= passes[0]["dur"] for item in kernels)
    runs = [item for item in kernels if item["cat"] == "kernel"]
    assert [item["args"]["binding"] for item in runs] == ["inner", "inner", "w"]
    assert {item["name"] for item in runs} == {"add", "matmul"}
    for one, other in pairwise(kernels):  # a row has no two at a time
        assert one["ts"] + one["dur"] <= other["ts"] + 0.01
    assert all(item["name"].startswith("compile ") for item in kernels if item["cat"] == "compile")


def test_a_trap_leaves_what_ran_before(tmp_path: Path) -> None:
    program = PROGRAM.replace("R.matmul(z, z)", 'R.call_packed("nobody.registered", z)')
    found = rows(
        traced(tmp_path, program.replace("@R.function\n", "@R.function(pure=False)\n", 1), status=3),
        "bindings",
    )
    assert [item["name"] for item in found] == ["y", "inner", "z", "inner"]


def test_names_of_the_program_stay_text(tmp_path: Path) -> None:
    events = traced(
        tmp_path, PROGRAM.replace("w = R.matmul", "ворота = R.matmul").replace("return w", "return ворота")
    )
    assert rows(events, "bindings")[-1]["name"] == "ворота"


@pytest.mark.parametrize(
    "option", [("--time-bindings",), ("--break", "y"), ("--stop-on", "nan"), ("--watch", "y"), ("--shapes",)]
)
def test_a_trace_of_times_measures_a_run_without_steps(option: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(PROGRAM)
    done = CliRunner().invoke(
        group, ["run", str(tmp_path / "m.py"), "--trace", str(tmp_path / "t.json"), *option]
    )
    assert (done.exit_code, (tmp_path / "t.json").exists()) == (2, False)


def test_lines_of_steps_are_as_before(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(PROGRAM)
    done = CliRunner().invoke(group, ["run", str(tmp_path / "m.py"), "--trace", str(tmp_path / "t.jsonl")])
    assert done.exit_code == 0
    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    assert all(json.loads(line) for line in lines)
    assert len(lines) >= 5
