"""Passes that lose what is seen outside: verification after the pass names it, with the function or the binding."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.contract import Pass, PassSite, function_pass, module_pass
from relax_explorer.core.passes.pipeline import Step, run, run_step, steps
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases.module_properties import holding

V = 'R.Tensor((4,), "float32")'
TEXT = f"""
@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def own(A: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                v = T.axis.spatial(T.int64(4), i)
                A[v] = A[v] + T.float32(1.0)
    @R.function(private=True, pure=False)
    def pair(p: {V}) -> R.Tuple({V}, {V}):
        R.print(p, format="in pair")
        return (p, p)
    @R.function(private=True, pure=False)
    def outer(p: {V}) -> {V}:
        r = M.pair(p)
        r0 = r[0]
        return r0
    @R.function(pure=False)
    def main(x: {V}, c: R.Tensor((), "bool")):
        R.func_attr({{"num_input": 1, "my.note": "kept"}})
        u = R.call_packed("effect", x, sinfo_args=({V},))
        t = (u, x)
        k = t[1]
        pr = M.pair(k)
        y = pr[1]
        if c:
            again = M.pair(y)
            r = again[0]
        else:
            r = M.outer(y)
        e1 = R.call_pure_packed("f", r, sinfo_args=({V},))
        e2 = R.call_pure_packed("f", r, sinfo_args=(R.Tensor((2,), "float32"),))
        d = R.exp(e1)
        return (d, e2)
    @R.function
    def other(a: R.Tensor(("n",), "float32"), b: R.Tensor(("n",), "float32")):
        z = R.subtract(a, b)
        return z
"""


def module() -> rxe.IRModule:
    return rxe.normalize(rxe.parse(TEXT))


def rewriting(change: Callable[[Rewriter, e.Binding], Answer]) -> Pass:
    @function_pass("Wrong")
    def planted(fn: e.Function, at: PassSite) -> e.Function:
        """Make a mistake."""
        return rewrite(fn, at, change)

    return planted


def editing(change: Callable[[rxe.IRModule, PassSite], None]) -> Pass:
    @module_pass("Wrong")
    def planted(given: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        """Make a mistake."""
        change(given, at)
        return at.editor.done()

    return planted


def problems(bug: Pass, given: rxe.IRModule | None = None) -> list[Diagnostic]:
    """The errors of a step with a planted mistake. No step behind it is blamed."""
    before = given or module()
    outcome, *later = run(before, [Step(bug), *steps("CanonicalizeBindings")], holding(before))
    assert outcome.changed
    assert not [p for each in later for p in each.problems if p.is_error]
    found = [p for p in outcome.problems if p.is_error]
    assert [p.origin for p in found] == ["Wrong"] * len(found)
    return found


def named(binding: e.Binding, name: str) -> bool:
    return binding.var is not None and binding.var.name == name


# -- effects behind fields and calls ---------------------------------------------------------------------------


def test_an_effect_behind_a_field_is_blamed() -> None:
    def change(walk: Rewriter, binding: e.Binding) -> Answer:
        if named(binding, "k"):
            return replace(binding, value=walk.fn.params[0])
        return () if named(binding, "t") or named(binding, "u") else binding

    (problem,) = problems(rewriting(change))
    assert "call of 'effect' is gone" in problem.message
    assert problem.labels[0].place.var.name == "u"


@pytest.mark.parametrize("name", ["pr", "again"])
def test_a_dropped_call_of_a_function_with_effects_is_blamed(name: str) -> None:
    def change(walk: Rewriter, binding: e.Binding) -> Answer:
        if named(binding, name):
            return ()
        is_read = type(binding.value) is e.TupleGetItem and getattr(binding.value.tuple, "name", "") == name
        return replace(binding, value=walk.fn.params[0]) if is_read else binding

    (problem,) = problems(rewriting(change))
    assert "a call of 'pair', which has effects, is gone" in problem.message
    assert problem.labels[0].place.var.name == name


def test_a_call_of_a_function_that_calls_one_with_effects_is_blamed() -> None:
    def change(walk: Rewriter, binding: e.Binding) -> Answer:
        is_outer = type(binding.value) is e.Call and getattr(binding.value.op, "name", "") == "outer"
        return replace(binding, value=walk.fn.params[0]) if is_outer else binding

    found = problems(rewriting(change))
    assert any("a call of 'pair', which has effects, is gone" in p.message for p in found)


def test_a_call_may_become_what_the_function_does() -> None:
    pair = module().relax_functions["pair"]
    (said,) = [b.value for block in pair.body.blocks for b in block.bindings]
    assert isinstance(said, e.Call)

    def change(walk: Rewriter, binding: e.Binding) -> Answer:
        if not named(binding, "pr") or type(binding.value) is not e.Call or type(binding) is not e.VarBinding:
            return binding
        (given,) = binding.value.args
        talk = e.VarBinding(e.Var("talk", said.struct_info), replace(said, args=(given,)))
        return (
            talk,
            replace(binding, value=replace(e.Tuple((given, given)), struct_info=binding.var.struct_info)),
        )

    assert problems(rewriting(change)) == []


def test_an_unread_call_of_a_function_that_promises_purity_may_go() -> None:
    text = f"""
@I.ir_module
class M:
    @R.function(private=True)
    def says(p: {V}) -> {V}:
        R.func_attr({{"relax.force_pure": True}})
        R.print(p, format="said")
        return p
    @R.function
    def main(x: {V}):
        with R.dataflow():
            dead = M.says(x)
            y = M.says(x)
            R.output(y)
        return y
"""
    before = rxe.normalize(rxe.parse(text))
    outcome = run_step(
        Step(rewriting(lambda walk, binding: () if named(binding, "dead") else binding)), before
    )
    assert outcome.changed
    assert not [p for p in outcome.problems if p.is_error]


def test_inlined_calls_keep_their_effects() -> None:
    outcome = run_step(steps("InlinePrivateFunctions")[0], module())
    assert outcome.changed
    assert not [p for p in outcome.problems if p.is_error]


# -- what callers see -------------------------------------------------------------------------------------------


def signed(name: str, change: Callable[[e.Function], e.Function]) -> Pass:
    """Replace a function, whose signature is derived again."""

    def edit(given: rxe.IRModule, at: PassSite) -> None:
        at.editor.replace(name, replace(change(given.relax_functions[name]), struct_info=None))

    return editing(edit)


def without(attrs: Attrs, *names: str) -> Attrs:
    return Attrs({key: value for key, value in attrs.items() if key not in names})


def annotated(text: str) -> e.Function:
    first, second = re.findall(r"(\w+): R.Tensor", text)
    body = f"    z = R.subtract({first}, {second})\n    return z\n"
    return rxe.normalize(rxe.parse(f"@R.function\ndef other({text}):\n{body}")).relax_functions["other"]


NARROW = 'a: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32")'
RENAMED = 'p: R.Tensor(("k",), "float32"), q: R.Tensor(("k",), "float32")'
WIDER = 'a: R.Tensor("float32", ndim=1), b: R.Tensor("float32", ndim=1)'
HALF = NARROW.replace("(3,)", '("n",)').replace("float32", "float16")
CALLERS: dict[str, tuple[Pass, str]] = {
    "drops a parameter": (
        signed("main", lambda fn: replace(fn, params=fn.params[:1])), "main has 1 parameters, it had 2",
    ),
    "swaps parameters": (
        signed("other", lambda fn: replace(fn, params=fn.params[::-1])), "the parameters of other are b, a now; they were a, b",
    ),
    "narrows a parameter": (signed("other", lambda fn: annotated(NARROW)), "other takes a: R.Tensor((3,)"),
    "another dtype": (signed("other", lambda fn: annotated(HALF)), "other takes a: R.Tensor((n,), dtype=\"float16\")"),
    "removes a function": (editing(lambda given, at: at.editor.remove("other")), "global_symbol 'other' any more"),
    "makes a function private": (
        signed("other", lambda fn: replace(fn, attrs=without(fn.attrs, "global_symbol"))), "global_symbol 'other' any more",
    ),
    "loses an attribute": (
        signed("main", lambda fn: replace(fn, attrs=without(fn.attrs, "my.note"))), "the attribute 'my.note' of main is gone: kept",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CALLERS)
def test_what_a_caller_sees_is_blamed(kind: str) -> None:
    bug, text = CALLERS[kind]
    before = module()
    outcome = next(run(before, [Step(bug)], holding(before)))
    found = [p for p in outcome.problems if text in p.message]
    assert len(found) == 1, outcome.problems
    assert found[0].code.id == "RX0403"
    assert found[0].origin == "Wrong"
    assert not [p for p in outcome.problems if "'global_symbol'" in p.message]


def test_functions_that_no_caller_sees_may_change() -> None:
    text = f"""
@I.ir_module
class M:
    @R.function(private=True)
    def twice(p: {V}, unread: {V}) -> {V}:
        r = R.add(p, p)
        return r
    @R.function
    def compiled(p: {V}) -> {V}:
        R.func_attr({{"Codegen": "mine"}})
        r = R.add(p, p)
        return r
    @R.function
    def main(x: {V}):
        y = M.twice(x, x)
        return y
"""
    before = rxe.normalize(rxe.parse(text))
    bug = editing(lambda given, at: at.editor.remove("compiled"))
    for step in (steps("RemoveUnusedParameters")[0], Step(bug)):
        outcome = run_step(step, before)
        assert outcome.changed
        assert not [p for p in outcome.problems if p.is_error]


def test_a_renamed_function_is_blamed() -> None:
    def edit(given: rxe.IRModule, at: PassSite) -> None:
        fn = given.relax_functions["other"]
        at.editor.remove("other")
        at.editor.add("another", replace(fn, attrs=fn.attrs.having(global_symbol="another")))

    (problem,) = problems(editing(edit))
    assert "no function has the global_symbol 'other' any more" in problem.message


@pytest.mark.parametrize("text", [RENAMED, WIDER], ids=["other names", "wider"])
def test_callers_see_no_difference(text: str) -> None:
    before = module()
    bug = signed("other", lambda fn: annotated(text))
    outcome = next(run(before, [Step(bug)], holding(before)))
    assert outcome.changed
    assert not [p for p in outcome.problems if p.is_error]


def test_attributes_that_told_a_pass_what_to_do_may_go() -> None:
    bug = signed("main", lambda fn: replace(fn, attrs=without(fn.attrs, "num_input")))
    outcome = next(run(module(), [Step(bug)]))
    assert not [p for p in outcome.problems if p.is_error]


@pytest.mark.parametrize(
    "text",
    [
        'BindSymbolicVars{binding_map={"n":4},func_name="other"}', "BundleModelParams", "LiftTransformParams",
        'ToMixedPrecision{fp16_input_names=["a","x"]}', 'DeadCodeElimination{entry_functions="main"}',
    ],
)  # fmt: skip
def test_a_pass_that_is_for_other_parameters_may_change_them(text: str) -> None:
    outcome = run_step(steps(text)[0], module())
    assert outcome.changed
    assert not [p for p in outcome.problems if p.is_error]


def test_two_calls_with_other_results_are_not_one() -> None:
    def change(walk: Rewriter, binding: e.Binding) -> Answer:
        if not named(binding, "e2") or binding.var is None:
            return binding
        first = next(b.var for block in walk.fn.body.blocks for b in block.bindings if named(b, "e1"))
        assert first is not None
        walk.rename(binding.var, first)
        return ()

    found = problems(rewriting(change))
    assert any("its annotation says R.Tuple" in p.message for p in found)
    assert isinstance(found[0].labels[0].place, e.SeqExpr)


# -- memory ------------------------------------------------------------------------------------------------------

CALL = f"R.call_tir_inplace(M.own, ({{}},), inplace_indices=[0], out_ty={V})"
KERNEL = TEXT[: TEXT.index("    @R.function(private")]
PLACES = {
    "read later": ("e0 = R.exp(x)\nf = {e0}\ng = R.add(f, e0)\nreturn g", "f"),
    "returned": ("e0 = R.exp(x)\nf = {e0}\nreturn (f, e0)", "f"),
    "through a copy": ("e0 = R.exp(x)\nk = e0\nf = {k}\ng = R.add(f, e0)\nreturn g", "f"),
    "in a tuple": ("e0 = R.exp(x)\nt = (e0, x)\nf = {e0}\nu = t[0]\ng = R.add(f, u)\nreturn g", "f"),
    "a tuple in a tuple": ("e0 = R.exp(x)\nt = ((e0, x), x)\nf = {e0}\nv = t[0]\nu = v[0]\ng = R.add(f, u)\nreturn g", "f"),
    "field is overwritten": ("e0 = R.exp(x)\nt = (e0, x)\nu = t[0]\nf = {u}\ng = R.add(f, e0)\nreturn g", "f"),
    "a tuple of another": ("e0 = R.exp(x)\nt = (e0, x)\nf = {e0}\ng = R.call_pure_packed('p', t, sinfo_args=(R.Object,))\nreturn (f, g)", "f"),
    "in a branch": ("e0 = R.exp(x)\nif c:\n    f = {e0}\n    g = R.add(f, e0)\n    r = g\nelse:\n    r = x\nreturn r", "f"),
    "behind a branch": ("e0 = R.exp(x)\nif c:\n    f = {e0}\n    r = R.sin(f)\nelse:\n    r = x\ng = R.add(r, e0)\nreturn g", "f"),
    "by a nested function": (
        f"e0 = R.exp(x)\n@R.function\ndef q(p: {V}) -> {V}:\n    s = R.add(p, e0)\n    return s\nf = {{e0}}\ng = q(f)\nreturn g", "f",
    ),
    "a copy in a nested function": (
        f"e0 = R.exp(x)\nk = e0\n@R.function\ndef q(p: {V}) -> {V}:\n    f = {{k}}\n    s = R.add(f, e0)\n    return s\ng = q(x)\nreturn g", "f",
    ),
    "in a later branch": ("e0 = R.exp(x)\nf = {e0}\nif c:\n    g = R.add(f, e0)\n    r = g\nelse:\n    r = f\nreturn r", "f"),
    "in a later second branch": ("e0 = R.exp(x)\nf = {e0}\nif c:\n    r = f\nelse:\n    g = R.add(f, e0)\n    r = g\nreturn r", "f"),
    "in a nested function": (
        f"@R.function\ndef q(p: {V}) -> {V}:\n    e0 = R.exp(p)\n    f = {{e0}}\n    s = R.add(f, e0)\n    return s\ng = q(x)\nreturn g", "f",
    ),
}  # fmt: skip
HARMLESS = {
    "not read": "e0 = R.exp(x)\nh = R.sin(e0)\nf = {e0}\ng = R.add(f, h)\nreturn g",
    "the other branch reads": "e0 = R.exp(x)\nif c:\n    f = {e0}\n    r = R.sin(f)\nelse:\n    r = R.sin(e0)\nreturn r",
    "the first branch reads": "e0 = R.exp(x)\nif c:\n    r = R.sin(e0)\nelse:\n    f = {e0}\n    r = R.sin(f)\nreturn r",
    "the other field is read": "e0 = R.exp(x)\nt = (e0, x)\nf = {e0}\nu = t[1]\ng = R.add(f, u)\nreturn g",
    "a copy that nothing reads": "e0 = R.exp(x)\nk = e0\nf = {e0}\nt = (k, e0)\ng = R.sin(f)\nreturn g",
    "the call reads it": "e0 = R.exp(x)\nf = {e0}\nreturn f",
    "called before": (
        f"e0 = R.exp(x)\n@R.function\ndef q(p: {V}) -> {V}:\n    s = R.add(p, e0)\n    return s\nh = q(x)\nf = {{e0}}\ng = R.add(f, h)\nreturn g"
    ),
}


def memory_module(lines: str, in_place: bool) -> rxe.IRModule:
    """A module with a call in place, or with `sin` instead."""
    for name in ("e0", "k", "u"):
        lines = lines.replace(f"{{{name}}}", CALL.format(name) if in_place else f"R.sin({name})")
    body = "".join(f"        {line}\n" for line in lines.splitlines())
    head = f'    @R.function\n    def main(x: {V}, c: R.Tensor((), "bool")):\n'
    return rxe.normalize(rxe.parse(KERNEL + head + body))


def becoming(after: rxe.IRModule) -> Pass:
    """The pass that makes a function what it is in another module."""
    return editing(lambda given, at: at.editor.replace("main", after.relax_functions["main"]))


@pytest.mark.parametrize("kind", PLACES)
def test_a_value_that_is_overwritten_and_read_later_is_blamed(kind: str) -> None:
    lines, var = PLACES[kind]
    before, after = memory_module(lines, False), memory_module(lines, True)
    outcome = run_step(Step(becoming(after)), before)
    (problem,) = [p for p in outcome.problems if "overwrites" in p.message]
    assert "a call overwrites 'e0', which is read later" in problem.message
    assert problem.labels[0].place.var.name == var
    again = run_step(Step(becoming(memory_module(lines, True))), after)
    assert not [p for p in again.problems if "overwrites" in p.message]  # it was so before


@pytest.mark.parametrize("kind", HARMLESS)
def test_a_value_that_nothing_reads_later_may_be_overwritten(kind: str) -> None:
    before, after = (memory_module(HARMLESS[kind], in_place) for in_place in (False, True))
    outcome = run_step(Step(becoming(after)), before)
    assert outcome.changed
    assert not [p for p in outcome.problems if "overwrites" in p.message]


@pytest.mark.parametrize(("new", "old"), [("f", "w"), ("w", "f")])
def test_the_call_that_is_new_is_blamed(new: str, old: str) -> None:
    lines = "e0 = R.exp(x)\nf = {e0}\ng = R.add(f, e0)\nu = R.exp(g)\nw = {u}\nd = R.add(w, u)\nreturn d"
    operand = {"f": "e0", "w": "u"}
    before = memory_module(lines.replace(f"{{{operand[new]}}}", f"R.sin({operand[new]})"), True)

    def change(walk: Rewriter, binding: e.Binding) -> Answer:
        if not named(binding, new):
            return binding
        (block,) = walk.fn.body.blocks
        values = {b.var.name: b for b in block.bindings if b.var is not None}
        call, read = values[old].value, values[operand[new]].var
        assert isinstance(call, e.Call)
        assert read is not None
        return replace(binding, value=replace(call, args=(call.args[0], e.tuple_of((read,)), *call.args[2:])))

    outcome = run_step(Step(rewriting(change)), before)
    (problem,) = [p for p in outcome.problems if "overwrites" in p.message]
    assert problem.labels[0].place.var.name == new


def test_moving_a_read_behind_the_call_is_blamed() -> None:
    before = memory_module(HARMLESS["not read"], True)

    @function_pass("Wrong")
    def moving(fn: e.Function, at: PassSite) -> e.Function:
        """Let `h` come after `f`."""

        def moved(seq: e.SeqExpr) -> e.SeqExpr:
            (block,) = seq.blocks
            e0, h, f, g = block.bindings
            return replace(seq, blocks=(replace(block, bindings=(e0, f, h, g)),))

        return replace(fn, body=moved(fn.body))

    outcome = run_step(Step(moving), before)
    (problem,) = [p for p in outcome.problems if "overwrites" in p.message]
    assert problem.labels[0].place.var.name == "f"


@pytest.mark.parametrize("name", ["DeadCodeElimination", "RemoveUnusedParameters"])
def test_a_call_in_a_closure_that_nothing_calls_may_go(name: str) -> None:
    text = f"""
@I.ir_module
class M:
    @R.function(private=True, pure=False)
    def says(p: {V}, q: {V}) -> {V}:
        R.print(q, format="said")
        return q
    @R.function(pure=False)
    def main(x: {V}):
        y = M.says(x, x)
        @R.function(pure=False)
        def dead(p: {V}) -> {V}:
            @R.function(pure=False)
            def inner(q: {V}) -> {V}:
                z = M.says(q, q)
                return z
            copy = inner
            return x
        again = dead
        return y
"""
    outcome = run_step(steps(name)[0], rxe.normalize(rxe.parse(text)))
    assert outcome.changed
    assert not [p for p in outcome.problems if p.is_error]


@pytest.mark.parametrize(
    ("name", "length", "is_lost"), [("z", "n", False), ("y", "k", False), ("z", "k", True)]
)
def test_a_check_stays_under_another_name_or_with_other_lengths(
    name: str, length: str, is_lost: bool
) -> None:
    def text(name: str, length: str) -> rxe.IRModule:
        cast = f'{name} = R.match_cast(x, R.Tensor(("{length}", 4), "float32"))'
        head = '@R.function\ndef main(x: R.Tensor("float32", ndim=2)):\n'
        return rxe.normalize(rxe.parse(f"{head}    {cast}\n    a = R.exp(x)\n    return a\n"))

    new = text(name, length)["main"]
    found = problems(editing(lambda given, at: at.editor.replace("main", new)), text("y", "n"))
    assert bool(found) is is_lost
