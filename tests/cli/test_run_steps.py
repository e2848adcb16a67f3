"""`run` in steps: stops at NaN, watches, and the times of bindings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_run import run

PROGRAM = """@I.ir_module
class M:
    @T.prim_func
    def roots(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.sqrt(A[vi, vj])

    @R.function
    def main(x: R.Tensor((2, 3), "float32"), weight: R.Tensor((64, 64), "float32")):
        y = R.subtract(x, R.const(3.0, "float32"))
        z = R.call_tir(M.roots, (y,), R.Tensor((2, 3), "float32"))
        w = R.add(z, z)
        return w
"""
LOOP = """@I.ir_module
class M:
    @R.function
    def f(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "int32")) -> R.Tensor("float32", ndim=1):
        p = R.greater(c, R.const(0, "int32"))
        if p:
            y = R.concat((x, x), axis=0)
            s: R.Tensor("float32", ndim=1) = M.f(y, R.subtract(c, R.const(1, "int32")))
        else:
            s: R.Tensor("float32", ndim=1) = x
        return s
    @R.function
    def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "int32")):
        r = M.f(x, c)
        return r
"""


def test_a_stop_at_nan_names_the_maker_and_prints_no_weights(tmp_path: Path) -> None:
    done = run(tmp_path, PROGRAM, "--stop-on", "nan", "--input", "x=arange")
    assert done.exit_code == 1
    assert "step 2 makes NaN: z, 3 of 6 elements" in done.stdout
    assert "p.py:13" in done.stdout  # the binding
    assert "p.py:8" in done.stdout  # the store
    assert "where i = 0, j = 0" in done.stdout
    assert "A[0, 0] = -3" in done.stdout
    assert "weight" not in done.stdout


def test_a_stop_as_json(tmp_path: Path) -> None:
    done = run(tmp_path, PROGRAM, "--stop-on", "not-finite", "--input", "x=arange", "--format", "json")
    assert done.exit_code == 1
    maker = json.loads(done.stdout)["stopped"]["maker"]
    assert (maker["step"], maker["name"], maker["index"], maker["value"]) == (2, "z", [0, 0], "nan")
    assert maker["inside"]["loops"] == {"i": 0, "j": 0}
    assert maker["inside"]["place"]["line"] == 8
    assert [item["name"] for item in maker["operands"]] == ["y"]


@pytest.mark.parametrize("kind", ["nan", "inf", "not-finite"])
def test_a_run_that_stays_finite_prints_its_result(kind: str, tmp_path: Path) -> None:
    done = run(tmp_path, PROGRAM, "--stop-on", kind, "--input", "x=5")
    assert done.exit_code == 0
    assert "out0" in done.stdout


def test_a_kind_that_was_not_asked_for_does_not_stop(tmp_path: Path) -> None:
    assert run(tmp_path, PROGRAM, "--stop-on", "inf", "--input", "x=0").exit_code == 0


def test_nan_in_an_input_is_named_before_the_first_step(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[1, 2, np.nan], [4, 5, 6]], "float32"))
    done = run(tmp_path, PROGRAM, "--stop-on", "nan", "--input", f"x={tmp_path}/x.npy")
    assert done.exit_code == 1
    assert "stopped after step 0" in done.stdout
    assert "the input x holds NaN: 1 of 6 elements" in done.stdout
    assert "x[0, 2] = nan" in done.stdout


def test_a_watch_prints_each_change(tmp_path: Path) -> None:
    done = run(
        tmp_path, LOOP, "--watch", "n", "--watch", "max(x) * n", "--input", "x=ones", "--input", "c=2", "--shape", "n=2"
    )  # fmt: skip
    seen = [line.split(",")[0] for line in done.stdout.splitlines() if ": n = " in line]
    values = [line.rsplit(" = ", 1)[1] for line in done.stdout.splitlines() if ": n = " in line]
    assert (seen, values) == (["step 0", "step 1", "step 5", "step 9"], ["2", "2", "4", "8"])
    assert ": max(x) * n = 8" in done.stdout
    document = json.loads(
        run(tmp_path, LOOP, "--watch", "n", "--input", "c=2", "--shape", "n=2", "--format", "json").stdout
    )
    assert [change["value"] for change in document["watch"]] == [2, 2, 4, 8]
    assert document["results"][0]["shape"] == [8]


def test_a_watch_of_an_array_that_a_kernel_overwrites_changes(tmp_path: Path) -> None:
    text = PROGRAM.replace("@R.function", "@R.function(pure=False)").replace(
        'z = R.call_tir(M.roots, (y,), R.Tensor((2, 3), "float32"))', "z = y\n        _ = M.roots(y, y)"
    )
    lines = run(tmp_path, text, "--watch", "max(y)", "--input", "x=7").stdout.splitlines()
    assert lines[:2] == ["step 1, y of main: max(y) = 4.0", "step 3, _ of main: max(y) = 2.0"]


@pytest.mark.parametrize("text", ["nothing", "x +", "__import__('os')", "x.strides"])
def test_an_expression_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    done = run(tmp_path, PROGRAM, "--watch", text)
    assert done.exit_code == 2
    assert "--watch" in done.stderr


def test_the_times_of_bindings(tmp_path: Path) -> None:
    done = run(tmp_path, PROGRAM, "--time-bindings", "--format", "json")
    document = json.loads(done.stdout)
    rows = {row["var"]: row for row in document["bindings"]}
    assert {name: row["engine"] for name, row in rows.items()} == {"y": "numpy", "z": "llvm", "w": "numpy"}
    assert all(row["runs"] == 1 and row["bytes"] == 24 and row["ms"] > 0 for row in rows.values())
    assert rows["y"]["compile_ms"] == 0
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1, abs=0.2)
    assert [row["ms"] for row in document["bindings"]] == sorted(
        [row["ms"] for row in rows.values()], reverse=True
    )
    calls = json.loads(
        run(tmp_path, LOOP, "--time-bindings", "--input", "c=2", "--shape", "n=2", "--format", "json").stdout
    )["bindings"]
    by_name = {(row["func"], row["var"]): row["runs"] for row in calls}
    assert by_name[("f", "p")] == 3
    assert by_name[("f", "y")] == 2
    assert by_name[("main", "r")] == 1
    text = run(tmp_path, PROGRAM, "--time-bindings")
    assert "llvm      main: z = relax.call_tir(roots)" in text.stderr
    assert "out0" in text.stdout
    assert run(tmp_path, PROGRAM, "--time-bindings", "--watch", "y").exit_code == 2


def test_the_engine_is_chosen_and_told(tmp_path: Path) -> None:
    printed = {}
    for engine in ("llvm", "fused", "numba", "reference"):
        done = run(
            tmp_path,
            PROGRAM,
            "--engine",
            engine,
            "--time-bindings",
            "--format",
            "json",
            "--input",
            "x=arange",
        )
        document = json.loads(done.stdout)
        printed[engine] = document["outputs"] if "outputs" in document else document["results"]
        (row,) = [row for row in document["bindings"] if row["var"] == "z"]
        assert row["engine"] == ("llvm" if engine == "fused" else engine)
        assert row["compile_ms"] == 0 or engine != "reference"
    assert printed["llvm"] == printed["fused"] == printed["numba"] == printed["reference"]
    trace = tmp_path / "steps.jsonl"
    run(tmp_path, PROGRAM, "--engine", "reference", "--trace", str(trace))
    assert {json.loads(line).get("engine") for line in trace.read_text().splitlines()} >= {
        "numpy",
        "reference",
    }
    assert run(tmp_path, PROGRAM, "--engine", "tvm").exit_code == 2
