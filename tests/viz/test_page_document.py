"""The data of the page agrees with what the explorer shows: rows, changes, problems, graphs, lengths."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest

from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.load import load
from relax_explorer.core.syntax.parser import parse
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.ui.cli.programs import open_session
from relax_explorer.ui.tui.screens.problems_screen import problem_list
from relax_explorer.ui.tui.state import State
from relax_explorer.viz import page_document, page_graphs
from relax_explorer.viz.graph import without_repeated_counts
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.layout import lay_out
from relax_explorer.viz.page_document import document
from relax_explorer.viz.table_diff import TableDiff
from tests.support.deep_models import decoder
from tests.support.roundtrip import DATA as CORPUS
from tests.viz.test_report import TRANSFORMER, broken, log_of

BRANCHES = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n", 4), "float32"):
        y = R.nn.relu(x)
        if c:
            z = R.exp(y)
            w = R.add(z, z)
            r = w
        else:
            z = R.nn.relu(y)
            r = z
        @R.function
        def inner(a: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
            b = R.nn.gelu(a)
            return b
        s = inner(r)
        return s
"""


def _session(name: str) -> Session:
    if name == "broken":
        return broken()
    if name == "lowered":
        return Session.open(TRANSFORMER, "zero,default_build")
    session = Session(parse(BRANCHES) if name == "branches" else parse(decoder(3)), "default,LambdaLift")
    session.run_all()
    return session


@lru_cache
def made(name: str) -> tuple[Session, dict[str, Any]]:
    """A session with its document, as a page reads it."""
    session = _session(name)
    found: dict[str, Any] = json.loads(json.dumps(document(session)))
    return session, found


NAMES = ("broken", "lowered", "branches", "layers")


def numbers_of(runs: list[int]) -> list[int]:
    """The numbers of runs, as the script reads them."""
    return [
        first + step for first, length in zip(runs[::2], runs[1::2], strict=True) for step in range(length)
    ]


def pairs_of(changes: dict[str, Any]) -> Iterator[tuple[int, int, int]]:
    runs = changes["runs"]
    for at in range(0, len(runs), 4):
        kind, old, new, length = runs[at : at + 4]
        for step in range(length):
            yield kind, old if old < 0 else old + step, new if new < 0 else new + step


def plain(text: str) -> str:
    """A text without its roles."""
    return re.sub(r"`(.)", lambda hit: "`" if hit[1] == "`" else "", text)


def shown(found: dict[str, Any], row: int) -> str:
    kind, depth, name, text, info = found["rows"][row]
    head = f"{name} = " if found["kinds"]["row"][kind] == "binding" else ""
    return " ".join(f"{'│ ' * depth}{head}{plain(text)}  {info}".split())


def expected(table: IrTable) -> list[str]:
    """The rows of a table without numbers and blank rows; lines of a folded kernel stand below it."""
    rows = []
    for row, place in zip(table, table.places, strict=True):
        if place.kind == "blank":
            continue
        text = row.text
        if place.kind not in ("head", "kernel", "text"):
            text = text[len(row.pieces[0][1]) :]
        rows.append(" ".join(f"{text}  {row.right}".split()))
        rows += [
            " ".join(line.text.split()) for line in table.lines_of(place.function) if place.kind == "kernel"
        ]
    return rows


@pytest.mark.parametrize("name", NAMES)
def test_every_stage_has_the_rows_of_the_explorer(name: str) -> None:
    session, found = made(name)
    assert len(session.stages) == len(found["stages"])
    for stage, data in zip(session.stages, found["stages"], strict=True):
        rows = numbers_of(found["bodies"][data["body"]]["rows"])
        assert [shown(found, row) for row in rows] == expected(IrTable(stage))


def test_a_row_stands_once_however_many_stages_have_it() -> None:
    _, found = made("broken")
    assert len({json.dumps(row) for row in found["rows"]}) == len(found["rows"])
    used = sum(len(numbers_of(body["rows"])) for body in found["bodies"])
    assert used > 3 * len(found["rows"])


@pytest.mark.parametrize("name", NAMES)
def test_changes_are_those_of_the_explorer(name: str) -> None:
    """By rows of Relax functions: their marks, and the row of the stage before."""
    session, found = made(name)
    compared = 0
    for stage, data in zip(session.stages[1:], found["stages"][1:], strict=True):
        if not stage.changed:
            assert data["changes"] == -1
            continue
        before = session.stages[stage.number - 1]
        module_diff = session.diff(before.number, stage.number)
        opened = {fn.name for fn in module_diff.functions if fn.status == "changed"}
        diff = TableDiff(IrTable(before, opened=opened), IrTable(stage, opened=opened), module_diff)
        own = [
            (diff.kind(number), " ".join(row.text.split()))
            for number, row in enumerate(diff)
            if row.kind == "binding" and diff.kind(number) in ("added", "removed", "moved", "kind")
        ]
        kinds = found["kinds"]["change"]
        bodies = [
            numbers_of(found["bodies"][found["stages"][n]["body"]]["rows"])
            for n in (before.number, stage.number)
        ]
        seen = []
        for kind, old, new in pairs_of(found["changes"][data["changes"]]):
            number = bodies[1][new] if new >= 0 else bodies[0][old]
            word = kinds[kind]
            is_binding = found["kinds"]["row"][found["rows"][number][0]] == "binding"
            if is_binding and word in ("added", "removed", "moved", "kind"):
                seen.append((word, shown(found, number)))
        assert [word for word, _ in seen] == [word for word, _ in own]
        for (_, left), (_, right) in zip(seen, own, strict=True):
            assert left.split(" = ")[0].split()[-1] in right.split()
        compared += len(own)
    assert compared or name in ("branches",)


@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_shown_once_and_old_rows_are_named_once(name: str) -> None:
    _, found = made(name)
    for before, data in zip(found["stages"], found["stages"][1:], strict=False):
        if data["changes"] < 0:
            continue
        pairs = list(pairs_of(found["changes"][data["changes"]]))
        count = len(numbers_of(found["bodies"][data["body"]]["rows"]))
        assert [new for _, _, new in pairs if new >= 0] == list(range(count))
        old = [old for _, old, _ in pairs if old >= 0]
        assert len(old) == len(set(old))
        assert max(old) < len(numbers_of(found["bodies"][before["body"]]["rows"]))
        same = found["kinds"]["change"].index("same")
        sides = [numbers_of(found["bodies"][item["body"]]["rows"]) for item in (before, data)]
        kinds = found["kinds"]["row"]
        for kind, left, right in pairs:
            if kind == same and left >= 0 and kinds[found["rows"][sides[1][right]][0]] in ("line", "binding"):
                assert found["rows"][sides[0][left]][0] == found["rows"][sides[1][right]][0]


def test_a_merged_value_names_the_rows_that_it_was_made_of() -> None:
    _, found = made("broken")
    notes = {}
    for before, data in zip(found["stages"], found["stages"][1:], strict=False):
        for row, note, old, new in (
            found["changes"][data["changes"]]["groups"] if data["changes"] >= 0 else ()
        ):
            left, right = (numbers_of(found["bodies"][item["body"]]["rows"]) for item in (before, data))
            notes[note] = (
                [found["rows"][left[n]][2] for n in old],
                [found["rows"][right[n]][2] for n in new],
                row in new,
            )
    assert notes["merged from matmul1, mul, add"] == (["matmul1", "mul", "add"], ["lv"], True)


def test_folds_close_around_functions_branches_kernels_checks_and_layers() -> None:
    kinds = {}
    for name in NAMES:
        _, found = made(name)
        for body in found["bodies"]:
            count = len(numbers_of(body["rows"]))
            for head, end, kind, _, label in body["folds"]:
                assert 0 <= head < end <= count
                kinds.setdefault(found["kinds"]["fold"][kind], set()).add(label)
    assert set(kinds) == {"function", "block", "body", "checks", "kernel", "layer"}
    assert {"layer 1 of 3", "layer 3 of 3"} <= kinds["layer"]


def test_layers_with_names_fold_by_them() -> None:
    """Not as pieces that repeat, and in each function whose weights tell them."""
    _, found = made("broken")
    folds = [
        fold
        for body in found["bodies"]
        for fold in body["folds"]
        if found["kinds"]["fold"][fold[2]] == "layer"
    ]
    assert {fold[4] for fold in folds} == {"layers_0", "layers_1"}


def test_layers_fold_the_bindings_that_repeat() -> None:
    _, found = made("layers")
    body = found["bodies"][0]
    rows = numbers_of(body["rows"])
    layers = [fold for fold in body["folds"] if fold[4].startswith("layer")]
    texts = [[re.sub(r"\d+", "#", shown(found, row)) for row in rows[head:end]] for head, end, *_ in layers]
    assert len(layers) == 3
    assert texts[0] == texts[1] == texts[2]
    assert len(texts[0]) == layers[0][3]


def test_problems_are_merged_as_the_explorer_merges_them() -> None:
    session, found = made("broken")
    assert len(session.problems) > len(found["problems"]) == len(session.distinct_problems)
    text = "\n".join(row.text for row in problem_list(State(session=session)))
    for problem in found["problems"]:
        assert problem["message"] in text
        assert problem["where"] in text
        body = found["bodies"][found["stages"][problem["stage"]]["body"]]
        assert 0 <= problem["row"] < len(numbers_of(body["rows"]))


def test_graphs_of_one_form_have_one_layout_with_room_for_all() -> None:
    session, found = made("broken")
    for stage, at in zip(session.stages, found["stages"], strict=True):
        for layers, number in at["graphs"][stage.entry].items():
            drawing = without_repeated_counts(graph(stage.module, stage.entry, layers=layers))
            data = found["graphs"][number]
            assert [found["nodes"][node][0] for node in data["nodes"]] == [node.id for node in drawing.nodes]
            layout = found["layouts"][data["layout"]]
            assert [tuple(edge[:2]) for edge in layout["edges"]] == drawing.pairs
            sizes = list(zip(layout["boxes"][2::4], layout["boxes"][3::4], strict=True))
            for (width, height), box in zip(sizes, lay_out(drawing).nodes, strict=True):
                assert width >= round(box.width) - 1
                assert height >= round(box.height) - 1
    used = [
        found["graphs"][n]["layout"]
        for item in found["stages"]
        for fn in item["graphs"].values()
        for n in fn.values()
    ]
    assert len(set(used)) == len(found["layouts"]) < len(set(map(str, found["graphs"])))


def test_graphs_that_find_no_room_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_graphs, "MOST_PLACED", 40)
    found = document(_session("layers"))
    assert found["left_out"]
    assert sum(len(layout["boxes"]) // 4 for layout in found["layouts"]) <= 40


def test_shape_variables_have_origins_and_those_of_the_run_values() -> None:
    session = Session.open(TRANSFORMER)
    found = document(session, log_of(session))
    first = found["shapes"][0]["functions"][0]
    assert first["variables"] == [
        ["b", 3, ["x.shape[0]"]],
        ["s", 3, ["x.shape[1]"]],
    ]
    assert any("b = 3 ← x.shape[0]" in line for line in first["lines"])


def test_checks_tell_their_sentences_and_rows() -> None:
    _, found = made("branches")
    rows = [row for item in found["checks"] for part in item["lists"] for row in part["rows"]]
    assert rows
    assert any(sentences for _, _, _, sentences in rows)
    assert all(row >= -1 for _, _, row, _ in rows)


def test_a_stage_that_cannot_be_read_is_shown_as_its_text(tmp_path: Any) -> None:
    from relax_explorer.core.session.build_files import open_build
    from relax_explorer.core.session.recorded import RecordedSession

    good = decoder(1)
    (tmp_path / "00_input.py").write_text(good)
    (tmp_path / "01_Bad.py").write_text(good.replace("R.matmul(", "R.matmul(((", 1))
    (tmp_path / "02_Good.py").write_text(good)
    session = RecordedSession(open_build(tmp_path))
    session.run_all()
    found = document(session)
    assert len(found["stages"]) == len(session.stages)
    wrong = found["stages"][1]
    rows = numbers_of(found["bodies"][wrong["body"]]["rows"])
    lines = (tmp_path / "01_Bad.py").read_text().split("\n")
    assert [plain(found["rows"][row][3]) for row in rows] == lines
    assert {kind for kind, _, _ in pairs_of(found["changes"][wrong["changes"]])} == {0}
    problem = next(
        item for item in found["problems"] if item["stage"] == 1 and "never closed" in item["message"]
    )
    assert "R.matmul(((" in lines[problem["row"]]


def test_kernels_that_changed_are_compared_line_by_line() -> None:
    session, found = made("lowered")
    kinds = found["kinds"]
    changed = 0
    for data in found["stages"][1:]:
        for kind, old, new in pairs_of(found["changes"][data["changes"]]) if data["changes"] >= 0 else ():
            rows = numbers_of(found["bodies"][data["body"]]["rows"])
            is_line = new >= 0 and kinds["row"][found["rows"][rows[new]][0]] == "line"
            changed += is_line and old >= 0 and kinds["change"][kind] == "changed"
    assert changed
    assert any(isinstance(fn, PrimFunc) for fn in session.stages[-1].module.functions.values())


def test_documents_are_the_same_each_time() -> None:
    texts = {json.dumps(document(Session(load(TRANSFORMER), "default"), title="x")) for _ in range(2)}
    assert len(texts) == 1


KERNEL = """@I.ir_module
class M:
    @T.prim_func
    def k(a: T.handle, b: T.handle):
        n = T.int64()
        m = T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.sblock("b"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] * T.float32(0.5)
"""


def test_the_lines_of_a_kernel_with_declared_lengths_have_one_partner_each() -> None:
    """A difference declares lengths below the signature, where the program has declared them once for all."""
    first = Session(parse(KERNEL), "")
    first.run_all()
    changed = KERNEL.replace("* T.float32(0.5)", "+ T.float32(1.5)").replace('T.sblock("b")', 'T.sblock("c")')
    session = first.with_text(
        0, changed.replace("def k(a: T.handle,", "def k(c: T.handle,").replace("(a,", "(c,")
    )
    session.run_all()
    found = json.loads(json.dumps(document(session)))
    rows = [numbers_of(body["rows"]) for body in found["bodies"]]
    pairs = list(pairs_of(found["changes"][0]))
    assert [new for _, _, new in pairs if new >= 0] == list(range(len(rows[1])))
    old = [old for _, old, _ in pairs if old >= 0]
    assert sorted(old) == list(range(len(rows[0])))
    kinds = found["kinds"]["change"]
    words = {plain(found["rows"][rows[1][new]][3]).strip(): kinds[kind] for kind, _, new in pairs if new >= 0}
    assert [word for text, word in words.items() if "] = A[" in text or 'sblock("c"' in text] == [
        "changed",
        "changed",
    ]
    assert {word for text, word in words.items() if "remap" in text or "T.grid" in text} == {"same"}


def test_checks_and_costs_of_each_stage_are_told_unless_the_page_would_grow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = open_session(str(CORPUS / "mlp"), None)
    changed = [stage.number for stage in opened.stages if stage.changed or not stage.number]
    found = document(opened)
    cost = found["cost"]
    assert isinstance(cost, dict)
    assert [part["stage"] for part in cost["parts"]] == changed
    assert [item["stage"] for item in found["checks"]] == changed  # type: ignore[index, attr-defined]  # plain data
    for part in cost["parts"]:
        module = opened.stages[part["stage"]].module
        bindings = sum(len(block.bindings) for block in module.relax_functions["forward"].body.blocks)
        assert len(part["rows"]) == bindings + 1
    monkeypatch.setattr(page_document, "MOST_TOLD", 10)
    small = document(opened)["cost"]
    assert isinstance(small, dict)
    assert [part["stage"] for part in small["parts"]] == [0, changed[-1]]
    assert small["table"] == cost["table"]


def test_graphs_have_paints_with_a_look_for_each_node() -> None:
    found = document(open_session(str(CORPUS / "mlp"), None))
    graphs = found["graphs"]
    assert isinstance(graphs, list)
    titles = [[paint["title"] for paint in graph["paints"]] for graph in graphs]
    assert titles[0] == ["FLOPs", "bytes moved", "memory held"]
    assert titles[-1] == ["storages", "FLOPs", "bytes moved", "memory held"]
    for drawn in graphs:
        for paint in drawn["paints"]:
            assert len(paint["looks"]) == len(drawn["nodes"])
            assert -1 <= min(paint["looks"]) <= max(paint["looks"]) < len(paint["legend"])
            assert len(paint["texts"]) in (0, len(drawn["nodes"]))
