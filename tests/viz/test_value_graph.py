"""Graphs of lowered functions: what a call writes is what its readers read, also in branches, through views, and written twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.one_run import BindingTimes
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import diff_modules
from relax_explorer.core.syntax.load import load
from relax_explorer.core.syntax.parser import parse
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Kind
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.layout import lay_out
from relax_explorer.viz.marked_graph import diff_graph, heated
from relax_explorer.viz.value_graph import values

CORPUS = Path(__file__).parents[1] / "data" / "corpus"
STAGES = [sorted(folder.glob("*.py")) for folder in sorted(CORPUS.iterdir()) if folder.is_dir()]
LOWERED = [stages[-1] for stages in STAGES]
KERNELS = """
    @T.prim_func(private=True)
    def exp(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("exp"):
                vi = T.axis.spatial(4, i)
                y[vi] = T.exp(x[vi])

    @T.prim_func(private=True)
    def two(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32"), z: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("two"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi]
                z[vi] = x[vi] + x[vi]

    @T.prim_func(private=True)
    def more(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("more"):
                vi = T.axis.spatial(4, i)
                y[vi] = y[vi] + x[vi]
"""
OPAQUE = """
    @T.prim_func(private=True)
    def opaque(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        T.evaluate(T.call_extern("int32", "f", x.data, y.data))
"""
ALLOC = 'R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))'
HEAD = 'x: R.Tensor((4,), "float32")'


def module(body: str, head: str = HEAD, others: str = "") -> IRModule:
    lines = "".join(f"        {line}\n" for line in body.replace("ALLOC", ALLOC).strip().split("\n"))
    main = f'    @R.function(pure=False)\n    def main({head}):\n        R.func_attr({{"relax.force_pure": True}})\n{lines}'
    return normalize_with(parse(f"@I.ir_module\nclass Module:{KERNELS}{others}\n{main}"))[0]


def drawn(body: str, head: str = HEAD, others: str = "", memory: bool = False, **options: str) -> Drawing:
    return graph(module(body, head, others), memory=memory, **options)  # type: ignore[arg-type]  # layers or weights, both texts


def edges(drawing: Drawing) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in drawing.edges}


def labels(drawing: Drawing) -> dict[tuple[str, str], str]:
    return {(edge.source, edge.target): edge.label for edge in drawing.edges}


def names(drawing: Drawing) -> list[str]:
    return [node.id for node in drawing.nodes]


# -- what is read ----------------------------------------------------------------------------------------------------


def test_readers_read_what_a_kernel_wrote() -> None:
    drawing = drawn("a = ALLOC\nModule.exp(x, a)\nb = ALLOC\nModule.exp(a, b)\nreturn b")
    assert edges(drawing) == {("x", "a"), ("a", "b"), ("b", "return")}
    assert drawing.node("a").title == "exp"
    assert drawing.notes == ()  # each allocation is a part of its kernel


def test_an_allocation_and_its_copy_are_one_node_with_the_name_of_the_copy() -> None:
    drawing = drawn("a = ALLOC\nModule.exp(x, a)\nlv = a\nb = ALLOC\nModule.exp(lv, b)\ngv = b\nreturn gv")
    assert edges(drawing) == {("x", "lv"), ("lv", "gv"), ("gv", "return")}


def test_a_node_stands_for_its_kernel_first_and_then_for_its_memory() -> None:
    mod = module("a = ALLOC\nModule.exp(x, a)\nlv = a\nreturn lv")
    alloc, kernel, copy = bindings(mod.relax_functions["main"])
    assert graph(mod).node("lv").sources == (kernel, alloc, copy)


def test_what_a_stage_changed_marks_the_node_that_holds_it() -> None:
    mod = module("a = ALLOC\nModule.exp(x, a)\nreturn a")
    alloc, kernel = bindings(mod.relax_functions["main"])
    assert [str(mark) for mark in graph(mod, changed=[alloc]).node("a").marks] == ["changed"]
    assert [str(mark) for mark in graph(mod, selected=kernel).node("a").marks] == ["selected"]


def test_memory_that_is_written_twice_has_two_values() -> None:
    body = "a = ALLOC\nModule.exp(x, a)\nb = ALLOC\nModule.exp(a, b)\nModule.exp(x, a)\nc = ALLOC\nModule.exp(a, c)\nreturn (b, c)"
    drawing = drawn(body)
    assert ("a", "b") in edges(drawing)
    assert ("a", "c") not in edges(drawing)
    assert ("a_1", "c") in edges(drawing)
    assert ("a", "a_1") not in edges(drawing)  # the second one reads nothing of the first


def test_a_kernel_that_adds_to_memory_reads_it() -> None:
    drawing = drawn("a = ALLOC\nModule.exp(x, a)\nModule.more(x, a)\nreturn a")
    assert edges(drawing) == {("x", "a"), ("a", "a_1"), ("x", "a_1"), ("a_1", "return")}


def test_a_parameter_written_in_place() -> None:
    body = "b = ALLOC\nModule.exp(x, b)\nModule.more(x, s)\na = ALLOC\nModule.exp(s, a)\nreturn (a, b)"
    found = edges(drawn(body, HEAD + ', s: R.Tensor((4,), "float32")'))
    assert {("s", "s_1"), ("x", "s_1"), ("s_1", "a")} <= found
    assert ("s", "a") not in found


def test_a_kernel_with_two_results_is_one_node() -> None:
    body = "a = ALLOC\nb = ALLOC\nModule.two(x, a, b)\np = (a, b)\nc = ALLOC\nModule.exp(b, c)\nreturn (p, c)"
    drawing = drawn(body)
    assert edges(drawing) == {("x", "p"), ("p", "c"), ("p", "return"), ("c", "return")}
    assert labels(drawing)["p", "c"] == "(4,) f32"  # of the field


def test_fields_of_a_known_tuple_are_their_values() -> None:
    body = "a = ALLOC\nModule.exp(x, a)\nt = (a, x)\nf = t[1]\ng = t[0]\nb = ALLOC\nModule.exp(g, b)\nc = ALLOC\nModule.exp(f, c)\nreturn (b, c)"
    assert edges(drawn(body)) == {("x", "a"), ("a", "b"), ("x", "c"), ("b", "return"), ("c", "return")}


def test_a_reshape_is_part_of_its_reader() -> None:
    body = (
        'a = ALLOC\nModule.exp(x, a)\nr = R.call_packed("vm.builtin.reshape", a, R.shape([2, 2]), sinfo_args=(R.Tensor((2, 2), "float32"),))\n'
        "return r"
    )
    drawing = drawn(body)
    assert names(drawing) == ["x", "a", "return"]
    assert labels(drawing)["a", "return"] == "(2, 2) f32"
    assert len(drawing.node("a").sources) == 3


def test_reshapes_of_reshapes_and_of_parameters() -> None:
    step = 'R.call_packed("vm.builtin.reshape", {}, R.shape([{}]), sinfo_args=(R.Tensor(({}), "float32"),))'
    one, other = step.format("x", "2, 2", "2, 2"), step.format("r", "4, 1", "4, 1")
    drawing = drawn(f"r = {one}\nq = {other}\na = ALLOC\nModule.exp(x, a)\nreturn (a, q)")
    assert labels(drawing)["x", "return"] == "(4, 1) f32"
    assert ("x", "a") in edges(drawing)


def test_a_write_through_a_copy_is_seen_by_all_names() -> None:
    drawing = drawn("a = ALLOC\nb = a\nModule.exp(x, b)\nc = ALLOC\nModule.exp(a, c)\nreturn c")
    assert edges(drawing) == {("x", "b"), ("b", "c"), ("c", "return")}


def test_memory_that_nobody_wrote_is_drawn() -> None:
    drawing = drawn("a = ALLOC\nb = ALLOC\nModule.exp(a, b)\nreturn b")
    assert drawing.node("a").title == "builtin.alloc_tensor"
    assert drawing.notes == ()
    assert ("a", "b") in edges(drawing)


def test_memory_that_nobody_uses_is_counted() -> None:
    drawing = drawn("a = ALLOC\nb = ALLOC\nModule.exp(x, b)\nreturn b")
    assert "a" not in names(drawing)
    assert drawing.notes == ("1 binding of memory and lengths is hidden",)


def test_fields_that_are_only_checked_are_hidden() -> None:
    head = 't: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))'
    check = 'R.call_packed("vm.builtin.check_tensor_info", f, 1, R.dtype("float32"), R.str(""), sinfo_args=(R.Tuple(),))'
    drawing = drawn(f"f = t[0]\n{check}\ng = t[1]\na = ALLOC\nModule.exp(g, a)\nreturn a", head)
    assert edges(drawing) == {("t", "g"), ("g", "a"), ("a", "return")}
    assert drawing.notes == ("2 bindings of memory and lengths are hidden",)


@pytest.mark.parametrize(
    "step",
    [
        "v{next} = v{last}",
        "v{next} = (x, v{last})",
        'v{next} = R.call_packed("vm.builtin.reshape", v{last}, R.shape([4]), sinfo_args=(R.Tensor((4,), "float32"),))',
    ],
)
def test_long_chains_of_copies_tuples_and_reshapes_are_followed(step: str) -> None:
    count = 150 if "(x" in step else 2000  # a tuple in a tuple has a longer type each time
    chain = "\n".join(step.format(last=number, next=number + 1) for number in range(count))
    drawing = drawn(f"v0 = ALLOC\nModule.exp(x, v0)\n{chain}\nreturn v{count}")
    (source,) = [source for source, target in edges(drawing) if target == "return" and source != "x"]
    assert drawing.node(source).title == ("tuple" if "(x" in step else "exp")
    assert len(drawing.nodes) < 3 + count / 4


# -- other callees ---------------------------------------------------------------------------------------------------


def test_a_packed_function_fills_what_has_no_elements() -> None:
    drawing = drawn(
        'a = ALLOC\nR.call_packed("f", x, a, sinfo_args=(R.Tuple(),))\nb = ALLOC\nModule.exp(a, b)\nreturn b'
    )
    assert edges(drawing) == {("x", "a"), ("a", "b"), ("b", "return")}
    assert drawing.node("a").title == "f"


def test_a_packed_function_only_reads_what_has_elements() -> None:
    body = 'a = ALLOC\nModule.exp(x, a)\nR.call_packed("show", a, sinfo_args=(R.Tuple(),))\nreturn a'
    found = edges(drawn(body))
    assert ("a", "return") in found
    assert len({target for source, target in found if source == "a"}) == 2


def test_the_result_of_a_packed_function_is_its_own_value() -> None:
    drawing = drawn(
        'a = ALLOC\nModule.exp(x, a)\nr = R.call_packed("f", a, sinfo_args=(R.Tensor((4,), "float32"),))\nreturn r'
    )
    assert edges(drawing) == {("x", "a"), ("a", "r"), ("r", "return")}


def test_a_kernel_that_may_write_everything_fills_what_has_no_elements() -> None:
    body = "a = ALLOC\nModule.exp(x, a)\nb = ALLOC\nModule.opaque(a, b)\nc = ALLOC\nModule.exp(a, c)\nreturn (b, c)"
    found = edges(drawn(body, others=OPAQUE))
    assert {("a", "b"), ("a", "c")} <= found
    assert ("b", "c") not in found


def test_a_builtin_that_changes_a_tensor_makes_a_new_value() -> None:
    change = 'R.call_packed("vm.builtin.apply_softmax_with_temperature", a, x, sinfo_args=(R.Tuple(),))'
    found = edges(drawn(f"a = ALLOC\nModule.exp(x, a)\n{change}\nreturn a"))
    assert {("a", "a_1"), ("a_1", "return")} <= found
    assert ("a", "return") not in found


SECOND = f"""
    @R.function(private=True, pure=False)
    def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({{"relax.force_pure": True}})
        a = {ALLOC}
        Module.exp(y, a)
        return a
"""


def test_a_second_function_is_followed_by_itself() -> None:
    mod = module("a = Module.inner(x)\nreturn a", others=SECOND)
    assert edges(graph(mod, "inner")) == {("y", "a"), ("a", "return")}
    opened = graph(mod, inside={"inner"})
    assert ("x", "a/a") in edges(opened)
    assert ("a/a", "a") in edges(opened)


# -- branches --------------------------------------------------------------------------------------------------------

IF = 'c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")'


def test_behind_a_branch_memory_holds_what_either_side_wrote() -> None:
    body = "a = ALLOC\nModule.exp(x, a)\nif c:\n    Module.more(x, a)\n    r = x\nelse:\n    r = x\nb = ALLOC\nModule.exp(a, b)\nreturn (b, r)"
    found = edges(drawn(body, IF))
    assert {source for source, target in found if target == "b"} == {"a", "a_1"}


def test_a_branch_does_not_see_what_the_other_one_wrote() -> None:
    body = "a = ALLOC\nModule.exp(x, a)\nif c:\n    Module.more(x, a)\n    r = a\nelse:\n    d = ALLOC\n    Module.exp(a, d)\n    r = d\nreturn r"
    found = edges(drawn(body, IF))
    (copy,) = [target for source, target in found if source == "a" and target.startswith("d")]
    assert ("a_1", copy) not in found


def test_memory_that_both_sides_fill_holds_one_of_two_values() -> None:
    body = "a = ALLOC\nif c:\n    Module.exp(x, a)\n    r = x\nelse:\n    Module.more(x, a)\n    r = x\nb = ALLOC\nModule.exp(a, b)\nreturn (b, r)"
    drawing = drawn(body, IF)
    sources = {source for source, target in edges(drawing) if target == "b"}
    assert len(sources) == 2
    assert {drawing.node(name).title for name in sources} == {"exp", "more"}


def test_a_nested_function_captures_values() -> None:
    body = (
        'a = ALLOC\nModule.exp(x, a)\nlv = a\n@R.function(private=True)\ndef f(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):\n'
        "    z = R.add(y, lv)\n    return z\nr = f(x)\nreturn r"
    )
    found = edges(drawn(body))
    assert ("lv", "f") in found


def test_bytes_of_a_node_are_those_of_its_memory_and_not_of_its_copies() -> None:
    mod = module("a = ALLOC\nModule.exp(x, a)\nlv = a\nt = (lv, lv)\ngv = t[0]\nreturn gv")
    machine = Machine(mod, "main", [np.zeros(4, "float32")])
    times = BindingTimes()
    times.run(machine)
    found = heated(graph(mod), times, "bytes")
    assert [node.badge for node in found.nodes if node.badge] == ["16 B 100%"]


# -- what is hidden --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", LOWERED, ids=lambda path: path.parent.name)
def test_lowered_stages_show_no_memory_unless_asked(path: Path) -> None:
    mod = load(path)
    hidden, whole = graph(mod), graph(mod, memory=True)
    titles = {node.title for node in hidden.nodes}
    assert not any(title.startswith(("vm.", "memory.", "builtin.", "shape_func")) for title in titles)
    shown = {node.title for node in whole.nodes}
    assert {"vm.alloc_storage", "vm.alloc_tensor", "vm.kill_object"} <= shown
    assert "hidden" in hidden.notes[0]
    assert not any("hidden" in note for note in whole.notes)


@pytest.mark.parametrize("path", LOWERED, ids=lambda path: path.parent.name)
def test_each_kernel_is_reached_from_a_parameter_and_read(path: Path) -> None:
    drawing = graph(load(path), weights="nodes")
    read = {edge.source for edge in drawing.edges}
    fed = {edge.target for edge in drawing.edges}
    calls = [node.id for node in drawing.nodes if node.kind is Kind.CALL]
    assert calls
    assert read.issuperset(calls)
    assert fed.issuperset(calls)


def test_lengths_on_the_heap_have_the_names_of_the_parameters() -> None:
    drawing = graph(load(CORPUS / "llama" / "33_AttachGlobalSymbol.py"))
    assert drawing.node("alloc3").shape_text == "(b, s, 96) f32"
    assert drawing.node("alloc").shape_text == "(b * s, 32) f32"  # computed by a kernel on the heap
    assert all("heap" not in edge.label and "rank" not in edge.label for edge in drawing.edges)


def test_storages_are_told_with_their_reuse() -> None:
    drawing = graph(load(CORPUS / "mlp" / "33_AttachGlobalSymbol.py"))
    assert [drawing.node(name).place for name in ("alloc", "alloc1", "alloc2", "alloc3")] == [
        "s0",
        "s1",
        "s0 ↻",
        "s2",
    ]
    assert "s0 ↻" in drawing.svg("builtin")
    assert " s0 ↻ " in drawing.terminal(200)
    assert " s0 * " in drawing.terminal(200, ascii=True)


def test_with_memory_values_still_flow_through_kernels() -> None:
    found = edges(graph(load(CORPUS / "mlp" / "33_AttachGlobalSymbol.py"), memory=True))
    assert {
        ("storage", "alloc"),
        ("alloc", "alloc_1"),
        ("alloc_1", "alloc1_1"),
        ("alloc3_1", "return"),
    } <= found
    assert {
        ("shape_heap", "shape_heap_1"),
        ("shape_heap_1", "shape_heap_2"),
        ("shape_heap_2", "gv1"),
        ("gv1", "alloc1"),
    } <= found


def test_functions_without_memory_are_drawn_as_they_are() -> None:
    mod = load(CORPUS / "llama" / "00_input.py")
    for name, fn in mod.relax_functions.items():
        assert values(mod, fn).fn is fn, name


# -- what it is for --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stages", STAGES, ids=lambda stages: stages[0].parent.name)
def test_no_stage_is_much_wider_than_the_first(stages: list[Path]) -> None:
    first, *others = [lay_out(graph(load(path), layers="once")).width for path in stages]
    assert max(others) <= 1.5 * first


def test_layers_fold_in_lowered_stages() -> None:
    stages = [path for path in sorted((CORPUS / "llama").glob("*.py")) if path.name >= "25"]
    assert stages
    for path in stages:
        assert any("2 equal layers" in note for note in graph(load(path), layers="once").notes), path.name


def test_the_difference_of_two_lowered_stages_is_one_of_values() -> None:
    before, after = (
        load(CORPUS / "mlp" / "26_StaticPlanBlockMemory.py"),
        load(CORPUS / "mlp" / "29_KillAfterLastUse.py"),
    )
    drawing = diff_graph(before, after, diff_modules(before, after), weights="nodes")
    assert not any("kill" in node.title or "alloc" in node.title for node in drawing.nodes)
    with_kills = diff_graph(before, after, diff_modules(before, after), memory=True)
    assert any("kill" in node.title and "added" in node.marks for node in with_kills.nodes)


# -- packed weights --------------------------------------------------------------------------------------------------

TWICE = "w = params[0]\nv = params[1]\na = R.matmul(x, w)\nb = R.matmul(a, v)\nreturn b"


def packed(body: str, weights: str) -> Drawing:
    head = '@R.function\ndef main(x: R.Tensor(("n", 4), "float32"), params: R.Tuple(R.Tensor((4, 4), "float32"), R.Tensor((4, 4), "float32"))):\n'
    text = head + "".join(f"    {line}\n" for line in body.split("\n"))
    return graph(normalize_with(parse(text))[0], weights=weights)


def test_packed_weights_are_parameters_of_their_own() -> None:
    drawing = packed(TWICE, "nodes")
    assert edges(drawing) == {("x", "a"), ("w", "a"), ("a", "b"), ("v", "b"), ("b", "return")}
    assert drawing.node("w").kind is Kind.PARAMETER
    assert "params" not in names(drawing)


def test_packed_weights_fold_into_their_readers() -> None:
    drawing = packed(TWICE, "fold")
    assert names(drawing) == ["x", "a", "b", "return"]
    assert "w (4, 4) f32" in drawing.node("a").lines


def test_a_tuple_of_weights_that_is_handed_on_stays() -> None:
    drawing = packed("w = params[0]\na = R.matmul(x, w)\nreturn (a, params)", "nodes")
    assert ("params", "return") in edges(drawing)


def test_fields_of_other_tuples_stay_fields() -> None:
    head = '@R.function\ndef main(t: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32"))):\n'
    text = f"{head}    a = t[0]\n    b = R.exp(a)\n    return b\n"
    drawing = graph(normalize_with(parse(text))[0], weights="fold")
    assert edges(drawing) == {("t", "a"), ("a", "b"), ("b", "return")}


INSIDE = """
@I.ir_module
class Module:
    @R.function(private=True)
    def inner(y: R.Tensor(("n", 4), "float32"), p: R.Tuple(R.Tensor((4, 4), "float32"))) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        v = p[0]
        b = R.matmul(y, v)
        return b

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), params: R.Tuple(R.Tensor((4, 4), "float32"))):
        n = T.int64()
        a = Module.inner(x, {given})
        return a
"""


def test_weights_that_are_handed_on_fold_inside_of_a_call() -> None:
    module = normalize_with(parse(INSIDE.format(given="params")))[0]
    drawing = graph(module, weights="fold", inside={"inner"})
    assert "v (4, 4) f32" in drawing.node("a/b").lines


def test_a_tuple_that_is_made_for_a_call_is_read_inside_of_it() -> None:
    text = INSIDE.format(given="t").replace(
        "        a = Module",
        "        w = params[0]\n        e = R.exp(w)\n        t = (e,)\n        a = Module",
    )
    drawing = graph(normalize_with(parse(text))[0], weights="nodes", inside={"inner"})
    assert {("w", "e"), ("e", "t"), ("t", "a/v"), ("a/v", "a/b")} <= edges(drawing)
