"""A length beyond int64 is told as an overflow, wherever it is written or computed. Nothing wraps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from tests.cli.test_commands import rxe_cli

MOST = 2**63 - 1
WRITTEN = f"{MOST} * 4 is {MOST * 4}, which does not fit int64"
RESULT = "a length of the result is {}, which does not fit int64"
COMPUTED = "a number that it computes from lengths overflows: {} does not fit int64"


def function(*lines: str, x: str = '("n", 4)') -> str:
    body = "".join([f"    {line}\n" for line in lines])
    return f'@R.function\ndef main(x: R.Tensor({x}, "float32")):\n    n = T.int64()\n{body}    return x\n'


CALLED = f"""@I.ir_module
class M:
    @R.function(private=True)
    def f(x: R.Tensor(("n",), "float32"), s: R.Shape(["n * {MOST} * 4"])):
        return x
    @R.function(private=True)
    def g(x: R.Tensor(("n",), "float32"), s: R.Shape(["m"])) -> R.Tensor(("n * m * 4",), "float32"):
        return R.zeros(R.shape([n * m * 4]), "float32")
    @R.function
    def main(x: R.Tensor((3,), "float32"), s: R.Shape([5]), t: R.Shape([{MOST}])):
        y = CALL
        return y
"""
NESTED = f"""@R.function
def main(x: R.Tensor((3,), "float32")):
    @R.function
    def inner(y: R.Tensor(({MOST} + 1,), "float32")):
        return y
    return x
"""
PROGRAMS = [
    (function(f"y = R.reshape(x, R.shape([{MOST} * 4]))"), WRITTEN),
    (function(f"y = R.match_cast(x, R.Tensor(({MOST} * 4, 4), 'float32'))"), WRITTEN),
    (function(f"y: R.Tensor(({MOST} * 4, 4), 'float32') = x"), WRITTEN),
    (function(f"k: T.int64 = R.prim_value({MOST} * 4)"), WRITTEN),
    (function(f"k: T.int64 = R.prim_value(-{MOST} - 2)"), f"is {-MOST - 2}, which does not fit int64"),
    (function(x=f'("n", "{MOST} * 4")'), WRITTEN),
    (NESTED, f"is {MOST + 1}, which does not fit int64"),
    (function("y = R.flatten(x)", x=f"({MOST}, 4)"), COMPUTED.format(MOST * 4)),
    (function("y = R.reshape(x, R.shape([-1]))", x=f"({MOST}, 4)"), RESULT.format(MOST * 4)),
    (function("y = R.reshape(x, R.shape([-1, n]))", x=f'({MOST}, 2, "n")'), RESULT.format(MOST * 2)),
    (function("y = R.reshape(x, R.shape([n, -1]))", x=f'(2, "n", {MOST}, 2)'), RESULT.format(MOST * 4)),
    (function("y = R.concat((x, x), axis=0)", x=f"({MOST}, 4)"), COMPUTED.format(MOST * 2)),
    (function("y = R.repeat(x, 4, axis=0)", x=f"({MOST}, 4)"), RESULT.format(MOST * 4)),
    (function("y = R.nn.pad(x, (1, 1, 0, 0))", x=f"({MOST}, 4)"), RESULT.format(MOST + 2)),
    (CALLED.replace("CALL", "M.f(x, s)"), f"n * {MOST} * 4 = {MOST * 12}, which does not fit int64, got 5"),
    (CALLED.replace("CALL", "M.g(x, t)"), RESULT.format(MOST * 12)),
    (CALLED.replace("CALL", "R.reshape(M.g(x, t), R.shape([4]))"), RESULT.format(MOST * 12)),
]


@pytest.mark.parametrize(("text", "words"), PROGRAMS)
def test_a_program(text: str, words: str) -> None:
    try:
        problems = [str(problem) for problem in rxe.check(rxe.parse(text))]
    except Failure as failure:
        problems = [str(problem) for problem in failure.diagnostics]
    assert len([problem for problem in problems if words in problem]) == 1, problems
    assert not any("-4" in problem or "T.Mul" in problem for problem in problems)


@pytest.mark.parametrize("length", [f"n * {MOST}", f"n + {MOST}", f"n * {MOST} * 4"])
@pytest.mark.parametrize(
    "line", ["y = R.zeros(R.shape([L]), 'float32')", "y = R.match_cast(x, R.Tensor((L, 4), 'float32'))"]
)
def test_a_run(line: str, length: str) -> None:
    module = rxe.normalize(rxe.parse(function(line.replace("L", length))))
    with pytest.raises(Failure, match="overflows int64 where n = 2"):
        rxe.run(module, "main", [np.ones((2, 4), "float32")])


FILES = [
    ("a.shapes", f"@f = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * {MOST} * 4], int32) {{ <body> }}\n"
        "let a : Tensor([8, 16], int8) = ..;\nlet b = @f(a);\n", RESULT.format(MOST * 32)),
    ("b.shapes", f"let a : Tensor([{MOST} * 4], int8) = ..;\n", f"the dimension is {MOST * 4}, which does not fit int64"),
    ("c.shapes", f"let a : Tensor([{MOST + 1}], int8) = ..;\n", f"{MOST + 1} does not fit int64"),
    ("d.relay", f"let %x = Constant(1, ({MOST}, 4), float32);\n"
        "concatenate((%x, %x), axis=0)\n", f"a dimension would be {MOST * 2}, which does not fit int64"),
    ("f.relay", f"let %x = Constant(1, ({MOST}, 4), float32);\n"
        "reshape(%x, newshape=[-1])\n", f"there are {MOST * 4} elements, which does not fit int64"),
    ("e.relay", f"let %x = Constant(1, ({MOST} + 1, 4), float32);\n%x\n", "does not fit int64"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "words"), FILES)
def test_a_contract_and_a_relation(name: str, text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text)
    result = rxe_cli("shapes" if name.endswith("shapes") else "relations", str(file))
    assert result.exit_code in (1, 2)
    assert result.output.count(words) == 1, result.output


def test_the_largest_length_is_fine(tmp_path: Path) -> None:
    module = rxe.parse(function("y = R.add(x, x)", x=f"({MOST}, 4)"))
    assert not any(problem.is_error for problem in rxe.check(module))
    file = tmp_path / "a.shapes"
    file.write_text(f"let a : Tensor([{MOST}], int8) = ..;\n")
    assert rxe_cli("shapes", str(file)).exit_code == 0
