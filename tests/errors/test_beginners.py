"""Forty mistakes of a beginner: the first problem has this code, at this line, and its message or its hint says what helps."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.other_names import OTHER_NAMES, meant

HEAD = '@R.function\ndef main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32"), flag: R.Tensor((), "bool")):\n'
KERNEL = """@I.ir_module
class M:
    @T.prim_func
    def k(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("b"):
                B[i] = A[i] + T.float32(1)

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = M
        y = {}
        return y
"""


def body(text: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in text.split("\n"))


MISTAKES = (  # the program, the code, the line, and the words that help
    ('@R.function\ndef main(x: R.Tensor((2, 3) "float32")):\n    return x\n', "RX0005", 2, "comma"),
    ('@R.function\ndef main(x: R.Tensor((2, 3), "float32"))\n    return x\n', "RX0005", 2, "':'"),
    ('def main(x: R.Tensor((2, 3), "float32")):\n    return x\n', "RX0008", 1, "@R.function"),
    ('@R.function\ndef main(x: R.Tensor((n, 3), "float32")):\n    return x\n', "RX0014", 2, "in quotes"),
    ('@R.function\ndef main(x: R.Tensor((2, 3), float32)):\n    return x\n', "RX0013", 2, "float32"),
    (body("y = R.exp(x)"), "RX0018", 3, "Add a return"),
    (body("y = R.cat((x, x), axis=0)\nreturn y"), "RX0016", 3, "R.concat"),
    (body("y = R.nn.dense(x, w)\nreturn y"), "RX0016", 3, "R.matmul"),
    (body("y = R.transpose(x)\nreturn y"), "RX0016", 3, "R.permute_dims"),
    (body("y = R.unsqueeze(x)\nreturn y"), "RX0016", 3, "R.expand_dims"),
    (body("y = R.view(x)\nreturn y"), "RX0016", 3, "R.reshape"),
    (body("y = R.softmax(x)\nreturn y"), "RX0016", 3, "R.nn.softmax"),
    (body("y = R.relu(x)\nreturn y"), "RX0016", 3, "R.nn.relu"),
    (body("y = R.matmull(x, w)\nreturn y"), "RX0016", 3, "R.matmul"),
    (body("y = R.sum(x, dim=0)\nreturn y"), "RX0015", 3, "axis"),
    (body("y = R.sum(x, axis=[0], keepdim=True)\nreturn y"), "RX0015", 3, "keepdims"),
    (body("y = R.exp(x, w)\nreturn y"), "RX0015", 3, "R.exp(x)"),
    (body("y = R.matmul(w, x)\nreturn y"), "RX0203", 3, "Transpose"),
    (body("y = R.add(x, w)\nreturn y"), "RX0204", 3, "3 and 4"),
    (body('y = R.add(x, R.astype(x, "float16"))\nreturn y'), "RX0202", 3, "R.astype"),
    (body("y = R.sum(x, axis=[2])\nreturn y"), "RX0205", 3, "-2 to 1"),
    (body("y = R.reshape(x, (4, 2))\nreturn y"), "RX0208", 3, "6 elements"),
    (body("t = (x, w)\ny = t[2]\nreturn y"), "RX0215", 4, "2 fields"),
    (body("y = R.exp(z)\nreturn y"), "RX0014", 3, "Bind it first"),
    (body("y = R.exp(z)\nz = R.sin(x)\nreturn y"), "RX0014", 3, "line 4"),
    (body("if flag:\n    y = R.exp(x)\nelse:\n    z = R.sin(x)\nreturn x"), "RX0021", 3, "one name"),
    (body("if flag:\n    y = R.exp(x)\nreturn x"), "RX0021", 3, "no else"),
    (body("if x:\n    y = R.exp(x)\nelse:\n    y = R.sin(x)\nreturn y"), "RX0115", 3, "single bool"),
    (body("for i in range(3):\n    x = R.exp(x)\nreturn x"), "RX0010", 3, "bindings"),
    (body("while flag:\n    x = R.exp(x)\nreturn x"), "RX0010", 3, "bindings"),
    (body("x += w\nreturn x"), "RX0010", 3, "bindings"),
    (body("with R.dataflow():\n    y = R.exp(x)\nreturn y"), "RX0014", 5, "R.output(y)"),
    (body("with R.dataflow():\n    y = R.exp(x)\n    z = R.sin(y)\n    R.output(z)\nreturn y"), "RX0014", 7, "R.output(y)"),
    (body("y = x.sum()\nreturn y"), "RX0011", 3, "R.sum(x"),
    (body("y = R.reshape(x, x.shape)\nreturn y"), "RX0011", 3, "R.shape_of(x)"),
    (body("y = x[0:1]\nreturn y"), "RX0011", 3, "R.strided_slice"),
    (body('y = R.exp("x")\nreturn y'), "RX0201", 3, "must be a tensor"),
    (body('y: R.Tensor((3, 2), "float32") = R.exp(x)\nreturn y'), "RX0109", 3, 'R.Tensor((2, 3), dtype="float32")'),
    (KERNEL.format("R.call_tir(cls.k, (x,))"), "RX0015", 12, "out_ty"),
    (KERNEL.format('R.call_tir(cls.k, (x,), out_ty=R.Tensor((3,), "float32"))'), "RX0213", 12, "R.Tensor((2,)"),
    (KERNEL.format("cls.nothing(x)"), "RX0106", 12, "no function 'nothing'"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "code", "line", "words"), MISTAKES)
def test_the_first_problem_helps(text: str, code: str, line: int, words: str) -> None:
    try:
        problems = rxe.check(rxe.parse(text))
    except rxe.ParseError as error:
        problems = list(error.diagnostics)
    first = problems[0]
    assert first.code.id == code, [str(problem) for problem in problems]
    assert first.labels[0].span.line == line
    assert words in f"{first.message} {first.help}"


def test_there_are_forty() -> None:
    assert len(MISTAKES) >= 40
    assert len({text for text, *_ in MISTAKES}) == len(MISTAKES)


def test_names_of_others_mean_operators_that_are_there() -> None:
    for other, own in OTHER_NAMES.items():
        assert rxe.ops.find(f"relax.{other}") is None, other
        assert rxe.ops.find(f"relax.{own}") is not None, other
        assert meant(f"relax.{other}") == own


@pytest.mark.parametrize("name", ["relax.nn.zzz", "relax.qqqqq", "relax.frobnicate"])
def test_no_stranger_is_offered(name: str) -> None:
    assert meant(name) == ""
