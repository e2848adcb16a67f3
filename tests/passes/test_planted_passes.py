"""Passes with a planted mistake: verification after each pass blames the right pass and the right binding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import map_sequences
from relax_explorer.core.passes.contract import Pass, PassSite, function_pass, module_pass
from relax_explorer.core.passes.pipeline import Step, run, run_step, steps
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import holding

HEAD = 'x: R.Tensor((2,), "float32"), u: R.Tensor("float32"), c: R.Tensor((), "bool")'
PRINTS = 'R.print(x, format="first")\nR.print(x, format="second")'
CHECK = 'y = R.match_cast(u, R.Tensor((2,), "float32"))'
TYPED = "y = R.exp(x)"
OUTPUT = "with R.dataflow():\n    lv = R.exp(x)\n    y = lv\n    R.output(y)"


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def plain(lines: str) -> str:
    return f"{lines}\nreturn x"


def through_an_alias(lines: str) -> str:
    return f"k = u\nx1 = x\n{lines.replace('(u,', '(k,').replace('(x', '(x1')}\nt = (x1, k)\nreturn t[0]"


def in_a_branch(lines: str) -> str:
    return f"if c:\n{indented(lines)}    r = R.sin(x)\nelse:\n    r = R.cos(x)\nreturn r"


def in_a_nested_function(lines: str) -> str:
    result = 'R.Tensor((2,), "float32")'
    return f"@R.function(pure=False)\ndef g({HEAD}) -> {result}:\n{indented(lines)}    return x\nr = g(x, u, c)\nreturn r"


def behind_another_effect(lines: str) -> str:
    return f'R.print(x, format="before")\n{lines}\nz = R.call_packed("f", x)\nreturn x'


PLACES: dict[str, Callable[[str], str]] = {
    "plain": plain,
    "through an alias": through_an_alias,
    "in a branch": in_a_branch,
    "in a nested function": in_a_nested_function,
    "behind another effect": behind_another_effect,
}


def program(lines: str, second: bool = False) -> rxe.IRModule:
    """A module with these lines in its function; with `second` in the second of two."""
    first = f"@R.function\ndef first({HEAD}):\n    a = R.exp(x)\n    return a\n" if second else ""
    function = f"@R.function(pure=False)\ndef main({HEAD}):\n{indented(lines)}"
    return rxe.normalize(rxe.parse(f"@I.ir_module\nclass M:\n{indented(first + function)}"))


def rewriting(name: str, change: Callable[[Rewriter, e.Binding], Answer]) -> Pass:
    """A pass that rewrites, and records what it does."""

    @function_pass(name)
    def planted(fn: e.Function, at: PassSite) -> e.Function:
        """Make a mistake."""
        return rewrite(fn, at, change)

    return planted


def rebuilding(name: str, change: Callable[[tuple[e.Binding, ...]], tuple[e.Binding, ...]]) -> Pass:
    """A pass that builds new blocks by hand, and records nothing."""

    def inside(seq: e.SeqExpr) -> e.SeqExpr:
        blocks = [
            replace(block, bindings=change(tuple([map_sequences(b, inside) for b in block.bindings])))
            for block in seq.blocks
        ]
        return replace(seq, blocks=tuple(blocks))

    @function_pass(name)
    def planted(fn: e.Function, at: PassSite) -> e.Function:
        """Make a mistake."""
        return replace(fn, body=inside(fn.body))

    return planted


def is_y(binding: e.Binding) -> bool:
    return binding.var is not None and binding.var.name == "y"


def drop_y(walk: Rewriter, binding: e.Binding) -> Answer:
    return () if type(binding) is e.MatchCast and is_y(binding) else binding


def drop_print(walk: Rewriter, binding: e.Binding) -> Answer:
    return () if "second" in str(getattr(binding.value, "attrs", {}).get("format", "")) else binding


def forget_type(walk: Rewriter, binding: e.Binding) -> Answer:
    if not is_y(binding):
        return binding
    assert binding.var is not None
    return replace(binding, var=e.Var(binding.var.name, s.OBJECT))


def write_a_wrong_type(walk: Rewriter, binding: e.Binding) -> Answer:
    """A new value has a type that its operator does not give."""
    if not is_y(binding):
        return binding
    value = replace(binding.value, op=e.op_ref("relax.shape_of"), struct_info=s.OBJECT)
    return binding, e.VarBinding(e.Var("wrong", s.OBJECT, value.span), value)


def leak(walk: Rewriter, binding: e.Binding) -> Answer:
    """Drop the copy that brings a value out of its dataflow block."""
    if not (is_y(binding) and type(binding.value) is e.DataflowVar and binding.var is not None):
        return binding
    walk.rename(binding.var, binding.value)
    return ()


def swap_prints(found: tuple[e.Binding, ...]) -> tuple[e.Binding, ...]:
    prints = [
        n for n, b in enumerate(found) if getattr(getattr(b.value, "op", None), "name", "") == "relax.print"
    ]
    if len(prints) < 2:
        return found
    a, b = prints[-2:]
    return (*found[:a], found[b], *found[a + 1 : b], found[a], *found[b + 1 :])


def copied(found: tuple[e.Binding, ...]) -> tuple[e.Binding, ...]:
    """The same, with other objects: even so the mistake is found."""
    return tuple(
        [
            replace(b, span=None) if getattr(getattr(b.value, "op", None), "name", "") == "relax.print" else b
            for b in swap_prints(found)
        ]
    )


BUGS: dict[str, tuple[str, Pass, str, str]] = {
    "drops a check": (CHECK, rewriting("DropsACheck", drop_y), "y", "the check of 'y' is gone"),
    "drops a check by hand": (
        CHECK, rebuilding("DropsByHand", lambda found: tuple(b for b in found if type(b) is not e.MatchCast)),
        "y", "the check of 'y' is gone",
    ),
    "drops a print": (PRINTS, rewriting("DropsAPrint", drop_print), "", "the effect print 'second' is gone"),
    "reorders prints": (
        PRINTS, rebuilding("SwapsPrints", swap_prints), "", "print 'second' comes before the effect print 'first' now",
    ),
    "reorders copied prints": (
        PRINTS, rebuilding("SwapsCopies", copied), "", "print 'second' comes before the effect print 'first' now",
    ),
    "writes a wrong type": (TYPED, rewriting("WritesAType", write_a_wrong_type), "wrong", "NORMALIZED does not hold"),
}  # fmt: skip


def blamed(bug: Pass, module: rxe.IRModule) -> dict[str, list[Diagnostic]]:
    """The errors of each step of a pipeline with a planted pass in its middle."""
    pipeline = [*steps("CanonicalizeBindings"), Step(bug), *steps("LegalizeOps,ToNonDataflow")]
    outcomes = list(run(module, pipeline, holding(module)))
    assert all(outcome.failure is None for outcome in outcomes)
    return {o.step.of.name: [p for p in o.problems if p.is_error] for o in outcomes}


def var_of(place: Any) -> str:
    return place.var.name if getattr(place, "var", None) is not None else ""


@pytest.mark.parametrize("second", [False, True], ids=["first function", "second function"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", BUGS)
def test_the_pass_and_the_binding_are_blamed(kind: str, place: str, second: bool) -> None:
    lines, bug, var, text = BUGS[kind]
    found = blamed(bug, program(PLACES[place](lines), second))
    (problem,) = [item for item in found[bug.name] if text in item.message]
    assert problem.code.id == "RX0403"
    assert problem.origin == bug.name
    assert not var or var_of(problem.labels[0].place) == var
    if "reorders" in kind:
        assert problem.labels[0].place.value.attrs["format"] == "second"
    assert not found["CanonicalizeBindings"]
    assert not [p for name in ("LegalizeOps", "ToNonDataflow") for p in found[name] if "is gone" in p.message]


@pytest.mark.parametrize("second", [False, True], ids=["first function", "second function"])
@pytest.mark.parametrize("place", PLACES)
def test_a_forgotten_type_is_derived_again(place: str, second: bool) -> None:
    module = program(PLACES[place](TYPED), second)
    outcome = run_step(Step(rewriting("ForgetsAType", forget_type)), module, held=holding(module))
    assert not [item for item in outcome.problems if item.is_error]
    assert outcome.module.script() == module.script()


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("place", ["R.sin(y)", "(y, x)", "y"])
def test_a_leaked_dataflow_variable_is_blamed(place: str, second: bool) -> None:
    bug = rewriting("Leaks", leak)
    module = program(f"{OUTPUT}\nr = {place}\nreturn r", second)
    outcome = next(run(module, [Step(bug)], holding(module)))
    problem = next(p for p in outcome.problems if p.is_error)
    assert "WELL_FORMED does not hold" in problem.message
    assert "'lv'" in problem.message
    assert problem.origin == "Leaks"


def test_checks_of_dataflow_blocks_may_go() -> None:
    lines = f"with R.dataflow():\n    {CHECK}\n    z = R.exp(x)\n    R.output(z)\nreturn z"
    assert not blamed(BUGS["drops a check"][1], program(lines))["DropsACheck"]


def test_checks_that_cannot_fail_may_go() -> None:
    lines = 'n = T.int64()\ny = R.match_cast(x, R.Tensor((n,), "float32"))\nreturn x'
    module = program(lines)
    outcome = next(run(module, [Step(BUGS["drops a check"][1])], holding(module)))
    assert outcome.changed
    assert not outcome.problems


def test_equal_effects_are_told_apart() -> None:
    module = program('R.print(x, format="same")\nR.print(u, format="same")\nreturn x')
    outcome = next(run(module, [Step(BUGS["reorders prints"][1])], holding(module)))
    (problem,) = outcome.problems
    assert problem.labels[0].place.value.args[0].name == "u"


def test_a_pass_that_is_asked_to_drop_checks_may() -> None:
    outcome = next(run(program(plain(CHECK)), steps('ElideChecks{errors="drop"}')))
    assert outcome.changed
    assert not outcome.problems


def test_functions_that_nothing_calls_may_go_with_their_effects() -> None:
    private = '@R.function(pure=False, private=True)\ndef unused(x: R.Object):\n    R.print(x, format="gone")\n    return x\n'
    called = private.replace("unused", "called").replace("gone", "kept")
    main = "@R.function(pure=False)\ndef main(x: R.Object):\n    r = M.called(x)\n    return r\n"
    module = rxe.normalize(rxe.parse(f"@I.ir_module\nclass M:\n{indented(private + called + main)}"))
    for outcome in run(module, steps("DeadCodeElimination,InlinePrivateFunctions"), holding(module)):
        assert outcome.changed
        assert not [p for p in outcome.problems if p.is_error]


def test_a_function_that_is_called_and_goes_loses_its_effects() -> None:
    called = '@R.function(pure=False, private=True)\ndef called(x: R.Object):\n    R.print(x, format="lost")\n    return x\n'
    main = "@R.function(pure=False)\ndef main(x: R.Object):\n    r = M.called(x)\n    return r\n"
    module = rxe.normalize(rxe.parse(f"@I.ir_module\nclass M:\n{indented(called + main)}"))

    def change(walk: Rewriter, binding: e.Binding) -> Answer:
        if walk.at.function == "main":
            walk.at.editor.remove("called")
        call = isinstance(binding.value, e.Call) and type(binding.value.op) is e.GlobalVar
        return e.VarBinding(binding.var, binding.value.args[0]) if call else binding  # type: ignore[union-attr]

    outcome = next(run(module, [Step(rewriting("LosesAFunction", change))], holding(module)))
    assert any("print 'lost' is gone" in p.message for p in outcome.problems)


def test_an_effect_of_a_closure_that_nothing_reads_may_go() -> None:
    text = """
@I.ir_module
class M:
    @R.function(private=True, pure=False)
    def talks(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        _ = R.print(x, format="")
        return x
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        dead = R.make_closure(M.talks, R.tuple())
        return x
"""
    module = rxe.normalize(rxe.parse(text))
    outcome = run_step(steps("DeadCodeElimination")[0], module, verify=True)
    assert set(outcome.module.functions) == {"main"}
    assert not outcome.problems


@pytest.mark.parametrize("block", ["R.dataflow", ""])
def test_a_pass_may_drop_a_check_of_a_dataflow_block_and_what_only_that_reads(block: str) -> None:
    lines = f"a = M.f(u)\nb = R.match_cast(a, R.Tensor((2,), 'float32'))\n{'d = R.sin(x)' if block else ''}"
    body = f"with {block}():\n{indented(lines + chr(10) + 'R.output(d)')}" if block else lines
    text = f"""@R.function(private=True)
def f(u: R.Tensor("float32")) -> R.Tensor("float32"):
    q = R.match_cast(u, R.Tensor((2,), "float32"))
    return u
@R.function
def main({HEAD}):
{indented(body)}    return x
"""
    before = rxe.normalize(rxe.parse(f"@I.ir_module\nclass M:\n{indented(text)}"))

    @module_pass("Dropping")
    def dropping(module: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        """Drop everything that nothing reads."""
        fn = module.relax_functions["main"]
        at.editor.replace("main", replace(fn, body=replace(fn.body, blocks=())))
        at.editor.remove("f")
        return at.editor.done()

    outcome = run_step(Step(dropping, {}), before, verify=True)
    assert (not outcome.problems) is bool(block)


def lose_rank(walk: Rewriter, binding: e.Binding) -> Answer:
    """Make a value less precise, and leave the annotation of what reads it as it was."""
    if binding.var is None or binding.var.name != "k":
        return binding
    walk.rename(binding.var, walk.given(binding.var) and e.var_like(binding.var, s.OBJECT))
    return replace(binding, var=walk.now(binding.var), annotation=s.OBJECT)


@pytest.mark.parametrize("place", [name for name in PLACES if name != "through an alias"])
@pytest.mark.parametrize("second", [False, True])
def test_an_annotation_that_its_value_does_not_bear_out_is_blamed(place: str, second: bool) -> None:
    typed = 'R.Tensor((2,), "float32")'
    module = program(PLACES[place](f"k = R.exp(x)\ny: R.Tuple({typed}, {typed}) = (k, x)"), second)
    outcome = run_step(Step(rewriting("LosesRank", lose_rank)), module, held=holding(module))
    (blamed,) = [item for item in outcome.problems if "only a match_cast may claim" in item.message]
    assert (blamed.code.id, blamed.origin) == ("RX0403", "LosesRank")
    place_of = blamed.primary.place if blamed.primary else None
    assert isinstance(place_of, e.VarBinding)
    assert place_of.var.name == "y"


def wrong_operand(walk: Rewriter, binding: e.Binding) -> Answer:
    """Make a sum of a tensor and a shape."""
    if type(binding.value) is not e.Call or binding.value.op is not e.op_ref("relax.add"):
        return binding
    return replace(binding, value=replace(binding.value, args=(binding.value.args[0], m.shape(()))))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("second", [False, True])
def test_an_operand_that_its_operator_refuses_is_blamed(place: str, second: bool) -> None:
    @function_pass("Mixes")
    def mixes(fn: e.Function, at: PassSite) -> e.Function:
        """Change an operand."""
        return rewrite(fn, at, wrong_operand)

    module = program(PLACES[place]("y = R.add(x, x)"), second)
    outcome = run_step(Step(mixes), module, held=holding(module))
    (blamed,) = [item for item in outcome.problems if item.message.startswith("after Mixes, relax.add: ")]
    assert (blamed.code.id, blamed.origin) == ("RX0403", "Mixes")
    place_of = blamed.primary.place if blamed.primary else None
    assert isinstance(place_of, (e.Call, e.VarBinding))
    assert place_of.span is not None


def test_a_claim_that_was_wrong_before_is_no_mistake_of_a_pass() -> None:
    @function_pass("BuildsAgain")
    def builds_again(fn: e.Function, at: PassSite) -> e.Function:
        """Make new bindings."""
        return rewrite(fn, at, lambda walk, binding: replace(binding, span=None))

    module = program("k: R.Object = R.exp(x)\ny: R.Tensor(ndim=1) = k\nreturn x")
    outcome = run_step(Step(builds_again), module, held=holding(module))
    assert outcome.changed
    assert [str(item) for item in outcome.problems] == []
