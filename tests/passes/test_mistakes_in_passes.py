"""Our own passes, each with a planted mistake: after a step in the middle of a pipeline this pass and the right binding are blamed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace as with_fields
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, operands
from relax_explorer.core.passes.contract import ALWAYS, Kept, Pass, PassSite, function_pass, module_pass
from relax_explorer.core.passes.pipeline import Outcome, Step, run, steps
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases.module_properties import WELL_FORMED, holding
from relax_explorer.core.session.bisect import SameOutput
from relax_explorer.core.session.difference import Tolerance
from relax_explorer.core.session.samples import Sample
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.stages import Stage
from relax_explorer.ui.cli.main import group

HELPER = """
    @R.function(private=True)
    def pair(p: R.Tensor((2, 2), "float32"), q: R.Tensor((2, 2), "float32")):
        a = R.exp(p)
        b = R.sin(p)
        return (a, b)
"""
INSIDE = {
    "CanonicalizeBindings": "z = k",
    "EliminateCommonSubexpr": "e1 = R.exp(k)\ne2 = R.exp(k)\nz = R.add(e1, e2)",
    "DeadCodeElimination": "e1 = R.exp(k)\nz = R.exp(k)",
    "FoldConstant": 'e1 = R.add(R.const(1.0, "float32"), R.const(2.0, "float32"))\nz = R.multiply(k, e1)',
    "ToNonDataflow": "z = R.exp(k)",
    "TopologicalSort": "e1 = R.exp(w)\ne2 = R.exp(k)\nz = R.subtract(e2, e1)",
    "LegalizeOps": "z = R.exp(k)",
    "DecomposeOpsForInference": "e1 = R.nn.batch_norm(k, r, r, r, r, axis=1, training=False)\nz = e1[0]",
    "ToMixedPrecision": "z = R.matmul(k, w)",
    "CombineParallelMatmul": "e1 = R.matmul(k, w)\ne2 = R.matmul(k, x)\nz = R.add(e1, e2)",
    "AdjustMatmulOrder": "e1 = R.matmul(k, w)\nz = R.matmul(e1, v)",
    "ExpandMatmulOfSum": "e1 = R.add(w, x)\nz = R.matmul(k, e1)",
    "ReorderPermuteDimsAfterConcat": (
        "e1 = R.permute_dims(k)\ne2 = R.permute_dims(w)\ne3 = R.concat((e1, e2))\nz = R.matmul(e3, w)"
    ),
    "ReorderTakeAfterMatmul": "e1 = R.take(w, i, axis=1)\nz = R.matmul(k, e1)",
    "RemoveRedundantReshape": "e1 = R.reshape(k, R.shape([4]))\nz = R.reshape(e1, R.shape([2, 2]))",
    "FastMathTransform": "z = R.exp(k)",
    "FuseTransposeMatmul": "e1 = R.permute_dims(w)\nz = R.matmul(k, e1)",
    "InlinePrivateFunctions": "e1 = M.pair(k, w)\nz = e1[0]",
    "RemoveUnusedParameters": "e1 = M.pair(k, w)\nz = e1[0]",
    "RemoveUnusedOutputs": "e1 = M.pair(k, w)\nz = e1[0]",
    "ExpandTupleArguments": "e1 = M.first((k, w))\nz = R.exp(e1)",
    "FuseOps": "e1 = R.exp(k)\nz = R.sin(e1)",
}
"""For each pass, bindings that it changes: they read `k`, and bind `z`."""
FIRST = """
    @R.function(private=True)
    def first(t: R.Tuple(R.Tensor((2, 2), "float32"), R.Tensor((2, 2), "float32"))):
        a = t[0]
        b = R.exp(a)
        return b
"""
LOWERED = (
    "CallTIRRewrite", "StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin", "VMShapeLower",
    "AttachGlobalSymbol",
)  # fmt: skip
"""Passes of the machine that change this program after those that establish what they need."""
OUTSIDE = ("ConvertToDataflow", "LambdaLift")
PASSES = (*INSIDE, *OUTSIDE, *LOWERED)
BEFORE = {"FuseOps": "LegalizeOps,AnnotateTIROpPattern", "AttachGlobalSymbol": "NormalizeGlobalVar"}


def program(name: str) -> str:
    """A module that the pass changes, and in which each mistake has its place."""
    inside = "".join(f"            {line}\n" for line in INSIDE.get(name, "z = R.exp(k)").splitlines())
    nested = """
        @R.function
        def inner(g: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
            h = R.subtract(g, x)
            return h
        f = inner(o)
"""
    after = nested if name == "LambdaLift" else "        e8 = R.exp(o)\n        f = R.sin(e8)\n"
    return f"""
@I.ir_module
class M:{HELPER if "pair" in inside else FIRST if "first" in inside else ""}
    @R.function(pure=False)
    def main(
        x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32"), v: R.Tensor((2, 1), "float32"),
        r: R.Tensor((2,), "float32"), i: R.Tensor((2,), "int64"), u: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool"),
    ):
        with R.dataflow():
            k = R.subtract(x, w)
{inside}            lv = R.divide(k, R.const(3.0, "float32"))
            o = lv
            R.output(o, z)
        y = R.match_cast(u, R.Tensor((2,), "float32"))
        R.print(x, format="one")
        R.assert_op(c, format="stop")
        R.print(w, format="two")
{after}        j = R.subtract(f, o)
        return (j, z)
"""


# -- mistakes --------------------------------------------------------------------------------------------------


Mistake: TypeAlias = Callable[[e.Function, PassSite], e.Function]


def wrong(name: str, mistake: Mistake) -> Pass:
    """A pass of ours that makes a mistake behind its own changes."""
    real = passes.get(name)

    @wraps(real.run)
    def on_function(fn: e.Function, at: PassSite, **options: object) -> e.Function:
        return mistake(real.run(fn, at, **options), at)

    @wraps(real.run)
    def on_module(module: rxe.IRModule, at: PassSite, **options: object) -> rxe.IRModule:
        at.editor.take(real.run(module, at, **options))
        for name, fn in at.editor.done().relax_functions.items():
            at.editor.replace(name, mistake(fn, at))
        return at.editor.done()

    return with_fields(real, run=on_module if real.on_module else on_function)


def rule(change: Callable[[Rewriter, e.Binding], Answer]) -> Mistake:
    return lambda fn, at: rewrite(fn, at, change)


def operator(binding: e.Binding) -> str:
    value = binding.value
    return value.op.name if type(value) is e.Call and type(value.op) in (e.OpRef, e.ExternFunc) else ""


def texts(binding: e.Binding) -> list[str]:
    """The texts among the operands of a call, and its format."""
    call = binding.value
    if type(call) is not e.Call:
        return []
    return [str(call.attrs.get("format", "")), *[arg.value for arg in call.args if type(arg) is e.StringImm]]


def says(binding: e.Binding, text: str) -> bool:
    return text in texts(binding)


def dropped_check(walk: Rewriter, binding: e.Binding) -> Answer:
    """The match_cast goes; of one that is lowered, a copy behind its checks remains."""
    is_lowered = "shape_heap" in {name.var.name for name in bindings(walk.fn) if name.var is not None}
    return (
        ()
        if "(match_cast" in "".join(texts(binding)) or (type(binding) is e.MatchCast and not is_lowered)
        else binding
    )


def dropped_assertion(walk: Rewriter, binding: e.Binding) -> Answer:
    return () if says(binding, "stop") else binding


def leaked(walk: Rewriter, binding: e.Binding) -> Answer:
    """The outputs of dataflow blocks end with their blocks."""
    if type(walk.block) is not e.DataflowBlock or type(binding.var) is not e.Var or walk.fn.is_private:
        return binding
    inner = e.DataflowVar(binding.var.name, binding.var.struct_info)
    walk.rename(binding.var, inner)
    return replace(binding, var=inner)


def last_tensor(fn: e.Function) -> e.Var | None:
    """The last variable of the function that holds a tensor: in a lowered one, memory."""
    found = [
        b.var for b in bindings(fn) if isinstance(getattr(b.var, "struct_info", None), s.TensorStructInfo)
    ]
    return found[-1] if found else None


def forgotten(walk: Rewriter, binding: e.Binding) -> Answer:
    if type(binding) is not e.VarBinding or binding.var is not last_tensor(walk.fn) or walk.fn.is_private:
        return binding
    vague = e.Var(binding.var.name, s.OBJECT)
    walk.rename(binding.var, vague)
    return replace(binding, var=vague)


def wrongly_typed(walk: Rewriter, binding: e.Binding) -> Answer:
    """The text of an assertion is one value more, whose StructInfo is wrong, and which nothing reads."""
    if not says(binding, "stop"):
        return binding
    wrong = e.Call(e.op_ref("relax.shape_of"), (walk.fn.params[0],), struct_info=s.OBJECT)
    return e.VarBinding(e.Var("j", s.OBJECT), wrong), binding


def widened(walk: Rewriter, binding: e.Binding) -> Answer:
    """An annotation hides the StructInfo of the value."""
    answer = forgotten(walk, binding)
    return (
        replace(answer, annotation=s.OBJECT)
        if type(answer) is e.VarBinding and answer is not binding
        else answer
    )


def reordered(fn: e.Function, at: PassSite) -> e.Function:
    """The print of `two` comes first, with all that stands between."""
    blocks = []
    for block in fn.body.blocks:
        found = list(block.bindings)
        one, two = ([n for n, b in enumerate(found) if says(b, text)] for text in ("one", "two"))
        if one and two:
            found.insert(one[0], found.pop(two[0]))
        blocks.append(replace(block, bindings=tuple(found)))
    return replace(fn, body=replace(fn.body, blocks=tuple(blocks)))


def swapped(walk: Rewriter, binding: e.Binding) -> Answer:
    call = binding.value
    if binding.var is None or binding.var.name != "j" or type(call) is not e.Call:
        return binding
    args = call.args
    if operator(binding) == "relax.call_tir":
        pair = args[1]
        assert type(pair) is e.Tuple
        return replace(
            binding, value=replace(call, args=(args[0], replace(pair, fields=pair.fields[::-1]), *args[2:]))
        )
    return replace(binding, value=replace(call, args=args[::-1]))


def shortened(fn: e.Function, at: PassSite) -> e.Function:
    """The result of `main` loses its last field, and is described as it is now."""
    result = fn.body.body
    if type(result) is not e.Tuple or len(result.fields) != 2 or fn.is_private:
        return fn
    one = e.Tuple(result.fields[:1])
    return replace(fn, body=replace(fn.body, body=one), ret_struct_info=None, struct_info=None)


MISTAKES: dict[str, tuple[Mistake, str]] = {
    "drops a check": (rule(dropped_check), r"the check of '[yu]' is gone"),
    "drops an assertion": (rule(dropped_assertion), "assert_op 'stop' is gone"),
    "leaks a dataflow variable": (rule(leaked), "WELL_FORMED does not hold: '[koz]' is used outside"),
    "writes a wrong StructInfo": (rule(wrongly_typed), "NORMALIZED does not hold: "),
    "widens a StructInfo": (rule(widened), "the StructInfo of '(j|alloc5)' is less precise: R.Any"),
    "reorders prints": (reordered, "print 'two' comes before the effect print 'one' now"),
    "drops an output": (shortened, "the result of main is "),
}
"""Each kind of mistake with what is said of it."""


# -- who is blamed ---------------------------------------------------------------------------------------------


@cache
def road(name: str) -> tuple[Step, ...]:
    """The passes in front of a pass: in a build those of the build."""
    build = passes.PIPELINES["default_build"]
    before = ",".join(build[: build.index(name)]) if name in LOWERED else BEFORE.get(name, "Normalize")
    return tuple(steps(before))


@cache
def given(name: str) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(program(name)))


def outcomes(name: str, mistake: Mistake) -> list[Outcome]:
    """The steps of a pipeline with the wrong pass in its middle."""
    module = given(name)
    pipeline = [*road(name), Step(wrong(name, mistake)), *steps("EliminateCommonSubexpr,DeadCodeElimination")]
    return list(run(module, pipeline, holding(module)))


def errors(outcome: Outcome) -> list[Diagnostic]:
    assert outcome.failure is None, outcome.failure
    return [problem for problem in outcome.problems if problem.is_error]


def is_right(place: Any, kind: str) -> bool:
    """True if a problem of this kind points at the binding with the mistake; of a leak, at one that reads the variable."""
    if kind == "drops an output":
        return type(place) is e.SeqExpr and type(place.body) is e.Tuple and len(place.body.fields) == 1
    if kind == "leaks a dataflow variable":
        read = place.fields if type(place) is e.Tuple else operands(place.value)
        read = [x for arg in read for x in (arg.fields if type(arg) is e.Tuple else (arg,))]
        return any(type(x) is e.DataflowVar and x.name in ("k", "o", "z") for x in read)
    if kind in ("drops an assertion", "reorders prints"):
        return says(place, "stop" if kind == "drops an assertion" else "two")
    if kind == "drops a check":
        return type(place) is e.MatchCast or "(match_cast" in "".join(texts(place))
    return place.var.name in ("j", "alloc5")


@pytest.mark.parametrize("name", PASSES)
def test_a_forgotten_struct_info_is_derived_again(name: str) -> None:
    right, wrong = (
        outcomes(name, mistake)[len(road(name))] for mistake in (lambda fn, at: fn, rule(forgotten))
    )
    assert errors(wrong) == []
    assert wrong.module.script() == right.module.script()


@pytest.mark.parametrize("name", PASSES)
def test_the_right_pass_changes_the_program_and_is_not_blamed(name: str) -> None:
    found = outcomes(name, lambda fn, at: fn)
    assert found[len(road(name))].changed
    assert [errors(outcome) for outcome in found] == [[]] * len(found)


DERIVED_AGAIN = (
    "RemoveRedundantReshape",
    "RemoveUnusedParameters",
    "RemoveUnusedOutputs",
    "ExpandTupleArguments",
    "VMShapeLower",
)


def has_place(name: str, kind: str) -> bool:
    """True if a pass can make a mistake. After some passes StructInfo is derived again, which mends what is wrong."""
    if kind == "leaks a dataflow variable":
        return name not in ("ToNonDataflow", *LOWERED)
    return kind != "writes a wrong StructInfo" or name not in DERIVED_AGAIN


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in PASSES for kind in MISTAKES if has_place(name, kind)]
)
def test_the_pass_and_the_binding_are_blamed(name: str, kind: str) -> None:
    mistake, text = MISTAKES[kind]
    found = outcomes(name, mistake)
    problems = [errors(outcome) for outcome in found]
    own = problems.pop(len(road(name)))
    assert not any(problems), problems
    assert [problem.origin for problem in own] == [name] * len(own)
    assert any(re.search(text, item.message) and is_right(item.labels[0].place, kind) for item in own), own


def test_a_broken_property_is_blamed_once_until_it_is_mended() -> None:
    module = given("CanonicalizeBindings")

    @module_pass("Mends", changes={Kept.EFFECTS: ALWAYS})
    def mends(_: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        """Return the first module."""
        return module

    leaks = Step(wrong("CanonicalizeBindings", rule(leaked)))
    other = Step(wrong("DeadCodeElimination", rule(dropped_assertion)))
    found = list(
        run(module, [leaks, other, Step(mends), leaks, *steps("EliminateCommonSubexpr")], holding(module))
    )
    assert [len(errors(outcome)) for outcome in found] == [1, 1, 0, 1, 0]
    assert "assert_op 'stop' is gone" in errors(found[1])[0].message
    held = holding(module)
    for outcome in found[:2]:
        held = outcome.holding(held)
        assert WELL_FORMED not in held

    @function_pass("Breaks")
    def breaks(fn: e.Function, at: PassSite) -> e.Function:
        """Break a property that the pass does not establish."""
        return rule(leaked)(fn, at)

    renamed = Step(passes.get("ReplaceModule"), {"text": module.script().replace("main", "other")})
    for first, expected in ((Step(breaks), [2, 0, 2]), (renamed, [0, 0, 2])):
        found = list(run(module, [first, Step(mends), Step(breaks)], holding(module)))
        assert [len(errors(outcome)) for outcome in found] == expected


# -- mistakes that only a run shows, and the command line -------------------------------------------------------


@pytest.fixture(scope="module")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Arguments with which the program runs to its end."""
    path = tmp_path_factory.mktemp("arrays") / "io.npz"
    numbers = np.arange(1, 5, dtype="float32").reshape(2, 2)
    floats = {"x": numbers, "w": numbers[::-1] / 8, "v": numbers[:, :1], "r": numbers[0], "u": numbers[1]}
    np.savez(path, **floats, i=np.array([1, 0]), c=np.array(True))
    return path


@pytest.mark.parametrize("name", [*INSIDE, *OUTSIDE])
def test_a_bisection_names_swapped_operands(name: str, arrays: Path) -> None:
    session = Session(
        given(name), [*road(name), Step(wrong(name, rule(swapped))), *steps("DeadCodeElimination")]
    )
    session.run_all()
    assert not any(problem.is_error for stage in session.stages for problem in stage.problems)
    first = Stage(0, "input", session.stages[0].module)
    found = rxe.bisect(session, SameOutput(first, "main", [Sample(file=str(arrays))], Tolerance(1e-2, 1e-2)))
    assert found.failed is not None
    assert found.failed.made_by == name
    assert found.comparison is not None
    verdict = found.comparison.first
    assert verdict is not None
    assert verdict.first is not None
    assert verdict.first.b is not None
    assert "j" in verdict.first.b.name.split(", ")
    assert [pair.equal for pair in verdict.operands] == [True, True]


@pytest.fixture
def planted(request: pytest.FixtureRequest) -> Iterator[str]:
    """A registered pass: CanonicalizeBindings with a mistake."""
    mistake: Mistake = request.param
    passes.register(with_fields(wrong("CanonicalizeBindings", mistake), name="Planted"))
    yield "Planted"
    passes.unregister("Planted")


SHOWN = {
    "drops a check": "y = R.match_cast(u, ",
    "leaks a dataflow variable": "e8 = R.exp(o)",
    "writes a wrong StructInfo": "R.shape_of(x)",
    "reorders prints": 'R.print(w, format="two")',
    "drops an output": "return (j, z)",
}
"""For kinds of mistakes, the line that a diagnostic shows."""


@pytest.mark.parametrize(
    ("planted", "kind"), [(MISTAKES[kind][0], kind) for kind in SHOWN], ids=SHOWN, indirect=["planted"]
)
def test_opt_blames_the_pass_and_shows_the_binding(planted: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(program("CanonicalizeBindings"))
    done = CliRunner().invoke(group, ["opt", str(path), "-p", f"Normalize,{planted},DeadCodeElimination"])
    assert done.exit_code == 1, done.output
    assert re.search(rf"RX0403\]: after {planted}, .*{MISTAKES[kind][1]}", done.stderr)
    assert SHOWN[kind] in done.stderr


@pytest.mark.parametrize("planted", [rule(swapped), shortened], ids=["operands", "output"], indirect=True)
def test_bisect_blames_the_pass(planted: str, tmp_path: Path, arrays: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(program("CanonicalizeBindings"))
    words = ["-p", f"Normalize,{planted},DeadCodeElimination", "--input", str(arrays), "--format", "json"]
    done = CliRunner().invoke(group, ["bisect", str(path), *words])
    assert done.exit_code == 1, done.output
    assert json.loads(done.stdout)["first_bad"]["made_by"] == planted
