"""Variables and lengths that are replaced in StructInfo, and the variables that a binding reads through it."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT64
from relax_explorer.core.ir.facts import reads
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import info_holders

N = p.PrimVar("n", INT64)
TWO, THREE = p.IntImm(2, INT64), p.IntImm(3, INT64)
SHAPE = s.ShapeStructInfo(None, 1)
HOLDER, OTHER = e.Var("h", SHAPE), e.Var("g", SHAPE)
HELD = s.TensorStructInfo(HOLDER, FLOAT32)
PLAIN = s.TensorStructInfo((TWO,), FLOAT32)


def tensor(*dims: p.PrimExpr) -> s.TensorStructInfo:
    return s.TensorStructInfo(dims, FLOAT32)


def test_other_lengths_replace_those_before() -> None:
    change = Substitution({}, {N: TWO})
    assert change.info(tensor(N)) is tensor(TWO)
    change.set_dims({N: THREE})
    assert change.info(tensor(N)) is tensor(THREE)
    change.set_dims({})
    assert change.info(tensor(N)) is tensor(N)


def test_a_variable_that_holds_a_shape_is_replaced_by_the_latest_one() -> None:
    change = Substitution({}, {N: TWO})
    for info in (HELD, s.TupleStructInfo((tensor(N), HELD))):
        change.variables = {}
        assert info_holders(change.info(info) or s.OBJECT) == (HOLDER,)
        change.variables = {HOLDER: OTHER}
        assert info_holders(change.info(info) or s.OBJECT) == (OTHER,)


def test_a_binding_reads_the_shapes_in_all_its_struct_infos() -> None:
    x = e.Var("x", PLAIN)
    call = e.Call(
        e.op_ref("relax.call_pure_packed"), (e.ExternFunc("f"), x), sinfo_args=(PLAIN,), struct_info=PLAIN
    )
    held = e.Call(call.op, call.args, sinfo_args=(HELD,), struct_info=PLAIN)
    var = e.Var("y", PLAIN)
    assert reads(e.VarBinding(var, call)) == [x]
    assert reads(e.VarBinding(var, call, PLAIN)) == [x]
    assert reads(e.VarBinding(var, held)) == [x, HOLDER]
    assert reads(e.VarBinding(var, call, HELD)) == [x, HOLDER]
    assert reads(e.VarBinding(e.Var("y", HELD), call)) == [x, HOLDER]
    assert reads(e.MatchCast(var, x, HELD)) == [x, HOLDER]
