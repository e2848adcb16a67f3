"""Every stage of builds on the page, as sheets of pictures: `python -m tests.viz.page_sheets FOLDER BUILD...`.

What a program can see is printed: text beyond its box, nodes of a graph over each other, a window that scrolls to the side, and what the console
says.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.viz.report import report
from tests.support.chromium import Page, browsed
from tests.ui.stage_sheets import sheets

WIDTHS = {1280: 200, 820: 120, 390: 80}  # with the width of a sheet on which as many pictures fit
VIEWS = ("program", "graph")
SEEN = """(() => {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push("the window scrolls to the side");
  for (const element of document.querySelectorAll("header *, #tabs *, #head *, #rail span, .row > span, #graph-bar *, footer *")) {
    const box = element.getBoundingClientRect();
    if (!box.width || box.right <= innerWidth + 1 || element.closest("[hidden]")) continue;
    let clip = element.parentElement;
    while (clip && getComputedStyle(clip).overflowX === "visible") clip = clip.parentElement;
    if (!clip || clip === document.body) found.push(`beyond the window: ${element.textContent.slice(0, 40)}`);
  }
  const cut = (element) => {
    const style = getComputedStyle(element);
    return element.scrollWidth > element.clientWidth + 1 && style.textOverflow !== "ellipsis" && style.overflowX === "hidden";
  };
  for (const element of document.querySelectorAll("#stage-name, #rail span, .row > .code, .row > .info, #graph-node")) {
    if (element.clientWidth && cut(element)) found.push(`cut without an ellipsis: ${element.textContent.slice(0, 40)}`);
  }
  if (document.body.dataset.view === "graph" && page.graph.graph) {
    const { boxes } = page.graph.layout(page.graph.graph);
    const meet = (a, b, k) => 2 * Math.abs(boxes[a + k] - boxes[b + k]) < boxes[a + k + 2] + boxes[b + k + 2] - 2;
    for (let a = 0; a < boxes.length; a += 4) for (let b = a + 4; b < boxes.length; b += 4) {
      if (meet(a, b, 0) && meet(a, b, 1)) found.push(`nodes ${a / 4} and ${b / 4} lie over each other`);
    }
    for (const node of document.querySelectorAll("#canvas .node")) {
      const shape = node.querySelector(".shape").getBBox();
      for (const text of node.querySelectorAll("text")) {
        const box = text.getBBox();
        if (box.x < shape.x - 1 || box.x + box.width > shape.x + shape.width + 1) found.push(`a text is wider than its node: ${text.textContent}`);
      }
    }
  }
  return JSON.stringify([...new Set(found)]);
})()"""


def written(build: str, path: Path) -> None:
    """The page of a build."""
    session = RecordedSession(open_build(build))
    session.run_all()
    path.write_text(report(session), encoding="utf-8")


async def faults(page: Page) -> list[str]:
    """What looks wrong on a page as it is shown."""
    found: list[str] = json.loads(await page.value(SEEN))
    return found


async def walk(page: Page, path: Path, width: int, dark: bool) -> None:
    """Open a page in a window of some size."""
    await page.size(width, 800, dark)
    await page.open(path.as_uri())
    await page.call("Page.reload")
    await page.until("document.body.dataset.ready === 'yes'")


async def of_build(folder: Path, build: str) -> Iterator[str]:
    """Write the pictures of a build; sentences about what is wrong."""
    name = f"{Path(build).parent.name}-{Path(build).name}"
    path = folder / f"{name}.html"
    written(build, path)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:  # its children write on
        async with browsed("about:blank", Path(profile)) as page:
            for width, on_sheet in WIDTHS.items():
                found: dict[str, list[Path]] = {}
                for dark in (True, False):
                    await walk(page, path, width, dark)
                    last = -1
                    while (stage := await page.value("page.explorer.state.stage")) != last:
                        last = stage
                        for view in VIEWS:
                            await page.value(f"page.show('{view}')")
                            kind = f"page-{name}-{width}-{'dark' if dark else 'light'}-{view}"
                            wrong += [f"{kind} {stage}: {fault}" for fault in await faults(page)]
                            picture = folder / kind / f"{stage:02}.png"
                            picture.parent.mkdir(parents=True, exist_ok=True)
                            await page.picture(picture)
                            found.setdefault(kind, []).append(picture)
                        await page.value("page.rail.step(1)")
                await sheets(folder, dict(found), on_sheet)
            wrong += page.console
    return iter(wrong)


def main() -> None:
    """Write the pictures and sheets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("build", nargs="+")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for build in given.build:
        for fault in asyncio.run(of_build(given.folder.absolute(), build)):
            count += 1
            sys.stdout.write(f"{fault}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{count} faults in {len(given.build)} builds\n")


if __name__ == "__main__":
    main()
