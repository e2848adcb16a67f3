"""Every stage of builds in all sizes and looks, as sheets of pictures: `python -m tests.ui.stage_sheets FOLDER BUILD...`.

A build's name, a width, a look and a screen name a folder of SVG pictures and one of texts, a stage each. What is wrong with a text that a program
can see (`faults`) is printed. Chromium makes the sheets, PNG with some pictures each.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from relax_explorer.ui import directories
from relax_explorer.ui.tui.app import Explorer
from tests.support.chromium import browsed
from tests.ui.contact_sheet import LOOKS, SIZES
from tests.ui.stage_faults import faults
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press

SCREENS = {"passes": "1", "graph": "3"}
ACROSS = {80: 3, 120: 2, 140: 2, 200: 1}  # pictures beside each other on a sheet, so that letters can be read
ON_SHEET = {80: 9, 120: 6, 140: 6, 200: 2}


async def pictures(
    build: str, size: tuple[int, int], look: str, only: range | None = None
) -> AsyncIterator[tuple[str, int, str, str]]:
    """For each screen and stage: its names, its text, and its picture as SVG."""
    theme, is_ascii = LOOKS[look]
    app = Explorer(build, theme=theme, is_ascii=is_ascii, is_still=True)
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        last = -1
        while app.state.stage is not None and app.state.stage.number != last:
            last = app.state.stage.number
            for screen, key in SCREENS.items():
                await press(pilot, app, key)
                yield screen, last, screen_text(app), app.export_screenshot(title=f"{last} {size[0]} {look}")
            await press(pilot, app, "1", "right_square_bracket")


async def sheets(folder: Path, found: dict[str, Sequence[Path]], width: int) -> None:
    """PNG files with some pictures each."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:  # its children write on
        async with browsed("about:blank", Path(profile), (1900, 1400)) as page:
            for name, paths in found.items():
                for start in range(0, len(paths), ON_SHEET[width]):
                    part = paths[start : start + ON_SHEET[width]]
                    source = folder / "sheet.html"
                    source.write_text("".join(_sheet(part, ACROSS[width])), encoding="utf-8")
                    await page.size(1900, 1400)
                    await page.open(source.as_uri())
                    await page.until("[...document.images].every(image => image.complete)")
                    height = await page.value("document.documentElement.scrollHeight")
                    await page.size(1900, min(2400, int(height)))
                    await page.picture(folder / f"{name}-{start // ON_SHEET[width]:02}.png")


def _sheet(paths: Sequence[Path], across: int) -> Iterator[str]:
    yield f"<!doctype html><style>body{{margin:0;background:#888}}img{{width:{99.6 / across}%;margin:1px;height:auto}}</style>"
    for path in paths:
        yield f'<img src="{html.escape(path.as_uri())}">'


async def of_build(folder: Path, build: str, sizes: Sequence[tuple[int, int]], looks: Sequence[str]) -> int:
    """Write the pictures of a build; the number of faults that were printed."""
    wrong = 0
    for size in sizes:
        found: dict[str, list[Path]] = {}
        for look in looks:
            async for screen, stage, text, picture in pictures(build, size, look):
                name = f"{Path(build).parent.name}-{Path(build).name}-{size[0]}-{look}-{screen}"
                path = folder / name / f"{stage:02}.svg"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(picture, encoding="utf-8")
                path.with_suffix(".txt").write_text(text, encoding="utf-8")
                found.setdefault(name, []).append(path)
                for fault in faults(text, size[0], is_ascii=LOOKS[look][1], is_graph=screen == "graph"):
                    wrong += 1
                    sys.stdout.write(f"{name} {stage}: {fault}\n")
        await sheets(folder, dict(found), size[0])
    return wrong


def main() -> None:
    """Write the pictures and sheets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("build", nargs="+")
    parser.add_argument("--look", action="append", choices=list(LOOKS))
    parser.add_argument("--width", action="append", type=int, choices=[size[0] for size in SIZES])
    given = parser.parse_args()
    sizes = [size for size in SIZES if not given.width or size[0] in given.width]
    with tempfile.TemporaryDirectory() as state:
        directories.state = lambda: Path(state)  # type: ignore[assignment]  # recent files of the user are no part of it
        wrong = [
            asyncio.run(of_build(given.folder.absolute(), build, sizes, given.look or list(LOOKS)))
            for build in given.build
        ]
    sys.stdout.write(f"{sum(wrong)} faults in {len(wrong)} builds\n")


if __name__ == "__main__":
    main()
