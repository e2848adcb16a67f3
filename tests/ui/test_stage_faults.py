"""Every stage of the recorded builds, in Passes and as a graph: lines fill the width, frames close, and `--ascii` draws ASCII only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.stage_faults import faults
from tests.ui.stage_sheets import pictures

CORPUS = Path(__file__).parents[1] / "data" / "corpus"
WALKS = (
    ("mlp", (80, 24), "ascii"), ("resnet_block", (120, 40), "ascii"), ("diffusion", (140, 40), "dark"), ("llama", (80, 24), "mono"),
    ("bert_layer", (200, 50), "light"),
)  # fmt: skip


@pytest.mark.parametrize(("build", "size", "look"), WALKS)
async def test_nothing_is_cut_or_runs_over(build: str, size: tuple[int, int], look: str) -> None:
    seen = set()
    found = []
    async for screen, stage, text, _ in pictures(str(CORPUS / build), size, look):
        seen.add((screen, stage))
        wrong = faults(text, size[0], is_ascii=look == "ascii", is_graph=screen == "graph")
        found += [(screen, stage, fault) for fault in wrong]
    assert len(seen) >= 10  # the walk comes to the end
    assert found == []


def test_faults_are_seen() -> None:
    frame = "╭──╮\n│ab│\n╰──╯"
    assert list(faults(frame, 4)) == []
    assert len(list(faults(frame.replace("ab", "abc"), 4))) == 1
    assert len(list(faults(frame.replace("╮", "─"), 4))) == 1
    assert list(faults("    \n    ", 4)) == ["nearly nothing is shown"]
    assert len(list(faults("+--+\n|≈~|\n|ab|\n|cd|", 4, is_ascii=True))) == 1
