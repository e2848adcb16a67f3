"""Program of a child process: opens the explorer as `play` does, executes command lines, presses keys, and prints what was refused.

Standard input holds the program, the lines, and the keys, as JSON. Playing them as a recording would take a hundred times as long.
"""

from __future__ import annotations

import asyncio
import json
import sys

from relax_explorer.ui.cli.exploring import explorer
from relax_explorer.ui.tui.key_recording import at_rest
from relax_explorer.ui.tui.typed import execute_typed


async def main() -> None:
    program, lines, presses = json.load(sys.stdin)
    app = explorer(
        input=program, passes="", screen="debug", profile="auto", func=None, input_=(), shape=(), packed=(), const=None, calls=None,
        theme="auto", reduce_motion=False, keys="default", key=(),
    )  # fmt: skip
    app.permit.is_all = False
    async with app.run_test(size=(120, 30)) as pilot:
        await at_rest(pilot, lambda: app.is_at_rest)
        for line in lines:
            app.show_screen("debug")
            execute_typed(app, line)
            while not app.jobs.is_idle:
                await asyncio.sleep(0.001)
        for key in presses:
            await pilot.press(key)
    for said in app.permit.refused:
        sys.stdout.write(f"{said}\n")


asyncio.run(main())
