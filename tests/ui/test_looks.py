"""Each screen as text at three sizes, compared with what was looked at: `pytest tests/ui/test_looks.py --update` after a look."""

from __future__ import annotations

import pytest

from relax_explorer.core import passes as registry
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.screens.passes_screen import PassesScreen
from relax_explorer.ui.tui.screens.pipeline_editor import PipelineEditor
from relax_explorer.ui.tui.widgets.framed import FixedLines
from tests.support.golden import Golden
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle, press

BROKEN = str(SAMPLES[0].parent / "broken_build")
LAYER = str(next(path for path in SAMPLES if path.stem.startswith("12")))
RELATIONS = str(SAMPLES[0].parent / "relations" / "waiting.relay")
CONTRACTS = str(SAMPLES[0].parent / "shapes" / "fast_flatten.shapes")
LOOKS = {
    "passes": (BROKEN, ("right_square_bracket", "right_square_bracket", "c")),
    "passes-beside": (BROKEN, ("right_square_bracket", "right_square_bracket", "d", "c", "c", "j", "z")),
    "passes-only": (BROKEN, ("right_square_bracket", "right_square_bracket", "d", "d")),
    "pipeline": (LAYER, ("E", "G", "space", "slash", *"cano", "enter", "escape")),
    "bisect": (BROKEN, ("B",)),
    "kernel": (BROKEN, ("B", "enter", "enter", "c")),
    "debug": (LAYER, ("2", "s", "s", "s", "b")),
    "debug-shapes": (LAYER, ("2", "s", "v")),
    "debug-calls": (str(SAMPLES[5]), ("2", *"sssssss", "v", "v")),
    "debug-breaks": (LAYER, ("2", "s", "b", "a", *"b + 1", "enter", "v", "v", "v")),
    "inputs": (LAYER, ("2", "I")),
    "graph": (LAYER, ("j", "j", "j", "3", "plus")),
    "graph-calls": (str(SAMPLES[5]), ("3", "f")),
    "compare": (BROKEN, (*["right_square_bracket"] * 3, "5")),
    "compare-programs": (BROKEN, (*["right_square_bracket"] * 3, "5", "p")),
    "problems": (LAYER, ("4",)),
    "checks": (str(SAMPLES[2]), ("6",)),
    "checks-all": (LAYER, ("6", "f", "f", "j", "j")),
    "solver": (RELATIONS, ("s",) * 5),
    "solver-contracts": (CONTRACTS, ("n", "n", "v", "v")),
    "help": (LAYER, ("question_mark",)),
    "palette": (LAYER, ("ctrl+p",)),
    "inspect": (LAYER, ("2", "s", "i")),
    "home": (LAYER, ("0",)),
    "explain": (LAYER, ("j", "j", "K")),
    "solver-matches": (CONTRACTS, ("colon", *"matches", "enter")),
    "typed": (LAYER, ("T", "colon", *"explain", "space", *"nn.s", "tab")),
}

SIZES = ((80, 24), (120, 40), (200, 60))
SCREENS = ("passes", "passes-beside", "debug", "graph", "compare", "problems", "checks", "solver", "home")
"""Those that have a layout of their own in 120 columns."""


async def settled(pilot: object, app: Explorer) -> None:
    """Wait for what arrives by itself: the history of the selected value, and which passes would change the program."""
    if isinstance(app.screen, PipelineEditor):
        found = app.screen.choices.verdicts
        await wait(pilot, lambda: len(found) == len(registry.names()))
    elif isinstance(app.frame, PassesScreen) and app.frame.query_one("#history").size.height:
        panel = app.frame.query_one("#history_text", FixedLines)
        await wait(pilot, lambda: panel.text or not app.state.selection.variable)
    await wait(pilot, lambda: app.is_at_rest or isinstance(app.screen, PipelineEditor))
    await idle(pilot, app)


@pytest.mark.parametrize(
    ("name", "size"),
    [pytest.param(n, s, id=f"{n}-{s[0]}") for n in LOOKS for s in SIZES if s[0] != 120 or n in SCREENS],
)
async def test_look(name: str, size: tuple[int, int], golden: Golden) -> None:
    path, keys = LOOKS[name]
    if name == "passes-only" and size[0] < 120:
        keys = keys[:-1]  # where stages don't fit side by side, d leaves that step out
    app = Explorer(path)
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *keys)
        await settled(pilot, app)
        # How far values differ depends on how the machine rounds, and paths on where the project lies.
        lines = [line.partition("DIFFERENT, ")[0] for line in screen_text(app).split("\n")]
        lines = [line.partition(str(SAMPLES[0].parent))[0].rstrip() for line in lines]
        shown = "\n".join(lines)
        golden.check(f"{name}-{size[0]}.txt", shown + "\n")
