"""The effect of each pass on small programs: before and after, the same object if nothing changes, contracts and options."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.prim import IntImm
from relax_explorer.core.ir.struct_info import TensorStructInfo
from relax_explorer.core.ir.walk import all_blocks, bindings, map_block, map_sequences
from relax_explorer.core.passes import fold_constant
from relax_explorer.core.passes.pass_order import explain
from relax_explorer.core.passes.pipeline import run, run_step, steps
from relax_explorer.core.phases.module_properties import NO_HIGH_LEVEL_OPS, NORMAL_FORM, WELL_FORMED, holding
from tests.support.oracle import Oracle
from tests.support.ready_modules import Held
from tests.support.ready_modules import after as after_pass
from tests.support.roundtrip import SAMPLES, function


class Counted(rxe.ops.Op, name="test.counted"):
    """Returns its operand; declared impure, as if it counted its calls."""

    x: Tensor = rxe.ops.operand("any tensor")  # type: ignore[name-defined]  # noqa: F821  # a word of declarations
    pure = False
    writes = ()

    @staticmethod
    def infer(at: Any, x: Any) -> Any:
        """The StructInfo of the operand."""
        return x

    @staticmethod
    def evaluate(x: Any) -> Any:
        """The operand."""
        return x


class Pure(Counted, name="test.pure"):
    """The same, declared pure."""

    pure = True


class Lengths(rxe.ops.Op, name="test.lengths"):
    """The lengths of a shape, as a tensor."""

    shape: Shape = rxe.ops.operand("the lengths")  # type: ignore[name-defined]  # noqa: F821  # a word of declarations

    @staticmethod
    def infer(at: Any, shape: Any) -> Any:
        """One length."""
        return TensorStructInfo((IntImm(1),), dtype("int64"))

    @staticmethod
    def evaluate(shape: Any) -> Any:
        """The lengths."""
        return np.array(shape)


DATAFLOW = """
with R.dataflow():
    same = x
    a = R.exp(same)
    b = R.exp(x)
    unused = R.sin(x)
    pair = (a, b)
    first = pair[0]
    lv = R.add(first, b)
    gv = lv
    R.output(gv)
return gv
"""


def body(module: rxe.IRModule) -> list[str]:
    """The statements of `main`, without annotations."""
    text = module.script().split("def main", 1)[1].split("\n", 1)[1]
    return [
        re.sub(r"^(\w+): R\..*? = (?=[R(\w])", r"\1 = ", line.strip())
        for line in text.splitlines()
        if line.strip()
    ]


UNKNOWN = 'x: R.Tensor((2, 3), "float32"), u: R.Tensor("float32", ndim=1)'


FOLD = "FoldConstant{everywhere=True}"


def after(text: str, *passes: str) -> rxe.IRModule:
    return rxe.run_pipeline(rxe.normalize(rxe.parse(text)), list(passes))


def test_canonicalize_propagates_copies_and_tuple_fields() -> None:
    lines = body(after(function(DATAFLOW), "CanonicalizeBindings"))
    assert "a = R.exp(x)" in lines
    assert "gv = R.add(a, b)" in lines
    assert not any(line.startswith(("same", "first", "lv =")) for line in lines)


def test_a_field_of_a_tuple_argument_is_read_directly_after_inlining() -> None:
    text = """
@R.function(private=True)
def f(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))):
    return R.exp(t[1])

@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    return f((x, y))
"""
    assert body(after(text, "InlinePrivateFunctions"))[0].endswith("= R.exp(y)")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # A field of a tuple in a tuple, also through a field.
        ("t = ((x, w), x)\nu = t[0]\nv = u[1]\nreturn v", "return w"),
        ("t = ((x, w), x)\nv = t[0][1]\nreturn v", "return w"),
        # A copy of a shape variable, but not of a scalar that is computed.
        ("a = R.prim_value(n)\nreturn R.full(R.shape([n]), R.const(1.0)), a", "return (gv, n)"),
        ("a = R.prim_value(n + 1)\nreturn a", "return a"),
        # A constant in a tuple is read directly; the field itself stays.
        ("t = (x, R.const(1.0))\nq = t[1]\nr = R.exp(q)\nreturn r", "q = t[1]"),
        ("t = (x, R.const(1.0))\nq = t[1]\nr = R.exp(q)\nreturn r", 'r = R.exp(R.const(1.0, "float32"))'),
        # Unread constants of a block, and those that only it reads, are no outputs.
        (
            "with R.dataflow():\n    k = R.const(1.0)\n    l = R.const(2.0)\n    z = R.add(x, l)\n    R.output(k, l, z)\nreturn z",
            "R.output(z)",
        ),
        (
            "with R.dataflow():\n    k = R.const(1.0)\n    z = R.add(x, k)\n    R.output(k, z)\nreturn (z, k)",
            "R.output(k, z)",
        ),
    ],
)
def test_what_is_read_directly(lines: str, expected: str) -> None:
    params = 'x: R.Tensor((2, 3), "float32"), w: R.Tensor((2,), "float32"), y: R.Tensor(("n",), "float32")'
    text = function(f"n = T.int64()\n{lines}", params)
    assert expected in body(after(text, "CanonicalizeBindings"))


@pytest.mark.parametrize(
    ("block", "rest", "expected"),
    [
        # Two equal values of a block: what follows reads the first output.
        ("a = R.exp(x)\nb = R.exp(x)\nR.output(b)", "c = R.exp(x)\nreturn (b, c)", "c = b"),
        ("a = R.exp(x)\nb = R.exp(x)\nd = R.exp(x)\nR.output(b, d)", "c = R.exp(x)\nreturn (d, c)", "c = b"),
        (
            "a = R.exp(x)\nb = R.exp(x)\nR.output(b)",
            "with R.dataflow():\n    c = R.exp(x)\n    R.output(c)\nreturn c",
            "c = b",
        ),
        ("a = R.exp(x)\nb = R.sin(a)\nR.output(b)", "c = R.exp(x)\nreturn (b, c)", "c = R.exp(x)"),
    ],
)
def test_outputs_are_reused_behind_their_block(block: str, rest: str, expected: str, oracle: Oracle) -> None:
    lines = (
        "with R.dataflow():\n"
        + "".join(f"    {line}\n" for line in block.splitlines())
        + "_ = R.print(x)\n"
        + rest
    )
    text = function(lines).replace("@R.function", "@R.function(pure=False)")
    module = after(text, "EliminateCommonSubexpr")
    assert expected in body(module)
    assert oracle.well_formed(module.script()).get().well_formed


TUPLE = """with R.dataflow():
    a = R.exp(x)
    t = ((a, x), x)
    R.output(t)
_ = R.print(x)
"""


@pytest.mark.parametrize(
    ("rest", "output", "result"),
    [
        ("k = t[0]\nl = k[0]\nreturn l", "l", "return l"),
        ("k = t[0]\nl = k[0]\nreturn (l, l, t)", "l", "return (l, l, t)"),
        ("k = t[0][0]\nl = t[0][0]\nreturn (l, k)", "k", "return (k, k)"),
        ("k = t[0][0]\nl = t[0][1]\nreturn l", "", "return x"),
        ("k = t[0][0]\nl = k\nreturn R.sin(l)", "k", "gv1 = R.sin(k)"),
        ("if c:\n    r = t[0][0]\nelse:\n    r = x\nreturn r", "r_then", "r = r_then"),
        (
            "with R.dataflow():\n    k = t[0][0]\n    l = R.exp(k)\n    R.output(l)\nreturn l",
            "k",
            "l = R.exp(k)",
        ),
        ("@R.function\ndef g(y: R.Object):\n    k = t[0][0]\n    return k\nreturn g(x)", "k", "return k"),
        ('k: R.Tensor("float32", ndim=2) = t[0][0]\nreturn k', "k", "return k"),
    ],
)
def test_a_dataflow_variable_that_a_tuple_carries_outside_becomes_an_output(
    rest: str, output: str, result: str, oracle: Oracle
) -> None:
    text = function(TUPLE + rest, f"{UNKNOWN}, c: R.Tensor((), 'bool')").replace(
        "@R.function\n    def main", "@R.function(pure=False)\n    def main"
    )
    module = after(text, "CanonicalizeBindings")
    assert f"R.output({', '.join([*output.split(), 't'])})" in body(module)  # a field of `t` is read, too
    assert result in body(module)
    assert rxe.well_formed(module, profile="tvm")
    assert oracle.well_formed(module.script()).get().well_formed


@pytest.mark.parametrize(("result", "outputs"), [("x", "t"), ("k", "k, t"), ("(o, k)", "k, t")])
def test_an_output_that_renames_what_a_tuple_carries_outside_goes(result: str, outputs: str) -> None:
    lines = f"with R.dataflow():\n    a = R.exp(x)\n    t = (a, x)\n    o = t[0]\n    R.output(t, o)\n_ = R.print(x)\nk = t[0]\nreturn {result}"
    text = function(lines).replace("@R.function", "@R.function(pure=False)")
    module = after(text, "CanonicalizeBindings")
    assert f"R.output({outputs})" in body(module)
    assert body(module)[-1] == f"return {result.replace('o', 'k')}"


@pytest.mark.parametrize(
    ("lines", "result"),
    [
        ("a = R.match_cast(R.const([1.0]), R.Tensor((1,), 'float32'))\nreturn a", "return metadata"),
        ("a = R.match_cast(R.const([1.0]), R.Tensor('float32', ndim=1))\nreturn a", "return a"),
        (
            "a = R.match_cast(R.const([1.0]), R.Tensor((1,), 'float32'))\n_ = R.call_packed('increment', a, sinfo_args=R.Tuple)\nreturn a",
            "return a",
        ),
        (
            "k = R.const([1.0])\na = R.match_cast(k, R.Tensor((1,), 'float32'))\nb = a\nreturn b",
            "return metadata",
        ),
        ("t = (x, R.const([1.0]))\na = t[1]\nb = a\nreturn b", "return metadata"),
    ],
)
def test_a_constant_that_a_match_cast_checks(lines: str, result: str) -> None:
    text = function(lines).replace("@R.function", "@R.function(pure=False)")
    *rest, last = body(after(text, "CanonicalizeBindings"))
    assert last.startswith(result)
    # What only renames a constant goes, but not the value of a constant itself.
    assert any("match_cast" in line for line in rest) is lines.startswith("a = ")
    assert not any(line.startswith("b = ") for line in rest)


def test_a_field_that_is_overwritten_is_not_read_as_a_constant() -> None:
    lines = (
        't = (x, R.const([1.0]))\nq = t[1]\n_ = R.call_packed("increment", q, sinfo_args=R.Tuple)\nreturn q'
    )
    text = function(lines).replace("@R.function", "@R.function(pure=False)")
    assert "return q" in body(after(text, "CanonicalizeBindings"))


def test_a_match_cast_that_checks_stays() -> None:
    text = function(
        "R.match_cast(x, R.Tensor((2, 3), 'float32'))\nR.match_cast(u, R.Tensor((2,), 'float32'))\nreturn x",
        UNKNOWN,
    )
    assert body(after(text, "CanonicalizeBindings")) == [
        '_ = R.match_cast(u, R.Tensor((2,), dtype="float32"))', "return x",
    ]  # fmt: skip


def test_a_match_cast_that_says_less_of_its_output_is_no_copy() -> None:
    cast = 'gv: R.Tensor("float32", ndim=1) = R.match_cast(lv, R.Tensor((2,), "float32"))'
    text = function(
        f"with R.dataflow():\n    lv = R.exp(u)\n    {cast}\n    R.output(gv)\nreturn gv", UNKNOWN
    )
    module = after(text, "CanonicalizeBindings")
    assert sum("R.match_cast(lv" in line for line in body(module)) == 1
    assert rxe.well_formed(module)


def test_a_match_cast_of_what_no_variable_holds_keeps_its_name() -> None:
    shape, cast = (
        "R.match_cast(R.shape([2, 3]), R.Shape([2, 3]))",
        'R.match_cast(x, R.Tensor(s, dtype="float32"))',
    )
    module = after(function(f"s = {shape}\ny = {cast}\nreturn y"), "CanonicalizeBindings")
    assert body(module) == [f"s = {shape}", f"y = {cast}", "return y"]
    assert rxe.well_formed(module)


def test_a_branch_that_is_one_variable_is_normalized_first() -> None:
    lines = "same = x\nif c:\n    z = same\nelse:\n    z = R.exp(same)\nreturn z"
    module = rxe.normalize(
        rxe.parse(function(lines, 'x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")'))
    )
    main = module["main"]
    (block,) = main.body.blocks
    same, chosen = block.bindings
    short = replace(chosen, value=replace(chosen.value, true_branch=chosen.value.true_branch.body))
    blocks = (replace(block, bindings=(same, short)),)
    raw = module.having({"main": replace(main, body=replace(main.body, blocks=blocks))})
    assert not NORMAL_FORM.holds(raw)
    for made in (
        rxe.apply_pass(raw, "CanonicalizeBindings"),
        rxe.run_pipeline(raw, ["CanonicalizeBindings"]),
    ):
        assert next(bindings(made["main"])).value.true_branch.body.name == "x"


def test_common_subexpressions_are_computed_once() -> None:
    lines = body(after(function(DATAFLOW), "CanonicalizeBindings", "EliminateCommonSubexpr"))
    assert sum("R.exp" in line for line in lines) == 1
    assert "gv = R.add(a, a)" in lines


def test_memory_is_asked_for_twice() -> None:
    alloc = 'R.builtin.alloc_tensor(R.shape([2]), R.dtype("float32"), R.prim_value(0))'
    lines = body(after(function(f"a = {alloc}\nb = {alloc}\nreturn (a, b)"), "EliminateCommonSubexpr"))
    assert sum("alloc_tensor" in line for line in lines) == 2


def test_a_function_from_outside_stays() -> None:
    text = PRIVATE.replace("    @R.function", '    other = R.ExternFunc("test.other")\n    @R.function', 1)
    assert set(after(text, "DeadCodeElimination").functions) == {"other", "main"}


PRIVATE = """
@I.ir_module
class Module:
    @R.function(private=True)
    def unused(x: R.Tensor((2,), "float32")):
        return x
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return x
"""


def test_fields_are_of_their_tuple_and_tuples_count_unless_told_otherwise() -> None:
    text = function("t = (x, u)\nw = (u, x)\nv = (x, u)\na = t[0]\nb = w[0]\nreturn (t, w, v, a, b)", UNKNOWN)
    lines = body(after(text, "EliminateCommonSubexpr"))
    assert [line for line in lines if line.startswith(("v =", "b ="))] == ["v = t", "b = w[0]"]
    assert "v = (x, u)" in body(after(text, "EliminateCommonSubexpr{call_only=True}"))


def test_what_is_reached_from_the_entries_stays() -> None:
    text = PRIVATE.replace("main", "other") + PRIVATE.split("    @R.function\n")[1].join(
        ["    @R.function\n", ""]
    )
    assert set(after(text, "DeadCodeElimination").functions) == {"other", "main"}
    assert set(after(text, 'DeadCodeElimination{entry_functions="main"}').functions) == {"main"}


def test_a_million_elements_are_folded_and_no_more() -> None:
    zero = 'R.const(0, "int8")'
    for length, folded in ((1 << 20, True), ((1 << 20) + 1, False)):
        module = after(function(f"a = R.full(R.shape([{length}]), {zero})\nreturn a"), FOLD)
        assert (type(module["main"].body.body).__name__ == "Constant") is folded
        tvm = after(
            function(f"a = R.full(R.shape([{length}]), {zero})\nreturn a"), f'{FOLD[:-1]},profile="tvm"}}'
        )
        assert type(tvm["main"].body.body).__name__ == "Constant"


@pytest.mark.parametrize("limit", [3, 4])
@pytest.mark.parametrize(
    ("value", "folded"),
    [
        ("R.negative(R.const([1, 2, 3, 4]))", True),  # as many elements as the operand
        ("R.concat((R.const([1, 2]), R.const([3, 4])))", True),
        ("R.broadcast_to(R.const([1, 2, 3, 4]), (1, 4))", True),
        ("R.broadcast_to(R.const([1, 2]), (2, 2))", False),
        ("R.split(R.const([1, 2, 3, 4, 5, 6, 7, 8]), 2)[0]", True),
        ("R.call_tir(cls.copy, (R.const([1, 2, 3, 4], 'float32'),), R.Tensor((4,), 'float32'))", True),
        ("R.call_tir(cls.spread, (R.const([1], 'float32'),), R.Tensor((4,), 'float32'))", False),
    ],
)
def test_a_large_value_is_folded_if_its_operands_were_as_large(
    value: str, folded: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the program does not grow. Weights that a model transforms are such values."""
    monkeypatch.setattr(fold_constant, "SIZE_LIMIT", limit)
    text = LARGE.replace("VALUE", value)
    left = [binding for binding in bindings(after(text, FOLD)["main"]) if type(binding.value) is e.Call]
    assert (not left) is (folded or limit == 4)


LARGE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def copy(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                b[v] = a[v]
    @T.prim_func(private=True)
    def spread(a: T.Buffer((1,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                b[v] = a[0]
    @R.function
    def main():
        cls = Module
        with R.dataflow():
            a = VALUE
            R.output(a)
        return a
"""


def test_a_thousand_elements_of_an_operator_without_tensors_are_folded_and_no_more() -> None:
    for length, folded in ((1024, True), (1025, False)):
        module = after(function(f'a = R.zeros(R.shape([{length}]), "int8")\nreturn a'), FOLD)
        assert (type(module["main"].body.body).__name__ == "Constant") is folded


KERNELS = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def half(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(2), i)
                b[vi] = a[vi] * T.float32(0.5)

    @T.prim_func(private=True, s_tir=True)
    def outside(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(2), i)
                b[vi] = a[vi + T.int64(1)]

    @T.prim_func(private=True, s_tir=True)
    def endless(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
        while T.bool(True):
            b[T.int64(0)] = a[T.int64(0)]

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        a = R.call_tir(cls.KERNEL, (R.const([1.0, 2.0], "float32"),), out_ty=R.Tensor((2,), "float32"))
        b = R.call_tir(cls.KERNEL, (a,), out_ty=R.Tensor((2,), "float32"))
        c = R.call_tir(cls.half, (x,), out_ty=R.Tensor((2,), "float32"))
        return (b, c)
"""


@pytest.mark.parametrize(("kernel", "calls"), [("half", 1), ("outside", 3), ("endless", 3)])
def test_kernels_on_constants_are_folded_unless_they_stop(
    kernel: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relax_explorer.core.exec.kernels.SECONDS", 0.2)
    folded = after(KERNELS.replace("KERNEL", kernel), "FoldConstant")
    assert sum("R.call_tir" in line for line in body(folded)) == calls
    if kernel == "half":
        b, c = rxe.run(folded, "main", [np.array([4, 8], np.float32)])
        np.testing.assert_array_equal([b, c], [[0.25, 0.5], [2, 4]])


def test_dead_code_goes_and_effects_stay() -> None:
    lines = body(after(function(DATAFLOW), "DeadCodeElimination"))
    assert not any("R.sin" in line for line in lines)
    text = function(
        'y = R.exp(x)\nR.print(x, format="")\nz = R.match_cast(x, R.Tensor((2, 3), "float32"))\nreturn x'
    )
    lines = body(after(text, "DeadCodeElimination"))
    assert any("R.print" in line for line in lines)
    assert any("match_cast" in line for line in lines)
    assert not any("R.exp" in line for line in lines)


def test_what_an_effect_reads_stays() -> None:
    lines = body(
        after(
            function("a = R.exp(x)\nb = R.sin(a)\n_ = R.print(b)\nc = R.cos(x)\nreturn x"),
            "DeadCodeElimination",
        )
    )
    assert [line.split("(")[0] for line in lines] == ["a = R.exp", "b = R.sin", "R.print", "return x"]


@pytest.mark.parametrize(
    ("body", "once"),
    [
        ("t = (x, R.exp(x))\na = t[0]\nb = t[1]\nreturn R.add(a, b)", False),
        ("t = (x, R.exp(x))\na = t[1]\nb = t[1]\nreturn R.add(a, b)", True),
        ("a = (x, x)\nb = (x, R.exp(x))\nreturn (a, b)", False),
        ("a = R.permute_dims(x, axes=[0, 1])\nb = R.permute_dims(x, axes=[1, 0])\nreturn (a, b)", False),
        ("a = R.reshape(x, R.shape([6]))\nb = R.reshape(x, R.shape([6]))\nreturn (a, b)", True),
        ("a = R.reshape(x, R.shape([6]))\nb = R.reshape(x, R.shape([3, 2]))\nreturn (a, b)", False),
        ("a = R.add(x, R.const(1.0))\nb = R.add(x, R.const(2.0))\nreturn (a, b)", False),
        ("a = R.add(x, R.const(1.0))\nb = R.add(x, R.const(1.0))\nreturn (a, b)", True),
        ('a = R.add(x, metadata["ir.GenericConst"][0])\nb = R.add(x, metadata["ir.GenericConst"][1])\nreturn (a, b)', False),
        ('a = R.add(x, metadata["ir.GenericConst"][0])\nb = R.add(x, metadata["ir.GenericConst"][0])\nreturn (a, b)', True),
        ("a = R.full((2, 3), R.const(1.0), 'float32')\nb = R.full((2, 3), R.const(1.0), 'float16')\nreturn (a, b)", False),
        ("a = F('f', x)\nb = F('g', x)\nreturn (a, b)", False),
        ("a = F('f', R.str('a'))\nb = F('f', R.str('b'))\nreturn (a, b)", False),
        ("a = F('f', R.dtype('int8'))\nb = F('f', R.dtype('int16'))\nreturn (a, b)", False),
        ("a = F('f', R.shape([1]))\nb = F('f', R.shape([2]))\nreturn (a, b)", False),
        ("a = F('f', R.shape([2]))\nb = F('f', R.shape([2]))\nreturn (a, b)", True),
        ("a = F('f', R.prim_value(1))\nb = F('f', R.prim_value(2))\nreturn (a, b)", False),
        ("a = F('f', R.prim_value(2))\nb = F('f', R.prim_value(2))\nreturn (a, b)", True),
        ("a = R.const(1.0)\nb = R.const(1.0)\nreturn (a, b)", True),
        ("a = R.const(1.0)\nb = R.const(2.0)\nreturn (a, b)", False),
        ("a = R.const(1.0)\nb = R.const(1.0, 'float16')\nreturn (a, b)", False),
        ("a = R.shape([2])\nb = R.shape([2])\nreturn (a, b)", True),
        ("a = R.shape([2])\nb = R.shape([3])\nreturn (a, b)", False),
        ("a = R.prim_value(2)\nb = R.prim_value(2)\nreturn (a, b)", True),
        ("a = R.str('a')\nb = R.str('a')\nreturn (a, b)", True),
        ("a = R.str('a')\nb = R.str('b')\nreturn (a, b)", False),
        ("a = R.dtype('int8')\nb = R.dtype('int8')\nreturn (a, b)", True),
        ("a = R.const([1.0])\nb = R.const([1.0])\nI(b)\nreturn (a, b)", False),
        ("a = R.const([1.0])\nI(a)\nb = R.const([1.0])\nreturn (a, b)", False),
    ],
)  # fmt: skip
def test_only_equal_expressions_are_computed_once(body: str, once: bool) -> None:
    lines = re.sub(r"F\((.*)\)$", r"R.call_pure_packed(\1, sinfo_args=R.Object)", body, flags=re.MULTILINE)
    lines = re.sub(r"I\((.)\)", r'_ = R.call_packed("increment", \1, sinfo_args=R.Tuple)', lines)
    text = function(lines).replace("@R.function", "@R.function(pure=False)")
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "EliminateCommonSubexpr")
    copies = [b.var.name for b in bindings(after["main"]) if type(b.value).__name__ == "Var"]
    assert copies == (["b"] if once else [])


def test_private_functions_that_nothing_calls_are_dropped() -> None:
    module = after(rxe.load(SAMPLES[3]).script(), "DeadCodeElimination")
    assert "scale" in module.functions
    text = (
        rxe.load(SAMPLES[3])
        .script()
        .replace('R.call_tir(cls.scale, (x,), out_ty=R.Tensor((n, 4), dtype="float32"))', "x")
    )
    assert "scale" not in after(text, "DeadCodeElimination").functions


def test_constants_are_folded() -> None:
    text = function(
        'two = R.add(R.const(1.0, "float32"), R.const(1.0, "float32"))\ny = R.multiply(x, two)\nreturn y'
    )
    assert body(after(text, FOLD)) == ['y = R.multiply(x, R.const(2.0, "float32"))', "return y"]


def test_a_constant_in_a_variable_is_folded_like_one_without() -> None:
    text = function('one = R.const(1.0, "float32")\ntwo = R.add(one, one)\ny = R.multiply(x, two)\nreturn y')
    assert body(after(text, FOLD)) == ['y = R.multiply(x, R.const(2.0, "float32"))', "return y"]


def test_a_constant_whose_length_only_the_run_knows_is_no_operand_to_fold() -> None:
    lines = 'c: R.Tensor((n,), "float32") = R.const([1.0, 2.0], "float32")\nb = R.exp(c)\nreturn b'
    text = function(f"n = T.int64()\n{lines}", 'y: R.Tensor(("n",), "float32")')
    assert "b = R.exp(c)" in body(after(text, FOLD))


def test_shapes_are_constants_too_and_ranges_are_not() -> None:
    text = function(
        's = R.shape([2])\na = R.full(s, R.const(3.0, "float32"))\nb = R.reshape(a, R.shape([1, 2]))\n'
        'd = R.arange(R.prim_value(0), R.prim_value(3), R.prim_value(1), "int64")\nreturn (b, d)'
    )
    assert body(after(text, FOLD)) == [
        'd = R.arange(0, 3, 1, dtype="int64")',
        'return (metadata["ir.GenericConst"][0], d)',
    ]


def test_a_shape_of_constants_is_known_afterwards() -> None:
    text = function('s = R.tensor_to_shape(R.const([3, 2], "int64"))\ny = R.reshape(x, s)\nreturn y')
    assert str(after(text, FOLD)["main"].ret_struct_info) == 'R.Tensor(dtype="float32", ndim=2)'
    assert "y = R.reshape(x, R.shape([3, 2]))" in body(after(text, FOLD))


def test_operators_are_evaluated_in_dataflow_blocks() -> None:
    three = 'R.add(R.const(1.0, "float32"), R.const(2.0, "float32"))'
    text = function(
        f"with R.dataflow():\n    a = {three}\n    R.output(a)\nb = {three}\ns = R.tensor_to_shape(R.const([2], 'int64'))\nreturn (a, b, s)"
    )
    folded = 'R.const(3.0, "float32")'
    result = body(after(text, "FoldConstant"))
    assert result[-1] == f"return ({folded}, b, s)"
    assert result[-3].startswith("b = R.add(")
    assert body(after(text, FOLD))[-1] == f"return ({folded}, {folded}, s)"


PARAMS = (
    'y: R.Tensor(("n",), "float32"), x: R.Tensor((2, 3), "float32"), u: R.Tensor("float32", ndim=1), '
    'v: R.Tensor((), "float32"), large: R.Tensor((1025,), "float32")'
)


@pytest.mark.parametrize(
    ("value", "folded"),
    [
        ('R.zeros(R.shape([2]), "float32")', True),
        ('R.zeros(R.shape([n]), "float32")', False),
        ('R.full(R.shape([2, 2]), R.const(1.0), "float32")', True),
        ('R.op("test.lengths", R.shape([2]))', True),
        ('R.op("test.lengths", R.shape([T.Cast("int64", T.Cast("int32", n))]))', False),
        ("R.concat((R.const([1.0]), R.const([2.0])), axis=0)", True),
        ("R.concat((R.const([1.0]), y), axis=0)", False),
        ('R.call_pure_packed("f", R.const(1.0), sinfo_args=R.Tensor((), "float32"))', False),
        ('R.op("test.counted", R.const(1.0))', False),
        ('R.op("test.pure", R.const(1.0))', True),
        ("R.zeros_like(x)", True),
        ("R.zeros_like(y)", False),
        ("R.zeros_like(u)", False),
        ('R.ones_like(x, dtype="int8")', True),
        ("R.full_like(x, R.const(2.0))", True),
        ("R.full_like(x, v)", False),
        ("R.full_like(large, R.const(2.0))", True),
        ("R.zeros_like(large)", False),
        ("R.negative(x)", False),
        ("R.eye(3)", True),
        ("R.eye_like(x)", True),
        ("R.tril(R.const([[1.0, 2.0], [3.0, 4.0]]), 1)", True),
        ("R.strided_slice(R.const([1.0, 2.0]), axes=[0], begin=[1], end=[2])", True),
        ("R.strided_slice(R.const([1.0, 2.0]), axes=[0], begin=[n], end=[2])", False),
        ('R.arange(0, 3, 1, "int64")', False),
    ],
)
def test_what_is_folded(value: str, folded: bool) -> None:
    rxe.ops.register(Counted)
    rxe.ops.register(Pure)
    rxe.ops.register(Lengths)
    text = f"@R.function(pure=False)\ndef main({PARAMS}):\n    n = T.int64()\n    a = {value}\n    return a\n"
    result = after(text, FOLD)["main"].body.body
    rxe.ops.unregister(Counted.name)
    rxe.ops.unregister(Pure.name)
    rxe.ops.unregister(Lengths.name)
    assert (type(result).__name__ == "Constant") is folded
    assert not (folded and result.data.flags.writeable)


def test_dataflow_and_back() -> None:
    text = function("a = R.exp(x)\nb = R.add(a, x)\nreturn b")
    graph = after(text, "ConvertToDataflow")
    assert "with R.dataflow():" in body(graph)
    assert "R.output(b)" in body(graph)
    plain = rxe.apply_pass(graph, "ToNonDataflow")
    assert "with R.dataflow():" not in body(plain)
    assert rxe.structural_equal(plain, rxe.normalize(rxe.parse(text)))


def test_a_copy_in_a_new_dataflow_block_is_canonicalized() -> None:
    text = function("same = x\na = R.exp(same)\nreturn a")
    assert body(after(text, "ConvertToDataflow")) == [
        "with R.dataflow():",
        "a = R.exp(x)",
        "R.output(a)",
        "return a",
    ]


def test_no_dataflow_is_left_in_branches_and_inner_functions() -> None:
    text = """
@R.function
def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    if c:
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(a)
            R.output(b)
        y = R.add(b, b)
    else:
        y = R.cos(x)
    @R.function
    def g(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            p = R.exp(z)
            q = R.sin(p)
            R.output(q)
        return q
    w = g(y)
    return w
"""
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, "ToNonDataflow")
    assert "dataflow" not in after.script()
    assert rxe.check(after) == []
    x = np.arange(2, dtype="float32")
    for condition in (np.array(True), np.array(False)):
        np.testing.assert_array_equal(
            rxe.run(after, "main", [x, condition]), rxe.run(before, "main", [x, condition])
        )


def test_legalize_keeps_what_the_program_says_of_a_value() -> None:
    module = after(function('a: R.Tensor("float32", ndim=2) = R.exp(x)\nreturn a'), "LegalizeOps")
    (binding,) = bindings(module["main"])
    assert binding.value.op.name == "relax.call_tir"
    assert str(binding.var.struct_info) == 'R.Tensor(dtype="float32", ndim=2)'


def test_what_several_kernels_compute_shares_them() -> None:
    names = ("b", "e", "s")
    params = ", ".join(
        ["u: R.Tensor((4,), 'float32')", *[f"{name}: R.Tensor((1,), 'int64')" for name in names]]
    )
    call = f"R.dynamic_strided_slice(u, {', '.join(names)})"
    module = after(function(f"v = {call}\nw = {call}\nreturn (v, w)", params), "LegalizeOps")
    assert sorted(module.functions) == ["dynamic_strided_slice", "main", "shape_func"]


def test_legalize_shares_kernels_and_can_skip() -> None:
    text = function("a = R.exp(x)\nb = R.exp(a)\nc = R.add(a, b)\nreturn c")
    module = after(text, "LegalizeOps")
    assert sorted(module.functions) == ["add", "main", "tir_exp"]
    kept = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps", skip=("relax.exp",))
    assert sorted(kept.functions) == ["add", "main"]
    assert not NO_HIGH_LEVEL_OPS.holds(kept)


@pytest.mark.parametrize("name", rxe.passes.names())
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_second_run_changes_nothing_more(path: object, name: str) -> None:
    once = after_pass(rxe.normalize(rxe.load(str(path))), name)
    again = rxe.apply_pass(once, name)
    assert again is once or rxe.structural_equal(again, once)
    assert NORMAL_FORM.holds(once)
    assert rxe.well_formed(once)


def test_unchanged_bindings_are_the_same_objects() -> None:
    module = rxe.normalize(rxe.parse(function("a = R.exp(x)\nb = R.sin(x)\nc = R.add(a, x)\nreturn c")))
    new = rxe.apply_pass(module, "DeadCodeElimination")
    old = {id(binding) for binding in bindings(module["main"])}
    assert [id(binding) in old for binding in bindings(new["main"])] == [True, True]


def test_the_order_is_explained_before_anything_runs() -> None:
    raw = rxe.parse(function("return R.add(R.exp(x), x)"))
    warnings = explain(steps("LegalizeOps"), holding(raw))
    assert [item.code.id for item in warnings] == ["RX0402"]
    assert "run Normalize" in warnings[0].help
    assert explain(steps("Normalize,LegalizeOps"), holding(raw)) == []


def test_a_pass_that_breaks_its_contract_is_named() -> None:
    from relax_explorer.core.passes.contract import Pass
    from relax_explorer.core.passes.pipeline import Step

    def lose(fn: e.Function, at: object) -> e.Function:
        """Lose the blocks."""
        return replace(fn, body=replace(fn.body, blocks=()))

    module = rxe.normalize(rxe.parse(function("a = R.exp(x)\nreturn a")))
    outcome = run_step(Step(Pass("Lose", lose, False)), module, True, [WELL_FORMED])
    assert [item.code.id for item in outcome.problems] == ["RX0403"]
    assert "Lose" in outcome.problems[0].message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("NoSuchPass", "RX0401"),
        ("LegalizeOps{no=1}", "RX0404"),
        ("ConvertToDataflow{min_size='a'}", "RX0404"),
    ],
)
def test_wrong_pipelines(text: str, code: str) -> None:
    with pytest.raises(rxe.Failure) as caught:
        steps(text)
    assert caught.value.diagnostics[0].code.id == code


def test_options_in_a_pipeline() -> None:
    module = rxe.normalize(rxe.parse(function("a = R.exp(x)\nreturn a")))
    assert rxe.run_pipeline(module, "ConvertToDataflow{min_size=2}") is module
    assert "with R.dataflow():" in body(rxe.run_pipeline(module, "ConvertToDataflow{min_size=1}"))


def test_every_pass_keeps_what_the_samples_compute() -> None:
    for path in SAMPLES:
        from relax_explorer.core.session.inputs import generated_inputs

        module = rxe.normalize(rxe.load(path))
        args = (
            generated_inputs(module["main"], {})[0]
            if path.stem[:2] != "03"
            else [np.ones((3, 4), np.float32)]
        )
        expected = rxe.run(module, "main", args)
        held: Held = {}
        for name in rxe.passes.names():
            near = 0.02 if name == "ToMixedPrecision" else 1e-4
            if (after := after_pass(module, name, held)) is module:
                continue
            got = rxe.run(after, "main", args)
            for a, b in zip(*[(v if isinstance(v, tuple) else (v,)) for v in (expected, got)], strict=True):
                most = near if near == 1e-4 else near * np.abs(a).max()
                np.testing.assert_allclose(a, b, rtol=near, atol=most, err_msg=f"{path.stem} {name}")


NESTED = """
@R.function
def main(x: R.Tensor((4,), "float32")):
    return R.add(x, R.exp(x))
"""


def test_a_module_that_was_only_read_is_normalized_first() -> None:
    read = rxe.parse(NESTED)
    normal = rxe.normalize(read)
    for made in (rxe.apply_pass(read, "LegalizeOps"), rxe.run_pipeline(read, "LegalizeOps")):
        assert made.script() == rxe.apply_pass(normal, "LegalizeOps").script()
        assert "R.exp" not in made.script()
    assert rxe.apply_pass(normal, "DeadCodeElimination") is normal


@pytest.mark.parametrize(
    "lines",
    [
        "    y = R.exp(R.exp(x))\n",
        "    if c:\n        y = R.exp(R.exp(x))\n        z = x\n    else:\n        z = x\n",
        "    @R.function\n    def f(p: R.Object):\n        q = R.exp(R.exp(x))\n        return p\n",
    ],
    ids=["a value", "in a branch", "in a nested function"],
)
def test_one_value_without_struct_info_is_enough_to_normalize(lines: str) -> None:
    read = rxe.parse(
        f'@R.function\ndef main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):\n{lines}    return x\n'
    )
    assert rxe.apply_pass(read, "Normalize").script() == rxe.normalize(read).script()
    assert (
        rxe.apply_pass(read, "LambdaLift").script()
        == rxe.apply_pass(rxe.normalize(read), "LambdaLift").script()
    )


def test_a_new_value_in_a_branch_gets_its_struct_info_first() -> None:
    read = rxe.parse(
        '@R.function\ndef main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):\n'
        "    if c:\n        y = R.exp(x)\n        z = x\n    else:\n        z = x\n    return x\n"
    )
    module = rxe.normalize(read)

    def bare(binding: e.Binding) -> e.Binding:
        if type(binding.value) is e.Call:
            return replace(binding, value=replace(binding.value, struct_info=None))
        return map_sequences(
            binding, lambda seq: replace(seq, blocks=tuple([map_block(block, bare) for block in seq.blocks]))
        )

    fn = module["main"]
    edited = module.having(
        {
            "main": replace(
                fn, body=replace(fn.body, blocks=tuple([map_block(b, bare) for b in fn.body.blocks]))
            )
        }
    )
    inferred = rxe.apply_pass(edited, "FastMathTransform")
    assert inferred is not edited
    assert normalize_with(inferred)[0] is inferred


def test_all_blocks_come_in_the_order_of_the_text() -> None:
    one = "    if c:\n        {0} = R.exp(x)\n        a{0} = {0}\n    else:\n        b{0} = R.sin(x)\n        a{0} = b{0}\n"
    lines = one.format("y") + one.format("z")
    params = 'x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")'
    fn = rxe.normalize(rxe.parse(f"@R.function\ndef main({params}):\n{lines}    return (ay, az)\n"))["main"]
    firsts = [binding.var.name for block in all_blocks(fn) if (binding := block.bindings[0]).var is not None]
    assert firsts == ["ay", "y", "by", "z", "bz"]


def test_one_that_inference_refuses_is_not_passed_on() -> None:
    with pytest.raises(rxe.Failure, match="RX02"):
        rxe.apply_pass(rxe.parse(NESTED.replace("R.exp(x)", "R.ones((3,), 'float32')")), "LegalizeOps")


def test_a_tuple_in_a_variable_is_lowered_field_by_field() -> None:
    pair = 'R.Tuple(R.Tensor((2,), "float32"), R.Tensor((3,), "float32"))'
    after = rxe.apply_pass(
        rxe.parse(f"@R.function\ndef main(t: {pair}):\n    y = R.concat(t, axis=0)\n    return y\n"),
        "LegalizeOps",
    )
    first, second = np.ones(2, np.float32), np.zeros(3, np.float32)
    assert "call_tir" in after.script()
    assert np.array_equal(rxe.run(after, "main", [(first, second)]), [1, 1, 0, 0, 0])


def test_a_step_that_fails_leaves_the_properties_as_they_were() -> None:
    module = rxe.normalize(rxe.parse('@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    return x\n'))
    (step,) = steps('LegalizeOps{skip="relax.matmull"}')
    (outcome,) = run(module, [step], (NORMAL_FORM,), verify=True)
    assert outcome.failure is not None
    assert outcome.holding((NORMAL_FORM,)) == {NORMAL_FORM}


def test_lowering_looks_once_at_calls_that_differ_in_operands_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from relax_explorer.core.ops.kit import legalize

    lines = "".join(f"        y{n + 1} = R.exp(y{n})\n" for n in range(20))
    text = f"""
@I.ir_module
class M:
    @R.function
    def main(y0: R.Tensor(("n", 4), "float32")):
{lines}        return y20
"""
    lower, calls = legalize.lower, []
    monkeypatch.setattr(legalize, "lower", lambda call, infos: (calls.append(call), lower(call, infos))[1])
    module = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps")
    assert len(calls) == 1
    assert list(module.functions) == ["tir_exp", "main"]
    assert [b.value.args[1].fields[0].name for b in bindings(module["main"])] == [f"y{n}" for n in range(20)]


@pytest.mark.parametrize(
    ("name", "changes"),
    [("DeadCodeElimination", [("a", [])]), ("LegalizeOps", [("a", ["a"]), ("b", ["b"])])],
)
def test_a_pass_records_what_it_replaced_and_dropped(name: str, changes: list[tuple[str, list[str]]]) -> None:
    text = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    with R.dataflow():\n        a = R.add(x, x)\n'
    text += "        b = R.multiply(x, x)\n        R.output(b)\n    return b\n"
    outcome = run_step(steps(name)[0], rxe.normalize(rxe.parse(text)))
    seen = [(item.before[0].var.name, [b.var.name for b in item.after]) for item in outcome.record.rewrites()]
    assert seen == changes
    assert {item.rule for item in outcome.record.rewrites()} == {name}


@pytest.mark.parametrize("data", ["[1.0]", "[1.0, 2.0]", str([0.5] * 400), str([*range(400)])])
def test_calls_of_equal_constants_are_common_subexpressions(data: str) -> None:
    """Importers write equal weights more than once, such as biases of zeros."""
    same, other = (f'R.const({text}, "float32")' for text in (data, f"{data[:-1]}5]"))
    body = f"a = R.exp({same})\nb = R.exp({same})\nd = R.exp({other})\nreturn (a, b, d)"
    after = rxe.apply_pass(rxe.normalize(rxe.parse(function(body))), "EliminateCommonSubexpr")
    assert [type(binding.value) for binding in bindings(after["main"])][:3] == [e.Call, e.Var, e.Call]
