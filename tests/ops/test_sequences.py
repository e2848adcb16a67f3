"""A sequence that starts outside the positions, or before the preceding one, stops the run and is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe

MODULE = """
@I.ir_module
class Module:
    @R.function
    def main(
        q: R.Tensor((1, "n", 2, 3), "float32"), k: R.Tensor((1, "m", 2, 3), "float32"), v: R.Tensor((1, "m", 2, 4), "float32"),
        a: R.Tensor(("c",), "int32"), most: R.Tensor((), "int32"), b: R.Tensor(("c",), "int32"),
    ):
        y = R.nn.attention_var_len(q, k, v, a, most{keys})
        return y
"""
WRONG = [
    ([0, 6], [0, 4], "RX0508", "seqstart_q[1] is 6, axis 1 of queries has length 5: 0 to 5 are inside"),
    ([-1, 5], [0, 4], "RX0508", "seqstart_q[0] is -1, axis 1 of queries has length 5"),
    ([0, 5], [0, 5], "RX0508", "seqstart_k[1] is 5, axis 1 of keys has length 4: 0 to 4 are inside"),
    ([0, 3, 2], [0, 1, 4], "RX0520", "seqstart_q[2] is 2, and the sequence before it starts at 3"),
    ([0, 3, 5], [2, 1, 4], "RX0520", "seqstart_k[1] is 1, and the sequence before it starts at 2"),
]


def run(starts: list[int], keys: list[int] | None, *, lowered: bool = False) -> Any:
    module = rxe.normalize(rxe.parse(MODULE.format(keys="" if keys is None else ", b, most")))
    if lowered:
        module = rxe.apply_pass(module, "LegalizeOps")
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(1, n, 2, size)).astype("float32") for n, size in ((5, 3), (4, 3), (4, 4))]
    given = [np.array(x, "int32") for x in (starts, keys if keys is not None else starts)]
    return rxe.run(module, "main", [*parts, given[0], np.array(5, "int32"), given[1]])


@pytest.mark.parametrize(("starts", "keys", "code", "text"), WRONG)
def test_a_wrong_start_is_named(starts: list[int], keys: list[int], code: str, text: str) -> None:
    with pytest.raises(rxe.Failure) as caught:
        run(starts, keys)
    problem = caught.value.diagnostics[0]
    assert problem.code.id == code
    assert text in problem.message
    assert problem.help


@pytest.mark.parametrize(("starts", "keys", "code", "text"), WRONG)
def test_a_wrong_start_stops_the_kernel(starts: list[int], keys: list[int], code: str, text: str) -> None:
    with pytest.raises(rxe.Failure) as caught:
        run(starts, keys, lowered=True)
    problem = caught.value.diagnostics[0]
    assert problem.code.id == "RX0510"
    assert text[:10] in problem.message


def test_starts_of_queries_are_those_of_keys_when_no_others_are_given() -> None:
    with pytest.raises(rxe.Failure, match=r"seqstart_q\[1\] is 5, axis 1 of keys has length 4"):
        run([0, 5], None)


@pytest.mark.parametrize(("starts", "keys"), [([0, 2, 5], [0, 3, 4]), ([1, 1, 4], [0, 0, 2]), ([], [])])
def test_right_starts_run_the_same_both_ways(starts: list[int], keys: list[int]) -> None:
    made = run(starts, keys)
    np.testing.assert_allclose(run(starts, keys, lowered=True), made, rtol=2e-5, atol=1e-6)
    inside = slice(starts[0], starts[-1]) if starts else slice(0)
    assert not np.delete(made, np.r_[inside], axis=1).any()
    assert made[:, inside].all()
