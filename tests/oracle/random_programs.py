"""Ask TVM about random programs: `python -m tests.oracle.random_programs [-n 10000] [--seed 0]`."""

from __future__ import annotations

import argparse
from collections import Counter

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.syntax.parser import read
from tests.support.oracle import Oracle
from tests.support.random_programs import random_program
from tests.support.type_texts import KINDS, OTHER, difference, spelled

UNEXPLAINED = ("we accept", "TVM accepts", "another StructInfo", "other bindings")


def ours(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Our errors in the profile `tvm`, and the StructInfo of each binding."""
    module, report = read(text, "random.py")
    if module is None or report.errors:
        return [str(item) for item in report.errors], []
    errors = [str(item) for item in rxe.check(module, profile="tvm") if item.is_error or item.unchecked]
    if errors:
        return errors, []
    functions = rxe.normalize(module).relax_functions.values()
    found = [b.var for fn in functions for b in bindings(fn) if b.var is not None]
    return [], [(var.name, str(var.struct_info)) for var in found]


# Programs that only TVM refuses, by a part of its message.
_REFUSED = {
    "match_cast": "a cast that always fails (E-15)",
    "has 0 dimensions, so axis should be": "TVM takes an unknown rank for 0",
    "same ndim. Found -1": "TVM takes an unknown rank for one that differs",
    "are not equal": "TVM proves more",
}
# Programs that only we refuse, by the code.
_STRICTER = {
    "RX0203": "we prove more: the inner lengths of a product differ, even if its other dimensions are unknown",
    "RX0210": "we check the dtype although the rank is unknown",
}


def compare(oracle: Oracle, text: str) -> tuple[str, str]:
    """The outcome for one program (`agree`, `both refuse`, …) and the details of a difference."""
    errors, infos = ours(text)
    answer = oracle.types(text)
    if not answer.ok:
        if errors:
            return "both refuse", ""
        problem = " ".join(str(answer.error).split())
        known = next((kind for sign, kind in _REFUSED.items() if sign in problem), "")
        return (known, "") if known else ("we accept", problem[-300:])
    if errors:
        known = next((kind for sign, kind in _STRICTER.items() if sign in errors[0]), "")
        return (known, "") if known else ("TVM accepts", errors[0])
    mine = Counter(map(_row, infos))
    theirs = Counter(_row((row.name, spelled(row.type))) for row in answer.get())
    if mine == theirs:
        return "agree", ""
    ours_only, theirs_only = sorted((mine - theirs).elements()), sorted((theirs - mine).elements())
    if [name for name, _ in ours_only] != [name for name, _ in theirs_only]:
        return "other bindings", f"{ours_only[:1]} {theirs_only[:1]}"
    wrong = list(zip(ours_only, theirs_only, strict=True))
    kinds = [difference(a[1], b[1]) for a, b in wrong]
    worst = min(kinds, key=KINDS.index)
    return worst, f"{wrong[kinds.index(worst)]}" if worst is OTHER else ""


def _row(row: tuple[str, str]) -> tuple[str, str]:
    """Generated names and the order of branches are not compared."""
    name, info = row
    return (name if name.startswith("v") else "", info)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.random_programs", description=__doc__)
    parser.add_argument("-n", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--show", type=int, default=10, help="how many differences to print")
    arguments = parser.parse_args()
    oracle, counts, shown = Oracle(), Counter[str](), 0
    for seed in range(arguments.seed, arguments.seed + arguments.n):
        kind, details = compare(oracle, random_program(seed))
        counts[kind] += 1
        shown += bool(details)
        if details and shown <= arguments.show:
            print(f"seed {seed}: {kind}: {details}", flush=True)
    oracle.close()
    print(dict(counts))
    return int(any(kind in UNEXPLAINED for kind in counts))


if __name__ == "__main__":
    raise SystemExit(main())
