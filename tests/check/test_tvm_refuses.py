"""What TVM 0.27 refuses, and our language reads: an error in the profile `tvm` alone."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.syntax.parser import read

HEAD = "@I.ir_module\nclass M:\n"
KERNEL = "    @T.prim_func\n    def k(a: T.handle):\n{}\n        for i in range(4):\n            A[i] = T.float32(0)\n"
RELAX = '    @R.function(pure=False)\n    def main(x: R.Tensor((2,), "float32"), s: R.Shape(ndim=1)):\n{}\n        return x\n'
BELOW = "        A = T.match_buffer(a, (n,))\n        n = T.int64()"
ABOVE = "        n = T.int64()\n        A = T.match_buffer(a, (n,))"
BLOCK = "        with R.dataflow():\n            {}\n            R.output(y)"


def codes(text: str, profile: str) -> list[str]:
    module, report = read(HEAD + text, "profile.py")
    assert module is not None
    assert report.errors == []
    return [item.code.id for item in rxe.check(module, profile) if item.is_error]


@pytest.mark.parametrize(
    ("refused", "accepted", "code"),
    [
        (KERNEL.format(BELOW), KERNEL.format(ABOVE), "RX0014"),
        (RELAX.format("        y = R.hint_on_device(x, R.pu(0))"), RELAX.format("        y = R.hint_on_device(x, R.cpu(dev_id=0))"), "RX0011"),
        (RELAX.format("        y = R.hint_on_device(x, R.device())"), RELAX.format('        y = R.hint_on_device(x, R.device("cuda", 0))'), "RX0011"),
        (
            RELAX.format(BLOCK.format('p: R.Shape(ndim=1) = R.shape_of(x)\n            y: R.Tensor(p, "float32") = R.add(x, x)')),
            RELAX.format(BLOCK.format('y: R.Tensor(s, "float32") = R.add(x, x)')),
            "RX0012",
        ),
        (
            RELAX.format("        y: R.Prim(value=3) = R.prim_value(3)"),
            RELAX.format('        y: R.Prim("int64") = R.prim_value(3)'),
            "RX0012",
        ),
    ],
)  # fmt: skip
def test_an_error_of_the_profile_alone(refused: str, accepted: str, code: str) -> None:
    assert codes(refused, "spec") == []
    assert codes(refused, "tvm") == [code]
    assert codes(accepted, "tvm") == []


@pytest.mark.parametrize("more", [", 3", ", dtype=3", ", out_ty=x"])
def test_a_match_cast_with_other_arguments_is_no_program(more: str) -> None:
    text = RELAX.format(f'        y = R.match_cast(x, R.Tensor((2,), "float32"){more})')
    report = read(HEAD + text, "profile.py")[1]
    assert [item.code.id for item in report.errors] == ["RX0015"]


def test_another_name_of_a_value_may_repeat_the_dataflow_variable_with_its_shape() -> None:
    lines = (
        's = R.shape_of(x)\na = R.call_pure_packed("f", x, ty_args=R.Tensor(s, "float32"))\n'
        'b: R.Tensor(s, "float32") = a\nc: R.Tensor(s, "float32") = x\ny: R.Tensor(s, "float32") = R.exp(b)'
    )
    block = BLOCK.format(lines.replace("\n", "\n            "))
    module, _ = read(HEAD + RELAX.format(block), "profile.py")
    assert module is not None
    held = [item.labels[0].place for item in rxe.check(module, "tvm") if item.code.id == "RX0012"]
    assert [place.var.name for place in held] == ["a", "y"]


@pytest.mark.parametrize("length", ["n", "n * 2"])
def test_a_cast_keeps_the_lengths_that_it_asks_for(length: str) -> None:
    text = f"""    @R.function
    def main(x: R.Tensor(("k",)), y: R.Tensor(("n",)), w: R.Tensor(("m",))):
        n, m = T.int64(), T.int64()
        z: R.Tensor((m,)) = R.match_cast(x, R.Tensor(({length},)))
        return z
"""
    assert codes(text, "tvm") == codes(text, "spec") == ["RX0109"]
    assert codes(text.replace("R.Tensor((m,)) =", f"R.Tensor(({length},)) ="), "spec") == []


@pytest.mark.parametrize("number", [0, 1])
def test_a_field_of_a_tuple_that_contradicts_is_an_error_in_both_profiles(number: int) -> None:
    fields = ['R.Tensor((2,), "float32")'] * 2
    fields[number] = 'R.Tensor((3,), "float32")'
    line = f"        t: R.Tuple({', '.join(fields)}) = (x, x)"
    assert codes(RELAX.format(line), "tvm") == codes(RELAX.format(line), "spec") == ["RX0109"]


def test_where_a_dtype_is_new_tvm_compares_nothing_else() -> None:
    text = RELAX.format('        t: R.Tuple(R.Tensor((3,), "float32")) = (x,)')
    text = text.replace('x: R.Tensor((2,), "float32")', "x: R.Tensor((2,))")
    assert codes(text, "tvm") == []
    assert len(codes(text, "spec")) == 1


@pytest.mark.parametrize("around", ["{}", "R.Tuple({})"])
@pytest.mark.parametrize(
    ("have", "want", "refused"),
    [
        ('R.Tensor((3,), "float32")', 'R.Tensor((4,), "float32")', True),
        ("R.Tensor((3,))", 'R.Tensor((4,), "float32")', True),
        ('R.Tensor((3,), "float32")', "R.Tensor((4,))", False),
    ],
)
def test_tvm_compares_no_lengths_where_a_cast_forgets_the_dtype(
    have: str, want: str, refused: bool, around: str
) -> None:
    text = RELAX.format(f"        y = R.match_cast(v, {around.format(want)})")
    assert codes(text.replace("x: R", f"v: {around.format(have)}, x: R"), "tvm") == ["RX0217"] * refused
