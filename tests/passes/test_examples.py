"""The examples of passes: each pass has one, which it changes, and its page shows it."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.passes.contract import Pass
from relax_explorer.core.passes.examples import _cases, changed_text, example
from relax_explorer.core.passes.pipeline import steps
from relax_explorer.viz.explanations import page_of

IDLE = "RewriteCUDAGraph"  # it changes no program here
NAMES = [name for name in passes.names() if name in passes.own() and name != IDLE]


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_changes_its_example(name: str) -> None:
    shown = example(passes.get(name))
    assert shown is not None
    assert shown.step.of.name == name
    before = shown.before
    after = shown.after(before)
    assert after is not before
    assert (rxe.normalize(before) is before) is (name != "Normalize")
    assert rxe.well_formed(before) is (name != "NormalizeGlobalVar"), "this one repairs the program"
    profile = "tvm" if name == "RunCodegen" else "spec"  # a packed function that fills memory is not pure
    assert rxe.well_formed(after, profile=profile), rxe.check(after)[0]
    both = changed_text(before, after), changed_text(after, before)
    assert all("def " in text for text in both)
    assert len("".join(both).splitlines()) < 70, "an example is short"
    assert f"{changed_text(after, before).splitlines()[-1].strip()}\n" in page_of(name) + "\n"


def test_each_pass_has_one_example() -> None:
    last = [steps(heading)[-1].of.name for heading, _ in _cases()]
    assert sorted(last) == sorted(NAMES)
    assert example(passes.get(IDLE)) is None
    assert "Example" not in page_of(IDLE)


def test_kernels_are_cut_and_what_stays_is_left_out() -> None:
    page = page_of("FuseTIR")
    before, after = page[page.index("Example, before:") :].split("After:")
    assert before.count("def ") == 4  # the function with its two kernels, and main
    assert after.count("def ") == 2
    assert after.count("    ...\n") == 1
    assert "T.axis" not in page
    assert page_of("AnnotateTIROpPattern").count('"op_pattern": ') == 2
    assert "Example of BindSymbolicVars{binding_map='n=2'}, before:" in page_of("BindSymbolicVars")


def test_a_pass_from_elsewhere_brings_its_own_example(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "@R.function\ndef main(x: R.Tensor((2,))):\n    with R.dataflow():\n        y = R.exp(x)\n        R.output(y)\n    return y\n"
    mine = Pass("Mine", passes.get("ToNonDataflow").run, False, example=text)
    shown = example(mine)
    assert shown is not None
    assert "R.dataflow" in changed_text(shown.before, shown.after(shown.before))
    assert "R.dataflow" not in changed_text(shown.after(shown.before), shown.before)
    assert example(Pass("Other", mine.run, False)) is None


@pytest.mark.parametrize(("text", "code"), [("@R.function\ndef main(:\n", "RX0005"), ("a = b", "RX")])
def test_an_example_that_fails_leaves_its_reason_on_the_page(text: str, code: str) -> None:
    mine = Pass("Mine", passes.get("ToNonDataflow").run, False, example=text)
    passes.register(mine)
    try:
        page = page_of("Mine")
    finally:
        passes.unregister("Mine")
    assert f"Example: it fails with {code}" in page
