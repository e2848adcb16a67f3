"""The class of a kernel: that of its operators by name, else that of its loops; in graphs and in tables."""

from __future__ import annotations

from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core import ops
from relax_explorer.core.ir.node import replace
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.load import load
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.viz.cells import cell_picture
from relax_explorer.viz.compact import OpClass
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.kernel_class import of_function, of_name

LLAMA = Path(__file__).parents[1] / "data" / "corpus" / "llama"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("matmul", OpClass.MATMUL),
        ("NT_matmul7", OpClass.MATMUL),
        ("fused_matmul3_add2_erf_multiply1", OpClass.MATMUL),
        ("conv2d", OpClass.MATMUL),
        ("fused_conv2d1_add", OpClass.MATMUL),
        ("rms_norm1", OpClass.REDUCE),
        ("softmax2", OpClass.REDUCE),
        ("max_pool2d", OpClass.REDUCE),
        ("fused_split1_silu_multiply1", OpClass.ELEMENTWISE),
        ("add", OpClass.ELEMENTWISE),
        ("tir_exp", OpClass.ELEMENTWISE),
        ("transpose4", OpClass.SHAPE),
        ("reshape", OpClass.SHAPE),
        ("concatenate", OpClass.SHAPE),
        ("fused_transpose_reshape1", OpClass.SHAPE),
        ("my_own", OpClass.OTHER),
        ("", OpClass.OTHER),
        ("_".join(["x"] * 1000), OpClass.OTHER),
    ],
)
def test_a_name_tells_the_class(name: str, expected: OpClass) -> None:
    assert of_name(name, ops.edition()) is expected


def renamed(module: IRModule, old: str, new: str, **attrs: object) -> IRModule:
    fn = module.functions[old]
    assert isinstance(fn, PrimFunc)
    return IRModule(
        {new: replace(fn, attrs=fn.attrs.having(**attrs) if attrs else fn.attrs.without("op_pattern"))}
    )


@pytest.mark.parametrize(
    ("old", "expected"),
    [("softmax", OpClass.REDUCE), ("transpose1", OpClass.SHAPE), ("silu", OpClass.ELEMENTWISE)],
)
def test_the_loops_tell_the_class_of_a_kernel_with_another_name(old: str, expected: OpClass) -> None:
    module = load(LLAMA / "01_LegalizeOps.py")
    assert of_function("mine", renamed(module, old, "mine")) is expected


def test_the_pattern_that_a_kernel_states_comes_before_its_loops() -> None:
    module = load(LLAMA / "02_AnnotateTIROpPattern.py")
    assert of_function("mine", renamed(module, "silu", "mine", op_pattern=2)) is OpClass.SHAPE
    assert of_function("mine", renamed(module, "silu", "mine", op_pattern=99)) is OpClass.ELEMENTWISE


def test_a_group_of_operators_has_the_class_of_its_kernels() -> None:
    module = load(LLAMA / "04_FuseOps.py")
    assert of_function("fused_matmul5_add1", module) is OpClass.MATMUL
    assert not of_function("forward", module)
    assert not of_function("nobody", module)


@pytest.mark.parametrize(
    "stage", ["01_LegalizeOps", "04_FuseOps", "12_FuseTIRInner", "25_CallTIRRewrite", "33_AttachGlobalSymbol"]
)
def test_kernels_of_every_stage_have_a_colour(stage: str) -> None:
    drawing = graph(load(LLAMA / f"{stage}.py"), weights="fold")
    looks = {node.title: node.look for node in drawing.nodes}
    assert looks["softmax"] == "is-reduce"
    assert looks["matmul"] == "is-matmul"
    assert looks["transpose"] == "is-shape"


def test_kernels_have_a_letter_in_the_terminal_and_operators_have_none() -> None:
    first, last = (graph(load(path)) for path in (LLAMA / "00_input.py", LLAMA / "33_AttachGlobalSymbol.py"))
    texts = {box.title for box in cell_picture(last).boxes}
    assert {"M matmul", "R softmax", "S transpose", "E fused_split1_silu_multiply1", "S take"} <= texts
    assert "matmul" in {box.title for box in cell_picture(first).boxes}


def test_tables_colour_kernels_by_class() -> None:
    session = rxe.Session(load(LLAMA / "33_AttachGlobalSymbol.py"))
    roles = dict[str, str]()
    for row in IrTable(session.stages[0]):
        for role, text in row.pieces:
            roles.setdefault(text, role)
    assert roles["@matmul"] == "matmul"
    assert roles["@softmax"] == "reduce"
    assert roles["@shape_func"] == "call"
