"""Three independent answers for each kernel: of LLVM, of numba, and of the reference evaluator, which knows no loops of `loop_ir`.

`python -m tests.tir.engines FOLDER…` compares them on all small kernels of the programs in folders; the tests take a share.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.exec.compiled_kernel import Kernel, compile_prim_func, uncompiled
from relax_explorer.core.exec.loop_statements import length_variables
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.ir.dtype import HANDLE
from relax_explorer.core.program.prim_func_equal import prim_func_hash
from relax_explorer.core.tir.stmt import Buffer, For, PrimFunc
from relax_explorer.core.tir.traverse import statements

LARGEST = 3_000  # elements of all buffers, and iterations of a nest, so that the reference ends soon


def kernels(paths: Sequence[Path]) -> Iterator[PrimFunc]:
    """The small PrimFuncs of programs, each once."""
    seen: set[int] = set()
    for path in paths:
        for fn in rxe.parse(path.read_text(encoding="utf-8")).functions.values():
            if type(fn) is PrimFunc and operands(fn) is not None and (key := prim_func_hash(fn)) not in seen:
                seen.add(key)
                yield fn


def operands(fn: PrimFunc) -> list[Any] | None:
    """Arguments for a kernel, the same each time. None if it has a handle, or is too large."""
    random, points = np.random.default_rng(5), {var: 3 for var in length_variables(fn)}
    arguments: list[Any] = []
    for param in fn.params:
        if not isinstance(param, Buffer):
            if param.dtype is HANDLE:
                return None
            arguments.append(3)
            continue
        try:
            shape = [int(evaluate(dim, points)) for dim in param.shape]
        except Undefined:
            return None
        if prod(shape) > LARGEST:
            return None
        made = random.integers(0, 3, shape) if param.dtype.is_int else random.standard_normal(shape)
        arguments.append(np.asarray(made).astype(param.dtype.to_numpy()))
    return arguments if _iterations(fn, points) <= LARGEST else None


def _iterations(fn: PrimFunc, points: Any) -> float:
    """An upper bound of the iterations of all loops, if they were nested."""
    try:
        return prod(
            [max(evaluate(node.extent, points), 1) for node in statements(fn.body) if type(node) is For]
        )
    except Undefined:
        return float("inf")


def answer(kernel: Kernel, fn: PrimFunc) -> list[Any] | str:
    """What a kernel leaves in its arguments, or how it stops."""
    arguments = operands(fn)
    assert arguments is not None
    try:
        arguments.append(kernel(*arguments))
    except rxe.Failure as failure:
        return str(failure)
    return [np.asarray(0 if item is None else item) for item in arguments]


def compared(fn: PrimFunc) -> bool:
    """Compare the three answers. False if there is no translation. Raises AssertionError."""
    try:
        by_llvm, by_numba = compile_prim_func(fn), compile_prim_func(fn, by_numba=True)
    except rxe.Failure:
        return False
    one, two, wanted = [answer(kernel, fn) for kernel in (by_llvm, by_numba, uncompiled(fn))]
    if isinstance(one, str) or isinstance(two, str) or isinstance(wanted, str):
        assert one == two == wanted
        return True
    for a, b, reference in zip(one, two, wanted, strict=True):
        assert a.tobytes() == b.tobytes()
        if a.dtype.kind in "biu":
            assert a.tobytes() == reference.tobytes()
        else:
            tolerance = 1e-2 if a.dtype.itemsize < 4 else 2e-5
            close = np.allclose(
                a.astype(np.float64), reference.astype(np.float64), tolerance, tolerance, equal_nan=True
            )
            assert close
    return True


def main(folders: Sequence[str]) -> int:
    """Compare all kernels; prints how many, and returns 1 if some differ."""
    paths = sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
    count, wrong = 0, 0
    for path in paths:
        try:
            found = list(kernels([path]))
        except rxe.Failure:
            continue  # no program
        for fn in found:
            try:
                count += compared(fn)
            except AssertionError:
                wrong += 1
                print(f"{path}: {fn.attrs.get('global_symbol')}")
    print(f"{count} kernels compared, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
