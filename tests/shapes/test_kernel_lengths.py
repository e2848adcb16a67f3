"""Shapes of buffers, and signatures of packed functions, are contracts: calls are held against them."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.multiples import bind_multiples, multiple
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.packed import packed_function
from relax_explorer.core.ir.prim import PrimExpr, PrimVar, as_prim
from relax_explorer.core.session.session import Session
from relax_explorer.core.shapes.residual import shape_checks
from tests.cli.test_commands import rxe_cli

KERNEL = """
@I.ir_module
class Module:
    @T.prim_func
    def flat(a: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, ({first}), "int8")
        B = T.match_buffer(b, ({second}), "int32")
        for i in range(1):
            with T.sblock("b"):
                vi = T.axis.spatial(1, i)
                B[{zeros}] = T.Cast("int32", m)

    @R.function
    def main(x: R.Tensor(({given}), "int8")):
        {variables}
        return R.call_tir(Module.flat, (x,), out_sinfo=R.Tensor(({out}), "int32"))
"""


def kernel(first: str, second: str, given: str, out: str) -> str:
    names = [name for name in ("p", "q") if f'"{name}"' in given]
    text = f"{', '.join(names)} = {', '.join(['T.int64()'] * len(names))}" if names else "pass"
    zeros = ", ".join(["0"] * len([part for part in second.split(",") if part.strip()]))
    return KERNEL.format(first=first, second=second, zeros=zeros, given=given, variables=text, out=out)


def codes(text: str) -> list[str]:
    return [item.code.id for item in rxe.check(rxe.parse(text)) if item.code.id not in ("RX0301", "RX0241")]


def checks(text: str, kind: str = "kernel") -> list[tuple[str, str]]:
    module = Session(rxe.parse(text)).stages[0].module  # a session keeps a program with errors
    return [(check.text, check.answer.name) for check in shape_checks(module) if check.kind == kind]


FIRST, SECOND = "n, m * 4", "n * m,"


@pytest.mark.parametrize(
    ("first", "second", "given", "out", "wrong", "left"),
    [
        (FIRST, SECOND, "8, 16", "32,", [], []),
        (FIRST, SECOND, '"p", 16', "p * 4,", [], []),
        (FIRST, SECOND, '"p", 16', "p * 4 + 1,", ["RX0213"], [("p * 4 + 1 == p * 4", "NO")]),
        (FIRST, SECOND, "8, 15", "24,", ["RX0213"], [("15 == 12", "NO")]),
        (FIRST, SECOND, "8, 16", "33,", ["RX0213"], [("33 == 32", "NO")]),
        (FIRST, SECOND, '"p", "q"', "p * (q // 4),", [], [("q % 4 == 0", "UNKNOWN")]),
        (FIRST, SECOND, '"p", "q"', "p * q,", ["RX0218"], [("q % 4 == 0", "UNKNOWN"), ("p * q == p * (q // 4)", "UNKNOWN")]),
        ("n, m * 4 + 2", SECOND, "3, 14", "9,", [], []),
        ("n, m * 4 + 2", SECOND, "3, 13", "9,", ["RX0213"], [("13 == 14", "NO")]),
        ("n * m,", "n * 2 + 1, n + m", "12,", "7, 7", [], []),  # the result tells n, then m
        ("n * m,", "n * 2 + 1, n + m", "13,", "7, 7", ["RX0219"], [("13 == 12", "NO")]),
        ("n, m * m", "n,", "8, 16", "8,", [], []),  # a square tells nothing here
        ("n, m", "n, m * 2", '"p", "q"', "p, q * 2", [], []),
        ("n, m", "n, m * 2", '"p", "q"', "p, q * 3", ["RX0218"], [("q * 3 == q * 2", "UNKNOWN")]),
    ],
)  # fmt: skip
def test_a_buffer_shape_is_a_contract(
    first: str, second: str, given: str, out: str, wrong: list[str], left: list[tuple[str, str]]
) -> None:
    text = kernel(first, second, given, out)
    assert [code for code in codes(text) if code != "RX0065"] == wrong
    assert [row for row in checks(text) if row[1] != "YES"] == left


@pytest.mark.parametrize(
    ("given", "out", "left"),
    [
        ("8, 4", "8,", []),
        ('"p", 4', "8,", [("p == 8", "UNKNOWN")]),
        ("8, 4", "9,", [("9 == 8", "NO")]),
        ("8, 5", "8,", [("5 == 4", "NO")]),
    ],
)
def test_a_kernel_for_fixed_lengths(given: str, out: str, left: list[tuple[str, str]]) -> None:
    text = kernel("8, 4", "8,", given, out).replace('"int32", m)', '"int32", 1)')
    assert checks(text.replace("        n, m = T.int64(), T.int64()\n", "")) == left


def test_what_tvm_cannot_compile_is_told() -> None:
    found = [
        item.message
        for item in rxe.check(rxe.parse(kernel(FIRST, SECOND, "8, 16", "32,")))
        if item.code.id == "RX0065"
    ]
    assert found == ["m is no dimension by itself: m * 4 tells it here, but TVM compiles no such PrimFunc"]
    product = rxe.check(rxe.parse(kernel("n * m,", "n * m,", "12,", "12,")))
    assert [item.message for item in product if item.code.id == "RX0065"] == [
        "the dimension n * m does not tell n, and no other one does", "the dimension n * m does not tell m, and no other one does",
    ]  # fmt: skip
    assert "RX0065" not in codes(kernel("n, m", "n, m * 4", "2, 3", "2, 12"))
    scalar = (
        kernel("n, 4", "n,", "8, 4", "8,")
        .replace("m = T.int64(), T.int64()", "= T.int64()")
        .replace('"int32", m', '"int32", n')
    )
    assert "RX0065" not in codes(scalar.replace("n, = T", "n = T"))


@pytest.mark.parametrize("engine", ["fused", "reference"])
@pytest.mark.parametrize(("rows", "columns", "m"), [(2, 16, 4), (1, 4, 1), (3, 0, 0)])
def test_a_run_solves_a_dimension(engine: str, rows: int, columns: int, m: int) -> None:
    text = kernel(FIRST, "n * m + 1,", '"p", "q"', "p * (q // 4) + 1,")
    out = rxe.run(rxe.normalize(rxe.parse(text)), "main", [np.zeros((rows, columns), np.int8)], engine=engine)
    assert out.shape == (rows * m + 1,)
    assert out[0] == m


@pytest.mark.parametrize(
    ("first", "second", "out", "told"),
    [
        (FIRST, "n,", "2,", "a length of buffer A is 15: m * 4 = 15 has no solution"),
        ("n * m, 15", "n * m,", "2,", "a length of buffer A is 2: n * m does not tell n"),
    ],
)
def test_a_run_refuses_what_has_no_solution(first: str, second: str, out: str, told: str) -> None:
    text = kernel(first, second, '"p", "q"', out)
    with pytest.raises(Failure) as problem:
        rxe.run(rxe.normalize(rxe.parse(text)), "main", [np.zeros((2, 15), np.int8)])
    assert told in problem.value.diagnostics[0].message
    assert problem.value.diagnostics[0].code.id == "RX0507"


PACKED = """
@I.ir_module
class Module:
    {member}

    @R.function(pure=False)
    def main(x: R.Tensor(("a", 16), "float32"), y: R.Tensor(("b",), "float32"), z: R.Tensor(ndim=1)):
        a, b = T.int64(), T.int64()
        {local}
        u = {f}(x, {y})
        {cast}
        q = {f}(x, {y})
        return (u, q)
"""
VECTOR = 'R.Tensor(("n",), "float32")'
SIGNATURE = (
    f'R.ExternFunc("test.halve", R.Callable((R.Tensor(("n", "m"), "float32"), {VECTOR}), {VECTOR}, True))'
)
CAST = 'h = R.match_cast(y, R.Tensor((a,), "float32"))'


def packed(f: str = "f", y: str = "y", cast: str = CAST) -> str:
    member = f"g = {SIGNATURE}" if f == "Module.g" else "pass"
    local = f"f = {SIGNATURE}" if f != "Module.g" else "pass"
    if f == "k":
        local += "\n        k = f"
    return PACKED.format(member=member, local=local, f=f, y=y, cast=cast).replace("    pass\n\n", "")


@pytest.mark.parametrize("f", ["f", "k", "Module.g"])
def test_calls_of_a_packed_function_are_held_against_its_signature(f: str) -> None:
    result = 'R.Tensor((a,), dtype="float32")'
    assert checks(packed(f), "packed") == [
        ("b == a", "UNKNOWN"), (f"u is {result}", "UNKNOWN"), ("b == a", "YES"), (f"q is {result}", "UNKNOWN"),
    ]  # fmt: skip
    assert checks(packed(f, cast="pass"), "packed")[2] == ("b == a", "UNKNOWN"), "nobody checked it before"
    assert ("z.dtype == float32", "UNKNOWN") in checks(packed(f, "z"), "packed")
    assert "RX0213" in codes(packed(f, "x")), "a matrix is no vector"


def test_a_call_is_refused_in_the_words_of_the_kernel() -> None:
    (item,) = [
        item
        for item in rxe.check(rxe.parse(kernel(FIRST, SECOND, "8, 15", "24,")))
        if item.code.id == "RX0213"
    ]
    assert item.message.endswith(
        "args[0], dimension 1 is 15, parameter 1 of flat needs m * 4: m * 4 = 15 has no solution"
    )


def test_what_nobody_checks_proves_nothing() -> None:
    never = packed().replace('R.Callable((R.Tensor(("n", "m")', 'R.Callable((R.Tensor(("n", 8)')
    assert checks(never, "packed")[0] == ("16 == 8", "NO")
    module = Session(rxe.parse(never)).stages[0].module
    assert all(check.is_reached for check in shape_checks(module)), "nobody stops the run there"
    text = packed(cast=CAST).replace("h = R.match_cast(y", "h = R.match_cast(y")
    assert checks(text, "match_cast") == [("b == a", "UNKNOWN")]
    rows = [check for check in shape_checks(rxe.normalize(rxe.parse(text))) if check.kind == "packed"]
    assert rows[0].remedy == "nobody checks it: cast the argument before the call"
    assert rows[1].remedy.startswith("nobody checks it: state less")
    assert rows[1].why == "a packed function may return anything"
    assert all(check.is_reached for check in rows)


STATED = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", 8), "float32")):
        n = T.int64()
        v = R.call_packed("test.returns", x, sinfo_args={info})
        return v
"""


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ('R.Tensor((n, 8), "float32")', ""),
        ("R.Tensor(ndim=2)", ""),
        ("R.Object", ""),
        ('R.Tensor((n, 7), "float32")', "dim 1: expected 7, got 8"),
        ('R.Tensor((n + 1, 8), "float32")', "dim 0: n + 1 = 4, got 3"),
        ('R.Tensor((n, 8), "int32")', "int32"),
        ("R.Tensor(ndim=3)", "3"),
        ("R.Shape(ndim=2)", "a tensor (3, 8) of float32"),
    ],
)
def test_a_run_tells_that_a_packed_function_returns_something_else(info: str, told: str) -> None:
    packed_function("test.returns")(lambda x: x * 2)
    text = STATED.format(info=info)
    run = rxe.debug(rxe.normalize(rxe.parse(text)), "main", [np.ones((3, 8), np.float32)])
    run.continue_()
    messages = [item.message for item in run.machine.warnings if item.code.id == "RX0528"]
    assert len(messages) == bool(told)
    assert all(
        "test.returns returned a tensor (3, 8) of float32, the call states" in text and told in text
        for text in messages
    )
    assert run.machine.done, "the run goes on: the language leaves it to the packed function"


def test_the_result_of_a_packed_function_that_fills_is_an_argument() -> None:
    def fills(x: np.ndarray, out: np.ndarray) -> int:
        out[...] = x
        return 7

    packed_function("test.fills")(fills)
    text = (
        STATED.replace("R.call_packed(", "R.call_dps_packed(")
        .replace("x, sinfo_args=", "(x,), out_sinfo=")
        .replace("returns", "fills")
    )
    run = rxe.debug(
        rxe.normalize(rxe.parse(text.format(info='R.Tensor((n, 8), "float32")'))),
        "main",
        [np.ones((3, 8), np.float32)],
    )
    run.continue_()
    assert [item.code.id for item in run.machine.warnings] == ["RX0516"]


def test_shapes_takes_packed_functions(tmp_path) -> None:  # type: ignore[no-untyped-def]  # a fixture of pytest
    (tmp_path / "m.py").write_text(
        STATED.format(info='R.Tensor((n, 8), "float32")').replace("test.returns", "test.of_file")
    )
    (tmp_path / "p.py").write_text("def twice(x):\n    return x * 2\n")
    given = f"test.of_file={tmp_path / 'p.py'}:twice"
    done = rxe_cli("shapes", str(tmp_path / "m.py"), "--run", "--shape", "n=3", "--packed", given)
    assert done.exit_code == 0
    assert 'v is R.Tensor((n, 8), dtype="float32")    (packed: the result of test.of_file)' in done.stdout
    assert rxe_cli("shapes", str(tmp_path / "m.py"), "--packed", given).exit_code == 2, "it needs --run"


def test_a_multiple_tells_its_variable() -> None:
    m, k = PrimVar("m"), PrimVar("k")
    for dim, length, value in (
        (m * 4, 16, "4"), (m * 4 + k, 16, "(16 - k) // 4"), (m + k, 5, "5 - k"), (m * 4 - 2, 6, "2"),
        (m * m, 16, None), (k * m, 16, None), (k - m, 16, None), (k + 1, 16, None), (m // 2, 16, None), (m * 2 + m // 3, 16, None),
    ):  # fmt: skip
        found = multiple(dim, as_prim(length), m)
        assert (None if found is None else str(found.value)) == value, str(dim)
    values: dict[PrimVar, PrimExpr] = {}
    told = bind_multiples([(m * 4 + k, as_prim(18)), (k * 2, as_prim(4)), (k * 3, as_prim(7))], values)
    assert {var.name: str(value) for var, value in values.items()} == {"k": "2", "m": "4"}
    assert [str(dim) for dim, _ in told] == ["k * 2", "m * 4 + k"]


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ("n * 4", ["p.shape[0] == n * 4"]),
        ("n * 4 + 1", ["p.shape[0] == n * 4 + 1"]),
        ("n", ["p.shape[0] == n"]),
        ("j * 4", ["p.shape[0] % 4 == 0"]),
        ("j", []),
    ],
)
def test_a_variable_of_the_outer_function_is_not_solved_for(shape: str, wanted: list[str]) -> None:
    text = f"""@R.function
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    @R.function
    def inner(p: R.Tensor(("{shape}",), "float32")):
        n, j = T.int64(), T.int64()
        return p
    return x
"""
    checks = [check for check in shape_checks(rxe.normalize(rxe.parse(text))) if check.subject == "p"]
    assert [check.text for check in checks if not check.text.startswith("p is")] == wanted
