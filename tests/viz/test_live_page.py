"""A page whose parts come when they are looked at: they are those of the whole document, whatever the order in which they are asked for."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import pytest

from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.parser import parse
from relax_explorer.viz import live_page
from relax_explorer.viz.live_page import LivePage
from relax_explorer.viz.page_graphs import Graphs
from tests.viz.test_page_document import made
from tests.viz.test_report import log_of

KEYS = ("rows", "graphs", "nodes", "layouts")


class Reader:
    """What a page knows, which asks for parts as its script does."""

    def __init__(self, live: LivePage) -> None:
        self.live, self.known = live, json.loads(json.dumps(live.document()))
        self.parts: dict[str, Any] = {}

    def ask(self, path: str) -> Any:
        found = self.live.part(path, {key: len(self.known[key]) for key in KEYS})
        assert found is not None, path
        found = json.loads(json.dumps(found))
        for key in KEYS:
            self.known[key] += found.get(key, [])
        self.parts[path] = found
        return found

    def texts(self, body: dict[str, Any]) -> list[Any]:
        """The rows of a program."""
        runs = body["rows"]
        numbers = [
            first + n for first, length in zip(runs[::2], runs[1::2], strict=True) for n in range(length)
        ]
        return [self.known["rows"][number] for number in numbers]


def live_of(name: str) -> tuple[Reader, dict[str, Any]]:
    """The reader of a session, and its whole document."""
    session, whole = made(name)
    live = LivePage(session, lambda known: (log_of(known), None))
    live.advance()
    assert live.is_complete
    return Reader(live), whole


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_parts_in_any_order_are_those_of_the_document(seed: int) -> None:
    reader, whole = live_of("broken")
    stages = list(range(len(whole["stages"])))
    order = random.Random(seed).sample(stages, len(stages))
    for stage in order:
        reader.ask(f"stage/{stage}")
        for function in list(reader.parts[f"stage/{stage}"]["stage"]["graphs"]):
            reader.ask(f"graph/{stage}/{function}")
        reader.ask(f"checks/{stage}")
    reference = Reader.__new__(Reader)
    reference.known = whole
    for number, stage in enumerate(whole["stages"]):
        found = reader.parts[f"stage/{number}"]
        assert reader.texts(found["body"]) == reference.texts(whole["bodies"][stage["body"]])
        assert found["body"]["folds"] == whole["bodies"][stage["body"]]["folds"]
        assert found["change"] == (whole["changes"][stage["changes"]] if stage["changes"] >= 0 else None)
        same = ("label", "by", "told", "counts", "phase", "errors", "warnings", "entry")
        assert [found["stage"][key] for key in same] == [stage[key] for key in same]
        for function, numbers in stage["graphs"].items():
            graph = reader.parts[f"graph/{number}/{function}"]["graph"]
            assert set(graph) >= set(numbers)
            for layers, where in numbers.items():
                drawn, own = whole["graphs"][where], reader.known["graphs"][graph[layers]]
                nodes = [[known["nodes"][n] for n in item["nodes"]] for known, item in ((whole, drawn), (reader.known, own))]  # fmt: skip
                assert nodes[0] == nodes[1]
                assert drawn["paints"] == own["paints"]
                assert len(reader.known["layouts"][own["layout"]]["boxes"]) == 4 * len(own["nodes"])
    for checks in whole["checks"]:
        assert reader.parts[f"checks/{checks['stage']}"]["check"] == checks
    assert reader.known["problems"] == whole["problems"]


def test_nothing_is_made_before_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    session, _ = made("broken")
    runs = []

    def run(known: object) -> tuple[None, None]:
        runs.append(known)
        return None, None

    live = LivePage(session, run)
    found = live.document()
    assert [found[key] for key in ("rows", "bodies", "graphs", "run", "cost")] == [[], [], [], None, None]
    drawn = []
    one = Graphs.one

    def noted(own: Graphs, module: IRModule, name: str) -> dict[str, int]:
        drawn.append(name)
        return one(own, module, name)

    monkeypatch.setattr(Graphs, "one", noted)
    live.part("stage/3", {})
    assert (drawn, runs) == ([], [])
    live.part("graph/3/main", {})
    live.part("graph/3/forward", {})
    assert (drawn, runs) == (["forward"], [])
    live.part("run", {})
    live.part("values/0", {})
    assert runs == [session]


def test_a_run_comes_without_its_values_and_these_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_page, "CHUNK", 4)
    reader, _ = live_of("broken")
    run = reader.ask("run")["run"]
    assert not any(step["counts"] or step["lines"] for step in run["steps"])
    assert all(step["text"] for step in run["steps"])
    second = reader.ask("values/1")["values"]
    assert [step["step"] for step in second] == [step["step"] for step in run["steps"][4:8]]
    assert any(step["counts"] for step in second)
    assert reader.ask(f"values/{len(run['steps'])}")["values"] == []


def test_places_that_a_page_has_stay_when_a_longer_text_comes() -> None:
    reader, _ = live_of("broken")
    count = len(reader.parts)
    layouts = []
    for stage in range(len(reader.known["stages"])):
        reader.ask(f"graph/{stage}/forward")
        layouts.append([str(layout) for layout in reader.known["layouts"]])
    assert count == 0
    for before, after in pairwise(layouts):
        assert after[: len(before)] == before


@pytest.mark.parametrize("path", ["", "stage", "stage/99999", "stage/x", "graph/0/none", "nothing/1", "stage/-1", "stage/²"])  # fmt: skip
def test_odd_paths_are_no_parts_or_those_of_the_first_stage(path: str) -> None:
    reader, _ = live_of("broken")
    found = reader.live.part(path, {"rows": 10**9})
    assert (found is None) == (path in ("", "stage/99999", "nothing/1"))


def test_a_graph_with_longer_texts_gets_a_place_of_its_own_once_a_page_has_the_first() -> None:
    text = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    NAME = R.exp(x)\n    return NAME\n'
    short, long = (parse(text.replace("NAME", name)) for name in ("a", "a_name_that_needs_a_much_wider_box"))
    graphs = Graphs()
    first = graphs.one(short, "main")["once"]
    before = str(graphs.data()["layouts"])
    second = graphs.one(long, "main")["once"]
    found = graphs.data()
    assert str(found["layouts"][:1]) == before
    assert [found["graphs"][n]["layout"] for n in (first, second)] == [0, 1]  # type: ignore[index]  # JSON
    again = graphs.one(parse(text.replace("NAME", "b")), "main")["once"]
    assert graphs.data()["graphs"][again]["layout"] in (0, 1)  # type: ignore[index]  # JSON
