"""Bindings that may stop the run: outside a dataflow block passes keep them (PURE-13), unless asked to drop them as TVM does."""

from __future__ import annotations

import sys
import textwrap

import pytest

import relax_explorer as rxe
from relax_explorer.core.check import stopping as stopping_module
from relax_explorer.core.check.stopping import stopping
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pipeline import run_step, steps

HEAD = """
@I.ir_module
class Module:
    @R.function(private=True)
    def exact(p: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        q = R.exp(p)
        return q
    @R.function(private=True)
    def dividing(p: R.Tensor((2,), "int32")) -> R.Tensor((2,), "int32"):
        q = R.floor_divide(p, p)
        return q
    @R.function(private=True)
    def forever(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        q: R.Tensor((2,), "float32") = Module.forever(p)
        return q
    @R.function(private=True)
    def claiming(p: R.Tensor(("k",), "float32")) -> R.Tensor((3,), "float32"):
        return p
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32"), z: R.Tensor((3,), "float32"),
             i: R.Tensor((2,), "int32"), w: R.Tensor(("n", "m"), "float32"), c: R.Tensor((), "bool"),
             o: R.Tensor("float32"), u: R.Tensor(("n",)), d: R.Tensor(("n - 1",), "float32")):
        n = T.int64()
        m = T.int64()
        cls = Module
"""
STOPS = {
    "lengths that differ": "R.add(x, y)",
    "inner lengths that differ": "R.matmul(x, y)",
    "elements that do not fit": "R.reshape(x, R.shape([m]))",
    "a negative length": 'R.zeros(R.shape([n - 5]), "float32")',
    "a division by a length": "R.shape([m // n])",
    "a remainder of a length": "R.shape([m % n])",
    "a truncated division by a length": "R.shape([T.truncdiv(m, n)])",
    "a truncated remainder of a length": "R.shape([T.truncmod(m, n)])",
    "an integer divided by 0": "R.floor_divide(i, i)",
    "an index outside": "R.take(z, i, axis=0)",
    "an axis that is not 1": "R.squeeze(w, axis=[0])",
    "the mean of no integers": 'R.mean(R.astype(w, "int32"), axis=[0])',
    "an axis of an unknown rank": "R.sum(o, axis=[1])",
    "the axis of a softmax of unknown rank": "R.nn.softmax(o, axis=1)",
    "two unknown shapes": "R.add(o, R.exp(o))",
    "differing bools": "R.subtract(R.greater(z, z), R.greater(z, z))",
    "bits of floats": "R.bitwise_and(z, z)",
    "all bits of floats": "R.bitwise_not(z)",
    "an integer divided by a constant with a 0": 'R.floor_divide(i, R.const([1, 0], "int32"))',
    "bools divided": 'R.divide(R.greater(z, z), R.const(True, "bool"))',
    "a window that is too large": "R.nn.max_pool1d(R.zeros(R.shape([1, 1, n]), 'float32'), pool_size=[3])",
    "a dtype that is not known": "R.exp(u)",
    "a parameter that may not fit": "cls.exact(x)",
    "a callee that may stop": "cls.dividing(i)",
    "a callee whose result may not be as it says": "cls.claiming(x)",
    "a callee that never ends": "cls.forever(R.zeros(R.shape([2]), 'float32'))",
    "an unknown function": 'R.call_pure_packed("test.f", x, sinfo_args=R.Tensor((3,), "float32"))',
}
RETURNS = {
    "one length": "R.add(x, x)",
    "lengths that are known": "R.add(z, z)",
    "an outer product": "R.matmul(R.permute_dims(w), w)",
    "a length of at least 0": 'R.zeros(R.shape([n + 5]), "float32")',
    "elements that fit": "R.reshape(w, R.shape([m * n]))",
    "floats divided": "R.divide(z, z)",
    "the largest of no elements, which only warns": "R.max(w, axis=[0])",
    "elements of an unknown shape": "R.exp(o)",
    "one unknown shape twice": "R.add(o, o)",
    "an unknown shape beside a scalar": 'R.add(o, R.const(1.0, "float32"))',
    "axes of length 1": "R.squeeze(o)",
    "a length that an operand has": "R.where(R.greater(d, d), d, R.exp(d))",
    "a known rank": "R.sum(R.permute_dims(w), axis=[1])",
    "integers compared and subtracted": "R.subtract(R.maximum(i, i), i)",
    "bits of integers": "R.bitwise_and(i, i)",
    "an integer divided by a constant": 'R.floor_divide(i, R.const([1, 2], "int32"))',
    "sorted elements": "R.argsort(w, axis=1)",
    "parts": "R.split(w, [1, 2], axis=0)",
    "a pool that fits": "R.nn.max_pool1d(R.zeros(R.shape([n, m, 8]), 'float32'), pool_size=[3])",
    "a convolution that fits": "R.nn.conv1d(R.zeros(R.shape([n, 3, 8]), 'float32'), R.zeros(R.shape([4, 3, 3]), 'float32'))",
    "a parameter that fits": "cls.exact(z)",
    "a tuple": "(x, y)",
    "a copy": "x",
    "a constant": "R.const([1.0], 'float32')",
    "a string": 'R.str("a")',
    "a dtype": 'R.dtype("int8")',
    "a function": "cls.exact",
}


def program(value: str, nested: str = "") -> rxe.IRModule:
    lines = f"dead = {value}\nreturn z"
    if nested == "branch":
        lines = f"if c:\n    dead = {value}\n    r = z\nelse:\n    r = R.add(z, z)\nreturn z"
    if nested == "dataflow":
        lines = f"with R.dataflow():\n    dead = {value}\n    r = R.add(z, z)\n    R.output(r)\nreturn r"
    return rxe.normalize(rxe.parse(HEAD + "".join(f"        {line}\n" for line in lines.splitlines())))


def names(module: rxe.IRModule) -> set[str]:
    return {b.var.name for b in bindings(module["main"]) if b.var is not None}


@pytest.mark.parametrize("name", STOPS)
@pytest.mark.parametrize("nested", ["", "branch"])
def test_what_may_stop_the_run_is_kept(name: str, nested: str) -> None:
    outcome = run_step(steps("DeadCodeElimination")[0], program(STOPS[name], nested))
    assert "dead" in names(outcome.module)
    assert "RX0406" in [item.code.id for item in outcome.problems]


@pytest.mark.parametrize("name", STOPS)
def test_it_is_dropped_on_demand_and_in_dataflow_blocks(name: str) -> None:
    outcome = run_step(steps('DeadCodeElimination{profile="tvm"}')[0], program(STOPS[name]))
    assert "dead" not in names(outcome.module)
    assert "RX0406" in [item.code.id for item in outcome.problems]
    assert "dead" not in names(rxe.apply_pass(program(STOPS[name], "dataflow"), "DeadCodeElimination"))


@pytest.mark.parametrize("name", RETURNS)
@pytest.mark.parametrize("nested", ["", "branch"])
def test_what_cannot_stop_the_run_is_dropped(name: str, nested: str) -> None:
    outcome = run_step(steps("DeadCodeElimination")[0], program(RETURNS[name], nested))
    assert "dead" not in names(outcome.module)
    assert not outcome.problems


@pytest.mark.parametrize(("name", "moves"), [*[(q, False) for q in STOPS], *[(q, True) for q in RETURNS]])
def test_only_what_cannot_stop_moves_into_a_dataflow_block(name: str, moves: bool) -> None:
    before = program({**STOPS, **RETURNS}[name])
    after = rxe.apply_pass(before, "ConvertToDataflow", min_size=1)
    inside = [
        b.var.name
        for block in after["main"].body.blocks
        for b in block.bindings
        if "Dataflow" in type(block).__name__
    ]
    assert ("dead" in inside) is moves or (name in ("a copy", "a function") and "dead" not in names(after))
    dropped = rxe.apply_pass(before, "ConvertToDataflow", min_size=1, profile="tvm")
    assert "R.dataflow" in dropped.script()


@pytest.mark.parametrize("read", ["x", "R.add(x, y)"])
@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_a_match_cast_goes_into_a_dataflow_block_and_stays_there(read: str, profile: str) -> None:
    lines = f"a = {read}\n        dead = R.match_cast(a, R.Tensor((3,), 'float32'))\n        d = R.exp(z)\n        return d\n"
    before = rxe.normalize(rxe.parse(f"{HEAD}        {lines}"))
    module = rxe.apply_pass(before, "ConvertToDataflow", min_size=1, profile=profile)
    assert [type(block) is e.DataflowBlock for block in module["main"].body.blocks] == [True]
    after = rxe.apply_pass(module, "DeadCodeElimination", profile=profile)
    assert "dead" in names(after)
    assert ("a" in names(after)) is (read != "x")


@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_a_match_cast_in_an_unread_branch_goes_into_a_block(profile: str) -> None:
    lines = "if c:\n    dead = R.match_cast(x, R.Tensor((3,), 'float32'))\n    r = R.exp(z)\nelse:\n    r = z\nreturn z"
    before = rxe.normalize(rxe.parse(HEAD + "".join(f"        {line}\n" for line in lines.splitlines())))
    text = rxe.apply_pass(before, "ConvertToDataflow", min_size=1, profile=profile).script()
    assert "with R.dataflow():\n                dead" in text


@pytest.mark.parametrize("name", STOPS)
def test_what_may_stop_and_is_read_moves_into_a_dataflow_block(name: str) -> None:
    text = HEAD + f"        y0 = {STOPS[name]}\n        return y0\n"
    module = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "ConvertToDataflow", min_size=1)
    assert [type(block) is e.DataflowBlock for block in module["main"].body.blocks] == [True]


def test_the_first_three_are_named() -> None:
    one, several = (
        "is kept: it may stop the run, and nothing reads it",
        "are kept: they may stop the run, and nothing reads them",
    )
    said = {1: f"'d0' {one}", 3: f"'d0', 'd1', 'd2' {several}", 5: f"'d0', 'd1', 'd2' and 2 more {several}"}
    for count, words in said.items():
        lines = "".join(f"        d{n} = R.floor_divide(i, i)\n" for n in range(count))
        module = rxe.normalize(rxe.parse(HEAD + lines + "        return z\n"))
        (problem,) = run_step(steps("DeadCodeElimination")[0], module).problems
        assert problem.message == words
        assert [label.place.var.name for label in problem.labels] == ["d0"]


@pytest.mark.parametrize(
    ("condition", "stays"),
    [
        ('R.Tensor((), "bool")', False),
        ('R.Prim("bool")', False),
        ('R.Tensor(dtype="bool")', True),
        ('R.Tensor((1,), "bool")', True),
        ("R.Object", True),
    ],
)
def test_a_condition_that_is_no_scalar_may_stop(condition: str, stays: bool) -> None:
    text = f"""@R.function
def main(x: R.Tensor((2,), "float32"), c: {condition}):
    if c:
        dead = R.exp(x)
    else:
        dead = R.sin(x)
    return x
"""
    module = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "DeadCodeElimination")
    assert ("dead" in names(module)) is stays


@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_an_effect_stays_whatever_becomes_of_errors(profile: str) -> None:
    lines = "R.print(z)\nif c:\n    R.print(x)\n    r = z\nelse:\n    r = z\nt = R.call_packed('f', y, sinfo_args=R.Object)\nreturn z"
    text = HEAD.replace("    @R.function\n    def main", "    @R.function(pure=False)\n    def main")
    before = rxe.normalize(rxe.parse(text + "".join(f"        {line}\n" for line in lines.splitlines())))
    after = rxe.apply_pass(before, "DeadCodeElimination", profile=profile)
    assert after["main"] is before["main"]


def test_a_wrong_choice_is_refused() -> None:
    for name in ("DeadCodeElimination", "ConvertToDataflow"):
        with pytest.raises(rxe.Failure) as caught:
            rxe.apply_pass(program("x"), name, profile="hide")
        assert caught.value.diagnostics[0].code.id == "RX0404"


def test_mutual_recursion_may_never_end() -> None:
    text = """
@I.ir_module
class M:
    @R.function
    def a(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y: R.Tensor((2,), "float32") = M.b(x)
        return y
    @R.function
    def b(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y: R.Tensor((2,), "float32") = M.a(x)
        return y
    @R.function
    def c(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y: R.Tensor((2,), "float32") = M.d(x)
        return y
    @R.function
    def d(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        return y
"""
    module = rxe.normalize(rxe.parse(text))
    stops = {name: stopping(module).value(next(bindings(module[name])).value) for name in "abcd"}
    assert stops == {"a": True, "b": True, "c": False, "d": False}


def test_the_call_graph_is_asked_for_calls_of_functions_only(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
@I.ir_module
class M:
    @R.function
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        a = R.exp(x)
        return a
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        b = R.exp(x)
        c = M.f(x)
        return x
"""
    module = rxe.normalize(rxe.parse(text))
    asked, graph_of = list[object](), stopping_module.graph_of
    monkeypatch.setattr(stopping_module, "graph_of", lambda fns: (asked.append(fns), graph_of(fns))[1])
    operator, call = bindings(module["main"])
    assert not stopping(module).binding(operator)
    assert asked == []
    assert not stopping(module).binding(call)
    assert not stopping(module).binding(call)
    assert len(asked) == 1


def test_an_if_that_is_kept_loses_what_is_dead_inside() -> None:
    """The binding of the If becomes another object, and stays all the same."""
    lines = """if c:
    dead = R.exp(z)
    kept = R.floor_divide(i, i)
else:
    kept = R.add(i, i)
return z"""
    text = HEAD + "".join(f"        {line}\n" for line in lines.splitlines())
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "DeadCodeElimination")
    assert "kept" in names(after)
    assert "dead" not in names(after)


@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_a_check_in_an_unread_if_is_an_error_like_others(profile: str) -> None:
    lines = """if c:
    checked = R.match_cast(x, R.Tensor((3,), "float32"))
    r = R.exp(z)
else:
    r = z
return z"""
    text = HEAD + "".join(f"        {line}\n" for line in lines.splitlines())
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "DeadCodeElimination", profile=profile)
    assert ("checked" in names(after)) is (profile == "spec")


@pytest.mark.parametrize(
    ("result", "left"),
    [
        ("z", set()),  # the If goes, with the check that cannot fail, and what only the check reads
        ("r", {"v", "w", "checked", "q", "r"}),
    ],
)
def test_a_check_stays_with_its_if(result: str, left: set[str]) -> None:
    lines = f"""v = R.exp(z)
if c:
    w = R.exp(v)
else:
    w = v
if c:
    checked = R.match_cast(w, R.Tensor((3,), "float32"))
    q = R.exp(z)
    r = q
else:
    r = z
return {result}"""
    text = HEAD + "".join(f"        {line}\n" for line in lines.splitlines())
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "DeadCodeElimination")
    assert {name for name in names(after) if "_" not in name} == left


G = '@R.function\ndef g(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):\n    {}\n    return a\n'
CAST = 'kk = T.int64()\nv = R.match_cast(o, R.Tensor((kk,), "float32"))\n'
INNER = (
    "{0} = T.int64()\n    @R.function\n"
    '    def h(d: R.Tensor(({0},), "float32")) -> R.Tensor(({0},), "float32"):\n        return d\n    b = h({1})'
)


def sized(shape: str, inner: str = "b = R.exp(a)") -> str:
    """The nested function `g` for tensors of this shape."""
    return G.format("INNER").replace("(3,)", shape).replace("INNER", inner)


BRANCHES = f"if c:\n{textwrap.indent(sized('(n,)'), '    ')}    dead = g({{}})\nelse:\n    dead = x"
CLOSURES = {
    "it returns": (G.format("b = R.exp(a)") + "dead = g(z)", False),
    "it calls one that returns": (
        G.format("b = R.exp(a)") + G.format("b = g(a)").replace("def g", "def h") + "dead = h(z)",
        False,
    ),
    "it holds one that returns": (
        G.format("@R.function\n    def h(d: R.Tensor((3,), 'float32')):\n        return d\n    b = h(a)")
        + "dead = g(z)",
        False,
    ),
    "it stops": (G.format("b = R.floor_divide(i, i)") + "dead = g(z)", True),
    "it calls one that stops": (
        G.format("b = R.add(x, y)") + G.format("b = g(a)").replace("def g", "def h") + "dead = h(z)",
        True,
    ),
    "it does not end": (G.format("b = g(a)") + "dead = g(z)", True),
    "its argument may not fit": (G.format("b = R.exp(a)") + "dead = g(x)", True),
    "a length of the function around it": (sized("(n,)") + "dead = g(y)", True),
    "a length of the function around it, which the argument has": (sized("(n,)") + "dead = g(x)", False),
    "a length of its own": (sized('("kk",)') + "dead = g(y)", False),
    "a length of its own, twice": (sized('("kk", "kk")') + "dead = g(w)", True),
    "a length that a cast before it bound": (CAST + sized("(kk,)") + "dead = g(y)", True),
    "the length that a cast before it bound": (CAST + sized("(kk,)") + "dead = g(v)", False),
    "a length of the nested function around it": (
        sized('("kk",)', INNER.format("kk", "z")) + "dead = g(y)",
        True,
    ),
    "the length of the nested function around it": (
        sized('("kk",)', INNER.format("kk", "a")) + "dead = g(y)",
        False,
    ),
    "a length of the outermost function": (sized("(3,)", INNER.format("n", "y")) + "dead = g(z)", True),
    "in a branch": (BRANCHES.format("x"), False),
    "in a branch, a length that does not fit": (BRANCHES.format("y"), True),
    "it is not known which one": (
        G.format("b = R.exp(a)") + "f = R.grad.no_grad(z)\nh = cls.pick()\ndead = h(z)",
        True,
    ),
}
PICK = """    @R.function(private=True)
    def pick() -> R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32"), True):
        @R.function
        def g(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            return a
        return g
"""


@pytest.mark.parametrize("name", CLOSURES)
def test_calls_of_nested_functions(name: str) -> None:
    lines, stops = CLOSURES[name]
    text = HEAD.replace("    @R.function\n    def main", PICK + "    @R.function\n    def main")
    text += "".join(f"        {line}\n" for line in f"{lines}\nreturn z".splitlines())
    module = rxe.normalize(rxe.parse(text))
    assert ("dead" in names(rxe.apply_pass(module, "DeadCodeElimination"))) is stops


def test_many_nested_functions_that_call_each_other_are_analysed_without_recursion() -> None:
    first = G.format("b = R.exp(a)").replace("def g", "def g0")
    rest = [
        G.format(f"b = g{number}(a)").replace("def g", f"def g{number + 1}")
        for number in range(sys.getrecursionlimit())
    ]
    text = HEAD + "".join(f"        {line}\n" for each in (first, *rest) for line in each.splitlines())
    module = rxe.normalize(rxe.parse(f"{text}        dead = g{len(rest)}(z)\n        return z\n"))
    assert not names(rxe.apply_pass(module, "DeadCodeElimination"))


READ_BY_A_FUNCTION = """dead = R.floor_divide(i, i)
@R.function(pure=False)
def g(a: R.Tensor((3,), "float32")) -> R.Tensor((2,), "int32"):
    inner = R.floor_divide(i, i)
    _ = R.print(dead)
    return dead
"""


@pytest.mark.parametrize("last", ["return z", "r = g(z)\nreturn z"])
def test_what_a_nested_function_reads_moves_into_a_dataflow_block(last: str) -> None:
    """TVM, too, counts what a function reads that nothing calls, and keeps one with an effect."""
    lines = READ_BY_A_FUNCTION + last
    text = HEAD.replace("@R.function\n    def main", "@R.function(pure=False)\n    def main")
    text += "".join(f"        {line}\n" for line in lines.splitlines())
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, "ConvertToDataflow", min_size=1)
    inside = {
        b.var.name
        for block in after["main"].body.blocks
        if type(block) is e.DataflowBlock
        for b in block.bindings
    }
    assert "dead" in inside
    left = names(rxe.apply_pass(before, "DeadCodeElimination"))
    assert left == {"dead", "g", "inner", "_", *(["r"] if "g(z)" in lines else [])}
    kept = run_step(steps("DeadCodeElimination")[0], before).problems
    assert [item.message.split(" is kept")[0] for item in kept] == ["'inner'"]


def test_nested_functions_are_analysed_after_the_functions_that_they_call() -> None:
    text = """
@I.ir_module
class M:
    @R.function(private=True)
    def callee(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def inner(q: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            r = R.exp(q)
            return r
        s = inner(p)
        return s
    @R.function
    def main(x: R.Tensor((2,), "float32"), i: R.Tensor((2,), "int32")) -> R.Tensor((2,), "float32"):
        @R.function
        def calling(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            v = M.callee(z)
            return v
        @R.function
        def dividing(z: R.Tensor((2,), "int32")) -> R.Tensor((2,), "int32"):
            w = R.floor_divide(z, z)
            return w
        @R.function
        def around(z: R.Tensor((2,), "int32")) -> R.Tensor((2,), "int32"):
            u = dividing(z)
            return u
        a = M.callee(x)
        b = calling(x)
        c = dividing(i)
        d = around(i)
        return x
"""
    module = rxe.normalize(rxe.parse(text))
    stops = {b.var.name: stopping(module).binding(b) for b in bindings(module["main"]) if b.var is not None}
    assert {name: stops[name] for name in "abcd"} == {"a": False, "b": False, "c": True, "d": True}
    assert rxe.apply_pass(module, "DeadCodeElimination").script().count("calling") == 0


@pytest.mark.parametrize(
    ("cast", "profile", "stays"),
    [
        ("e = R.match_cast(a, R.Tensor((3,), 'float32'))", "spec", True),
        ("e = R.match_cast(a, R.Tensor((3,), 'float32'))", "tvm", True),
        ("e = R.exp(a)", "spec", False),
        ("e = R.exp(a)", "tvm", False),
    ],
)
def test_what_a_check_of_an_unread_function_reads_stays(cast: str, profile: str, stays: bool) -> None:
    lines = f"a = R.exp(y)\n@R.function\ndef g(p: R.Tensor((3,), 'float32')) -> R.Tensor((3,), 'float32'):\n    {cast}\n    return p\nreturn z"
    before = rxe.normalize(rxe.parse(HEAD + "".join(f"        {line}\n" for line in lines.splitlines())))
    after = rxe.apply_pass(before, "DeadCodeElimination", profile=profile)
    assert names(after) == ({"a"} if stays else set())
