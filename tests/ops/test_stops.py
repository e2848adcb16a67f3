"""The declarations of operators hold: a call that cannot stop has a value for all lengths, and shares only declared memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.check.stopping import stopping
from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Stops
from tests.support.op_examples import Example, examples, read
from tests.support.op_values import as_tuple, setting

DTYPES = ("f32", "i32", "bool", "f16", "u8")
SIZES = [
    *[(length,) * 10 for length in (0, 1, 2, 3)],
    *np.random.default_rng(0).integers(0, 6, (8, 10)).tolist(),
]
EVALUATED = [example for example in examples() if example.op.evaluate is not None]


def variants(example: Example) -> Iterator[tuple[Example, rxe.IRModule]]:
    """The example in the dtypes that inference accepts."""
    written = product(("f32", "i32"), DTYPES)
    for text in dict.fromkeys([re.sub(rf"\b{one}\b", kind, example.text) for one, kind in written]):
        varied = read(example.op, text)
        try:
            yield varied, rxe.normalize(rxe.parse(varied.module()))
        except rxe.Failure:
            continue


@pytest.mark.parametrize(
    "example", [item for item in EVALUATED if item.op.stops is not Stops.VALUES], ids=str
)
def test_what_cannot_stop_has_a_value_for_all_lengths(example: Example) -> None:
    for varied, module in variants(example):
        bindings = module["main"].body.blocks[0].bindings
        if any(stopping(module).binding(binding) for binding in bindings):
            continue
        for lengths in different(varied):
            setting(varied, lengths).evaluate(varied.op)


def different(example: Example) -> list[dict[str, int]]:
    """The lengths of SIZES that differ in a symbol of the example; their other symbols stand for nothing."""
    used = set(re.findall(r"\b[a-z]\b", example.text))
    sizes = [dict(zip("abcdhmnstw", lengths, strict=True)) for lengths in SIZES]
    return list(
        {tuple([(key, size[key]) for key in sorted(used & set(size))]): size for size in sizes}.values()
    )


def test_each_length_is_tried_once() -> None:
    by_text = {item.text: item for item in EVALUATED}
    assert len(different(by_text["f32[] -> f32[]"])) == 1
    assert [size["n"] for size in different(by_text["f32[n,4] -> f32[n,4]"])] == list(
        dict.fromkeys(size["abcdhmnstw".index("n")] for size in SIZES)
    )


def test_what_takes_any_shape_names_no_axis() -> None:
    ops = [op for op in table().values() if op.stops is Stops.DTYPES]
    assert [op.name for op in ops if {"axis", "axes"} & {q.name for q in op.parameters}] == []


@pytest.mark.parametrize("example", EVALUATED, ids=str)
def test_only_declared_operands_share_memory_beyond_views_of_numpy(example: Example) -> None:
    """In a program that overwrites tensors, a result has its own memory unless its operator declares otherwise."""
    text = example.module()
    if "def main(" not in text or "@R.function(pure=False)" in text:
        return
    inc = '        _ = R.call_packed("test.inc_inplace", result, sinfo_args=R.Tuple())\n'
    text = text.replace("@R.function", "@R.function(pure=False)", 1).replace(
        "        return result\n", inc + "        return result\n"
    )
    try:
        module = rxe.normalize(rxe.parse(text))
    except rxe.Failure:
        return
    at = setting(example, dict.fromkeys("abcdhmnstw", 2))
    given = [at.value(param) for param in at.module["main"].params]
    if any(not isinstance(value, np.ndarray | tuple | int) for value in given):
        return
    _, shared = _run(module, given)
    assert not shared or example.op.shares


def _run(module: rxe.IRModule, given: list[Any]) -> tuple[Any, bool]:
    from tests.support import packed_functions

    packed_functions.register()
    try:
        made = rxe.run(module, "main", given)
    except rxe.Failure:
        return None, False
    arrays = [value for value in given if isinstance(value, np.ndarray)]
    results = [value for value in as_tuple(made) if isinstance(value, np.ndarray)]
    return made, any(np.shares_memory(a, b) for a in arrays for b in results)
