"""The normalizer keeps what is in normal form, and nothing else."""

from __future__ import annotations

import relax_explorer as rxe
from relax_explorer.core.check.emission import OpenBlocks
from relax_explorer.core.check.matching import captured
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT64
from relax_explorer.core.ir.node import replace

VECTOR = s.TensorStructInfo((p.IntImm(2, INT64),), FLOAT32)

KERNEL = """
@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def count(A: T.Buffer((2,), "float32")) -> T.{dtype}:
        return T.{dtype}(1)
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        a = M.count(x)
        return a
"""


def test_a_block_that_lost_its_end_is_another() -> None:
    x = e.Var("x", VECTOR)
    first = e.VarBinding(e.Var("a", VECTOR), e.Call(e.op_ref("relax.exp"), (x,)))
    second = e.VarBinding(e.Var("b", VECTOR), e.Call(e.op_ref("relax.exp"), (first.var,)))
    whole = e.BindingBlock((first, second))
    for bindings, same in (((first,), False), ((first, second), True), ((second, first), False)):
        blocks = OpenBlocks()
        blocks.start(False, whole)
        blocks.bindings.extend(bindings)
        blocks.close()
        assert (blocks.closed == [whole]) is same
        assert blocks.closed[0].bindings == bindings


def test_a_kernel_with_another_result_is_heard_by_its_callers() -> None:
    old = rxe.normalize(rxe.parse(KERNEL.format(dtype="int32")))
    other = rxe.parse(KERNEL.format(dtype="int64"))
    new = rxe.normalize(old.having({**old.functions, "count": other["count"]}), old)
    ((binding,),) = [block.bindings for block in new["main"].body.blocks]
    assert str(binding.var.struct_info) == str(
        rxe.normalize(other)["main"].body.blocks[0].bindings[0].var.struct_info
    )


CLOSURE = """
@R.function
def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    a = R.astype(x, "{dtype}")
    @R.function
    def f(y: R.Tensor((2,), "float32")):
        return a
    if c:
        r = a
    else:
        r = a
    return (f, r)
"""


def test_blocks_in_a_value_hear_of_a_changed_variable() -> None:
    old, other = (rxe.normalize(rxe.parse(CLOSURE.format(dtype=dtype))) for dtype in ("float16", "int8"))
    main, (block, *rest) = old["main"], old["main"].body.blocks
    first = replace(block.bindings[0], value=other["main"].body.blocks[0].bindings[0].value)
    assert isinstance(first, e.VarBinding)
    assert isinstance(first.value, e.Call)
    first = replace(first, value=replace(first.value, args=tuple(main.params[:1]), struct_info=None))
    blocks = (replace(block, bindings=(first, *block.bindings[1:])), *rest)
    edited = old.having({"main": replace(main, body=replace(main.body, blocks=blocks), ret_struct_info=None)})
    (new, report), (anew, said) = normalize_with(edited, after=old), normalize_with(edited)
    assert [item.code for item in report] == [item.code for item in said] == [codes.BAD_RETURN]
    assert new["main"].struct_info is anew["main"].struct_info


def test_a_variable_that_is_bound_twice_is_reported_though_each_call_was_known() -> None:
    module = rxe.normalize(
        rxe.parse("@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n    a = R.exp(x)\n    return a\n")
    )
    main = module["main"]
    (block,) = main.body.blocks
    doubled = replace(block, bindings=block.bindings * 2)
    twice = module.having({"main": replace(main, body=replace(main.body, blocks=(doubled,)))})
    assert codes.BOUND_TWICE in {item.code for item in rxe.check(twice)}
    assert codes.BOUND_TWICE in {item.code for item in normalize_with(twice)[1].items}


def test_only_functions_capture_shape_variables() -> None:
    n = p.PrimVar("n", INT64)
    of_n = s.TensorStructInfo((n,), FLOAT32)
    binds = s.FuncStructInfo((of_n,), of_n, True)
    assert captured(binds, s.FuncStructInfo(None, s.OBJECT, True)) == ("n",)
    assert captured(binds, s.OBJECT) == ()
    assert captured(s.OBJECT, binds) == ()
    assert captured(s.TupleStructInfo((binds,)), s.TupleStructInfo((s.OBJECT,))) == ()
