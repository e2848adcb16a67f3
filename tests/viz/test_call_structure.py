"""The call structure of a module: who calls whom, how often, and which functions form recursive groups."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.load import load
from relax_explorer.core.syntax.parser import parse
from relax_explorer.viz import call_structure as structure
from relax_explorer.viz.call_structure import call_structure
from relax_explorer.viz.drawing import Drawing, tree_text
from relax_explorer.viz.graph import EdgeKind, Kind, Mark
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import DATA

SCALAR = 'R.Tensor((), "int32")'


def function(name: str, *lines: str, options: str = "") -> str:
    head = f"@R.function({options})" if options else "@R.function"
    body = "\n".join(f"        {line}" for line in lines)
    return f"    {head}\n    def {name}(n: {SCALAR}) -> {SCALAR}:\n{body}\n"


def module(*functions: str) -> IRModule:
    return parse("@I.ir_module\nclass M:\n" + "".join(functions))


EVEN = function("even", "if n:", "    r = M.odd(n)", "else:", "    r = n", "return r")
ODD = function("odd", "if n:", "    r = M.even(n)", "else:", "    r = n", "return r", options="private=True")
MAIN = function("main", "a = M.even(n)", "b = M.even(a)", "return b")
KERNEL = """    @T.prim_func(private=True)
    def copy(a: T.Buffer((), "int32"), b: T.Buffer((), "int32")):
        with T.sblock("copy"):
            b[()] = a[()]
"""


def edges(drawing: Drawing) -> dict[tuple[str, str], str]:
    return {(edge.source, edge.target): edge.label for edge in drawing.edges}


def groups(drawing: Drawing) -> dict[str, list[str]]:
    return {
        cluster.title: [node.id for node in drawing.nodes if node.cluster == cluster.id]
        for cluster in drawing.clusters
    }


def test_functions_that_reach_each_other_are_one_group() -> None:
    found = call_structure(module(EVEN, ODD, MAIN))
    assert groups(found) == {"recursive group: even, odd": ["even", "odd"]}
    assert edges(found) == {("even", "odd"): "", ("odd", "even"): "", ("main", "even"): "2 calls"}
    assert [(node.kind, node.badge) for node in found.nodes] == [
        (Kind.FUNCTION, "recursive"),
        (Kind.PRIVATE, "recursive"),
        (Kind.FUNCTION, ""),
    ]
    assert "recursive group: even, odd" in found.notes


def test_a_function_that_calls_itself_is_a_group_and_two_cycles_are_two() -> None:
    itself = function("own", "a = M.own(n)", "return a")
    found = call_structure(module(EVEN, itself, ODD, MAIN))
    assert groups(found) == {"recursive group: even, odd": ["even", "odd"], "recursive: own": ["own"]}
    assert groups(call_structure(module(MAIN, function("even", "return n")))) == {}


def test_a_group_is_found_through_a_nested_function() -> None:
    nested = function(
        "even",
        "@R.function",
        f"def inner(m: {SCALAR}) -> {SCALAR}:",
        "    k = M.odd(m)",
        "    return k",
        "r = inner(n)",
        "return r",
    )
    found = call_structure(module(nested, ODD))
    assert groups(found) == {"recursive group: even, odd": ["even", "odd"]}
    assert found.node("even").shape_text == "3 bindings, 1 nested function"


def test_a_function_that_is_handed_on_is_no_call() -> None:
    handed = function("main", "f = M.even", "t = (M.odd, n)", "a = f(n)", "b = M.odd(n)", "return a")
    found = call_structure(module(EVEN, ODD, handed))
    kinds = {(edge.target, edge.label): edge.kind for edge in found.edges if edge.source == "main"}
    assert kinds == {
        ("odd", ""): EdgeKind.DATA,
        ("even", "as a value"): EdgeKind.ORDER,
        ("odd", "as a value"): EdgeKind.ORDER,
    }


def test_kernels_and_packed_functions_are_called_by_operators() -> None:
    calls = function(
        "main",
        f"a = R.call_tir(M.copy, (n,), out_sinfo={SCALAR})",
        f'b = R.call_dps_packed("my.add", (a,), out_sinfo={SCALAR})',
        f'c = R.call_pure_packed("my.add", b, sinfo_args=({SCALAR},))',
        f"d = R.call_tir_inplace(M.copy, (c,), inplace_indices=[0], out_sinfo={SCALAR})",
        "return d",
    )
    found = call_structure(module(KERNEL, calls))
    assert edges(found) == {("main", "copy"): "2 calls", ("main", "packed my.add"): "2 calls"}
    assert [node.kind for node in found.nodes] == [Kind.PRIM_FUNC, Kind.FUNCTION, Kind.PACKED]


def test_a_packed_function_with_the_name_of_another_is_another_node() -> None:
    calls = function("main", f'a = R.call_pure_packed("even", n, sinfo_args=({SCALAR},))', "return a")
    found = call_structure(module(EVEN, ODD, calls))
    assert ("main", "packed even") in edges(found)
    assert ("main", "even") not in edges(found)


def test_what_no_public_function_reaches_says_so() -> None:
    lost = function("lost", "a = M.alone(n)", "return a", options="private=True")
    alone = function("alone", "return n", options="private=True")
    found = call_structure(module(KERNEL, lost, alone, ODD, EVEN))
    said = {node.id for node in found.nodes if "not reached from a public function" in node.lines}
    assert said == {"copy", "lost", "alone"}
    outside = KERNEL.replace("(private=True)", "")  # others may call it by its symbol
    assert call_structure(module(outside)).nodes[0].lines == ()


def test_many_kernels_stand_together_by_class_under_each_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "MOST_KERNELS", 0)
    call = f"R.call_tir(M.copy, (n,), out_sinfo={SCALAR})"
    calls, other = (
        function("main", f"a = {call}", f"b = {call}", "return b"),
        function("other", f"a = {call}", "return a"),
    )
    found = call_structure(module(KERNEL, calls, other))
    groups = [node for node in found.nodes if node.kind is Kind.PRIM_FUNC]
    assert edges(found) == {("main", groups[0].id): "2 calls", ("other", groups[1].id): "1 call"}
    assert groups[0].sources == ("copy",)
    assert groups[0].lines == ("copy ×2",)
    assert groups[0].title == "1 kernel: layout"
    assert found.notes == ("kernels and builtins of memory stand together by class",)


def test_kernels_that_nobody_calls_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "MOST_KERNELS", 0)
    found = call_structure(module(KERNEL, function("main", "return n")))
    assert [(node.title, node.shape_text) for node in found.nodes if node.sources] == [
        ("1 kernel: layout", "not called")
    ]
    assert not found.edges


def test_a_lowered_stage_counts_calls_of_each_class() -> None:
    found = call_structure(load(str(DATA / "llama" / "33_AttachGlobalSymbol.py")), {"matmul2": Mark.CHANGED})
    groups = {node.family: node for node in found.nodes if node.sources and node.shape_text != "not called"}
    assert groups["matmul"].shape_text == "13 calls"
    assert groups["matmul"].look == "is-matmul"
    assert groups["matmul"].marks == {Mark.CHANGED}
    assert groups["memory"].sources[0] == "vm.builtin.check_tensor_info"
    kernels = len(load(str(DATA / "llama" / "33_AttachGlobalSymbol.py")).functions) - 1  # without `forward`
    assert sum(len(node.sources) for node in found.nodes if node.kind is Kind.PRIM_FUNC) == kernels


def test_marks_are_those_of_the_caller() -> None:
    found = call_structure(module(EVEN, ODD), {"odd": Mark.ADDED})
    assert [node.marks for node in found.nodes] == [frozenset(), frozenset({Mark.ADDED})]


def test_a_module_without_functions_is_empty() -> None:
    assert call_structure(IRModule({})).nodes == ()


def test_every_view_draws_it() -> None:
    found = call_structure(module(EVEN, ODD, MAIN))
    assert "recursive group: even, odd" in found.svg()
    assert "recursive group: even, odd" in found.mermaid()
    assert "even  recursive" in found.terminal(80)
    assert tree_text(found, 80).splitlines()[1:] == [
        "recursive group: even, odd",
        "main  2 bindings  [function]",
        "even  2 bindings  [function]  recursive  called by odd, main",
        "odd  2 bindings  [private]  recursive  called by even",
    ]


def test_a_lowered_model_shows_its_kernels() -> None:
    drawing = call_structure(load(str(DATA / "llama" / "04_FuseOps.py")))
    reached = {edge.target for edge in drawing.edges}
    assert {node.id for node in drawing.nodes if node.kind is Kind.PRIVATE} <= reached


def test_the_command_line_draws_it(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("@I.ir_module\nclass M:\n" + EVEN + ODD + MAIN)
    found = rxe_cli("graph", str(path), "--calls", "--format", "json")
    assert [node["badge"] for node in json.loads(found.output)["nodes"]] == ["recursive", "recursive", ""]
    found = rxe_cli("graph", str(path), "--calls", "--around", "main", "--radius", "1", "--format", "ascii")
    assert "even" in found.output
    assert "odd" not in found.output.split("Calls", 1)[1].split("\n", 2)[2]
    found = rxe_cli("graph", str(path), "--calls", "--func", "main")
    assert (found.exit_code, "leave --func" in found.output) == (2, True)
    found = rxe_cli("graph", str(path), "--calls", "--around", "nobody")
    assert (found.exit_code, "no function 'nobody'" in found.output) == (2, True)


def test_the_legend_explains_each_colour_that_is_there() -> None:
    for stage in ("12_FuseTIRInner", "04_FuseOps", "33_AttachGlobalSymbol", "00_input"):
        found = call_structure(load(str(DATA / "llama" / f"{stage}.py")))
        assert {look for look, _ in found.legend} == {node.look for node in found.nodes}
    last = dict(found.legend) | dict(
        call_structure(load(str(DATA / "llama" / "33_AttachGlobalSymbol.py"))).legend
    )
    assert last["is-matmul"] == "kernel: matmul"
    assert last["packed"] == "packed function"
