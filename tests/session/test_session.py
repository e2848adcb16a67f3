"""Stages, differences, the history of a value, and the sources of printed lines."""

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
    assert session.stages[-1].phase == "non-dataflow"
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


FAILING = """
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = R.exp(x)
        unused = R.sin(x)
        R.output(y)
    return y
"""


def test_rules_are_checked_once_when_a_session_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    from relax_explorer.core.check.well_formed import _Scopes

    functions: list[object] = []
    check = _Scopes.check

    def counted(scopes: _Scopes) -> object:
        functions.append(scopes)
        return check(scopes)

    monkeypatch.setattr(_Scopes, "check", counted)
    rxe.Session(rxe.parse(FAILING), "simplify")
    assert len(functions) == 1


def test_a_pass_that_fails_leaves_the_module_to_the_next() -> None:
    session = rxe.Session(
        rxe.parse(FAILING), 'ToNonDataflow,DeadCodeElimination{entry_functions="none"},LegalizeOps'
    )
    listened: list[int] = []
    session.listeners.append(lambda snapshot: listened.append(snapshot.number))
    session.run_all()
    _, first, failed, last = session.stages
    assert [problem.code.id for problem in failed.problems] == ["RX0404"]
    assert (failed.module, failed.changed) == (first.module, False)
    assert (last.changed, last.phase) == (True, "non-dataflow")
    assert listened == [1, 2, 3]
    assert session.advance() is None


@pytest.mark.parametrize("verify", [False, True])
def test_every_door_runs_a_pipeline_alike(verify: bool) -> None:
    module = rxe.normalize(rxe.parse(FAILING))
    session = rxe.Session(module, "default")
    session.run_all()
    assert rxe.structural_equal(session.stages[-1].module, rxe.run_pipeline(module, "default", verify))
    one_by_one = module
    for step in session.pipeline:
        one_by_one = rxe.apply_pass(one_by_one, step.of.name, **step.options)
    assert rxe.structural_equal(one_by_one, session.stages[-1].module)
