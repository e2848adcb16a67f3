"""Calls of PrimFuncs with destinations: TVM's well-formedness check refuses the same calls as the profile `tvm`.

The tests ask about every third call; `python -m tests.oracle.test_kernel_calls` asks about all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product

import pytest

import relax_explorer as rxe
from tests.support.oracle import Oracle

HEAD = """from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def k({params}):
{lines}
        T.evaluate(0)

    @R.function
    def main(
        x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 4), "float32"), i: R.Tensor((2, 3), "int32"), v: R.Tensor((2,), "float32"),
        z: R.Tensor(("p", "q"), "float32"), o: R.Object, u: R.Tensor(dtype="float32", ndim=2), s: R.Prim("int64"), sh: R.Shape([2, 3]),
    ):
        p = T.int64()
        q = T.int64()
        cls = Module
        r = {call}
        return r
"""
# Buffers are given by their lengths, scalars by their dtype; the variables are n and m.
KERNELS = {
    "fixed": ("2,3", "2,3"),
    "alike": ("n,m", "n,m"),
    "computed": ("n,m", "n,m+1", "n,m*2"),
    "square": ("n,n", "n,"),
    "scalar": ("n,m", "int64", "n,m"),
    "length": ("s1,m", "int64", "s1,m"),
    "number": ("n,m", "float32", "n,m"),
    "inner": ("n,m", "m,"),
    "one": ("2,3",),
}
ARGUMENTS = (
    "()", "(x,)", "(y,)", "(i,)", "(v,)", "(z,)", "(o,)", "(u,)", "(s,)", "(sh,)", "(x, y)", "(x, x)", "(z, z)", "(x, s)",
    "(x, R.prim_value(2))", "(x, R.prim_value(5))", "(x, R.prim_value(T.float32(2)))", "(x, R.prim_value(T.int32(2)))", "(y, x, x)",
)  # fmt: skip
OUTPUTS = (
    'R.Tensor((2, 3), "float32")', 'R.Tensor((2, 4), "float32")', 'R.Tensor((2, 6), "float32")', 'R.Tensor((2,), "float32")',
    'R.Tensor((2, 3), "int32")', 'R.Tensor((p, q), "float32")', 'R.Tensor((p, q * 2), "float32")',
    '[R.Tensor((2, 4), "float32"), R.Tensor((2, 6), "float32")]',
)  # fmt: skip
IN_PLACE = (
    ("one", '(x,), [0], R.Tensor((2, 3), "float32")'),
    ("fixed", '(x,), [0], R.Tensor((2, 3), "float32")'),
    ("fixed", '(x,), [0, -1], [R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")]'),
    ("fixed", '(x,), [0, -1], [R.Tensor((2, 3), "float32"), R.Tensor((2, 4), "float32")]'),
    ("computed", '(x, y), [0, -1], [R.Tensor((2, 3), "float32"), R.Tensor((2, 6), "float32")]'),
    ("computed", '(x, y), [-1, 0], [R.Tensor((2, 6), "float32"), R.Tensor((2, 3), "float32")]'),
)
# The specification refuses provably wrong calls, and checks the others at run time. TVM refuses every output that it cannot
# prove to fit. Such calls get a warning here, and are counted.


def text(kernel: str, call: str) -> str:
    """A program that calls a kernel."""
    parts = KERNELS[kernel]
    buffers = [n for n, part in enumerate(parts) if "," in part]
    params = [f"h{n}: T.handle" if n in buffers else f"s{n}: T.{part}" for n, part in enumerate(parts)]
    used = [name for name in ("n", "m") if any(name in parts[n].split(",")[0] + parts[n] for n in buffers)]
    lines = [f"{name} = T.int64()" for name in used]
    for n in buffers:
        dims = ", ".join(f"T.int64({dim})" if dim.isdigit() else dim for dim in parts[n].split(",") if dim)
        lines.append(f'b{n} = T.match_buffer(h{n}, ({dims},), "float32")')
    body = "\n".join(f"        {line}" for line in lines)
    return HEAD.format(params=", ".join(params), lines=body, call=call)


def programs() -> Iterator[tuple[str, str]]:
    """Every kernel with every list of arguments and every output, and some in-place calls: the call, the text."""
    for kernel, args, out in product(KERNELS, ARGUMENTS, OUTPUTS):
        yield f"{kernel}{args} -> {out}", text(kernel, f"R.call_tir(cls.k, {args}, {out})")
    for kernel, call in IN_PLACE:
        yield f"{kernel} in place {call}", text(kernel, f"R.call_tir_inplace(cls.k, {call})")
    for out in OUTPUTS:
        call = f'R.call_tir_with_grad(cls.k, (x,), {out}, te_grad_name="g")'
        yield f"with_grad -> {out}", text("fixed", call)


def verdict(program: str) -> tuple[bool, bool]:
    """The verdict of the profile `tvm`: if it accepts a program, and if it warns that the output may differ."""
    found = rxe.check(rxe.parse(program), profile="tvm")
    return not any(item.is_error for item in found), any(item.code.id == "RX0218" for item in found)


def compared(kernel: str, oracle: Oracle, each: int) -> tuple[list[str], int, int]:
    """The calls that only one side accepts, and the numbers of doubtful calls and of questions. One of `each` calls is asked about."""
    chosen = [item for item in programs() if item[0].startswith(f"{kernel}(") or f"{kernel} " in item[0]]
    if kernel in KERNELS:
        chosen = chosen[list(KERNELS).index(kernel) % each :: each]
    differ, maybe, asked = [], 0, 0
    for name, program in chosen:
        answer = oracle.well_formed(program)
        theirs = answer.ok and answer.get().well_formed
        ours, doubt = verdict(program)
        asked += 1
        if ours and doubt and not theirs:
            maybe += 1
        elif ours != theirs:
            differ.append(f"{name}: {'we' if ours else 'TVM'} alone accept(s)")
    return differ, maybe, asked


FORMS = (*KERNELS, "in place", "with_grad")


@pytest.mark.parametrize("kernel", FORMS)
def test_tvm_refuses_what_we_refuse(kernel: str, oracle: Oracle) -> None:
    # 3 divides neither the number of lists of arguments nor of outputs: each of them is asked about with each kernel.
    differ, maybe, asked = compared(kernel, oracle, 3)
    assert differ == []
    assert asked > maybe


if __name__ == "__main__":
    found = [line for name in FORMS for line in compared(name, Oracle(), 1)[0]]
    print("\n".join([*found, f"{len(found)} differences"]))  # noqa: T201
    sys.exit(bool(found))
