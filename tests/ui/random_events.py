"""Random keys, clicks and sizes against the explorer: `python -m tests.ui.random_events -n 200000`. Nothing may raise."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
import time

from textual import events
from textual.geometry import Size

from relax_explorer.core.codes import internal
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.app import Explorer
from tests.support.roundtrip import DATA, SAMPLES

SIZES = ((80, 24), (120, 40), (200, 60), (61, 17), (50, 10), (100, 5), (30, 3))
KEYS = [key.key for key in keys.KEYS if key.key and key.action not in ("quit", "back", "export")]
TEXTS = (
    "break nan",
    "who x",
    "stage 1",
    "go y",
    "all:add",
    "op:matmul",
    "3",
    "zeros",
    "n",
    "goto 3",
    "print x",
    "until",
    "theme mono",
    "[b]",
    "diff beside",
    "fold all",
    "fold close",
    "checks all",
    "checks given n == 1",
    "solver 3",
    "toggle 2",
    "passes FoldConstant,LegalizeOps",
    "mark a",
    "marks",
    "LegalizeOps{skip=add}",
)
PROGRAMS = (
    str(DATA / "mlp" / "00_input.py"),
    str(SAMPLES[4]),
    str(SAMPLES[5]),
    str(SAMPLES[0].parent / "broken_build"),
    str(SAMPLES[0].parent / "relations" / "waiting.relay"),
    str(SAMPLES[0].parent / "shapes" / "fast_flatten.shapes"),
)


def event(app: Explorer, choose: random.Random) -> list[events.Event]:
    """Keys, a line of text behind a key that opens one, a click, or another size."""
    kind = choose.random()
    if kind < 0.9:
        return [pressed(choose.choice(KEYS))]
    if kind < 0.95:
        opening = choose.choice(("colon", "slash", "I"))
        text = choose.choice(TEXTS)
        return [pressed(name) for name in (opening, *["space" if c == " " else c for c in text], "enter")]
    width, height = app.size
    if kind < 0.99 and width and height:
        x, y = choose.randrange(width), choose.randrange(height)
        parts = (events.MouseDown, events.MouseUp)
        return [part(None, x, y, 0, 0, 1, False, False, False, x, y) for part in parts]
    size = Size(*choose.choice(SIZES))
    return [events.Resize(size, size)]


def pressed(key: str) -> events.Key:
    """A key as a terminal sends it."""
    character = key if len(key) == 1 else {"space": " ", "colon": ":", "slash": "/"}.get(key)
    return events.Key(key, character)


async def session(path: str, count: int, seed: int) -> int:
    """Open a program and send events, some of them faster than they are handled. An event that raises ends the app with its error."""
    choose = random.Random(seed)
    app = Explorer(path, "default")
    async with app.run_test(size=choose.choice(SIZES[:3])) as pilot:
        await pilot.pause(0.2)
        for number in range(count):
            for item in event(app, choose):
                app.post_message(item)
            if number % 10 == 0:
                await pilot.pause(0.01)
            own = [item for item in app.state.failures if item.code is internal.OWN_FAULT]
            if own:
                raise AssertionError(f"{path}, seed {seed}, event {number}: {own[0].message} {own[0].help}")
            if app.return_code:
                raise AssertionError(
                    f"{path}, seed {seed}, event {number}: the explorer left with {app.return_code}"
                )
            if app.return_code == 0:  # `:exit` can be typed by chance
                return number + 1
        await pilot.pause(0.2)
        app.exit(0)
    return count


async def main() -> None:
    """Run sessions of 500 events until the number is reached."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    done, seed, start = 0, chosen.seed, time.monotonic()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # exports are written there
        while done < chosen.n:
            done += await session(PROGRAMS[seed % len(PROGRAMS)], min(500, chosen.n - done), seed)
            seed += 1
            sys.stdout.write(f"{done} events, {time.monotonic() - start:.0f} s\n")
            sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
