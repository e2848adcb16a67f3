"""All screens in all sizes and themes as one page of pictures: `python -m tests.ui.contact_sheet sheet.html`, then look at it in a browser.

Each picture is the explorer's own, played without a terminal.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from relax_explorer.ui import directories
from relax_explorer.ui.tui.app import Explorer
from tests.support.roundtrip import SAMPLES
from tests.ui.test_screens import idle, press

SIZES = ((80, 24), (120, 40), (140, 40), (200, 50))
LOOKS = {"dark": ("dark", False), "light": ("light", False), "mono": ("mono", False), "ascii": ("dark", True)}
LAYER, BUILD = str(SAMPLES[11]), str(SAMPLES[0].parent / "broken_build")
BROKEN = '@R.function\ndef main(x: R.Tensor((2, 3), "float32")):\n    a = R.matmul(x, x)\n    return zz\n'
NEXT = "right_square_bracket"


@dataclass(frozen=True, slots=True)
class Scene:
    """A program, and the keys that lead to what is shown; None is Home."""

    program: str | None
    keys: tuple[str, ...] = ()


SCENES = {
    "home": Scene(None),
    "passes": Scene(LAYER, (NEXT,)),
    "beside": Scene(BUILD, (NEXT, NEXT, "d")),
    "history": Scene(BUILD, (NEXT, NEXT, "w")),
    "debug": Scene(LAYER, (NEXT, "2", "s", "s", "b")),
    "kernel": Scene(LAYER, (NEXT, "2", "e", "e", "e")),
    "graph": Scene(LAYER, ("3",)),
    "problems": Scene("broken.py", ("4",)),
    "source": Scene("broken.py"),
    "compare": Scene(BUILD, (NEXT, "5")),
    "checks": Scene(str(SAMPLES[2]), ("6",)),
    "pipeline": Scene(LAYER, ("E",)),
    "help": Scene(LAYER, ("question_mark",)),
}


async def picture(scene: Scene, size: tuple[int, int], look: str) -> str:
    """What the explorer shows, as SVG."""
    theme, is_ascii = LOOKS[look]
    app = Explorer(scene.program, theme=theme, is_ascii=is_ascii, is_still=True)
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *scene.keys)
        await idle(pilot, app)
        return app.export_screenshot(title=f"{size[0]}x{size[1]} {look}")


def sheet(names: Sequence[str], sizes: Sequence[tuple[int, int]], looks: Sequence[str]) -> Iterator[str]:
    """The parts of the page."""
    yield "<!doctype html><meta charset=utf-8><style>body{background:#888;font:14px sans-serif}svg{width:49%;height:auto}</style>"
    for name in names:
        yield f"<h2>{html.escape(name)}</h2>"
        for size in sizes:
            for look in looks:
                yield asyncio.run(picture(SCENES[name], size, look))


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--scene", action="append", choices=list(SCENES))
    parser.add_argument("--look", action="append", choices=list(LOOKS))
    parser.add_argument("--width", action="append", type=int, choices=[size[0] for size in SIZES])
    given = parser.parse_args()
    sizes = [size for size in SIZES if not given.width or size[0] in given.width]
    target = given.file.absolute()
    with tempfile.TemporaryDirectory() as folder:
        directories.state = lambda: Path(folder)  # type: ignore[assignment]  # recent files of the user are no part of it
        broken = Path(folder) / "broken.py"
        broken.write_text(BROKEN)
        for name in ("problems", "source"):
            SCENES[name] = Scene(str(broken), SCENES[name].keys)
        target.write_text(
            "\n".join(sheet(given.scene or list(SCENES), sizes, given.look or list(LOOKS))), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
