"""Ask TVM about random programs: `python -m tests.oracle.random_programs [-n 10000] [--seed 0]`."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from random import Random
from typing import Any

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.syntax.parser import read
from tests.support.oracle import Oracle
from tests.support.random_programs import random_program

UNEXPLAINED = ("we accept", "TVM accepts", "another StructInfo", "other bindings")


def ours(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Our errors in the profile `tvm`, and the StructInfo of each binding."""
    module, report = read(text, "random.py")
    if module is None or report.errors:
        return [str(item) for item in report.errors], []
    errors = [str(item) for item in rxe.check(module, profile="tvm") if item.is_error]
    if errors:
        return errors, []
    functions = rxe.normalize(module).relax_functions.values()
    found = [b.var for fn in functions for b in bindings(fn) if b.var is not None]
    return [], [(var.name, str(var.struct_info)) for var in found]


# What TVM refuses and we don't, by a part of its message.
_REFUSED = {
    "match_cast": "a cast that always fails (E-15)",
    "has 0 dimensions, so axis should be": "TVM takes an unknown rank for 0",
    "same ndim. Found -1": "TVM takes an unknown rank for one that differs",
    "are not equal": "TVM proves more",
}
# What we refuse and TVM doesn't, by the code.
_STRICTER = {
    "RX0203": "we prove more: the inner lengths of a product differ, whatever is known of its other dimensions",
    "RX0210": "we look at the dtype although the rank is not known",
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
    theirs = Counter(_row((row.name, _relax(row.type))) for row in answer.get())
    if mine == theirs:
        return "agree", ""
    ours_only, theirs_only = sorted((mine - theirs).elements()), sorted((theirs - mine).elements())
    if [name for name, _ in ours_only] != [name for name, _ in theirs_only]:
        return "other bindings", f"{ours_only[:1]} {theirs_only[:1]}"
    wrong = list(zip(ours_only, theirs_only, strict=True))
    kinds = [_difference(a[1], b[1]) for a, b in wrong]
    worst = min(kinds, key=_KINDS.index)
    return worst, f"{wrong[kinds.index(worst)]}" if worst is _KINDS[0] else ""


_KINDS = ["another StructInfo", "TVM has a negative length", "more precise", "agree, written otherwise"]


def _difference(mine: str, theirs: str) -> str:
    """What kind of difference two texts are, judged by the values of the shape variables that are tried."""
    pairs = [(_value(mine, seed), _value(theirs, seed)) for seed in range(20)]
    if all(a == b for a, b in pairs):
        return _KINDS[3]
    if all(_sharper(a, b) for a, b in pairs):
        return _KINDS[2]
    return _KINDS[1] if all(a == b or "-" in str(b) for a, b in pairs) else _KINDS[0]


def _sharper(mine: Any, theirs: Any) -> bool:
    """Whether ours is a tensor of known shape, or rank, where TVM's has only the same dtype (and rank)."""
    head = theirs[0] if isinstance(theirs, tuple) and theirs else theirs
    if head != "tensor" or not isinstance(mine, tuple):
        return False
    known = dict(theirs[2]) if isinstance(theirs, tuple) else {}
    if isinstance(theirs, tuple) and theirs[1]:
        return False
    rank = len(mine[1][0]) if mine[1] else dict(mine[2]).get("ndim")
    return known.get("ndim", rank) == rank and dict(mine[2]).get("dtype") == known.get("dtype")


def _row(row: tuple[str, str]) -> tuple[str, str]:
    """Names that the normalizers made up are not compared, nor is the order of branches."""
    name, info = row
    return (name if name.startswith("v") else "", info)


class _Say:
    """`R` and `T` of a StructInfo whose dimensions are numbers: calls give what they were told."""

    Any, Tensor, Shape, Tuple = "any", "tensor", "shape", "tuple"

    def __getattr__(self, name: str) -> Any:
        return {"min": min, "max": max}.get(name) or (
            lambda *args, **more: (name, args, sorted(more.items()))
        )


def _value(text: str, seed: int) -> object:
    """A StructInfo with numbers for its shape variables; the text itself when it holds more than that."""
    names = set(re.findall(r"\b[a-z]\w*\b", re.sub(r"[RT]\.\w+|\w+=|\"\w+\"", " ", text)))
    numbers = {name: Random(f"{seed} {name}").choice([0, 1, 2, 3, 7, 100]) for name in names}
    lowered = re.sub(r"R\.(Tensor|Shape|Tuple)\(", lambda m: m[0].lower().replace("r.", "R."), text)
    try:
        return eval(lowered, {"R": _Say(), "T": _Say(), **numbers})
    except (AttributeError, NameError, SyntaxError, TypeError, ZeroDivisionError):
        return text


def _relax(text: str) -> str:
    """TVM's text of a type in the words that we use: fields of tuples, the empty tuple, scalars, strings."""
    text = re.sub(r"T\.int64\((\d+)\)", r"\1", text).replace("T.Tuple(", "R.Tuple(")
    text = re.sub(r"\bNone\b", "R.Tuple", text)
    text = re.sub(r"(?:\w+\.)*StringType(?:\([^()]*\))?", "R.Any", text)
    return f"T.{text}" if re.fullmatch(r"(?:u?int|float)\d+|bool", text) else text


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
