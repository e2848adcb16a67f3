"""Parts of calls and annotations that TVM names or judges in its own way: the function by its name, devices, shapes that variables hold."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.program.equal import structural_equal

HEAD = '@I.ir_module\nclass M:\n    @R.function(pure=False)\n    def main(x: R.Tensor((2,), "float32"), v: R.Any, s: R.Shape):\n        '
KERNEL = '    @T.prim_func\n    def k(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):\n        B[0] = A[0]\n'
OUT = 'out_ty=R.Tensor((2,), "float32")'


def errors(text: str, profile: str) -> list[str]:
    """The codes of the errors, of reading or of checking."""
    try:
        module = rxe.parse(text)
    except rxe.ParseError as problem:
        return [item.code.id for item in problem.diagnostics if item.is_error]
    return [item.code.id for item in rxe.check(module, profile) if item.is_error]


@pytest.mark.parametrize(
    ("word", "call"),
    [
        ("gvar", f"R.call_tir(M.k, args=(x,), {OUT})"),
        ("gvar", f"R.call_tir_inplace(M.k, args=(x, x), inplace_indices=[0], {OUT})"),
        ("gvar", f'R.call_tir_with_grad(M.k, args=(x,), te_grad_name="g", {OUT})'),
        ("func", f'R.call_dps_packed("f", args=(x,), {OUT})'),
        ("func", 'R.call_packed("f", ty_args=R.Object)'),
        ("func", 'R.call_pure_packed("f", ty_args=R.Object)'),
        ("py_func_name", f'R.call_py_func("f", args=(x,), {OUT})'),
    ],
)
def test_the_function_may_be_given_by_its_name(word: str, call: str) -> None:
    texts = [
        f"{HEAD}y = {item}\n        return y\n{KERNEL}" for item in (call, call.replace("(", f"({word}=", 1))
    ]
    assert structural_equal(*map(rxe.parse, texts))
    other = texts[1].replace(f"({word}=", "(f_=")
    with pytest.raises(rxe.ParseError):
        rxe.parse(other)


@pytest.mark.parametrize(
    ("device", "is_right"),
    [
        ('"llvm"', True), ('"llvm", 0', True), ('"llvm", 0, "global"', True), ('{"kind": "llvm"}, 1', True),
        ('"llvm", {}', False), ('"llvm", 0, {}', False), ('{}, 0, "global"', False), ('"llvm", []', False), ('"llvm", None', False),
        ('"llvm", 1.5', False), ("3", False), ('"llvm", R.prim_value(0)', False), ('"llvm", 0, 0', False),
    ],
)  # fmt: skip
def test_a_device_has_a_target_a_number_and_a_scope(device: str, is_right: bool) -> None:
    place = f'class M:\n    I.module_global_infos({{"vdevice": [I.vdevice({device})]}})\n'
    text = f"{HEAD}return x\n".replace("class M:\n", place)
    assert (errors(text, "spec") == []) is is_right


@pytest.mark.parametrize(
    ("body", "spec", "tvm"),
    [
        ("y: R.Tensor(s) = x", [], []),
        ("y: R.Tensor(v) = x", [], ["RX0012"]),
        ('y = R.match_cast(x, R.Tensor(v, "float32"))', [], ["RX0012"]),
        ("y = R.match_cast((x, x), R.Tuple(R.Tensor(v), R.Tensor(s)))", [], ["RX0012"]),
    ],
)
def test_tvm_takes_a_variable_for_a_shape_if_it_is_one(body: str, spec: list[str], tvm: list[str]) -> None:
    text = f"{HEAD}{body}\n        return x\n"
    assert [item for item in errors(text, "spec") if item == "RX0012"] == spec
    assert [item for item in errors(text, "tvm") if item == "RX0012"] == tvm


@pytest.mark.parametrize(
    ("have", "want", "is_seen"),
    [
        ("R.Tensor(ndim=1)", 'R.Tensor("int8", ndim=2)', False),
        ("R.Tensor((3,))", 'R.Tensor((4,), "int8")', False),
        ("R.Tuple(R.Tensor((3,)), R.Tensor)", 'R.Tuple(R.Tensor((4,), "int8"), R.Tensor)', False),
        ("R.Tuple(R.Tensor((3,)), R.Tensor((3,)))", 'R.Tuple(R.Tensor((4,), "int8"), R.Tensor((4,)))', True),
        ("R.Tensor((3,))", "R.Tensor((4,))", True),
        ('R.Tensor((3,), "int8")', 'R.Tensor((4,), "int8")', True),
    ],
)
def test_an_annotation_that_adds_a_dtype_is_compared_no_further(have: str, want: str, is_seen: bool) -> None:
    text = f"@R.function\ndef main(x: {have}):\n    y: {want} = x\n    return y\n"
    assert "RX0109" in errors(text, "spec")
    assert ("RX0109" in errors(text, "tvm")) is is_seen


@pytest.mark.parametrize(
    "value", ["R.reshape(x, (x.shape[0], 4))", "R.zeros((x.shape[0],), 'float32')", "x.shape", "x.shape[0]"]
)
def test_a_length_is_named_where_its_tensor_is_declared(value: str) -> None:
    with pytest.raises(rxe.ParseError) as caught:
        rxe.parse(
            f'@R.function\ndef main(x: R.Tensor(("n", 4), "float32")):\n    y = {value}\n    return y\n'
        )
    assert "name the length where x is declared" in caught.value.diagnostics[0].help


@pytest.mark.parametrize("word", ["axes", "begin", "end", "strides"])
@pytest.mark.parametrize(
    ("value", "refused"),
    [("1.5", {"spec", "tvm"}), ("[1.5]", {"spec", "tvm"}), ("-1", {"tvm"}), ("[-1]", set())],
)
def test_parts_of_a_slice_are_lists_of_integers(word: str, value: str, refused: set[str]) -> None:
    given = {"axes": "[0]", "begin": "[0]", "end": "[1]", "strides": "[1]", word: value}
    call = ", ".join([f"{name}={one}" for name, one in given.items()])
    text = f"{HEAD}y = R.strided_slice(x, {call})\n        return y\n"
    assert {profile for profile in ("spec", "tvm") if errors(text, profile)} == refused
