"""A wrong argument is told in a sentence that says what was expected."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe


@cache
def module() -> Any:
    return rxe.load("samples/01_tensor_program.py")


X = np.ones((2, 3), "float32")
CALLS: dict[str, tuple[Callable[[Any], object], str]] = {
    "parse": (lambda m: rxe.parse(m), r"parse takes a text, not IRModule\. `load` reads a file"),
    "check": (lambda m: rxe.check(3), r"check takes a module or a text, not int"),
    "well_formed": (lambda m: rxe.well_formed(None), r"well_formed takes a module or a text, not NoneType"),
    "normalize": (lambda m: rxe.normalize("text"), r"normalize takes a module, not str\. `parse` and `load` give one"),
    "a pass first": (lambda m: rxe.apply_pass("LegalizeOps", m), r"apply_pass takes a module, then the name of a pass, not str"),
    "no name": (lambda m: rxe.apply_pass(m, 3), r"a pass is named by a text, not int"),
    "a function": (lambda m: rxe.apply_pass(m["main"], "LegalizeOps"), r"apply_pass takes a module, .*, not Function"),
    "pipeline": (lambda m: rxe.run_pipeline(m, 3), r"a pipeline is a text or a list of steps, not int"),
    "pipeline first": (lambda m: rxe.run_pipeline("zero", m), r"run_pipeline takes a module, then a pipeline, not str"),
    "run": (lambda m: rxe.run([m]), r"run takes a module, then the name of a function, then its arguments, not list"),
    "arguments apart": (lambda m: rxe.run(m, "main", X, X, X), r"the arguments of a run stand in a list, not ndarray\. write run\(module"),
    "one argument": (lambda m: rxe.run(m, "main", X), r"the arguments of a run stand in a list, not ndarray"),
    "arguments by name": (lambda m: rxe.run(m, "main", {"x": X}), r"the arguments of a run stand in a list, not dict"),
    "debug": (lambda m: rxe.debug(m, "main", X), r"the arguments of a run stand in a list, not ndarray\. write debug"),
    "debug a session": (lambda m: rxe.debug(rxe.Session(m)), r"debug takes a module, .*, not Session"),
    "graph": (lambda m: rxe.graph(m["main"]), r"graph takes a module, not Function"),
    "compare": (lambda m: rxe.compare(m, "other.py"), r"a stage is a module, or a stage of a build, not str"),
    "bisect": (lambda m: rxe.bisect(m), r"stages are those of a session, .*, not IRModule\. `rxe.Session\(module, passes\)`"),
    "validate": (lambda m: rxe.validate(m), r"stages are those of a session, .*, not IRModule"),
    "bisect texts": (lambda m: rxe.bisect(["a.py", "b.py"]), r"a stage is a module, or a stage of a build, not str"),
    "session": (lambda m: rxe.Session("model.py"), r"a session takes a module, not str\. `open_session` opens files and folders"),
    "open_session": (lambda m: rxe.open_session(m), r"open_session takes the path of a file or folder, not IRModule"),
    "to_json": (lambda m: rxe.to_json(m["main"]), r"to_json takes a module, not Function"),
    "from_json": (lambda m: rxe.from_json({}), r"from_json takes a text, not dict"),
    "inputs": (lambda m: rxe.inputs(m["main"]), r"inputs takes a module, not Function"),
    "bindings": (lambda m: rxe.bindings("main"), r"bindings takes a module or a function, not str"),
    "find": (lambda m: rxe.find("add", m), r"find takes a module, not str"),
    "pattern": (lambda m: rxe.find(m, None), r"the pattern of find is a text, not NoneType"),
    "diff": (lambda m: rxe.diff(m, None), r"diff takes two modules, not NoneType"),
    "cost": (lambda m: rxe.cost(m["main"]), r"cost takes a module, not Function"),
    "use_python": (lambda m: rxe.use_python(3), r"an interpreter is named by its path, not int"),
    "load": (lambda m: rxe.load(3), r"load takes a path, not int"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_says_what_was_expected(name: str) -> None:
    call, wanted = CALLS[name]
    with pytest.raises(TypeError, match=wanted):
        call(module())


def test_what_is_right_but_is_not_there_is_a_failure_with_a_hint() -> None:
    for call in (
        lambda: rxe.run(module(), "nothing", []),
        lambda: rxe.inputs(module(), "nothing"),
        lambda: rxe.bindings(module(), "nothing"),
        lambda: rxe.find(module(), "add", "nothing"),
    ):
        with pytest.raises(rxe.Failure) as caught:
            call()
        (problem,) = caught.value.diagnostics
        assert problem.code.id == "RX0506"
        assert "nothing" in problem.message
        assert problem.help == "it has main"


def test_other_sequences_are_lists_too() -> None:
    values = rxe.inputs(module())[0]
    assert rxe.run(module(), "main", tuple(values)).shape == (2, 4)
    assert rxe.run_pipeline(module(), ("LegalizeOps",)) is not module()
    assert [row.equal for row in rxe.validate((module(), rxe.apply_pass(module(), "LegalizeOps")))] == [True]


def test_a_session_that_was_not_run_is_run_first() -> None:
    """A stage that was not made yet is none that holds."""
    fresh = rxe.Session(module(), "LegalizeOps")
    assert len(fresh.stages) == 1
    assert [row.made_by for row in rxe.validate(fresh)] == ["LegalizeOps"]
    found = rxe.bisect(rxe.Session(module(), "LegalizeOps"))
    assert [attempt.made_by for attempt in found.attempts][-1] == "LegalizeOps"
