"""The HTML report: what it holds, that nothing of a program is markup in it, and that a browser opens it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Collection
from html.parser import HTMLParser
from pathlib import Path

import pytest

from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.inputs import generated_inputs
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.core.session.run_log import RunLog, logged
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.syntax.load import load
from relax_explorer.viz import report as report_page
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.report import beside_row, report
from relax_explorer.viz.table_diff import TableDiff
from tests.cli.test_commands import rxe_cli
from tests.support.injection import LATER, SHORT, program, unsafe
from tests.support.roundtrip import SAMPLES

TRANSFORMER = next(path for path in SAMPLES if path.stem.startswith("12"))
BROKEN = SAMPLES[0].parent / "broken_build"


MARKUP = "</script><img src=x onerror=alert(1)>"


IN_ROWS = frozenset({"operator", "print format", "string"})  # places that a row of the program shows


def log_of(session: Session) -> RunLog:
    stage = session.stages[0]
    fn = stage.module.functions[stage.entry]
    return logged(session.debug(stage.entry, generated_inputs(fn, {})[0]))


@pytest.fixture(scope="module")
def page() -> str:
    session = Session.open(TRANSFORMER)
    return report(session, log_of(session))


class Elements(HTMLParser):
    """Counts elements, and refuses one that is not closed."""

    VOID = frozenset({"meta", "img", "input", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.count[tag] = self.count.get(tag, 0) + 1
        self.ids |= {values["id"] or ""} if "id" in values else set()
        self.links += [values["href"] or ""] if "href" in values else []
        self.sources += [values["src"] or ""] if "src" in values else []
        assert not [name for name in values if name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Elements:
    elements = Elements()
    elements.feed(page)
    assert not elements.open
    return elements


def test_the_page_is_one_file_and_its_links_lead_somewhere(page: str) -> None:
    found = parsed(page)
    assert found.links
    assert {link for link in found.links if link.removeprefix("#") not in found.ids} == set()
    assert all(source.startswith("data:") for source in found.sources)
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_it_has_every_part(page: str) -> None:
    for text in ("LegalizeOps", "Run of main", "… ", "Graphs", "nn.layer_norm", "lv6"):
        assert text in page
    steps = json.loads(re.search(r'id="steps">(.*?)</script>', page, re.DOTALL)[1])
    assert steps[0]["text"].startswith("normed = (3, 3, 16) f32")
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
    rows = re.findall(r'<tr data-row="(\d+)" data-kind="binding">', page)
    assert {str(step["row"]) for step in steps[:-1]} == set(rows)


def test_a_stage_beside_its_neighbours_is_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the new one of one pair and the old one of the next. Lines of a kernel that changed need another table."""
    session = Session(load(TRANSFORMER), "zero,default_build")
    session.run_all()
    stages = [stage.number for stage in session.stages[1:] if stage.changed]
    made: list[IrTable] = []
    real = IrTable.__init__

    def noted(
        self: IrTable, stage: Snapshot, function: str = "", opened: Collection[str] | None = ()
    ) -> None:
        made.append(self)
        real(self, stage, function, opened)

    monkeypatch.setattr(IrTable, "__init__", noted)
    page = report(session)
    alone = [table for table in made if not table.opened]
    assert len(alone) <= len(stages) + 1 < len(made)  # some have lines of kernels
    made.clear()
    monkeypatch.setattr(
        report_page, "_table", lambda stage, opened, known=None: IrTable(stage, opened=opened)
    )
    assert report(session) == page
    assert len(made) == 2 * len(stages)


def test_a_program_that_cannot_run_is_reported_without_a_run() -> None:
    session = Session.open(TRANSFORMER)
    assert 'id="run"' not in report(session)
    assert 'href="#run"' not in report(session)


def test_a_run_that_stops_tells_why(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(
        '@R.function(pure=False)\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.exp(x)\n'
        '    _ = R.assert_op(R.const(False), format="never <b>")\n    return y\n'
    )
    session = Session.open(path, "")
    log = log_of(session)
    assert [step.binding.var.name for step in log.steps] == ["y"]
    shown = report(session, log)
    assert "never &lt;b&gt;" in shown
    assert not log.is_cut


def test_a_long_run_is_cut() -> None:
    session = Session.open(TRANSFORMER)
    stage = session.stages[0]
    fn = stage.module.functions["main"]
    log = logged(session.debug("main", generated_inputs(fn, {})[0]), most=3)
    assert (len(log.steps), log.is_cut) == (3, True)
    assert "cut: it had more steps" in report(session, log)


def test_sides_show_each_row_once() -> None:
    notes: set[str] = set()
    session = RecordedSession(open_build(BROKEN))
    session.run_all()
    for stage in session.stages[1:]:
        diff = session.diff(stage.number - 1, stage.number)
        old, new = IrTable(session.stages[stage.number - 1]), IrTable(stage)
        table = TableDiff(old, new, diff, 3)
        sides = [table.sides(number)[1] for number in range(len(table)) if not table.skipped(number)]
        rows = [number for number in map(table.in_new, range(len(table))) if number is not None]
        assert len(rows) == len(set(rows)) == sum(side is not None for side in sides)
        assert len(rows) + sum(map(table.skipped, range(len(table)))) == len(new)
        changed = sum(table.kind(number) not in ("same", "renamed") for number in range(len(table)))
        assert changed == sum(row.mark != " " for row in TableDiff(old, new, diff))
        shown = [beside_row(table, number) for number in range(len(table))]
        counts = [re.findall(r"… (\d+) unchanged", row) for row in shown]
        assert sum(int(count) for found in counts for count in found) == len(new) - len(rows)
        notes |= {note for row in shown for note in re.findall(r'<abbr title="([^"]+)">⊞</abbr>', row)}
    assert "merged from matmul1, mul, add" in notes


@pytest.mark.parametrize(
    "place", ["operator", "print format", "metadata", "module attribute", "kernel", "string"]
)
def test_nothing_of_a_program_is_markup(place: str, tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    later = LATER if program(place, "") == program(place, "\ud800") else SHORT
    path.write_bytes(program(place, MARKUP + later))
    session = Session(load(path), "LegalizeOps", f"</title>{MARKUP}")
    session.run_all()
    log = RunLog(session.stages[0].entry, (), MARKUP, (), ())  # a run without a step shows the program too
    shown = report(session, log)
    assert "<img src=x" not in shown
    assert shown.count("&lt;img src=x") >= (
        4 if place in IN_ROWS else 2
    )  # two titles and the note, and the program
    assert not unsafe(shown.replace("\n", ""))
    parsed(shown)


def test_the_command_writes_it(tmp_path: Path) -> None:
    goal = tmp_path / "r.html"
    done = rxe_cli("report", str(TRANSFORMER), "--shape", "b=2", "-o", str(goal))
    assert done.exit_code == 0, done.output
    assert "b = 2, s = 3" in goal.read_text()
    assert 'id="run"' not in rxe_cli("report", str(TRANSFORMER), "--no-run").stdout
    assert rxe_cli("report", str(TRANSFORMER), "--shape", "q=2").exit_code == 2


# -- in a browser ---------------------------------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
         "--disable-component-update", "--disable-quic", "--virtual-time-budget=3000", "--enable-logging=stderr")  # fmt: skip
PROBE = """<script>
const slider = document.getElementById("step");
slider.value = "5"; slider.dispatchEvent(new Event("input"));
document.body.dataset.moved = document.body.dataset.step;
document.body.dataset.rows = document.querySelectorAll("tr.now").length;
document.body.dataset.wide = String(document.documentElement.scrollWidth > document.documentElement.clientWidth);
</script></body>"""


def opened(path: Path, profile: Path, width: int) -> tuple[str, str]:
    """The document after its scripts ran, and the console."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    command = [
        CHROMIUM,
        *QUIET,
        f"--window-size={width},900",
        f"--user-data-dir={profile}",
        "--dump-dom",
        f"file://{path}#step=2",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout, "\n".join(line for line in done.stderr.split("\n") if "CONSOLE" in line)


@pytest.mark.parametrize("width", [1200, 390])
def test_a_browser_opens_it_from_a_file_and_the_scrubber_moves(page: str, tmp_path: Path, width: int) -> None:
    path = tmp_path / "r.html"
    path.write_text(page)
    shown, console = opened(path, tmp_path / "profile", width)
    assert 'data-step="3"' in shown
    assert console == ""
    # The policy of the page allows no script but its own, so the probe stands in a page without it.
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    path.write_text(free.replace("</body>", PROBE))
    shown, console = opened(path, tmp_path / "profile", width)
    assert 'data-moved="6"' in shown
    assert 'data-rows="1"' in shown
    assert 'data-wide="false"' in shown
    assert console == ""


def test_the_policy_of_the_page_stops_other_scripts(page: str, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    path.write_text(page.replace("</body>", PROBE))
    shown, console = opened(path, tmp_path / "profile", 1200)
    assert "data-moved" not in shown
    assert "Content Security Policy" in console


def test_the_cost_stands_before_and_after_the_passes_with_the_chart_of_memory() -> None:
    session = Session.open(TRANSFORMER, "zero,default_build")
    text = report(session)
    part = text[text.index('<section id="cost">') : text.index('<section id="problems">')]
    assert parsed(f"<main>{part}</main>").count["table"] == 1
    assert "main: 88·b·s² + 4,370·b·s FLOPs" in part
    assert "b = 128, s = 128" in part
    assert re.search(
        r"<td>bytes moved</td>(<td class=\"number\">[\d.]+ [KMG]iB</td>){3}<td>stage 0 input</td>", part
    )
    assert "AttachGlobalSymbol" in part
    assert "above the lower bound" in part
    assert "<pre>memory over the bindings (b = 128, s = 128)" in part


def test_a_program_without_relax_functions_has_no_cost_and_the_page_says_so(tmp_path: Path) -> None:
    kernel = """@T.prim_func
def k(A: T.Buffer((2,), "float32")):
    for i in range(2):
        A[i] = T.float32(1)
"""
    (tmp_path / "k.py").write_text(
        f"@I.ir_module\nclass M:\n{chr(10).join('    ' + line for line in kernel.splitlines())}\n"
    )
    assert "only these are counted" in report(Session.open(tmp_path / "k.py"))
