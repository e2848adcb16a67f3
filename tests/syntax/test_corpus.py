"""Every program printed by TVM parses, prints, and reads back as the same structure, in both dialects."""

from __future__ import annotations

from pathlib import Path

import pytest

import relax_explorer as rxe
from tests.support.roundtrip import SAMPLES, STAGES, module, stage_id


@pytest.mark.parametrize("path", [*STAGES, *SAMPLES], ids=stage_id)
def test_print_reads_back(path: Path) -> None:
    first = module(path)
    text = first.script()
    again = rxe.parse(text)
    assert rxe.structural_equal(again, first)
    assert again.script() == text
    assert rxe.structural_hash(again) == rxe.structural_hash(first)


@pytest.mark.parametrize("path", [*STAGES, *SAMPLES], ids=stage_id)
def test_the_older_dialect_reads_back(path: Path) -> None:
    first = module(path)
    assert rxe.structural_equal(rxe.parse(first.script("tvm-0.19")), first)


@pytest.mark.parametrize("model", ["llama", "mlp"])
def test_the_input_prints_as_tvm_printed_it(model: str) -> None:
    path = next(p for p in STAGES if p.parent.name == model and p.name.startswith("00"))
    assert module(path).script().strip() == path.read_text().strip()


def test_normalizing_twice_changes_nothing() -> None:
    for path in SAMPLES:
        once = rxe.normalize(module(path))
        assert rxe.normalize(once) is once
