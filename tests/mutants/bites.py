"""The requirements with a case that fails when a rule is broken: the recorded data behind `pytest --spec-coverage`.

The mutants of a requirement are those of the functions that its cases run, rarest functions first: a rule that few
cases run is more likely the tested one.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.mutants.sites import PACKAGE, Mutant, mutants
from tests.mutants.trial import Function, NotApplied, Tests
from tests.support.spec_coverage import BITES, items_in, requirements

TRIED = 30  # at most this many mutants per requirement
WANTED = 1  # the search ends after this many noticed mutants
PER_FUNCTION = 4
SECONDS = 60.0  # limit for one case


def write(tests: Tests) -> int:
    """Search for each requirement without a recorded mutant, and record the results; an empty file starts anew."""
    by_function: dict[Function, list[Mutant]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for mutant in mutants(path):
            by_function.setdefault((mutant.path, mutant.function), []).append(mutant)
    rows = {
        row.partition("\t")[0]: row for row in BITES.read_text(encoding="utf-8").splitlines(keepends=True)
    }
    for item in requirements():
        if item in rows and int(rows[item].split("\t")[1]):
            continue
        nodeids = [nodeid for nodeid in tests.seconds if item in items_in(nodeid)]
        if not nodeids:  # of the explorer, or without a test, which `pytest --spec-coverage` tells
            continue
        noticed, tried, example = _search(tests, nodeids, by_function)
        rows[item] = f"{item}\t{noticed}\t{tried}\t{example}\n"
        print(rows[item], end="", flush=True)
        BITES.write_text("".join(rows[name] for name in requirements() if name in rows), encoding="utf-8")
    return 0


def _search(
    tests: Tests, nodeids: list[str], by_function: dict[Function, list[Mutant]]
) -> tuple[int, int, str]:
    noticed, tried, example = 0, 0, ""
    for mutant in _candidates(tests, nodeids, by_function):
        if noticed == WANTED or tried == TRIED:
            break
        try:
            killer = tests.failing(mutant, nodeids)
        except NotApplied:
            continue
        tried += 1
        if killer:
            noticed += 1
            example = example or mutant.key.replace("\t", " ")
    return noticed, tried, example


def _candidates(
    tests: Tests, nodeids: list[str], by_function: dict[Function, list[Mutant]]
) -> Iterator[Mutant]:
    mine = set(nodeids)
    ranked = sorted(
        (len(others), function) for function, others in tests.of.items() if not mine.isdisjoint(others)
    )
    for _, function in ranked:
        found = by_function.get(function, [])
        yield from found[:: max(1, -(-len(found) // PER_FUNCTION))]
