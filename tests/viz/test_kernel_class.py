"""The class of a kernel: that of its operators by name, else that of its loops; in graphs and in tables."""

from __future__ import annotations

from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core import ops
from relax_explorer.core.ir.node import replace
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.load import load
from relax_explorer.core.syntax.parser import parse
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.viz.cells import cell_picture
from relax_explorer.viz.compact import OpClass
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.kernel_class import of_function, of_name
from relax_explorer.viz.svg import legend_of

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


@pytest.mark.parametrize(
    ("attr", "expected"),
    [("Codegen", OpClass.MATMUL), ("Composite", OpClass.MATMUL), ("Mine", OpClass.OTHER)],
)
def test_a_group_for_a_library_has_the_class_of_its_operators(attr: str, expected: OpClass) -> None:
    module = parse(
        f"""
@R.function
def group(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
    R.func_attr({{"{attr}": "cublas"}})
    a = R.exp(x)
    b = R.matmul(a, x)
    return b
"""
    )
    assert of_function("group", module) is expected


def renamed(module: IRModule, old: str, new: str, **attrs: object) -> IRModule:
    fn = module.functions[old]
    assert isinstance(fn, PrimFunc)
    return IRModule(
        {new: replace(fn, attrs=fn.attrs.having(**attrs) if attrs else fn.attrs.without("op_pattern"))}
    )


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        ("matmul", OpClass.MATMUL),
        ("softmax", OpClass.REDUCE),
        ("take", OpClass.SHAPE),
        ("transpose1", OpClass.SHAPE),
        ("silu", OpClass.ELEMENTWISE),
    ],
)
def test_the_loops_tell_the_class_of_a_kernel_with_another_name(old: str, expected: OpClass) -> None:
    module = load(LLAMA / "01_LegalizeOps.py")
    assert of_function("mine", renamed(module, old, "mine")) is expected


FOREIGN = """
from tvm.script import tirx as T
@T.prim_func
def mine(x: T.Buffer((4,), "float32")):
    T.func_attr({"op_pattern": %d})
    for i in T.serial(4):
        T.evaluate(T.call_extern("int32", "foreign", i))
"""


def test_the_pattern_that_a_kernel_states_counts_where_its_loops_tell_nothing() -> None:
    module = load(LLAMA / "02_AnnotateTIROpPattern.py")
    assert of_function("mine", renamed(module, "silu", "mine", op_pattern=2)) is OpClass.ELEMENTWISE
    assert of_function("mine", parse(FOREIGN % 3)) is OpClass.REDUCE
    assert of_function("mine", parse(FOREIGN % 2)) is OpClass.SHAPE
    assert not of_function("mine", parse(FOREIGN % 99))


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


def test_a_kernel_of_any_name_has_the_letter_and_the_legend_in_pictures() -> None:
    first = load(LLAMA / "33_AttachGlobalSymbol.py")
    drawing = graph(first)
    node = next(node for node in drawing.nodes if node.title == "fused_matmul5_add1")
    assert node.marked_title == "M fused_matmul5_add1"
    assert node.detail.endswith("matmul kernel")
    assert ("is-matmul", "M matmul") in legend_of(drawing)
    operators = graph(load(LLAMA / "00_input.py"))
    assert ("is-matmul", "matmul") in legend_of(operators)
    assert {"matmul", "reduce", "shape"} <= {item["class"] for item in drawing.data()["nodes"]}  # type: ignore[attr-defined]  # plain data


def test_rows_of_kernels_tell_class_and_pattern() -> None:
    rows = {
        row.text.strip().partition("(")[0]: row.right
        for row in IrTable(rxe.Session(load(LLAMA / "02_AnnotateTIROpPattern.py")).stages[0])
    }
    assert rows["@matmul"].startswith("matmul kernel, op_pattern 4, ")
    assert rows["@softmax"].startswith("reduction kernel, op_pattern 4, ")
    last = {
        row.text.strip().partition("(")[0]: row.right
        for row in IrTable(rxe.Session(load(LLAMA / "33_AttachGlobalSymbol.py")).stages[0])
    }
    assert last["@fused_matmul5_add1"].startswith("matmul kernel, ")
    assert "op_pattern" not in last["@fused_matmul5_add1"]
    assert last["@shape_func"].startswith("kernel, ")


def test_tables_colour_kernels_by_class() -> None:
    session = rxe.Session(load(LLAMA / "33_AttachGlobalSymbol.py"))
    roles = dict[str, str]()
    for row in IrTable(session.stages[0]):
        for role, text in row.pieces:
            roles.setdefault(text, role)
    assert roles["@matmul"] == "matmul"
    assert roles["@softmax"] == "reduce"
    assert roles["@shape_func"] == "call"
