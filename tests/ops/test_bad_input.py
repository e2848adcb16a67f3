"""A wrong call is refused with a diagnostic that names the mistake and the fix; nothing ends in a traceback."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.codes.operators import ARGUMENT_COUNT
from relax_explorer.core.diagnostics import Code, Diagnostic
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit import page
from relax_explorer.core.ops.kit.decl import Op, Site
from tests.support.bad_calls import Bad, bad_calls
from tests.support.op_examples import read
from tests.support.perturbed_calls import perturbed_calls

UNTRIED_TABLE = Path(__file__).with_name("untried_codes.tsv")
UNTRIED = {
    name: set(codes.split())
    for name, codes in (
        line.split("\t") for line in UNTRIED_TABLE.read_text().splitlines() if not line.startswith("#")
    )
}
OPERATORS = [op for op in table().values() if op.examples]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name.removeprefix("relax."))
def test_no_wrong_call_ends_in_a_traceback_and_what_is_wrong_is_named(
    op: type[Op], raised: dict[str, set[str]]
) -> None:
    refused, unnamed = 0, []
    said = {code.id for code in page.errors(op)}
    for bad in bad_calls(op):
        problems = tried(bad.call.module())
        refused += bool(problems)
        unnamed += [str(bad) for problem in problems[:1] if not names(problem, bad)]
        for problem in problems:
            assert re.fullmatch(r"RX0[0-5]\d\d", problem.code.id), f"{bad}: {problem}"
            assert problem.help, f"{bad}: {problem} has no hint"
            own = problem.code.id.startswith("RX02") and problem.message.startswith(f"{op.name}: ")
            assert not own or problem.code.id in said, f"{bad}: {problem} is not on the operator's page"
    anything = all(q.kind == "Value" for q in op.parameters)  # such as a hint on any value
    assert refused or anything
    assert unnamed == []
    assert raised[op.name] <= said, f"{op.name}: declare the others in `raises`"
    untried = said - raised[op.name] - {ARGUMENT_COUNT.id}
    assert untried == UNTRIED.get(op.name, set()), f"{UNTRIED_TABLE.name} lists other codes"


@pytest.fixture
def raised(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """The codes that the rules of each operator report during the test."""
    found: dict[str, set[str]] = defaultdict(set)
    diagnostic = Site._diagnostic

    def noted(site: Site, code: Code, message: str, labels: dict[str, str]) -> Diagnostic:
        if site.op is not None:
            found[site.op.name].add(code.id)
        return diagnostic(site, code, message, labels)

    monkeypatch.setattr(Site, "_diagnostic", noted)
    return found


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name.removeprefix("relax."))
def test_what_is_wrong_beside_every_example_is_said(op: type[Op]) -> None:
    """Each problem has a code, a hint, and a message or label with the name and value of the changed parameter."""
    poor = []
    for bad in islice(perturbed_calls(op), 0, None, 3):  # neighbours change one parameter in similar ways
        try:
            problems = [item for item in rxe.check(rxe.parse(bad.call.module())) if item.is_error]
        except rxe.ParseError as failure:
            problems = list(failure.diagnostics)
        for problem in problems[:1]:
            said = [problem.message, *[label.text for label in problem.labels]]
            good = names(problem, bad) and problem.help and any(re.search(GIVEN, text) for text in said)
            if not is_length(problem) and (not re.fullmatch(r"RX0[0-4]\d\d", problem.code.id) or not good):
                poor.append(f"{bad}: {problem}")
    assert poor == []


def is_length(problem: Diagnostic) -> bool:
    """True if the result would have a negative length: the message names the length, at the binding of the result."""
    return problem.code.id == "RX0155" and re.search(r"\bis (-\d|negative)", problem.message) is not None


# Descriptions of the given value in a message: a number, a type, or a word.
GIVEN = r"\d|\bis\b|dtype|unknown|empty|must be|not given|None|no \w+|needs?|lacks|given"


def names(problem: Diagnostic, bad: Bad) -> bool:
    """True if a problem names the changed parameter or points at it; a problem at run time points at the call."""
    if is_length(problem):
        return True
    if (
        problem.code.id.startswith("RX05") or problem.code.id == "RX0150"
    ):  # this one is about the result's type
        return True
    said = [problem.message, *[label.text for label in problem.labels]]
    if any(re.search(rf"\b{re.escape(bad.changed)}\b", text) for text in said):
        return True
    line, columns = bad.where()
    spans = [label.span for label in problem.labels if label.span is not None and label.text]
    return any(span.line == line and span.column in columns for span in spans or [problem.labels[0].span])


def tried(text: str) -> list[Diagnostic]:
    """The problems of a text when it is parsed, checked, lowered and run, from the first step that finds any."""
    try:
        module = rxe.parse(text)
        problems = [problem for problem in rxe.check(module) if problem.is_error]
        if problems:
            return problems
        normal = rxe.normalize(module)
        rxe.apply_pass(normal, "LegalizeOps")
        rxe.run(normal, "main", [value(param.struct_info) for param in normal["main"].params])
    except rxe.Failure as failure:
        return list(failure.diagnostics)
    return []


def value(info: Any) -> Any:
    """A value of a StructInfo: unknown lengths are 3, and most elements are no valid indices."""
    if isinstance(info, s.ShapeStructInfo):
        return tuple(3 for _ in info.values or (3,) * max(info.ndim, 1))
    if isinstance(info, s.TupleStructInfo):
        return tuple(value(field) for field in info.fields)
    if not isinstance(info, s.TensorStructInfo):
        return np.zeros(3, np.float32) if info is s.OBJECT else 3
    known = info.dims if info.dims is not None else (3,) * max(info.ndim, 1)
    shape = tuple(int(getattr(dim, "value", 3)) for dim in known)
    return np.full(shape, 50).astype(info.dtype.to_numpy() if info.dtype is not None else np.float32)


# A call, its code, and the given and the expected value in the message.
REFUSED = [
    # ranks, kinds and dtypes
    ("matmul f32[] f32[4,8]", "RX0207", "rank"),
    ("nn.conv2d f32[n,3,8] f32[4,3,3,3]", "RX0207", "3.*4|4.*3"),
    ("nn.softmax i32[n,4]", "RX0210", "floating point"),
    ("add f32[4] i32[4]", "RX0202", "x1 is float32, x2 is int32"),
    ("exp object", "RX0201", "not known to be a tensor"),
    ("concat f32[4]", "RX0201", "tuple"),
    ("reshape f32[4] f32[2]", "RX0201", "shape"),
    ('exp {R.str("a")}', "RX0201", "string, it must be a tensor"),
    ("tril f32[n,4] {R.shape([2])}", "RX0201", "must be a scalar"),
    # lengths, symbolic ones too
    ("add f32[3] f32[4]", "RX0204", "3 and 4"),
    ("matmul f32[n,n+1] f32[n,8]", "RX0203", r"n \+ 1 and n|inner"),
    ("concat (f32[n,4],f32[n,5]) axis=0", "RX0209", "4.*5|5.*4"),
    ("reshape f32[2,3] (4,2)", "RX0208", "6.*8|8.*6"),
    ("reshape f32[0,3] (0,-1)", "RX0211", "-1 beside a length of 0, so that any number would do"),
    ("reshape f32[2,0] (-1,0)", "RX0211", "-1 beside a length of 0"),
    ("reshape f32[2,3] (-5,2)", "RX0211", "a length of the new shape is -5"),
    ("reshape f32 (-5,2)", "RX0211", "a length of the new shape is -5"),
    ("reshape f32 (-1,2)", "RX0211", "the length -1 needs an operand of known shape"),
    ("broadcast_to f32[3] (2,4)", "RX0204|RX0209", "3.*4|4.*3"),
    # axes
    ("sum f32[2,3] axis=[2]", "RX0205", "axis.* 2.*rank 2|axes.* 2.*rank 2"),
    ("sum f32[2,3] axis=[0,-2]", "RX0206", "twice"),
    ("permute_dims f32[2,3] axes=[0,0]", "RX0206", "twice"),
    ("expand_dims f32[2] axis=[0,0]", "RX0206", "twice"),
    ("flip f32[2] axis=1", "RX0205", "axis is 1.*rank 1"),
    ("concat (f32[2],f32[2]) axis=3", "RX0205", "axis is 3.*rank 1"),
    ("inspect.tensor_shape_i f32[2,3] 2", "RX0205", "axis is 2.*rank 2"),
    # attributes out of range
    ("nn.conv2d f32[n,3,8,8] f32[4,3,3,3] strides=0", "RX0211", "strides.*0"),
    ("nn.conv2d f32[n,3,8,8] f32[4,3,3,3] dilation=0", "RX0211", "dilation.*0"),
    ("nn.conv2d f32[n,3,8,8] f32[4,3,3,3] groups=0", "RX0211", "groups is 0, at least 1"),
    ('nn.conv2d f32[n,3,8,8] f32[4,3,3,3] data_layout="foo"', "RX0211", "data_layout.*foo"),
    ('nn.conv2d f32[n,3,8,8] f32[4,3,3,3] out_layout=""', "RX0211", "out_layout is ''"),
    ('nn.conv2d_transpose f32[n,3,8,8] f32[3,4,3,3] out_layout=""', "RX0211", "out_layout is ''"),
    ('nn.max_pool2d f32[n,3,8,8] out_layout=""', "RX0211", "out_layout is ''"),
    ('nn.adaptive_avg_pool2d f32[n,3,8,8] out_layout=""', "RX0211", "out_layout is ''"),
    ('nn.conv2d f32[n,3,8,8] f32[4,3,3,3] strides="foo"', "RX0211", "foo.*, it must be an integer or a list of integers"),
    ("nn.max_pool2d f32[n,3,8,8] pool_size=0", "RX0211", "pool_size.*0"),
    ("nn.max_pool2d f32[n,3,8,8] strides=[0,1]", "RX0211", "strides.*0"),
    ("split f32[6] indices_or_sections=0", "RX0211", "0"),
    ("repeat f32[6] repeats=-1", "RX0211", "repeats.*-1"),
    ("nn.softmax f32[2] axis={None}", "RX0211", "None, it must be an integer"),
    ("ccl.allreduce f32[2] op_type=\"foo\"", "RX0211", "'foo', it must be one of sum"),
    ("ccl.scatter_from_worker0 f32[5] num_workers=2", "RX0208", "length 5.*2 workers"),
    ("memory.view f32[4] (5,)", "RX0208", "20 bytes.*16"),
    ('memory.view f32[4] (2,) "float32" -1', "RX0211", "relative_byte_offset is -1"),
    ('vm.alloc_storage (-4,) 0 "uint8"', "RX0211", "shape has the length -4"),
    ('memory.alloc_tensor f32[4] 0 (4,) "float32"', "RX0201", "storage is .*, a storage is needed"),
    # no operand, or too many
    ("concat {R.tuple()}", "RX02\\d\\d", "tensor|empty|no|tuple"),
    ("assert_op f32[2]", "RX0210", "one bool"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "words"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_what_is_refused_and_why(text: str, code: str, words: str) -> None:
    name, _, rest = text.partition(" ")
    problems = tried(read(table()[f"relax.{name}"], rest).module())
    assert problems, "it is accepted"
    first = problems[0]
    assert re.fullmatch(code, first.code.id), str(first)
    assert re.search(words, " ".join([first.message, *[label.text for label in first.labels]])), str(first)
    assert first.help


def test_too_many_operands_of_a_call_made_by_name() -> None:
    call = 'R.emit_with_ty("relax.exp", (x, x), R.Tensor((2,), "float32"))'
    text = f'@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = {call}\n    return y\n'
    problem = next(problem for problem in rxe.check(rxe.parse(text)) if problem.is_error)
    assert problem.code.id == "RX0212"
    assert "takes 1 operand, 2 given" in problem.message
    assert "R.exp(x)" in problem.help


# Programs with errors that appear only at run time: parameters, call, inputs, code.
AT_RUN_TIME = [
    ('x: R.Tensor((3,), "float32"), i: R.Tensor((1,), "int64")', "R.gather_elements(x, i)", (3, [7]), "RX0508"),
    ('x: R.Tensor((0, 2), "float32")', "R.max(x, axis=[0])", ((0, 2),), ""),
    ('x: R.Tensor(dtype="float32", ndim=2)', "R.cumsum(x)", ((2, 3),), ""),
    ('x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")', "R.add(x, y)", (2, 3), "RX0507"),
    ('x: R.Tensor(("n",), "float32"), s: R.Shape(["m"])', "R.reshape(x, s)", (4, "shape 3"), "RX0507"),
    ('x: R.Tensor((2,), "float32"), v: R.Tensor((1,), "int64")', "R.reshape(x, R.tensor_to_shape(v))", (2, [-5]), "RX0507"),
    ('x: R.Tensor(("n",), "float32"), i: R.Prim("int64")', "R.inspect.tensor_shape_i(x, i)", (4, "scalar 7"), "RX0508"),
    ('x: R.Tensor(("n",), "int32"), y: R.Tensor(("n",), "int32")', "R.floor_divide(x, y)", ([1, 2], [0, 0]), "RX0509"),
    ('x: R.Tensor(("n",), "bool"), y: R.Tensor(("n",), "bool")', "R.subtract(x, y)", ([1, 0], [0, 0]), "RX0519"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("params", "call", "given", "code"), AT_RUN_TIME, ids=[row[1] for row in AT_RUN_TIME]
)
def test_what_is_wrong_only_when_it_runs(params: str, call: str, given: tuple[Any, ...], code: str) -> None:
    text = f"@I.ir_module\nclass Module:\n    @R.function\n    def main({params}):\n        y = {call}\n        return y\n"
    module = rxe.normalize(rxe.parse(text))
    inputs = [
        at_run_time(item, param.struct_info) for item, param in zip(given, module["main"].params, strict=True)
    ]
    if not code:  # TVM returns the least number; this is a warning, not an error
        rxe.run(module, "main", inputs)
        return
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(module, "main", inputs)
    problem = caught.value.diagnostics[0]
    assert problem.code.id == code
    assert problem.help


def at_run_time(item: Any, info: Any) -> Any:
    """An input: a length, a shape, elements, `shape N` or `scalar N`."""
    if isinstance(item, str):
        number = int(item.split()[1])
        return (number,) if item.startswith("shape") else number
    if isinstance(item, list):
        return np.asarray(item, info.dtype.to_numpy())
    return np.ones(item, info.dtype.to_numpy())
