"""`R.Prim(value=…)` binds and checks: when it is read, run, changed by passes and printed; what a dialect cannot say is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.syntax.losses import losses
from tests.support.oracle import Oracle

ERAS = Path(__file__).parents[1] / "data" / "eras"
ONES = np.ones(3, "float32")
TEXTS = {
    "cast": (ERAS / "05_prim_check_lost.py").read_text(encoding="utf-8"),
    "parameter": (ERAS / "06_prim_param_unchecked.py").read_text(encoding="utf-8"),
    "sum": '@R.function\ndef main(x: R.Tensor(("n",), "float32"), k: R.Prim(value="n + 0 * n")):\n    return x\n',
    "number": '@R.function\ndef main(x: R.Tensor((3,), "float32"), k: R.Prim(value=3)):\n    return x\n',
    "cast in a graph": """
@R.function
def main(x: R.Tensor(("n",), "float32"), p: R.Prim("int64")):
    n = T.int64()
    with R.dataflow():
        c: R.Prim(value=n) = R.match_cast(p, R.Prim(value=n))
        y = R.zeros(R.shape([c]), "float32")
        R.output(y)
    return y
""",
    "cast in a branch": """
@R.function
def main(x: R.Tensor(("n",), "float32"), p: R.Prim("int64")):
    n = T.int64()
    if R.const(True):
        _: R.Prim(value=n) = R.match_cast(p, R.Prim(value=n))
        y = x
    else:
        y = x
    return y
""",
    "a private function": """
@I.ir_module
class M:
    @R.function(private=True)
    def inner(x: R.Tensor(("n",), "float32"), k: R.Prim(value="n")):
        return x

    @R.function
    def main(x: R.Tensor(("n",), "float32"), k: R.Prim("int64")):
        y = M.inner(x, k)
        return y
""",
}


def stops(program: rxe.IRModule, k: int) -> bool:
    try:
        rxe.run(program, "main", [ONES, np.int64(k)])
    except rxe.Failure:
        return True
    return False


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_the_check_stays_from_reading_to_printing(name: str) -> None:
    program = rxe.parse(TEXTS[name])
    printed = [
        rxe.parse(rxe.normalize(program).script(dialect)) for dialect in ("tvm-0.27", "tvm-0.19", "rxe")
    ]
    passes = ["LegalizeOps", "DeadCodeElimination", "CanonicalizeBindings", "ToNonDataflow"]
    changed = [rxe.apply_pass(program, one) for one in passes]
    for one in (program, *printed, *changed, *[rxe.parse(item.script()) for item in changed]):
        assert not stops(one, 3)
        assert stops(one, 4)


def test_tvm_reads_the_casts(oracle: Oracle) -> None:
    for text in TEXTS.values():
        answer = oracle.parse(rxe.normalize(rxe.parse(text)).script())
        assert answer.ok, answer.error


def test_a_stated_value_binds() -> None:
    program = rxe.load(ERAS / "02_prim_value_param.py")
    for one in (program, rxe.parse(program.script()), rxe.parse(program.script("tvm-0.19"))):
        assert rxe.run(one, "main", [np.int64(4)]) == 8


def test_two_parameters_of_one_value_are_compared() -> None:
    text = '@R.function\ndef main(p: R.Prim(value="n"), q: R.Prim(value="n")):\n    n = T.int64()\n    return R.shape([n])\n'
    program = rxe.parse(text)
    for one in (program, rxe.parse(program.script())):
        rxe.run(one, "main", [np.int64(4), np.int64(4)])
        with pytest.raises(rxe.Failure):
            rxe.run(one, "main", [np.int64(4), np.int64(5)])


def test_what_a_dialect_cannot_say_is_said_once_for_each_kind() -> None:
    text = '@R.function\ndef main(x: R.Tensor(("k",), "float32"), t: R.Tuple(R.Prim(value="k")), u: R.Tuple(R.Prim(value="k"))):\n    return x\n'
    (found,) = losses(rxe.parse(text), "tvm-0.27")
    assert found.code.id == "RX0031"
    assert not found.is_error
    assert "2 places" in found.message
    assert losses(rxe.parse(text), "tvm-0.19") == []
    for name in TEXTS:
        assert losses(rxe.parse(TEXTS[name]), "tvm-0.27") == []


def test_kinds_of_errors_are_lost_in_older_dialects() -> None:
    text = '@T.prim_func\ndef f(n: T.int32):\n    assert n > 0, ("TypeError", ["n is ", "wrong"])\n    T.evaluate(0)\n'
    program = rxe.parse(text)
    assert losses(program, "tvm-0.27") == []
    assert [item.code.id for item in losses(program, "tvm-0.19")] == ["RX0031"]
