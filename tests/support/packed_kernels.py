"""Kernels that call TVM's sorting functions, written as TVM's lowerings print them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

VALUES = np.array([[3, 1, 3, 0, 1], [2, 2, 5, -1, 2]], np.float32)
_COUNTS = "T.tvm_stack_make_array(N.data, T.tvm_stack_make_shape(2), 0, 1, 0, T.int64(0)), "


@dataclass(frozen=True)
class SortKernel:
    """One call: the function, its output buffers, the arguments after them, the axis, the direction."""

    function: str
    filled: str
    axis: int = 1
    descending: bool = False
    count: str = ""
    kind: str = ""


KERNELS = {
    "sorted": SortKernel("sort", "O"),
    "sorted downwards": SortKernel("sort", "O", 1, True),
    "sorted along the first axis": SortKernel("sort", "O", 0),
    "positions": SortKernel("argsort", "I"),
    "positions downwards": SortKernel("argsort", "I", -1, True),
    "positions along the first axis": SortKernel("argsort", "I", 0, True),
    "the counted ones": SortKernel("argsort_nms", "I"),
    "the two largest": SortKernel("topk", "PQ", 1, True, "2, ", '"both", '),
    "the two smallest": SortKernel("topk", "P", -1, False, "2, ", '"values", '),
    "positions of the two largest": SortKernel("topk", "Q", 1, True, "2, ", '"indices", '),
}
_BUFFERS = {
    "O": ((2, 5), "float32"),
    "I": ((2, 5), "int32"),
    "P": ((2, 2), "float32"),
    "Q": ((2, 2), "int64"),
}


def outputs(name: str) -> list[Any]:
    """Arrays for the outputs of a kernel."""
    return [np.zeros(*_BUFFERS[letter]) for letter in KERNELS[name].filled]


def kernel(name: str) -> str:
    """The PrimFunc `f`; its first parameter is VALUES, then come the outputs."""
    call = KERNELS[name]
    params = ", ".join([f'{n}: T.Buffer({_BUFFERS[n][0]}, "{_BUFFERS[n][1]}")' for n in call.filled])
    arrays = ", ".join([_array(n, *_BUFFERS[n]) for n in call.filled])
    counts = _COUNTS if call.function == "argsort_nms" else ""
    fill = (
        '        N = T.sblock_alloc_buffer((2,), "int32")\n        N[0] = 3\n        N[1] = 5\n'
        if counts
        else ""
    )
    return (
        f'@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((2, 5), "float32"), {params}):\n    with T.sblock("sort"):\n'
        f"        T.reads()\n        T.writes()\n{fill}"
        f'        T.call_packed("tvm.contrib.sort.{call.function}", {_array("A", (2, 5), "float32")}, {counts}{arrays}, '
        f"{call.count}{call.axis}, {call.kind}T.bool({not call.descending}))\n"
    )


def _array(name: str, shape: tuple[int, ...], dtype: str) -> str:
    lengths = ", ".join(map(str, shape))
    zero = {"float32": "T.float32(0.0)", "int32": "0", "int64": "T.int64(0)"}[dtype]
    return f"T.tvm_stack_make_array({name}.data, T.tvm_stack_make_shape({lengths}), 0, {len(shape)}, {zero}, T.int64(0))"
