"""Inlining keeps the program's results, and skips functions that cannot be inlined at the call."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.check.infer import Inferrer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pipeline import Outcome, Step, run_step
from relax_explorer.core.program.module import IRModule
from tests.support.copies import with_new_body
from tests.support.oracle import Oracle

PROGRAM = """
@I.ir_module
class M:
    @R.function(private=True)
    def shift(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        with R.dataflow():
            y = R.exp(x)
            z = R.add(y, R.const(1.0, "float32"))
            R.output(z)
        return z
    @R.function(private=True)
    def twice(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        a = M.shift(x)
        b = M.shift(a)
        return b
    @R.function(private=True)
    def pick(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        if c:
            y = R.exp(x)
        else:
            y = R.negative(x)
        return y
    @R.function(private=True)
    def down(k: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        stop = R.less(k, R.const(1, "int32"))
        if stop:
            r = k
        else:
            r = M.down(R.subtract(k, R.const(1, "int32")))
        return r
    @R.function
    def main(x: R.Tensor(("m",), "float32"), q: R.Tensor(dtype="float32", ndim=1), c: R.Tensor((), "bool"), k: R.Tensor((), "int32")):
        with R.dataflow():
            a = M.twice(x)
            b = M.pick(c, a)
            R.output(a, b)
        w = M.shift(q)
        if c:
            u = M.pick(c, w)
        else:
            u = M.twice(w)
        d = M.down(k)
        return (a, b, w, u, d)
"""


@pytest.fixture
def program() -> IRModule:
    return rxe.normalize(rxe.parse(PROGRAM))


def inputs(condition: bool) -> list[np.ndarray]:
    return [
        np.linspace(-1, 1, 5, dtype="float32"),
        np.linspace(0, 1, 3, dtype="float32"),
        np.array(condition),
        np.array(2, "int32"),
    ]


@pytest.mark.parametrize("condition", [True, False])
def test_the_program_computes_the_same(program: IRModule, condition: bool) -> None:
    after = rxe.apply_pass(program, "InlinePrivateFunctions")
    before, now = (rxe.run(module, "main", inputs(condition)) for module in (program, after))
    for one, other in zip(before, now, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_cannot_be_inlined_stays(program: IRModule) -> None:
    after = rxe.apply_pass(program, "InlinePrivateFunctions")
    assert list(after.functions) == ["down", "main"]  # recursion can't be inlined
    assert rxe.well_formed(after)
    assert rxe.apply_pass(
        rxe.parse("@R.function\ndef f(x: R.Object):\n    return x\n"), "InlinePrivateFunctions"
    )["f"]


def test_only_what_may_not_fit_is_cast(program: IRModule) -> None:
    text = rxe.apply_pass(program, "InlinePrivateFunctions").script()
    assert re.findall(r"match_cast\((\w+), R.Tensor\(\(", text) == [
        "q"
    ]  # the length of `x` is known, and then that of `w`


def test_control_flow_divides_a_dataflow_block(oracle: Oracle) -> None:
    text = """
@I.ir_module
class M:
    @R.function(private=True)
    def pick(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            y = R.exp(x)
        else:
            y = R.negative(x)
        return y
    @R.function
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool"), i: R.Tensor((2,), "int32")):
        if c:
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(a)
                t = (a, x)
                p = M.pick(c, b)
                q = R.add(a, p)
                d = M.pick(c, q)
                u = t[0]
                e = R.add(d, u)
                R.output(e)
            r = e
        else:
            r = x
        return r
"""
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, "InlinePrivateFunctions")
    assert list(after.functions) == ["main"]
    assert re.findall(r"R.output\((.*)\)", after.script()) == [
        "a, x_1",
        "x_2",
        "e",
    ]  # the arguments have the names of the parameters
    assert oracle.well_formed(after.script()).get().well_formed
    for condition in (True, False):
        given = [np.array([1, 2], np.float32), np.array(condition), np.array([1, 2], np.int32)]
        one, other = (rxe.run(module, "main", given) for module in (before, after))
        np.testing.assert_array_equal(one, other)


def test_functions_without_calls_are_cleaned_too() -> None:
    text = """
@I.ir_module
class M:
    @R.function(private=True)
    def unused(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        dead = R.exp(x)
        same = x
        return same
"""
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, "InlinePrivateFunctions")
    assert list(after.functions) == ["main"]
    assert not after["main"].body.blocks
    public = rxe.normalize(rxe.parse(text.replace("(private=True)", "")))
    assert rxe.apply_pass(public, "InlinePrivateFunctions") is public


def test_arguments_are_bound_to_the_names_of_parameters() -> None:
    text = """
@I.ir_module
class M:
    @R.function(private=True)
    def f(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")), s: R.Shape([2, 1]), k: R.Tensor((2,), "float32")):
        a = R.reshape(t[0], s)
        b = R.match_cast(k, R.Tensor((2,), "float32"))
        return (a, b, t)
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return M.f((x, x), R.shape([2, 1]), R.const([1.0, 2.0]))
"""
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "InlinePrivateFunctions")
    names = [b.var.name.rstrip("_1") for block in after["main"].body.blocks for b in block.bindings]
    assert names[:2] == ["t", "s"]
    assert "match_cast" not in after.script()  # it checks nothing, once the constant is bound


@pytest.mark.parametrize(
    ("taken", "cast"), [("ndim=1", 'R.match_cast(x, R.Tensor((k,), "float32"))'), ('shape=("k",)', "x")]
)
def test_each_copy_has_shape_variables_of_its_own(taken: str, cast: str) -> None:
    text = f"""
@I.ir_module
class M:
    @R.function(private=True)
    def double(x: R.Tensor(dtype="float32", {taken})) -> R.Tensor("float32", ndim=1):
        k = T.int64()
        y = {cast}
        return R.add(y, y)
    @R.function
    def main(a: R.Tensor("float32", ndim=1), b: R.Tensor("float32", ndim=1)):
        return (M.double(a), M.double(b))
"""
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, "InlinePrivateFunctions")
    given = [np.ones(2, np.float32), np.ones(3, np.float32)]
    for module in (before, after):
        assert [array.tolist() for array in rxe.run(module, "main", given)] == [[2, 2], [2, 2, 2]]


def test_what_stays_beside_it_keeps_its_effect() -> None:
    text = """
@I.ir_module
class M:
    @R.function(private=True)
    def inner(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        return y
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = R.{}
        z = M.inner(y)
        return z
"""
    for call in (
        'call_dps_packed("f", (x,), out_ty=R.Tensor((2,), "float32"))',
        'call_packed("f", x, sinfo_args=R.Tensor((2,), "float32"))',
        "sin(x)",
    ):
        before = rxe.normalize(rxe.parse(text.format(call)))
        after = rxe.apply_pass(before, "InlinePrivateFunctions")
        assert after["main"].struct_info is before["main"].struct_info
        assert after["main"].struct_info.pure is (call == "sin(x)")


def test_a_function_inside_is_copied_with_its_name() -> None:
    text = """
@I.ir_module
class M:
    @R.function(private=True)
    def start(n: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        @R.function
        def down(k: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
            stop = R.less(k, R.const(1, "int32"))
            if stop:
                r = k
            else:
                r = down(R.subtract(k, R.const(2, "int32")))
            return r
        m = down(n)
        return m
    @R.function
    def main(a: R.Tensor((), "int32"), b: R.Tensor((), "int32")):
        return (M.start(a), M.start(b))
"""
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "InlinePrivateFunctions")
    assert list(after.functions) == ["main"]
    assert rxe.check(after) == []
    given = [np.array(4, np.int32), np.array(5, np.int32)]
    assert [int(value) for value in rxe.run(after, "main", given)] == [0, -1]


def test_a_function_that_is_handed_over_is_still_called() -> None:
    wanted = 'R.Callable((R.Tensor(("n",), "float32"),), R.Tensor(("n",), "float32"), True)'
    text = f"""
@I.ir_module
class M:
    @R.function(private=True)
    def inner(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = R.add(x, x)
        return y
    @R.function(private=True)
    def apply(g: {wanted}, x: R.Tensor((2,), "float32")):
        y = g(x)
        return y
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        z = M.apply(M.inner, x)
        return z
"""
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "InlinePrivateFunctions")
    assert list(after.functions) == ["inner", "main"]
    assert rxe.run(after, "main", [np.ones(2, np.float32)]).tolist() == [2, 2]


def test_each_copy_keeps_its_checks_of_constants() -> None:
    """As in TVM, a check of a constant outside of dataflow blocks stays in each copy, though the copies are equal."""
    text = """
@I.ir_module
class Module:
    @R.function(private=True)
    def inner(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        k = R.match_cast(R.const([1.0, 2.0], "float32"), R.Tensor((2,), "float32"))
        same = k
        return x

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        y = cls.inner(x)
        z = cls.inner(y)
        return z
"""
    new = rxe.apply_pass(rxe.parse(text), "InlinePrivateFunctions")
    assert [type(b).__name__ for b in bindings(new["main"])] == ["MatchCast", "MatchCast"]


def test_what_needs_no_inlining_is_the_same_object(program: IRModule) -> None:
    once = rxe.apply_pass(program, "InlinePrivateFunctions")
    assert once["down"] is program["down"]


def test_tvm_finds_the_result_well_formed(program: IRModule, oracle: Oracle) -> None:
    after = rxe.apply_pass(program, "InlinePrivateFunctions")
    verdict = oracle.well_formed(after.script()).get()
    assert verdict.well_formed, verdict.message


_TYPE = 'R.Tensor((2,), "float32")'


def _inlined(text: str) -> Outcome:
    module = rxe.normalize(rxe.parse(f"@I.ir_module\nclass M:\n{text}"))
    return run_step(Step(passes.get("InlinePrivateFunctions")), module)


def test_the_body_reads_variables_without_copies_of_them() -> None:
    """Each copy of an argument would be renamed, dropped and inferred again."""
    outcome = _inlined(f"""
    @R.function(private=True)
    def f(p: {_TYPE}, q: {_TYPE}) -> {_TYPE}:
        with R.dataflow():
            a = R.add(p, q)
            b = R.multiply(a, p)
            R.output(b)
        return b
    @R.function
    def main(x: {_TYPE}) -> {_TYPE}:
        with R.dataflow():
            u = R.exp(x)
            v = M.f(u, x)
            w = M.f(v, v)
            R.output(w)
        return w
""")
    calls = [change.after for change in outcome.rewrites if len(change.after) > 1]
    assert [len(after) for after in calls] == [3, 3]  # two of the body, and the result


@pytest.mark.parametrize("inside", [True, False])
def test_a_value_that_ends_is_copied_first(inside: bool) -> None:
    """Each program reads it later, and a kill empties the register of one variable."""
    end = "gone = R.memory.kill_tensor({})"
    outcome = _inlined(f"""
    @R.function(private=True, pure=False)
    def f(p: {_TYPE}) -> {_TYPE}:
        q = R.exp(p)
        {end.format("p") if inside else "r = R.exp(q)"}
        return {"q" if inside else "(p, q)[0]"}
    @R.function(pure=False)
    def main(x: {_TYPE}) -> {_TYPE}:
        u = R.exp(x)
        v = M.f(u)
        {"w = R.add(v, u)" if inside else end.format("u")}
        return {"w" if inside else "v"}
""")
    main = outcome.module["main"]
    assert isinstance(main, e.Function)
    assert [b.var.name for b in bindings(main) if b.var is not None and type(b.value) is e.Var] == ["p"]


def test_what_a_nested_function_captures_is_an_output() -> None:
    outcome = _inlined(f"""
    @R.function(private=True)
    def f(p: {_TYPE}):
        with R.dataflow():
            @R.function
            def g(q: {_TYPE}) -> {_TYPE}:
                return R.add(q, p)
            y = g(p)
            R.output(y)
        return y
    @R.function
    def main(x: {_TYPE}) -> {_TYPE}:
        with R.dataflow():
            u = R.exp(x)
            v = M.f(u)
            R.output(v)
        return v
""")
    main = outcome.module["main"]
    assert isinstance(main, e.Function)
    assert type(next(bindings(main)).var) is e.Var
    assert not outcome.problems


FOUR, ANY = 'R.Tensor((4,), "float32")', 'R.Tensor(None, "float32", ndim=1)'
DERIVED_AGAIN = {
    "the same lengths": (FOUR, "x", FOUR, False),
    "a tuple's field": (FOUR, "R.add(x, x)", FOUR, False),
    "a length with a name": ('R.Tensor(("n",), "float32")', "x", FOUR, True),
    "fewer lengths known": (ANY, "x", FOUR, True),
    "a cast": (FOUR, "x", ANY, False),
}


@pytest.mark.parametrize("kind", DERIVED_AGAIN)
def test_inlined_calls_are_derived_again_only_for_other_struct_info(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    takes, argument, given, again = DERIVED_AGAIN[kind]
    inner = "        q = R.exp(p)\n        if c:\n            r = R.tanh(q)\n        else:\n            r = R.sin(p)\n        return r\n"
    module = rxe.normalize(
        rxe.parse(
            f"@I.ir_module\nclass M:\n    @R.function(private=True)\n    def f(p: {takes}, c: R.Tensor((), 'bool')) -> {takes}:\n"
            f"{inner}    @R.function\n    def main(x: {given}, c: R.Tensor((), 'bool')):\n        y = M.f({argument}, c)\n        return y\n"
        )
    )
    asked = set[e.Expr]()

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(inferrer: Inferrer, call: e.Call, *rest: object) -> object:
            asked.add(call.op)
            return method(inferrer, call, *rest)

        return call

    for name in ("settles", "operator"):
        monkeypatch.setattr(Inferrer, name, counted(getattr(Inferrer, name)))
    after = rxe.apply_pass(module, "InlinePrivateFunctions")
    monkeypatch.undo()
    assert [e.op_ref(name) in asked for name in ("relax.exp", "relax.tanh", "relax.sin")] == [again] * 3
    copies = {name: with_new_body(fn) for name, fn in after.functions.items()}
    assert rxe.normalize(IRModule(copies, after.attrs)).script() == after.script()


@pytest.mark.parametrize(("profile", "left"), [("spec", {"v1", "v2", "v3"}), ("tvm", set())])
@pytest.mark.parametrize("place", ["a private function", "the function itself"])
def test_nested_functions_are_cleaned_first_in_the_profile_tvm(
    profile: str, left: set[str], place: str
) -> None:
    lines = """
        v1 = R.exp(y)
        v2 = R.multiply(v1, v1)
        v3 = R.add(v2, v1)
        @R.function
        def g(z: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            @R.function
            def h(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
                v4 = R.add(z, v3)
                return v3
            v5 = h(v3)
            return z
        v6 = g(v2)
"""
    inlined, own = (lines, "") if place == "a private function" else ("", lines)
    text = f"""
@I.ir_module
class Module:
    @R.function(private=True)
    def f(y: R.Tensor((3,), "float32")):
{inlined}        return y

    @R.function
    def main(y: R.Tensor((3,), "float32")):
        cls = Module
{own}        u = cls.f(y)
        return u
"""
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "InlinePrivateFunctions", profile=profile)
    assert rxe.well_formed(after)
    assert {binding.var.name for binding in bindings(after["main"]) if binding.var is not None} == left


@pytest.mark.parametrize(
    ("body", "last", "outputs"),
    [
        ("v = R.exp(p)\n        return p", "d = cls.f(b, a)", "a, b"),
        ("v = R.exp(p)\n        return p", "d = cls.f(b, b)", "b"),
        ("v = R.exp(p)\n        return p", "d = c", "b"),
        ("v = R.exp(q)\n        return p", "d = c", "a, b"),
        ("return p", "d = cls.f(b, a)", "b"),
    ],
)
def test_an_output_that_a_call_reads_behind_its_block_stays_one_in_the_profile_tvm(
    body: str, last: str, outputs: str
) -> None:
    text = f"""
@I.ir_module
class Module:
    @R.function(private=True)
    def f(p: R.Tensor((3,), "float32"), q: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        {body}

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        cls = Module
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(a)
            c = cls.f(b, a)
            {last}
            R.output(a, b)
        return b
"""
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "InlinePrivateFunctions", profile="tvm")
    found = re.search(r"R\.output\((.*)\)", after.script().replace("q", "a"))
    assert found is not None
    assert found[1] == outputs
