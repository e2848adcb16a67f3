"""What became of the nodes of a graph in that of another stage: which ones were merged, split, made and dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.align import FunctionDiff
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.viz.graph import Graph, Kind
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.visible import counted

MOST_FOLLOWED = 2_000  # bindings of a function whose nodes are followed through several stages
_COMPUTING = (Kind.OPERATOR, Kind.CALL, Kind.TUPLE, Kind.MATCH_CAST, Kind.BRANCH)


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """For each node of the graph after, the nodes before that it goes on with, by id; and what happened, as a sentence."""

    before: Mapping[str, tuple[str, ...]]
    story: str = ""


def node_history(before: Graph, after: Graph, diff: FunctionDiff, is_backwards: bool = False) -> NodeHistory:
    """The history of the nodes of `after`. `diff` is that of the function from the earlier to the later stage; `is_backwards` if that is `before`."""
    new = _by_source(after)
    links = _links(diff, is_backwards)
    found: dict[str, dict[str, None]] = {}
    heirs: dict[str, dict[str, None]] = {}
    titles = {node.title: node.id for node in after.nodes if node.kind is Kind.PARAMETER}
    for node in before.nodes:
        targets = [item for source in node.sources for item in links.get(source, (source,))]
        names = dict.fromkeys([new[id(item)] for item in targets if id(item) in new])
        if node.kind is Kind.PARAMETER and node.title in titles:
            names = {titles[node.title]: None}
        elif not node.sources and node.id in after.number:
            names = {node.id: None}  # a result
        heirs[node.id] = names
        for name in names:
            found.setdefault(name, {})[node.id] = None
    origins = {name: tuple(ids) for name, ids in found.items()}
    return NodeHistory(origins, _story(before, after, origins, heirs, _moved(diff, is_backwards, new)))


def _moved(diff: FunctionDiff, is_backwards: bool, new: Mapping[int, str]) -> int:
    """How many nodes stand for a binding that is the same at another place of the program."""
    moved = [
        pair for pair in diff.pairs if pair.kind == "moved" and pair.a is not None and pair.b is not None
    ]
    units = [diff.old[pair.a or 0] if is_backwards else diff.new[pair.b or 0] for pair in moved]
    return len({new[id(unit)] for unit in units if id(unit) in new})


def heirs(
    session: Session, left: Snapshot, right: Snapshot, name: str, memory: bool = False
) -> dict[str, str]:
    """The node in a later stage that alone goes on with one of a function in an earlier stage, by the stages between them.

    Empty for stages aside, backwards, and for functions of so many bindings that drawing each stage would take seconds.
    """
    stages = session.stages[left.number : right.number + 1]
    if len(stages) < 2 or stages[0] is not left or stages[-1] is not right:
        return {}
    known, titles = dict[str, tuple[str, ...]](), dict[str, str]()
    last, number = Graph(""), left.number
    for stage in stages:
        fn = stage.module.relax_functions.get(name)
        if fn is None or sum([len(block.bindings) for block in fn.body.blocks]) > MOST_FOLLOWED:
            return {}
        if stage is not left and not stage.changed:
            continue
        drawing = graph(stage.module, name, weights="whole", memory=memory)
        if stage is left:
            known = {node.id: (node.id,) for node in drawing.nodes}
            titles = {node.id: node.title for node in drawing.nodes}
        else:
            diff = next(item for item in session.diff(number, stage.number).functions if item.name == name)
            before = node_history(last, drawing, diff).before
            known = {
                new: tuple(dict.fromkeys([first for item in olds for first in known.get(item, ())]))
                for new, olds in before.items()
            }
        last, number = drawing, stage.number
    counts = Counter([one for origins in known.values() for one in origins])
    found = dict[str, str]()
    for new, origins in known.items():
        alone = [one for one in origins if counts[one] == 1]
        same = [
            one for one in alone if titles[one] == last.node(new).title
        ]  # a kernel, of it and its reshape
        if len(origins) == 1 or len(same) == 1:
            found.update(dict.fromkeys(alone if len(origins) == 1 else same, new))
    return found


def _by_source(graph: Graph) -> dict[int, str]:
    return {id(source): node.id for node in graph.nodes for source in node.sources}


def _links(diff: FunctionDiff, is_backwards: bool) -> dict[object, Sequence[object]]:
    """The bindings that each binding of the side before became."""
    found: dict[object, list[object]] = {}

    def link(a: int, b: int) -> None:
        one, other = diff.old[a], diff.new[b]
        if isinstance(one, e.Binding) and isinstance(other, e.Binding):
            source, target = (other, one) if is_backwards else (one, other)
            found.setdefault(source, []).append(target)

    grouped = {a for group in diff.groups.values() for a in group.old}
    for pair in diff.pairs:
        if pair.a is not None and pair.b is not None and pair.a not in grouped:
            link(pair.a, pair.b)
    for group in diff.groups.values():
        for a in group.old:
            for b in group.new if group.kind == "split" else group.new[-1:]:
                link(a, b)
    return dict[object, Sequence[object]](found)


def _story(
    before: Graph,
    after: Graph,
    origins: Mapping[str, Sequence[str]],
    heirs: Mapping[str, Mapping[str, None]],
    moved: int,
) -> str:
    """`5 nodes merged into 2, 1 moved, 1 gone, 3 new`; empty if each node goes on as one, where it was."""
    computed = [node.id for node in before.nodes if node.kind in _COMPUTING]
    merged = {name: [item for item in ids if item in computed] for name, ids in origins.items()}
    merges = {name: ids for name, ids in merged.items() if len(ids) > 1}
    splits = [name for name in computed if len(heirs[name]) > 1]
    gone = sum([not heirs[name] for name in computed])
    made = sum([node.kind in _COMPUTING and node.id not in origins for node in after.nodes])
    parts = []
    if merges:
        parts.append(
            f"{counted(len({item for ids in merges.values() for item in ids}), 'node')} merged into {len(merges)}"
        )
    if splits:
        parts.append(f"{len(splits)} split into {len({name for item in splits for name in heirs[item]})}")
    parts += [f"{moved} moved"] * bool(moved)
    parts += [f"{gone} gone"] * bool(gone) + [f"{made} new"] * bool(made)
    return ", ".join(parts)
