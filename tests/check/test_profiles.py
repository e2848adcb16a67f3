"""Problems that only the specification knows are errors by default and warnings in the profile `tvm`; common ones stay errors."""

from __future__ import annotations

import pytest

import relax_explorer as rxe

HEAD = """
@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def scale(a: T.handle, b: T.handle):
        k = T.int64()
        A = T.match_buffer(a, (k, 2), "float32")
        B = T.match_buffer(b, (k, 2), "float32")
        for i, j in T.grid(k, 2):
            with T.sblock("s"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] * T.float32(2)
    @T.prim_func(private=True, s_tir=True)
    def twice(a: T.handle, b: T.handle, c: T.handle):
        k = T.int64()
        A = T.match_buffer(a, (k,), "float32")
        B = T.match_buffer(b, (k,), "float32")
        C = T.match_buffer(c, (2,), "float32")
        C[0] = A[0] + B[0]
    @R.function
    def one(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return p
    @R.function
    def same(p: R.Tensor(("a", "b"), "float32"), q: R.Tensor(("b", "a"), "float32")):
        return p
    @R.function
    def takes(f: R.Callable) -> R.Object:
        return f
    @R.function(PURE)
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2,), "float32"), u: R.Tensor(dtype="float32", ndim=1),
             o: R.Object)RETURNS:
"""
# For each: the code of the body's problem, and the return annotation of main.
ONLY_HERE = {
    "a width": ('z = R.zeros((2,), "int4")\nreturn z', "RX0154"),
    "a vector as element": ('z = R.zeros((2,), "float32x4")\nreturn z', "RX0150"),
    "a narrower annotation": ("z: R.Tensor((2, 3), 'float32') = o\nreturn z", "RX0116"),
    "a narrower result": ("return o", "RX0111", "R.Tensor((2, 3), 'float32')"),
    "another result": ("return x", "RX0111", "R.Tensor((2, 4), 'float32')"),
    "a condition of numbers": ("if u:\n    z = x\nelse:\n    z = x\nreturn z", "RX0115"),
    "lengths that contradict": ("return M.same(x, x)", "RX0219"),
    "lengths of a kernel that contradict": (
        "return R.call_tir(M.twice, (y, R.const([1.0, 2.0, 3.0], 'float32')), out_ty=R.Tensor((2,), 'float32'))",
        "RX0219",
    ),
    "a known function for any": ("return M.takes(M.one)", "RX0213"),
    "a kernel called directly": (
        "z = R.zeros((2, 2), 'float32')\n_ = M.scale(z, z)\nreturn z",
        "RX0121",
        "R.Object",
        "pure=False",
    ),
    "recursion in a dataflow block": (
        "with R.dataflow():\n    z: R.Object = M.main(x, y, u, o)\n    R.output(z)\nreturn z",
        "RX0141",
        "R.Object",
    ),
    "recursion that says no result": ("z: R.Object = M.main(x, y, u, o)\nreturn z", "RX0140"),
    "a local one": (
        "@R.function\ndef g(p: R.Object):\n    q: R.Object = g(p)\n    return q\nreturn g(x)",
        "RX0140",
    ),
    "an effect of the specification alone": (
        "z = R.call_dps_packed('f', (y,), out_ty=R.Tensor((2,), 'float32'))\nreturn z",
        "RX0113",
        "R.Object",
        "pure=True",
    ),
}
EVERYWHERE = {
    "a scalar that is none": (
        'z = R.call_pure_packed("f", ty_args=R.Prim("handle"))\nreturn z',
        "RX0147",
    ),
    "too many arguments": ("return M.one(y, y)", "RX0212"),
    "another kind": ("return M.one(R.shape([2]))", "RX0213"),
    "an annotation that contradicts": ("z: R.Shape = x\nreturn z", "RX0109"),
    "an effect": ("z = R.print(x)\nreturn x", "RX0113", "R.Object", "pure=True"),
    "no such function": ("return M.other(x)", "RX0106"),
    "an output of another kind": (
        "return R.call_tir(M.scale, (x,), out_ty=R.Tensor((2, 2), 'int32'))",
        "RX0213",
    ),
    "an output against the arguments": (
        "return R.call_tir(M.scale, (R.permute_dims(x),), out_ty=R.Tensor((2, 2), 'float32'))",
        "RX0213",
    ),
}


def level(profile: str, body: str, code: str, returns: str = "", pure: str = "") -> str | None:
    head = HEAD.replace("RETURNS", f" -> {returns}" if returns else "").replace("PURE", pure)
    text = head + "".join(f"        {line}\n" for line in body.splitlines())
    found = {item.code.id: str(item.level) for item in rxe.check(text, profile)}
    assert set(found) - {code} <= {"RX0301"}, found
    return found.get(code)


@pytest.mark.parametrize("row", ONLY_HERE.values(), ids=ONLY_HERE)
def test_what_only_the_specification_refuses(row: tuple[str, ...]) -> None:
    assert (level("spec", *row), level("tvm", *row)) == ("error", "warning")


def test_a_function_that_says_nothing_is_held_to_effects_of_both() -> None:
    late = "z = R.call_dps_packed('f', (y,), out_ty=R.Tensor((2,), 'float32'))\nreturn z"
    assert level("tvm", late, "RX0113", "R.Object") is None
    assert level("tvm", "z = R.print(x)\nreturn x", "RX0113", "R.Object") == "error"


@pytest.mark.parametrize("row", EVERYWHERE.values(), ids=EVERYWHERE)
def test_what_both_refuse(row: tuple[str, ...]) -> None:
    assert (level("spec", *row), level("tvm", *row)) == ("error", "error")


KERNEL = """
@I.ir_module
class M:
    @T.prim_func(SAID)
    def f(A: T.Buffer((2,), "float32")):
        NAME
        A[0] = T.float32(1)
    @R.function(private=True)
    def main(x: R.Tensor((2,), "float32")):
        return x
"""


@pytest.mark.parametrize(
    ("said", "name", "code"),
    [
        ("private=True", "T.evaluate(0)", "RX0144"),
        ("", 'T.func_attr({"global_symbol": "g"})', "RX0108"),
    ],
    ids=["nothing is public", "a kernel has another name"],
)
def test_names_outside(said: str, name: str, code: str) -> None:
    text = KERNEL.replace("SAID", said).replace("NAME", name)
    found = [
        {item.code.id: str(item.level) for item in rxe.check(text, profile)} for profile in ("spec", "tvm")
    ]
    assert found == [{code: "error"}, {code: "warning"}]


TENSOR = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Any:
        z = CALL
        return z
"""


@pytest.mark.parametrize(
    ("refused", "accepted", "code"),
    [
        ("R.reshape(x, (6))", "R.reshape(x, (6,))", "RX0011"),
        ("R.match_cast(x, struct_info=R.Tensor(ndim=2))", "R.match_cast(x, ty=R.Tensor(ndim=2))", "RX0015"),
        ("R.hint_on_device(x, R.cpu(0, 1))", "R.hint_on_device(x, R.cpu(0))", "RX0011"),
        ("R.hint_on_device(x, R.device('nope', 0))", "R.hint_on_device(x, R.device('cuda', 0))", "RX0011"),
    ],
    ids=["a length in parentheses", "an old argument", "arguments of a device", "a kind of device"],
)
def test_what_only_tvm_refuses(refused: str, accepted: str, code: str) -> None:
    spec, tvm, right = (
        [item.code.id for item in rxe.check(TENSOR.replace("CALL", call), profile) if item.is_error]
        for call, profile in ((refused, "spec"), (refused, "tvm"), (accepted, "tvm"))
    )
    assert (spec, tvm, right) == ([], [code], [])
