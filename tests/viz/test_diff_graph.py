"""Two stages in one graph: what was added, removed and changed has a sign, a colour and a place."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import FunctionDiff, Group, ModuleDiff, Pair, diff_modules
from relax_explorer.core.syntax.parser import parse
from relax_explorer.ui.cli.programs import open_session
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import EdgeKind, Mark
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.marked_graph import diff_graph, marks_of
from relax_explorer.viz.node_history import node_history
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import SAMPLES

CORPUS = Path(__file__).parents[1] / "data" / "corpus" / "llama"
BROKEN = str(SAMPLES[0].parent / "broken_build")
HEAD = 'c: R.Tensor((), "bool"), x: R.Tensor((2, 3), "float32"), w: R.Tensor((2, 3), "float32")'


def module(body: str, head: str = HEAD, name: str = "main") -> IRModule:
    lines = "".join(f"    {line}\n" for line in body.strip().split("\n"))
    return normalize_with(parse(f"@R.function\ndef {name}({head}):\n{lines}"))[0]


def differing(old: IRModule, new: IRModule, function: str = "main") -> Drawing:
    return diff_graph(old, new, diff_modules(old, new), function)


def signs(drawing: Drawing) -> dict[str, str]:
    return {node.id: node.marked_title.split()[0] for node in drawing.nodes if node.marks}


def removed_edges(drawing: Drawing) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in drawing.edges if edge.kind is EdgeKind.REMOVED}


OLD = module("a = R.exp(x)\nb = R.sin(a)\nd = R.add(b, w)\nreturn d")


@pytest.mark.parametrize(
    ("stages", "removed", "added"), [("24..25", 2, 0), ("23..33", 11, 0), ("28..33", 0, 0)]
)
def test_values_go_on_through_lowering(stages: str, removed: int, added: int) -> None:
    found = rxe_cli("graph", str(CORPUS), "--between", stages, "--format", "json")
    marks = [mark for node in json.loads(found.output)["nodes"] for mark in node["marks"]]
    assert (marks.count("removed"), marks.count("added")) == (removed, added)


def test_added_removed_and_changed_nodes_have_signs() -> None:
    drawing = differing(
        OLD, module("a = R.exp(x)\ne = R.cos(x)\nf = R.tanh(e)\nd = R.multiply(a, f)\nreturn d")
    )
    found = signs(drawing)
    assert found["e"] == "+"
    assert found["f"] == "+"
    assert "a" not in found
    assert set(found.values()) == {"+", "-", "~"} or found["b"] == "-"
    assert found["b"] == "-"
    assert ("a", "b") in removed_edges(drawing)
    assert drawing.notes[0].startswith("+ ")
    assert {look for look, _ in drawing.legend} == {
        str(mark) for node in drawing.nodes for mark in node.marks
    }


ORDERED = module("a = R.exp(x)\nb = R.sin(x)\nd = R.add(a, b)\nreturn d")
SWAPPED = module("b = R.sin(x)\na = R.exp(x)\nd = R.add(a, b)\nreturn d")


def test_a_binding_at_another_place_of_the_program_is_moved() -> None:
    drawing = differing(ORDERED, SWAPPED)
    moved = [node for node in drawing.nodes if Mark.MOVED in node.marks]
    assert len(moved) == 1
    assert moved[0].marked_title.startswith("» ")
    assert drawing.notes[0] == "» 1 moved"
    assert drawing.legend == (("moved", "» moved"),)
    diff = diff_modules(ORDERED, SWAPPED).functions[0]
    for is_backwards, graphs in ((False, (ORDERED, SWAPPED)), (True, (SWAPPED, ORDERED))):
        before, after = (graph(item) for item in graphs)
        assert node_history(before, after, diff, is_backwards).story == "1 moved"
    assert not any(node.marks for node in differing(ORDERED, ORDERED).nodes)


def test_what_was_merged_tells_into_what_and_what_split_has_a_sign() -> None:
    session = open_session(str(CORPUS.parent / "mlp"), None)
    fused = next(stage for stage in session.stages if stage.made_by == "FuseOps")
    before = session.stages[fused.number - 1]
    diff = session.diff(before.number, fused.number)
    drawing = diff_graph(before.module, fused.module, diff, "forward")
    assert {node.id: node.badge for node in drawing.nodes if Mark.REMOVED in node.marks} == dict.fromkeys(
        ["matmul", "add", "gelu"], "into lv"
    )
    assert drawing.node("lv").marked_title == "⊞+ M fused_matmul_add_gelu"
    assert "⊞ 1 merged" in drawing.notes[0]
    back = FunctionDiff("f", "changed", (), fused_units := tuple(bindings(fused.module.relax_functions["forward"])), (),
                        {1: Group("split", (0,), (0, 1), True)})  # fmt: skip
    assert marks_of(back) == dict.fromkeys(fused_units[:2], frozenset({Mark.SPLIT}))


def test_a_changed_attribute_is_a_change_in_place() -> None:
    old, new = (
        module(f"a = R.sum(x, axis={axis}, keepdims=True)\nb = R.exp(a)\nreturn b") for axis in (0, 1)
    )
    drawing = differing(old, new)
    assert signs(drawing)["a"] == "~"
    assert not removed_edges(drawing)
    assert len(drawing.nodes) == len({"c", "x", "w", "a", "b", "return"})


def test_a_value_that_nothing_replaced_keeps_its_readers() -> None:
    drawing = differing(OLD, module("a = R.exp(x)\nd = R.add(a, w)\nreturn d"))
    assert signs(drawing)["b"] == "-"
    assert removed_edges(drawing) == {("a", "b"), ("b", "d")}
    assert [node.id for node in drawing.nodes].index("b") < [node.id for node in drawing.nodes].index("d")


def test_names_that_both_stages_use_for_different_values_stay_apart() -> None:
    new = module("a = R.exp(x)\nb = R.sin(a)\nd = R.add(b, w)\nreturn d")
    (found,) = diff_modules(OLD, module("a = R.cos(w)\nreturn a")).functions
    old_side, new_side = (tuple(bindings(side.relax_functions["main"])) for side in (OLD, new))
    pairs = (*(Pair("removed", n, None) for n in range(3)), *(Pair("added", None, n) for n in range(3)))
    apart = ModuleDiff((replace(found, old=old_side, new=new_side, pairs=pairs),))
    drawing = diff_graph(OLD, new, apart, "main")
    ids = [node.id for node in drawing.nodes]
    assert len(set(ids)) == len(ids)
    assert {"a", "a (before)", "b", "b (before)", "d", "d (before)"} <= set(ids)
    assert ("a (before)", "b (before)") in removed_edges(drawing)
    assert signs(drawing) == {name: "-" if "before" in name else "+" for name in ids if name[0] in "abd"}


def test_equal_stages_differ_in_nothing() -> None:
    drawing = differing(OLD, OLD)
    assert not signs(drawing)
    assert drawing.notes[0] == "nothing differs"
    assert not drawing.legend
    assert not signs(differing(OLD, module("a = R.exp(x)\nb = R.sin(a)\nd = R.add(b, w)\nreturn d")))


def test_parameters_constants_and_branches() -> None:
    body = "if c:\n    y = R.{one}(x)\nelse:\n    y = R.sin(x)\nz = R.add(y, R.const([{two}, 2.0, 3.0]))\nreturn z"
    old = module(body.format(one="exp", two="1.0"))
    new = module(body.format(one="cos", two="1.0"), HEAD.replace("w: ", "v: "))
    found = signs(differing(old, new))
    assert found["w"] == "-"
    assert found["v"] == "+"
    assert not [name for name in found if ".then.out" in name or ".c" in name or name == "return"]
    assert len(found) > 2  # the value of the branch


def test_a_function_of_one_stage_only() -> None:
    both = IRModule({**OLD.functions, **module("return x", name="other").functions})
    added, removed = differing(OLD, both, "other"), differing(both, OLD, "other")
    assert {mark for node in added.nodes for mark in node.marks} == {Mark.ADDED}
    assert {mark for node in removed.nodes for mark in node.marks} == {Mark.REMOVED}
    with pytest.raises(Failure):
        differing(OLD, both, "nobody")


def test_every_format_shows_the_signs(tmp_path: Path) -> None:
    svg = tmp_path / "changes.svg"
    done = rxe_cli("graph", BROKEN, "--between", "1..4", "-o", str(svg), "--engine", "builtin")
    assert done.exit_code == 0, done.stderr
    root = ElementTree.fromstring(svg.read_text())
    classes = [item.get("class", "").split() for item in root.iter("{http://www.w3.org/2000/svg}g")]
    for mark in ("added", "removed", "changed"):
        assert sum(mark in names and "node" in names for names in classes) > 2
    title = root.findtext("{http://www.w3.org/2000/svg}title") or ""
    assert "LegalizeOps" in title
    assert "FuseOps" in title
    mermaid = rxe_cli("graph", BROKEN, "--between", "1..4", "--format", "mermaid").stdout
    assert "classDef mark-removed" in mermaid
    assert "-.->" in mermaid
    assert "- M matmul1" in rxe_cli("graph", BROKEN, "--between", "1..4", "--format", "dot").stdout
    text = rxe_cli("graph", BROKEN, "--between", "1..4", "--format", "unicode").stdout
    assert "+     lv = fused_matmul1_multiply_add(" in text
    data = json.loads(rxe_cli("graph", BROKEN, "--between", "1..4", "--format", "json").stdout)
    assert {tuple(node["marks"]) for node in data["nodes"]} == {
        (), ("merged", "added"), ("removed",), ("changed",)}  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        ("--between", "1..99"),
        ("--between", "1..4", "--stage", "4"),
        ("--between", "1..4", "--heat", "time"),
        ("--shape", "n=2"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: tuple[str, ...]) -> None:
    done = rxe_cli("graph", BROKEN, *options)
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
