"""Calls of a compiled program, as a recording holds them, beside the bindings of the last stage: which array is which variable, and who is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from relax_explorer import recorder
from relax_explorer.core.exec.values import Shape
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.compiled_values import CompiledRun, compiled_runs
from relax_explorer.core.session.containers import open_container
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.widgets.line_view import LineView
from tests.cli.test_commands import rxe_cli
from tests.support.recordings import Writer
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press, typed
from tests.viz.test_report import document_in

PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func
    def twice(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
        for i in range(2):
            b[i] = a[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((2,), "float32"), s: R.Shape(["n"]), p: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        heap = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (1,), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        R.call_packed("vm.builtin.match_shape", s, heap, 1, 1, 0, R.str(""), ty_args=(R.Tuple,))
        y: R.Tensor((2,), "float32") = p[0]
        z: R.Tensor((2,), "float32") = p[1]
        storage: R.Object = R.vm.alloc_storage(R.shape([8]), 0, R.dtype("uint8"), R.str("global"))
        alloc: R.Tensor((2,), "float32") = R.vm.alloc_tensor(storage, 0, R.shape([2]), R.dtype("float32"))
        cls.twice(x, alloc)
        alloc1: R.Tensor((2,), "float32") = R.vm.alloc_tensor(storage, 0, R.shape([2]), R.dtype("float32"))
        cls.twice(y, alloc1)
        alloc2: R.Tensor((2,), "float32") = R.vm.alloc_tensor(storage, 0, R.shape([2]), R.dtype("float32"))
        R.vm.kill_object(storage)
        cls.twice(z, alloc2)
        return alloc2
"""
X, Y, Z = (np.array(item, "float32") for item in ([1, 2], [3, 4], [5, 6]))


def calls(made: Writer, wrong: float = 0.0, extra: bool = False, missing: bool = False) -> None:
    """The calls of one run; the kernel's second result may be wrong."""

    def tensor(array: np.ndarray) -> dict[str, str]:
        return {"array": made.array(array), "dtype": str(array.dtype)}

    garbage = tensor(np.array([-77, 13], "float32"))

    def call(name: str, *operands: object, result: object = None) -> None:
        made.line(recorder.CALL, name=name, seconds=0.001, operands=operands, result=result)

    heap = tensor(np.array([1 << 40], "int64"))
    call("vm.builtin.alloc_shape_heap", {"type": "c_void_p"}, 1, result=heap)
    call("vm.builtin.match_shape", [7], heap, 1, 1, 0, "")
    if extra:
        call("vm.builtin.make_tuple", result={"type": "Array"})
    call("vm.builtin.tuple_getitem", [tensor(Y), tensor(Z)], 0, result=tensor(Y))
    call("vm.builtin.tuple_getitem", [tensor(Y), tensor(Z)], 1, result=tensor(Z))
    call("vm.builtin.alloc_storage", {"type": "c_void_p"}, [8], 0, "uint8", result={"type": "Storage"})
    for number, value in enumerate((X, Y, Z)):
        call("vm.builtin.alloc_tensor", {"type": "Storage"}, 0, [2], "float32", result=garbage)
        if number == 2 and not missing:
            call("vm.builtin.null_value")
        call("twice", tensor(value), tensor(value * 2 + np.float32(wrong if number == 1 else 0)))


def recording(path: Path, *runs: dict[str, object]) -> Path:
    made = Writer(path)
    made.lineage(0, "module")
    made.stage("input", PROGRAM, input=True)
    for run in runs:
        calls(made, **run)  # type: ignore[arg-type]  # options of `calls`
    made.end()
    return path


def runs_in(path: Path) -> list[CompiledRun]:
    return list(compiled_runs(open_container(str(path)), open_build(path).stages[-1].module))


@pytest.mark.parametrize("options", [{}, {"extra": True}, {"missing": True}])
def test_arrays_are_the_values_of_variables_and_arguments(options: dict[str, object], tmp_path: Path) -> None:
    (run,) = runs_in(recording(tmp_path / "run.rxs", options))
    assert (run.name, run.unknown) == ("main", ())
    assert run.arguments[1] == Shape((7,))
    assert [value.tolist() for value in (run.arguments[0], *run.arguments[2])] == [[1, 2], [3, 4], [5, 6]]
    found = {name: np.asarray(value).tolist() for name, value in run.values.items()}
    assert found == {
        "alloc": [2, 4], "alloc1": [6, 8], "alloc2": [10, 12], "out0": [10, 12], "y": [3, 4], "z": [5, 6]
    }  # fmt: skip


def test_several_runs_are_told_apart(tmp_path: Path) -> None:
    path = recording(tmp_path / "run.rxs", {}, {"wrong": 1.0}, {})
    assert [np.asarray(run.values["alloc1"]).tolist() for run in runs_in(path)] == [[6, 8], [7, 9], [6, 8]]


def test_the_first_value_that_differs_is_named(tmp_path: Path) -> None:
    path = recording(tmp_path / "run.rxs", {}, {"wrong": 0.5})
    done = rxe_cli("compare", str(path))
    assert done.exit_code == 1, done.output
    assert f"A the compiled run in {path}" in done.stdout
    assert "sample 1 of 2 (run 1, main, 12 calls, 12.0 ms there): equal" in done.stdout
    assert "sample 2 of 2 (run 2, main, 12 calls, 12.0 ms there): DIFFERENT, alloc1 differs" in done.stdout
    assert "first difference: alloc1 of main" in done.stdout
    assert "cls.twice(y, alloc1)" in done.stdout


def test_all_values_are_listed_with_their_gaps(tmp_path: Path) -> None:
    done = rxe_cli("compare", str(recording(tmp_path / "run.rxs", {})), "--all")
    assert done.exit_code == 0, done.output
    assert [line.split(":")[0].strip() for line in done.stdout.splitlines() if line.endswith("[name]")] == [
        "y", "z", "alloc", "alloc1", "alloc2"
    ]  # fmt: skip


def test_another_stage_is_compared_by_its_results(tmp_path: Path) -> None:
    made = Writer(tmp_path / "run.rxs")
    made.lineage(0, "module")
    made.stage("input", PROGRAM.replace("T.float32(2)", "T.float32(3)"), input=True)
    made.stage("Right", PROGRAM)
    calls(made)
    made.end()
    wrong = rxe_cli("compare", f"{tmp_path}/run.rxs@input")
    assert (wrong.exit_code, "out0: DIFFERENT" in wrong.stdout) == (1, True)
    assert rxe_cli("compare", f"{tmp_path}/run.rxs@Right").exit_code == 0


def test_calls_of_something_else_are_left_out(tmp_path: Path) -> None:
    made = Writer(tmp_path / "run.rxs")
    made.lineage(0, "module")
    made.stage("input", PROGRAM, input=True)
    made.line(recorder.CALL, name="other", seconds=0, operands=[], result=None)
    made.end()
    done = rxe_cli("compare", f"{tmp_path}/run.rxs")
    assert (done.exit_code, "are no run of a function" in done.stderr) == (2, True)


def test_an_argument_that_no_call_tells_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.rxs"
    made = Writer(path)
    made.lineage(0, "module")
    made.stage(
        "input",
        PROGRAM.replace(
            'main(x: R.Tensor((2,), "float32"),', 'main(x: R.Tensor((2,), "float32"), cache: R.Object,'
        ),
        input=True,
    )
    calls(made)
    made.end()
    assert [run.unknown for run in runs_in(path)] == [("cache",)]
    assert "run 1, main, is left out: no call tells cache" in rxe_cli("compare", str(path)).stderr


def test_a_function_that_was_not_run_is_named(tmp_path: Path) -> None:
    done = rxe_cli("compare", str(recording(tmp_path / "run.rxs", {})), "--func", "decode")
    assert (
        done.exit_code,
        "no run of decode is recorded" in done.stderr,
        "there are main" in done.stderr,
    ) == (2, True, True)


# -- where people look -----------------------------------------------------------------------------------------------


def test_who_tells_what_the_compiled_program_made_and_how_far_it_is_from_ours(tmp_path: Path) -> None:
    path = str(recording(tmp_path / "run.rxs", {}, {"wrong": 0.5}))
    done = rxe_cli("who", path, "alloc1")
    assert done.exit_code == 0, done.output
    last = done.stdout.splitlines()[-1]
    assert last.split()[:5] == ["run", "≠", "run", "2", "there"]  # the run that differs, not the first one
    assert "[6.5 8.5]" in last
    assert "max |Δ| 0.5" in last
    assert last.endswith("2 ms, 2 ms")  # to allocate it and to fill it, in both runs
    (row,) = json.loads(rxe_cli("who", path, "z", "--format", "json").stdout)["compiled"]
    assert (row["run"], row["equal"], row["seconds"]) == (2, True, [0.001, 0.001])
    (row,) = json.loads(rxe_cli("who", path, "storage", "--format", "json").stdout)["compiled"]
    assert (row["seconds"], "value" in row) == ([0.001, 0.001], False)


def test_a_graph_is_coloured_by_the_time_of_the_recorded_calls(tmp_path: Path) -> None:
    path = str(recording(tmp_path / "run.rxs", {}, {}))
    done = rxe_cli("graph", path, "--heat", "machine", "--format", "unicode")
    assert done.exit_code == 0, done.output
    assert "time of each call in the recorded runs of the compiled program, 24 ms in all" in done.stdout
    assert "│ y  2 ms 8% │" in done.stdout
    made = Writer(tmp_path / "two.rxs")
    made.lineage(0, "module")
    made.stage("input", PROGRAM.replace("T.float32(2)", "T.float32(3)"), input=True)
    made.stage("Right", PROGRAM)
    calls(made)
    made.end()
    early = rxe_cli("graph", str(tmp_path / "two.rxs"), "--heat", "machine", "--stage", "0")
    assert (early.exit_code, "belong to the last stage: --stage 1" in early.stderr) == (2, True)
    bare = rxe_cli("graph", "samples/broken_build", "--heat", "machine")
    assert (bare.exit_code, "needs a recording with values" in bare.stderr) == (2, True)
    inputs = rxe_cli("graph", path, "--heat", "machine", "--input", "ones")
    assert (inputs.exit_code, "are for the run of --heat" in inputs.stderr) == (2, True)


def test_a_report_lists_the_calls_of_the_compiled_program(tmp_path: Path) -> None:
    path = str(recording(tmp_path / "run.rxs", {"wrong": 0.5}))
    found = document_in(rxe_cli("report", path).stdout)["compiled"]
    assert [row[1:] for row in found["rows"] if row[0].endswith("cls.twice(y, alloc1)")] == [
        ["alloc1", "DIFFERENT, max |Δ| 0.5, 1048576 ulp, cos 0.999956; 2 of 2, first [0]: A 6.5, B 6", "1 ms"]
    ]
    assert document_in(rxe_cli("report", path, "--no-run").stdout)["compiled"] is None


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_explorer_shows_compiled_values_beside_ours(size: tuple[int, int], tmp_path: Path) -> None:
    path = str(recording(tmp_path / "run.rxs", {}, {"wrong": 0.5}))
    app = Explorer(path)
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "5", "v")
        assert app.state.compared is not None
        assert [view.pairing.equal for view in app.state.compared.pairs] == [True, True, True, False, True]
        pairs = app.screen.query_one("#pairs", LineView)
        assert pairs.row_node.pairing.b.name == "alloc1"  # the first that differs
        text = screen_text(app)
        assert "A compiled, run 2 of main" in text
        assert "compiled" in next(line for line in text.splitlines() if "max|Δ|" in line)
        assert "2 ms there" in text
        await typed(pilot, app, "compiled 1")
        assert app.state.compared.compiled == "run 1 of main"
        assert all(view.pairing.equal for view in app.state.compared.pairs)
        await typed(pilot, app, "compiled 9")
        assert "run 9 of 2 is not there" in screen_text(app)
        app.show_screen("graph")
        await press(pilot, app, "c", "c", "c")
        assert app.state.options.heat == "machine"
        await press(pilot, app, "c")
        assert app.state.options.heat == ""


async def test_without_recorded_values_the_explorer_says_so() -> None:
    app = Explorer("samples/broken_build")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "compiled")
        assert "no values of a compiled program" in screen_text(app)
