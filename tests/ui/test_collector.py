"""The collector of garbage leaves open programs alone, so that keys never wait for it; programs that were closed go."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.ui.tui.app import Explorer
from tests.perf.generate import transformer
from tests.ui.test_screens import idle


class Knot:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.me = self


def is_seen(module: rxe.IRModule) -> bool:
    """True if the collector visits a binding of a module."""
    binding = module["main"].body.blocks[0].bindings[5]
    return any(item is binding for item in gc.get_objects())


@pytest.mark.usefixtures("own_process")
async def test_open_programs_are_out_of_the_collectors_sight(tmp_path: Path) -> None:
    for name, count in (("one.py", 200), ("two.py", 100)):
        (tmp_path / name).write_text(transformer(count))
    knot = Knot()
    app = Explorer(str(tmp_path / "one.py"), pipeline="")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        assert app.state.session is not None
        assert len(app.state.session.stages) == 1
        assert not is_seen(app.state.session.stages[0].module)
        gone = [weakref.ref(knot), weakref.ref(app.state.session.stages[0].module)]
        del knot
        app.stage_control.pipeline = "ToNonDataflow"
        app.stage_control.open(str(tmp_path / "two.py"))
        await idle(pilot, app)
        assert len(app.state.session.stages) == 2
        made = rxe.apply_pass(app.state.session.stages[1].module, "LegalizeOps")
        assert is_seen(made)
        app.stage_control._grown(app.state.session)
        assert not is_seen(made), "what a pass made, when its stage is told"
        assert [item() for item in gone] == [None, None]
    assert gc.get_freeze_count() == 0
