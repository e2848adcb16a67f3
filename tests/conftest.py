"""Fixtures for all tests, and the setup and summary of a session."""

from __future__ import annotations

import gc
import os
import sys

# Nodes are frozen only if checks are on, which the first import of the package decides.
os.environ["RELAX_EXPLORER_CHECKS"] = "1"

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.support import packed_functions, proofs, shares
from tests.support.golden import Golden
from tests.support.left_files import Watch, files
from tests.support.oracle import Oracle
from tests.support.spec_coverage import Coverage

ROOT = Path(__file__).resolve().parent.parent
COUNTS = pytest.StashKey[dict[str, Any]]()
TALLIES = {
    "operators": "types of calls of operators",
    "values": "values of calls of operators",
    "parts": "operators",
    "proofs": "proofs about lengths, asked of z3",
    "again": "results of passes, asked again",
}
# Counts of the rows of a table by row and column, `row|column`.
TABLES = {
    "groups": "results of whole pipelines in the profile tvm beside TVM's, up to the bodies of kernels",
    "mistakes": "verdicts of TVM and of the profile tvm on programs with one mistake",
    "passes": "results of passes in the profile tvm beside TVM's",
}
# Names, each with a reason, printed by reason.
REASONS = {
    "refuted": "REFUTED BY z3",
    "not run": "operators without evaluation",
    "evaluated only": "operators evaluated but not lowered",
    "left": "LEFT IN THE CHECKOUT",
}
BEFORE = pytest.StashKey[set[str]]()
WATCH = pytest.StashKey[Watch]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite goldens and recorded data in place")
    parser.addoption("--spec-coverage", action="store_true", help="say which requirements have a test")


def pytest_configure(config: pytest.Config) -> None:
    # Tests start the program some hundred times. Without bytecode each process compiles the package anew, which takes a second.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # A worker holds a million objects of pytest, which each full collection visits: a fifth of the time of the explorer's tests.
    # Full collections are rarer still: what lives long mostly stays to the end, and they took a fortieth of all time.
    gc.set_threshold(4_000, 10, 100)
    packed_functions.register()
    proofs.SAMPLE.listen()
    if config.getoption("--update") and os.environ.get("CI"):
        raise pytest.UsageError("--update is not allowed in CI: someone has to read the difference")
    # CI tries the same examples each time; local runs try new ones.
    hypothesis.settings.register_profile("gate", derandomize=True)
    if os.environ.get("CI"):
        hypothesis.settings.load_profile("gate")
    config.stash[COUNTS] = {
        "asked": 0,
        "refused": [],
        **{name: Counter() for name in (*TALLIES, *TABLES, *REASONS)},
    }
    if config.getoption("--spec-coverage"):
        config.pluginmanager.register(_SpecCoverage())


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each worker begins to read the tests at another folder.

    All start at once. Side by side in a fresh checkout, each would rewrite the assertions of each file, and look for constants there,
    for 15 s of its processor; so they find what others have left in the caches of pytest and hypothesis.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is not None and session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        files = sorted((ROOT / "tests").rglob("test_*.py"))
        first = files[len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]]
        places = list(dict.fromkeys(ROOT.joinpath(*path.relative_to(ROOT).parts[:2]) for path in files))
        places.sort(key=lambda place: place < ROOT.joinpath(*first.relative_to(ROOT).parts[:2]))
        session.config.args = list(map(str, places))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    if absolute := [item.nodeid for item in items if f"{ROOT}/" in item.nodeid]:
        raise pytest.UsageError(f"the name of a test holds the folder of the project: {absolute[0]}")
    # Workers must agree on one order, which is that of a run without them.
    if getattr(session.config, "workerinput", None) is not None:
        items.sort(key=lambda item: item.path)


def pytest_collection_finish() -> None:
    # What was collected stays to the end, so that no collection needs to look at it.
    gc.collect()
    gc.freeze()


class _SpecCoverage:
    """Listens to every test and prints the coverage table at the end."""

    def __init__(self) -> None:
        self.coverage = Coverage()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.coverage.record(report.nodeid, report.when or "", report.outcome)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("requirements of the language")
        for line in self.coverage.lines():
            terminalreporter.write_line(line)


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """True if recorded data may be rewritten in place."""
    return bool(request.config.getoption("--update"))


@pytest.fixture
def golden(request: pytest.FixtureRequest, update: bool) -> Golden:
    """Expected texts beside the test, in `golden/`."""
    path = request.path.relative_to(ROOT)
    return Golden(request.path.parent / "golden", update, f"pytest {path} --update")


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The list of recent files of whoever runs the tests stays as it is."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """Apache TVM in a child process, started by the first question."""
    oracle = Oracle()
    yield oracle
    oracle.close()
    _count(request.config, oracle.asked, oracle.refused)


@pytest.fixture(autouse=True)
def confirmed_proofs(request: pytest.FixtureRequest) -> Iterator[None]:
    """z3 confirms each answer about lengths that a test relied on."""
    proofs.SAMPLE.begin()
    with proofs.recorded() as found:
        yield
    if found.asked:
        request.config.stash[COUNTS]["proofs"].update(found.confirm())


@pytest.fixture(scope="session")
def operator_counts(request: pytest.FixtureRequest) -> Counter[str]:
    """Counts of the answers about operators, by kind; the session prints them."""
    counts: Counter[str] = request.config.stash[COUNTS]["operators"]
    return counts


@pytest.fixture(scope="session")
def value_counts(request: pytest.FixtureRequest) -> Counter[str]:
    """Counts of the compared operator values, by kind; the session prints them."""
    counts: Counter[str] = request.config.stash[COUNTS]["values"]
    return counts


@pytest.fixture(scope="session")
def group_counts(request: pytest.FixtureRequest) -> Counter[str]:
    """The table of verdicts about functions, kernels and groups after whole pipelines; the session prints it."""
    counts: Counter[str] = request.config.stash[COUNTS]["groups"]
    return counts


@pytest.fixture(scope="session")
def pass_counts(request: pytest.FixtureRequest) -> Counter[str]:
    """The table of the shares of results of passes; the session prints it."""
    counts: Counter[str] = request.config.stash[COUNTS]["passes"]
    return counts


@pytest.fixture(scope="session")
def verdict_counts(request: pytest.FixtureRequest) -> Counter[str]:
    """Counts of the verdicts about results of passes, by kind; the session prints them."""
    counts: Counter[str] = request.config.stash[COUNTS]["again"]
    return counts


@pytest.fixture(scope="session")
def mistake_counts(request: pytest.FixtureRequest) -> Counter[str]:
    """The table of verdicts on programs with one mistake; the session prints it."""
    counts: Counter[str] = request.config.stash[COUNTS]["mistakes"]
    return counts


@pytest.fixture(scope="session")
def operator_parts(request: pytest.FixtureRequest) -> dict[str, Counter[str]]:
    """How many operators have each part, and which lack one, as `name: reason`; the session prints it."""
    counts: dict[str, Counter[str]] = request.config.stash[COUNTS]
    return counts


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[WATCH] = Watch(ROOT)
    # Somebody may write a file of her own while tests run, but not in CI. One process looks at the whole.
    if os.environ.get("CI") and not hasattr(session.config, "workerinput"):
        session.config.stash[BEFORE] = files(ROOT)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Tell which test ran when a file appeared. Workers run beside each other, so several may be named."""
    for name in item.config.stash[WATCH].new():
        item.config.stash[COUNTS]["left"][f"{name}: {item.nodeid}"] += 1


def pytest_runtest_setup(item: pytest.Item) -> None:
    if "oracle" in getattr(item, "fixturenames", ()) and not Oracle.is_installed():
        _count(item.config, 0, [f"{item.nodeid}: TVM is not installed"])
        pytest.skip("TVM is not installed: pip install '.[tvm]'")


def pytest_sessionfinish(session: pytest.Session) -> None:
    try:
        session.config.stash[COUNTS]["proofs"].update(proofs.SAMPLE.confirm())
    except proofs.Refuted as wrong:
        session.config.stash[COUNTS]["refuted"][f"{wrong}: a wrong answer"] += 1
    left = session.config.stash[COUNTS]["left"]
    if BEFORE in session.config.stash:
        told = {name.partition(": ")[0] for name in left}
        left.update(f"{path}: a test" for path in files(ROOT) - session.config.stash[BEFORE] - told)
    if session.config.stash[COUNTS]["refuted"] or left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    # Only workers of xdist send their counts.
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        counts = session.config.stash[COUNTS]
        output["oracle"] = {**counts, **{name: dict(counts[name]) for name in (*TALLIES, *TABLES, *REASONS)}}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    counts = getattr(node, "workeroutput", {}).get("oracle", {"asked": 0, "refused": []})
    _count(node.config, counts["asked"], counts["refused"])
    for name in (*TALLIES, *TABLES, *REASONS):
        node.config.stash[COUNTS][name].update(counts.get(name, {}))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    counts = config.stash[COUNTS]
    refused = counts["refused"]
    if counts["asked"] or refused:
        terminalreporter.write_line(
            f"oracle: {counts['asked']} questions asked, {len(refused)} could not be asked"
        )
    for name, title in TALLIES.items():
        if counts[name]:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts[name].items()))
            terminalreporter.write_line(f"{title}: {kinds}")
    for name, title in TABLES.items():
        as_lines = shares.lines if name == "passes" else _as_table
        for line in [f"{title}:", *as_lines(counts[name])] if counts[name] else ():
            terminalreporter.write_line(line)
    for name, title in REASONS.items():
        for line in _by_reason(counts[name]):
            terminalreporter.write_line(f"{title}: {line}")
    for reason in sorted(set(refused)) if config.getoption("verbose") > 0 else ():
        terminalreporter.write_line(f"  {refused.count(reason)} x {reason}")


def _count(config: pytest.Config, asked: int, refused: list[str]) -> None:
    counts = config.stash[COUNTS]
    counts["asked"] += asked
    counts["refused"] += refused


def _as_table(cells: Counter[str]) -> list[str]:
    """The rows of a table, and their sum."""
    rows: dict[str, Counter[str]] = {}
    for cell, count in sorted(cells.items()):
        row, _, column = cell.partition("|")
        for name in (row, "all"):
            rows.setdefault(name, Counter())[column] += count
    last = rows.pop("all", None)
    named = [*rows.items(), *([("all", last)] if last is not None else [])]
    return [
        f"{name}: {', '.join(f'{count} {column}' for column, count in row.items())}" for name, row in named
    ]


def _by_reason(names: Counter[str]) -> list[str]:
    """`name: reason` grouped by reason: the number, the names, the reason."""
    groups: dict[str, list[str]] = {}
    for item in sorted(names):
        name, _, reason = item.partition(": ")
        groups.setdefault(reason, []).append(name)
    return [f"{len(group)} ({', '.join(group)}): {reason}" for reason, group in groups.items()]


@pytest.fixture
def own_process() -> Iterator[object]:
    """The process is that of the command line: it may turn the garbage collector. Gives the collector."""
    from relax_explorer.core import collector
    from relax_explorer.ui import process

    before, is_at_work, interval = collector.collector(), gc.isenabled(), sys.getswitchinterval()
    process.own()
    yield collector.collector()
    collector.use_collector(before)
    gc.unfreeze()
    sys.setswitchinterval(interval)
    if is_at_work:
        gc.enable()
