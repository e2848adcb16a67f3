"""Every operator: its examples infer as written, evaluate to that, lower to a kernel that agrees, print and read back."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core import ops
from relax_explorer.core.exec.values import match
from relax_explorer.core.ops.decl import Op
from tests.support.examples import Example, inputs, read

EXAMPLES = [read(op.name, text) for op in ops.table().values() for text in op.examples]
COMPUTING = [x for x in EXAMPLES if ops.get(x.op).evaluate is not None]
LOWERED = [x for x in COMPUTING if ops.get(x.op).legalize is not None]
SIZES = ({}, {"n": 1, "b": 1}, {"n": 3, "b": 2}, {"n": 0})


def example_id(example: Example) -> str:
    return f"{example.op.removeprefix('relax.')} {example.text}"


@pytest.mark.parametrize("example", EXAMPLES, ids=example_id)
def test_infers_as_written(example: Example) -> None:
    module = rxe.normalize(rxe.parse(example.program))
    found = module["main"].body.body.struct_info
    names = {var.name: var for param in module["main"].params for var in rxe_vars(param.struct_info)}
    wanted = rxe.parse(f"@R.function\ndef f(x: {example.result}):\n    return x\n")["f"].params[0].struct_info
    renamed = substitute(wanted, names)
    from relax_explorer.core.arith.prove import Answer
    from relax_explorer.core.check.compatible import fits

    assert fits(found, renamed) is Answer.YES, f"{found} is not {renamed}"
    assert fits(renamed, found) is Answer.YES, f"{found} is less than {renamed}"


def rxe_vars(info: object) -> tuple:  # type: ignore[type-arg]  # variables of any StructInfo
    from relax_explorer.core.ir.walk import info_vars

    return info_vars(info)  # type: ignore[arg-type]  # as above


def substitute(info: object, names: dict[str, object]) -> object:
    from relax_explorer.core.ir.walk import substitute_info

    return substitute_info(info, {var: names[var.name] for var in rxe_vars(info) if var.name in names})  # type: ignore[arg-type]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("example", COMPUTING, ids=example_id)
def test_the_value_has_the_inferred_struct_info(example: Example, sizes: dict[str, int]) -> None:
    module = rxe.normalize(rxe.parse(example.program))
    fn = module["main"]
    args = inputs(fn, sizes)
    value = rxe.run(module, "main", args)
    dims: dict = {}
    for param, arg in zip(fn.params, args, strict=True):
        match(arg, param.struct_info, dims)
    match(value, fn.body.body.struct_info, dims)


@pytest.mark.parametrize("example", LOWERED, ids=example_id)
def test_the_kernel_agrees_with_the_evaluation(example: Example) -> None:
    module = rxe.normalize(rxe.parse(example.program))
    lowered = rxe.apply_pass(module, "LegalizeOps")
    assert lowered is not module, "nothing was lowered"
    for sizes in ({"n": 3, "b": 2}, {"n": 1}):
        args = inputs(module["main"], sizes)
        expected, got = rxe.run(module, "main", args), rxe.run(lowered, "main", args)
        for a, b in zip(
            expected if isinstance(expected, tuple) else (expected,),
            got if isinstance(got, tuple) else (got,),
            strict=True,
        ):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(
                a.astype(np.float64),
                b.astype(np.float64),
                rtol=2e-3 if a.dtype == np.float16 else 1e-5,
                atol=1e-6,
            )


@pytest.mark.parametrize("example", EXAMPLES, ids=example_id)
def test_prints_and_reads_back(example: Example) -> None:
    module = rxe.normalize(rxe.parse(example.program))
    assert rxe.structural_equal(rxe.normalize(rxe.parse(module.script())), module)


@pytest.mark.parametrize("op", ops.table().values(), ids=lambda op: op.name)
def test_every_part_is_there_or_its_absence_is_explained(op: type[Op]) -> None:
    assert op.__doc__
    assert op.__doc__.splitlines()[0].endswith((".", ":", ";")), op.__doc__.splitlines()[0]
    assert op.evaluate is not None or op.by_machine or op.no_evaluate
    assert op.legalize is not None or op.no_legalize
    assert op.examples or op.by_machine or op.no_evaluate
    assert all(parameter.doc for parameter in op.parameters)
    assert op.infer is not None


def test_names_are_unique_and_prefixed() -> None:
    assert len(ops.names()) == len(set(ops.names())) > 100
    assert all(name.startswith("relax.") for name in ops.names())
    with pytest.raises(KeyError, match=r"did you mean relax\.matmul"):
        ops.get("relax.matmull")


def test_an_unknown_operator_is_an_object_with_a_warning() -> None:
    module = rxe.parse("@R.function\ndef f(x: R.Tensor((2,), 'float32')):\n    return R.frobnicate(x, a=1)\n")
    found = rxe.check(module)
    assert [(item.code.id, item.is_error) for item in found] == [("RX0016", False)]
    assert "R.frobnicate(x, a=1)" in module.script()
