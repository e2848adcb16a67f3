"""Texts of each era are recognised, and read as the modern program of the same structure; what only 2022 wrote, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.syntax.dialects import guess
from relax_explorer.core.syntax.old_spellings import are_used
from relax_explorer.core.syntax.parser import read
from tests.support.oracle import Oracle

ERAS = Path(__file__).parents[1] / "data" / "eras"
MODULE = """
@I.ir_module
class M:
{body}
"""
KERNEL = """
    @T.prim_func
    def cp(X: T.Buffer((3, 5), "float32"), Y: T.Buffer((3, 5), "float32")):
        for i, j in T.grid(3, 5):
            with T.block("s"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj]
"""


def program(body: str) -> str:
    return MODULE.format(body=body)


def same(old: str, new: str) -> None:
    """Both texts are one program, and the first is printed such that it reads back."""
    one, other = rxe.parse(old), rxe.parse(new)
    assert rxe.structural_equal(one, other), f"{one.script()}\n{other.script()}"
    for dialect in ("tvm-0.27", "tvm-0.19"):
        assert rxe.structural_equal(
            rxe.normalize(rxe.parse(rxe.normalize(one).script(dialect))), rxe.normalize(one)
        )


@pytest.mark.parametrize("name", ["40_tensor_bare", "42_course_calltir", "44_rfc", "45_buffer_sub"])
def test_cases_of_2022_have_no_problems(name: str) -> None:
    module = rxe.load(ERAS / f"{name}.py")
    assert module.dialect == "relax-2022"
    assert [item.code.id for item in rxe.check(module) if item.code.id != "RX0301"] == []
    assert rxe.structural_equal(rxe.normalize(rxe.parse(module.script())), rxe.normalize(module))


MAIN = '\n    @R.function\n    def main(x: R.Tensor((3, 5), "float32")):\n'
WIDER = KERNEL.replace("Y: T.Buffer", 'Z: T.Buffer((4,), "int8"), Y: T.Buffer')
PAIRS = {
    "a buffer": ('Y: T.Buffer[(3, 5), "float32"]', 'Y: T.Buffer((3, 5), "float32")', KERNEL),
    "a buffer of one dimension": ('Z: T.Buffer[(4,), "int8"]', 'Z: T.Buffer((4,), "int8")', WIDER),
    "a buffer without a dtype": ("X: T.Buffer[(3, 5)]", 'X: T.Buffer((3, 5), "float32")', KERNEL),
    "the first buffer": ('X: T.Buffer[(3, 5), "float32"]', 'X: T.Buffer((3, 5), "float32")', KERNEL),
}


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_buffers(name: str) -> None:
    old, new, text = PAIRS[name]
    assert new in text
    same(program(text.replace(new, old)), program(text))


NEW_CALL = 'R.call_tir(cp, (x,), out_sinfo=R.Tensor((3, 5), "float32"))'
CALLS = {
    "a call": ('R.call_tir(cp, (x,), (3, 5), dtype="float32")', NEW_CALL),
    "with a list": ('R.call_tir(cp, [x], (3, 5), dtype="float32")', NEW_CALL),
    "with a name for the shape": ('R.call_tir(cp, (x,), shape=(3, 5), dtype="float32")', NEW_CALL),
    "nested": ('R.add(x, R.call_tir(cp, (x,), (3, 5), dtype="float32"))', f"R.add(x, {NEW_CALL})"),
    "in a tuple": ('(x, R.call_tir(cp, (x,), (3, 5), dtype="float32"))', f"(x, {NEW_CALL})"),
}
BODIES = (
    "        y = {}\n        return y\n",
    "        return {}\n",
    "        with R.dataflow():\n            y = {}\n            R.output(y)\n        return y\n",
)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_call_tir(name: str) -> None:
    old, new = CALLS[name]
    for body in BODIES:
        same(program(KERNEL + MAIN + body.format(old)), program(KERNEL + MAIN + body.format(new)))


def test_call_tir_in_a_branch_and_in_a_second_function() -> None:
    text = program(
        KERNEL
        + '\n    @R.function\n    def first(c: R.Tensor((), "bool"), x: R.Tensor((3, 5), "float32")):\n        if c:\n'
        "            y = {}\n        else:\n            y = x\n        return y\n"
        + MAIN.replace("main", "second")
        + "        return {}\n"
    )
    old, new = CALLS["a call"]
    same(text.format(old, old), text.format(new, new))


def test_call_tir_with_several_results() -> None:
    kernel = KERNEL.replace("Y: T.Buffer", 'Z: T.Buffer((2,), "int8"), Y: T.Buffer')
    old = 'R.call_tir(cp, (x,), ((2,), (3, 5)), dtype=["int8", "float32"])'
    new = 'R.call_tir(cp, (x,), out_sinfo=[R.Tensor((2,), "int8"), R.Tensor((3, 5), "float32")])'
    body = "        y = {}\n        return y\n"
    same(program(kernel + MAIN + body.format(old)), program(kernel + MAIN + body.format(new)))


TYPES = {
    'R.Tensor[(n, k), "float32"]': 'R.Tensor(("n", "k"), "float32")',
    'R.Tensor[(n, n * k), "float32"], y: R.Tensor[(k,), "float32"]': 'R.Tensor(("n", "n * k"), "float32"), y: R.Tensor(("k",), "float32")',
    'R.Tensor[(2, 3), "float32"]': 'R.Tensor((2, 3), "float32")',
    'R.Tensor[_, "float32"]': 'R.Tensor("float32")',
    'R.Tensor[(_, _), "float32"]': 'R.Tensor(dtype="float32", ndim=2)',
    'R.Tuple[R.Tensor[(n,), "float32"], R.Object]': 'R.Tuple(R.Tensor(("n",), "float32"), R.Object)',
    "Tensor((3, 4), \"float32\")": 'R.Tensor((3, 4), "float32")',
    "R.Tensor[(n, 4)]": 'R.Tensor(("n", 4))',
    'R.Tensor["float32"]': 'R.Tensor("float32")',
    "R.Shape[(n, 2)]": 'R.Shape(["n", 2])',
    "R.Callable[(R.Object,), R.Object], y: R.Tensor[(2,), \"int8\"]": 'R.Callable((R.Object,), R.Object), y: R.Tensor((2,), "int8")',
    "Tensor(ndim=2)": "R.Tensor(ndim=2)",
    "Tuple(Tensor((n,), \"float32\"), Object)": 'R.Tuple(R.Tensor(("n",), "float32"), R.Object)',
}  # fmt: skip


@pytest.mark.parametrize("old", sorted(TYPES))
def test_types_of_parameters(old: str) -> None:
    text = "@R.function\ndef f(x: {}):\n    return x\n"
    same(text.format(old), text.format(TYPES[old]))


def test_types_of_results_and_of_bindings() -> None:
    new = """
@R.function
def f(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
    n = T.int64()
    y: R.Tensor((n, 4), "float32") = R.exp(x)
    return y
"""
    old = new.replace("    n = T.int64()\n", "").replace(
        'R.Tensor(("n", 4), "float32")', 'R.Tensor[(n, 4), "float32"]'
    )
    same(old.replace('R.Tensor((n, 4), "float32")', 'R.Tensor[(n, 4), "float32"]'), new)


def test_a_variable_named_tensor_is_no_type() -> None:
    old = '@R.function\ndef f(x: R.Tensor[(4,), "float32"]):\n    Tensor = R.exp(x)\n    return R.add(Tensor, x)\n'
    same(old, old.replace('R.Tensor[(4,), "float32"]', 'R.Tensor((4,), "float32")'))


def test_shapes_and_loops_and_blocks_without_outputs() -> None:
    text = (ERAS / "44_rfc.py").read_text()
    module = rxe.load(ERAS / "44_rfc.py")
    assert "R.shape([n * m])" in module.script()
    assert "out_ty=R.Tensor((n * m,)" in module.script()
    assert "R.output(d)" in module.script()
    two = text.replace("T.grid(n) as i", "T.grid(n, n) as (i, j)")
    assert "for i, j in T.grid(n, n)" in rxe.parse(two).script()


def test_what_is_not_read_is_said_once_with_the_new_spelling() -> None:
    text = (
        '@T.prim_func\ndef f(X: T.Buffer[(4,), "float32"], Y: T.Buffer[(4,), "float32"]):\n    with T.block([4], "c") as [i]:\n'
        "        Y[i] = X[i] + 1.0\n"
    )
    _module, report = read(text)
    assert [item.code.id for item in report.errors] == ["RX0034"]
    assert "2022" in report.errors[0].message
    call = program(
        KERNEL
        + MAIN
        + '        y = R.call_tir(cp, (x,), dtype="float32")\n        z = R.add(y, y)\n        return z\n'
    )
    assert [item.code.id for item in read(call)[1].errors] == ["RX0034"]


def test_eras_are_recognised_by_their_text() -> None:
    assert guess('x: T.Buffer[(3,), "float32"]').name == "relax-2022"
    assert guess('R.call_tir(f, (x,), (n, 4), dtype="float32")').name == "relax-2022"
    assert guess('R.call_tir(f, (x,), out_sinfo=R.Tensor((n,), dtype="float32"))').name == "tvm-0.19"
    assert guess('R.call_tir(f, (x,), out_ty=R.Tensor((n,), dtype="float32"))').name == "tvm-0.27"
    assert guess("# result: Tuple\n# x: Tensor (2, 3)\nx: R.Tensor((2, 3))").name == "tvm-0.27"
    assert guess("def f(x: Tensor, y: R.Any) -> Tensor:").name == "tvm-0.27"
    assert guess("def f(x: Tensor, y: Object) -> Tensor:").name == "relax-2022"
    effect = 'y: R.Object = R.call_packed("f", x, sinfo_args=(R.Object,))'
    assert guess(effect).name == "relax-2023"
    assert guess(f"@R.function(pure=False)\n{effect}").name == "tvm-0.19"
    assert (
        guess(
            'metadata = tvm.ir.load_json("""{\n  \\"root_index\\": 1}""")\n# import tir as T\nx: R.Object'
        ).name
        == "tvm-0.25"
    )


BEFORE_PURITY = """
@R.function
def main(x: R.Tensor((3,), "float32")) -> R.Object:
    y: R.Object = R.call_packed("my.f", x, sinfo_args=(R.Object,))
    return y
"""


def test_before_purity_missing_marks_are_no_problem() -> None:
    assert rxe.check(rxe.parse(BEFORE_PURITY)) == []
    assert [item.code.id for item in rxe.check(rxe.parse(BEFORE_PURITY), "tvm")] == ["RX0113"]
    later = BEFORE_PURITY.replace("sinfo_args=(R.Object,)", "ty_args=R.Any").replace("R.Object", "R.Any")
    assert [item.code.id for item in rxe.check(rxe.parse(later), profile="tvm")] == ["RX0113"]


def test_before_purity_functions_are_marked_by_what_they_call(oracle: Oracle) -> None:
    text = program("""
    @R.function
    def leaf(x: R.Tensor((3,), "float32")) -> R.Object:
        y: R.Object = R.call_packed("my.f", x, sinfo_args=(R.Object,))
        return y

    @R.function
    def middle(x: R.Tensor((3,), "float32")) -> R.Object:
        z: R.Object = leaf(x)
        return z

    @R.function
    def alone(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        w: R.Tensor((3,), "float32") = R.exp(x)
        return w

    @R.function
    def top(x: R.Tensor((3,), "float32")) -> R.Object:
        v: R.Object = middle(x)
        return v
""")
    module = rxe.parse(text)
    assert {name: fn.pure for name, fn in module.relax_functions.items()} == {
        "leaf": False, "middle": False, "alone": None, "top": False,
    }  # fmt: skip
    answer = oracle.parse(rxe.normalize(module).script())
    assert answer.ok, answer.error


def test_before_purity_an_effect_in_a_dataflow_block_is_a_warning() -> None:
    inside = re.sub(
        r"    y: (.*)\n    return y",
        r"    with R.dataflow():\n        y: \1\n        R.output(y)\n    return y",
        BEFORE_PURITY,
    )
    module = rxe.parse(inside)
    (problem,) = rxe.check(module)
    assert problem.code.id == "RX0112"
    assert not problem.is_error
    assert {item.code.id for item in rxe.check(module, "tvm") if item.is_error} == {"RX0112", "RX0113"}


def test_the_caller_may_name_the_dialect() -> None:
    bare = BEFORE_PURITY.replace("sinfo_args=(R.Object,)", "ty_args=R.Any")
    assert [item.code.id for item in rxe.check(rxe.parse(bare), profile="tvm")] == ["RX0113"]
    assert rxe.check(rxe.parse(bare, dialect="relax-2023")) == []
    with pytest.raises(ValueError, match="no dialect"):
        rxe.parse(bare, dialect="tvm-0.1")


OPERANDS = {
    'R.nn.pad(x, R.const(0.0, "float32"), pad_width=[0, 0, 1, 1], pad_mode="constant")': "R.nn.pad(x, pad_width=[0, 0, 1, 1], pad_value=0.0)",
    'R.nn.pad(x, R.const(2, "float32"), pad_width=[0, 0, 1, 1])': "R.nn.pad(x, pad_width=[0, 0, 1, 1], pad_value=2.0)",
    "R.nn.pad(x, [0, 0, 1, 1])": "R.nn.pad(x, pad_width=[0, 0, 1, 1])",
    "R.nn.pad(x, [0, 0, 1, 1], pad_value=2.0)": "R.nn.pad(x, pad_width=[0, 0, 1, 1], pad_value=2.0)",
    'R.nn.pad(x, [0, 0, 1, 1], "constant", 2.0)': "R.nn.pad(x, pad_width=[0, 0, 1, 1], pad_value=2.0)",
    "R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)), pad_value=R.prim_value(T.float32(1)), axis_separators=[])":
        "R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)), pad_value=T.float32(1))",
    'R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)), pad_value=R.const(1.0, "float32"))':
        "R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)), pad_value=T.float32(1))",
    "R.ccl.allgather(x, R.prim_value(2))": "R.ccl.allgather(x, num_workers=2)",
    "R.ccl.allgather(x, num_workers=R.prim_value(T.int64(2)), in_group=True)": "R.ccl.allgather(x, num_workers=2)",
}  # fmt: skip


@pytest.mark.parametrize("old", sorted(OPERANDS))
def test_operands_as_older_versions_printed_them(old: str) -> None:
    for body in ("    y = {}\n    return y\n", "    return (x, R.exp({}))\n"):
        text = '@R.function\ndef main(x: R.Tensor((2, 4), "float32")):\n' + body
        same(text.format(old), text.format(OPERANDS[old]))


def test_a_padding_that_is_given_twice_is_still_an_error() -> None:
    text = '@R.function\ndef main(x: R.Tensor((2, 4), "float32")):\n    return R.nn.pad(x, [0, 0, 1, 1], pad_width=[0, 0, 1, 1], pad_value=1.0)\n'
    _module, report = read(text)
    assert [item.code.id for item in report.errors] == ["RX0015"]


@pytest.mark.parametrize(
    ("text", "is_used"),
    [
        ("relax.const", True),
        ("y = (relax.op.add", True),
        ("tvm.relax.const", True),
        ("=tvm.relax.op", True),
        ("'relax.op' + relax.op", True),
        ("my.relax.op", False),
        ("my.tvm.relax.op", False),
        ("_relax.op", False),
        ("mytvm.relax.op", False),
        ("'relax.op'", False),
        ('"tvm.relax.op"', False),
        ("relax.1", False),
    ],
)
def test_names_of_the_python_api_are_seen_outside_of_strings(text: str, is_used: bool) -> None:
    assert are_used(text) is is_used
