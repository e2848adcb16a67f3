"""Heat maps: each node tells its time or bytes in a run, and has a colour of a scale that the legend explains."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.cost.program_cost import cost
from relax_explorer.core.exec import one_run
from relax_explorer.core.exec.kernels import Kernels
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.one_run import BindingTime, BindingTimes
from relax_explorer.core.session.inputs import generated_inputs
from relax_explorer.core.syntax.parser import parse
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.layout import lay_out
from relax_explorer.viz.marked_graph import amount_text, heated, heated_by_cost
from relax_explorer.viz.svg import svg_text
from tests.cli.test_commands import rxe_cli
from tests.viz.test_repeats import layered

CALLS = """
@I.ir_module
class Module:
    @R.function
    def inner(a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        b = R.exp(a)
        c = R.sin(b)
        return c

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        y: R.Tensor((2, 3), "float32") = cls.inner(x)
        z = R.add(y, y)
        return z
"""

CHAIN = """@R.function
def main(x: R.Tensor((2,), "float32")):
    a = R.exp(x)
    b = R.sin(a)
    c = R.cos(b)
    return c
"""


def measured(module: Any, name: str = "main") -> BindingTimes:
    times = BindingTimes()
    values, _ = generated_inputs(module.relax_functions[name], {})
    times.run(Machine(module, name, values))
    return times


def test_numbers_are_short() -> None:
    texts = {amount_text(amount, "time") for amount in (0.0, 2.5e-7, 1.23456e-3, 7.0)}
    assert texts == {"0 µs", "0.25 µs", "1.23 ms", "7 s"}
    assert [amount_text(size, "bytes") for size in (0, 12, 1536, 3 << 20)] == [
        "0 B",
        "12 B",
        "1.5 KiB",
        "3 MiB",
    ]


def test_a_call_holds_what_its_callee_took() -> None:
    module = normalize_with(parse(CALLS))[0]
    times = measured(module)
    row = {row.binding.var.name: row for row in times.rows.values() if row.binding.var is not None}
    assert row["y"].inclusive > row["b"].seconds + row["c"].seconds
    assert row["z"].inclusive == row["z"].seconds
    assert sum(item.seconds for item in row.values()) <= times.total
    drawing = heated(graph(module, "main"), times, "bytes")
    assert drawing.node("y").badge == "24 B 50%"
    assert drawing.node("x").heat == -1


def test_each_step_counts_for_its_binding_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, compiled = count(0, 3), count()
    monkeypatch.setattr(one_run, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    monkeypatch.setattr(
        Kernels, "compiling", property(lambda _: next(compiled), lambda *_: None), raising=False
    )
    times = measured(normalize_with(parse(CALLS.replace("R.add(y, y)", "cls.inner(y)")))[0])
    told = {
        row.binding.var.name: (row.runs, row.seconds, row.compiling, row.inclusive, row.size)
        for row in times.rows.values()
        if row.binding.var is not None
    }
    assert told == {
        "y": (1, 4, 2, 8, 24),
        "b": (2, 4, 2, 4, 48),
        "c": (2, 4, 2, 4, 48),
        "z": (1, 4, 2, 8, 24),
    }
    assert times.total == 16 + times.other == 19


def fixed(drawing: Drawing, seconds: list[float]) -> BindingTimes:
    """The times of the nodes of a graph that are bindings, in order."""
    times = BindingTimes()
    sources = [
        node.sources[0]
        for node in drawing.nodes
        if node.sources and node.shape_text and node.kind != "parameter"
    ]
    for binding, second in zip(sources, seconds, strict=True):
        times.rows[binding] = BindingTime("main", binding, "", 1, second, 0.0, 8, second)  # type: ignore[index, arg-type]  # bindings
    return times


def test_levels_are_shares_of_the_largest_and_the_legend_names_them() -> None:
    module = normalize_with(parse(CHAIN))[0]
    plain = graph(module)
    drawing = heated(plain, fixed(plain, [0.0, 0.5, 1.0]), "time")
    assert [drawing.node(name).heat for name in "abc"] == [0, 2, 4]
    assert [drawing.node(name).badge for name in "abc"] == ["0 µs 0%", "500 ms 33%", "1 s 67%"]
    assert [text for _, text in drawing.legend] == [
        "up to 200 ms",
        "up to 400 ms",
        "up to 600 ms",
        "up to 800 ms",
        "up to 1 s",
    ]
    text = svg_text(drawing, lay_out(drawing))
    assert "up to 600 ms" in text
    assert 'class="node operator heat-4"' in text
    assert "500 ms 33%" in text
    assert "1 s 67%" in drawing.terminal(80)
    nothing = heated(plain, fixed(plain, [0.0, 0.0, 0.0]), "time")
    assert {node.heat for node in nothing.nodes} == {-1, 0}
    assert heated(plain, BindingTimes(), "time").node("a").heat == -1


def test_a_layer_that_stands_for_all_shows_their_sum() -> None:
    module = layered(6)
    times = measured(module)
    once, each = (heated(graph(module, layers=layers), times, "bytes") for layers in ("once", "each"))
    sizes = [
        row.size
        for row in times.rows.values()
        if row.binding.var is not None and row.binding.var.name in ("a0", "a1", "a2", "a3", "a4", "a5")
    ]
    assert once.node("a0").badge.startswith(f"×6  {amount_text(sum(sizes), 'bytes')}")
    assert each.node("a0").badge.startswith(amount_text(sizes[0], "bytes"))


@pytest.mark.parametrize("measure", ["time", "bytes"])
def test_the_command_runs_the_function_and_draws_the_heat(measure: str, tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text(CALLS)
    done = rxe_cli("graph", str(file), "--heat", measure, "--format", "json", "--input", "x=ones")
    assert done.exit_code == 0, done.stderr
    nodes = {node["id"]: node for node in json.loads(done.stdout)["nodes"]}
    assert nodes["y"]["badge"].endswith("%")
    assert nodes["x"]["badge"] == ""
    bad = rxe_cli("graph", str(file), "--heat", measure, "--input", "q=ones")
    assert bad.exit_code == 2
    assert "Traceback" not in bad.stderr


def test_warm_times_are_medians_and_the_first_run_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    module = normalize_with(parse(CHAIN))[0]
    values, _ = generated_inputs(module.relax_functions["main"], {})
    took = iter([900.0, 5.0, 1.0, 3.0, 2.0, 4.0])
    made: list[Machine] = []

    def run(times: BindingTimes, machine: Machine) -> None:
        seconds = next(took)
        for binding in module.relax_functions["main"].body.blocks[0].bindings:
            times.rows[binding] = BindingTime("main", binding, "", 1, seconds, 0.0, 8, seconds)

    monkeypatch.setattr(BindingTimes, "run", run)
    monkeypatch.setattr(one_run, "WARM_SECONDS", 1e9)

    def machine() -> Machine:
        made.append(Machine(module, "main", values))
        return made[-1]

    found = one_run.warm_times(machine)
    assert (
        {row.seconds for row in found.rows.values()}
        == {row.inclusive for row in found.rows.values()}
        == {3.0}
    )
    assert len({id(item) for item in made}) == 6


def test_long_runs_are_made_twice_only(monkeypatch: pytest.MonkeyPatch) -> None:
    module = normalize_with(parse(CHAIN))[0]
    values, _ = generated_inputs(module.relax_functions["main"], {})
    monkeypatch.setattr(one_run, "WARM_SECONDS", 0.0)
    count_of_runs = count()
    found = one_run.warm_times(lambda: (next(count_of_runs), Machine(module, "main", values))[1])
    assert next(count_of_runs) == 2
    assert {row.runs for row in found.rows.values()} == {1}


def test_costs_colour_a_graph_without_a_run(tmp_path: Path) -> None:
    text = """@R.function
def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 8), "float32")):
    a = R.matmul(x, w)
    b = R.exp(a)
    c = R.add(b, a)
    return c
"""
    (tmp_path / "m.py").write_text(text)

    def badges(measure: str, *more: str) -> tuple[dict[str, str], list[str]]:
        done = rxe_cli("graph", str(tmp_path / "m.py"), "--heat", measure, "--format", "json", *more)
        assert done.exit_code == 0, done.stderr
        data = json.loads(done.stdout)
        return {node["id"]: node["badge"] for node in data["nodes"] if node.get("badge")}, data["notes"]

    flops, notes = badges("flops", "--shape", "n=10")
    assert flops == {"a": "640 FLOPs 80%", "b": "80 FLOPs 10%", "c": "80 FLOPs 10%"}
    assert notes[:2] == ["FLOPs of each binding, 800 FLOPs in all", "for n = 10"]
    assert badges("moved", "--shape", "n=10")[0]["c"] == "960 B 43%"
    assert badges("peak", "--shape", "n=10")[0] == {"a": "320 B 33%", "b": "640 B 67%", "c": "960 B 100%"}
    assert badges("flops")[1][1] == "for n = 64"


def test_layers_that_are_drawn_once_add_their_flops_and_hold_the_most_of_one() -> None:
    module = layered(6)
    found = cost(module, shape={"k": 5})
    drawing = graph(module, layers="once")
    flops, peak = (heated_by_cost(drawing, found, measure).node("a0") for measure in ("flops", "peak"))
    rows = [row for row in found.bindings if row.binding in flops.sources]
    assert len(rows) == 6
    total = sum([found.amount(row.work.flops).value or 0 for row in rows])
    assert f"×6  {amount_text(total, 'flops')} " in flops.badge
    held = [amount.value or 0 for row in rows if (amount := found.held(row.binding)) is not None]
    assert f"×6  {amount_text(max(held), 'peak')} " in peak.badge


@pytest.mark.parametrize(
    "wrong", [("--shape", "q=1"), ("--input", "x=ones"), ("--run-calls", "nothing.txt"), ("--func", "nobody")]
)
def test_costs_refuse_what_only_runs_take(wrong: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(CHAIN)
    assert rxe_cli("graph", str(tmp_path / "m.py"), "--heat", "flops", *wrong).exit_code == 2


def test_each_run_starts_from_inputs_that_no_run_has_overwritten() -> None:
    array = np.zeros(3, np.float32)
    nested = one_run.copied((array, (array, 4)))
    array[:] = 7
    assert isinstance(nested, tuple)
    assert [float(item.sum()) for item in (nested[0], nested[1][0])] == [0.0, 0.0]
    assert nested[1][1] == 4
