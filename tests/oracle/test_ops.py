"""The StructInfo of every operator's examples is TVM's."""

from __future__ import annotations

import re

import pytest

import relax_explorer as rxe
from relax_explorer.core import ops
from tests.support.examples import Example, read
from tests.support.oracle import Oracle

EXAMPLES = [read(op.name, text) for op in ops.table().values() for text in op.examples]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda x: f"{x.op} {x.text}")
def test_struct_info_is_tvms(oracle: Oracle, example: Example) -> None:
    module = rxe.normalize(rxe.parse(example.program))
    answer = oracle.types(module.script(), strip=True)
    if not answer.ok:
        oracle.could_not_ask(f"{example.op}: {answer.error[:60]}")
        return
    ours = str(module["main"].body.blocks[-1].bindings[-1].var.struct_info)
    theirs = re.sub(r"T\.int64\((\d+)\)", r"\1", answer.get()[-1].type).replace("T.Tuple(", "R.Tuple(")
    assert ours == theirs
