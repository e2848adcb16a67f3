"""A file of calls is a sample like any other: stages are compared by what their calls return and leave in caches."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.session.bisect import NoNan, SameOutput, bisect
from relax_explorer.core.session.builds import as_stage
from relax_explorer.core.session.call_program import CallProgram, call_program, read_calls
from relax_explorer.core.session.compare import Trial, Verdict, against, compare
from relax_explorer.core.session.debug_commands import execute
from relax_explorer.core.session.debug_places import listing
from relax_explorer.core.session.debug_session import Answer, DebugSession
from relax_explorer.core.session.difference import BY_DTYPE
from relax_explorer.core.session.lockstep import lockstep
from relax_explorer.core.session.samples import CallFile, Sample, sample_run
from relax_explorer.core.session.validate import validate
from tests.exec.test_paged_cache import TEXT as PAGED

CACHE = """@I.ir_module
class Module:
    @R.function
    def begin() -> R.Any:
        z = R.zeros(R.shape([4, 2]), "float32")
        cache = R.call_pure_packed("vm.builtin.attention_kv_cache_create", z, R.shape([4, 2]), 0, ty_args=(R.Any,))
        return cache

    @R.function
    def step(x: R.Tensor((1, 2), "float32"), cache: R.Any):
        double = R.multiply(x, R.const(2, "float32"))
        kept = R.call_pure_packed("vm.builtin.attention_kv_cache_append", cache, double, ty_args=(R.Any,))
        return kept

    @R.function
    def total(cache: R.Any, s: R.Shape(["n"])):
        n = T.int64()
        rows = R.call_pure_packed("vm.builtin.attention_kv_cache_view", cache, R.shape([n, 2]), ty_args=(R.Tensor((n, 2), "float32"),))
        y = R.sum(rows)
        return y
"""
APPEND = 'kept = R.call_pure_packed("vm.builtin.attention_kv_cache_append", cache, double'
WRONG = CACHE.replace(
    APPEND, f'low = R.minimum(double, R.const(7, "float32"))\n        {APPEND.replace("double", "low")}'
)
STEPS = "cache = begin()\ncache = step([[1, 2]], cache)\ncache = step([[3, 4]], cache)\n"


def sample(text: str = STEPS, folder: Path | None = None) -> Sample:
    return Sample(calls=CallFile("calls.txt", str(folder or ""), tuple(read_calls(text, "calls.txt"))))


def verdict(a: str, b: str, text: str = STEPS) -> Verdict:
    return compare(rxe.parse(a), rxe.parse(b), "calls", [sample(text)]).verdicts[0]


def test_a_wrong_row_is_traced_to_its_call_and_binding() -> None:
    found = verdict(CACHE, WRONG)
    assert found.call == "call 3 (step)"
    assert found.first is not None
    assert found.first.b is not None
    assert (found.first.b.name, found.first.b.function, found.first.b.call) == ("kept", "step", 3)
    assert found.first.row == "row 1"
    found = verdict(
        CACHE,
        CACHE.replace('attention_kv_cache_append", cache, double', 'attention_kv_cache_append", cache, x'),
    )
    assert found.first is not None
    assert found.first.row == "row 0"
    assert found.first.b is not None
    assert (found.call, found.first.b.name, found.first.b.place) == ("call 2 (step)", "kept", 2)
    assert "in call 3 (step)" in found.reason  # one cache, returned last there
    assert verdict(CACHE, CACHE).equal


def test_each_stage_has_a_cache_of_its_own() -> None:
    module = rxe.parse(CACHE)
    run = sample_run(as_stage(module), "calls", sample(STEPS + "total(cache, shape(2))\n"))
    results = [run.finished(module).last_results(run.program) for _ in range(2)]
    assert [float(result[0]) for result in results] == [20, 20]
    assert [float(run.recorded(module).last_results(run.program)[0])] == [20]


def test_the_reason_names_the_first_call_that_differs() -> None:
    text = (
        STEPS.replace("cache = step([[3", "t = total(cache, shape(1))\ncache = step([[3")
        + "u = total(cache, shape(2))\n"
    )
    assert verdict(CACHE, WRONG, text).reason.startswith("in call 4 (step): ")
    assert (
        verdict(CACHE, CACHE.replace("R.sum(rows)", "R.max(rows)"), text).reason
        == "in call 3 (total, n = 1): t differs"
    )


def test_stages_that_stop_in_other_calls_differ() -> None:
    stop = CACHE.replace("return kept", "k = R.match_cast(kept, R.Tensor)\n        return k")
    assert verdict(CACHE, stop).reason == "only B stops"
    late = CACHE.replace("rows = ", "rows0 = R.match_cast(cache, R.Tensor)\n        rows = ")
    assert verdict(stop, late, STEPS + "total(cache, shape(2))\n").reason == "A stops in call 2, B in call 4"
    assert verdict(stop, stop).equal


@pytest.mark.parametrize(
    "text",
    [
        CACHE.replace("def step", "def stop"),
        CACHE.replace('R.const(2, "float32")', 'R.const(2, "int32")'),
        CACHE.replace("def step(x: ", "def step(y: R.Any, x: "),
    ],
    ids=["no such function", "no normal form", "another parameter"],
)  # fmt: skip
def test_a_stage_that_can_not_make_the_calls_stops(text: str) -> None:
    found = verdict(CACHE, text)
    assert found.reason == "only B stops"
    assert found.stopped[1]


def test_nan_and_inf_are_numbers_unless_a_result_has_their_name() -> None:
    module = rxe.parse(
        '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.negative(x)\n    return y'
    )
    text = "inf = main([nan, -inf])\nnan = main([3, 4])\nmain(nan)\nmain([nan[0], 1])\n"
    outcome = sample_run(as_stage(module), "calls", sample(text)).finished(module)
    np.testing.assert_array_equal(outcome.result, [[np.nan, np.inf], [-3, -4], [3, 4], [3, -1]])
    with pytest.raises(rxe.Failure, match="max has no value here"):
        sample_run(as_stage(module), "calls", sample("main(max)"))


def test_stages_are_tested_on_calls() -> None:
    stages = [as_stage(rxe.parse(text), number) for number, text in enumerate((CACHE, CACHE, WRONG))]
    chosen = [sample(STEPS + "total(cache, shape(2))\n")]
    found = bisect(stages, SameOutput(stages[0], "calls", chosen))
    assert found.failed is not None
    assert (found.failed.number, "in call 3 (step)" in found.failed.reason) == (2, True)
    assert found.comparison is not None
    assert found.comparison.verdicts[0].call == "call 3 (step)"
    right = (("out0", np.float32(20)),)
    assert [bool(SameOutput(stages[0], "calls", chosen, recorded=right)(stage)) for stage in stages] == [
        False,
        False,
        True,
    ]
    rows = validate(stages, "calls", chosen)
    assert [row.equal for row in rows] == [True, False]
    assert against(stages[0], "calls", chosen[0], dict(right), BY_DTYPE).equal
    assert not against(stages[2], "calls", chosen[0], dict(right), BY_DTYPE).equal


def test_a_nan_is_found_in_the_call_that_makes_it() -> None:
    text = CACHE.replace('R.multiply(x, R.const(2, "float32"))', "R.sqrt(x)")
    stage = as_stage(rxe.parse(text))
    chosen = sample(STEPS.replace("[[3, 4]]", "[[3, -4]]"))
    found = NoNan(stage, "calls", [chosen]).first_nan(stage)
    assert found is not None
    assert (found.name, found.call) == ("double", 3)


def test_lock_step_goes_through_all_calls() -> None:
    a, b = [as_stage(rxe.parse(text), number) for number, text in enumerate((CACHE, WRONG))]
    runs = lockstep(Trial(a, b, "calls", sample()))
    first = runs.pair(runs.to_difference(0, 1))
    assert first is not None
    assert first.b is not None
    assert (first.b.function, first.b.call) == ("step", 3)


def test_a_sample_of_calls_is_sent_to_other_processes() -> None:
    module = rxe.parse(CACHE)
    again = pickle.loads(pickle.dumps(sample()))  # our own bytes
    assert sample_run(as_stage(module), "calls", again).finished(module).failure is None


def test_weights_are_named_by_the_stage_that_tells(tmp_path: Path) -> None:
    text = """@R.function
def main(p: R.Tuple(R.Tensor((1,), "float32"), R.Tensor((1,), "float32"))):
    a = p[0]
    b = p[1]
    c = R.subtract(a, b)
    return c
"""
    np.savez(tmp_path / "w.npz", b=np.ones(1, np.float32), a=np.full(1, 3, np.float32))
    first, lost = (
        rxe.parse(text),
        rxe.parse(text.replace("a = ", "lv = ").replace("b = ", "lv1 = ").replace("(a, b)", "(lv, lv1)")),
    )
    run = sample_run(as_stage(first), "calls", sample('main("w.npz")\n', tmp_path))
    assert run.program is not None
    for module in (first, lost):
        assert float(run.finished(module).last_results(run.program)[0][0]) == 2


# -- paged caches ---------------------------------------------------------------------------------------------------------

FORWARD = """cache = create_cache(shape(4), shape(64), shape(16), shape(16), shape(0))
vm.builtin.kv_state_add_sequence(cache, 0)
vm.builtin.kv_state_begin_forward(cache, shape(0), shape(3))
logits, cache = prefill([[3, 14, 15]], cache, "randn:1")
vm.builtin.kv_state_end_forward(cache)
"""


def test_a_wrong_row_of_a_paged_cache_is_named() -> None:
    found = verdict(PAGED, PAGED.replace("False, 1, 1, 10000, 0", "False, 0, 1, 10000, 0"), FORWARD)
    assert found.first is not None
    assert found.first.row == "sequence 0, layer 0, keys, row 1"  # the first token is not rotated
    assert found.call.startswith("call 4 (prefill")


# -- the debugger ---------------------------------------------------------------------------------------------------------


def session(text: str, calls: str) -> tuple[DebugSession, CallProgram]:
    module = rxe.parse(text)
    program = call_program(module, read_calls(calls, "calls.txt"), "calls.txt")
    debugger = Debugger(program.into(module), program.name, program.values)
    stage = rxe.Session(module).stages[0]
    return DebugSession(debugger, listing(stage, "p.py"), program), program


def ask(at: DebugSession, line: str) -> Answer:
    answer = execute(at, line)
    assert answer.kind != "refused", answer.problems
    return answer


def test_rows_of_a_cache_are_printed_watched_and_asked_for_their_writer() -> None:
    at, _ = session(CACHE, STEPS)
    ask(at, "watch cache[1]")
    ask(at, "goto end")
    assert ask(at, "print cache[1]").data["value"].tolist() == [6, 8]
    assert ask(at, "print cache.shape").data["value"] == (2, 2)
    assert ask(at, "print max(cache)").data["value"] == 8
    found = ask(at, "last-change cache[0]")
    assert found.data["changed"]
    assert (found.data["event"].binding.var.name, found.data["call"].split(":")[0]) == ("kept", "call 2 of 3")
    ask(at, "goto end")
    found = ask(at, "last-change cache[1]")
    assert found.data["call"].startswith("call 3 of 3")
    assert found.data["now"].tolist() == [6, 8]


def test_rows_from_the_start_were_written_by_what_made_the_cache() -> None:
    at, _ = session(CACHE.replace("R.shape([4, 2]), 0", "R.shape([4, 2]), -1"), STEPS)
    ask(at, "goto end")
    found = ask(at, "last-change cache[3]")
    assert found.data["changed"]
    assert (found.data["event"].binding.var.name, found.data["call"].split(":")[0]) == (
        "cache",
        "call 1 of 3",
    )


def test_sequences_and_pages_are_printed() -> None:
    at, _ = session(PAGED, FORWARD)
    ask(at, "goto end")
    assert ask(at, "print cache.sequences").data["value"] == (0,)
    assert len(ask(at, "print cache.pages[0]").data["value"]) == 1
    assert ask(at, "print cache[0][1][0].shape").data["value"][0] == 3
    assert "no sequence 7" in ask(at, "print cache[7]").data["missing"]
    found = ask(at, "last-change cache[0][0][1][2]")
    assert found.data["call"].startswith("call 4 of 5")


@pytest.mark.parametrize(
    ("line", "words"), [("print cache.pages", "has no pages"), ("print x.pages", "has no pages")]
)
def test_other_values_have_no_pages(line: str, words: str) -> None:
    at, _ = session(CACHE, STEPS)
    ask(at, "goto end")
    problem: Any = execute(at, line)
    assert words in problem.problems[0].message or problem.data.get("missing")


def test_one_call_has_no_call_before() -> None:
    module = rxe.parse(CACHE)
    at = DebugSession(Debugger(module, "begin", []), listing(rxe.Session(module).stages[0], "p.py"))
    assert execute(at, ")").kind == "refused"
