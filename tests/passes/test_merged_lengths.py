"""Shape variables that match_casts bind to known lengths are these lengths, and what then is proved may go."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pipeline import Step, run_step
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases.module_properties import holding
from tests.support.roundtrip import function

HEAD = 'x: R.Tensor((4,), "float32"), z: R.Tensor((3,), "float32"), u: R.Tensor("float32"), v: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")'


def module(lines: str, name: str = "main") -> rxe.IRModule:
    """A module whose second function has these lines."""
    body = "".join([f"        {line}\n" for line in lines.strip().split("\n")])
    text = (
        f"@I.ir_module\nclass M:\n    @R.function\n    def first({HEAD}):\n        n = T.int64()\n        return x\n"
        f"    @R.function\n    def {name}({HEAD}) -> R.Object:\n        n = T.int64()\n        j = T.int64()\n        i = T.int64()\n{body}"
    )
    return rxe.normalize(rxe.parse(text))


def cast(var: str, value: str, length: str = "j") -> str:
    """A line that casts a vector."""
    return f'{var} = R.match_cast({value}, R.Tensor(({length},), "float32"))'


def packed(var: str, value: str) -> str:
    """A line that casts a tuple of one vector, whose text differs from that of `cast`."""
    return f'{var} = R.match_cast(({value},), R.Tuple(R.Tensor((j,), "float32")))'


def branches(first: str, second: str) -> str:
    """An If whose branches cast `first` and `second` to one length, and then sum them."""
    return "\n".join(
        ["if c:", f"    {cast('a', first)}", "    w = R.sum(a)", "else:", f"    {cast('b', second)}", "    w = R.sum(b)", "return w"]
    )  # fmt: skip


NESTED = f"""
{cast("a", "x")}
@R.function
def inner(q: R.Tensor((4,), "float32")) -> R.Object:
    {cast("p", "q")}
    return p
w = inner(a)
return w
"""
OWN = f"""
@R.function
def inner(q: R.Tensor((j,), "float32")) -> R.Object:
    return q
w = inner(z)
{cast("a", "x")}
return (w, a)
"""
TUPLE = """
a = R.match_cast((x, z), R.Tuple(R.Tensor((j,), "float32"), R.Tensor((i,), "float32")))
b = R.match_cast((z, x), R.Tuple(R.Tensor((i,), "float32"), R.Tensor((j,), "float32")))
return (a, b)
"""


@pytest.mark.parametrize(
    ("lines", "casts"),
    [
        (f"{cast('a', 'x')}\n{cast('b', 'x')}\nreturn (a, b)", []),
        (f"{cast('a', 'v')}\n{cast('b', 'v')}\nreturn (a, b)", []),
        (f"{cast('a', 'x')}\n{cast('b', 'a', '4')}\nreturn b", []),
        (f"{cast('a', 'x')}\n{cast('b', 'u')}\nreturn (a, b)", ["4"]),
        (f"{cast('a', 'x')}\n{cast('b', 'v')}\nreturn (a, b)", ["4"]),
        (f"{cast('a', 'u')}\n{cast('b', 'x')}\nreturn (a, b)", ["j", "j"]),
        (f"{cast('a', 'x')}\n{cast('b', 'a', 'i')}\n{cast('d', 'b', '4')}\nreturn d", []),
        (branches("x", "x"), []),
        (branches("v", "v"), []),
        (branches("x", "z"), ["j", "j"]),
        (branches("x", "u"), ["j", "j"]),
        (branches("u", "x"), ["j", "j"]),
        (f"{cast('d', 'x')}\n{branches('x', 'x')}", []),
        (f"{cast('d', 'x')}\n{branches('x', 'u')}", ["4"]),
        (NESTED, []),
        (TUPLE, []),
        (OWN, ["j"]),
        ("return x", []),
    ],
)
def test_a_length_that_is_known_takes_the_place_of_its_variable(lines: str, casts: list[str]) -> None:
    given = module(lines)
    after = rxe.apply_pass(given, "CanonicalizeBindings")
    text = after.script()
    assert re.findall(r"R\.match_cast\(\w+, R\.Tensor\(\((.*?),\)", text) == casts
    assert rxe.apply_pass(after, "CanonicalizeBindings") is after
    values = [np.ones(4, "float32"), np.ones(3, "float32"), np.ones(4, "float32"), np.ones(4, "float32")]
    for c in (True, False):
        before, now = [rxe.run(program, "main", [*values, np.array(c)]) for program in (given, after)]
        for old, new in zip(
            *[item if isinstance(item, tuple) else (item,) for item in (before, now)], strict=True
        ):
            np.testing.assert_equal(new, old)


def in_branch(line: str) -> str:
    """An If whose first branch ends with this line, and never succeeds."""
    return f"if c:\n    {line}\n    w = R.sum(r)\nelse:\n    w = R.sum(z)\nreturn w"


@pytest.mark.parametrize("profile", ["spec", "tvm"])
@pytest.mark.parametrize(
    "line",
    [
        'r: R.Tensor((3,), "float32") = R.add(a, a)',
        "r = R.add(a, z)",
        "r = R.reshape(a, (3,))",
        "r = R.concat((R.expand_dims(a, 0), R.expand_dims(z, 0)), 0)",
        'b = R.match_cast(x, R.Tensor((i,), "float32"))\n    r: R.Tensor((3,), "float32") = R.add(a, b)',
    ],
)
def test_lengths_that_would_contradict_what_the_run_may_never_reach_keep_their_names(
    line: str, profile: str
) -> None:
    given = module(f"{cast('a', 'x')}\n{in_branch(line)}")
    after = rxe.apply_pass(given, "CanonicalizeBindings", profile=profile)
    assert re.search(r"\ba: .* = R\.match_cast\(x, R\.Tensor\(\(j,\)", after.script())
    assert rxe.apply_pass(after, "CanonicalizeBindings", profile=profile) is after
    ones = [np.ones(length, "float32") for length in (4, 3, 4, 4)]
    assert rxe.run(after, "main", [*ones, np.array(False)]) == rxe.run(
        given, "main", [*ones, np.array(False)]
    )
    assert failing(after, ones) == failing(given, ones) == ([] if ":" in line else ["RX0507"])


def failing(program: rxe.IRModule, values: list[np.ndarray]) -> list[str]:
    """The codes with which the first branch fails. An annotation is no check."""
    try:
        rxe.run(program, "main", [*values, np.array(True)])
    except rxe.Failure as failure:
        return [item.code.id for item in failure.diagnostics]
    return []


@function_pass("DropLast")
def drop_last(fn: e.Function, at: PassSite) -> e.Function:
    """Drop the binding `last`."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        return () if binding.var is not None and binding.var.name == "last" else binding

    return rewrite(fn, at, rule)


def inside(first: str, second: str) -> str:
    """An If that casts a value in its first branch, and has the cast `last` in its second one."""
    return f"if c:\n    {first}\n    w = R.sum(x)\nelse:\n    {second}\n    w = R.sum(z)\nreturn w"


@pytest.mark.parametrize(
    ("lines", "is_needed"),
    [
        (f"{packed('a', 'x')}\n{cast('last', 'x')}\nreturn x", False),
        (f"{packed('a', 'v')}\n{cast('last', 'v')}\nreturn x", False),
        (f"{cast('a', 'x')}\n{cast('last', 'a', '4')}\nreturn x", False),
        (f"{packed('a', 'x')}\n{cast('last', 'u')}\nreturn x", True),
        (f"{packed('a', 'x')}\n{cast('last', 'v')}\nreturn x", True),
        (f"{packed('a', 'u')}\n{cast('last', 'x')}\nreturn x", True),
        (f"{packed('a', 'x')}\n{inside(packed('b', 'x'), cast('last', 'x'))}", False),
        (inside(packed("a", "x"), packed("b", "x") + "\n    " + cast("last", "x")), False),
        (inside(packed("a", "x"), cast("last", "z")), False),
        (inside(packed("a", "x"), packed("b", "z") + "\n    " + cast("last", "v")), True),
        (inside(packed("a", "v"), packed("b", "u") + "\n    " + cast("last", "v")), True),
    ],
)
def test_only_a_check_that_these_lengths_prove_may_go(lines: str, is_needed: bool) -> None:
    given = module(lines)
    outcome = run_step(Step(drop_last), given, held=holding(given))
    assert outcome.changed
    assert [item.code.id for item in outcome.problems] == ["RX0403"] * is_needed


COMPOSITES = (
    "RemoveRedundantReshape",
    "ReorderTakeAfterMatmul",
    "ExpandMatmulOfSum",
)


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_cast_that_is_another_one_once_its_length_is_known_is_not_missed(name: str) -> None:
    text = """@R.function
def main(x: R.Tensor(("n", "k"), "float32"), y: R.Object):
    n, m = T.int64(), T.int64()
    a = R.match_cast(x, R.Tensor((n, 3), "float32"))
    b = R.match_cast(x, R.Tensor((m, 3), "float32"))
    c = R.match_cast(y, R.Tensor((m, 3), "float32"))
    return (a, b, c)
"""
    before = rxe.normalize(rxe.parse(text))
    outcome = run_step(Step(rxe.passes.get(name)), before, True, holding(before))
    assert not outcome.problems
    assert outcome.module.script().count("R.match_cast") == 2


def test_a_cast_that_is_renamed_and_then_lost_is_missed() -> None:
    @function_pass("RenamesAndLoses")
    def losing(fn: e.Function, at: PassSite) -> e.Function:
        """Give a cast other lengths, and then drop it."""

        def renamed(walk: Rewriter, binding: e.Binding) -> Answer:
            if type(binding) is not e.MatchCast or binding.var.name != "b":
                return binding
            return e.MatchCast(
                e.var_like(binding.var, s.TensorStructInfo(None, FLOAT32, 2)),
                binding.value,
                s.TensorStructInfo(None, FLOAT32, 2),
                binding.span,
            )

        def lost(walk: Rewriter, binding: e.Binding) -> Answer:
            if type(binding) is not e.MatchCast or binding.struct_info is not s.TensorStructInfo(
                None, FLOAT32, 2
            ):
                return binding
            walk.rename(binding.var, binding.value)
            return ()

        return rewrite(rewrite(fn, at, renamed), at, lost)

    text = """@R.function
def main(x: R.Tensor(("n", "k"), "float32"), y: R.Object):
    m = T.int64()
    b = R.match_cast(y, R.Tensor((m, 3), "float32"))
    return x
"""
    before = rxe.normalize(rxe.parse(text))
    outcome = run_step(Step(losing), before, True, holding(before))
    assert any("the check of 'b' is gone" in problem.message for problem in outcome.problems)


CHAIN = """n, m, k = T.int64(), T.int64(), T.int64()
with R.dataflow():
    a = R.match_cast(x, R.Tensor((n, m), "float32"))
    b = R.match_cast(a, R.Tensor((k, m), "float32"))
    d = R.add(b, a)
    e = R.match_cast(d, R.Tensor((n, m), "float32"))
    u = R.match_cast(d, R.Tensor((m, m), "float32"))
    R.output(e, u)
return (e, u)
"""


@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_a_cast_that_merged_lengths_make_redundant_goes_at_once(profile: str) -> None:
    module = rxe.normalize(rxe.parse(function(CHAIN, 'x: R.Tensor("float32", ndim=2)')))
    after = rxe.apply_pass(module, "CanonicalizeBindings", profile=profile)
    assert rxe.apply_pass(after, "CanonicalizeBindings", profile=profile) is after
    casts = [binding for binding in bindings(after["main"]) if type(binding) is e.MatchCast]
    assert len(casts) == 2  # that of x, and the one that compares n with m
    x = np.ones((3, 3), "float32")
    assert str(rxe.run(after, "main", [x])) == str(rxe.run(module, "main", [x]))


PRINTED = 'R.Tensor(dtype="float32", ndim=2)'


@pytest.mark.parametrize("profile", ["spec", "tvm"])
@pytest.mark.parametrize(
    ("annotation", "casts"), [(None, 2), (PRINTED, 2), ("R.Tensor", 3), ('R.Tensor("float32")', 3)]
)
def test_an_annotation_that_told_what_the_value_told_hides_nothing(
    annotation: str | None, casts: int, profile: str
) -> None:
    """Printed text annotates every binding. Only an annotation that hides something from the start goes on to hide it."""
    text = f"""
@R.function
def main(x: R.Tensor("float32", ndim=2), y: R.Tensor):
    n, m, k = T.int64(), T.int64(), T.int64()
    with R.dataflow():
        a = R.match_cast(x, R.Tensor((n, m), "float32"))
        b = R.match_cast(a, R.Tensor((k, m), "float32"))
        d = R.match_cast(y, R.Tensor((n, m), "float32"))
        f{f": {annotation}" if annotation else ""} = R.add(b, d)
        g = R.match_cast(f, R.Tensor((n, m), "float32"))
        R.output(g)
    return g
"""
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "CanonicalizeBindings", profile=profile)
    assert after.script().count("R.match_cast(") == casts
    assert " k = " not in after.script()


@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_a_length_that_a_cast_contradicts_keeps_its_variable(profile: str) -> None:
    """The cast of `z` stops each run. With 4 for `j`, the sum behind it would have no type, and the pass would be blamed."""
    text = (
        '@R.function\ndef main(x: R.Tensor((4,), "float32"), z: R.Tensor(("k", 3), "float32")):\n'
        '    k = T.int64()\n    j = T.int64()\n    i = T.int64()\n    y = R.match_cast(x, R.Tensor((j,), "float32"))\n'
        '    b = R.match_cast(z, R.Tensor((i, j), "float32"))\n    d = R.add(z, b)\n    return (y, d)\n'
    )
    outcome = run_step(
        Step(rxe.passes.get("CanonicalizeBindings"), {"profile": profile}), rxe.normalize(rxe.parse(text))
    )
    assert not [p for p in outcome.problems if p.is_error]
    (fn,) = outcome.module.relax_functions.values()
    assert [str(b.struct_info) for b in bindings(fn) if type(b) is e.MatchCast][-1] == (
        'R.Tensor((k, j), dtype="float32")'
    )
