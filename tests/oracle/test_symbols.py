"""NormalizeGlobalVar gives TVM's names."""

from __future__ import annotations

import pytest

from tests.support.oracle import Oracle
from tests.support.pass_agreement import programs

TEXTS = {name: text for name, text in programs().items() if name.startswith("symbols: ")}


@pytest.mark.parametrize("title", TEXTS)
def test_functions_have_the_names_of_tvm(oracle: Oracle, title: str) -> None:
    import relax_explorer as rxe

    theirs = oracle.apply(TEXTS[title], [("NormalizeGlobalVar", {})]).get()
    ours = rxe.apply_pass(rxe.normalize(rxe.parse(TEXTS[title])), "NormalizeGlobalVar")
    assert oracle.equal(ours.script(), theirs.handle).get().mapped
    assert set(ours.functions) == set(rxe.parse(theirs.text).functions)
