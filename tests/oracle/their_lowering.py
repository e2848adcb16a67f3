"""Run programs lowered by TVM: `python -m tests.oracle.their_lowering [NAME …]`.

TVM's LegalizeOps lowers each example of an operator. Its text is parsed, checked and compiled by numba here, and must
compute the result of `evaluate`. So must a model from the middle of TVM's pipeline.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import relax_explorer as rxe
from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Op
from tests.oracle.operator_values import (
    AGREE,
    DIFFER,
    NO_TVM,
    REFUSED,
    UNEXPLAINED,
    Outcome,
    accepted,
    explained,
    run,
)
from tests.support.op_calls import short
from tests.support.op_examples import Example, examples, module
from tests.support.op_values import apart
from tests.support.oracle import Oracle


@dataclass(frozen=True)
class Reason:
    """The reason why TVM's lowerings of some calls of an operator do not run here, or compute something else."""

    names: str
    calls: str
    words: str
    why: str

    def is_about(self, call: Example) -> bool:
        """True if the reason applies to a call."""
        return (
            re.fullmatch(self.names, short(call.op)) is not None
            and re.search(self.calls, str(call)) is not None
        )

    def explains(self, call: Example, text: str) -> bool:
        """True if it explains the outcome of a call."""
        return self.is_about(call) and self.words in text


REASONS = (
    Reason("slice_scatter", "", "an index of buffer x1", "TVM reads outside src, and drops the value"),
    Reason(
        "median",
        r"axis=\[0,1\]",
        "an index of buffer T_gather",
        "TVM sorts the first axis only, and reads outside it",
    ),
    Reason(
        "eye_like",
        "dtype=",
        "float32(3, 3) and int32(3, 3)",
        "TVM's kernel has the dtype of x, not the requested one",
    ),
    Reason(
        r"inspect\.tensor_(byte|elem)_offset",
        "",
        "int64() and uint64()",
        "TVM's PrimFunc declares int64 and returns a uint64",
    ),
)


def outcome(call: Example, oracle: Oracle) -> Outcome:
    """The outcome of TVM's lowering of a call."""
    at = accepted(call, 0)
    if at is None:
        return Outcome(call, REFUSED)
    answer = oracle.apply(module([call.function("main")]), ["LegalizeOps"])
    if not answer.ok:
        return Outcome(call, NO_TVM, " ".join(answer.error.split())[:300])
    text = answer.get().text
    found = _problem(text, at.inputs(), run(at)) or _printed(text, oracle)
    if any(row.explains(call, found) for row in REASONS):
        return Outcome(call, DIFFER, found)
    return explained(call, found) if found else Outcome(call, AGREE)


def _problem(text: str, inputs: Any, made: Any) -> str:
    try:
        lowered = rxe.parse(text)
        errors = [item.message for item in rxe.check(lowered, profile="tvm") if item.is_error]
        if errors:
            return f"TVM's lowering is wrong here: {errors[0]}"
        return apart(rxe.run(lowered, "main", inputs), made)
    except rxe.Failure as failure:
        return f"TVM's lowering does not run here: {' '.join(str(failure).split())[:300]}"
    except Exception as fault:  # noqa: BLE001  # a fault is an answer too
        return f"fault: {' '.join(repr(fault).split())[:300]}"


def _printed(text: str, oracle: Oracle) -> str:
    """The difference that TVM finds in our print of its text; empty if it can't read its own text."""
    ours = rxe.parse(text).script()
    same = oracle.equal(text, ours)
    if same.ok:
        return "" if same.get().exact else f"it is printed otherwise: {same.get().mismatch}"
    return f"TVM can't read what is printed: {same.error}" if oracle.parse(text).ok else ""


def examples_of(op: type[Op]) -> list[Example]:
    """The examples of an operator that has values."""
    return [example for example in examples() if example.op is op and op.evaluate is not None]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.their_lowering", description=__doc__)
    parser.add_argument("names", nargs="*", help="operators; all when none is named")
    arguments = parser.parse_args()
    chosen = [table()[f"relax.{name}"] for name in arguments.names] or list(table().values())
    oracle, total = Oracle(), Counter[str]()
    for op in chosen:
        for call in examples_of(op):
            found = outcome(call, oracle)
            total[found.kind] += 1
            if found.kind == UNEXPLAINED:
                print(found, flush=True)
    oracle.close()
    print(", ".join(f"{count} {kind}" for kind, count in total.items()))
    return int(bool(total[UNEXPLAINED]))


if __name__ == "__main__":
    raise SystemExit(main())
