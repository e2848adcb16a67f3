"""Columns of costs beside bindings, heat and storages on the canvas: the keys, the lines of `:`, the command lines that do the same."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.core.cost.amounts import PROBE
from relax_explorer.core.cost.program_cost import ModuleCosts
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.load import load
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.cost_columns import Columns, counts_of
from relax_explorer.ui.tui.twins import command_line
from relax_explorer.viz.cost_text import bytes_text, number_text
from relax_explorer.viz.storage_view import NOTHING
from tests.support.roundtrip import DATA, SAMPLES
from tests.ui.test_explorer import LLAMA, screen_text
from tests.ui.test_graph_screen import canvas
from tests.ui.test_screens import idle, press, typed

PLANNED = LLAMA.replace("00_input", "26_StaticPlanBlockMemory")
MLP = str(DATA / "mlp")
SMALL = str(SAMPLES[0].parent / "01_tensor_program.py")


def row_of(app: Explorer, name: str) -> str:
    """The line of the screen that shows a binding."""
    return next(line for line in screen_text(app).splitlines() if f" {name} " in line and " = " in line)


async def test_columns_stand_beside_bindings_as_formulas_and_as_numbers() -> None:
    app = Explorer(LLAMA, pipeline="")
    cost = ModuleCosts(Session(load(LLAMA)).stages[0].module).of("forward")
    row = next(
        row for row in cost.bindings if row.binding.var is not None and row.binding.var.name == "matmul"
    )
    async with app.run_test(size=(160, 45)) as pilot:
        await idle(pilot, app)
        assert "FLOPs" not in screen_text(app)
        await typed(pilot, app, "columns flops moved peak")
        assert str(cost.amount(row.work.flops)) in row_of(app, "matmul")  # 6,144·b·s
        head = next(line for line in screen_text(app).splitlines() if "forward(" in line)
        assert all(title in head for title in ("FLOPs", "moved", "held"))
        await typed(pilot, app, "columns flops moved b=2 s=16")
        known = cost.at({"b": 2, "s": 16})
        assert f" {number_text(known.amount(row.work.flops).value)} " in row_of(app, "matmul")
        assert f" {bytes_text(known.amount(row.work.moved).value)} " in row_of(app, "matmul")
        assert "·b·s" not in row_of(app, "matmul")
        await typed(pilot, app, "columns peak")  # the lengths stay
        held = known.held(row.binding)
        assert held is not None
        assert bytes_text(held.value) in row_of(app, "matmul")
        await typed(pilot, app, "columns")
        assert "held" not in screen_text(app)


async def test_sums_stand_beside_the_result_and_the_sentence_tells_what_a_pass_saved() -> None:
    app = Explorer(MLP)
    async with app.run_test(size=(160, 45)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "columns flops moved n=8")
        stages = app.state.opened[0].stages
        fused = next(stage for stage in stages if stage.made_by.startswith("FuseTIR"))
        await typed(pilot, app, f"stage {fused.made_by}")
        before, after = (
            ModuleCosts(stage.module).of("forward").at({"n": 8}).moved.value
            for stage in (stages[fused.number - 1], fused)
        )
        assert before is not None
        assert after is not None
        result = next(line for line in screen_text(app).splitlines() if " return " in line)
        assert bytes_text(after) in result
        percent = round(100 * (before - after) / before)
        assert percent > 0
        assert f"moved −{percent} %" in screen_text(app)
        assert "FLOPs −" not in screen_text(app)  # the same


async def test_columns_of_a_run_and_of_the_debugger() -> None:
    app = Explorer(SMALL, pipeline="")
    async with app.run_test(size=(140, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "columns flops time")
        await idle(pilot, app)
        lines = screen_text(app).splitlines()
        assert any("µs" in line or " ms" in line for line in lines if " = " in line)
        await press(pilot, app, "2")
        await idle(pilot, app)
        assert any("FLOPs" in line and "time" in line for line in screen_text(app).splitlines())


async def test_lines_are_refused_with_what_they_take() -> None:
    app = Explorer(LLAMA, pipeline="")
    async with app.run_test(size=(160, 45)) as pilot:
        await idle(pilot, app)
        for line, text in (
            ("columns speed", "it takes flops, moved, peak, time"), ("columns flops q=3", "no parameter and no match_cast has a shape variable 'q'"),
            ("columns flops n=", "it takes flops"), ("heat warm", "it takes flops, moved, peak"), ("heat flops moved", "heat takes one measure"),
        ):  # fmt: skip
            await typed(pilot, app, line)
            assert text in screen_text(app), line
            assert not app.state.options.columns
            assert not app.state.options.heat


async def test_heat_without_a_run_by_key_and_by_line() -> None:
    app = Explorer(PLANNED, pipeline="")
    async with app.run_test(size=(140, 45)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "3", "C")
        graph = canvas(app).graph
        assert graph.notes[0].startswith("FLOPs of each binding")
        assert f"b = {PROBE}" in graph.notes[1]
        assert max(node.heat for node in graph.nodes) == 4
        assert "up to" in str(canvas(app).border_subtitle)
        assert command_line(app).endswith("--heat flops")
        await typed(pilot, app, "heat moved b=1 s=8")
        assert canvas(app).graph.notes[0].startswith("bytes that each binding reads and writes")
        assert "b = 1, s = 8" in canvas(app).graph.notes[1]
        assert "--heat moved --shape b=1 --shape s=8" in command_line(app)
        await typed(pilot, app, "heat moved b=2 s=8")
        assert "b = 2, s = 8" in canvas(app).graph.notes[1]
        await press(pilot, app, "C")
        assert canvas(app).graph.notes[0].startswith("bytes that are held")
        await press(pilot, app, "C")
        assert all(node.heat < 0 for node in canvas(app).graph.nodes)
        assert "next in the run" in str(canvas(app).border_subtitle)
        for measure, start in (("bytes", "bytes of each value"), ("time", "time of each binding")):
            await typed(pilot, app, f"heat {measure}")
            await idle(pilot, app)
            assert canvas(app).graph.notes[0].startswith(start)


async def test_storages_are_colours_and_without_a_plan_it_is_told_who_makes_one() -> None:
    app = Explorer(PLANNED, pipeline="")
    async with app.run_test(size=(140, 45)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "3", "s")
        graph = canvas(app).graph
        assert graph.node("take").tint == "storage-0"
        assert "s0, 128·b·s B" in str(canvas(app).border_subtitle)
        assert "[on #" in str(canvas(app).border_subtitle)
        assert command_line(app).endswith("--storages")
        await typed(pilot, app, "take", "slash")
        assert "s0, 128·b·s B: take 4–61" in screen_text(app)
        await press(pilot, app, "s")
        assert not canvas(app).graph.node("take").tint
    app = Explorer(LLAMA, pipeline="")
    async with app.run_test(size=(140, 45)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "3", "s")
        assert NOTHING in screen_text(app)
        assert not app.state.options.heat


async def test_without_colours_the_legend_has_no_squares() -> None:
    app = Explorer(PLANNED, pipeline="", theme="mono")
    async with app.run_test(size=(140, 45)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "3", "s")
        assert str(canvas(app).border_subtitle).startswith("s0, 128·b·s B")


def test_a_narrow_line_keeps_its_columns_and_leaves_the_type_out() -> None:
    module = Session(load(LLAMA)).stages[0].module
    counts = counts_of(module)
    from relax_explorer.ui.tui.cost_columns import _widths  # what no screen shows apart

    for room in (12, 40, 200):
        kinds = ("flops", "moved", "peak")
        widths = _widths(kinds, counts, {}, room)
        assert sum(widths.values()) <= room
        assert Columns(kinds, {}, counts, {}, widths, room)


CAST = """@R.function
def main(x: R.Tensor(dtype="float32", ndim=2)) -> R.Tensor(dtype="float32", ndim=2):
    m = T.int64()
    k = T.int64()
    y = R.match_cast(x, R.Tensor((m, k), "float32"))
    z = R.exp(y)
    return z
"""


async def test_lengths_that_a_match_cast_binds_may_be_given(tmp_path: Path) -> None:
    (tmp_path / "cast.py").write_text(CAST)
    app = Explorer(str(tmp_path / "cast.py"), pipeline="")
    async with app.run_test(size=(160, 45)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "columns flops moved")
        row = next(line for line in screen_text(app).splitlines() if " z " in line and "exp" in line)
        assert "m" in row.partition("f32")[2]  # a formula
        await typed(pilot, app, "columns flops moved m=16 k=4")
        row = next(line for line in screen_text(app).splitlines() if " z " in line and "exp" in line)
        assert "512 B" in row  # 64 elements read and written
        await typed(pilot, app, "columns flops q=4")
        assert "there are k, m" in screen_text(app)
