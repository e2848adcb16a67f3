"""Random events against the explorer: keys, typed lines, the mouse, sizes, and files that change while they are open.

`python -m tests.ui.random_events -n 200000` plays them without a terminal. Nothing may raise, and no work may fail by a fault of
ours. The last line tells the longest time that the explorer took no events.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from textual import events
from textual.geometry import Size

from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS
from relax_explorer.ui import directories
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.key_recording import screen_text
from relax_explorer.ui.tui.keys import PRESETS, keymap
from relax_explorer.ui.tui.typed import TYPED
from tests.support.roundtrip import DATA, SAMPLES

SIZES = ((80, 24), (120, 40), (200, 60), (61, 17), (50, 10), (100, 5), (30, 3), (1, 1))
ROOT = SAMPLES[0].parent
PROGRAMS = (
    str(DATA / "mlp" / "00_input.py"),
    str(SAMPLES[4]),
    str(SAMPLES[5]),
    str(ROOT / "broken_build"),
    str(ROOT / "relations" / "waiting.relay"),
    str(ROOT / "shapes" / "fast_flatten.shapes"),
)
MORE_PROGRAMS = (
    *PROGRAMS,
    *[str(path) for path in SAMPLES],
    str(ROOT / "relations" / "layer.relay"),
    *[str(path.parent) for path in sorted(DATA.glob("*/00_input.py"))],
    str(DATA.parent / "decoder" / "decoder.py"),
    str(DATA.parent / "cuda_schedules" / "softmax.py"),
    str(DATA.parent / "fuzz" / "a_call_of_a_missing_function.py"),
)
PRESSED = sorted(
    {part for key in keys.KEYS for part in key.key.split() if key.action not in ("quit", "back")}
    | {
        "f1",
        "f2",
        "ctrl+a",
        "ctrl+e",
        "ctrl+k",
        "ctrl+w",
        "ctrl+z",
        "ctrl+c",
        "ctrl+p",
        "backspace",
        "delete",
    }
    | {"shift+up", "shift+down", "ctrl+left", "ctrl+right", "at", "ctrl+at", "é", "世", "\u200b"}
)
LEAVING = ("q", "ctrl+q")
OPENING = ("colon", "colon", "colon", "slash", "I", "E", "a", "B", "ctrl+p", "m", "apostrophe")
ARGUMENTS = (
    "", "x", "y", "lv", "n", "main", "3", "99", "-1", "0", "1 2", "nan", "op:matmul", "x[0]", "x[0, 1] + n", "x if n > 3", "start",
    "end", "n == 1", "n = 7", "all", "proved", "given n == 1", "given (", "open", "close", "inline", "beside", "only", "off", "mono",
    "light", "LegalizeOps", "LegalizeOps{skip=add}", "FoldConstant,LegalizeOps", "svg", "mermaid", "html", "json", "text", "out.svg",
    "svg nowhere/x.svg", "zeros", "randn:3", "[b]", "[/b]", "max(x)", "é", "\x1b[31m", "1e999", "op:", "pat:add(_, _)", "pat:(", "all:add",
    "ty:(n,", "var:x", "/", "..", "~",
)  # fmt: skip
TYPED_LINES = tuple(
    name for name in [item.name for item in TYPED] + [item.name for item in DEBUG_COMMANDS] if name not in ("exit", "quit", "open")
)  # fmt: skip
MOST_ESCAPES = 200
STALL = 0.01  # seconds between looks at the clock


class Storm:
    """Chooses events for an explorer whose files stand in a folder of their own."""

    def __init__(self, app: Explorer, choose: random.Random, files: list[Path]) -> None:
        self.app, self.choose, self.files = app, choose, files
        self.kept = {path: path.read_bytes() for path in files}
        self.last: list[str] = []  # what was sent, for the message about a fault

    def next(self) -> list[events.Event]:
        """Some events that belong together."""
        kinds: dict[Callable[[], list[events.Event]], float] = {
            self._key: 80, self._line: 6, self._click: 4, self._scroll: 3, self._drag: 1.5, self._size: 2, self._paste: 0.5,
            self._focus: 0.5, self._opened: 0.7, self._left: 0.05,
        }  # fmt: skip
        found = self.choose.choices(list(kinds), list(kinds.values()))[0]()
        self.last = [*self.last[-30:], *[_named(event) for event in found]]
        return found

    def _key(self) -> list[events.Event]:
        return [pressed(self.choose.choice(PRESSED))]

    def _left(self) -> list[events.Event]:
        return [pressed(self.choose.choice(LEAVING))]

    def _line(self) -> list[events.Event]:
        """A line of text behind a key that opens one."""
        text = self.choose.choice(ARGUMENTS)
        opening = self.choose.choice(OPENING)
        if opening == "colon":
            text = f"{self.choose.choice(TYPED_LINES)} {text}"
        end = self.choose.choice(("enter", "enter", "enter", "tab", "escape"))
        return [pressed(name) for name in (opening, *["space" if c == " " else c for c in text], end)]

    def _place(self) -> tuple[int, int]:
        """A cell of the screen. A terminal that shrinks may tell of one outside."""
        width, height = self.app.size
        return self.choose.randrange(width + 3), self.choose.randrange(height + 2)

    def _click(self) -> list[events.Event]:
        x, y = self._place()
        button, count = self.choose.choice((1, 1, 1, 2, 3)), self.choose.choice((1, 1, 1, 2, 3))
        return clicks(x, y, button, count)

    def _drag(self) -> list[events.Event]:
        places = [self._place() for _ in range(4)]
        parts = (events.MouseDown, events.MouseMove, events.MouseMove, events.MouseUp)
        return [_mouse(part, x, y, 1) for part, (x, y) in zip(parts, places, strict=True)]

    def _scroll(self) -> list[events.Event]:
        x, y = self._place()
        part = self.choose.choice((events.MouseScrollUp, events.MouseScrollDown, events.MouseMove))
        return [_mouse(part, x, y, 0) for _ in range(self.choose.randrange(1, 5))]

    def _size(self) -> list[events.Event]:
        size = Size(*self.choose.choice(SIZES))
        return [events.Resize(size, size)]

    def _paste(self) -> list[events.Event]:
        return [events.Paste(self.choose.choice(("x\ny", "", "\x00\x1b]0;a\x07", "n = 3", "x" * 3000)))]

    def _focus(self) -> list[events.Event]:
        return [self.choose.choice((events.AppFocus, events.AppBlur))()]

    def _opened(self) -> list[events.Event]:
        """Change a file, and perhaps open one."""
        path = self.choose.choice(self.files)
        self._change(path)
        if self.choose.random() < 0.3:
            return []
        goal = self.choose.choice((str(path), str(path.parent), str(path.parent.parent), "nowhere.py", ""))
        return [pressed("escape"), pressed("colon"), events.Paste(f"open {goal}"), pressed("enter")]

    def _change(self, path: Path) -> None:
        """Damage a file, or write it as it was."""
        data = self.kept[path]
        cut = self.choose.randrange(len(data) + 1)
        other = self.kept[self.choose.choice(self.files)]
        lines = data.splitlines(keepends=True)
        del lines[self.choose.randrange(max(1, len(lines))) :][:1]
        kind = self.choose.randrange(8)
        if kind == 0:
            path.unlink(missing_ok=True)
            return
        path.write_bytes(
            {
                1: data[:cut],
                2: data[:cut] + b"\xff\x00\x1b[" + data[cut:],
                3: b"".join(lines),
                4: other,
                5: b"",
            }.get(kind, data)
        )


def pressed(key: str) -> events.Key:
    """A key as a terminal sends it."""
    character = key if len(key) == 1 else {"space": " ", "colon": ":", "slash": "/"}.get(key)
    return events.Key(key, character)


def clicks(x: int, y: int, button: int = 1, count: int = 1) -> list[events.Event]:
    """Clicks on a cell as a terminal sends them."""
    return [_mouse(part, x, y, button) for part in (events.MouseDown, events.MouseUp) * count]


def _mouse(part: type[events.MouseEvent], x: int, y: int, button: int) -> events.Event:
    return part(None, x, y, 0, 0, button, False, False, False, x, y)


def _named(event: events.Event) -> str:
    if isinstance(event, events.Key):
        return event.key
    if isinstance(event, events.MouseEvent):
        return f"{type(event).__name__}({event.x}, {event.y}, button {event.button})"
    return f"Paste({event.text[:60]!r})" if isinstance(event, events.Paste) else repr(event)


def copied(path: Path, folder: Path) -> tuple[Path, list[Path]]:
    """A copy of a program and the files that it consists of."""
    goal = folder / path.name
    if path.is_dir():
        shutil.copytree(path, goal)
    else:
        shutil.copy(path, goal)
    found = sorted(goal.glob("*.py")) if goal.is_dir() else [goal]
    return goal, found


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A folder in which exports, reports of faults, and lists of recent files are written."""
    before = directories.state
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        directories.state = lambda: Path(name) / "state"
        try:
            yield Path(name)
        finally:
            directories.state = before


async def session(path: str, count: int, seed: int, folder: Path) -> tuple[int, float]:
    """Open a program and send events, some of them faster than they are handled.

    The number of events sent, and the longest time in seconds in which none was taken. Raises AssertionError after a fault.
    """
    choose = random.Random(seed)
    scratch = Path(tempfile.mkdtemp(dir=folder))
    program, files = copied(Path(path), scratch)
    preset = choose.choice(("default", "default", *PRESETS))
    app = Explorer(
        str(program), choose.choice(("default", "default", "zero,default_build", "")), choose.choice(keys.SCREENS),
        theme=choose.choice(("auto", "dark", "light", "mono")), is_ascii=choose.random() < 0.2, is_still=choose.random() < 0.2,
        keymap=keymap(preset, {}),
    )  # fmt: skip
    storm, sent = Storm(app, choose, files), 0
    faults: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, found: faults.append(str(found)))

    def check() -> None:
        faults.extend(item.read_text() for item in directories.state().glob("crash-*.txt"))
        if app.return_code:
            faults.append(f"the explorer left with {app.return_code}")
        if faults:
            last = " ".join(storm.last)
            raise AssertionError(f"{path}, seed {seed}, event {sent}, after {last}:\n{faults[0]}")

    async with app.run_test(size=choose.choice(SIZES[:3])) as pilot:
        clock = asyncio.create_task(longest_stall())
        await pilot.pause(0.2)
        while sent < count and app.is_running and app.return_code is None:
            found = storm.next()
            for item in found:
                app.post_message(item)
            sent += len(found)
            if choose.random() < 0.1:
                await pilot.pause(0.01)
            check()
        await pilot.pause(0.2)
        check()
        if app.is_running and app.return_code is None:
            await _settles(app)
            app.exit(0)
        clock.cancel()
        stall = await clock
    return sent, stall


async def longest_stall() -> float:
    """The longest time in seconds in which the loop did nothing else, until this is cancelled."""
    longest, before = 0.0, time.monotonic()
    with contextlib.suppress(asyncio.CancelledError):
        while True:
            await asyncio.sleep(STALL)
            now = time.monotonic()
            longest, before = max(longest, now - before - STALL), now
    return longest


async def _settles(app: Explorer) -> None:
    """After all this, a usual size and Esc lead back to a whole screen."""
    app.post_message(events.Resize(Size(80, 24), Size(80, 24)))
    lines: list[str] = []
    for _ in range(MOST_ESCAPES):
        app.post_message(pressed("escape"))
        await asyncio.sleep(0.1)
        if not app.is_running:
            return
        lines = screen_text(app).split("\n")
        if len(lines) == 24 and lines[0].strip() and len(app.screen_stack) == 1:
            return
    text = "\n".join(lines)
    raise AssertionError(f"the screen is not whole again: {app.screen_stack}\n{text}")


async def main() -> int:
    """Run sessions of 500 events until the number is reached. Returns 1 if there were faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.ui.random_events", description=__doc__)
    parser.add_argument("-n", type=int, default=200_000, help="how many events")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stop", action="store_true", help="stop at the first fault")
    chosen = parser.parse_args()
    done, seed, start, longest, failed = 0, chosen.seed, time.monotonic(), (0.0, 0), 0
    while done < chosen.n:
        with own_folder() as folder:
            try:
                program = MORE_PROGRAMS[seed % len(MORE_PROGRAMS)]
                sent, stall = await session(program, min(500, chosen.n - done), seed, folder)
            except Exception:  # faults are what it looks for: each is printed and counted
                if chosen.stop:
                    raise
                failed += 1
                sent, stall = 500, 0.0
                sys.stdout.write(traceback.format_exc())
        done, longest = done + sent, max(longest, (stall, seed))
        sys.stdout.write(
            f"{done} events, {time.monotonic() - start:.0f} s, {failed} faults, stalled {stall:.2f} s\n"
        )
        sys.stdout.flush()
        seed += 1
    sys.stdout.write(
        f"{done} events, {failed} faults; the longest stall {longest[0]:.2f} s, seed {longest[1]}\n"
    )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
