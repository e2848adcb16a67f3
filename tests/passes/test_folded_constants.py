"""FoldConstant asks what is overwritten only where it knows a value, and looks no further at calls without constants."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes import fold_constant
from tests.support.roundtrip import function

FOUR = 'R.Tensor((4,), "float32")'
LINES = {
    "no constant is bound": (["y = R.exp(x)", "z = R.add(y, R.const(1.0))"], False),
    "a constant": (["y = R.const([1.0, 2.0, 3.0, 4.0])", "z = R.add(x, y)"], True),
    "an operator on constants": (["y = R.exp(R.const([1.0, 2.0, 3.0, 4.0]))", "z = R.add(x, y)"], True),
    "a shape": (["s = R.shape([4])", "t = s", "z = R.reshape(x, t)"], False),
    "a dtype": (["s = R.dtype('int8')", "z = R.call_pure_packed('f', s, ty_args=R.Object)"], False),
}


@pytest.mark.parametrize("kind", LINES)
def test_aliases_are_found_only_where_a_value_is_known(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines, is_known = LINES[kind]
    body = "".join([f"    {line}\n" for line in lines])
    module = rxe.normalize(
        rxe.parse(function(f"with R.dataflow():\n{body}    R.output(z)\nreturn z", f"x: {FOUR}"))
    )
    asked, aliases = list[e.Function](), fold_constant.aliases
    monkeypatch.setattr(
        fold_constant, "aliases", lambda module, name, fn: (asked.append(fn), aliases(module, name, fn))[1]
    )
    after = rxe.apply_pass(module, "FoldConstant")
    assert (after is module) is (kind in ("no constant is bound", "a shape"))
    assert len(asked) == int(is_known)  # once for the function
    asked.clear()
    rxe.apply_pass(module, "FoldConstant", profile="tvm")
    assert not asked


@pytest.mark.parametrize(("profile", "folded"), [("spec", False), ("tvm", True)])
def test_what_is_overwritten_is_not_folded(profile: str, folded: bool) -> None:
    text = f"""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def twice(a: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("twice"):
                v = T.axis.spatial(4, i)
                a[v] = a[v] * T.float32(2)
    @R.function(pure=False)
    def main(x: {FOUR}):
        with R.dataflow():
            y = R.exp(R.const([1.0, 2.0, 3.0, 4.0]))
            z = R.call_tir_inplace(M.twice, (y,), [0], {FOUR})
            R.output(z)
        return z
"""
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "FoldConstant", profile=profile)
    main = after["main"]
    assert isinstance(main, e.Function)
    assert (
        any(type(b.value) is e.Call and b.value.op is e.op_ref("relax.exp") for b in bindings(main))
        is not folded
    )


def test_kernels_run_on_constants_only(monkeypatch: pytest.MonkeyPatch) -> None:
    text = function(
        "with R.dataflow():\n    y = R.exp(R.const([1.0, 2.0, 3.0, 4.0]))\n    z = R.add(y, x)\n    R.output(z)\nreturn z",
        f"x: {FOUR}",
    )
    lowered = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps")
    sizes, size = list[object](), fold_constant._size
    monkeypatch.setattr(fold_constant, "_size", lambda info: (sizes.append(info), size(info))[1])
    after = rxe.apply_pass(lowered, "FoldConstant")
    assert len(sizes) == 1  # that of the kernel with a variable is not asked for
    assert len(list(bindings(after["main"]))) == 1  # type: ignore[arg-type]  # it is a Relax function


@pytest.mark.parametrize(("lengths", "folded"), [("4", True), ("32, 32", True), ("32, 33", False)])
def test_a_kernel_without_operands_is_folded_up_to_a_size(lengths: str, folded: bool) -> None:
    text = f"""
@R.function
def main(x: R.Tensor(({lengths},), "float32")):
    y = R.full(({lengths},), R.const(2, "float32"), "float32")
    z = R.ones(({lengths},), "float32")
    return (x, y, z)
"""
    lowered = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps")
    after = rxe.apply_pass(lowered, "FoldConstant")
    main = after["main"]
    assert isinstance(main, e.Function)
    left = [b.value.args[0].name for b in bindings(main) if type(b.value) is e.Call]
    assert left == ([] if folded else ["full", "ones"])
    assert (after is lowered) is not folded


def test_two_results_of_a_kernel_without_operands_are_folded() -> None:
    text = f"""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def both(a: T.Buffer((SIZE,), "float32"), b: T.Buffer((SIZE,), "float32")):
        for i in range(SIZE):
            with T.sblock("both"):
                v = T.axis.spatial(SIZE, i)
                a[v] = T.float32(1)
                b[v] = T.float32(2)
    @R.function
    def main(x: {FOUR}):
        y = R.call_tir(M.both, (), [R.Tensor((SIZE,), "float32"), R.Tensor((SIZE,), "float32")])
        z = y[1]
        return z
"""

    for size in (4, 1025):  # TVM limits one result, not two
        after = rxe.apply_pass(rxe.normalize(rxe.parse(text.replace("SIZE", str(size)))), "FoldConstant")
        main = after["main"]
        assert isinstance(main, e.Function)
        value = next(iter(bindings(main))).value
        assert isinstance(value, e.Tuple)
        constants = [field for field in value.fields if isinstance(field, e.Constant)]
        assert [c.data.tolist() for c in constants if c.data is not None] == [[1] * size, [2] * size]


SHAPES = {
    "an operator": ("s = R.shape([2, 2])\ny = R.reshape(x, s)", "R.reshape(x, R.shape([2, 2]))"),
    "lengths with names": (
        "n = T.int64()\ns = R.shape([n])\ny = R.zeros(s, 'float32')",
        "R.zeros(R.shape([n]), ",
    ),
    "of a constant": (
        "s = R.tensor_to_shape(R.const([2, 2], 'int64'))\ny = R.reshape(x, s)",
        "(x, R.shape([2, 2]))",
    ),
    "a copy": ("s = R.shape([2, 2])\nt = s\ny = R.reshape(x, t)", "R.reshape(x, t)"),
    "the shape of a tensor": ("s = R.shape_of(x)\ny = R.reshape(x, s)", "R.reshape(x, s)"),
    "a function": ("s = R.shape([2, 2])\ny = g(s)", "= g(s)"),
    "in a tuple": ("s = R.shape([2, 2])\ny = (x, s)", "= (x, s)"),
    "a pure packed function": (
        "s = R.shape([2, 2])\ny = R.call_pure_packed('f', s, ty_args=R.Object)",
        '("f", R.shape([2, 2]), ',
    ),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_operators_read_written_shapes_directly(kind: str) -> None:
    lines, read = SHAPES[kind]
    params = f'x: {FOUR}, w: R.Tensor(("n",), "float32"), g: R.Callable((R.Shape,), R.Object, True)'
    body = "".join([f"    {line}\n" for line in lines.splitlines()])
    text = function(f"with R.dataflow():\n{body}    R.output(y)\nreturn y", params)
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "FoldConstant")
    assert read in after.script()
    assert rxe.normalize(after) is after
    bound = any(isinstance(binding.value, e.ShapeExpr) for binding in bindings(after["main"]))
    assert bound is (kind in ("a copy", "a function", "in a tuple"))  # dropped where nothing reads it


def test_what_a_written_shape_tells_is_known_afterwards() -> None:
    wide = "s: R.Shape(ndim=2) = R.shape([2, 2])\ny = R.reshape(x, s)\nz: R.Tensor(ndim=2) = R.exp(y)\nreturn (y, z)"
    after = rxe.apply_pass(rxe.normalize(rxe.parse(function(wide, f"x: {FOUR}"))), "FoldConstant")
    y, z = [binding.var.struct_info for binding in bindings(after["main"]) if binding.var is not None]
    assert (str(y), str(z)) == ('R.Tensor((2, 2), dtype="float32")', "R.Tensor(ndim=2)")
