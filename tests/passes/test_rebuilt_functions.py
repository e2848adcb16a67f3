"""What the passes that visit every function promise of results in the profile `tvm`: what bodies have, as TVM's passes do."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule

OTHER = """
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
    m = T.int64()

    @R.function
    def inner(z: R.Tensor(("k",), "float32")) -> R.Tensor(("l",), "float32"):
        l = T.int64()
        w = R.match_cast(z, R.Tensor((l,), "float32"))
        v = R.exp(z)
        return v

    a = inner(x)
    return a
"""
CHECKED = """
@R.function
def main(x: R.Tensor("float32", ndim=1), y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    m = T.int64()
    a = R.match_cast(x, R.Tensor((m,), "float32"))
    return a
"""
UNKNOWN = """
@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    a = R.call_pure_packed("f", x, ty_args=R.Tensor("float32", ndim=1))
    return a
"""
BRANCHES = """
@R.function
def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
    if c:
        y = R.exp(x)
    else:
        y = x
    z = R.negative(y)
    return z
"""


UNIQUE = """
@R.function
def main(x: R.Tensor(("n",), "float32")):
    a: R.Tensor((4,), "float32") = R.unique(x)
    b: R.Tensor((3,), "float32") = R.unique(a)
    t = (b, a)
    return t
"""


def _after(text: str, name: str, profile: str) -> IRModule:
    program = rxe.normalize(rxe.parse(text))
    after: IRModule = rxe.apply_pass(program, name, profile=profile)
    return after


@pytest.mark.parametrize("name", ["TopologicalSort", "DecomposeOpsForInference", "FuseOpsByPattern"])
@pytest.mark.parametrize(
    ("text", "promised"),
    [(OTHER, "(n,)"), (CHECKED, "ndim=1"), (UNKNOWN, "(n,)")],
    ids=["other lengths", "a length of the body", "a promise that says more"],
)
def test_a_function_promises_what_its_body_has(name: str, text: str, promised: str) -> None:
    module = rxe.normalize(rxe.parse(text))
    assert rxe.apply_pass(module, name, profile="spec") is module
    ret = str(_after(text, name, "tvm")["main"].ret_struct_info)
    assert promised in ret


def test_annotations_of_what_operators_give_stay() -> None:
    text = _after(UNIQUE, "DecomposeOpsForInference", "tvm").script()
    assert text.count(": R.Tensor((4,), ") == text.count(": R.Tensor((3,), ") == 1


def test_a_pass_for_one_function_leaves_the_others() -> None:
    second = OTHER.replace("main", "second")
    module = rxe.normalize(rxe.parse(OTHER + second))
    after = rxe.apply_pass(module, "DecomposeOpsForInference", func_name="second", profile="tvm")
    assert after["main"] is module["main"]
    assert "(n,)" in str(after["second"].ret_struct_info)


def test_branches_forget_their_lengths_in_passes_with_patterns() -> None:
    lines = _after(BRANCHES, "ExpandMatmulOfSum", "tvm").script()
    assert "y: R.Tensor((n,)" not in lines
    assert "z: R.Tensor((n,)" not in lines
    assert "-> R.Tensor((n,)" in lines  # the promise says more
    assert lines.count("R.match_cast") == 1  # of the branch without bindings
    assert "y: R.Tensor((n,)" in _after(BRANCHES, "ExpandMatmulOfSum", "spec").script()
    static = BRANCHES.replace('("n",)', "(3,)")
    assert "ndim=1" not in _after(static, "ExpandMatmulOfSum", "tvm").script()


LENGTHS = """
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("k",), "float32"), z: R.Tensor(("j",), "float32")):
    n, k = T.int64(), T.int64()
    a = R.match_cast(y, R.Tensor((n,), "float32"))
    b = R.match_cast(z, R.Tensor((k,), "float32"))
    c = R.match_cast(z, R.Tensor((n,), "float32"))
    return (a, b, c)
"""


def test_lengths_are_merged_twice_in_passes_with_patterns() -> None:
    assert "match_cast" not in _after(LENGTHS, "ExpandMatmulOfSum", "tvm").script()
    assert _after(LENGTHS, "CanonicalizeBindings", "tvm").script().count("match_cast") == 1


CHAIN = """
@R.function
def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
    with R.dataflow():
        a = R.add(x, y)
        b = R.add(a, y)
        c = R.add(b, x)
        R.output(c)
    d = R.add(c, x)
    return d
"""


def test_matches_that_share_bindings_are_cut_as_in_tvm() -> None:
    program = rxe.normalize(rxe.parse(CHAIN))
    found = {
        profile: sorted(
            rxe.apply_pass(
                program, "FuseOpsByPattern", patterns=["my.add2: add(add(_, _), _)"], profile=profile
            ).functions
        )
        for profile in ("spec", "tvm")
    }
    assert found["spec"] == ["fused_relax_add_relax_add", "main"]
    assert found["tvm"] == [
        "fused_relax_add",
        "fused_relax_add_relax_add",
        "main",
    ]  # `c`, of the match of `d`


def test_the_end_of_a_match_is_in_no_other() -> None:
    text = CHAIN.replace("    d = R.add(c, x)\n    return d", "    return c")
    after = rxe.apply_pass(
        rxe.normalize(rxe.parse(text)),
        "FuseOpsByPattern",
        patterns=["my.add2: add(add(_, _), _)"],
        profile="tvm",
    )
    assert sorted(after.functions) == ["fused_relax_add_relax_add", "main"]


def test_types_of_functions_keep_their_lengths() -> None:
    text = """
@R.function
def main(x: R.Tensor(("n",), "float32"), f: R.Callable((R.Tensor(("n",), "float32"),), R.Tensor(("n",), "float32"))):
    return x
"""
    after = rxe.apply_pass(
        rxe.normalize(rxe.parse(text)), "BindSymbolicVars", binding_map={"n": 3}, profile="tvm"
    )
    assert str(after["main"].params[0].struct_info) == 'R.Tensor((3,), dtype="float32")'
    assert "3" not in str(after["main"].params[1].struct_info).replace("float32", "")


def test_a_dispatched_module_has_names_by_symbols() -> None:
    text = """
@I.ir_module
class M:
    @R.function
    def f(x: R.Tensor((2,), "float32")):
        R.func_attr({"global_symbol": "g"})
        return x
"""
    module = rxe.normalize(rxe.parse(text))
    assert [*rxe.apply_pass(module, "DispatchSortScan", profile="tvm").functions] == ["g"]
    assert [*rxe.apply_pass(module, "DispatchSortScan").functions] == ["f"]


@pytest.mark.parametrize("name", ["DecomposeOpsForInference", "DecomposeOpsForTraining"])
def test_a_vector_of_unknown_length_becomes_a_shape_without_lengths(name: str) -> None:
    text = """
@R.function
def main(x: R.Tensor(("n",), "int64")) -> R.Shape():
    s = R.tensor_to_shape(x)
    return s
"""
    assert "R.tensor_to_shape" in _after(text, name, "spec").script()
    assert "R.match_cast(gv, R.Shape([]))" in _after(text, name, "tvm").script()


LOWERED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32"), c: R.Tensor((), "bool")):
        n, m = T.int64(), T.int64()

        @R.function
        def inner(a: R.Tensor(("k",), "float32"), d: R.Tensor((), "bool")):
            k = T.int64()
            b = R.match_cast(a, R.Tensor((k,), "float32"))
            if d:
                nested = R.call_pure_packed("f", b, ty_args=R.Tensor((k,), "float32"))
            else:
                nested = b
            return nested

        @R.function
        def captures(d: R.Tensor((), "bool")):
            if d:
                outer = R.call_pure_packed("f", x, ty_args=R.Tensor((n,), "float32"))
            else:
                outer = x
            after = (outer, d)
            return after

        made = inner(x, c)
        if c:
            e = R.call_pure_packed("f", x, ty_args=R.Tensor((n,), "float32"))
            if c:
                deep = R.call_pure_packed("f", e, ty_args=R.Tensor((n,), "float32"))
            else:
                deep = x
            fields = (deep, made)
        else:
            fields = (x, made)
        if c:
            u = R.match_cast(x, R.Tensor((m,), "float32"))
            cast = R.call_pure_packed("f", u, ty_args=R.Tensor((m,), "float32"))
        else:
            cast = y
        if c:
            u = R.match_cast(x, R.Tensor((m,), "float32"))
            half = R.call_pure_packed("f", u, ty_args=R.Tensor((m,), "float32"))
        else:
            half = R.call_pure_packed("f", y, ty_args=R.Tensor((m,), "float32"))
        if c:
            plain = x
        else:
            plain = made
        field = fields[0]
        mixed: R.Tuple(R.Tensor((n,), "float32"), R.Prim("int64")) = (field, R.prim_value(1))
        return (field, cast, plain, half, mixed)

    @R.function
    def other(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):
        n = T.int64()
        if c:
            second = R.call_pure_packed("f", x, ty_args=R.Tensor((n,), "float32"))
        else:
            second = x
        return second
"""
FORGOTTEN = {"nested", "deep", "second", "fields", "field", "half", "mixed", "outer", "after"}
"""Variables of branches with bindings, and what reads them. Of a branch that casts a value the length is known."""


def _without_lengths(module: IRModule) -> set[str]:
    names = {*FORGOTTEN, "cast", "plain"}
    found = [binding.var for fn in module.relax_functions.values() for binding in bindings(fn)]
    return {
        var.name
        for var in found
        if var is not None and var.name in names and "ndim=1" in str(var.struct_info)
    }


def test_lowering_forgets_the_lengths_of_branches_and_finds_them_again() -> None:
    before = rxe.normalize(rxe.parse(LOWERED))
    assert _without_lengths(rxe.apply_pass(before, "RemovePurityChecking")) == set()
    plain = rxe.apply_pass(before, "RemovePurityChecking", profile="tvm")
    assert _without_lengths(plain) == FORGOTTEN
    assert "match_cast(y" not in plain.script()
    read = rxe.normalize(rxe.parse(plain.script()))  # each variable has an annotation now
    assert _without_lengths(rxe.apply_pass(read, "CallTIRRewrite")) == FORGOTTEN
    found = rxe.apply_pass(read, "CallTIRRewrite", profile="tvm")
    assert _without_lengths(found) == {"outer", "after"}  # a nested function knows its own lengths
