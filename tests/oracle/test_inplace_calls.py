"""DataflowUseInplaceCalls does as TVM, but for the programs that TVM's pass breaks."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relax_explorer as rxe
from tests.passes.test_inplace_calls import flat, overwritten, program, random_text
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare

CALLS = re.compile(r"R\.(?:add|subtract|multiply|divide|nn\.relu|nn\.silu)\(")


@pytest.mark.parametrize(
    "lines",
    [
        "a = R.add(x, y); b = R.add(x, x); out = R.add(a, b)",
        "a = R.add(x, y); b = R.exp(x); e = R.add(a, b); d = R.exp(b); out = R.add(e, d)",
        "a = R.add(x, y); out = R.add(a, a)",
        "a = R.add(x, y); b = a; e = R.nn.relu(b); out = R.add(e, a)",
        "a = R.add(x, y); e = R.nn.relu(a); b = a; out = R.exp(e)",
        "a = R.add(x, y); b = a; out = R.add(a, b)",
        "a = R.add(x, y); e = R.nn.relu(a); b = R.match_cast(a, R.Tensor((2, 3), 'float32')); out = R.exp(e)",
        "a = R.add(x, y); p = (a, x); b = p[0]; e = R.nn.relu(b); d = p[1]; out = R.add(e, d)",
        "a = R.add(x, y); e = R.nn.relu(a); out = (e, a)",
        "a = R.split(x, 3, axis=1); b = a[0]; e = R.nn.relu(b); d = a[1]; out = R.add(e, d)",
        "a = R.add(x, y); b = R.permute_dims(a); e = R.nn.relu(b); d = R.exp(a); out = (e, d)",
        "a = R.add(z, z); out = R.nn.silu(a)",
        "a = R.concat((z, z)); out = R.nn.relu(a)",
        "a = R.add(u, u); out = R.nn.relu(a)",
        "a = R.add(x, y); b = R.sum(a, axis=[0]); out = R.add(b, a)",
        "a = R.add(x, y); b = R.nn.relu(a); d = R.nn.relu(b); e = R.add(d, R.sum(x, axis=[0])); out = R.add(x, e)",
        "a = R.add(x, y); out = R.divide(a, R.const(2.0, 'float32'))",
        "a = R.add(x, y); b = cls.new(a); out = R.nn.relu(b)",
        "a = R.add(x, y); b = cls.same(a); e = R.nn.relu(b); d = R.exp(a); out = R.add(e, d)",
        "a = R.call_dps_packed('f', (y,), R.Tensor((2, 3), 'float32')); out = R.nn.relu(a)",
    ],
)
def test_calls_are_in_place_as_in_tvm(oracle: Oracle, lines: str) -> None:
    outcome = compare(oracle, program(lines), ("DataflowUseInplaceCalls", {}))
    assert outcome.kind in ("agree", "same"), outcome.details


@pytest.mark.parametrize(
    "lines",
    [
        # TVM overwrites `a`, which a tuple holds that is read later.
        "a = R.add(x, y); p = (a, x); e = R.nn.relu(a); out = (e, p)",
        "a = R.add(x, y); p = (a, x); b = p[0]; e = R.nn.relu(b); d = p[0]; out = R.add(e, d)",
        # TVM overwrites a constant of the program.
        "a = R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 'float32'); out = R.nn.relu(a)",
        "b = cls.one(); out = R.nn.relu(b)",
        # TVM overwrites what a packed function may have kept.
        "b = R.exp(y); a = R.call_pure_packed('f', b, ty_args=R.Tensor((2, 3), 'float32')); out = R.nn.relu(a)",
    ],
)
def test_what_tvm_overwrites_wrongly_is_kept(oracle: Oracle, lines: str) -> None:
    outcome = compare(oracle, program(lines), ("DataflowUseInplaceCalls", {}))
    assert outcome.kind in ("differ", "refused"), "TVM has changed: remove the row"


def test_random_blocks_without_tuples_and_constants_are_changed_as_by_tvm(oracle: Oracle) -> None:
    kinds = []
    for seed in range(60):
        text = random_text(seed, plain=True)
        outcome = compare(oracle, text, ("DataflowUseInplaceCalls", {}))
        assert outcome.kind in ("agree", "same"), f"seed {seed}: {outcome.details}"
        kinds.append(outcome.kind)
    assert kinds.count("agree") >= 20


def test_results_compute_the_same_in_tvm_where_operands_are_overwritten(oracle: Oracle) -> None:
    count = 0
    for seed in range(16):
        module = rxe.normalize(rxe.parse(random_text(seed, plain=seed % 2 == 0)))
        after = rxe.apply_pass(module, "DataflowUseInplaceCalls")
        count += len(overwritten(after))
        x = np.arange(1, 7, dtype="float32").reshape(2, 3) / 8
        args = [x, x + 1, x, x, np.array(True), (x - 1, x / 2)]
        answer = oracle.run(after.script(), "main", args)
        for theirs, ours in zip(flat(answer.get()), flat(rxe.run(module, "main", args)), strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=1e-5, err_msg=f"seed {seed}")
    assert count >= 10
