"""The passes that lower, beside TVM: each takes the stage before it in the corpus, and gives the stage after it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes import get
from relax_explorer.core.passes.pipeline import steps as steps_of
from relax_explorer.core.phases.module_properties import LOWERED, SHAPES_LOWERED
from tests.support.corpus import MODELS, Model
from tests.support.oracle import Oracle
from tests.support.roundtrip import function

LOWERING = [
    "AnnotateTIROpPattern",
    "FuseOps",
    "RewriteDataflowReshape",
    "RemovePurityChecking",
    "CallTIRRewrite",
    "StaticPlanBlockMemory",
    "LowerAllocTensor",
    "KillAfterLastUse",
    "LowerRuntimeBuiltin",
    "VMShapeLower",
    "AttachGlobalSymbol",
]


def steps() -> Iterator[tuple[Model, str, Path, Path]]:
    """Each pass of the corpus that lowers, with the stages before and after it."""
    for model in MODELS:
        before = model.stages[0]
        for stage in model.record["stages"]:
            after = model.directory / stage["file"] if stage.get("changed") else before
            if stage["pass"] in LOWERING:
                yield model, stage["pass"], before, after
            before = after


STEPS = list(steps())
ASKED = ("FuseTIR", "ToNonDataflow", "StaticPlanBlockMemory", "AttachGlobalSymbol")


def same(ours: rxe.IRModule, theirs: rxe.IRModule) -> bool:
    """Equal structure. TVM has no fixed order of the stores in `shape_func`, so these PrimFuncs are compared by their runs."""
    if rxe.structural_equal(ours, theirs, map_free_vars=True):
        return True
    names = [name for name, fn in theirs.functions.items() if isinstance(fn, e.Function)]
    return ours.functions.keys() == theirs.functions.keys() and all(
        rxe.structural_equal(ours[name], theirs[name], map_free_vars=True) for name in names
    )


@pytest.mark.parametrize(
    ("model", "name", "before", "after"), STEPS, ids=[f"{step[0].name}-{step[1]}" for step in STEPS]
)
def test_each_stage_is_tvms(model: Model, name: str, before: Path, after: Path) -> None:
    ours = rxe.apply_pass(rxe.normalize(rxe.load(before)), name)
    assert same(ours, rxe.normalize(rxe.load(after)))
    assert all(needed.holds(ours) for needed in get(name).establishes)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_stage_of_our_road_computes_the_same(model: Model) -> None:
    module = rxe.normalize(rxe.load(model.directory / "13_DeadCodeElimination.py"))
    for name in ["ToNonDataflow", *LOWERING[3:]]:
        module = rxe.apply_pass(module, name)
        check(rxe.run(module, model.entry, model.arrays("in")), model, name)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_our_pipelines_bring_a_model_to_the_virtual_machine(model: Model, oracle: Oracle) -> None:
    """`zero` and `default_build`, all ours: every stage computes the same, and TVM builds those after the larger steps."""
    module = rxe.normalize(rxe.load(model.directory / "00_input.py"))
    for step in [*steps_of("zero"), *steps_of("default_build")]:
        module = rxe.apply_pass(module, step.of.name)
        check(rxe.run(module, model.entry, model.arrays("in")), model, step.of.name)
        if step.of.name in ASKED:
            theirs = oracle.run(as_tvm_reads(module.script()), model.entry, model.arrays("in"))
            check(theirs.get(), model, f"TVM after {step.of.name}")
    assert [q.name for q in LOWERED if not q.holds(module)] == []


def as_tvm_reads(text: str) -> str:
    """The text in other words where TVM does not read what it prints."""
    allocated = r"(R\.builtin\.alloc_tensor\(.*), ty_args=\(.*\)\)$"
    return re.sub(allocated, r"\1)", text, flags=re.M).replace("(T.int64,)", '(R.Prim("int64"),)')


def check(result: Any, model: Model, what: str) -> None:
    first = result[0] if isinstance(result, tuple) else result
    np.testing.assert_allclose(first, model.arrays("out")[0], rtol=1e-4, atol=1e-5, err_msg=what)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_fused_kernels_are_tvms(model: Model) -> None:
    ours = rxe.apply_pass(rxe.normalize(rxe.load(model.directory / "04_FuseOps.py")), "FuseTIR")
    theirs = rxe.normalize(rxe.load(model.directory / "13_DeadCodeElimination.py"))
    assert rxe.structural_equal(ours, theirs, map_free_vars=True)


def test_a_scalar_that_is_no_length_needs_a_function_first() -> None:
    text = """@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
    n, m = T.int64(), T.int64()
    _ = R.assert_op(R.prim_value(n == m), format="")
    return x
"""
    module = rxe.normalize(rxe.parse(text))
    with pytest.raises(rxe.Failure) as refused:
        rxe.apply_pass(module, "VMShapeLower")
    assert [item.code.id for item in refused.value.diagnostics] == ["RX0407"]
    assert "ComputePrimValue" in (refused.value.diagnostics[0].help or "")
    lowered = rxe.apply_pass(rxe.apply_pass(module, "ComputePrimValue"), "VMShapeLower")
    assert "compute_symbolic_expr" in lowered.script()


WIDE = ': R.Tuple(R.Tensor(("n", "m"), "float32"), T.int64)'


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("", "(x, R.prim_value(n * 2))"),
        ("", "((R.prim_value(n * 2), x), R.shape([m]))"),
        (WIDE, "(x, R.prim_value(n * 2))"),
    ],
)
def test_a_tuple_of_computed_scalars_has_their_types(annotation: str, value: str) -> None:
    text = f"""@R.function
def main(x: R.Tensor(("n", "m"), "float32")):
    n, m = T.int64(), T.int64()
    t{annotation} = {value}
    u = t
    return u
"""
    module = rxe.normalize(rxe.parse(text))
    machine = rxe.run_pipeline(module, ["zero", "default_build"])
    x = np.ones((3, 2), "float32")
    ours, theirs = (rxe.run(program, "main", [x]) for program in (module, machine))
    assert str(ours) == re.sub(r"np.int64\((\d+)\)", r"\1", str(theirs))


@pytest.mark.parametrize("read", [True, False])
def test_a_group_that_nothing_reads_is_not_fused(read: bool) -> None:
    outputs = "b, c" if read else "c"
    lines = "a = R.exp(x)", "b = R.sin(a)", "c = R.cos(x)", f"R.output({outputs})"
    inside = "".join(f"    {line}\n" for line in lines)
    program = function(f"with R.dataflow():\n{inside}return c")
    module = rxe.run_pipeline(rxe.normalize(rxe.parse(program)), "LegalizeOps,AnnotateTIROpPattern,FuseOps")
    assert any(name.startswith("fused") for name in module.functions) is read


def test_views_with_and_without_lengths() -> None:
    """What is left out is that of the tensor: its lengths may be known to the run only."""
    text = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor("float32", ndim=1), z: R.Tensor(("n",), "float32")):
        a = R.memory.view(x, R.shape([1, 2]))
        b = R.memory.view(x)
        c = R.memory.view(y)
        d = R.memory.view(z, dtype="int32")
        e = R.memory.view(x, R.shape([1, 1]), "int32", R.prim_value(T.int64(4)))
        return (a, b, c, d, e)
"""
    module = rxe.normalize(rxe.parse(text))
    lowered = rxe.run_pipeline(module, "RemovePurityChecking,LowerRuntimeBuiltin")
    for each in (lowered, rxe.run_pipeline(lowered, "VMShapeLower")):
        arrays = [np.array(row, "float32") for row in ([1, 2], [3, 4, 5], [6])]
        machine = Machine(each, "main", arrays)
        while not machine.done:
            machine.step()
        a, b, c, d, e = machine.result
        assert a.tolist() == [[1, 2]]
        assert (b.tolist(), c.tolist()) == ([1, 2], [3, 4, 5])
        assert d.tolist() == arrays[2].view("int32").tolist()
        assert e.tolist() == [arrays[0].view("int32")[1:].tolist()]


ALLOCATES = """
@I.ir_module
class M:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", 2), "float32"), c: R.Tensor((), "bool")):
        n = T.int64()
        R.func_attr({"relax.force_pure": True})
        LINES
        return x
"""
ALLOCATION = 'R.builtin.alloc_tensor(R.shape([{}, 2]), dtype="float32", runtime_device_index=0)'


@pytest.mark.parametrize(
    ("lines", "is_refused"),
    [
        (f"t = {ALLOCATION.format('n')}", True),
        (f"t = {ALLOCATION.format('n * 2')}", True),
        (f"t = {ALLOCATION.format('3')}", False),
        (f"if c:\n            t = {ALLOCATION.format('n')}\n        else:\n            t = x", True),
    ],
)
def test_tensors_of_symbolic_lengths_need_storages_before_their_lengths_are_lowered(
    lines: str, is_refused: bool
) -> None:
    module = rxe.normalize(rxe.parse(ALLOCATES.replace("LINES", lines)))
    if is_refused:
        with pytest.raises(rxe.Failure, match="VMShapeLower can't run here: builtin") as raised:
            rxe.apply_pass(module, "VMShapeLower")
        (problem,) = raised.value.diagnostics
        assert (problem.code.id, problem.help) == ("RX0407", "run LowerAllocTensor before it")
        module = rxe.apply_pass(module, "LowerAllocTensor")
    assert SHAPES_LOWERED.holds(rxe.apply_pass(module, "VMShapeLower"))


RESULTS = {
    "a scalar": "return R.prim_value(n * 2)",
    "in a tuple": "return (x, (R.prim_value(n * 2), R.prim_value(3)))",
    "in branches": "if c:\n    r = R.prim_value(n * 2)\nelse:\n    r = R.prim_value(n + 1)\nreturn r",
    "in a nested branch": (
        "if c:\n    if c:\n        q = R.prim_value(n * 2)\n    else:\n        q = R.prim_value(n)\n    r = q\n"
        "else:\n    r = R.prim_value(n + 1)\nreturn (r, R.prim_value(n - 1))"
    ),
    "a length": "return R.prim_value(n)",
}


@pytest.mark.parametrize("kind", RESULTS)
def test_scalars_as_results_are_computed(kind: str) -> None:
    body = f'R.func_attr({{"relax.force_pure": True}})\nn = T.int64()\n{RESULTS[kind]}'
    module = rxe.normalize(
        rxe.parse(function(body, 'x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")'))
    )
    after = rxe.apply_pass(module, "ComputePrimValue")
    assert after.script().count("= cls.compute_symbolic_expr") == RESULTS[kind].count("(n ")
    for c in (True, False):
        inputs = [np.ones(5, "float32"), np.array(c)]
        results = [str(rxe.run(program, "main", inputs)) for program in (after, module)]
        assert len({re.sub(r"np.int64\((-?\d+)\)", r"\1", text) for text in results}) == 1


@pytest.mark.parametrize(
    ("cast", "expected"),
    [
        ('q = R.match_cast(m + 1, R.Prim("int64"))', "R.match_cast(gv, T.int64)"),
        ('q = R.match_cast(m, R.Prim("int64"))', "R.match_cast(m, T.int64)"),
        (
            'q = R.match_cast((x, m + 1), R.Tuple(R.Tensor((4,), "float32"), R.Prim("int64")))',
            'R.match_cast((x, gv), R.Tuple(R.Tensor((4,), dtype="float32"), R.Prim("int64")))',
        ),
    ],
)
def test_scalars_that_are_cast_are_computed(cast: str, expected: str) -> None:
    body = f'R.func_attr({{"relax.force_pure": True}})\n{cast}\nreturn q'
    module = rxe.normalize(rxe.parse(function(body, 'x: R.Tensor((4,), "float32"), m: T.int64')))
    after = rxe.apply_pass(module, "ComputePrimValue")
    assert f"= {expected}\n" in after.script()
    x = np.ones(4, "float32")
    results = [
        str(rxe.run(program, "main", [x, 5])).replace("np.int64(6)", "6") for program in (after, module)
    ]
    assert results[0] == results[1]


def test_scalars_in_a_tuple_of_operands_are_computed() -> None:
    body = (
        'R.func_attr({"relax.force_pure": True})\nn = T.int64()\n'
        'y = R.call_packed("test.f", x, (x, R.prim_value(n * 2)), ty_args=(R.Tensor((n,), "float32"),))\n'
        'z = R.call_packed("test.f", y, (x, y), ty_args=(R.Tensor((n,), "float32"),))\nreturn z'
    )
    after = rxe.apply_pass(
        rxe.normalize(rxe.parse(function(body, 'x: R.Tensor(("n",), "float32")'))), "ComputePrimValue"
    )
    assert "= cls.compute_symbolic_expr(R.prim_value(n))" in after.script()
    assert 'R.call_packed("test.f", x, (x, gv), ' in after.script()
    assert 'R.call_packed("test.f", y, (x, y), ' in after.script()


def test_only_the_profile_tvm_computes_numbers_of_floating_point() -> None:
    body = (
        'R.func_attr({"relax.force_pure": True})\n'
        'y = R.call_packed("test.f", x, T.float32(0.5), 3, T.bool(True), ty_args=(R.Any,))\nreturn y'
    )
    module = rxe.normalize(rxe.parse(function(body, 'x: R.Tensor((4,), "float32")')))
    assert rxe.apply_pass(module, "ComputePrimValue") is module
    after = rxe.apply_pass(module, "ComputePrimValue", profile="tvm")
    assert 'R.call_packed("test.f", x, gv, 3, True, ' in after.script()
    assert "return T.float32(0.5)" in after.script()


def test_a_result_that_is_computed_in_a_tuple_promises_no_value() -> None:
    body = (
        'R.func_attr({"relax.force_pure": True})\nn = T.int64()\nt = (x, R.prim_value(n * 2))\n'
        "k = t[1]\nreturn (x, k)"
    )
    after = rxe.apply_pass(
        rxe.normalize(rxe.parse(function(body, 'x: R.Tensor(("n",), "float32")'))), "ComputePrimValue"
    )
    assert rxe.structural_equal(after, rxe.normalize(rxe.parse(after.script())))


@pytest.mark.parametrize(
    ("x", "slots"),
    [
        ('R.Tensor(("k * 3",), "float32")', "1, 3, 0"),
        ('R.Tensor(("j * k", "k"), "float32")', "2, 3, 0, 3, 2"),
    ],
)
def test_the_variables_of_a_length_have_the_slots_behind_it(x: str, slots: str) -> None:
    body = 'R.func_attr({"relax.force_pure": True})\nreturn x'
    params = f'x: {x}, y: R.Tensor(("k + 1",), "float32"), s: R.Shape(["j", "k"])'
    after = rxe.apply_pass(rxe.normalize(rxe.parse(function(body, params))), "VMShapeLower")
    assert f'"vm.builtin.match_shape", x, shape_heap, {slots}, ' in after.script()


@pytest.mark.parametrize(("length", "checks"), [("n * 2", 0), ("n + n", 0), ("n * 3", 1)])
def test_a_cast_that_the_lengths_prove_checks_nothing(length: str, checks: int) -> None:
    body = (
        'R.func_attr({"relax.force_pure": True})\nn = T.int64()\n'
        f'y = R.match_cast(x, R.Tensor(({length},), "float32"))\nreturn y'
    )
    params = 'x: R.Tensor(("n + n",), "float32"), s: R.Shape(["n"])'
    module = rxe.normalize(rxe.parse(function(body, params)))
    assert rxe.apply_pass(module, "VMShapeLower").script().count("ErrorContext(match_cast") == checks


def test_a_check_names_its_function_by_its_name() -> None:
    body = 'R.func_attr({"relax.force_pure": True, "global_symbol": "other"})\nreturn x'
    module = rxe.normalize(rxe.parse(function(body, 'x: R.Tensor((4,), "float32")')))
    assert "ErrorContext(fn=main, loc=param[0]" in rxe.apply_pass(module, "VMShapeLower").script()


@pytest.mark.parametrize(
    ("branch", "other"), [("x", "y"), ("y", "x"), ("y", "y"), ("R.zeros((n, 3), 'float32')", "x")]
)
def test_the_result_of_branches_has_no_lengths_that_one_of_them_lost(branch: str, other: str) -> None:
    body = f"n = T.int64()\ny = R.add(x, x)\nif c:\n    z = {branch}\nelse:\n    z = {other}\nt = (z, x)\nreturn t"
    params = 'x: R.Tensor(("n", 3), "float32"), c: R.Tensor((), "bool")'
    stages = [step for step in LOWERING[3:] if step != "AttachGlobalSymbol"]
    lowered = rxe.run_pipeline(
        rxe.normalize(rxe.parse(function(body, params))), ",".join(["LegalizeOps", *stages])
    )
    results = re.findall(r" z: R\.Tensor\((.*)\) = ", lowered.script())
    assert results == ['dtype="float32", ndim=2'] * 2
    assert 't: R.Tuple(R.Tensor(dtype="float32", ndim=2), R.Tensor((n, 3)' in lowered.script()
    assert lowered.script().count("loc=return") == 1  # the promise says more


def test_the_result_of_branches_that_lost_nothing_keeps_its_lengths() -> None:
    body = (
        'R.func_attr({"relax.force_pure": True})\nn = T.int64()\nif c:\n    z = x\nelse:\n    z = x\nreturn z'
    )
    params = 'x: R.Tensor(("n", 3), "float32"), c: R.Tensor((), "bool")'
    after = rxe.apply_pass(rxe.normalize(rxe.parse(function(body, params))), "VMShapeLower")
    assert after.script().count('z: R.Tensor((n, 3), dtype="float32") = x') == 2
