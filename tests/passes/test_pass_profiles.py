"""The profile of a pass: `spec` keeps checks, effects and constants that TVM's pass loses; `tvm` loses them, too."""

from __future__ import annotations

import re
from textwrap import indent

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings

HEAD = "@I.ir_module\nclass Module:\n"
CASES = {
    "CanonicalizeBindings": (
        """
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        n = T.int64()
        m = T.int64()
        z = R.match_cast(x, R.Tensor((m,), "float32"))
        w = R.add(z, y)
        return w
""",
        "R.match_cast(x",
    ),
    "DeadCodeElimination": (
        """
    @R.function
    def main(x: R.Tensor(("n",), "int32"), y: R.Tensor(("m",), "int32")):
        z = R.divide(x, y)
        return x
""",
        "R.divide(x, y)",
    ),
    "ConvertToDataflow": (
        """
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        z = R.add(x, y)
        w = R.exp(x)
        v = R.exp(w)
        return v
""",
        "\n        z: R.Tensor",
    ),
    "InlinePrivateFunctions": (
        """
    @R.function(private=True)
    def inner(p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        q: R.Tensor((4,), "float32") = R.exp(p)
        return q

    @R.function
    def main(x: R.Tensor("float32", ndim=1)):
        cls = Module
        y = cls.inner(x)
        return y
""",
        "R.match_cast(x",
    ),
    "RemoveUnusedParameters": (
        """
    @R.function(private=True)
    def inner(p: R.Tensor((4,), "float32"), q: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return p

    @R.function
    def main(x: R.Tensor((4,), "float32"), u: R.Tensor("float32", ndim=1)):
        cls = Module
        y = cls.inner(x, u)
        return y
""",
        "cls.inner(x, u)",
    ),
}


def result(name: str, profile: str) -> str:
    module = rxe.normalize(rxe.parse(HEAD + CASES[name][0]))
    return rxe.apply_pass(module, name, profile=profile).script()


@pytest.mark.parametrize("name", CASES)
def test_the_profile_chooses_what_is_kept(name: str) -> None:
    kept = CASES[name][1]
    assert kept in result(name, "spec")
    assert kept not in result(name, "tvm")


@pytest.mark.parametrize("name", CASES)
def test_a_pipeline_and_a_pass_in_a_profile_agree(name: str) -> None:
    module = rxe.normalize(rxe.parse(HEAD + CASES[name][0]))
    assert rxe.run_pipeline(module, name, profile="tvm").script() == result(name, "tvm")
    assert rxe.run_pipeline(module, name).script() == result(name, "spec")


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(rxe.Failure, match="RX0404"):
        result("CanonicalizeBindings", "TVM")


def test_an_inlined_scalar_keeps_its_value_in_the_profile_tvm() -> None:
    text = (
        HEAD
        + """
    @R.function(private=True, pure=False)
    def inner(x: R.Tensor(("n",), "float32"), k: T.int64) -> R.Any:
        b = R.call_packed("test.f", x, R.prim_value(k * 2), ty_args=(R.Any,))
        return b

    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32")) -> R.Any:
        n = T.int64()
        cls = Module
        a = cls.inner(x, R.prim_value(n + 1))
        return a
"""
    )
    for profile in ("spec", "tvm"):
        after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "InlinePrivateFunctions", profile=profile)
        assert 'R.call_packed("test.f", x, (n + 1) * 2, ' in after.script()
        assert rxe.well_formed(after)


@pytest.mark.parametrize(("profile", "written"), [("spec", "6, 4"), ("tvm", "T.Mul(3, 2), T.Add(3, 1)")])
def test_bound_scalars_are_computed_unless_the_profile_is_tvm(profile: str, written: str) -> None:
    text = (
        HEAD
        + """
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n + m",), "float32"), z: R.Tensor(("m",), "float32")):
        n = T.int64()
        a = R.call_packed("test.f", y, R.prim_value(n * 2), R.prim_value(n + 1), ty_args=(R.Any,))
        return a
"""
    )
    after = rxe.apply_pass(
        rxe.normalize(rxe.parse(text)), "BindSymbolicVars", binding_map={"n": 3}, profile=profile
    )
    assert f'R.call_packed("test.f", y, {written}, ' in after.script()
    assert 'y: R.Tensor(("m + 3",)' in after.script()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('y: R.Tensor("float32", ndim=1) = R.exp(x)', 'R.Tensor((3,), dtype="float32")'),
        ('y: R.Tensor("float32", ndim=1) = x', 'R.Tensor((3,), dtype="float32")'),
        ('y: R.Tensor("float32", ndim=1) = R.exp(z)', ""),  # its operand is the same
        ('y: R.Tensor(s, "float32") = R.exp(x)', ""),  # a variable holds the shape
    ],
)
def test_a_value_gives_what_its_new_operands_give_in_the_profile_tvm(line: str, told: str) -> None:
    text = f"""
    @R.function
    def main(x: R.Tensor(("n",), "float32"), z: R.Tensor((2,), "float32"), s: R.Shape(ndim=1)):
        {line}
        return y
"""
    module = rxe.normalize(rxe.parse(HEAD + text))
    (said,) = [str(b.var.struct_info) for b in bindings(module["main"])]
    for profile, wanted in (("spec", said), ("tvm", told or said)):
        after = rxe.apply_pass(module, "BindSymbolicVars", binding_map={"n": 3}, profile=profile)
        assert [str(b.var.struct_info) for b in bindings(after["main"])] == [wanted]


def test_values_that_give_a_negative_length_are_refused_unless_the_profile_is_tvm() -> None:
    text = (
        HEAD
        + """
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        y = R.zeros(R.shape([n - 5]), "float32")
        return y
"""
    )
    module = rxe.normalize(rxe.parse(text))
    with pytest.raises(rxe.Failure) as refused:
        rxe.apply_pass(module, "BindSymbolicVars", binding_map={"n": 3})
    assert refused.value.diagnostics[0].code.id == "RX0155"
    after = rxe.apply_pass(module, "BindSymbolicVars", binding_map={"n": 3}, profile="tvm")
    assert "R.zeros(R.shape([-2])" in after.script()


def test_only_legalize_ops_leaves_what_another_pass_lowers() -> None:
    text = (
        HEAD
        + """
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        y = R.cumsum(x, axis=0)
        return y
"""
    )
    module = rxe.normalize(rxe.parse(text))
    assert "R.cumsum" in rxe.apply_pass(module, "LegalizeOps", profile="tvm").script()
    assert "R.cumsum" not in rxe.apply_pass(module, "DispatchSortScan", profile="tvm").script()


@pytest.mark.parametrize(
    ("profile", "written"),
    [
        ("spec", 'R.call_packed("test.f", x, 6, '),
        ("tvm", 'R.call_packed("test.f", metadata["relax.expr.Constant"][0], T.Mul(3, 2), '),
    ],
)
def test_a_bound_array_is_kept_from_writes_unless_the_profile_is_tvm(profile: str, written: str) -> None:
    text = (
        HEAD
        + """
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
        n = T.int64()
        a = R.call_packed("test.f", x, R.prim_value(n * 2), ty_args=(R.Any,))
        b: R.Tensor("float32", ndim=1) = R.add(y, y)
        return (a, b)
"""
    )
    options = {"params": {"x": np.ones(3, "float32")}, "profile": profile}
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "BindParams", **options)
    assert written in re.sub(r"metadata\[.*?\]", 'metadata["relax.expr.Constant"]', after.script())
    assert ("b: R.Tensor((3,)" in after.script()) == (profile == "tvm")


SAYING = (
    HEAD
    + """
    @R.function(pure=False)
    def main(x: R.Tensor((), "int32"), c: R.Tensor((), "bool")):
        a = R.print(x, c, format="x {} {}")
        b = R.assert_op(c, x, format="wrong {}")
        if c:
            d = R.print(x)
            e = R.assert_op(c)
        else:
            e = R.print(format="no {}")

        @R.function(pure=False)
        def inner(y: R.Tensor((), "int32")):
            f = R.print(y, format="inner")
            return y

        return (a, b, e)
"""
)


def test_what_prints_and_asserts_is_packed_in_the_profile_tvm() -> None:
    before = rxe.normalize(rxe.parse(SAYING))
    assert rxe.apply_pass(before, "LegalizeOps") is before
    assert rxe.apply_pass(before, "LegalizeOps", profile="tvm", skip=["print", "assert_op"]) is before
    after = rxe.apply_pass(before, "LegalizeOps", profile="tvm")
    assert rxe.well_formed(after)
    assert "R.print(" not in after.script()
    assert "R.assert_op(" not in after.script()
    for written in ('"relax.run.assert_op", c, R.str("wrong {}"), x,', '"relax.run.print", R.str(""), x,'):
        assert written in after.script()
    for condition in (True, False):
        inputs: list[object] = [np.array(3, dtype="int32"), np.array(condition)]
        assert _outcome(after, inputs) == _outcome(before, inputs)


def _outcome(module: rxe.IRModule, inputs: list[object]) -> tuple[list[str], str]:
    """What a run prints, and the sentence with which it stops."""
    run = rxe.debug(module, "main", inputs)
    try:
        while not run.done:
            run.step()
    except rxe.Failure as failure:
        return run.machine.output, failure.diagnostics[0].message
    return run.machine.output, ""


ALLOCATED = """
@R.function
def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    R.func_attr({"relax.force_pure": True})
    s = R.memory.alloc_storage(R.shape([8]), 0, "global", "float32")
    a = R.memory.alloc_tensor(s, 0, R.shape([2]), "float32")
LINES
    _ = R.call_packed("f", a, sinfo_args=R.Object)
    return x
"""
BRANCH = "if c:\n    b = R.exp(x)\nelse:\n    b = x"
NESTED = '@R.function(pure=False)\ndef g(y: R.Tensor((2,), "float32")):\n    return y'


@pytest.mark.parametrize(("lines", "killed"), [("b = x", 1), (BRANCH, 0), (NESTED, 0)])
def test_nothing_is_killed_behind_a_branch_or_a_function_in_the_profile_tvm(lines: str, killed: int) -> None:
    text = ALLOCATED.replace("LINES", indent(lines, "    "))
    for profile, count in (("spec", 1), ("tvm", killed)):
        after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "KillAfterLastUse", profile=profile)
        assert after.script().count("R.memory.kill_tensor(a)") == count
