"""The results of the passes with patterns are TVM's, up to names. Differences have a row here and a reason in `differences.md`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import relax_explorer as rxe
from relax_explorer.core.patterns import pattern as q
from relax_explorer.core.patterns import read_pattern
from tests.support import mdtest
from tests.support.corpus import MODELS
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare
from tests.support.pattern_trees import tree

PROGRAMS = Path(__file__).parent / "pass_programs" / "patterns.md"
PASSES = (
    "RemoveRedundantReshape",
    "ExpandMatmulOfSum",
    "AdjustMatmulOrder",
    "ReorderPermuteDimsAfterConcat",
    "ReorderTakeAfterMatmul",
    "OptimizeLayoutTransform",
    "FoldBatchnormToConv2D",
    "FuseTransposeMatmul",
    "CombineParallelMatmul",
)
FUSIONS = {
    "earlier ones first": ["my.mm_relu: relu(matmul(_, _))", "my.mm: matmul(_, _)", "your.add: add(_, _)"],
    "overlapping": ["my.add2: add(add(_, _), _)", "my.r: relu(reshape(_, _))", "my.a: relu(add(_, _))"],
    "parts": ["my.s: relu(split(_)[0])", "my.c: relu(concat(_))", "my.mm_add: add(matmul(_, _), const)"],
    "limits": ["my.m: matmul(x: f32[4, 4], _)", "my.e: exp(x) | sin(x)", "my.p: multiply(_, ~const)"],
}
# FuseOpsByPattern differs already (`DIFFERENT`).
NOT_MERGED = ("Reshapes: zeros", "Fusion: h4")
SUMS = "Sums, concatenations and takes"
DIFFERENT = {
    ("merging", "Reshapes: main"): "MergeCompositeFunctions with copies",
    ("RunCodegen", "Parallel products: q8"): "Constants of functions for code generators",
    ("RunCodegen", "Fusion: f3"): "Constants of functions for code generators",
    ("RunCodegen", "bert_layer"): "Constants of functions for code generators",
    ("overlapping", "llama"): "FuseOpsByPattern for a match that other bindings divide",
    ("limits", "Reshapes: zeros"): "FuseOpsByPattern for a tensor whose shape",
    ("overlapping", "Fusion: h4"): "FuseOpsByPattern for a match that shares",
    ("ExpandMatmulOfSum", f"{SUMS}: e5"): "A sum whose lengths are not known",
    ("ExpandMatmulOfSum", f"{SUMS}: e4"): "Products with `out_dtype`",
    ("RemoveRedundantReshape", "Reshapes: zeros"): "A tensor whose shape a variable holds",
    ("ReorderTakeAfterMatmul", f"{SUMS}: t5"): "ReorderTakeAfterMatmul with one index",
    ("OptimizeLayoutTransform", "Layout transforms: square"): "OptimizeLayoutTransform for maps",
}
"""(pass, heading of the program) → the first words of its row in `differences.md`."""


@cache
def programs() -> dict[str, str]:
    """Our print of each program, by its heading."""
    texts = {case.name.split(": ", 1)[1].rsplit(" #", 1)[0]: case.program for case in mdtest.read(PROGRAMS)}
    texts |= {model.name: model.input for model in MODELS}
    return {name: rxe.normalize(rxe.parse(text)).script() for name, text in texts.items()}


def compared(oracle: Oracle, text: str, name: str, options: dict[str, Any]) -> str:
    """`same` if neither changed the program, `agree`, `differ`, or `not asked`."""
    patterns = [text.split(": ", 1) for text in options.get("patterns", ())]
    trees = {"patterns": [[title, tree(_pattern(text))] for title, text in patterns]} if patterns else {}
    theirs = oracle.apply(text, [(name, {**options, **trees})])
    if not theirs.ok:
        oracle.could_not_ask(f"{name}: {theirs.error[-100:]}")
        return "not asked"
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, name, **options)
    assert rxe.well_formed(after)
    if not oracle.equal(after.script(), theirs.get().handle).get().mapped:
        return "differ"
    return "same" if after is before else "agree"


def _pattern(text: str) -> q.Pattern:
    pattern = read_pattern(text)
    assert isinstance(pattern, q.Pattern)
    return pattern


@pytest.mark.parametrize("options", [{}, {"bind_constants": False}, {"annotate_codegen": True}], ids=str)
@pytest.mark.parametrize("name", FUSIONS)
def test_what_patterns_match_is_fused_as_in_tvm(oracle: Oracle, name: str, options: dict[str, Any]) -> None:
    options = {"patterns": FUSIONS[name], **options}
    outcomes = {
        title: compared(oracle, text, "FuseOpsByPattern", options) for title, text in programs().items()
    }
    different = {title for title, outcome in outcomes.items() if outcome == "differ"}
    assert different == {title for of, title in DIFFERENT if of == name}
    assert list(outcomes.values()).count("agree") >= 3


@pytest.mark.parametrize("last", ["MergeCompositeFunctions", "RunCodegen"])
def test_composite_functions_are_merged_and_compiled_as_in_tvm(oracle: Oracle, last: str) -> None:
    patterns = ["my.mm_relu: relu(matmul(_, _))", "my.mm: matmul(_, _)", "other.s: sigmoid(_) | exp(_)"]
    trees = [[title, tree(_pattern(text))] for title, text in (text.split(": ", 1) for text in patterns)]
    later = ["MergeCompositeFunctions", "RunCodegen"][: 1 + (last == "RunCodegen")]
    outcomes: dict[str, str] = {}
    for title, text in programs().items():
        if " main(" not in text or title in NOT_MERGED:
            continue
        theirs = oracle.apply(text, [("FuseOpsByPattern", {"patterns": trees}), *later])
        after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "FuseOpsByPattern", patterns=patterns)
        for name in later:
            after = rxe.apply_pass(after, name)
        assert [item for item in rxe.check(after) if item.is_error and not item.spec_only] == [], title
        if theirs.ok:
            is_same = oracle.equal(after.script(), theirs.get().handle).get().mapped
            outcomes[title] = "agree" if is_same else "differ"
        else:
            oracle.could_not_ask(f"{last}: {theirs.error[-100:]}")
    different = {title for title, outcome in outcomes.items() if outcome == "differ"}
    assert different == {title for of, title in DIFFERENT if of in ("merging", last)}
    assert len(outcomes) > 50


@pytest.mark.parametrize("name", PASSES)
def test_our_result_is_tvms(oracle: Oracle, name: str) -> None:
    outcomes = {title: compared(oracle, text, name, {}) for title, text in programs().items()}
    different = {title for title, outcome in outcomes.items() if outcome == "differ"}
    assert different == {title for of, title in DIFFERENT if of == name}
    assert list(outcomes.values()).count("agree") >= 2


def test_each_difference_has_a_reason() -> None:
    rows = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
    assert [row for row in DIFFERENT.values() if f"| {row}" not in rows] == []


MERGED = """
@I.ir_module
class Module:
    @R.function(private=True)
    def NAME(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Composite": "my.exp", "Primitive": True})
        with R.dataflow():
            gv = R.exp(x)
            R.output(gv)
        return gv
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        with R.dataflow():
            e = R.exp(x)
            a = cls.NAME(x)
            b = cls.NAME(e)
            BODY
            R.output(OUTPUTS)
        return (OUTPUTS)
"""


@pytest.mark.parametrize("name", ["fused_exp", "own"])
@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        ("", "e, a"),
        ("t = (a, a); f = t[1]", "e, b"),
        ("t = (a, a); f = t[1]; g = R.exp(f)", "e, g"),
        ("t = (a, a); f = t[1]; g = R.exp(f)", "e, g, t"),
        ("t = (a, a); f = t[1]; g = cls.NAME(f)", "e, g"),
        ("t = (a, a)", "e, t"),
        ("t = (a, x); f = t[0]; g = cls.NAME(f)", "e, g"),
        ("t = (a, b); f = t[0]; g = cls.NAME(f)", "e, g"),
        ("g = cls.NAME(a); t = (a, g); f = t[0]; h = R.exp(f)", "e, h"),
        ("t = ((a, a), a); f = t[0]; g = f[1]; h = cls.NAME(g)", "e, h"),
    ],
)
def test_fields_of_tuples_are_merged_as_in_tvm(oracle: Oracle, name: str, body: str, outputs: str) -> None:
    lines = body.replace("; ", "\n            ")
    text = MERGED.replace("BODY", lines).replace("OUTPUTS", outputs).replace("NAME", name)
    outcome = compare(oracle, text, ("MergeCompositeFunctions", {}))
    assert outcome.kind == "agree", outcome.details


PARTED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 4), "float32"), v: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 1})
        a = R.matmul(x, w)
        with R.dataflow():
            b = R.exp(x)
            R.output(b)
        c = R.matmul(a, v)
        return c
"""


@pytest.mark.parametrize("returned", ["c", "(c, b)"])
def test_a_dead_block_parts_no_match(oracle: Oracle, returned: str) -> None:
    text = PARTED.replace("return c", f"return {returned}")
    outcome = compare(oracle, text, ("AdjustMatmulOrder", {}))
    assert outcome.kind == ("agree" if returned == "c" else "same"), outcome.details
