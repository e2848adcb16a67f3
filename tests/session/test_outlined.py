"""The history of a value goes on where a pass of a recorded build outlined it into a function, or inlined it."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.session.align import Trace, history
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.recorded import RecordedSession

FLAT = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.sqrt(a)
            c = R.abs(b)
            R.output(c)
        return c
"""
FUSED = """@I.ir_module
class Module:
    @R.function(private=True)
    def fused(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.exp(p)
            gv = R.sqrt(a)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        with R.dataflow():
            lv = cls.fused(x)
            c = R.abs(lv)
            R.output(c)
        return c
"""


def traced(tmp_path: Path, name: str, stage: int, *texts: str, function: str = "main") -> list[Trace]:
    tmp_path.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (tmp_path / f"{number:02}_Stage{number}.py").write_text(text)
    session = RecordedSession(open_build(tmp_path))
    session.run_all()
    asked = session.stages[stage]
    wanted = next(b for b in bindings(asked.module.functions[function]) if b.var and b.var.name == name)
    return history(session.stages, stage, function, wanted)


def names(traces: list[Trace]) -> list[str]:
    return [
        " ".join(b.var.name for b in trace.bindings if b.var is not None) or trace.absence for trace in traces
    ]


def test_a_fused_value_says_what_it_was_fused_from(tmp_path: Path) -> None:
    assert names(traced(tmp_path, "lv", 1, FLAT, FUSED)) == ["a b", "lv"]


def test_an_operation_says_what_it_was_fused_into(tmp_path: Path) -> None:
    assert names(traced(tmp_path, "a", 0, FLAT, FUSED, FUSED)) == ["a", "lv", "lv"]


def test_a_call_that_was_inlined_says_what_it_became(tmp_path: Path) -> None:
    assert names(traced(tmp_path, "lv", 0, FUSED, FLAT)) == ["lv", "a b"]


def test_what_stays_outside_is_not_taken_for_a_part(tmp_path: Path) -> None:
    assert names(traced(tmp_path, "c", 0, FLAT, FUSED)) == ["c", "c"]


def test_a_call_of_a_function_that_both_stages_have_stays_a_call(tmp_path: Path) -> None:
    body = ("a = R.exp(p)\n            gv = R.sqrt(a)", "w = R.full_like(p, R.const(2.0))")
    other = FUSED.replace(*body).replace("gv", "w").replace("lv", "v7").replace("R.abs", "R.negative")
    assert names(traced(tmp_path, "lv", 0, FUSED, other)) == ["lv", "v7"]


def test_a_value_without_origin_is_not_made_yet(tmp_path: Path) -> None:
    traces = traced(tmp_path, "gv", 1, FLAT, FUSED, FLAT, function="fused")
    assert names(traces) == ["not made yet", "gv", "gone"]


@pytest.mark.parametrize(
    ("old", "new", "mark"),
    [
        ("b = R.sqrt(a)", "b = R.negative(a)", "≈"),  # only its operand differs
        ("c = R.abs(b)", "c = R.abs(a)", "≈"),  # name and operator are the same
        ("c = R.abs(b)", "c = R.negative(b)", "?"),  # another operator
    ],
)
def test_stages_of_a_build_are_matched_with_a_certainty(
    tmp_path: Path, old: str, new: str, mark: str
) -> None:
    found = traced(tmp_path, "c", 1, FLAT, FLAT.replace(old, new))
    assert [trace.mark for trace in found] == [mark, "="]


def test_a_fused_value_is_likely_and_one_of_another_name_and_operator_a_guess(tmp_path: Path) -> None:
    assert [trace.mark for trace in traced(tmp_path, "lv", 1, FLAT, FUSED)] == ["≈", "="]
    other = FLAT.replace("a = R.exp(x)", "q = R.negative(x)").replace("R.sqrt(a)", "R.sqrt(q)")
    assert traced(tmp_path / "x", "q", 1, FLAT, other)[0].mark == "?"


def test_an_operator_and_its_kernel_are_likely(tmp_path: Path) -> None:
    legalized = FLAT.replace(
        "c = R.abs(b)", 'c = R.call_tir(cls.abs3, (b,), out_ty=R.Tensor((2,), "float32"))'
    )
    kernel = """
    @T.prim_func(private=True)
    def abs3(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("b"):
                v = T.axis.spatial(T.int64(2), i)
                B[v] = T.abs(A[v])

    @R.function
    def main"""
    legalized = legalized.replace("        with R.dataflow", "        cls = Module\n        with R.dataflow")
    legalized = legalized.replace("\n    @R.function\n    def main", kernel)
    assert [trace.mark for trace in traced(tmp_path, "c", 1, FLAT, legalized)] == ["≈", "="]


def test_who_prefers_public_functions_to_outlined_ones_of_later_stages(tmp_path: Path) -> None:
    for number, text in enumerate((FLAT, FUSED)):
        (tmp_path / f"{number:02}_Stage{number}.py").write_text(text)
    session = RecordedSession(open_build(tmp_path))
    session.run_all()
    assert names(session.who("a")) == ["a", "lv"], "`fused` holds an `a`, too"
    assert names(session.who("gv")) == ["not made yet", "gv"], "a private function is the only one"
    assert names(session.who("a", "fused")) == ["not made yet", "a"]
