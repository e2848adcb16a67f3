"""What became of the nodes of a graph in that of another stage."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from relax_explorer.core.session.session import Session
from relax_explorer.ui.cli.programs import open_session
from relax_explorer.viz.cells import cell_picture
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.node_history import NodeHistory, node_history

CORPUS = Path(__file__).parents[1] / "data" / "corpus"
NAMES = sorted(folder.name for folder in CORPUS.iterdir() if folder.is_dir())


def session(name: str) -> Session:
    return open_session(str(CORPUS / name), None)


def number_of(opened: Session, made_by: str) -> int:
    return next(stage.number for stage in opened.stages if stage.made_by == made_by and stage.changed)


def between(
    opened: Session, earlier: int, later: int, is_backwards: bool = False
) -> tuple[NodeHistory, Drawing, Drawing]:
    name = opened.stages[later].entry
    before, after = (
        graph(opened.stages[number].module, name, weights="nodes") for number in (earlier, later)
    )
    diff = next(fn for fn in opened.diff(earlier, later).functions if fn.name == name)
    if is_backwards:
        before, after = after, before
    return node_history(before, after, diff, is_backwards), before, after


def into(opened: Session, made_by: str, is_backwards: bool = False) -> tuple[NodeHistory, Drawing, Drawing]:
    later = number_of(opened, made_by)
    return between(opened, later - 1, later, is_backwards)


def test_fusion_merges_nodes() -> None:
    history, _, after = into(session("mlp"), "FuseOps")
    assert history.story == "3 nodes merged into 1"
    (merged,) = [name for name, ids in history.before.items() if len(ids) > 1]
    assert history.before[merged] == ("matmul", "add", "gelu")
    assert after.node(merged).title == "fused_matmul_add_gelu"


def test_backwards_the_same_nodes_are_split() -> None:
    history, _, _ = into(session("mlp"), "FuseOps", is_backwards=True)
    assert history.story == "1 split into 3"
    assert history.before["matmul"] == history.before["gelu"]


def test_a_kernel_and_its_memory_go_on_as_one_node() -> None:
    history, before, after = into(session("mlp"), "CallTIRRewrite")
    assert history.story == ""
    assert {node.id for node in before.nodes} == {node.id for node in after.nodes}
    assert all(history.before[node.id] == (node.id,) for node in after.nodes)


def test_what_is_gone_and_new_is_counted() -> None:
    opened = session("mlp")
    assert into(opened, "CanonicalizeRelaxBindings")[0].story == "1 gone"
    assert into(opened, "CanonicalizeRelaxBindings", is_backwards=True)[0].story == "1 new"


def test_parameters_and_results_stay() -> None:
    history, _, _ = into(session("llama"), "FuseOps")
    assert history.before["ids"] == ("ids",)
    assert history.before["return"] == ("return",)


@pytest.mark.parametrize("name", NAMES)
def test_nodes_keep_their_order_from_stage_to_stage(name: str) -> None:
    opened = session(name)
    stages = [stage.number for stage in opened.stages if stage.changed or not stage.number]
    entry = opened.stages[0].entry
    drawn = {number: graph(opened.stages[number].module, entry, layers="once") for number in stages}
    pictures = {number: cell_picture(drawing) for number, drawing in drawn.items()}
    for earlier, later in pairwise(stages):
        diff = next(fn for fn in opened.diff(earlier, later).functions if fn.name == entry)
        history = node_history(drawn[earlier], drawn[later], diff)
        column = {
            node.id: box.middle
            for node, box in zip(drawn[earlier].nodes, pictures[earlier].boxes, strict=True)
        }
        rows: dict[int, list[tuple[int, float]]] = {}
        for node, box in zip(drawn[later].nodes, pictures[later].boxes, strict=True):
            origins = [column[item] for item in history.before.get(node.id, ())]
            if origins:
                rows.setdefault(box.row, []).append((box.middle, sum(origins) / len(origins)))
        for row in rows.values():
            assert [was for _, was in sorted(row)] == sorted(was for _, was in row), opened.stages[
                later
            ].made_by


def test_a_merged_node_is_not_split_as_well() -> None:
    assert into(session("bert_layer"), "FuseOps")[0].story == "18 nodes merged into 7"
