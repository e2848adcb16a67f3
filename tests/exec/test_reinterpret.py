"""T.reinterpret in kernels: the bits of a number, read as another dtype."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure

PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def kernel(x: T.Buffer((8,), "{source}"), y: T.Buffer((8,), "{target}")):
        for i in range(8):
            with T.sblock("b"):
                v = T.axis.spatial(8, i)
                y[v] = {value}

    @R.function
    def main(x: R.Tensor((8,), "{source}")):
        cls = Module
        y = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((8,), dtype="{target}"))
        return y
"""
FLOATS = [0.0, -0.0, 1.0, -1.5, 3e38, 1e-40, np.inf, np.nan]
WHOLE = [0, 1, 5, 64, 127, 128, 200, 255]
PAIRS = [
    ("float32", "int32"), ("int32", "float32"), ("float32", "uint32"), ("uint32", "float32"), ("float64", "int64"), ("int64", "float64"),
    ("uint64", "float64"), ("float64", "uint64"), ("int16", "uint16"), ("uint8", "int8"), ("float32", "float32"),
]  # fmt: skip


def result(text: str, x: object, engine: str) -> np.ndarray:
    return np.asarray(rxe.run(rxe.normalize(rxe.parse(text)), "main", [x], engine=engine))


def values(dtype: str) -> np.ndarray:
    return np.array(FLOATS if dtype.startswith("float") else WHOLE).astype(dtype)


@pytest.mark.parametrize("engine", ["reference", "numba"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_bits_stay(source: str, target: str, engine: str) -> None:
    text = PROGRAM.format(source=source, target=target, value=f'T.reinterpret("{target}", x[v])')
    x = values(source)
    assert result(text, x, engine).tobytes() == x.view(target).tobytes()


@pytest.mark.parametrize("engine", ["reference", "numba"])
def test_inside_other_expressions(engine: str) -> None:
    """As in the fast inverse square root, and as an index."""
    value = 'T.reinterpret("float32", 1597463007 - (T.reinterpret("int32", x[v] * T.float32(2)) >> 1))'
    x = np.array([1, 2, 3, 4, 5, 6, 7, 8], "float32")
    found = result(PROGRAM.format(source="float32", target="float32", value=value), x, engine)
    wanted = (1597463007 - ((x * 2).view("int32") >> 1)).astype("int32").view("float32")
    assert found.tobytes() == wanted.tobytes()
    index = 'x[T.min(T.reinterpret("uint32", x[v]) >> T.uint32(29), T.uint32(7))]'
    found = result(PROGRAM.format(source="float32", target="float32", value=index), x, engine)
    assert found.tobytes() == x[np.minimum(x.view("uint32") >> 29, 7)].tobytes()


def test_the_dtype_is_that_of_the_result() -> None:
    """So that what is around it gets the right dtype, and the text is that of TVM."""
    text = PROGRAM.format(source="float32", target="int32", value='T.reinterpret("int32", x[v]) + 1')
    module = rxe.parse(text)
    assert 'y[v] = T.reinterpret("int32", x[v]) + 1' in module.script()
    assert rxe.structural_equal(rxe.parse(module.script()), module)


@pytest.mark.parametrize(
    ("source", "target"),
    [("float32", "int64"), ("float16", "uint16"), ("uint16", "bfloat16"), ("bool", "int8")],
)
def test_other_pairs_are_refused(source: str, target: str) -> None:
    """Of another width, or where a kernel holds the number as float32."""
    text = PROGRAM.format(source=source, target=target, value=f'T.reinterpret("{target}", x[v])')
    with pytest.raises(Failure, match=r"T\.reinterpret"):
        result(text, np.zeros(8, source), "numba")
