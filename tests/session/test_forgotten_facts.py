"""A session keeps its stages, not what passes derived about their functions: that takes as much memory again."""

from __future__ import annotations

from relax_explorer.core.ir import facts as columns
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.load import load
from tests.support.roundtrip import DATA

MODEL = str(DATA / "llama" / "00_input.py")


def known(session: Session) -> set[int]:
    """The functions of stages whose facts are held."""
    functions = [fn for stage in session.stages for fn in stage.module.relax_functions.values()]
    return {id(fn) for fn in functions if id(fn) in columns._FACTS}


def test_no_stage_keeps_its_facts() -> None:
    session = Session(load(MODEL), "CanonicalizeBindings,EliminateCommonSubexpr,LegalizeOps,ToNonDataflow")
    while session.advance() is not None:
        assert known(session) <= set(map(id, session.stages[-1].module.relax_functions.values()))
    assert known(session) == set()


def test_what_is_asked_again_is_derived_again() -> None:
    session = Session(load(MODEL), "CanonicalizeBindings,LegalizeOps")
    session.run_all()
    fn = session.stages[0].module.relax_functions["forward"]
    derived = columns.facts(fn)
    assert columns.facts(fn) is derived
    assert derived.bindings[derived.defs[fn.body.blocks[0].bindings[0].var]] is fn.body.blocks[0].bindings[0]
    columns.forget(fn)
    assert columns.facts(fn) is not derived
    assert columns.facts(fn).uses == derived.uses
