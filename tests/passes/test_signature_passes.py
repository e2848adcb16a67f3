"""Passes that change the parameters and results of private functions keep calls, checks, effects and the meaning."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.struct_info import StructInfo
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pipeline import run_step, steps
from tests.support.pass_agreement import programs

PASSES = ("RemoveUnusedParameters", "RemoveUnusedOutputs", "ExpandTupleArguments")
ENDLESS = ("cls.h(x, z)", "cls.f(x)\n        a = t[0]\n        return (a, y)", "cls.g(x, x)", "ndim=1")
"""Calls without an end, and a check that fails, in the programs of the oracle."""
X = 'R.Tensor((2,), "float32")'


def module(main: str, *callees: str, params: str = f"x: {X}, y: {X}", pure: bool = True) -> rxe.IRModule:
    """A module of `main` with these lines and of private functions `head: lines`."""
    text = "@I.ir_module\nclass M:\n" + _function(f"main({params})", main, "" if pure else "pure=False")
    for callee in callees:
        head, lines = callee.split(":\n", 1)
        text += _function(head, lines, "private=True" if pure else "private=True, pure=False")
    return rxe.normalize(rxe.parse(text))


def _function(head: str, lines: str, options: str) -> str:
    indented = "".join(f"        {line}\n" for line in ("cls = M", *lines.splitlines()))
    return f"    @R.function({options})\n    def {head}:\n{indented}".replace("@R.function()", "@R.function")


def after(before: rxe.IRModule, name: str) -> rxe.IRModule:
    """The module after a pass. Normalizing it changes nothing, and it is well-formed."""
    result = rxe.apply_pass(before, name)
    assert rxe.normalize(result) is result
    assert rxe.well_formed(result)
    return result


def params(module: rxe.IRModule, name: str) -> list[str]:
    return [param.name for param in module[name].params]


@pytest.mark.parametrize("name", PASSES)
def test_the_meaning_stays(name: str) -> None:
    from relax_explorer.core.session.inputs import generated_inputs

    count = 0
    for title, text in programs().items():
        if not title.startswith("signatures: ") or any(word in text for word in ENDLESS):
            continue
        before = rxe.normalize(rxe.parse(text))
        args = generated_inputs(before["main"], {})[0]
        for old, new in zip(
            _arrays(rxe.run(before, "main", args)),
            _arrays(rxe.run(after(before, name), "main", args)),
            strict=True,
        ):
            np.testing.assert_array_equal(old, new)
        count += 1
    assert count >= 12


def _arrays(value: object) -> list[object]:
    return [leaf for item in value for leaf in _arrays(item)] if isinstance(value, tuple) else [value]


def test_a_parameter_that_only_a_nested_function_or_a_branch_reads_stays() -> None:
    nested = f"g(a: {X}, b: {X}) -> {X}:\n@R.function\ndef h(c: {X}) -> {X}:\n    d = R.add(c, b)\n    return d\ne = h(a)\nreturn e"
    branch = f'f(a: {X}, b: {X}, c: R.Tensor((), "bool"), d: {X}) -> {X}:\nif c:\n    e = R.add(b, b)\nelse:\n    e = R.exp(b)\nreturn e'
    given = f'x: {X}, c: R.Tensor((), "bool")'
    result = after(
        module("a = cls.f(x, x, c, x)\nb = cls.g(a, x)\nreturn b", branch, nested, params=given), PASSES[0]
    )
    assert params(result, "f") == ["b", "c"]
    assert params(result, "g") == ["a", "b"]


@pytest.mark.parametrize(
    ("callee", "left"),
    [
        (f'f(a: R.Tensor(("n",), "float32"), b: R.Tensor(("n",), "float32")) -> {X}:\nreturn R.zeros((2,), "float32")', []),
        ('f(a: R.Tensor(("n",), "float32"), b: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):\nreturn a', ["a", "b"]),
        ('f(a: R.Tensor((3,), "float32"), b: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):\nreturn b', ["a", "b"]),
    ],
)  # fmt: skip
def test_a_check_of_an_argument_stays(callee: str, left: list[str]) -> None:
    """Nothing proves that `x` and `y` are equally long, nor that `x` has 3 elements."""
    given = 'x: R.Tensor(("k",), "float32"), y: R.Tensor(("m",), "float32")'
    before = module("a = cls.f(x, y)\nreturn a", callee, params=given)
    result = after(before, PASSES[0])
    assert params(result, "f") == (left or ["a", "b"])
    same = module("a = cls.f(x, x)\nreturn a", callee, params=given)
    if "(3," not in callee:
        assert params(after(same, PASSES[0]), "f") == left[:1]


def test_a_length_is_passed_as_a_shape_by_each_call() -> None:
    callee = 'f(a: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):\nn = T.int64()\nreturn R.zeros(R.shape([n]), "float32")'
    before = module(
        "w = R.concat((x, y))\na = cls.f(w)\nb = cls.f(x)\nreturn (a, b)", callee,
        params='x: R.Tensor(("k",), "float32"), y: R.Tensor((5,), "float32")',
    )  # fmt: skip
    result = after(before, PASSES[0])
    assert "cls.f(R.shape([k + 5]))" in result.script()
    assert params(result, "f") == ["param_n"]
    assert "concat" not in result.script()
    one, two = rxe.run(result, "main", [np.ones(2, "float32"), np.ones(5, "float32")])
    assert (one.shape, two.shape) == ((7,), (2,))


def test_an_unknown_length_keeps_the_parameter() -> None:
    callee = 'f(a: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):\nn = T.int64()\nreturn R.zeros(R.shape([n]), "float32")'
    before = module("a = cls.f(x)\nreturn a", callee, params='x: R.Tensor("float32", ndim=1)')
    assert after(before, PASSES[0]) is before


@pytest.mark.parametrize("use", ["q = cls.f\nb = q(x, t)", "q = (cls.f, x)\nb = q[1]", "b = cls.g(cls.f)"])
@pytest.mark.parametrize("name", PASSES)
def test_a_function_used_as_a_value_stays(name: str, use: str) -> None:
    two = f"R.Tuple({X}, {X})"
    callee = f"f(a: {X}, b: {two}) -> {two}:\nc = R.add(a, a)\nreturn (c, a)"
    takes = f'g(h: R.Callable(({X}, {two}), {two}, True)) -> {X}:\nreturn R.zeros((2,), "float32")'
    before = module(f"t = (x, y)\na = cls.f(x, t)\na0 = a[0]\n{use}\nreturn (a0, b)", callee, takes)
    assert after(before, name)["f"] is before["f"]


def test_a_call_with_an_effect_stays_without_its_outputs() -> None:
    callee = f"f(a: {X}) -> R.Tuple({X}, {X}):\n_ = R.print(a)\nb = R.add(a, a)\nreturn (b, a)"
    result = after(module("t = cls.f(x)\nreturn x", callee, pure=False), PASSES[1])
    assert "cls.f(x)" in result.script()
    assert "R.add" not in result.script()
    assert result["f"].ret_struct_info.fields == ()


class Noted(rxe.ops.Op, name="test.noted"):
    """An operator with an effect that never stops a run."""

    x: Tensor = rxe.ops.operand("any tensor")  # type: ignore[name-defined]  # noqa: F821  # a word of declarations
    pure = False
    writes = ()
    stops = rxe.ops.Stops.DTYPES

    @staticmethod
    def infer(at: rxe.ops.Site, x: StructInfo) -> StructInfo:
        """The StructInfo of the operand."""
        return x


def test_an_effect_that_cannot_stop_a_run_stays() -> None:
    rxe.ops.register(Noted)
    callee = f"f(a: {X}) -> R.Tuple({X}):\nb = R.op('test.noted', a)\nreturn (b,)"
    result = after(module("t = cls.f(x)\nreturn x", callee, pure=False), PASSES[1]).script()
    rxe.ops.unregister(Noted.name)
    assert "cls.f(x)" in result


@pytest.mark.parametrize("value", ["R.add(a, a)", "R.floor_divide(a, a)"])
def test_a_call_without_outputs_is_no_reader(value: str) -> None:
    """The output of the block is read by the call alone. It stays an output if the call may stop the run."""
    callee = f"f(a: {X.replace('float32', 'int32')}) -> R.Tuple({X.replace('float32', 'int32')}):\nb = {value}\nreturn (b,)"
    lines = "with R.dataflow():\n    v = R.astype(x, 'int32')\n    w = R.add(v, v)\n    R.output(v, w)\nt = cls.f(v)\nreturn w"
    result = after(module(lines, callee), PASSES[1]).script()
    assert ("cls.f(v)" in result) is ("divide" in value)
    assert ("R.output(v, w)" in result) is ("divide" in value)


def test_a_tuple_in_a_tuple_is_bound_by_itself() -> None:
    callee = f"f(a: R.Tuple(R.Tuple({X}, {X}), {X})) -> R.Tuple({X}, {X}):\nreturn a[0]"
    result = after(module("t = (x, y)\nu = (t, y)\na = cls.f(u)\nreturn a", callee), PASSES[2])
    assert params(result, "f") == ["a_0_0", "a_0_1", "a_1"]
    assert [(b.var.name, len(b.value.fields)) for b in bindings(result["f"])] == [("a_0", 2)]


@pytest.mark.parametrize(
    "use", ["u = t\na = u[0]", "a = t[0]\nb = cls.g(t)", "v = (t, x)\na = t[0]\nb = v[0]"]
)
def test_a_result_that_is_used_as_a_whole_keeps_its_fields(use: str) -> None:
    two = f"R.Tuple({X}, {X})"
    callees = (f"f(a: {X}) -> {two}:\nb = R.add(a, a)\nreturn (b, a)", f"g(t: {two}) -> {two}:\nreturn t")
    last = "b" if "b =" in use else "a"
    result = after(module(f"t = cls.f(x)\n{use}\nreturn (a, {last})", *callees), PASSES[1])
    assert len(result["f"].ret_struct_info.fields) == 2


def test_an_empty_tuple_is_no_argument() -> None:
    callee = f"f(a: {X}, t: R.Tuple()) -> {X}:\nreturn R.add(a, a)"
    result = after(module("t = R.tuple()\na = cls.f(x, t)\nreturn a", callee), PASSES[2])
    assert params(result, "f") == ["a"]


def test_new_parameters_have_unused_names() -> None:
    callee = f"f(a: R.Tuple({X}, {X}), a_0: {X}) -> {X}:\nb = a[0]\nreturn R.add(b, a_0)"
    result = after(module("t = (x, y)\na = cls.f(t, y)\nreturn a", callee), PASSES[2])
    assert len(set(params(result, "f"))) == 3


@pytest.mark.parametrize("name", PASSES)
def test_a_module_with_nothing_to_do_is_the_same_object(name: str) -> None:
    before = module("a = cls.f(x)\nreturn a", f"f(a: {X}) -> {X}:\nb = R.add(a, a)\nreturn b")
    assert rxe.apply_pass(before, name) is before


@pytest.mark.parametrize("name", PASSES)
def test_each_new_binding_comes_from_an_old_one(name: str) -> None:
    two = f"R.Tuple({X}, {X})"
    callee = f"f(a: {two}, b: {X}) -> {two}:\nc = a[0]\nd = R.add(c, c)\nreturn (d, d)"
    before = module("t = (x, y)\na = cls.f(t, y)\nb = a[1]\nreturn b", callee)
    outcome = run_step(steps(name)[0], before)
    old = {binding for fn in before.relax_functions.values() for binding in bindings(fn)}
    known = set(old)
    for item in outcome.rewrites:
        if known.intersection(item.before):
            known.update(item.after)
    main = list(bindings(outcome.module["main"]))
    assert outcome.module is not before
    assert known.issuperset(main)


VALUE = """
@I.ir_module
class Module:
    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32"), t: R.Tuple(R.Tensor((2,), "float32"))) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        y = R.exp(x)
        return (y, x)

    @R.function
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
        cls = Module
        t = (x,)
        a = cls.f(x, t)
        b = a[0]
{lines}
"""
VALUES = {
    "called only": ("d = cls.f(b, t)", "e = d[0]", "return (b, e)"),
    "a copy": ("g = cls.f", "d = g(b, t)", "return (b, d)"),
    "an argument": ('d = R.call_packed("use", cls.f, ty_args=R.Any)', "return (b, d)"),
    "a field": ("d = (cls.f, b)", "return d"),
    "a field of a field": ("d = (b, (b, cls.f))", "return d"),
    "the result": ("return cls.f",),
    "the result of a nested function": (
        "@R.function", "def h() -> R.Any:", "    return cls.f", "k = h()", "return k",
    ),
    "in a branch": ("if c:", "    g = cls.f", "    d = g(b, t)", "    e = d[0]", "else:", "    e = b", "return e"),
    "in a nested function": (
        '@R.function', 'def h(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):', "    g = cls.f", "    u = (z,)",
        "    d = g(z, u)", "    e = d[0]", "    return e", "k = h(b)", "return k",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", ["ExpandTupleArguments", "RemoveUnusedParameters", "RemoveUnusedOutputs", "FuseTIR"]
)
@pytest.mark.parametrize("where", VALUES)
def test_a_function_that_is_a_value_anywhere_keeps_its_signature(where: str, name: str) -> None:
    lines = "".join(f"        {line}\n" for line in VALUES[where])
    before = rxe.normalize(rxe.parse(VALUE.format(lines=lines)))
    after = rxe.apply_pass(before, name)
    same = after["f"].struct_info is before["f"].struct_info
    assert same is (where != "called only")


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("u = t[1]\nreturn u", 1),
        ("u = t[0]\nreturn u", 1),
        ("u = t[0]\nv = t[1]\nw = R.add(u, v)\nreturn w", 2),
        ("return t", 2),
        ("u = t[1]\nv = (u, t)\nreturn v", 2),
        ("if c:\n    u = t[1]\n    w = u\nelse:\n    w = z\nreturn w", 1),
        ("if c:\n    w = t\nelse:\n    w = (z, z)\nreturn w", 2),
        ("@R.function\ndef deeper() -> R.Object:\n    u = t[1]\n    return u\nw = deeper()\nreturn w", 1),
        ("@R.function\ndef deeper() -> R.Object:\n    return t\nw = deeper()\nreturn w", 2),
    ],
)
def test_outputs_that_a_nested_function_reads_stay_and_no_others(body: str, left: int) -> None:
    two = 'R.Tensor((2,), "float32")'
    lines = body.replace("\n", "\n            ")
    text = f"""
@I.ir_module
class M:
    @R.function(private=True)
    def both(p: {two}, q: {two}) -> R.Tuple({two}, {two}):
        a = R.sin(p)
        return (a, q)
    @R.function
    def main(x: {two}, y: {two}, c: R.Tensor((), "bool")):
        t = M.both(x, y)
        @R.function
        def inner(z: {two}) -> R.Object:
            {lines}
        w = inner(y)
        return w
"""
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, "RemoveUnusedOutputs")
    assert rxe.well_formed(after)
    signature = after.script().split("def both(")[1].split(":\n")[0]
    assert signature.split("-> ")[1].count("R.Tensor") == left
    inputs = [np.array([1, 2], "float32"), np.array([3, 4], "float32"), np.array(True)]
    assert str(rxe.run(after, "main", inputs)) == str(rxe.run(before, "main", inputs))


@pytest.mark.parametrize(
    ("read", "left"),
    [("R.shape([k + 1])", "x: {}, k: T.int64"), ("R.prim_value(k * 2)", "x: {}, k: T.int64"), ("x", "x: {}")],
)
def test_a_scalar_that_tells_a_length_stays(read: str, left: str) -> None:
    callee = f'f(x: {X}, k: T.int64, j: T.int64):\nb = R.call_packed("test.f", x, {read}, ty_args=(R.Any,))\nreturn b'
    new = after(module("a = cls.f(x, 3, 4)\nreturn a", callee, pure=False), "RemoveUnusedParameters")
    assert f"def f({left.format(X.replace(', ', ', dtype='))}) ->" in new.script()
    assert ("cls.f(x, R.prim_value(3))" if "k" in left else "cls.f(x)") in new.script()


def test_the_profile_tvm_passes_the_length_of_a_scalar_again() -> None:
    callee = f'f(x: {X}, k: T.int64, j: T.int64):\nb = R.call_packed("test.f", x, R.shape([k]), ty_args=(R.Any,))\nreturn b'
    given = module("a = cls.f(x, 3, 4)\nreturn a", callee, pure=False)
    new = rxe.apply_pass(given, "RemoveUnusedParameters", profile="tvm")
    assert "cls.f(x, R.prim_value(3), R.shape([3]))" in new.script()
