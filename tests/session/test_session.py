"""Stages, differences, the history of a value, and where printed lines come from."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from tests.support.roundtrip import DATA, SAMPLES

LLAMA = DATA / "llama" / "00_input.py"


@pytest.fixture(scope="module")
def session() -> rxe.Session:
    return rxe.Session.open(LLAMA, "default")


def test_stages(session: rxe.Session) -> None:
    assert [stage.made_by for stage in session.stages] == ["input", *map(str, session.pipeline)]
    assert [stage.changed for stage in session.stages] == [True, True, False, False, False, True, True]
    assert session.stage("LegalizeOps").phase == "legalized"
    assert session.stages[-1].phase == "lowered"
    assert session.problems == []
    with pytest.raises(KeyError):
        session.stage("NoSuchStage")


def test_difference_counts_bindings(session: rxe.Session) -> None:
    stat = session.diff(0, 1).stat
    assert (stat["removed"], stat["added"]) == (1, 0)
    assert session.diff(1, 2).is_empty
    assert session.diff(4, 5).stat["changed"] == 64


def test_history_is_certain_where_it_was_recorded(session: rxe.Session) -> None:
    found = session.who("rms_norm", stage=0)
    assert [trace.mark for trace in found] == ["="] * len(session.stages)
    gone = session.who("matmul12", stage=0)
    assert gone[0].bindings
    assert gone[1].made_by == "CanonicalizeBindings"
    with pytest.raises(KeyError):
        session.who("no_such_variable")


def test_every_binding_has_a_line_of_its_own(session: rxe.Session) -> None:
    for stage in session.stages:
        for fn in stage.module.relax_functions.values():
            lines = [stage.printed.line_of(binding) for binding in bindings(fn)]
            assert None not in lines
            assert len(set(lines)) == len(lines)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples_open_without_a_problem(path: object) -> None:
    opened = rxe.Session.open(str(path), "default")
    assert [str(problem) for _, problem in opened.problems if problem.is_error] == []
    assert opened.notes == []


def test_graph_of_a_function() -> None:
    drawn = rxe.graph(rxe.normalize(rxe.load(LLAMA)), "forward")
    titles = [node.title for node in drawn.nodes]
    assert titles.count("matmul") == 13
    assert {edge.label for edge in drawn.edges} >= {"(b, s, 32) f32", "(b, 4, s, s) f32"}
    assert "digraph" in drawn.dot()
    with pytest.raises(rxe.Failure):
        rxe.graph(rxe.load(LLAMA), "no_such_function")
