"""Constants of the metadata block, in both of its forms, become arrays and are written back bit for bit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ir.expr import Constant
from relax_explorer.core.ir.walk import exprs
from relax_explorer.core.syntax.tensor_text import tensor_from_text, tensor_text
from tests.support.oracle import Oracle
from tests.support.roundtrip import STAGES, stage_id

WITH_DATA = [path for path in STAGES if "metadata = tvm.ir.load_json" in path.read_text(encoding="utf-8")]
_BASE64 = re.compile(r"P6G0lvBAXt0[A-Za-z0-9+/=\\]+")
NAMES = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16",
    "float8_e4m3fn", "float8_e5m2",
]  # fmt: skip


def base64s(text: str) -> list[str]:
    """The arrays in a text; JSON may write a slash as two characters."""
    return [found.replace("\\", "") for found in _BASE64.findall(text)]


def constants(module: rxe.IRModule) -> list[np.ndarray]:
    """The arrays of a module, in order."""
    found = [item for fn in module.relax_functions.values() for item in exprs(fn)]
    return [
        item.data for item in found if type(item) is Constant and item.data is not None and item.data.ndim
    ]


@pytest.mark.parametrize("path", WITH_DATA, ids=stage_id)
def test_what_tvm_wrote_is_written_back(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    theirs = base64s(text)
    assert theirs
    for base64 in theirs:
        assert tensor_text(tensor_from_text(base64)) == base64
    assert set(base64s(rxe.parse(text).script())) == set(theirs)


def program(name: str) -> tuple[rxe.IRModule, np.ndarray]:
    """A module with one constant of all bit patterns, and the constant."""
    kind = dtype(name).to_numpy()
    bits = np.random.default_rng(0).integers(0, 2 if name == "bool" else 256, (2, 3, kind.itemsize), np.uint8)
    array = bits.view(kind).reshape(2, 3)
    template = rxe.parse(
        f'@R.function\ndef main():\n    y = R.const([[0, 0, 0], [0, 0, 0]], "{name}")\n    return y\n'
    )
    dump = rxe.to_json(template)
    old = tensor_text(constants(template)[0])
    return rxe.from_json(dump.replace(old, tensor_text(array))), array


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dialect", ["tvm-0.27", "tvm-0.19"])
def test_every_element_type_survives_in_both_forms(name: str, dialect: str) -> None:
    module, array = program(name)
    (again,) = constants(rxe.parse(module.script(dialect)))
    assert again.dtype == array.dtype
    assert again.tobytes() == array.tobytes()


def test_the_older_form() -> None:
    module, array = program("float32")
    text = module.script("tvm-0.19")
    assert 'metadata["relax.expr.Constant"][0]' in text
    (block,) = re.findall(r'load_json\("""(.*?)"""\)', text, re.DOTALL)
    graph = json.loads(block.replace('\\"', '"'))
    assert graph["nodes"][graph["root"]] == {"type_key": "Map", "keys": ["relax.expr.Constant"], "data": [2]}
    assert graph["b64ndarrays"] == [tensor_text(array)]
    assert rxe.parse(text).dialect == "tvm-0.19"


@pytest.mark.parametrize("old", ['"root": 1', '"b64ndarrays": [', '"data": [2]'])
def test_a_damaged_block_is_refused(old: str) -> None:
    text = program("int8")[0].script("tvm-0.19").replace('\\"', '"').replace('"""', "'''")
    text = re.sub(r"\[\s+(\d+)\s+\]", r"[\1]", text)
    assert old in text
    with pytest.raises(rxe.ParseError) as caught:
        rxe.parse(
            text.replace(
                old,
                old.replace("1", "77").replace("2", "99").replace("[", "[7, "),
            )
        )
    assert caught.value.diagnostics[0].code.id in ("RX0023", "RX0007", "RX0005")


def test_tvm_reads_what_is_written(oracle: Oracle) -> None:
    for name in ("float32", "bool", "bfloat16", "int64"):
        module, _ = program(name)
        text = rxe.normalize(module).script()
        answer = oracle.parse(text)
        assert answer.ok, answer.error
        theirs = rxe.parse(oracle.script(answer.get()).get())
        assert constants(theirs)[0].tobytes() == constants(module)[0].tobytes()
