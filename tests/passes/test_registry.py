"""The table of passes, and the phases that a module reaches through them."""

from __future__ import annotations

from dataclasses import replace as with_fields
from importlib import import_module
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.contract import Pass, PassSite, function_pass, module_pass
from relax_explorer.core.passes.pipeline import Step, run_step, steps
from relax_explorer.core.phases.module_properties import (
    CANONICAL_BINDINGS,
    NO_DATAFLOW,
    NO_HIGH_LEVEL_OPS,
    NORMALIZED,
    PROPERTIES,
    WELL_FORMED,
    Property,
)
from relax_explorer.core.phases.phases import phase


def test_every_pass_in_a_file_is_listed() -> None:
    files = {path.stem for path in Path(passes.__file__).parent.glob("*.py")} - {"__init__"}
    found = {
        function: value.name
        for file in files
        for function, value in vars(import_module(f"{passes.__name__}.{file}")).items()
        if isinstance(value, Pass)
    }
    assert set(found) == set(passes.FUNCTIONS)
    assert list(map(found.__getitem__, passes.FUNCTIONS)) == list(passes.own())


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
        ((), "high"),
        (("ToNonDataflow",), "high"),
        (("LegalizeOps",), "legalized"),
        (("LegalizeOps", "ToNonDataflow"), "non-dataflow"),
        (("default",), "non-dataflow"),
        (("LegalizeOps", "ToNonDataflow", "RemovePurityChecking"), "non-dataflow"),
        (("LegalizeOps", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite"), "lowered"),
        (("default_build",), "vm"),
    ],
)
def test_the_phase_of_a_module(pipeline: tuple[str, ...], wanted: str) -> None:
    module = rxe.run_pipeline(rxe.normalize(rxe.parse(PROGRAM)), pipeline)
    assert phase(module) == wanted


def test_the_phase_of_what_was_only_read() -> None:
    nested = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    return R.exp(R.exp(x))\n'
    assert phase(rxe.parse(nested)) == "parsed"


def test_a_function_of_the_name_of_an_operator_is_none() -> None:
    text = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")):
    y = R.call_packed("relax.add", x, sinfo_args=R.Tensor((2,), "float32"))
    return y
"""
    assert phase(rxe.normalize(rxe.parse(text))) == "vm"


TWO = """
@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def kernel(A: T.Buffer((2,), "float32")):
        A[0] = T.float32(1)
    @R.function
    def f(x: R.Tensor((2,), "float32")):
        a = R.exp(x)
        b = R.sin(a)
        c = R.cos(b)
        return c
    @R.function
    def g(x: R.Tensor((2,), "float32")):
        a = R.exp(x)
        return a
"""


def test_a_pass_that_is_declared_gets_each_relax_function() -> None:
    seen: list[str] = []

    @function_pass("Look")
    def look(fn: e.Function, at: PassSite, *, deep: bool = False) -> e.Function:
        """Look at a function."""
        assert fn is at.module[at.function]
        seen.append(at.function)
        return fn

    @module_pass("LookAtAll")
    def look_at_all(module: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        """Look at the module."""
        seen.append(", ".join(module.functions))
        return module

    module = rxe.normalize(rxe.parse(TWO))
    assert look.apply(module, {"deep": True})[0] is module
    assert look_at_all.apply(module)[0] is module
    assert seen == ["f", "g", "kernel, f, g"]
    assert [option.name for option in look.options] == ["deep"]


def test_a_pass_is_described_by_its_docstring() -> None:
    @function_pass("Silent")
    def silent(fn: e.Function, at: PassSite) -> e.Function:
        return fn

    assert silent.doc == ""
    for name in passes.names():
        assert passes.get(name).doc.splitlines()[0].endswith("."), name


CLAIMED = """
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        same = x
        unused = R.sin(same)
        y = R.exp(same)
        R.output(y)
    return y
"""


@pytest.mark.parametrize(
    ("wanted", "place"), [(CANONICAL_BINDINGS, "same"), (NO_HIGH_LEVEL_OPS, "y"), (NO_DATAFLOW, "")]
)
def test_what_a_pass_claims_is_looked_at_after_it(wanted: Property, place: str) -> None:
    claiming = with_fields(passes.get("DeadCodeElimination"), establishes=(wanted,))
    outcome = run_step(Step(claiming), rxe.normalize(rxe.parse(CLAIMED)))
    (problem,) = outcome.problems
    assert problem.code.id == "RX0403"
    assert wanted.name in problem.message
    found = problem.labels[0].place
    if place:
        assert found.var.name == place
    else:
        assert type(found) is e.DataflowBlock


@pytest.mark.parametrize(
    "around",
    [
        "    if c:\n{}        z = y\n    else:\n        z = x\n    return z\n",
        '    @R.function\n    def g(w: R.Tensor((2,), "float32")):\n{}        return y\n    z = g(x)\n    return z\n',
    ],
    ids=["branch", "nested function"],
)
def test_a_dataflow_block_inside_is_seen(around: str) -> None:
    inside = "        with R.dataflow():\n            y = R.exp(x)\n            R.output(y)\n"
    head = '@R.function\ndef main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):\n'
    module = rxe.normalize(rxe.parse(head + around.format(inside)))
    assert not NO_DATAFLOW.holds(module)
    assert NO_DATAFLOW.holds(rxe.apply_pass(module, "ToNonDataflow"))


def test_the_place_that_breaks_a_rule_of_the_language_is_named() -> None:
    module = rxe.normalize(rxe.parse(TWO))
    fn = module["f"]
    first, _, last = fn.body.blocks[0].bindings
    block = replace(fn.body.blocks[0], bindings=(first, last))
    broken = module.having({**module.functions, "f": replace(fn, body=replace(fn.body, blocks=(block,)))})
    found = WELL_FORMED.violation(broken)
    assert found is not None
    assert found[0] is last
    assert "'b'" in found[1]


def test_the_binding_that_is_not_derived_is_named() -> None:
    module = rxe.normalize(rxe.parse(TWO))
    fn = module["f"]
    first, old, last = fn.body.blocks[0].bindings
    wrong = replace(old, value=replace(old.value, struct_info=s.OBJECT))
    block = replace(fn.body.blocks[0], bindings=(first, wrong, last))
    broken = module.having({**module.functions, "f": replace(fn, body=replace(fn.body, blocks=(block,)))})
    found = NORMALIZED.violation(broken)
    assert found is not None
    assert found[0] is wrong
    assert NORMALIZED.violation(module) is None


@pytest.mark.parametrize("name", ["ConvertToDataflow", "ToNonDataflow"])
def test_a_pass_that_moves_bindings_says_which_became_which(name: str) -> None:
    before = rxe.normalize(rxe.parse(TWO if name == "ConvertToDataflow" else PROGRAM))
    outcome = run_step(steps(name)[0], before)
    old, new = (
        [b for fn in m.relax_functions.values() for b in bindings(fn)] for m in (before, outcome.module)
    )
    moved = [(a, b) for a, b in zip(old, new, strict=True) if a is not b]
    assert moved
    assert [(*item.before, *item.after) for item in outcome.rewrites] == moved


def test_a_pass_of_a_program_is_registered_and_taken_out_again() -> None:
    @function_pass("Mine")
    def mine(fn: e.Function, at: PassSite, *, deep=False) -> e.Function:  # type: ignore[no-untyped-def]
        """Change nothing."""
        return fn

    assert rxe.passes.register(mine) is mine
    try:
        assert passes.names()[-1] == "Mine"
        assert passes.get("Mine") is mine
        assert (mine.options[0].kind, mine.options[0].default) == ("bool", False)
        assert steps("Mine{deep=True}")[0].options == {"deep": True}
        with pytest.raises(ValueError, match="already"):
            rxe.passes.register(mine)
    finally:
        rxe.passes.unregister("Mine")
    assert "Mine" not in passes.names()
    for name in ("Mine", "LegalizeOps"):
        with pytest.raises(KeyError):
            rxe.passes.unregister(name)


@pytest.mark.parametrize("name", ["LegalizeOps", "VMBuiltinLower", "zero", "two words", ""])
def test_a_name_that_is_taken_or_none_is_refused(name: str) -> None:
    @function_pass(name)
    def mine(fn: e.Function, at: PassSite) -> e.Function:
        """Change nothing."""
        return fn

    with pytest.raises(ValueError, match=r"already|not a valid"):
        rxe.passes.register(mine)


def test_what_is_no_pass_is_refused() -> None:
    @function_pass("Silent")
    def silent(fn: e.Function, at: PassSite) -> e.Function:
        return fn

    @function_pass("Odd")
    def odd(fn: e.Function, at: PassSite, *, needed: str) -> e.Function:
        """Have an option without a default."""
        return fn

    for wrong, reason in ((silent, "docstring"), (odd, "'needed'"), (steps, "no pass")):
        with pytest.raises(ValueError, match=reason):
            rxe.passes.register(wrong)


def test_properties_name_the_passes_that_establish_them() -> None:
    """The check of a claim tells them; it lies below the passes, and can't ask."""
    registry = rxe.passes
    assert {q.name: sorted(q.made_by) for q in PROPERTIES} == {
        q.name: sorted(registry.makers(q.name)) for q in PROPERTIES
    }
