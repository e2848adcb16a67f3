"""The results of passes are TVM's, up to names. A difference has a row here and its reason in `differences.md`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import relax_explorer as rxe
from tests.support.known_differences import REASONS, reasons
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs, random_programs
from tests.support.pass_variants import Variant, variants

ROWS = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
HIGH = ("canonicalize", "constants", "dataflow")
PASSES = {
    "CanonicalizeBindings": HIGH,
    "ConvertToDataflow": HIGH,
    "DeadCodeElimination": HIGH,
    "EliminateCommonSubexpr": HIGH,
    "FoldConstant": HIGH,
    "InlinePrivateFunctions": HIGH,
    "ToNonDataflow": HIGH,
    "AnnotateTIROpPattern": ("lowering", "constants"),
    "FuseOps": ("lowering",),
    "FuseTIR": ("lowering", "signatures"),
    "LambdaLift": ("lowering", "dataflow"),
    "KillAfterLastUse": ("lowering",),
    "VMShapeLower": ("lowering",),
}
DECOMPOSITIONS = ("DecomposeOpsForInference", "DecomposeOpsForTraining")
CANONICAL = ("CanonicalizeBindings", "ConvertToDataflow")
CASTING = (*CANONICAL, "RemoveUnusedOutputs", "ExpandTupleArguments")
DEAD = ("DeadCodeElimination", "FoldConstant", "RemoveUnusedOutputs", "ExpandTupleArguments")
RANDOM = (
    *(name for name, files in PASSES.items() if files is HIGH),
    "RemoveUnusedParameters",
    "RemoveUnusedOutputs",
    "ExpandTupleArguments",
    *DECOMPOSITIONS,
)
LOST = "`match_cast` that compares two known lengths"
HEAP = "VMShapeLower"
KILLED = "Copy of a variable that a kill ends"
HELD = "Shapes that variables hold"
CAST = "A cast that always fails is a warning (TYPE-58, TYPE-59)"
OUTPUT = "Cast of a dataflow variable that nothing else reads"
INNER = "The definition of an inner function is pure (PURE-10)"
SHAPED = "A tensor made in a shape held by a variable has this variable as its shape"
DIFFERENT = {
    ("CanonicalizeBindings", "Lives 3"): KILLED,
    ("ConvertToDataflow", "Lives 3"): KILLED,
    **{(name, CAST): LOST for name in CASTING},
    **{(name, "A cast of a cast as an output"): OUTPUT for name in CASTING},
    **{(name, INNER): "Unread definition of an impure function" for name in DEAD},
    **{(name, SHAPED): HELD for name in ("ConvertToDataflow", *DECOMPOSITIONS)},
    ("FuseTIR", "A result that is checked"): LOST,
    ("FuseTIR", "Two lengths of one dropped parameter"): "RemoveUnusedParameters: the order",
    ("FuseTIR", "Attention"): "Regions and annotations of blocks in FuseTIR",
    ("FuseTIR", "Functions used as values"): "Private function that is also used as a value",
    ("KillAfterLastUse", "A result that is checked"): LOST,
    ("ConvertToDataflow", "Shapes outside dataflow blocks, and one that is returned"): HELD,
    (
        "FoldConstant",
        "The prover may be restricted to written equality (PRIM-15)",
    ): "Annotation of a binding that is weaker",
    ("RemoveUnusedParameters", "Checks of parameters"): "RemoveUnusedParameters: the order",
    (
        "RemoveUnusedParameters",
        "A warning about lengths that are proved is not given",
    ): "RemoveUnusedParameters for an",
    ("KillAfterLastUse", "Lives 3"): "Copy of a variable that a kill ends",
    ("VMShapeLower", "Checks of parameters"): HEAP,
    ("VMShapeLower", "Casts that are implied"): HEAP,
    ("VMShapeLower", "Lives of objects 1"): HEAP,
}
"""(pass, heading of the program) → the first words of its row in `differences.md`."""


@pytest.mark.parametrize("name", PASSES)
def test_the_results_are_tvms(name: str, oracle: Oracle) -> None:
    unexplained, unseen = [], {heading for other, heading in DIFFERENT if other == name}
    for title, text in programs().items():
        if not title.startswith(tuple(f"{file}: " for file in PASSES[name])):
            continue
        heading = title.split(": ", 1)[1].rsplit(" #", 1)[0]
        outcome = compare(oracle, text, (name, {}))
        if outcome.kind == "not asked":
            oracle.could_not_ask(f"{name}: {outcome.details[-100:]}")
        elif outcome.kind in ("differ", "refused"):
            reason = DIFFERENT.get((name, heading), "")
            unseen.discard(heading)
            if not reason and (outcome.kind == "refused" or not reasons(oracle, text, Variant(name))):
                unexplained.append(f"{heading}: {outcome.details[:300]}")
    assert unexplained == []
    assert not {heading for heading in unseen if _is_read(heading, name)}, "these agree now: drop their rows"


def _is_read(heading: str, name: str) -> bool:
    """True if the heading is one of a file that is read for a pass."""
    files = {title.split(": ", 1)[0] for title in programs() if f": {heading} #" in title}
    return bool(files & set(PASSES[name]))


@pytest.mark.parametrize("name", RANDOM)
def test_results_for_random_programs_are_tvms_or_explained(name: str, oracle: Oracle) -> None:
    kinds = Counter[str]()
    for title, text in random_programs(14, 4100):
        outcome = compare(oracle, text, (name, {}))
        kinds[outcome.kind] += 1
        explained = outcome.kind != "differ" or reasons(oracle, text, Variant(name))
        assert explained, f"{title}: {outcome.details}"
    assert kinds["not asked"] + kinds["refused"] == 0
    assert kinds["agree"] >= 2


@pytest.mark.parametrize("name", ["KillAfterLastUse", "VMShapeLower"])
def test_results_for_random_lowered_programs_are_tvms_or_explained(name: str, oracle: Oracle) -> None:
    of, kinds = variants(name)[0], Counter[str]()
    for title, given in random_programs(8, 701038):
        ready = oracle.apply(given, of.before).get().text
        outcome = compare(oracle, ready, (name, {}), of.in_tvm)
        why = reasons(oracle, ready, of) if outcome.kind == "differ" else ()
        kinds[why[0] if why else outcome.kind] += 1
        assert why or outcome.kind not in ("differ", "refused"), f"{title}: {outcome.details}"
    assert kinds["agree"] >= 2
    assert name != "KillAfterLastUse" or kinds["KillAfterLastUse behind an If"] >= 1


LIVES = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
        R.func_attr({"relax.force_pure": True})
        a = R.exp(x)
        b = R.exp(a)
        if c:
            d = R.exp(b)
            e = R.exp(d)
        else:
            e = R.exp(x)
        f = R.exp(e)
        return f
"""


@pytest.mark.parametrize(
    ("old", "new", "explained"),
    [
        ("", "", True),
        ("R.memory.kill_tensor(a)", "R.exp(x)", False),
        ("R.memory.kill_tensor(d)", "R.exp(x)", False),
        ("R.exp(e)", "R.exp(x)", False),
    ],
)
def test_only_late_kills_are_explained(
    oracle: Oracle, monkeypatch: pytest.MonkeyPatch, old: str, new: str, explained: bool
) -> None:
    real = rxe.apply_pass

    def wrong(module: rxe.IRModule, name: str, **options: Any) -> rxe.IRModule:
        return rxe.normalize(rxe.parse(real(module, name, **options).script().replace(old, new)))

    assert compare(oracle, LIVES, ("KillAfterLastUse", {})).kind == "differ"
    monkeypatch.setattr(rxe, "apply_pass", wrong)
    assert bool(reasons(oracle, LIVES, Variant("KillAfterLastUse"))) is explained


def test_each_row_is_there() -> None:
    rows = {*DIFFERENT.values(), *(reason.row for reason in REASONS)}
    assert [row for row in sorted(rows) if f"| {row}" not in ROWS] == []


UNREAD = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        a = R.add(x, y)
        _ = R.print(x, format="")
        with R.dataflow():
            b = R.match_cast(x, R.Tensor((2,), "float32"))
            c = R.exp(x)
            R.output(c)
        return c
"""


@pytest.mark.parametrize(
    ("old", "new", "explained"),
    [
        ("", "", True),
        ('R.print(x, format="")', "R.exp(x)", False),
        ("R.exp(x)", "R.negative(x)", False),
        ("return c", "return x", False),
    ],
)
def test_only_the_subject_of_a_row_is_explained(
    oracle: Oracle, monkeypatch: pytest.MonkeyPatch, old: str, new: str, explained: bool
) -> None:
    real = rxe.apply_pass

    def wrong(module: rxe.IRModule, name: str, **options: Any) -> rxe.IRModule:
        return rxe.normalize(rxe.parse(real(module, name, **options).script().replace(old, new)))

    assert compare(oracle, UNREAD, ("DeadCodeElimination", {})).kind == "differ"
    monkeypatch.setattr(rxe, "apply_pass", wrong)
    assert bool(reasons(oracle, UNREAD, Variant("DeadCodeElimination"))) is explained
