"""The pages of both notations: every production of the grammar has an example, and every example is what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.relations.inference import infer_relay
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.propagate import analyse

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES = ("relations-notation", "contracts-notation")
NAMES = ("Doubled", "doubled", "evens")
EXAMPLES = [
    (page, heading, language, text)
    for page in PAGES
    for heading, body in re.findall(r"^###? (.+?)\n(.*?)(?=^##|\Z)", (DOCS / f"{page}.md").read_text(), re.M | re.S)
    for language, text in re.findall(r"^```(relay|shapes)\n(.*?)^```", body, re.M | re.S)
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _own() -> object:
    for page in PAGES:
        for text in re.findall(r"^```python\n(.*?)^```", (DOCS / f"{page}.md").read_text(), re.M | re.S):
            exec(compile(text, page, "exec"), {})
    yield
    for name in NAMES:
        rxe.extensions.forget(name)


@pytest.mark.parametrize("page", PAGES)
def test_every_production_has_an_example(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text()
    productions = re.findall(r"^(\w+) +::=", text, re.M)
    assert len(productions) > 20
    assert [heading for heading in re.findall(r"^### (.+)$", text, re.M)] == productions
    shown = {heading for name, heading, _, _ in EXAMPLES if name == page}
    assert shown >= set(productions)


@pytest.mark.parametrize(
    ("page", "heading", "language", "text"), EXAMPLES, ids=[f"{x[0]}: {x[1]}" for x in EXAMPLES]
)
def test_an_example_is_what_the_page_says(page: str, heading: str, language: str, text: str) -> None:
    said = dict(re.findall(r"^# (?:(\w+) )?=> (.+)$", text, re.M))
    assert said
    if language == "relay":
        typed = infer_relay(text)
        assert not typed.report.errors
        assert {"": str(typed.main)} == said
    else:
        found = analyse(*read_contract(text))
        assert not found.report.errors
        assert {name: found.types[name] for name in said} == said
