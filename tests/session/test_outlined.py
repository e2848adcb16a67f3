"""The history of a value goes on where a pass of a recorded build outlined it into a function, or inlined it."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.session.provenance import Trace, history
from relax_explorer.core.session.recorded import RecordedSession, recorded

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
    for number, text in enumerate(texts):
        (tmp_path / f"{number:02}_Stage{number}.py").write_text(text)
    session = RecordedSession(recorded(tmp_path), str(tmp_path))
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
