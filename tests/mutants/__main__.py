"""`python -m tests.mutants`: break rules of the checker and the passes one at a time, and list the changes that no test notices."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from zlib import crc32

from tests.mutants import bites
from tests.mutants.sites import PACKAGE, Mutant, mutants
from tests.mutants.trial import SECONDS, NotApplied, Tests, with_tests

REASONS = Path(__file__).parent / "equivalent.tsv"
TESTS = {
    "build": ("tests/check", "tests/passes"),
    "check": ("tests/check", "tests/passes/test_errors_stay.py", "tests/passes/test_inplace_calls.py"),
    "passes": ("tests/passes", "tests/mutants/few_programs.py"),
    "phases": ("tests/check", "tests/passes"),
    "exec": ("tests/exec", "tests/debug", "tests/tir", "tests/viz/test_heat.py"),
    "shapes": (
        "tests/shapes", "tests/session/test_notation_files.py", "tests/cli/test_shapes.py", "tests/passes/test_machine_checks.py",
        "tests/passes/test_merged_lengths.py", "tests/passes/test_specialized_shapes.py",
    ),
    "relations": ("tests/shapes", "tests/session/test_notation_files.py"),
    "arith": ("tests/arith", "tests/shapes"),
    "cost": ("tests/cost", "tests/cli/test_cost.py", "tests/viz/test_heat.py"),
    "tir": ("tests/tir", "tests/viz/test_kernel_class.py"),
}  # fmt: skip
"""The packages below `core` whose rules are broken, and the tests of each, beside the chapters."""
ROOMS = tuple(TESTS)
# The cases of `force_pure` notice the first one; the others are eight changes that an audit made without a failing test.
SELF_TEST = (
    "check/purity.py:module\twithout `'force_pure'` in `FORCE_PURE`",
    "passes/inline_private_functions.py:_Inliner._dims\twithout `fresh_dims(others)` in ",
    "exec/machine.py:Machine._make_closure\tshare `dict(frame.dims)`",
    "exec/match.py:_Matching._compare\tunknown is the other answer in `compatible(offered, accepted) is not YES`",
    "exec/match.py:_Matching._compare\tunknown is the other answer in `compatible(ret, want.ret) is not YES`",
    "check/well_formed.py:_Scopes._branches\tone `with self._scope()` for all of ",
    "exec/machine.py:Machine._match_cast\tshare `dict(frame.dims)`",
    "shapes/assumptions.py:Assumptions._nothing_about\t[-1] for [0] in `numbers[0]`",
    "relations/library.py:_joined\twithout `_is_one(a)` in `Answer.UNKNOWN not in ",
    "relations/library.py:_joined\twithout `_is_one(b)` in `Answer.UNKNOWN not in ",
    "check/infer.py:Inferrer.branches\tthe first 0 for both in `unify(infos[0], infos[1], by_axis)`",
    "check/infer.py:Inferrer.branches\tthe second 0 for both in `unify(infos[0], infos[1], by_axis)`",
)
OF_SELF_TEST = (
    "tests/spec", "tests/exec/test_later.py", "tests/check/test_branches.py", "tests/shapes/test_assumptions.py",
    "-k", "PURE-08 or PURE-09 or REL-12 or OPS-21 or later or branches",
)  # fmt: skip


def chosen(rooms: tuple[str, ...], count: int, only: str = "", is_stateful: bool = False) -> list[Mutant]:
    """Some mutants of some packages, in the order of the text; all of them if `count` is 0. The stateful ones alone if asked.

    A mutant is selected by its key, so that edits elsewhere do not change the selection.
    """
    paths = [path for room in rooms for path in sorted((PACKAGE / room).glob("*.py"))]
    every = [mutant for path in paths for mutant in mutants(path) if only in mutant.key]
    every = [mutant for mutant in every if mutant.is_stateful or not is_stateful]
    if not 0 < count < len(every):
        return every
    last = sorted(map(_rank, every))[count - 1]
    return [mutant for mutant in every if _rank(mutant) <= last]


def _rank(mutant: Mutant) -> int:
    return crc32(mutant.key.encode())


def reasons(path: Path = REASONS) -> dict[str, str]:
    """The reasons of accepted survivors: the key of a mutant → a sentence."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line]
    return {f"{place}\t{text}": reason for place, text, reason in rows}


def try_all(tests: Tests, wanted: list[Mutant], known: dict[str, str]) -> int:
    """Try the mutants and print the survivors; 1 if one has no reason."""
    counts: Counter[str] = Counter()
    for number, mutant in enumerate(wanted, 1):
        nodeids = tests.concerned(mutant)
        try:
            killer = tests.failing(mutant, nodeids) if nodeids else ""
        except NotApplied:
            counts["not applied"] += 1
            continue
        kind = "killed" if killer else "has a reason" if mutant.key in known else "SURVIVED"
        if not nodeids:
            kind = "not run" if kind == "SURVIVED" else kind
        counts[kind] += 1
        if kind in ("SURVIVED", "not run"):
            print(f"{kind}\t{mutant.key}\t{mutant.line}", flush=True)
        elif killer and mutant.key in known:
            counts["outdated reason"] += 1
            print(f"outdated reason\t{mutant.key}: {killer} fails", flush=True)
        if number % 100 == 0:
            print(f"-- {number} of {len(wanted)}: {dict(counts)}", flush=True)
    print(f"{len(wanted)} mutants: {dict(counts)}")
    return int(any(counts[kind] for kind in ("SURVIVED", "not run", "outdated reason")))


def outdated(known: dict[str, str]) -> list[str]:
    """The reasons whose mutant no longer exists."""
    every = {mutant.key for mutant in chosen(ROOMS, 0)}
    return [key for key in known if key not in every]


def main() -> int:
    """Parse arguments and try."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("-n", type=int, default=240, help="mutants, the same ones each time")
    parser.add_argument("--all", action="store_true", help="every mutant, which takes an hour")
    parser.add_argument("--only", default="", help="those whose place or text holds this")
    parser.add_argument("--rooms", default=",".join(ROOMS), help="packages below `core`, with commas")
    parser.add_argument("--stateful", action="store_true", help="only those of state, branches and twins")
    parser.add_argument("--part", default="0/1", help="such as 0/2: the even ones, for two processes")
    parser.add_argument("--learned", type=Path, help="a file that keeps which test runs which function")
    parser.add_argument("--self-test", action="store_true", help="those that an audit made, for the suite")
    parser.add_argument(
        "--write", action="store_true", help="record under how many mutants each requirement fails"
    )
    arguments = parser.parse_args()
    start = time.monotonic()
    known = reasons()
    for key in outdated(known):
        print(f"outdated reason\t{key}")

    def work(tests: Tests) -> int:
        tests.learn(arguments.learned)
        print(f"-- {len(tests.seconds)} tests learned in {time.monotonic() - start:.0f} s", flush=True)
        if arguments.write:
            return bites.write(tests)
        rooms, count = tuple(arguments.rooms.split(",")), 0 if arguments.all else arguments.n
        part, parts = map(int, arguments.part.split("/"))
        wanted = chosen(rooms, count, arguments.only, arguments.stateful)[part::parts]
        if arguments.self_test:
            wanted = [mutant for mutant in chosen(ROOMS, 0) if mutant.key.startswith(SELF_TEST)]
        return try_all(tests, wanted, known)

    others = dict.fromkeys(path for room in arguments.rooms.split(",") for path in TESTS[room])
    paths: tuple[str, ...] = ("tests/spec", *others)
    if arguments.write or arguments.self_test:
        paths = ("tests/spec",) if arguments.write else OF_SELF_TEST
    result = with_tests(paths, work, bites.SECONDS if arguments.write else SECONDS)
    print(f"-- {time.monotonic() - start:.0f} s")
    return result


if __name__ == "__main__":
    sys.exit(main())
