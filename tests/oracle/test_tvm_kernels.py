"""In the profile `tvm`, LegalizeOps makes of each operator's examples the kernels that TVM makes: by name, operands and pattern."""

from __future__ import annotations

from collections import Counter

import pytest

import relax_explorer as rxe
from relax_explorer.core.ops import table
from relax_explorer.core.tir.stmt import PrimFunc
from tests.support.judged import is_equal, read
from tests.support.op_examples import read as read_example
from tests.support.oracle import Oracle
from tests.support.pass_agreement import with_kernels

STEPS = 'LegalizeOps{profile="tvm"},AnnotateTIROpPattern'
OTHERWISE = {
    "arange": "its length is unknown: counted by a kernel first",
    "bucketize": "the operands stand in the order of the operator",
    "ccl": "collective operators stay, since their packed functions are impure here",
    "dist": "operators on distributed tensors stay",
    "eye_like": "the kernel takes the operand",
    "inspect": "the kernels of metadata are opaque",
    "median": "one result, as its type says",
    "memory": "arguments that are left out stay so; kills have no result",
    "repeat": "lengths as the operator's type says",
    "size": "one kernel",
    "vision.roi_align": "no regions at all",
    "vm": "kills have no result",
}
"""Beginnings of the names of operators of which some kernel differs, and how ours are."""
GROUPS = sorted({name.removeprefix("relax.").split(".")[0][0] for name in table()})


@pytest.mark.parametrize("letter", GROUPS)
def test_kernels_have_tvms_names_operands_and_patterns(oracle: Oracle, letter: str) -> None:
    found, different = Counter[str](), []
    for name, op in table().items():
        short = name.removeprefix("relax.")
        if not short.startswith(letter):
            continue
        for words in op.examples[:3]:
            text = read_example(op, words).module()
            answer = oracle.apply(text, ["LegalizeOps", "AnnotateTIROpPattern"])
            theirs = read(answer.get().text) if answer.ok else None
            if theirs is None:
                oracle.could_not_ask(f"{name}: {answer.error[-80:]}")
                continue
            ours = rxe.run_pipeline(rxe.normalize(rxe.parse(text)), STEPS)
            is_same = patterns(ours) == patterns(theirs)
            is_same = is_same and is_equal(with_kernels(ours, answer.get().text), theirs)
            found[str(is_same)] += 1
            if not is_same and not short.startswith(tuple(OTHERWISE)):
                different.append(f"{name}: {words}: {patterns(ours)}, TVM {patterns(theirs)}")
    assert different == []
    assert found["True"] >= 1


def patterns(module: rxe.IRModule) -> dict[str, object]:
    """The patterns of the kernels by their names."""
    kernels = {name: fn for name, fn in module.functions.items() if isinstance(fn, PrimFunc)}
    return {name: fn.attrs.get("op_pattern") for name, fn in kernels.items()}
