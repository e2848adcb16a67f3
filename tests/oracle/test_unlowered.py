"""Calls that LegalizeOps keeps: each is reported with its reason, and compared with TVM's result."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

import relax_explorer as rxe
from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Op
from relax_explorer.core.passes.pipeline import run_step, steps
from tests.support.op_calls import calls, short, words
from tests.support.op_examples import Example, read
from tests.support.oracle import Oracle

LEFT, REFUSED, LOWERED = "left as it is", "ends with an error", "lowered"


@dataclass(frozen=True)
class Row:
    """A call, the reason why it has no lowering (a pattern), and the result of TVM's LegalizeOps."""

    name: str
    call: str
    reason: str
    tvm: str


UNKNOWN = r"the (shape|dtype) of (the result|\w+) is not known"
_PIXELS = r"the images are \w+, and values between pixels are not integers"
_ENDS = "begin, end and strides are not known to be int64, one for each axis of x"
_SHARE = "bools can't be divided"
ROWS = (
    Row("bitwise_not", "f32[4]", r"the elements are \w+, and these have no bits", REFUSED),
    Row("bitwise_and", "f32[4] f32[4]", r"the elements are \w+, and these have no bits", REFUSED),
    Row("bitwise_or", "f32[4] f32[4]", r"the elements are \w+, and these have no bits", REFUSED),
    Row("bitwise_xor", "f32[4] f32[4]", r"the elements are \w+, and these have no bits", REFUSED),
    Row("left_shift", "bool[4] bool[4]", r"the elements are \w+, and these have no bits", REFUSED),
    Row("right_shift", "bool[4] bool[4]", r"the elements are \w+, and these have no bits", REFUSED),
    Row("subtract", "bool[4] bool[4]", "bool values can't be subtracted", LOWERED),
    Row("nn.avg_pool1d", "bool[1,2,7] pool_size=[3]", _SHARE, LOWERED),
    Row("grad.avg_pool2d_backward", "bool[1,3,4,4] bool[1,3,8,8] pool_size=[2,2] strides=[2,2]", _SHARE, LOWERED),
    Row("add", "2 2", "the result is a scalar, and kernels fill tensors", REFUSED),
    Row("add", "f32[n] f32[m]", UNKNOWN, LEFT),
    Row("add", "f32[4] any[4]", UNKNOWN, REFUSED),
    Row("image.resize2d", "f32[1,3,4,4] shape(?,?)", "the lengths of size are not known", LEFT),
    Row("gather_nd", "f32[4,4] i64[2,n]", UNKNOWN, LEFT),
    Row("index_tensor", "f32[5,6] (i64[m],i64[n])", UNKNOWN, LEFT),
    Row("index_put", "f32[5,6] (i64[m],i64[n]) f32[m]", "the shapes of the indices are not known to broadcast", REFUSED),
    Row("layout_transform", "f32[n,4] index_map={T.index_map(lambda i, j: (j, i*n))}", "index_map mentions shape variables", REFUSED),
    Row("vision.roi_align", "i32[2,3,6,6] f32[4,5] pooled_size=(2,2) spatial_scale=1.0", _PIXELS, LOWERED),
    Row("vision.non_max_suppression", "i32[1,10,6] i32[1] i32[1,10]", r"the boxes are \w+: the overlap of integers would be 0 or 1", REFUSED),
    Row("vision.multibox_transform_loc", "i32[1,3,10] i32[1,40] i32[1,10,4]", r"the scores are \w+, no floats", REFUSED),
    Row("dynamic_strided_slice", "f32[8,9] any[2] i64[2] i64[2]", _ENDS, REFUSED),
    Row("grad.take_backward", "f32[2] object i64[2]", r"of \w+ it is not known what it is", LEFT),
)  # fmt: skip


def left(call: Example) -> list[str] | None:
    """The reason why LegalizeOps keeps a call; empty if it is lowered, None if the call is refused."""
    try:
        module = rxe.normalize(rxe.parse(call.module()))
        if any(problem.is_error for problem in rxe.check(module, profile="tvm")):
            return None
    except rxe.Failure:
        return None
    outcome = run_step(steps("LegalizeOps")[0], module)
    notes = [problem.message for problem in outcome.problems if problem.code.id == "RX0405"]
    start = f"{call.op.name} is kept: "
    assert all(note.startswith(start) for note in notes)
    assert bool(notes) or f"R.{short(call.op)}(" not in outcome.module.script() or runs_as_it_stands(call.op)
    return [note.removeprefix(start) for note in notes]


def runs_as_it_stands(op: type[Op]) -> bool:
    """True if an operator runs without a lowering."""
    return not op.is_lowered() and not op.no_evaluate


@pytest.mark.parametrize("op", table().values(), ids=lambda op: op.name)
def test_no_call_is_left_in_silence_or_for_a_reason_that_is_not_in_the_table(op: type[Op]) -> None:
    own = [row.reason for row in ROWS if f"relax.{row.name}" == op.name]
    common = [UNKNOWN, r"of \w+ it is not known what it is", r"the lengths of \w+ are not known"]
    common.append("the result is a scalar, and kernels fill tensors")
    for call in calls(op):
        for reason in left(call) or ():
            known = any(re.fullmatch(form, reason) for form in (*own, *common))
            assert known or reason == op.no_legalize, f"{words(call)}: {reason}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name} {row.call}")
def test_tvm_does_with_it_what_the_table_says(row: Row, oracle: Oracle) -> None:
    call = read(table()[f"relax.{row.name}"], f"{row.call} -> ")
    reasons = left(call)
    assert reasons is not None, "inference refuses the call"
    assert len(reasons) == 1
    assert re.fullmatch(row.reason, reasons[0])
    answer = oracle.apply(call.module(), ["LegalizeOps"])
    if not answer.ok:
        assert row.tvm == REFUSED, answer.error
        return
    assert row.tvm == (LEFT if f"R.{row.name}(" in answer.get().text else LOWERED)
