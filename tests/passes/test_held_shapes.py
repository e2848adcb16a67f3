"""A shape held by a variable is compared after every pass as before."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings, info_holders
from relax_explorer.core.passes.pipeline import run_step, steps
from tests.support.ready_modules import after as after_pass

PROGRAM = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor("float32"), z: R.Tensor("float32")):
        with R.dataflow():
            s0 = R.shape_of(x)
            s = s0
            y = R.match_cast(z, R.Tensor(s, dtype="float32"))
            t = (y, y)
            w = R.match_cast(t, R.Tuple(R.Tensor(s, dtype="float32"), R.Tensor(s0, dtype="float32")))
            R.output(w, s)

        @R.function
        def g(q: R.Tensor("float32")):
            r = R.match_cast(q, R.Tensor(s, dtype="float32"))
            return r

        v = g(w[1])
        return v
"""


@pytest.mark.parametrize("name", rxe.passes.names())
def test_a_held_shape_survives(name: str) -> None:
    before = rxe.normalize(rxe.parse(PROGRAM))
    after = after_pass(before, name)
    assert [item for item in rxe.check(after) if item.is_error] == []
    fits, other = np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)
    assert rxe.run(after, "main", [fits, fits]).shape == (2, 3)
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(after, "main", [fits, other])
    assert "does not equal s" in caught.value.diagnostics[0].message


def test_an_output_forgets_what_only_its_dataflow_block_knows() -> None:
    main = rxe.normalize(rxe.parse(PROGRAM))["main"]
    outputs = {b.var.name: str(b.var.struct_info) for b in main.body.blocks[0].bindings}
    assert outputs["w"] == 'R.Tuple(R.Tensor(s, dtype="float32"), R.Tensor(dtype="float32"))'


CLOSURE = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor("float32"), z: R.Tensor("float32")) -> R.Tensor("float32"):
        s0 = R.shape_of(x)
        s = s0

        @R.function
        def g(q: R.Tensor(s, dtype="float32")) -> R.Tensor("float32"):
            @R.function
            def h(q1: R.Tensor(s, dtype="float32")) -> R.Tensor("float32"):
                return q1
            r = h(q)
            return r

        w = g(z)
        return w
"""


@pytest.mark.parametrize("name", rxe.passes.names())
def test_a_closure_compares_its_argument_with_a_held_shape(name: str) -> None:
    after = after_pass(rxe.normalize(rxe.parse(CLOSURE)), name)
    assert rxe.structural_equal(rxe.normalize(rxe.parse(after.script())), after)
    fits, other = np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)
    assert rxe.run(after, "main", [fits, fits]).shape == (2, 3)
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(after, "main", [fits, other])
    assert re.match("q( of g is|:) a tensor \\(3, 2\\) of float32", caught.value.diagnostics[0].message)


def test_a_held_shape_in_the_type_of_a_parameter_is_read() -> None:
    assert "RX0301" not in {item.code.id for item in rxe.check(rxe.parse(CLOSURE))}


ANNOTATED = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor("float32"), z: R.Tensor("float32")) -> R.Tensor("float32"):
        with R.dataflow():
            s = R.shape_of(x)
            y: R.Tensor(s, dtype="float32") = R.add(z, z)
            w = R.add(y, y)
            R.output(w)
        return w
"""


@pytest.mark.parametrize("name", rxe.passes.names())
def test_a_held_shape_in_an_annotation_is_read(name: str) -> None:
    assert "RX0301" not in {item.code.id for item in rxe.check(rxe.parse(ANNOTATED))}
    after = after_pass(rxe.normalize(rxe.parse(ANNOTATED)), name)
    assert [item for item in rxe.check(after) if item.is_error] == []


def test_an_annotation_of_a_match_cast_names_the_variable_of_the_module() -> None:
    text = PROGRAM.replace("y = R.match_cast(z", 'y: R.Tensor(s, dtype="float32") = R.match_cast(z')
    block = rxe.normalize(rxe.parse(text))["main"].body.blocks[0]
    held = next(binding.var for binding in block.bindings if binding.var.name == "s")
    cast = next(binding for binding in block.bindings if binding.var.name == "y")
    assert cast.annotation.shape is held
    assert cast.struct_info.shape is held


HEAD = "@R.function\ndef main(s: R.Tensor((2,), 'int64'), x: R.Tensor(('n',), 'float32'), c: R.Tensor((), 'bool')):\n"
GRAPH = "with R.dataflow():\n    t = R.tensor_to_shape(s)\n    y = R.reshape(x, t)\n"
# Programs with values whose StructInfo names a shape that the program computes.
DERIVED = {
    "no block": "t = R.tensor_to_shape(s)\ny = R.reshape(x, t)\nz = R.exp(y)\nreturn z",
    "an output that nothing reads": GRAPH + "    z = R.exp(y)\n    R.output(y, z)\nreturn z",
    "a value between": GRAPH + "    v = R.exp(y)\n    z = R.sin(v)\n    R.output(y, z)\nreturn z",
    "a copy between": GRAPH + "    p = y\n    v = R.exp(p)\n    z = R.sin(v)\n    R.output(p, z)\nreturn z",
    "the shape is an output, too": GRAPH + "    z = R.exp(y)\n    R.output(t, y, z)\nreturn z",
    "the shape is read outside": GRAPH
    + "    z = R.exp(y)\n    R.output(t, y, z)\nw = R.add(z, z)\nreturn (w, t)",
    "copies": "with R.dataflow():\n    t = R.tensor_to_shape(s)\n    u = t\n    y = R.reshape(x, u)\n    v = y\n    z = R.exp(v)\n"
    "    g = z\n    R.output(u, v, g)\nreturn g",
    "two blocks": GRAPH
    + "    R.output(t, y)\nwith R.dataflow():\n    z = R.exp(y)\n    w = R.reshape(z, t)\n    R.output(w)\nreturn w",
    "branches": "t = R.tensor_to_shape(s)\ny = R.reshape(x, t)\nif c:\n    a = R.exp(y)\n    b = R.sin(a)\n    z = b\n"
    "else:\n    d = R.cos(y)\n    f = R.sin(d)\n    z = f\nw = R.exp(z)\nv = R.exp(w)\nreturn v",
    "a function": "t = R.tensor_to_shape(s)\ny = R.reshape(x, t)\n@R.function\ndef g(q: R.Tensor(('m',), 'float32')) -> "
    "R.Tensor(ndim=2, dtype='float32'):\n    a = R.reshape(q, t)\n    b = R.exp(a)\n    return b\nw = g(x)\nv = R.exp(y)\nreturn (w, v)",
    "a tuple": GRAPH + "    p = (y, t)\n    q = p[0]\n    z = R.exp(q)\n    R.output(q, p, z)\nreturn z",
    "a check with an equal shape": "t = R.tensor_to_shape(s)\nu = R.tensor_to_shape(s)\ny = R.reshape(x, t)\n"
    "z = R.match_cast(y, R.Tensor(u, 'float32'))\nv = R.zeros(u, 'float32')\ng = R.add(v, z)\nreturn g",
    "a packed function of that shape": "t = R.tensor_to_shape(s)\ny = R.reshape(x, t)\n"
    "v = R.call_pure_packed('test.identity', y, ty_args=(R.Tensor(t, 'float32'),))\ng = R.add(v, y)\nreturn g",
    "equal shapes": "with R.dataflow():\n    t = R.tensor_to_shape(s)\n    u = R.tensor_to_shape(s)\n    y = R.reshape(x, t)\n"
    "    z = R.reshape(x, u)\n    w = R.add(y, y)\n    R.output(u, z, w)\nv = R.exp(w)\nreturn (v, z)",
}
CHAINS = [
    "ToNonDataflow,ConvertToDataflow,CanonicalizeBindings,DeadCodeElimination",
    "EliminateCommonSubexpr,CanonicalizeBindings,TopologicalSort,RemoveUnusedOutputs",
    "LambdaLift,ConvertToDataflow,zero,DecomposeOpsForInference,default_build",
]


@pytest.fixture(autouse=True)
def _packed() -> None:
    rxe.packed_function("test.identity")(lambda value: value)


@pytest.mark.parametrize("passes", [*rxe.passes.names(), *CHAINS])
@pytest.mark.parametrize("program", DERIVED)
def test_a_derived_shape_is_renamed_with_its_variable(program: str, passes: str) -> None:
    text = HEAD + "".join(f"    {line}\n" for line in DERIVED[program].splitlines())
    before = rxe.normalize(rxe.parse(text))
    after = after_pass(before, passes) if passes not in CHAINS else rxe.run_pipeline(before, passes)
    assert [item for item in rxe.check(after) if item.is_error] == []
    args = [np.array([2, 3]), np.arange(6, dtype=np.float32) / 7, np.array(True)]
    want, have = (rxe.run(module, "main", args) for module in (before, after))
    tolerance = 0.01 if passes == "ToMixedPrecision" else 1e-5
    pairs = zip(*[value if isinstance(value, tuple) else (value,) for value in (want, have)], strict=True)
    assert all(np.allclose(a, b, rtol=tolerance) for a, b in pairs)


@pytest.mark.parametrize("program", ["an output that nothing reads", "a value between", "a copy between"])
def test_what_only_the_block_reads_is_no_output(program: str) -> None:
    text = HEAD + "".join(f"    {line}\n" for line in DERIVED[program].splitlines())
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "ConvertToDataflow")
    assert "R.output(z)" in after.script()
    (block,) = after["main"].body.blocks
    held = [
        str(b.var.struct_info)
        for b in block.bindings
        if isinstance(b.var, e.DataflowVar) and b.var.name in "yv"
    ]
    assert held == ['R.Tensor(t, dtype="float32")'] * len(held)


OUTPUTS = {
    "one value": ("t = R.tensor_to_shape(s)\ny = R.reshape(x, t)\nreturn y", "t, y"),
    "a value of it": ("t = R.tensor_to_shape(s)\ny = R.reshape(x, t)\nz = R.exp(y)\nreturn (x, z)", "t, z"),
    "a tuple": ("t = R.tensor_to_shape(s)\ny = R.reshape(x, t)\nz = (x, (y, y))\nreturn z", "t, z"),
    "annotated": (GRAPH + "    z: R.Tensor(t, 'float32') = R.exp(y)\n    R.output(t, z)\nreturn z", "t, z"),
    "a function": (
        "t = R.tensor_to_shape(s)\n@R.function\ndef g(q: R.Tensor('float32', ndim=2)):\n    return q\n"
        "y = R.reshape(x, t)\nz: R.Tensor(t, 'float32') = R.exp(y)\nreturn (z, g)",
        "t, g, z",
    ),
    "two shapes": (
        "t = R.tensor_to_shape(s)\nu = R.tensor_to_shape(s)\ny = R.reshape(x, t)\nz = R.reshape(y, u)\nreturn z",
        "u, z",
    ),
    "unread": (
        GRAPH
        + "    z = R.exp(y)\n    w: R.Tensor('float32', ndim=2) = R.exp(z)\n    R.output(t, y, w)\nreturn w",
        "w",
    ),
}


@pytest.mark.parametrize("program", OUTPUTS)
def test_what_holds_the_shape_of_an_output_is_an_output(program: str) -> None:
    lines, outputs = OUTPUTS[program]
    module = rxe.normalize(rxe.parse(HEAD + "".join(f"    {line}\n" for line in lines.splitlines())))
    for name in ("ConvertToDataflow", "CanonicalizeBindings"):
        after = rxe.apply_pass(module, name)
        assert f"R.output({outputs})" in after.script()
        assert str(after["main"].body.body.struct_info) == str(module["main"].body.body.struct_info)
        module = after


@pytest.mark.parametrize("program", DERIVED)
def test_held_shapes_are_bound(program: str) -> None:
    text = HEAD + "".join(f"    {line}\n" for line in DERIVED[program].splitlines())
    for name in ("CanonicalizeBindings", "ConvertToDataflow", "EliminateCommonSubexpr", "ToNonDataflow"):
        known = set[e.Var]()
        for binding in bindings(rxe.apply_pass(rxe.normalize(rxe.parse(text)), name)["main"]):
            assert known.issuperset(info_holders(binding.var.struct_info)), (name, binding.var.name)
            known.add(binding.var)


@pytest.mark.parametrize(
    "value", ["R.reshape(x, {})", "R.zeros({}, 'float32')", "R.broadcast_to(k, {})", "R.full({}, k)"]
)
def test_each_call_names_its_own_shape(value: str) -> None:
    lines = "t = R.tensor_to_shape(s)", "u = R.tensor_to_shape(s)", "k = R.sum(x)"
    values = (
        f"y = {value.format('t')}",
        f"z = {value.format('u')}",
        f"w = {value.format('t')}",
        "v = R.exp(z)",
    )
    text = HEAD + "".join(f"    {line}\n" for line in (*lines, *values, "return v"))
    infos = {
        b.var.name: str(b.var.struct_info)
        for b in rxe.normalize(rxe.parse(text))["main"].body.blocks[0].bindings
    }
    assert [infos[name][9] for name in "yzwv"] == ["t", "u", "t", "u"]


INLINED = """
@I.ir_module
class M:
    @R.function(private=True)
    def sizes(q: R.Tensor((2,), "int64")) -> R.Shape(ndim=2):
        k, m = T.int64(), T.int64()
        g = R.tensor_to_shape(q)
        r = R.match_cast(g, R.Shape([k, m]))
        return r
    @R.function
    def main(s: R.Tensor((2,), "int64"), x: R.Tensor(("n",), "float32")):
        n, a, b = T.int64(), T.int64(), T.int64()
        t = M.sizes(s)
        y = R.reshape(x, t)
        z = R.match_cast(y, R.Tensor((a, b), "float32"))
        w = R.add(z, y)
        return w
"""


def test_a_check_that_inlining_proves_may_go() -> None:
    before = rxe.normalize(rxe.parse(INLINED))
    outcome = run_step(steps("InlinePrivateFunctions")[0], before)
    assert outcome.problems == ()
    cast = next(b for b in bindings(before["main"]) if b.var.name == "z")
    assert any(cast in change.before for change in outcome.rewrites)
    args = [np.array([2, 3]), np.arange(6, dtype=np.float32)]
    np.testing.assert_array_equal(rxe.run(outcome.module, "main", args), rxe.run(before, "main", args))
