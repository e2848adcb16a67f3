"""A shape held by a variable is compared after every pass as before."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relax_explorer as rxe
from tests.support.ready_modules import after as after_pass

PROGRAM = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor("float32"), z: R.Tensor("float32")):
        with R.dataflow():
            s0 = R.shape_of(x)
            s = s0
            y = R.match_cast(z, R.Tensor(s, dtype="float32"))
            t = (y, y)
            w = R.match_cast(t, R.Tuple(R.Tensor(s, dtype="float32"), R.Tensor(s0, dtype="float32")))
            R.output(w, s)

        @R.function
        def g(q: R.Tensor("float32")):
            r = R.match_cast(q, R.Tensor(s, dtype="float32"))
            return r

        v = g(w[1])
        return v
"""


@pytest.mark.parametrize("name", rxe.passes.names())
def test_a_held_shape_survives(name: str) -> None:
    before = rxe.normalize(rxe.parse(PROGRAM))
    after = after_pass(before, name)
    assert [item for item in rxe.check(after) if item.is_error] == []
    fits, other = np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)
    assert rxe.run(after, "main", [fits, fits]).shape == (2, 3)
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(after, "main", [fits, other])
    assert "does not equal s" in caught.value.diagnostics[0].message


def test_an_output_forgets_what_only_its_dataflow_block_knows() -> None:
    main = rxe.normalize(rxe.parse(PROGRAM))["main"]
    outputs = {b.var.name: str(b.var.struct_info) for b in main.body.blocks[0].bindings}
    assert outputs["w"] == 'R.Tuple(R.Tensor(s, dtype="float32"), R.Tensor(dtype="float32"))'


CLOSURE = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor("float32"), z: R.Tensor("float32")) -> R.Tensor("float32"):
        s0 = R.shape_of(x)
        s = s0

        @R.function
        def g(q: R.Tensor(s, dtype="float32")) -> R.Tensor("float32"):
            @R.function
            def h(q1: R.Tensor(s, dtype="float32")) -> R.Tensor("float32"):
                return q1
            r = h(q)
            return r

        w = g(z)
        return w
"""


@pytest.mark.parametrize("name", rxe.passes.names())
def test_a_closure_compares_its_argument_with_a_held_shape(name: str) -> None:
    after = after_pass(rxe.normalize(rxe.parse(CLOSURE)), name)
    assert rxe.structural_equal(rxe.normalize(rxe.parse(after.script())), after)
    fits, other = np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)
    assert rxe.run(after, "main", [fits, fits]).shape == (2, 3)
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(after, "main", [fits, other])
    assert re.match("q( of g is|:) a tensor \\(3, 2\\) of float32", caught.value.diagnostics[0].message)


def test_a_held_shape_in_the_type_of_a_parameter_is_read() -> None:
    assert "RX0301" not in {item.code.id for item in rxe.check(rxe.parse(CLOSURE))}


ANNOTATED = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor("float32"), z: R.Tensor("float32")) -> R.Tensor("float32"):
        with R.dataflow():
            s = R.shape_of(x)
            y: R.Tensor(s, dtype="float32") = R.add(z, z)
            w = R.add(y, y)
            R.output(w)
        return w
"""


@pytest.mark.parametrize("name", rxe.passes.names())
def test_a_held_shape_in_an_annotation_is_read(name: str) -> None:
    assert "RX0301" not in {item.code.id for item in rxe.check(rxe.parse(ANNOTATED))}
    after = after_pass(rxe.normalize(rxe.parse(ANNOTATED)), name)
    assert [item for item in rxe.check(after) if item.is_error] == []


def test_an_annotation_of_a_match_cast_names_the_variable_of_the_module() -> None:
    text = PROGRAM.replace("y = R.match_cast(z", 'y: R.Tensor(s, dtype="float32") = R.match_cast(z')
    block = rxe.normalize(rxe.parse(text))["main"].body.blocks[0]
    held = next(binding.var for binding in block.bindings if binding.var.name == "s")
    cast = next(binding for binding in block.bindings if binding.var.name == "y")
    assert cast.annotation.shape is held
    assert cast.struct_info.shape is held
