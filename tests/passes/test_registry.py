"""The table of passes, and the phases that a module reaches through them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.passes.decl import Pass, PassSite, function_pass
from relax_explorer.core.passes.pipeline import steps
from relax_explorer.core.passes.properties import phase


def test_every_file_with_a_pass_is_listed() -> None:
    files = {path.stem for path in Path(passes.__file__).parent.glob("*.py")} - {"__init__"}
    found = {
        file: value.name
        for file in files
        for value in vars(import_module(f"{passes.__name__}.{file}")).values()
        if isinstance(value, Pass)
    }
    assert set(found) == set(passes.FILES)
    assert set(found.values()) == set(passes.names())


def test_the_pipelines_by_name() -> None:
    simplify = ["CanonicalizeBindings", "EliminateCommonSubexpr", "FoldConstant", "DeadCodeElimination"]
    assert [step.of.name for step in steps("simplify")] == simplify
    assert [step.of.name for step in steps("default")] == [*simplify, "LegalizeOps", "ToNonDataflow"]


def test_a_pass_of_a_function_is_run_on_each() -> None:
    seen = []

    @function_pass("Look")
    def look(fn: object, at: PassSite) -> object:
        """Change nothing."""
        seen.append(at.function)
        return fn

    module = rxe.normalize(rxe.parse(PROGRAM))
    assert look.apply(module)[0] is module
    assert seen == ["main"]


PROGRAM = """
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = R.add(x, x)
        z = R.exp(y)
        R.output(z)
    return z
"""


@pytest.mark.parametrize(
    ("pipeline", "wanted"),
    [
        ((), "normal"),
        (("ToNonDataflow",), "normal"),
        (("LegalizeOps",), "legalized"),
        (("LegalizeOps", "ToNonDataflow"), "lowered"),
        (("default",), "lowered"),
    ],
)
def test_the_phase_of_a_module(pipeline: tuple[str, ...], wanted: str) -> None:
    module = rxe.run_pipeline(rxe.normalize(rxe.parse(PROGRAM)), pipeline)
    assert phase(module).name == wanted


def test_the_phase_of_what_was_only_read() -> None:
    nested = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    return R.exp(R.exp(x))\n'
    assert phase(rxe.parse(nested)).name == "parsed"


def test_a_function_of_the_name_of_an_operator_is_none() -> None:
    text = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")):
    y = R.call_packed("relax.add", x, sinfo_args=R.Tensor((2,), "float32"))
    return y
"""
    assert phase(rxe.normalize(rxe.parse(text))).name == "lowered"
