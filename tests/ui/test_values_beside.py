"""From 160 columns on, values stand beside the rows of Passes: of a run in the background if it costs next to nothing, else a key starts one."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.ui.tui import values_beside
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.values_beside import is_cheap
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle, press, typed

SMALL = """@R.function
def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    a = R.zeros_like(x)
    b = R.add(a, R.const(7.0, "float32"))
    return b
"""
FAILING = SMALL.replace("R.zeros_like(x)", 'R.call_pure_packed("nobody.has_this", x, sinfo_args=(R.Tensor((2, 3), "float32"),))')  # fmt: skip


def program(folder: Path, text: str = SMALL) -> str:
    (folder / "p.py").write_text(text)
    return str(folder / "p.py")


async def at_rest(pilot: object, app: Explorer) -> str:
    await idle(pilot, app)
    await wait(pilot, lambda: app.is_at_rest)
    await idle(pilot, app)
    return screen_text(app)


def row(text: str, name: str) -> str:
    return next(line for line in text.split("\n") if f" {name} " in line and "=" in line)


@pytest.mark.parametrize(("width", "has_values"), [(159, False), (160, True), (200, True)])
async def test_values_stand_beside_their_bindings_without_a_run_of_debug(
    width: int, has_values: bool, tmp_path: Path
) -> None:
    app = Explorer(program(tmp_path), pipeline="")
    async with app.run_test(size=(width, 40)) as pilot:
        shown = await at_rest(pilot, app)
        assert ("7 … 7" in row(shown, "b")) == has_values
        assert app.state.run is None
        assert {len(line) for line in shown.split("\n")} == {width}
        assert "r values" not in shown


async def test_a_run_that_would_cost_something_waits_for_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    monkeypatch.setattr(values_beside, "MOST_FLOPS", 1)
    monkeypatch.setattr(values_beside, "_values", lambda *args: started.append(args))
    app = Explorer(program(tmp_path), pipeline="")
    async with app.run_test(size=(180, 40)) as pilot:
        shown = await at_rest(pilot, app)
        assert started == []
        assert "r values" in shown.split("\n")[-1]
        await press(pilot, app, "r")
        assert app.screen_name == "debug"
        await press(pilot, app, "c", "1")
        shown = await at_rest(pilot, app)
        assert "7 … 7" in row(shown, "b")  # those of the run
        assert "r values" not in shown


async def test_what_cannot_run_has_no_values_and_a_key(tmp_path: Path) -> None:
    app = Explorer(program(tmp_path, FAILING), pipeline="")
    async with app.run_test(size=(180, 40)) as pilot:
        shown = await at_rest(pilot, app)
        assert "r values" in shown.split("\n")[-1]
        assert not app.state.failures


async def test_each_stage_has_its_own_values_and_columns_take_their_place(tmp_path: Path) -> None:
    for number, constant in enumerate((7, 9)):
        (tmp_path / f"{number}_Pass.py").write_text(SMALL.replace("7.0", f"{constant}.0"))
    app = Explorer(str(tmp_path))
    async with app.run_test(size=(200, 40)) as pilot:
        await at_rest(pilot, app)
        await press(pilot, app, "right_square_bracket", "d", "d", "d")  # without changes
        shown = await at_rest(pilot, app)
        assert "9 … 9" in row(shown, "b")
        await typed(pilot, app, "columns flops")
        shown = await at_rest(pilot, app)
        assert "FLOPs" in shown
        await press(pilot, app, "left_square_bracket")
        await typed(pilot, app, "columns")
        shown = await at_rest(pilot, app)
        assert "7 … 7" in row(shown, "b")


def test_costs_decide() -> None:
    from relax_explorer.core.syntax.load import load

    small = load(str(SAMPLES[0]))
    assert is_cheap(small, next(iter(small.relax_functions)), {})
    from relax_explorer.core.syntax.parser import parse

    text = SMALL.replace("(2, 3)", "(20000, 3000)")
    assert not is_cheap(parse(text), "main", {})
    symbolic = parse(SMALL.replace("(2, 3)", '("n", 3000)'))
    assert is_cheap(symbolic, "main", {})
    assert is_cheap(symbolic, "main", {"n": 100})
    assert not is_cheap(symbolic, "main", {"n": 100_000})
    many = SMALL.replace("    return", "".join(f"    c{n} = R.exp(b)\n" for n in range(values_beside.MOST_BINDINGS)) + "    return")  # fmt: skip
    assert not is_cheap(parse(many), "main", {})


@pytest.mark.parametrize(("call", "is_run"), [
    (CallInputs("main", {}, {"n": 5}), True), (CallInputs("main", {}, {"n": 1_000_000}), False), (CallInputs("main", {"x": "weights.npz"}), False),
])  # fmt: skip
async def test_given_lengths_are_those_of_the_run_and_given_inputs_are_not_read_by_surprise(
    call: CallInputs, is_run: bool, tmp_path: Path
) -> None:
    app = Explorer(program(tmp_path, SMALL.replace("(2, 3)", '("n", 3)')), pipeline="", call=call)
    async with app.run_test(size=(180, 40)) as pilot:
        shown = await at_rest(pilot, app)
        assert ("7 … 7" in row(shown, "b"), "r values" in shown.split("\n")[-1]) == (is_run, not is_run)
