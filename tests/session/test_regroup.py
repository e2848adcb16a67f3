"""A diff names the values that were merged into one binding, and those that one binding was split into."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import ModuleDiff, Unit, diff_modules, with_groups
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.parser import parse
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.table_diff import TableDiff, group_text
from tests.support.roundtrip import SAMPLES

BROKEN = SAMPLES[0].parent / "broken_build"
KERNEL = """
    @T.prim_func(private=True)
    def {name}(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("b"):
                v = T.axis.spatial(T.int64(2), i)
                B[v] = A[v]
"""


def module(body: str, functions: str = "") -> IRModule:
    return parse(
        f"@I.ir_module\nclass Module:{functions}\n"
        '    @R.function\n    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n'
        f"        cls = Module\n{body}"
    )


def block(*lines: str) -> str:
    inner = "".join(f"            {line}\n" for line in lines)
    return f"        with R.dataflow():\n{inner}            R.output(out)\n        return out\n"


def outlined(name: str, *lines: str) -> str:
    inner = "".join(f"            {line}\n" for line in lines)
    return (
        f'\n    @R.function(private=True)\n    def {name}(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n'
        f"        cls = Module\n        with R.dataflow():\n{inner}            R.output(gv)\n        return gv\n"
    )


def told(diff: ModuleDiff) -> list[str]:
    return [group_text(fn, group) for fn in diff.functions for group in fn.groups.values()]


def texts(old: IRModule, new: IRModule) -> list[str]:
    return told(with_groups(diff_modules(old, new), old, new))


FLAT = module(block("a = R.exp(x)", "b = R.sqrt(a)", "c = R.abs(b)", "d = R.negative(c)", "out = R.exp(d)"))
TWO = module(
    block("lv = cls.f(x)", "lv1 = cls.g(lv)", "out = R.exp(lv1)"),
    outlined("f", "a = R.exp(p)", "gv = R.sqrt(a)") + outlined("g", "c = R.abs(p)", "gv = R.negative(c)"),
)


def test_neighbours_that_were_fused_apart_stay_apart() -> None:
    assert texts(FLAT, TWO) == ["merged from a, b", "merged from c, d"]


def test_inlined_functions_split_their_calls() -> None:
    assert texts(TWO, FLAT) == ["split from lv into a, b", "split from lv1 into c, d"]


def test_a_group_that_keeps_the_name_of_its_last_value() -> None:
    fused = module(
        block("b = cls.f(x)", "c = R.abs(b)", "d = R.negative(c)", "out = R.exp(d)"),
        outlined("f", "a = R.exp(p)", "gv = R.sqrt(a)"),
    )
    assert texts(FLAT, fused) == ["merged from a, b"]


def test_a_function_inside_of_the_outlined_one_counts_too() -> None:
    nested = module(
        block("lv = cls.f(x)", "d = R.negative(lv)", "out = R.exp(d)"),
        outlined("g", "a = R.exp(p)", "gv = R.sqrt(a)") + outlined("f", "b = cls.g(p)", "gv = R.abs(b)"),
    )
    assert texts(FLAT, nested) == ["merged from a, b, c"]


def test_a_recursive_function_ends() -> None:
    endless = module(
        block("lv = cls.f(x)", "out = R.exp(lv)"),
        outlined("f", "a = R.exp(p)", "b = R.sqrt(a)", "gv = cls.f(b)"),
    )
    assert texts(FLAT, endless) == ["merged from a, b"]


@pytest.mark.parametrize(
    "new",
    [
        FLAT,
        module(block("b = cls.f(x)", "c = R.abs(b)", "d = R.negative(c)", "out = R.exp(d)"), outlined("f", "gv = R.sigmoid(p)")),
        module(block("c = R.abs(x)", "d = R.negative(c)", "out = R.exp(d)")),
        module(block("lv = cls.f(x)", "b = R.sqrt(lv)", "c = R.abs(b)", "d = R.negative(c)", "out = R.exp(d)"), outlined("f", "gv = R.exp(p)")),
    ],
    ids=["unchanged", "other computation", "dropped", "one binding only"],
)  # fmt: skip
def test_nothing_is_said_without_two_values(new: IRModule) -> None:
    assert texts(FLAT, new) == []


def test_a_function_that_was_there_before_merged_nothing() -> None:
    f = outlined("f", "a = R.exp(p)", "gv = R.sqrt(a)")
    before = module(block("a = R.exp(x)", "b = R.sqrt(a)", "out = R.abs(b)"), f)
    after = module(block("lv = cls.f(x)", "out = R.abs(lv)"), f)
    assert texts(before, after) == []


CALL = 'out = R.call_tir(cls.k, (x,), out_ty=R.Tensor((2,), "float32"))'
ALLOC = 'alloc = R.builtin.alloc_tensor(R.shape([2]), R.dtype("float32"), R.prim_value(0), R.str("global"))'


@pytest.mark.parametrize(("kernel", "expected"), [("k", ["split from out into alloc, _, out"]), ("h", [])])
def test_a_lowered_call_is_split_only_if_its_own_kernel_is_called(kernel: str, expected: list[str]) -> None:
    kernels = KERNEL.format(name="k") + KERNEL.format(name="h")
    old = module(f"        {CALL}\n        return out\n", kernels)
    new = module(
        f"        {ALLOC}\n        _ = cls.{kernel}(x, alloc)\n        out = alloc\n        return out\n",
        kernels,
    )
    assert texts(old, new) == expected


def test_a_build_that_was_recorded() -> None:
    session = RecordedSession(open_build(BROKEN))
    session.run_all()
    numbers = {stage.made_by: stage.number for stage in session.stages}
    fused = told(session.diff(numbers["FuseOps"] - 1, numbers["FuseOps"]))
    assert fused[:3] == [
        "merged from matmul1, mul, add",
        "merged from matmul3, add1",
        "merged from split1, split_01, split_11, silu, mul1",
    ]
    assert len(fused) == 8
    lowered = told(session.diff(numbers["CallTIRRewrite"] - 1, numbers["CallTIRRewrite"]))
    assert lowered[4] == "split from split into alloc4, alloc5, alloc6, _, split"
    assert len(lowered) == 42


def test_what_our_pass_records_is_certain() -> None:
    text = module(
        block("w = R.add(x, x)", "a = R.exp(w)", "b = R.exp(w)", "out = R.add(a, b)"),
    )
    session = Session(text, pipeline=("LegalizeOps", "AnnotateTIROpPattern", "FuseOps"))
    session.run_all()
    groups = [group for found in session.diff(2, 3).functions for group in found.groups.values()]
    assert groups
    assert all(group.exact for group in groups)


def test_the_table_marks_the_binding_that_makes_the_value(tmp_path: Path) -> None:
    (tmp_path / "00_input.py").write_text(FLAT.script())
    (tmp_path / "01_FuseOps.py").write_text(TWO.script())
    session = RecordedSession(open_build(tmp_path))
    session.run_all()
    tables = [IrTable(stage) for stage in session.stages]
    diff = TableDiff(tables[0], tables[1], session.diff(0, 1))
    marked = {
        row.text.partition(" = ")[0].split()[-1]: row.mark
        for row in diff
        if row.kind == "binding" and row.function == "main"
    }
    assert {name: glyph for name, glyph in marked.items() if glyph != " "} == {
        "lv": "⊞", "lv1": "⊞", "a": "-", "b": "-", "c": "-", "d": "-", "out": "~",
    }  # fmt: skip


def _name(unit: Unit) -> str:
    var = getattr(unit, "var", None)
    return "_" if var is None else var.name
