"""Every operator says what it is and where that is defined, shows itself in examples, and can be computed and lowered or says why not."""

from __future__ import annotations

import json
import re

import pytest

from relax_explorer.core.ops import FAMILIES, find, get, names, page, table
from relax_explorer.core.ops.decl import Op
from tests.support.op_examples import read

EVERY = pytest.mark.parametrize("op", table().values(), ids=lambda op: op.name)
# Attributes that count something, and so have a unit, go by these names.
COUNTED = re.compile(r"strides?|padding|pad_width|dilation|output_padding|pool_size|num_workers")

# Operators with a single example, and those whose examples have no symbolic length; only ever shorter lists.
ONE_EXAMPLE = {
    "logical_not", "bitwise_not", "isnan", "isinf", "isfinite", "clip", "astype", "equal", "not_equal", "less", "less_equal",
    "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
    "left_shift", "right_shift", "where", "outer", "broadcast_to", "flip", "concat", "stack", "repeat", "tile", "zeros", "ones",
    "zeros_like", "ones_like", "nn.relu", "nn.leakyrelu", "nn.gelu", "nn.gelu_tanh", "nn.silu", "nn.selu", "nn.dropout",
    "nn.softmax", "nn.log_softmax", "nn.layer_norm", "nn.rms_norm", "nn.group_norm", "memory.kill_storage",
}  # fmt: skip
NO_SYMBOL = {"broadcast_to", "strided_slice", "zeros", "ones", "full"}


@EVERY
def test_is_documented(op: type[Op]) -> None:
    first = page.sentence(op)
    assert first.endswith("."), f"{first!r} is no sentence"
    assert page.source(op), (
        f"{first!r} does not name what defines it, such as (numpy.add), (ONNX Gemm), (TVM), (Xu et al. 2021)"
    )


@EVERY
def test_explains_each_operand_and_attribute(op: type[Op]) -> None:
    assert all(parameter.doc for parameter in op.parameters)
    assert all(page.kind_words(parameter) for parameter in op.parameters)
    assert all(parameter.unit for parameter in op.attributes if COUNTED.fullmatch(parameter.name))


def shown_by_programs(op: type[Op]) -> bool:
    """Whether calls mention functions, devices, or any number of values, which the notation of examples has not."""
    called = any(q.kind in ("Function", "str") and q.required for q in op.operands)
    return called or op.variadic or any(q.kind == "Any" and q.required for q in op.attributes)


@EVERY
def test_has_examples(op: type[Op]) -> None:
    if shown_by_programs(op):
        return
    texts = [read(op, text) for text in op.examples]
    assert texts
    shaped = [text for text in texts if any("[" in item or "(" in item for item in text.operands)]
    symbolic = [text for text in shaped if re.search(r"\b[a-z]\b|\?", " ".join(text.operands))]
    name = op.name.removeprefix("relax.")
    assert (len(texts) < 2 and bool(op.parameters)) == (name in ONE_EXAMPLE)
    assert (bool(shaped) and not symbolic) == (name in NO_SYMBOL)


@EVERY
def test_evaluates_or_says_why_not(op: type[Op]) -> None:
    assert (op.evaluate is not None) + op.by_machine + bool(op.no_evaluate) == 1


@EVERY
def test_is_lowered_or_says_why_not(op: type[Op]) -> None:
    assert op.is_lowered() or op.no_legalize


@EVERY
def test_optional_operands_come_last(op: type[Op]) -> None:
    required = [operand.required for operand in op.operands]
    assert required == sorted(required, reverse=True)


@EVERY
def test_all_about_it_is_data(op: type[Op]) -> None:
    found = json.loads(json.dumps(page.describe(op)))
    assert [item["name"] for item in found["operands"] + found["attributes"]] == [
        *[q.name for q in op.operands],
        *[q.name for q in op.attributes],
    ]
    assert found["signature"].startswith(f"R.{op.name.removeprefix('relax.')}(")
    assert found["inference"]
    assert all(set(item) >= {"name", "type", "doc", "required", "unit"} for item in found["attributes"])
    assert all("default" in item for item in found["attributes"] if not item["required"])
    assert found["evaluation"]["runs"] != bool(found["evaluation"]["reason"])
    assert found["legalization"]["lowered"] != bool(found["legalization"]["reason"])
    assert re.fullmatch(r"relax_explorer/core/ops/\w+\.py(:\d+)?", found["declared"])


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("nn.conv2d", {"RX0201", "RX0202", "RX0207", "RX0209", "RX0211"}),
        ("concat", {"RX0201", "RX0202", "RX0205", "RX0209"}),
        ("memory.view", {"RX0201", "RX0208", "RX0211"}),
        ("add", {"RX0201", "RX0202", "RX0204"}),
    ],
)
def test_the_errors_of_an_operator_are_found(name: str, codes: set[str]) -> None:
    assert codes <= {code.id for code in page.errors(get(name))}


def test_each_name_has_one_operator() -> None:
    assert len(names()) == len(set(names()))
    assert all(name.startswith("relax.") for name in names())
    assert len(FAMILIES) == len(set(FAMILIES))


def test_near_names_are_offered() -> None:
    assert find("relax.mattmul") is None
    assert get("matmul") is get("relax.matmul")
    with pytest.raises(KeyError, match=r"did you mean relax\.matmul"):
        get("relax.mattmul")
