"""How long the page takes for a frame: `python -m tests.viz.page_frames 500 2000` (bindings of each of 80 stages), in Chromium without a GPU.

`cpu` is the time of the thread of the page for one act with its frame: other work on the machine does not count. `work` is the time of script, style
and layout on the clock, `frame` that between two frames while each one acts. 60 frames in a second are 16.7 ms each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.viz.report import report
from tests.support.chromium import Page, browsed

STAGES, FRAMES = 80, 90
OPERATORS = ("R.exp({0})", "R.nn.relu({0})", "R.multiply({0}, {0})", "R.nn.softmax({0})", "R.matmul({0}, w)", "R.add({0}, x)")  # fmt: skip
ACTS = {
    "scroll": ("program", "page.program.host.scrollTop = (page.program.host.scrollTop + 90) % 8000"),
    "cursor": ("program", "page.program.move(n % 80 < 40 ? 1 : -1)"),
    "next stage": ("program", "page.rail.step(n % 120 < 60 ? 1 : -1)"),
    "stages side by side": ("beside", "page.rail.step(n % 120 < 60 ? 1 : -1)"),
    "pan": ("graph", "page.graph.pan(n % 60 < 30 ? 14 : -14, n % 40 < 20 ? 9 : -9)"),
    "zoom": ("graph", "page.graph.zoom(n % 40 < 20 ? 1.05 : 1 / 1.05)"),
    "node to node": ("graph", "page.graph.toward(0, n % 60 < 30 ? 1 : -1)"),
    "stages of a graph": ("graph", "page.rail.step(n % 60 < 30 ? 1 : -1)"),
}
MEASURE = """(async () => {
  const [work, frames] = [[], []];
  let last = await new Promise(requestAnimationFrame);
  for (let n = 0; n < COUNT; n++) {
    const start = performance.now();
    ACT;
    void document.body.offsetHeight;
    for (const name of ["program", "canvas"]) void document.getElementById(name).getBoundingClientRect();
    work.push(performance.now() - start);
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  const at = (list, part) => list.sort((a, b) => a - b)[Math.floor(part * (list.length - 1))];
  const late = frames.filter((each) => each > 17.5).length / frames.length;
  return JSON.stringify([at(work, 0.5), at(work, 0.95), at(frames, 0.5), at(frames, 0.95), late]);
})()"""


def text(stage: int, count: int) -> str:
    """A stage in which some operators differ from those of the one before."""
    lines = ["@I.ir_module", "class Module:", "    @R.function",
             '    def main(x: R.Tensor(("n", 64), "float32"), w: R.Tensor((64, 64), "float32")) -> R.Tensor(("n", 64), "float32"):',
             "        n = T.int64()", "        with R.dataflow():"]  # fmt: skip
    before = "x"
    for number in range(count):
        operator = OPERATORS[number % 6]
        if number % 6 == 1 and (number * 7 + 3) % STAGES < stage:
            operator = "R.tanh({0})"
        lines.append(f"            v{number} = {operator.format(before)}")
        before = f"v{number}"
    return "\n".join([*lines, f"            R.output({before})", f"        return {before}"]) + "\n"


def written(folder: Path, count: int) -> Path:
    """The page of a build."""
    stages = folder / f"build{count}"
    stages.mkdir()
    for stage in range(STAGES):
        (stages / f"{stage:02}_Pass{stage}.py").write_text(text(stage, count))
    session = RecordedSession(open_build(str(stages)))
    session.run_all()
    path = folder / f"{count}.html"
    path.write_text(report(session), encoding="utf-8")
    return path


async def measured(page: Page, act: str) -> list[float]:
    """Milliseconds of the thread; of work and between frames, median and 95 of 100 each; and the part of frames that came late."""
    view, script = ACTS[act]
    await page.value(f"page.explorer.goTo(0); page.show('{view}'); page.program.foldAll()")
    await page.value("new Promise((done) => setTimeout(() => done(0), 300))")
    before = await busy(page)
    found: list[float] = json.loads(
        await page.value(MEASURE.replace("COUNT", str(FRAMES)).replace("ACT", script))
    )
    return [1000 * (await busy(page) - before) / FRAMES, *found]


async def busy(page: Page) -> float:
    """The seconds that the page's thread has worked."""
    found = await page.call("Performance.getMetrics")
    return next(item["value"] for item in found["metrics"] if item["name"] == "TaskDuration")


async def of_page(path: Path, profile: Path) -> None:
    """Print a row for each act."""
    async with browsed("about:blank", profile) as page:
        await page.call("Performance.setTimeDomain", timeDomain="threadTicks")
        await page.call("Performance.enable")
        await page.size(1280, 800)
        await page.open(path.as_uri())
        await page.until("document.body.dataset.ready === 'yes'", 120)
        paint = await page.value(
            "performance.getEntriesByType('paint').map((entry) => entry.startTime)[0] ?? -1"
        )
        sys.stdout.write(f"{path.stat().st_size / 1e6:.1f} MB, first paint after {paint:.0f} ms\n")
        for act in ACTS:
            cpu, work, most, frame, slow, late = await measured(page, act)
            sys.stdout.write(
                f"  {act:20} cpu {cpu:6.1f} ms; work {work:6.1f} ms, 95 % {most:6.1f}; frame {frame:6.1f} ms, 95 % {slow:6.1f}; late {late:4.0%}\n"
            )
            sys.stdout.flush()


def main() -> None:
    """Measure pages of some sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bindings", type=int, nargs="*", default=[500])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:  # Chromium's children write on
        for count in parser.parse_args().bindings:
            sys.stdout.write(f"{count} bindings x {STAGES} stages: ")
            path = written(Path(place), count)
            asyncio.run(of_page(path, Path(place) / f"profile{count}"))


if __name__ == "__main__":
    main()
