"""A check of a private function that every call proves is proved. One call that does not, or is not seen, leaves it."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.shapes.residual import shape_checks

PROGRAM = """@I.ir_module
class M:
    @R.function(private=True, pure=False)
    def inner(x: R.Tensor(("a", "b"), "float32")) -> R.Tensor(("a", "b"), "float32"):
        a = T.int64()
        b = T.int64()
        _ = R.assert_op(R.prim_value(a == b), format="square")
        INNER
        return x
    @R.function(private=True, pure=False)
    def middle(x: R.Tensor(("c", "d"), "float32")) -> R.Tensor(("c", "d"), "float32"):
        c = T.int64()
        d = T.int64()
        _ = R.assert_op(R.prim_value(c == d), format="first")
        y = M.inner(x)
        return y
    @R.function(pure=False)
    def main(x: R.Tensor(("n", "n"), "float32"), y: R.Tensor(("n", "m"), "float32"), c: R.Tensor((), "bool")):
        n = T.int64()
        m = T.int64()
        u = M.inner(x)
        v = M.middle(x)
        MAIN
        return (u, v)
    @R.function(pure=False)
    def second(x: R.Tensor((4, 4), "float32")):
        return M.inner(x)
"""
CAST = "z = R.match_cast(y, R.Tensor((m, m), 'float32'))\n        w = M.inner(y)"
BRANCH = "if c:\n            t = R.match_cast(y, R.Tensor((m, m), 'float32'))\n            w = M.inner(t)\n        else:\n            w = x"

NEVER = "h = R.prim_value({})\n        if h:\n            w = M.inner(y)\n        else:\n            w = x"


def decided(inner: str = "pass", main: str = "pass") -> dict[str, Answer]:
    text = PROGRAM.replace("INNER", inner).replace("MAIN", main).replace("        pass\n", "")
    checks = shape_checks(rxe.normalize(rxe.parse(text)))
    return {check.text: check.answer for check in checks if check.kind == "assert"}


@pytest.mark.parametrize(
    "main",
    [
        "pass",
        CAST,
        BRANCH,
        "w = M.inner(u)",
        "w = M.inner(M.middle(x))",
        NEVER.format("n == n + 1"),
        NEVER.format("n + 1 <= 0"),
    ],
)
def test_every_call_proves_it(main: str) -> None:
    assert decided(main=main) == {"a == b": Answer.YES, "c == d": Answer.YES}


@pytest.mark.parametrize(
    ("inner", "main"),
    [
        ("pass", "w = M.inner(y)"),
        ("pass", "w = M.inner(R.zeros((3, 4), 'float32'))"),
        ("pass", "w = M.inner(y)\n        z = R.match_cast(y, R.Tensor((m, m), 'float32'))"),  # too late
        (
            "pass",
            BRANCH.replace("w = x", "w = M.inner(y)"),
        ),  # what one branch checks is not known in the other
        ("pass", "f = M.inner\n        w = f(y)"),
        ("pass", "f = (M.inner, x)\n        w = f[0](y)"),
        ("w = M.inner(R.zeros((a, 2), 'float32'))", "pass"),
        ("w = M.inner(x)", "pass"),  # it calls itself
        ("pass", NEVER.format("n == m + 1")),
        ("pass", NEVER.format("n == n + 1").replace("w = x", "w = M.inner(y)")),
    ],
)
def test_a_call_that_does_not_prove_it_leaves_it(inner: str, main: str) -> None:
    assert decided(inner, main)["a == b"] is Answer.UNKNOWN


def test_a_public_function_is_called_from_outside() -> None:
    text = PROGRAM.replace("INNER", "pass").replace("MAIN", "pass").replace("        pass\n", "")
    text = text.replace("private=True, ", "", 1)
    checks = shape_checks(rxe.normalize(rxe.parse(text)))
    assert [check.answer for check in checks if check.text == "a == b"] == [Answer.UNKNOWN]


def test_the_proofs_name_the_calls_and_the_pass_drops_the_check() -> None:
    text = PROGRAM.replace("INNER", "pass").replace("MAIN", CAST).replace("        pass\n", "")
    module = rxe.normalize(rxe.parse(text))
    (check,) = [one for one in shape_checks(module) if one.text == "a == b"]
    assert [str(fact) for fact in check.proof] == [
        "a == b (middle calls it with a = c, b = d in line 14)",
        "c == d (checked in line 13)",
        "a == b (main calls it with a = n, b = n in line 20)",
        "a == b (main calls it with a = n, b = m in line 23)",
        "n == m (checked in line 22)",
        "a == b (second calls it with a = 4, b = 4 in line 27)",
    ]
    after = rxe.apply_pass(module, "EliminateShapeChecks")
    assert "assert_op" not in after.script()
    square, other, flag = np.ones((2, 2), "float32"), np.ones((2, 3), "float32"), np.array(True)
    for program in (module, after):
        assert rxe.run(program, "main", [square, square, flag])[0].shape == (2, 2)
        with pytest.raises(Failure, match="y"):
            rxe.run(program, "main", [square, other, flag])


@pytest.mark.parametrize(
    ("main", "call"),
    [
        ("w = M.inner(y)", "main calls it with a = n, b = m in line 22"),
        (
            "w = M.inner(R.zeros((3, 4), 'float32'))",
            "main calls it with a = 3, b = 4 in line 22, where it always fails",
        ),
        (
            "w = M.inner(y)\n        z = M.inner(R.zeros((3, 4), 'float32'))",
            "main calls it with a = n, b = m in line 22",
        ),
        ("f = M.inner\n        w = f(y)", ""),  # not every call is seen
    ],
)
def test_the_reason_names_the_first_call_that_does_not_prove_it(main: str, call: str) -> None:
    text = PROGRAM.replace("INNER", "pass").replace("MAIN", main).replace("        pass\n", "")
    found = {check.text: check for check in shape_checks(rxe.normalize(rxe.parse(text)))}
    assert found["a == b"].why == "it fails with a = 3, b = 4" + (f"; {call}" if call else "")
    assert found["a == b"].answer is Answer.UNKNOWN
    assert not found["c == d"].why


REFUTED = """
@I.ir_module
class M:
    @R.function{private}
    def f(x: R.Tensor(("n",), "float32"), y: R.Tensor("float32", ndim=1)) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        z = R.match_cast(y, R.Tensor((n,), "float32"))
        w = R.add(x, z)
        return w
    @R.function
    def main(a: R.Tensor((3,), "float32"), b: R.Tensor((4,), "float32"), c: R.Tensor((), "bool"), d: R.Tensor((), "bool")):
        {main}
        return a
"""
VECTOR = "R.Tensor('float32', ndim=1)"
CALL = "main calls it with y.shape[0] = 4, n = 3 in line 12"


@pytest.mark.parametrize(
    ("main", "answer"),
    [
        ("u = M.f(a, b)", Answer.NO),
        ("v = M.f(a, b); u = M.f(b, a)", Answer.NO),
        ("v = M.f(a, b); u = M.f(a, a)", Answer.UNKNOWN),
        ("u = M.f(a, a)", Answer.YES),
        ("t = (b, a); s = t[0]; u = M.f(a, s)", Answer.NO),
        ("g = M.f; u = g(a, b)", Answer.UNKNOWN),
        ("u = a", Answer.UNKNOWN),
        (f"v = R.call_pure_packed('k', a, ty_args={VECTOR}); w = M.f(a, v); u = M.f(a, b)", Answer.UNKNOWN),
        (f"v = R.call_pure_packed('k', a, ty_args={VECTOR}); w = M.f(v, b); u = M.f(a, b)", Answer.UNKNOWN),
    ],
)
@pytest.mark.parametrize("private", ["(private=True)", ""])
def test_a_check_that_every_call_refutes_always_fails(main: str, answer: Answer, private: str) -> None:
    text = REFUTED.format(main=main.replace("; ", "\n        "), private=private)
    module = rxe.normalize(rxe.parse(text))
    (cast,) = [check for check in shape_checks(module) if check.kind == "match_cast"]
    wanted = answer if private else Answer.UNKNOWN
    assert cast.answer is wanted
    problems = [problem for problem in rxe.check(module) if problem.code.id == "RX0223"]
    calls = [problem.message for problem in problems]
    assert bool(calls) is ((bool(private) and "b)" in main and "g = " not in main) or wanted is Answer.NO)
    assert set(calls) <= {"this call of f always fails: y.shape[0] == n never holds there"}
    if wanted is Answer.NO:
        line = 12 + main[: main.index("M.f")].count("; ")
        assert cast.why == f"{CALL[:-2]}{line}, where it always fails"
