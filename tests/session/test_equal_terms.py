"""Stages in which a pass made constants of parameters: both sides run on equal values, and nobody is blamed for it."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.bisect import NoNan, SameOutput, bisect
from relax_explorer.core.session.equal_terms import on_equal_terms
from relax_explorer.core.session.samples import Sample, function_of, sample_of_calls, sample_run, samples_of
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.session.validate import validate
from tests.oracle.test_live_passes import HEAD

W = np.arange(12, dtype="float32").reshape(4, 3)
B = np.full((3,), 2.0, "float32")
PLAIN = """def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 3), "float32"), b: R.Tensor((3,), "float32")):
        y = R.matmul(x, w)
        z = R.add(y, b)
        return z
"""
SYMBOLIC = PLAIN.replace("(2, 4)", '("n", "k")').replace("(4, 3)", '("k", "m")').replace("(3,)", '("m",)')
BRANCH = """def main(c: R.Tensor((), "bool"), x: R.Tensor((2, 3), "float32"), b: R.Tensor((3,), "float32")):
        if c:
            z = R.add(x, b)
        else:
            z = R.multiply(x, b)
        return z
"""
RETURNED = """def main(x: R.Tensor((2, 3), "float32"), b: R.Tensor((3,), "float32")):
        y = R.exp(x)
        t = ((y, b), b)
        return (t, b)
"""
ALONE = """def main(x: R.Tensor((2, 3), "float32"), b: R.Tensor((3,), "float32")):
        return b
"""
UNUSED = """def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((9,), "float32"), b: R.Tensor((3,), "float32")):
        z = R.add(x, b)
        return z
"""


def module_of(text: str) -> IRModule:
    return rxe.normalize(rxe.parse(HEAD + text))


def params(module: IRModule) -> int:
    return len(function_of(module, "main").params)


def bound(module: IRModule, **arrays: Array) -> IRModule:
    return rxe.apply_pass(module, "BindParams", params=arrays)


def stages_of(*modules: IRModule) -> list[Stage]:
    return [Stage(n, f"stage {n}", module) for n, module in enumerate(modules)]


def damaged(module: IRModule) -> IRModule:
    """One operator is another one."""
    text = module.script()
    assert "R.add(" in text
    return rxe.parse(text.replace("R.add(", "R.subtract(", 1))


CASES: dict[str, tuple[str, dict[str, Array]]] = {
    "plain": (PLAIN, {"w": W, "b": B}),
    "one": (PLAIN, {"w": W}),
    "the last": (PLAIN, {"b": B}),
    "lengths": (SYMBOLIC, {"w": W}),
    "branch": (BRANCH, {"b": B}),
    "returned": (RETURNED, {"b": B}),
    "alone": (ALONE, {"b": B}),
    "unused": (UNUSED, {"w": np.zeros(9, "float32"), "b": B}),
}


@pytest.mark.parametrize("case", CASES)
def test_no_stage_is_blamed_for_constants(case: str) -> None:
    text, arrays = CASES[case]
    module = module_of(text)
    fixed = bound(module, **arrays)
    assert params(fixed) == params(module) - len(arrays)
    stages = stages_of(module, fixed, rxe.apply_pass(fixed, "LegalizeOps"))
    found = bisect(stages)
    assert found.failed is None, found
    assert all(row.equal for row in validate(stages))
    for a, b in ((0, 1), (1, 0), (0, 2), (2, 0)):
        compared = rxe.compare(stages[a], stages[b])
        assert compared.equal, (a, b, compared)
        assert all(verdict.ran for verdict in compared.verdicts), (a, b, compared)


@pytest.mark.parametrize("case", ["plain", "one", "the last", "lengths", "branch", "unused"])
def test_what_is_wrong_behind_them_is_found(case: str) -> None:
    text, arrays = CASES[case]
    module = module_of(text)
    fixed = bound(module, **arrays)
    stages = stages_of(module, fixed, damaged(fixed))
    found = bisect(stages)
    assert found.failed is not None
    assert found.failed.number == 2
    assert found.comparison is not None
    verdict = found.comparison.first
    assert verdict is not None
    assert verdict.first is not None
    assert verdict.first.b is not None
    assert verdict.first.b.name.startswith("z")
    with ProcessPoolExecutor(1) as pool:
        assert bisect(stages, executor=pool).failed == found.failed


def test_two_passes_bind_one_after_the_other() -> None:
    module = module_of(PLAIN)
    first = bound(module, w=W)
    second = bound(first, b=B)
    assert bisect(stages_of(module, first, second)).failed is None
    failed = bisect(stages_of(module, first, damaged(second))).failed
    assert failed is not None
    assert failed.number == 2


def test_the_values_are_the_constants() -> None:
    module = module_of(PLAIN)
    stages = stages_of(module, bound(module, w=W, b=B))
    (sample,) = on_equal_terms(samples_of(module, "main"), stages, "main")
    x, w, b = sample_run(stages[0], "main", sample).values
    assert (w == W).all()
    assert (b == B).all()
    assert np.ptp(x) > 0


def test_lengths_of_constants_are_those_of_the_run() -> None:
    module = module_of(SYMBOLIC)
    stages = stages_of(module, bound(module, w=W))
    samples = on_equal_terms(samples_of(module, "main"), stages, "main")
    shapes = [[value.shape for value in sample_run(stages[0], "main", sample).values] for sample in samples]
    assert [shape[1:] for shape in shapes] == [[(4, 3), (3,)]] * 3
    assert [shape[0][1] for shape in shapes] == [4] * 3


def test_given_values_stay_and_may_differ(tmp_path: Path) -> None:
    module = module_of(PLAIN)
    stages = stages_of(module, bound(module, w=W, b=B), bound(module, w=W, b=B))
    for given in ({"w": "ones"}, {"b": "3"}):
        test = SameOutput(stages[0], "main", samples_of(module, "main", 1, given))
        failed = bisect(stages, test).failed
        assert failed is not None
        assert failed.number == 1
    path = tmp_path / "all.npz"
    for w, number in ((W, None), (W + 1, 1)):
        np.savez(path, x=np.ones((2, 4), "float32"), w=w, b=B)
        failed = bisect(stages, SameOutput(stages[0], "main", (Sample(file=str(path)),))).failed
        assert (failed.number if failed else None) == number


def test_parameters_that_vanish_otherwise_are_told() -> None:
    """Nobody knows their values: the pass is told to have taken them away."""
    module = module_of(PLAIN)
    other = module_of(
        PLAIN.replace(', b: R.Tensor((3,), "float32")', "").replace("R.add(y, b)", "R.add(y, y)")
    )
    failed = bisect(stages_of(module, other)).failed
    assert failed is not None
    assert "main takes 2 inputs (x, w), 3 given" in failed.reason


def test_one_is_bound_and_one_vanishes() -> None:
    module = module_of(PLAIN)
    other = (
        bound(module, w=W)
        .script()
        .replace(', b: R.Tensor((3,), dtype="float32")', "")
        .replace("R.add(y, b)", "R.add(y, y)")
    )
    failed = bisect(stages_of(module, rxe.parse(other))).failed
    assert failed is not None
    assert "main takes 1 inputs (x), 3 given" in failed.reason


def test_calls_of_a_file_give_what_is_bound(tmp_path: Path) -> None:
    module = module_of(PLAIN)
    np.save(tmp_path / "w.npy", W)
    np.save(tmp_path / "b.npy", B)
    calls = tmp_path / "calls.txt"
    calls.write_text('y = main("randn:1", "w.npy", "b.npy")\nmain("randn:2", "w.npy", "b.npy")\n')
    fixed = bound(module, w=W, b=B)
    sample = sample_of_calls(str(calls), [module])
    stages = stages_of(module, fixed, damaged(fixed))
    failed = bisect(stages, SameOutput(stages[0], "main", (sample,))).failed
    assert failed is not None
    assert failed.number == 2


def test_nan_is_looked_for_behind_them() -> None:
    module = module_of(
        PLAIN.replace("R.add(y, b)", "R.log(R.subtract(b, R.exp(b)))").replace(
            "z = ", "y0 = R.exp(y)\n        z = "
        )
    )
    stages = stages_of(module, bound(module, w=W, b=B))
    test = NoNan(stages[0], "main", samples_of(module, "main"))
    failed = bisect(stages, test).failed
    assert failed is not None
    assert failed.number == 0
    assert "takes" not in failed.reason


def test_what_is_overwritten_starts_as_a_constant() -> None:
    """The pass binds a variable to the constant, where the memory of the parameter is written."""
    text = """def main(x: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32")):
        R.func_attr({"relax.force_pure": True})
        gv = R.call_tir_inplace(cls.bump, (b, x), [0], out_sinfo=R.Tensor((3,), "float32"))
        return gv
"""
    kernel = """@T.prim_func
    def bump(b: T.Buffer((3,), "float32"), x: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.block("bump"):
                v = T.axis.spatial(3, i)
                b[v] = b[v] + x[v]
    @R.function
    """
    module = rxe.normalize(rxe.parse(HEAD.replace("@R.function\n    ", kernel) + text))
    fixed = bound(module, b=B)
    assert params(fixed) == 1
    assert bisect(stages_of(module, fixed)).failed is None


# -- weights that are bundled, or worked on by a function of their own ----------------------------------------------------

WEIGHTS = """def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((3, 4), "float32"), b: R.Tensor((3,), "float32"), c: R.Tensor((3,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            wt = R.permute_dims(w)
            y = R.matmul(x, wt)
            bc = R.multiply(b, c)
            z = R.add(y, bc)
            R.output(z)
        return z
"""
OPEN = WEIGHTS.replace("(3, 4)", '("m", 4)').replace("(3,)", '("m",)')
LOWERED = (
    "LegalizeOps,LiftTransformParams,BundleModelParams,FuseOps,FuseTIR,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,"
    "StaticPlanBlockMemory,LowerAllocTensor,KillAfterLastUse,LowerRuntimeBuiltin,VMShapeLower,AttachGlobalSymbol"
)
PIPELINES = [
    "LiftTransformParams",
    "LiftTransformParams{shared_transform=True},LegalizeOps",
    "BundleModelParams,LegalizeOps",
    "LiftTransformParams,BundleModelParams",
    LOWERED,
]


@pytest.mark.parametrize("pipeline", PIPELINES, ids=range(len(PIPELINES)))
@pytest.mark.parametrize("text", [WEIGHTS, OPEN], ids=["fixed", "open"])
def test_no_pass_is_blamed_for_what_it_does_with_weights(pipeline: str, text: str) -> None:
    session = rxe.Session(module_of(text), pipeline)
    session.run_all()
    if text is WEIGHTS:
        assert (
            session.stages[-1].module.relax_functions["main"].params
            != session.stages[0].module.relax_functions["main"].params
        )
    assert bisect(session).failed is None
    assert all(row.equal for row in validate(session))
    # as files, whose lengths are variables of their own
    files = stages_of(*[rxe.parse(stage.module.script()) for stage in session.stages])
    assert bisect(files).failed is None
    first, last = session.stages[0].module, session.stages[-1].module
    for a, b in ((first, last), (last, first)):
        compared = rxe.compare(a, b)
        assert compared.equal
        assert any(verdict.ran for verdict in compared.verdicts)


def lifted(pipeline: str = "LiftTransformParams") -> list[IRModule]:
    session = rxe.Session(module_of(WEIGHTS), pipeline)
    session.run_all()
    return [stage.module for stage in session.stages]


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("R.multiply(b, c)", "R.subtract(b, c)", "bc"),
        (" = (wt, bc)", " = (wt, c)", "output_tuple bc"),
        ("R.add(y, bc)", "R.subtract(y, bc)", "z"),
    ],
    ids=["in the work", "in what it returns", "behind it"],
)
def test_a_fault_in_the_work_on_weights_is_found(old: str, new: str, name: str) -> None:
    whole, right = lifted()
    assert old in right.script()
    wrong = rxe.normalize(rxe.parse(right.script().replace(old, new)))
    for stages in (stages_of(whole, wrong), stages_of(whole, right, wrong)):
        found = bisect(stages)
        assert found.failed is not None
        assert found.failed.number == stages[-1].number
        assert found.comparison is not None
        assert found.comparison.first is not None
        pair = found.comparison.first.first
        assert pair is not None
        assert pair.b is not None
        assert pair.b.name in name.split()  # the first pair that differs, seen from each of the stages before


def test_a_build_may_begin_behind_the_work_on_weights() -> None:
    _, first, bundled = lifted("LiftTransformParams,BundleModelParams")
    assert bisect(stages_of(first, bundled)).failed is None
    wrong = rxe.parse(bundled.script().replace("R.add(", "R.subtract("))
    failed = bisect(stages_of(first, bundled, wrong)).failed
    assert failed is not None
    assert failed.number == 2


def test_worked_on_weights_may_have_the_former_names() -> None:
    text = """def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 3), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            v = R.exp(w)
            y = R.matmul(x, v)
            R.output(y)
        return y
"""
    session = rxe.Session(module_of(text), "LiftTransformParams")
    session.run_all()
    head, _, main = session.stages[-1].module.script().rpartition("@R.function")
    assert "v: R.Tensor" in main
    same = rxe.parse(
        head + "@R.function" + main.replace("v: R.Tensor", "w: R.Tensor").replace("(x, v,", "(x, w,")
    )
    whole = session.stages[0].module
    assert [param.name for param in same.relax_functions["main"].params] == [
        param.name for param in whole.relax_functions["main"].params
    ]
    for stages in (stages_of(whole, same), stages_of(same, whole)):
        assert bisect(stages).failed is None


def test_fields_in_another_order_are_a_fault() -> None:
    whole, bundled = lifted("BundleModelParams")
    text = bundled.script().replace("multiply", "subtract")
    for old, new in (("[1]", "[9]"), ("[2]", "[1]"), ("[9]", "[2]")):
        text = text.replace(f"model_params{old}", f"model_params{new}")
    wrong = rxe.parse(text)
    assert bisect(stages_of(whole, bundled)).failed is None
    assert bisect(stages_of(whole, bundled, wrong)).failed is not None


def test_weights_of_a_file_are_worked_on(tmp_path: Path) -> None:
    whole, right = lifted()
    rng = np.random.default_rng(0)
    path = tmp_path / "all.npz"
    shapes = {"x": (2, 4), "w": (3, 4), "b": (3,), "c": (3,)}
    arrays: dict[str, Any] = {
        name: rng.normal(size=shape).astype("float32") for name, shape in shapes.items()
    }
    np.savez(path, **arrays)
    wrong = rxe.parse(right.script().replace("R.add(y, bc)", "R.subtract(y, bc)"))
    stages = stages_of(whole, right, wrong)
    for sample in (Sample(file=str(path)), Sample((("n", 2),), 0, (("w", "ones"), ("c", "3")))):
        failed = bisect(stages, SameOutput(stages[0], "main", (sample,))).failed
        assert failed is not None
        assert failed.number == 2
    with ProcessPoolExecutor(1) as pool:
        again = bisect(stages, SameOutput(stages[0], "main", (sample,)), executor=pool).failed
    assert again == failed


def test_calls_of_a_file_bring_former_weights(tmp_path: Path) -> None:
    whole, right = lifted()
    calls = tmp_path / "calls.txt"
    np.save(tmp_path / "x.npy", np.ones((2, 4), "float32"))
    calls.write_text(
        'y = main("x.npy", "randn:1", "randn:2", "randn:3")\nmain("x.npy", "randn:4", "randn:2", "randn:3")\n'
    )
    sample = sample_of_calls(str(calls), [whole])
    stages = stages_of(whole, right, rxe.parse(right.script().replace("R.add(y, bc)", "R.subtract(y, bc)")))
    failed = bisect(stages, SameOutput(stages[0], "main", (sample,))).failed
    assert failed is not None
    assert failed.number == 2


def test_another_function_is_not_taken_for_the_same() -> None:
    whole, _ = lifted()
    text = WEIGHTS.replace("def main(x:", "def main(x0:").replace("matmul(x,", "matmul(x0,")
    session = rxe.Session(module_of(text), "LiftTransformParams")
    session.run_all()
    assert bisect(stages_of(whole, session.stages[-1].module)).failed is not None
