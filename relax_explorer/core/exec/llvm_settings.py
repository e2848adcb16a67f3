"""Settings of LLVM, which all code of this process shares."""

from __future__ import annotations

from functools import cache as once

import llvmlite.binding as llvm


@once
def settle() -> None:
    """Turn off the vectorization of loops with branches.

    LLVM 22 loses the index of a store that stands behind a branch together with a division: where the first iteration does not
    take the branch, it stores at index 0 (tests/tir/test_native.py). Choices without a branch are vectorized as before.
    """
    llvm.set_option("", "--enable-if-conversion=false")
