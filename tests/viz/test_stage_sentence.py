"""What each stage did, as a sentence: the right numbers, and something for every stage that changed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.session.align import diff_modules
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.core.session.session import Session
from relax_explorer.viz.report import report
from relax_explorer.viz.stage_sentence import MOST, clauses, joined, stage_sentence
from tests.support.roundtrip import SAMPLES

CORPUS = Path(__file__).parents[1] / "data" / "corpus"
MODELS = sorted(path.name for path in CORPUS.iterdir() if path.is_dir())
SAID = [
    ("llama", "LegalizeOps", "64 operators became calls of 29 new kernels"),
    ("llama", "AnnotateTIROpPattern", "Nothing but the attribute op_pattern of 29 kernels."),
    ("llama", "FuseOps", "8 merges: matmul + multiply + add → fused_matmul1_multiply_add, …; 75 bindings became 59"),
    ("llama", "FuseTIRInner", "4 functions became kernels"),
    ("llama", "DeadCodeElimination", "9 kernels are gone."),
    ("llama", "ToNonDataflow", "Nothing but marks: 57 variables are no dataflow variables any more."),
    ("llama", "RemovePurityChecking", "Nothing but the attribute relax.force_pure of 1 function."),
    ("llama", "CallTIRRewrite", "Allocates 46 tensors before the calls that fill them; 42 calls return nothing now"),
    ("llama", "StaticPlanBlockMemory", "45 tensors share 11 storages: 38.9 MiB became 15.8 MiB at b = 64, s = 64"),
    ("llama", "LowerAllocTensor", "1 builtin.alloc_tensor became memory.alloc_tensor"),
    ("llama", "KillAfterLastUse", "Frees 55 tensors and 12 storages after the last use"),
    ("llama", "LowerRuntimeBuiltin", "46 memory.alloc_tensor became vm.alloc_tensor"),
    ("llama", "VMShapeLower", "179 bindings became 246; adds 58 make_shape"),
    ("mlp", "FuseOps", "1 merge: matmul + add + gelu → fused_matmul_add_gelu; 7 bindings became 5"),
    ("resnet_block", "StaticPlanBlockMemory", "12 tensors share 6 storages: 12.8 KiB became 7.19 KiB;"),
    ("resnet_block", "FoldConstant", "28 bindings became 21; removes 6 tuple items, 1 transpose"),
]  # fmt: skip


PROGRAM = """@R.function
def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    R.func_attr({{"size": {attr}}})
    {name} = R.{operator}(x)
    return {name}
"""


@cache
def session(model: str) -> RecordedSession:
    found = RecordedSession(open_build(str(CORPUS / model)))
    found.run_all()
    return found


@pytest.mark.parametrize(("model", "made_by", "text"), SAID, ids=lambda item: item.replace(" ", "_")[:24])
def test_the_numbers_of_a_stage(model: str, made_by: str, text: str) -> None:
    stage = next(item for item in session(model).stages if item.made_by == made_by)
    assert stage_sentence(session(model), stage).startswith(text)


@pytest.mark.parametrize("model", MODELS)
def test_every_stage_is_told_in_two_lines_at_most(model: str) -> None:
    for stage in session(model).stages[1:]:
        told = stage_sentence(session(model), stage)
        assert told.endswith((".", "…")), stage
        assert len(told) <= MOST
        assert not told.startswith("The head") or not stage.changed, stage
        assert len(stage_sentence(session(model), stage, width=78)) <= 78


def test_the_first_stage_has_none_and_an_unchanged_one_says_so() -> None:
    layer = next(path for path in SAMPLES if path.stem.startswith("12"))
    found = Session(rxe.load(layer), "zero")
    found.run_all()
    assert stage_sentence(found, found.stages[0]) == ""
    quiet = next(stage for stage in found.stages if not stage.changed)
    assert stage_sentence(found, quiet) == "Nothing changed."


def test_changes_since_an_earlier_stage_are_told_together() -> None:
    found = session("llama")
    last = next(stage for stage in found.stages if stage.made_by == "FuseOps")
    since = stage_sentence(found, last, 0)
    assert "44 operators became calls of 20 new kernels" in since
    assert since != stage_sentence(found, last), "what is kept about a stage is since the one before"


def test_a_clause_that_has_no_room_is_left_out() -> None:
    assert joined(("a is b", "c" * 30, "d"), 20) == "A is b; d."
    assert joined(("a" * 30,), 20) == f"A{'a' * 18}…"


def test_attributes_are_named_only_if_nothing_else_differs() -> None:
    a = rxe.parse(PROGRAM.format(name="v", attr=1, operator="exp"))
    for other, text in [
        ({"name": "v", "attr": 2, "operator": "exp"}, "nothing but the attribute size of 1 function"),
        ({"name": "w", "attr": 1, "operator": "exp"}, "nothing but the name of 1 binding"),
        ({"name": "v", "attr": 1, "operator": "sqrt"}, "1 exp became sqrt"),
        ({"name": "v", "attr": 2, "operator": "sqrt"}, "1 exp became sqrt"),
    ]:
        b = rxe.parse(PROGRAM.format(**other))
        assert clauses(a, b, diff_modules(a, b)) == (text,)


def test_the_report_tells_each_stage() -> None:
    page = report(session("mlp"))
    for stage in session("mlp").stages[1:]:
        if stage.changed:
            assert (
                stage_sentence(session("mlp"), stage, width=60)
                .partition(";")[0]
                .rstrip(".…")[:40]
                .replace(">", "&gt;")
                in page
            )
