"""Laws for every operator, tested on its examples. A new operator is tested automatically."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relax_explorer as rxe
from relax_explorer.core.check.infer import Inferrer
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir.struct_info import PrimStructInfo
from tests.support.op_examples import Example, examples, read
from tests.support.op_values import apart, as_tuple, compiled, mismatch, setting

EXAMPLES = list(examples())
EVALUATED = [example for example in EXAMPLES if example.op.evaluate is not None]
LOWERED = [example for example in EXAMPLES if example.op.legalize is not None]
# These symbols are replaced by numbers; the rest of an example is literal.
SIZES = st.fixed_dictionaries({name: st.integers(0, 4) for name in "abcdhmnstw"})
FEW = settings(max_examples=4, deadline=None, derandomize=True, database=None)
INFER = Inferrer(Report(), lambda _: None)

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=str)
each_evaluated = pytest.mark.parametrize("example", EVALUATED, ids=str)
each_lowered = pytest.mark.parametrize("example", LOWERED, ids=str)


@each_example
def test_infers_as_written(example: Example) -> None:
    module = rxe.normalize(rxe.parse(example.module(expect=True)))
    main = module["main"]
    expected = next(param for param in main.params if param.name == "expected").struct_info
    if isinstance(expected, PrimStructInfo):  # a parameter has its own value
        expected = PrimStructInfo(expected.dtype)
    assert main.body.blocks[0].bindings[-1].var.struct_info is expected
    assert not [problem for problem in rxe.check(module) if problem.is_error]


@each_evaluated
@FEW
@given(sizes=SIZES)
def test_value_has_the_inferred_type(example: Example, sizes: dict[str, int]) -> None:
    at = setting(example, sizes)
    if at.has_no_place():
        with pytest.raises(IndexError, match="nothing can be picked"):
            at.evaluate(example.op)
        return
    assert not mismatch(at.evaluate(example.op), at.info, at)


@each_evaluated
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f64"])
def test_narrow_and_wide_floats_keep_their_dtype(example: Example, dtype: str) -> None:
    text = re.sub(r"\bf32\b", dtype, example.text)
    if text == example.text or "float32" in text:
        text = example.text  # nothing to vary: the example has another dtype
    varied = read(example.op, text)
    try:
        narrow = setting(varied, dict.fromkeys("abcdhmnstw", 3))
    except rxe.Failure:
        assert dtype != "f16", f"{varied.op.name} refuses float16"
        varied, narrow = example, setting(example, dict.fromkeys("abcdhmnstw", 3))
    at = setting(example, dict.fromkeys("abcdhmnstw", 3))
    for param, other in zip(at.module["main"].params, narrow.module["main"].params, strict=True):
        if param.struct_info.__class__.__name__ == "TensorStructInfo":
            at.values[param] = at.value(param)
            narrow.values[other] = at.values[param].astype(other.struct_info.dtype.to_numpy())
            at.values[param] = narrow.values[other].astype(param.struct_info.dtype.to_numpy())
    made = narrow.evaluate(varied.op)
    assert not mismatch(made, narrow.info, narrow)
    rounded = tuple(
        x.astype(y.dtype) for x, y in zip(as_tuple(at.evaluate(example.op)), as_tuple(made), strict=True)
    )
    assert not apart(rounded, made) or dtype == "f64"


@each_lowered
def test_lowering_gives_what_evaluation_gives(example: Example) -> None:
    if example.op.evaluate is None and not example.op.by_machine:
        pytest.fail(f"{example.op.name} is lowered but can't be evaluated")
    for size in (0, 1, 3):
        at = setting(example, dict.fromkeys("abcdhmnstw", size), seed=size)
        if at.has_no_place():
            with pytest.raises(rxe.Failure, match=r"is outside|has length 0"):
                compiled(at)
            continue
        found = compiled(at)
        if found is None:  # LegalizeOps gives the reason: tests/oracle/test_unlowered.py
            return
        by_machine = example.op.by_machine
        wanted = as_tuple(rxe.run(at.module, "main", at.inputs()) if by_machine else at.evaluate(example.op))
        assert not apart(found, wanted), f"{example} for size {size}"
        if size < 2 and "3d" not in example.op.name:  # the reference evaluator takes long
            assert not apart(compiled(at, reference=True) or (), wanted), f"{example} by the reference"


@each_example
def test_prints_and_reads_again(example: Example) -> None:
    module = rxe.parse(example.module())
    text = module.script()
    again = rxe.parse(text)
    assert rxe.structural_equal(module, again)
    assert again.script() == text
    normal = rxe.normalize(module)
    assert rxe.structural_equal(normal, rxe.parse(normal.script()))
