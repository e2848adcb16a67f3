"""The oracle answers, reports TVM's limits, and survives TVM's death."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.support.corpus import MODELS, REPARSABLE, STAGES, Model, refused_by_tvm, stage_name
from tests.support.oracle import BindingType, Oracle, OracleRefusal

BRANCHES = """
@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("n", 4), "float32")) -> R.Tensor:
        if c:
            a: R.Tensor(dtype="float32", ndim=2) = R.add(x, x)
            y: R.Tensor = R.exp(a)
        else:
            y: R.Tensor = R.negative(x)

        @R.function
        def inner(q: R.Tensor) -> R.Tensor:
            z: R.Tensor(
                dtype="float32",
            ) = R.exp(q)
            return z

        w: R.Object = inner(y)
        return w
"""

SHAPES = """
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "bfloat16"), s: R.Shape(["m"]), t: R.Tuple(R.Tensor, R.Tensor)):
        k = R.shape_of(x)
        return (x, k, s, t)
"""

ASSERTING = """
@I.ir_module
class Module:
    @T.prim_func
    def k(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
        assert A[0] > T.float32(0.5), "too small"
        B[0] = A[0]

    @R.function
    def main(x: R.Tensor((1,), "float32")):
        cls = Module
        y = R.call_tir(cls.k, (x,), R.Tensor((1,), "float32"))
        return y
"""
ILL_FORMED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.print(x, format="")
        return x
"""


@pytest.fixture(params=MODELS, ids=lambda model: model.name)
def model(request: pytest.FixtureRequest) -> Model:
    return request.param


def test_tvm_reads_every_model_as_it_was_imported(oracle: Oracle, model: Model) -> None:
    handle = oracle.parse(model.input).get()
    equality = oracle.equal(model.input, handle).get()
    assert equality.mapped, equality.mismatch
    assert oracle.well_formed(model.input).get().well_formed


def test_tvm_infers_the_annotations_it_printed(oracle: Oracle, model: Model) -> None:
    printed = oracle.types(model.input).get()
    assert len(printed) > 5
    assert oracle.types(model.input, strip=True).get() == printed


def test_the_recorded_outputs_are_those_of_the_virtual_machine(oracle: Oracle) -> None:
    model = MODELS[0]
    (expected,) = model.arrays("out")
    result = oracle.run(model.input, model.entry, model.arrays("in")).get()
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_bindings_of_branches_and_local_functions_precede_their_holder(oracle: Oracle) -> None:
    rows = oracle.types(BRANCHES).get()
    assert [(row.function, row.kind) for row in rows] == [
        ("main", "relax.add"),
        ("main", "relax.exp"),
        ("main", "relax.negative"),
        ("main", "If"),
        ("main.inner", "relax.exp"),
        ("main", "Function"),
        ("main", "call:Var"),
    ]


def test_stripping_an_annotation_lets_tvm_infer_it(oracle: Oracle) -> None:
    stripped = {row.name: row for row in oracle.types(BRANCHES, strip=True).get()}
    assert stripped["a"] == BindingType("main", "a", 'R.Tensor((n, 4), dtype="float32")', "relax.add")
    assert stripped["w"].type == "R.Tensor"


def test_shapes_tuples_and_small_floats_cross_the_pipe(oracle: Oracle) -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4).astype(ml_dtypes.bfloat16)
    whole = np.arange(3, dtype=np.int64)
    result, length, shape, pair = oracle.run(SHAPES, "main", [x, (5,), (whole, whole)]).get()
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, x)
    assert (length, shape) == ((2, 4), (5,))
    np.testing.assert_array_equal(pair[1], whole)


def test_a_kernel_of_the_program_keeps_its_assertions(oracle: Oracle) -> None:
    assert oracle.run(ASSERTING, "main", [np.ones(1, "float32")]).get() == [1.0]
    refused = oracle.run(ASSERTING, "main", [np.zeros(1, "float32")])
    assert "too small" in refused.error
    (longer,) = oracle.run_each(ASSERTING, [("main", [np.ones(2, "float32")])]).get()
    assert not longer.ok, "the virtual machine checks what a function takes"
    bare = ASSERTING.replace("R.call_tir(cls.k, (x,), ", "R.add(x, x)  # ")
    bare = bare[: bare.index("    @T.prim_func")] + bare[bare.index("    @R.function") :]
    (longer,) = oracle.run_each(bare, [("main", [np.ones(2, "float32")])]).get()
    assert not longer.ok, "also for a program of operators, whose kernels assert nothing"


def test_passes_apply_by_name_with_options(oracle: Oracle) -> None:
    model = MODELS[0]
    applied = oracle.apply(model.input, ["LegalizeOps", ("ConvertToDataflow", {"min_size": 3})]).get()
    kinds = {row.kind for row in oracle.types(applied.handle).get()}
    assert "relax.call_tir" in kinds
    assert "relax.matmul" not in kinds
    assert oracle.equal(applied.text, applied.handle).get().mapped


def test_an_ill_formed_module_has_a_reason(oracle: Oracle) -> None:
    verdict = oracle.well_formed(ILL_FORMED).get()
    assert not verdict.well_formed
    assert "print" in verdict.message
    assert not oracle.parse(ILL_FORMED).ok


def test_signatures_tell_parameters_results_and_purity(oracle: Oracle) -> None:
    (main,) = oracle.signatures(BRANCHES).get()
    assert main.params == ['R.Tensor((), dtype="bool")', 'R.Tensor((n, 4), dtype="float32")']
    assert (main.result, main.pure) == ("R.Tensor", True)


def test_medians_come_for_everything_asked(oracle: Oracle) -> None:
    what = ["parse", "script", "well_formed", "DeadCodeElimination"]
    medians = oracle.time(MODELS[0].input, what, repeat=1).get()
    assert sorted(medians) == sorted(what)
    assert all(seconds > 0 for seconds in medians.values())


def test_an_error_of_tvm_is_an_answer(oracle: Oracle) -> None:
    answer = oracle.parse("@I.ir_module\nclass Module: oops oops")
    assert not answer.ok
    assert answer.kind
    with pytest.raises(OracleRefusal):
        answer.get()


@pytest.fixture
def doomed(oracle: Oracle) -> Iterator[Oracle]:
    """A second oracle, so that its crashes do not count as unanswered questions of the session."""
    doomed = Oracle()
    yield doomed
    doomed.close()


def test_a_crash_is_an_answer_and_the_next_question_finds_a_new_child(doomed: Oracle) -> None:
    handle = doomed.parse(MODELS[0].input).get()
    answer = doomed.die(signal.SIGSEGV)
    assert (answer.kind, answer.crashed) == ("crashed", signal.SIGSEGV)
    with pytest.raises(OracleRefusal):
        doomed.script(handle)
    assert doomed.version().startswith("0.27")
    with pytest.raises(OracleRefusal):
        doomed.script(handle)
    assert len(doomed.refused) == 1


def test_after_a_crash_tvm_is_not_loaded_again(doomed: Oracle) -> None:
    assert doomed.version()
    child = doomed.process
    for number in range(3):
        assert doomed.die(signal.SIGKILL).crashed == signal.SIGKILL
        assert doomed.parse(MODELS[0].input).get().child == number + 2
    assert doomed.process == child
    assert len(doomed.refused) == 3


def living(group: int) -> int:
    """How many processes of a group live."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            state, _, its_group = path.read_text(errors="replace").rpartition(")")[2].split()[:3]
            found += int(its_group) == group and state != "Z"
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here to list processes with")
def test_the_child_ends_with_its_copy(doomed: Oracle) -> None:
    """After a question that takes too long, and at the end, no process is left."""
    for end in (lambda: doomed.parse(MODELS[1].input, seconds=0.001), doomed.close):
        assert doomed.version()
        group = doomed.process
        assert living(group) == 2
        end()
        deadline = time.monotonic() + 10
        while living(group) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert living(group) == 0


def test_a_question_has_a_time_limit(doomed: Oracle) -> None:
    assert doomed.version()
    answer = doomed.parse(MODELS[1].input, seconds=0.001)
    assert answer.kind == "timeout"
    assert doomed.parse(MODELS[0].input).ok


def test_reparsable_lists_every_stage(update: bool, request: pytest.FixtureRequest) -> None:
    if update:
        oracle: Oracle = request.getfixturevalue("oracle")
        verdicts = {stage_name(path): verdict(oracle, path.read_text(encoding="utf-8")) for path in STAGES}
        REPARSABLE.write_text(json.dumps(verdicts, indent=1) + "\n", encoding="utf-8")
    assert list(json.loads(REPARSABLE.read_text(encoding="utf-8"))) == [stage_name(path) for path in STAGES]


@pytest.mark.parametrize("path", MODELS[0].stages, ids=stage_name)
def test_reparsable_says_what_tvm_says(oracle: Oracle, update: bool, path: Path) -> None:
    # The round-trip tests ask TVM about the other models, and fail if this file is wrong.
    if not update:
        text = path.read_text(encoding="utf-8")
        assert verdict(oracle, text) == refused_by_tvm().get(stage_name(path), "")


def verdict(oracle: Oracle, text: str) -> str:
    """Return "" if TVM reads the text, else the first line of its error."""
    answer = oracle.parse(text)
    return "" if answer.ok else answer.error.strip().splitlines()[0]
