"""The HTML report as a file: what it holds, that nothing of a program is markup in it, and that it stays small."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.inputs import generated_inputs
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.core.session.run_log import RunLog, logged
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.load import load
from relax_explorer.ui.tui.reading import session_of
from relax_explorer.viz.report import SCRIPTS, report
from tests.cli.test_commands import rxe_cli
from tests.support.injection import LATER, PLACES, SHORT, program, unsafe
from tests.support.roundtrip import SAMPLES

TRANSFORMER = next(path for path in SAMPLES if path.stem.startswith("12"))
BROKEN = SAMPLES[0].parent / "broken_build"
MARKUP = "</script><img src=x onerror=alert(1)>"
BUDGET = 300_000  # bytes of the page without data


def log_of(session: Session) -> RunLog:
    stage = session.stages[0]
    fn = stage.module.functions[stage.entry]
    return logged(session.debug(stage.entry, generated_inputs(fn, {})[0]))


def broken() -> RecordedSession:
    """The build of the samples whose results are wrong."""
    session = RecordedSession(open_build(BROKEN))
    session.run_all()
    return session


def document_in(page: str) -> dict[str, Any]:
    """The document of a page, as its script reads it."""
    found = re.search(r'<script type="application/json" id="document">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    document: dict[str, Any] = json.loads(found[1])
    return document


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
        assert values.get("id") is None or values["id"] not in self.ids, values["id"]
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


def test_the_page_is_one_file_that_asks_nobody(page: str) -> None:
    found = parsed(page)
    assert found.sources == found.links == []
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert "url(" not in page


def test_what_the_script_looks_for_is_there(page: str) -> None:
    found = parsed(page)
    scripts = [(files("relax_explorer.viz") / f"page/{name}.js").read_text() for name in SCRIPTS]
    asked = {name for text in scripts for name in re.findall(r'byId\("([^"]+)"\)', text)}
    assert len(asked) > 25
    assert asked <= found.ids


def test_it_is_small_before_data(page: str) -> None:
    data = re.search(r'id="document">(.*?)</script>', page, re.DOTALL)[1]
    assert len(page.encode()) - len(data.encode()) < BUDGET
    scripts = [path.stem for path in (files("relax_explorer.viz") / "page").iterdir() if path.suffix == ".js"]
    assert sorted(scripts) == sorted(SCRIPTS)


def test_it_has_every_part(page: str) -> None:
    found = document_in(page)
    assert [stage["by"] for stage in found["stages"] if stage["changed"]][:2] == ["input", "LegalizeOps"]
    assert {
        "rows",
        "bodies",
        "changes",
        "graphs",
        "layouts",
        "problems",
        "shapes",
        "checks",
        "cost",
        "run",
    } <= set(found)
    steps = found["run"]["steps"]
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
    assert steps[0]["text"].startswith("(3, 3, 16) f32")
    assert sum(steps[0]["counts"]) == 3 * 3 * 16
    assert "<td>LegalizeOps</td>" in page  # for a reader without scripts


def test_a_program_that_was_not_run_is_reported_without_a_run() -> None:
    assert document_in(report(Session.open(TRANSFORMER)))["run"] is None


def test_a_run_that_stops_tells_why(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(
        '@R.function(pure=False)\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.exp(x)\n'
        '    _ = R.assert_op(R.const(False), format="never <b>")\n    return y\n'
    )
    session = Session.open(path, "")
    log = log_of(session)
    assert [step.binding.var.name for step in log.steps] == ["y"]
    assert not log.is_cut
    assert "never <b>" in document_in(report(session, log))["run"]["problems"][0]


def test_a_long_run_is_cut() -> None:
    session = Session.open(TRANSFORMER)
    stage = session.stages[0]
    fn = stage.module.functions["main"]
    log = logged(session.debug("main", generated_inputs(fn, {})[0]), most=3)
    assert (len(log.steps), log.is_cut) == (3, True)
    assert "cut: it had more steps than 3 steps" in document_in(report(session, log))["run"]["about"]


@pytest.mark.parametrize("place", PLACES)
def test_nothing_of_a_program_is_markup(place: str, tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    later = LATER if program(place, "") == program(place, "\ud800") else SHORT
    path.write_bytes(program(place, MARKUP + later))
    try:
        module = load(path)
    except Exception as failure:  # noqa: BLE001  # a text that is no program has no report
        pytest.skip(f"no program: {type(failure).__name__}")
    session = Session(module, "LegalizeOps", f"</title>{MARKUP}")
    session.run_all()
    log = RunLog(session.stages[0].entry, (), MARKUP, (), ())  # a run without a step shows its note
    shown = report(session, log)
    assert "<img src=x" not in shown
    assert not unsafe(shown.replace("\n", ""))
    assert shown.count("</script>") == 2
    parsed(shown)
    found = document_in(shown)
    assert MARKUP in found["program"]
    assert MARKUP in found["run"]["about"]


def test_a_backtick_of_a_program_is_no_role(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(
        '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.str("`a``b")\n    return x\n'
    )
    rows = document_in(report(Session.open(path, "")))["rows"]
    assert next(row[3] for row in rows if row[2] == "y").endswith('"``a````b"')


def test_the_command_writes_it(tmp_path: Path) -> None:
    goal = tmp_path / "r.html"
    done = rxe_cli("report", str(TRANSFORMER), "--shape", "b=2", "-o", str(goal))
    assert done.exit_code == 0, done.output
    assert "b = 2, s = 3" in document_in(goal.read_text())["run"]["about"]
    assert document_in(rxe_cli("report", str(TRANSFORMER), "--no-run").stdout)["run"] is None
    assert rxe_cli("report", str(TRANSFORMER), "--shape", "q=2").exit_code == 2


def test_a_build_has_the_problems_that_the_explorer_tells(tmp_path: Path) -> None:
    """The profile of both is `auto`: the stages of a build follow TVM's rules."""
    found = {
        profile: [
            item["message"]
            for item in document_in(rxe_cli("report", str(BROKEN), "--no-run", *words).stdout)["problems"]
        ]
        for profile, words in (("auto", ()), ("spec", ("--profile", "spec")), ("tvm", ("--profile", "tvm")))
    }
    explorer = session_of(open_build(BROKEN), "", "auto")
    explorer.run_all()
    assert found["auto"] == [problem.message for _, problem, _ in explorer.distinct_problems] == found["tvm"]
    assert len(found["spec"]) > len(found["auto"])


def test_the_cost_stands_at_each_stage_with_the_chart_of_memory() -> None:
    opened = Session.open(TRANSFORMER, "zero,default_build")
    cost = document_in(report(opened))["cost"]
    assert "main: 88·b·s² + 4,370·b·s FLOPs" in cost["summary"]
    assert "b = 128, s = 128" in cost["table"][0]
    moved = [row for row in cost["table"] if row[0] == "bytes moved"]
    assert moved[0][-1] == "stage 0 input"
    assert [bool(re.fullmatch(r"[\d.]+ [KMG]iB", text)) for text in moved[0][1:-1]] == [True] * 3
    assert any("AttachGlobalSymbol" in row[-1] for row in cost["table"])
    assert any("above the lower bound" in line for line in cost["lines"])
    assert cost["chart"][0].startswith("memory over the bindings (b = 128, s = 128)")
    assert [part["stage"] for part in cost["parts"]] == [
        stage.number for stage in opened.stages if stage.changed or not stage.number
    ]


def test_a_program_without_relax_functions_has_no_cost(tmp_path: Path) -> None:
    kernel = """@T.prim_func
def k(A: T.Buffer((2,), "float32")):
    for i in range(2):
        A[i] = T.float32(1)
"""
    (tmp_path / "k.py").write_text(
        f"@I.ir_module\nclass M:\n{chr(10).join('    ' + line for line in kernel.splitlines())}\n"
    )
    found = document_in(report(Session.open(tmp_path / "k.py")))
    assert found["cost"] is None
    assert found["stages"][0]["graphs"] == {}
