"""A line whose change lies right of where the terminal ends says so, until it was scrolled there."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.viz.tables import FARTHER, Row, colored_row, goes_farther, side
from relax_explorer.viz.visible import columns
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press, typed

TEXT = """@I.ir_module
class Module:
    @T.prim_func
    def mix(X: T.Buffer((4, 4), "float32"), Y: T.Buffer((4, 4), "float32"), Z: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("mix"):
                a, b = T.axis.remap("SS", [i, j])
                Z[a, b] = T.max(X[a, b] + Y[a, b], X[a, b] * Y[a, b]) + T.max(X[a, b], Y[a, b])

    @R.function
    def main(first: R.Tensor((4, 4), "float32"), second: R.Tensor((4, 4), "float32")):
        mixed = R.call_tir(Module.mix, (first, second), out_sinfo=R.Tensor((4, 4), "float32"))
        joined = R.concat((first, second, mixed, first, second, mixed, first, second, mixed, mixed), axis=0)
        return joined
"""


@pytest.fixture
def stages(tmp_path: Path) -> str:
    """The end of a line of a kernel changes, then that of a binding, then the start of both."""
    kernel = TEXT.replace("Y[a, b])\n", "Y[b, a])\n")
    binding = kernel.replace("mixed, mixed), axis", "mixed, first), axis")
    start = binding.replace("T.max(X[a, b] + ", "T.max(Y[a, b] + ").replace("concat((first", "concat((second")
    place = tmp_path / "stages"
    place.mkdir()
    for number, text in enumerate([TEXT, kernel, binding, start]):
        (place / f"{number:02}_stage.py").write_text(text)
    return str(place)


def changed(app: Explorer, text: str) -> str:
    """The line with a text and a mark."""
    return next(line for line in screen_text(app).split("\n") if "~ " in line[:4] and text in line)


@pytest.mark.parametrize(("stage", "text", "piece"), [(1, "T.max(", "→"), (2, "concat(", "mixed→first")])
async def test_a_change_behind_the_cut_is_told_and_scrolled_to(
    stages: str, stage: int, text: str, piece: str
) -> None:
    app = Explorer(stages)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, f"stage {stage}")
        await press(pilot, app, "G", "C")
        assert f"…{FARTHER}" in changed(app, text)
        assert piece not in changed(app, text)
        await press(pilot, app, *["l"] * 12)
        line = next(line for line in screen_text(app).split("\n") if piece in line)
        assert FARTHER not in line


@pytest.mark.parametrize("width", [80, 230])
async def test_changes_in_sight_are_not_told(stages: str, width: int) -> None:
    app = Explorer(stages)
    async with app.run_test(size=(width, 24)) as pilot:
        await idle(pilot, app)
        for stage in (0, 3) if width == 80 else (0, 1, 2, 3):
            await typed(pilot, app, f"stage {stage}")
            assert FARTHER not in screen_text(app), stage


async def test_each_side_tells_what_lies_behind_its_cut(stages: str) -> None:
    app = Explorer(stages)
    async with app.run_test(size=(120, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "stage 1")
        await press(pilot, app, "d")
        line = next(line for line in screen_text(app).split("\n") if FARTHER in line)
        assert line.count(f"…{FARTHER}") == 2
        await press(pilot, app, *["l"] * 9)
        assert FARTHER not in screen_text(app)


@pytest.mark.parametrize(
    ("pieces", "is_farther"),
    [
        ([("text", 30)], False),
        ([("text", 16), ("new", 14)], False),
        ([("text", 17), ("new", 13)], True),
        ([("text", 17), ("old", 13)], True),
        ([("text", 17), ("new", 3)], False),  # it fits
        ([("text", 18), ("new", 3)], True),
        ([("text", 17), ("call", 13)], False),
        ([("new", 2), ("text", 20), ("new", 2)], True),
        ([("text", 25), ("new", 2), ("text", 9)], True),
        ([], False),
    ],
)
def test_pieces_behind_a_cut(pieces: list[tuple[str, int]], is_farther: bool) -> None:
    row = colored_row((role, "x" * size) for role, size in pieces)
    assert goes_farther(row.pieces, 20) == is_farther
    shown = side(row, 20)
    assert sum(columns(text) for _, text in shown) == 20
    assert (("new", FARTHER) in shown) == is_farther
    for width in range(6):
        assert sum(columns(text) for _, text in side(row, width)) == width


async def test_the_mark_stands_where_the_text_is_cut(stages: str) -> None:
    """Three cells at the left are no text; a note stands behind the mark."""
    app = Explorer(stages)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        width = app.view.scrollable_content_region.width
        for note in ("", "  note"):
            for start, is_marked in ((width - 7, False), (width - 6, True)):
                pieces = (("text", "x" * (start - len(note))), ("new", "y" * 9))
                app.view.show([Row("".join(text for _, text in pieces), pieces=pieces, note=note)], 0)
                await idle(pilot, app)
                shown = screen_text(app).split("\n")[2].rstrip()
                assert shown.endswith(f"x…{FARTHER}{note}" if is_marked else f"xyyy…{note}"), (note, start)
