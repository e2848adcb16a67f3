"""The Relax functions of a module are looked up once: passes and views ask for them in loops over functions."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

import pytest

import relax_explorer as rxe

TEXT = """
@I.ir_module
class M:
    @T.prim_func
    def kernel(A: T.Buffer((2,), "float32")):
        A[0] = T.float32(1)
    @R.function
    def g(x: R.Object) -> R.Object:
        return x
    @R.function
    def f(x: R.Object) -> R.Object:
        return M.g(x)
"""


def test_they_are_looked_up_once_for_each_module() -> None:
    module = rxe.parse(TEXT)
    found = module.relax_functions
    assert module.relax_functions is found
    assert dict(found) == {"g": module["g"], "f": module["f"]}
    assert list(found) == ["g", "f"]
    less = module.having({"f": module["f"]})
    assert dict(less.relax_functions) == {"f": module["f"]}
    assert dict(module.relax_functions) == {"g": module["g"], "f": module["f"]}


def test_nobody_changes_them() -> None:
    found: Any = rxe.parse(TEXT).relax_functions
    with pytest.raises(TypeError):
        found["g"] = found["f"]


def test_they_do_not_keep_a_module_alive() -> None:
    module = rxe.parse(TEXT)
    assert module.relax_functions
    alive = ref(module)
    del module
    gc.collect()
    assert alive() is None
