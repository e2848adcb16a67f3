"""The explorer on the generated module of 1,000 bindings: a whole process to its first frame, and one key to its repaint."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.perf.benchmark import Benchmark, Work
from tests.perf.generate import transformer

# Run in a process of its own, so that imports count: prints nothing, ends when the text of the module is on the screen.
_FIRST_FRAME = """
import asyncio, os, sys
from relax_explorer.ui.tui.app import Explorer
async def main():
    app = Explorer(sys.argv[1])
    async with app.run_test(size=(160, 50)) as pilot:
        while app.session is None or not app.query_one("#ir").rows:
            await pilot.pause(0.005)
        os._exit(0)
asyncio.run(main())
"""


def _file(bindings: int) -> str:
    path = Path(tempfile.mkdtemp()) / "generated.py"
    path.write_text(transformer(bindings), encoding="utf-8")
    return str(path)


def _first_frame(bindings: int) -> tuple[str, Work]:
    path = _file(bindings)
    return "", lambda: subprocess.run([sys.executable, "-c", _FIRST_FRAME, path], check=True)


def _key(bindings: int) -> tuple[str, Work]:
    """One key, from the press to the drawn frame; the application lives in a loop of its own."""
    from relax_explorer.ui.tui.app import Explorer

    loop = asyncio.new_event_loop()
    app = Explorer(_file(bindings), "CanonicalizeBindings")
    running = app.run_test(size=(160, 50))

    async def start() -> None:
        pilot = await running.__aenter__()
        while app.session is None or len(app.session.stages) < 2:
            await pilot.pause(0.01)

    async def press() -> None:
        app.press("down")
        app.screen._compositor.render_update(full=True)
        await asyncio.sleep(0)

    loop.run_until_complete(start())
    return "", lambda: loop.run_until_complete(press())


TUI = [
    Benchmark("first-frame-1000", partial(_first_frame, 1_000)),
    Benchmark("key-1000", partial(_key, 1_000), repeat=20),
]
