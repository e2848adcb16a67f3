"""The table of values tells where each value comes from, and which binding reads it last."""

from __future__ import annotations

from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.viz.value_table import CELLS, HEAD, readers
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import press

PROGRAM = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), unread: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
        y = R.exp(x)
        z = Module.inner(y)
        if c:
            a = R.add(y, z)
            w = R.negative(a)
        else:
            w = y
        pair = (w, z)
        first = pair[0]
        return first

    @R.function
    def inner(y: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        deep = R.exp(y)
        m = R.negative(deep)
        return m
"""


def cells(function: str, name: str) -> list[str]:
    fn = rxe.parse(PROGRAM)[function]
    found = readers(fn).cells(name)
    assert len(found) == len(HEAD) == CELLS
    return found.split()


@pytest.mark.parametrize(
    ("function", "name", "shown"),
    [
        ("main", "x", ["param", "y", "#1"]),
        ("main", "y", ["#1", "a", "#4"]),  # the If is #3; its branches follow
        ("main", "z", ["#2", "pair", "#6"]),
        ("main", "a", ["#4", "w_then", "#5"]),
        ("main", "first", ["#7", "return"]),
        ("main", "unread", ["param", "none"]),
        ("main", "c", ["param", "w", "#3"]),
        ("inner", "y", ["param", "deep", "#1"]),
        ("inner", "m", ["#2", "return"]),
        ("inner", "x", []),  # of another function
    ],
)
def test_the_columns_of_a_value(function: str, name: str, shown: list[str]) -> None:
    assert cells(function, name) == shown


@pytest.mark.parametrize(("width", "has_them"), [(120, True), (100, False), (80, False), (200, True)])
async def test_they_stand_in_wide_tables(width: int, has_them: bool, tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    app = Explorer(str(path), "")
    async with app.run_test(size=(width, 40)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await press(pilot, app, "2", "s", "s")  # into the other function
        await press(pilot, app, "s")
        await wait(pilot, lambda: "deep" in screen_text(app))
        rows = [line for line in screen_text(app).splitlines() if "last reader" in line]
        assert bool(rows) is has_them
        values = [str(row.text) for row in app.state.run.values.of_width(width - 4)]
        assert [text.split()[-2:] for text in values if text.startswith("deep")] == [
            ["m", "#2"]
        ] or not has_them
        assert all(len(text) <= width for text in values)
