"""Graphs by storages: colours, who lives where and when, sizes with and without numbers, and that reuse is seen."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.cost.program_cost import ModuleCosts
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.syntax.load import load
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Node
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.palette import STORAGE_HUES, THEMES
from relax_explorer.viz.storage_view import NOTHING, NOWHERE, OTHERS, by_storage, holders
from relax_explorer.viz.value_graph import seen
from tests.cli.test_commands import rxe_cli

CORPUS = Path(__file__).parents[1] / "data" / "corpus"
PLANNED = "26_StaticPlanBlockMemory"
LAST = "33_AttachGlobalSymbol"


def drawn(model: str, stage: str) -> tuple[Drawing, e.Function]:
    module = rxe.Session(load(CORPUS / model / f"{stage}.py")).stages[0].module
    drawing = graph(module)
    return drawing, module.relax_functions[drawing.title]


@pytest.mark.parametrize(
    "stage", [PLANNED, "28_LowerAllocTensor", "30_LowerRuntimeBuiltin", "32_VMShapeLower", LAST]
)
def test_storages_their_bytes_and_who_lives_there_are_told_at_every_planned_stage(stage: str) -> None:
    drawing, fn = drawn("mlp", stage)
    found = holders(drawing, fn)
    first, second = found[:2]
    assert (first.name, first.size, second.name, second.size) == ("s0", "2 KiB", "s1", "128·n B")
    titles = [[drawing.node(resident.node).title for resident in holder.residents] for holder in found]
    assert titles[:2] == [["transpose", "transpose1"], ["fused_matmul_add_gelu"]]
    assert titles[2:] == [["matmul1"]] * (stage != PLANNED)  # the result, too
    one, other = first.residents
    assert one.first < one.last < other.first <= other.last  # so both may lie there
    assert second.residents[0].first == one.last  # which reads it


@pytest.mark.parametrize("model", ["llama", "diffusion", "resnet_block", "bert_layer", "mlp"])
def test_values_of_one_storage_live_one_after_the_other(model: str) -> None:
    drawing, fn = drawn(model, PLANNED)
    found = holders(drawing, fn)
    assert len(found) > 1
    for holder in found:
        lives = sorted((resident.first, resident.last) for resident in holder.residents)
        assert all(one[1] <= other[0] for one, other in pairwise(lives)), holder
    assert any(len(holder.residents) > 1 for holder in found)


def test_a_returned_value_lives_to_the_end() -> None:
    drawing, fn = drawn("mlp", LAST)
    (result,) = holders(drawing, fn)[-1].residents
    assert result.last == len(list(bindings(fn))) > result.first


def test_a_reader_tells_which_fields_it_reads() -> None:
    pair = e.Var("pair", s.TupleStructInfo((s.OBJECT,) * 3))
    fields = [e.TupleGetItem(pair, number, s.OBJECT) for number in range(3)]
    assert seen([fields[0], fields[2]]) == {(pair, s.OBJECT): (0, 2)}
    assert seen([fields[1]]) == {(pair, s.OBJECT): (1,)}
    assert seen([pair]) == {(pair, pair.struct_info): ()}


def test_each_of_several_values_of_one_kernel_has_its_own_life() -> None:
    drawing, fn = drawn("llama", PLANNED)
    lives = {
        holder.name: next((resident for resident in holder.residents if resident.node == "split"), None)
        for holder in holders(drawing, fn)
    }
    ends = [lives[name].last for name in ("s1", "s4", "s5")]  # type: ignore[union-attr]  # split lies in all three
    assert len(set(ends)) == 3
    (node,) = [node for node in drawing.nodes if node.id == "split"]
    assert node.place.split() == ["s1", "↻", "s4", "s5"]


def test_storages_are_those_of_the_plan() -> None:
    module = rxe.Session(load(CORPUS / "resnet_block" / f"{PLANNED}.py")).stages[0].module
    drawing = graph(module)
    memory = ModuleCosts(module).of(drawing.title).memory
    plan = [life for life in memory.owners if any(tensor.storage == life.name for tensor in memory.tensors)]
    found = holders(drawing, module.relax_functions[drawing.title])
    assert len(found) == len(plan)
    for holder, life in zip(found, plan, strict=True):
        assert len(holder.residents) == sum(tensor.storage == life.name for tensor in memory.tensors)
        (size,) = (life.size or {}).values()
        assert holder.size.partition(" ")[0] == f"{size / 1024:.3g}" if size >= 1024 else str(size)


def test_nodes_have_the_colour_of_their_storage_and_others_are_pale() -> None:
    drawing, fn = drawn("mlp", PLANNED)
    shown = by_storage(drawing, fn)
    looks = {node.id: node.look for node in shown.nodes}
    assert looks["permute_dims"] == looks["permute_dims1"] == "storage-0"
    assert looks["lv"] == "storage-1"
    assert looks["x"] == looks["return"] == looks["gv"] == NOWHERE
    assert [look for look, _ in shown.legend] == ["storage-0", "storage-1"]
    assert shown.legend[1][1].startswith("s1, 128·n B: lv ")
    assert shown.notes[0] == "3 values in 2 storages, ↻ where another value lay before"
    for theme in THEMES.values():
        assert all(theme.node(look) for look in looks.values())
        assert len({theme.node(f"storage-{number}").fill for number in range(len(STORAGE_HUES))}) == len(
            STORAGE_HUES
        )


def test_storages_beyond_the_hues_share_the_one_of_others() -> None:
    drawing, fn = drawn("llama", PLANNED)
    found = holders(drawing, fn)
    assert len(found) > len(STORAGE_HUES)
    named = [holder for holder in found if holder.look != OTHERS]
    others = [holder for holder in found if holder.look == OTHERS]
    assert len(named) == len({holder.look for holder in named}) == len(STORAGE_HUES) - 1
    assert min(len(holder.residents) for holder in named) >= max(len(holder.residents) for holder in others)
    assert by_storage(drawing, fn).legend[-1] == (
        OTHERS, f"{len(others)} other storages: {', '.join(holder.name for holder in others)}")  # fmt: skip


def test_a_function_without_storages_tells_who_makes_them() -> None:
    drawing, fn = drawn("mlp", "25_CallTIRRewrite")
    shown = by_storage(drawing, fn)
    assert shown.notes[0] == NOTHING
    assert {node.look for node in shown.nodes} == {NOWHERE}
    assert not shown.legend


def test_a_node_of_another_function_is_pale_though_its_storage_has_the_same_name() -> None:
    drawing, fn = drawn("mlp", PLANNED)
    strange = Drawing("f", (*drawing.nodes, Node("mine", "mine", place="s0")), storages=drawing.storages)
    assert by_storage(strange, fn).node("mine").look == NOWHERE


def test_the_command_draws_them_and_refuses_what_does_not_fit(tmp_path: Path) -> None:
    file = str(CORPUS / "mlp" / f"{PLANNED}.py")
    svg = tmp_path / "a.svg"
    assert rxe_cli("graph", file, "--storages", "-o", str(svg), "--engine", "builtin").exit_code == 0
    text = svg.read_text()
    assert 'class="node call storage-0"' in text
    assert "s0, 2 KiB: permute_dims" in text
    data = json.loads(rxe_cli("graph", file, "--format", "json").stdout)
    assert data["storages"] == [{"name": "s0", "bytes": "2 KiB"}, {"name": "s1", "bytes": "128·n B"}]
    for more in (["--heat", "flops"], ["--calls"], ["--between", "0..0"]):
        assert rxe_cli("graph", file, "--storages", *more).exit_code == 2
