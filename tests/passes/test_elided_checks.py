"""ElideChecks keeps each check that may fail, and with `errors="drop"` each one that something needs."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.expr import MatchCast
from relax_explorer.core.ir.walk import bindings
from tests.support.pass_agreement import programs

X = 'x: R.Tensor("float32")'


def program(lines: str, params: str = X) -> rxe.IRModule:
    body = "".join(f"    {line}\n" for line in ("n, m = T.int64(), T.int64()", *lines.splitlines()))
    return rxe.normalize(rxe.parse(f"@R.function\ndef main({params}):\n{body}"))


def casts(module: rxe.IRModule, errors: str) -> list[str]:
    """The StructInfo of the match_casts that stay. The result is normalized and well-formed."""
    result = rxe.apply_pass(module, "ElideChecks", errors=errors)
    assert rxe.normalize(result) is result
    assert rxe.well_formed(result)
    return [
        str(b.struct_info)
        for fn in result.relax_functions.values()
        for b in bindings(fn)
        if type(b) is MatchCast
    ]


CAST = 'R.match_cast(x, R.Tensor((n, m), "float32"))'
FULL, BINDING = 'R.Tensor((n, m), dtype="float32")', "R.Tensor((n, m))"
CASES = {
    "nothing needs it": (f"y = {CAST}\nreturn x", [FULL], []),
    "its result is read": (f"y = {CAST}\nreturn R.exp(y)", [FULL], [FULL]),
    "a copy of its result is read": (f"y = {CAST}\nz = y\nt = (z, x)\nreturn t[0]", [FULL], [FULL]),
    "a shape variable is used": (f"y = {CAST}\nreturn R.shape([n])", [FULL], [BINDING]),
    "a scalar uses a shape variable": (f"y = {CAST}\nreturn R.prim_value(n + 1)", [FULL], [BINDING]),
    "a call states a shape variable": (
        f'{CAST}\nreturn R.call_pure_packed("f", x, sinfo_args=R.Tensor((m,), "float32"))', [FULL], [BINDING],
    ),
    "a later check needs it": (
        f'{CAST}\nz = R.match_cast(w, R.Tensor((n,), "float32"))\nreturn z',
        [FULL, 'R.Tensor((n,), dtype="float32")'], [BINDING, 'R.Tensor((n,), dtype="float32")'],
    ),
    "only a check that goes needs it": (
        f'{CAST}\nz = R.match_cast(w, R.Tensor((n,), "float32"))\nreturn x', [FULL, 'R.Tensor((n,), dtype="float32")'], [],
    ),
    "a branch uses it": (
        f"{CAST}\nif c:\n    s = R.shape([n])\nelse:\n    s = R.shape([m])\nreturn s", [FULL], [BINDING],
    ),
    "each branch has its own": (
        f"if c:\n    {CAST}\n    s = R.shape([n])\nelse:\n    y = {CAST}\n    s = R.shape([m])\nreturn s",
        [FULL, FULL], [BINDING, BINDING],
    ),
    "a nested function uses it": (
        f'{CAST}\n@R.function\ndef g(k: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):\n    return k\nreturn g', [FULL], [BINDING],
    ),
    "the same check twice": (f"y = {CAST}\nz = {CAST}\nreturn (y, z)", [FULL], [FULL]),
    "the first of two goes, and the second stays": (f"y = {CAST}\nz = {CAST}\nreturn z", [FULL], [BINDING, FULL]),
    "types prove it": (f"y = {CAST}\nz = R.match_cast(R.exp(y), R.Tensor((n, m), 'float32'))\nreturn z", [FULL], [FULL]),
    "a tuple": (
        'y = R.match_cast(t, R.Tuple(R.Tensor((n, 2), "float32"), R.Shape([m, n])))\nreturn R.shape([m, n])',
        ['R.Tuple(R.Tensor((n, 2), dtype="float32"), R.Shape([m, n]))'], ["R.Tuple(R.Tensor((n, any)), R.Shape([m, any]))"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_checks_that_stay(case: str) -> None:
    lines, kept, needed = CASES[case]
    params = f'{X}, w: R.Tensor("float32", ndim=1), c: R.Tensor((), "bool"), t: R.Object'
    assert casts(program(lines, params), "keep") == kept
    assert casts(program(lines, params), "drop") == needed
    for errors in ("keep", "drop"):
        once = rxe.apply_pass(program(lines, params), "ElideChecks", errors=errors)
        assert rxe.apply_pass(once, "ElideChecks", errors=errors) is once


def test_a_variable_of_another_dataflow_block_is_not_read() -> None:
    cast = 'R.match_cast(x, R.Tensor((n, m), "float32"))'
    first = f"with R.dataflow():\n    a = {cast}\n    b = R.exp(a)\n    R.output(b)\nk = R.call_packed('f')\n"
    lines = first + f"with R.dataflow():\n    y = {cast}\n    R.output(y)\nreturn (b, y, k)"
    assert casts(program(lines), "keep") == [FULL, FULL]


def test_the_second_function_is_changed_too() -> None:
    first = "    @R.function\n    def f(x: R.Object):\n        return x\n"
    second = f"    @R.function\n    def g({X}):\n        y = R.match_cast(x, R.Tensor((2,), 'float32'))\n        return x\n"
    text = f"@I.ir_module\nclass M:\n{first}{second}"
    assert casts(rxe.normalize(rxe.parse(text)), "drop") == []


def test_every_run_stops_where_it_stopped() -> None:
    lines = 'y = R.match_cast(x, R.Tensor((n, n), "float32"))\nreturn x'
    kept, gone = (rxe.apply_pass(program(lines), "ElideChecks", errors=each) for each in ("keep", "drop"))
    wrong = np.zeros((2, 3), "float32")
    with pytest.raises(rxe.Failure):
        rxe.run(kept, "main", [wrong])
    assert rxe.run(gone, "main", [wrong]) is wrong


def test_programs_stay_well_formed() -> None:
    count = 0
    for text in programs().values():
        if len(text) < 20000:
            try:
                module = rxe.normalize(rxe.parse(text))
            except rxe.Failure:
                continue
            if rxe.well_formed(module):
                casts(module, "keep")
                casts(module, "drop")
                count += 1
    assert count > 200


def test_a_rank_that_is_not_known_is_checked() -> None:
    module = rxe.parse(
        '@I.ir_module\nclass Module:\n    I.module_attrs({"wildcard_dims": True})\n    @R.function\n'
        "    def main(x: R.Shape(ndim=-1)) -> R.Object:\n"
        "        y = R.match_cast(x, R.Shape([R.any_dim, R.any_dim]))\n        return y\n"
    )
    assert casts(rxe.normalize(module), "keep") == ["R.Shape([R.any_dim, R.any_dim])"]
