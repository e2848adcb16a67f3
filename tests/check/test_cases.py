"""Programs that were once judged wrongly, and what TVM refuses and our language does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.diagnostics import Diagnostic

CASES = Path(__file__).parents[1] / "data" / "cases"
# The codes of errors in the default profile, and in the profile `tvm`.
VERDICTS: dict[str, tuple[set[str], set[str]]] = {
    "01_untyped_out": ({"RX0213"}, {"RX0015"}),
    "07_int32_dim": ({"RX0011"}, {"RX0011"}),
    "08_api_annotated_output": (set(), set()),
    "19_shape_int": ({"RX0012"}, {"RX0012"}),
    "31_use_before_def": ({"RX0014"}, {"RX0014"}),
    "71_fuse_wrong_order": ({"RX0105"}, {"RX0105", "RX0218", "RX0014", "RX0015"}),
    "72_tcast_lower": (set(), set()),
    "74_other_function_bad": (set(), {"RX0112", "RX0113"}),
    "bare_call_of_function": ({"RX0014"}, {"RX0014"}),
    "damaged_metadata": ({"RX0023", "RX0014", "RX0018"}, {"RX0023", "RX0014", "RX0018", "RX0024"}),
    "grid_of_many_axes": ({"RX0006"}, {"RX0006"}),
    "lift_unknown_operator": ({"RX0016"}, {"RX0016"}),
    "matrix_multiply_sign": ({"RX0011"}, {"RX0011"}),
    "one_hot_large_vocabulary": (set(), set()),
    "python_float_operand": (set(), set()),
    "repeat_large": (set(), set()),
    "unclosed_dtype_argument": ({"RX0012"}, {"RX0012"}),
    "undefined_length": ({"RX0014"}, {"RX0014"}),
    "view_of_float8": (set(), set()),
}


def problems(text: str, profile: str) -> list[Diagnostic]:
    from relax_explorer.core.phases.module_check import problems as of_text

    try:
        return [item for item in rxe.check(rxe.parse(text), profile) if item.is_error]
    except rxe.ParseError as failure:
        return [item for item in of_text(failure, profile) if item.is_error]


def errors(text: str) -> tuple[set[str], set[str]]:
    """The codes of errors in both profiles."""
    spec, tvm = ({item.code.id for item in problems(text, profile)} for profile in ("spec", "tvm"))
    return spec, tvm


def test_each_case_has_a_verdict() -> None:
    assert {path.stem for path in CASES.glob("*.py")} == VERDICTS.keys()


@pytest.mark.parametrize("name", VERDICTS)
def test_the_verdict_of_a_case(name: str) -> None:
    assert errors((CASES / f"{name}.py").read_text(encoding="utf-8")) == VERDICTS[name]


HEAD = '@R.function\ndef main(x: R.Tensor((2, 2), "{}"), w: R.Tensor(("n", 2), "float32")):\n'
BOTH, TVM, NONE = (True, True), (False, True), (False, False)
# A dtype of x, the result, and who refuses it.
NUMBERS = [
    ("float32", "R.multiply(x, 2.0)", NONE),
    ("float32", "R.multiply(2.0, x)", NONE),
    ("float32", "R.maximum(x, x2=-2.0)", NONE),
    ("float32", "R.add(R.exp(x), 3.0)", NONE),
    ("float32", "R.multiply(x, 2)", TVM),
    ("float16", "R.power(x, 2.5)", TVM),
    ("int32", "R.add(x, 2)", NONE),
    ("int64", "R.add(x, 2)", TVM),
    ("int64", "R.add(x, 2.5)", BOTH),
    ("uint8", "R.add(x, 300)", BOTH),
    ("uint8", "R.add(x, -3)", BOTH),
    ("float32", "R.equal(x, 2)", NONE),
    ("int32", "R.add(x, R.prim_value(2))", BOTH),
    ("float32", "R.multiply(x, True)", NONE),
    ("float32", "R.exp(2.0)", BOTH),
    ("float32", "x * 2.0", BOTH),
]


@pytest.mark.parametrize(("dtype", "written", "refused"), NUMBERS)
def test_a_number_takes_the_dtype_of_the_other_operand(
    dtype: str, written: str, refused: tuple[bool, bool]
) -> None:
    text = f"{HEAD.format(dtype)}    y = {written}\n    return y\n"
    assert tuple(map(bool, errors(text))) == refused
    if refused[0]:
        return
    module = rxe.parse(text)
    assert rxe.structural_equal(rxe.parse(module.script()), module)
    normal = rxe.normalize(module)
    assert rxe.structural_equal(rxe.normalize(rxe.parse(normal.script())), normal)
    result = rxe.run(normal, "main", [np.ones((2, 2), dtype), np.ones((3, 2), "float32")])
    assert result.dtype == ("bool" if "equal" in written else dtype)


def test_an_integer_that_would_take_another_dtype_is_printed_as_a_scalar() -> None:
    module = rxe.normalize(rxe.parse(f"{HEAD.format('int32')}    return R.less(x, R.prim_value(2))\n"))
    assert "R.less(x, R.prim_value(2))" in module.script()
    assert rxe.structural_equal(rxe.normalize(rxe.parse(module.script())), module)


BODIES = {
    "a, b = R.split(w, 2, axis=1)\nreturn a": TVM,
    "a, b = (x, w)\nreturn a": NONE,
    "a, b = (x, w, x)\nreturn a": BOTH,
    "y = x == x\nreturn y": TVM,
    "y = ~x\nreturn y": TVM,
    "return R.nosuch(x)": BOTH,
    "return R.reshape(x, R.shape([n, q]))": BOTH,
    "n = T.int32()\nreturn x": BOTH,
    "n = T.int64()\nreturn R.reshape(w, R.shape([2, n]))": NONE,
    "y = R.match_cast(x, R.Tensor((2, 3), 'float32'))\nreturn y": TVM,
    "y: R.Tensor((2), 'float32') = x\nreturn y": BOTH,
    "with R.dataflow():\n    y = R.add(x, x)\n    R.output(y, k=1)\nreturn y": BOTH,
}


@pytest.mark.parametrize("body", BODIES)
def test_who_refuses_a_body(body: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    assert tuple(map(bool, errors(HEAD.format("float32") + lines))) == BODIES[body]


HEADERS = {
    'x: R.Tensor((n, 3), "float32")': BOTH,
    'x: R.Tensor(("n", 3), "float32"), y: R.Tensor((n, 3), "float32")': TVM,
    'x: R.Tensor(("n", 3), "float32"), y: R.Tensor(("n", 3), "float32")': NONE,
    'n: T.int64, x: R.Tensor((n, 3), "float32")': NONE,
    'n: T.int32, x: R.Tensor((n, 3), "float32")': BOTH,
    'x: R.Tensor(1, "float32")': BOTH,
    'x: R.Tuple(R.Tensor((n,), "float32"))': BOTH,
}


@pytest.mark.parametrize("header", HEADERS)
def test_who_refuses_a_header(header: str) -> None:
    assert tuple(map(bool, errors(f"@R.function\ndef main({header}):\n    return x\n"))) == HEADERS[header]


HINTS = {
    "y = R.add(b, x)\nb = x\nreturn y": "Move",
    "with R.dataflow():\n    b = R.exp(x)\n    y = R.add(b, b)\n    R.output(y)\nreturn b": "R.output(b)",
    "return x.sum()": "R.sum(x",
    "y = x.shape[0]\nreturn y": "R.shape_of(x)",
    "y = R.add(x.T, x)\nreturn y": "R.permute_dims(x)",
    "return x @ x": "R.matmul(x, x)",
}


@pytest.mark.parametrize("body", HINTS)
def test_the_hint_that_helps(body: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    (problem,) = problems(HEAD.format("float32") + lines, "spec")
    assert HINTS[body] in problem.help


def test_a_branch_and_a_nested_function_are_looked_at_for_a_later_binding() -> None:
    text = (
        HEAD.format("float32")
        + "    y = R.add(b, x)\n    @R.function\n    def g(b: R.Object):\n        return b\n    return y\n"
    )
    (problem,) = problems(text, "spec")
    assert "below" not in problem.message  # the b of another function


def test_an_unknown_operator_may_be_allowed() -> None:
    text = f"{HEAD.format('float32')}    return R.nosuch(x)\n"
    (problem,) = [item for item in rxe.check(text, allow_unknown_ops=True) if item.code.id == "RX0016"]
    assert not problem.is_error
    assert rxe.apply_pass(rxe.normalize(rxe.parse(text)), "ToNonDataflow").script().count("R.nosuch") == 1


def test_no_note_says_that_a_profile_omits_what_it_prints() -> None:
    text = (CASES / "01_untyped_out.py").read_text(encoding="utf-8")
    for profile, said in (("spec", "it is a warning"), ("tvm", "not in TVM")):
        (problem,) = [item for item in rxe.check(text, profile) if item.code.id == "RX0213"]
        assert said in problem.remarks[-1]


def test_the_lengths_of_two_functions_are_told_apart() -> None:
    text = """@I.ir_module
class M:
    @T.prim_func
    def f(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = A[i]
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        y = R.call_tir(M.f, (x,), out_ty=R.Tensor((n + 1,), "float32"))
        return y
"""
    (problem,) = problems(text, "spec")
    assert "n of f = n of main" in problem.message


def test_the_lengths_of_a_called_function_and_of_nested_ones_are_told_apart() -> None:
    text = """@I.ir_module
class M:
    @R.function
    def g(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return x
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n + 1",), "float32")):
        n = T.int64()
        cls = M
        @R.function
        def inner(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n + 1",), "float32")) -> R.Tensor:
            n = T.int64()
            v = cls.g(x, y)
            return v
        z = inner(x, y)
        w = cls.g(x, y)
        return w
"""
    said = [item.message for item in problems(text, "spec")]
    assert [words.split(": ")[1] for words in said] == [
        "n of g = n of main.inner, got n + 1",
        "n of g = n of main, got n + 1",
    ]


@pytest.mark.parametrize("name", ["08_api_annotated_output", "lift_unknown_operator"])
def test_passes_of_the_api_take_what_load_gives(name: str) -> None:
    module = rxe.load(CASES / f"{name}.py")
    for each in (
        "ToNonDataflow",
        "FuseOps",
        "LegalizeOps",
        "DeadCodeElimination",
        "CanonicalizeBindings",
        "LiftTransformParams",
    ):
        assert each in passes.table()
        assert rxe.apply_pass(module, each).relax_functions


@pytest.mark.parametrize(
    ("large", "result"),
    [
        ("R.one_hot(i, R.prim_value(1), R.prim_value(0), 128256, -1)", 128256),
        ("R.repeat(i, 131072, 0)", 131072),
        ("R.tile(i, (131072,))", 131072),
        ("R.nn.pad(i, (65536, 65536))", 131073),
        ("R.broadcast_to(i, R.shape([131072]))", 131072),
        ("R.arange(131072)", 131072),
    ],
)
def test_the_result_decides_how_large_an_attribute_may_be(large: str, result: int) -> None:
    text = f'@R.function\ndef main(i: R.Tensor((1,), "int64")):\n    return {large}\n'
    module = rxe.normalize(rxe.parse(text))
    assert rxe.run(module, "main", [np.zeros(1, "int64")]).shape[-1] == result
    with pytest.raises(rxe.Failure):
        rxe.normalize(
            rxe.parse(
                '@R.function\ndef main(i: R.Tensor((1,), "int64")):\n    return R.split(i, 1000000000000)\n'
            )
        )


SCALARS = (
    "y = (R.prim_value(2), x)\nreturn y",
    "return (x, (R.prim_value(2.5), R.prim_value(True)))",
    "y = (R.prim_value(n + 1), x)\nz = y[0]\nreturn z",
    "return R.prim_value(2)",
)


@pytest.mark.parametrize("body", SCALARS)
def test_scalars_in_tuples_survive_their_text(body: str) -> None:
    lines = "".join(f"    {line}\n" for line in ["n = T.int64()", *body.split("\n")])
    module = rxe.normalize(rxe.parse(HEAD.format("float32") + lines))
    assert rxe.structural_equal(rxe.normalize(rxe.parse(module.script())), module)


def test_an_index_error_hides_no_unknown_operator_of_its_function() -> None:
    body = "    a = (x, x)[5]\n    b = R.nosuch(x)\n    c = R.nosuch2(a)\n    return b\n"
    found = [item.code.id for item in problems(HEAD.format("float32") + body, "spec")]
    assert found == ["RX0215", "RX0016", "RX0016"]


def test_a_shape_is_public() -> None:
    assert repr(rxe.Shape((2, 3))) == "shape(2, 3)"
