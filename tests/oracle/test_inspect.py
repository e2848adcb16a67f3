"""R.inspect: the types and values of TVM, asked through its builder, because its parser lacks R.inspect."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import relax_explorer as rxe

pytestmark = pytest.mark.usefixtures("oracle")  # counts as not asked without TVM
DTYPES = ("float32", "float16", "bool", "int8", "uint8", "int64")
QUESTIONS = (
    "dtype_code",
    "dtype_bits",
    "dtype_lanes",
    "ndim",
    "byte_offset",
    "elem_offset",
    "shape_i 0",
    "shape_i 1",
    "stride_i 0",
    "stride_i 1",
)
CHILD = """
import json, numpy as np, tvm
from tvm import relax as rx
from tvm.ir import Call, Op
answers = {}
for dtype in DTYPES:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.TensorType((4, 3), dtype))
    with bb.function("main", [x]):
        with bb.dataflow():
            made = []
            for question in QUESTIONS:
                name, *axis = question.split()
                axes = [rx.expr.prim_value(int(a)) for a in axis]
                made.append(bb.emit(Call(Op.get("relax.inspect.tensor_" + name), [x, *axes])))
            types = [str(var.ty) for var in made]
            out = bb.emit_output(rx.Tuple(made))
        bb.emit_func_output(out)
    vm = rx.VirtualMachine(tvm.compile(bb.get(), "llvm"), tvm.cpu())
    values = vm["main"](tvm.runtime.tensor(np.zeros((4, 3), dtype)))
    answers[dtype] = [[kind, int(value)] for kind, value in zip(types, values)]
print(json.dumps(answers))
"""


@cache
def theirs() -> dict[str, list[list[object]]]:
    script = f"DTYPES, QUESTIONS = {DTYPES!r}, {QUESTIONS!r}\n{CHILD}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, list[list[object]]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("dtype", DTYPES)
def test_types_and_values_are_those_of_tvm(dtype: str) -> None:
    calls = [question.split() for question in QUESTIONS]
    lines = [
        f"        y{n} = R.inspect.tensor_{name}({', '.join(['x', *axis])})"
        for n, (name, *axis) in enumerate(calls)
    ]
    result = ", ".join(f"y{n}" for n in range(len(calls)))
    text = (
        f'@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((4, 3), "{dtype}")):\n'
        + "\n".join([*lines, f"        return ({result})\n"])
    )
    module = rxe.normalize(rxe.parse(text))
    types = [
        str(binding.var.struct_info).removeprefix("T.") for binding in module["main"].body.blocks[0].bindings
    ][: len(calls)]
    values = rxe.run(module, "main", [np.zeros((4, 3), dtype)])
    assert [[kind, int(value)] for kind, value in zip(types, values, strict=True)] == theirs()[dtype]
