"""Checks take in plain calls at once. What they report is what they report when they look at every part."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

import relax_explorer as rxe
from relax_explorer.core.check import normal_form, prim_funcs, purity
from relax_explorer.core.check.well_formed import violations
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY
from relax_explorer.core.ir.dtype import INT64, dtype
from relax_explorer.core.ir.node import replace
from relax_explorer.core.program.module import IRModule
from tests.support.pass_material import pass_material

INFO = s.TensorStructInfo((p.IntImm(2, INT64),), dtype("float32"))
X, Y, Z, LOST, N = (
    e.Var("x", INFO),
    e.Var("y", INFO),
    e.Var("z", INFO),
    e.Var("lost", INFO),
    p.PrimVar("n", INT64),
)
INNER, DATAFLOW = e.Var("inner", INFO), e.DataflowVar("d", INFO)
EXTERN, KERNEL = e.ExternFunc("f"), e.GlobalVar("kernel")


def _op(name: str, *args: e.Expr) -> e.Call:
    return e.Call(e.op_ref(f"relax.{name}"), args, EMPTY, (), INFO)


IMPURE = e.Call(EXTERN, (X,), EMPTY, (INFO,), INFO)
# The value of the second binding `y`, behind a plain `x1`; and whether something is wrong with it.
VALUES: dict[str, tuple[e.Expr, bool]] = {
    "a plain call": (_op("exp", X), False),
    "a plain kernel": (_op("call_tir", KERNEL, e.Tuple((X, X))), False),
    "a literal": (_op("reshape", X, e.ShapeExpr((p.IntImm(2, INT64),))), False),
    "a length in scope": (_op("reshape", X, e.ShapeExpr((N,))), False),
    "a length out of scope": (_op("reshape", X, e.ShapeExpr((p.PrimVar("m", INT64),))), True),
    "a scalar out of scope": (_op("full", X, e.PrimValue(p.PrimVar("m", INT64))), True),
    "a variable out of scope": (_op("exp", LOST), True),
    "a lost variable beside a tuple": (_op("invoke_closure", LOST, e.Tuple((X,))), True),
    "a lost variable in a tuple": (_op("call_tir", KERNEL, e.Tuple((X, LOST))), True),
    "an unknown kernel": (_op("call_tir", e.GlobalVar("other"), e.Tuple((X,))), True),
    "an unknown function": (e.Call(e.GlobalVar("other"), (X,), EMPTY, (), INFO), True),
    "a lost callee": (e.Call(LOST, (X,), EMPTY, (), INFO), True),
    "an operator as operand": (_op("exp", e.op_ref("relax.exp")), True),
    "a packed function as operand": (_op("exp", EXTERN), True),
    "a packed function in a tuple": (_op("call_tir", KERNEL, e.Tuple((EXTERN,))), True),
    "a nested call": (_op("exp", _op("exp", X)), True),
    "a nested call in a tuple": (_op("call_tir", KERNEL, e.Tuple((_op("exp", X),))), True),
    "a nested call beside a tuple": (_op("invoke_closure", _op("exp", X), e.Tuple((X,))), True),
    "a nested call as callee": (e.Call(_op("exp", X), (X,), EMPTY, (), INFO), True),
    "an effect": (IMPURE, True),
    "an effect of an operator": (_op("print", e.StringImm("{}"), X), True),
    "an effect inside": (_op("exp", IMPURE), True),
    "an effect in a tuple": (_op("call_tir", KERNEL, e.Tuple((IMPURE,))), True),
    "an effect beside a tuple": (_op("call_tir", IMPURE, e.Tuple((X,))), True),
    "an effect in a callee": (e.Call(IMPURE, (X,), EMPTY, (), INFO), True),
    "a dataflow variable of the block around": (_op("exp", DATAFLOW), True),
}  # fmt: skip
KERNELS = """
@I.ir_module
class M:
    @T.prim_func
    def kernel(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
        for i in range(2):
            b[i] = a[i]
    @R.function{0}
    def main(x: R.Tensor((2,), "float32"), o: R.Tensor((2,), "float32")):
        cls = M
{1}
        return x
"""


def _module(*bindings: e.Binding, block: type[e.BindingBlock] = e.DataflowBlock) -> IRModule:
    param = e.Var("s", s.ShapeStructInfo((N,)))
    kernel = rxe.parse(KERNELS.format("", ""))["kernel"]
    first = e.VarBinding(e.Var("x1", INFO), _op("exp", X))
    body = e.SeqExpr((block((first, *bindings)),), X, INFO)
    fn = e.Function((X, param), body, INFO, True, EMPTY.having(global_symbol="main"))
    return IRModule({"kernel": kernel, "main": fn})


def _reported(module: IRModule) -> list[object]:
    main = module["main"]
    assert isinstance(main, e.Function)
    found = [*violations(module), *normal_form.violations(module), *purity.violations(main, False)]
    return [(problem.code.id, problem.message, problem.primary) for problem in found]


def _in_both_ways(module: IRModule, patch: pytest.MonkeyPatch) -> list[object]:
    quick = _reported(module)
    scopes = sys.modules[violations.__module__]
    never: Callable[..., bool] = lambda *_: False  # noqa: E731  # one value for three tests
    with patch.context() as slow:
        slow.setattr(scopes._Scopes, "_is_plain", never)
        slow.setattr(normal_form, "_is_plain", never)
        slow.setattr(purity, "_is_plain", never)
        assert _reported(module) == quick
    return quick


@pytest.mark.parametrize("case", VALUES)
def test_values(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value, is_wrong = VALUES[case]
    if case == "a dataflow variable of the block around":
        inner = e.SeqExpr(
            (e.BindingBlock((e.VarBinding(Y, _op("exp", X)), e.VarBinding(Z, value))),), Z, INFO
        )
        closure = e.Function((INNER,), inner, INFO, None, EMPTY, s.FuncStructInfo((INFO,), INFO))
        own = (
            e.VarBinding(DATAFLOW, _op("exp", X)),
            e.VarBinding(e.DataflowVar("f", closure.struct_info), closure),
        )
        module = _module(*own)
    else:
        module = _module(e.VarBinding(Y, value))
    assert bool(_in_both_ways(module, monkeypatch)) is is_wrong


def test_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    call = _op("exp", X)
    other = s.TensorStructInfo((p.PrimVar("m", INT64),), dtype("float32"))
    assert _in_both_ways(_module(e.VarBinding(Y, call), e.VarBinding(Y, call)), monkeypatch)
    assert _in_both_ways(_module(e.VarBinding(DATAFLOW, call), block=e.BindingBlock), monkeypatch)
    assert _in_both_ways(_module(e.VarBinding(e.Var("y", other), call)), monkeypatch)
    assert not _in_both_ways(_module(e.VarBinding(DATAFLOW, call)), monkeypatch)
    double = s.TensorStructInfo((p.PrimVar("m", INT64) * 2,), dtype("float32"))
    assert _in_both_ways(_module(e.MatchCast(Y, call, double)), monkeypatch)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = rxe.normalize(rxe.parse(pass_material(seed)))
    for each in (module, rxe.run_pipeline(module, "zero", verify=False)):
        quick = list(violations(each))
        with monkeypatch.context() as slow:
            slow.setattr(sys.modules[violations.__module__]._Scopes, "_is_plain", lambda *_: False)
            assert list(violations(each)) == quick


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ("y = cls.kernel(x, o)", 1),
        ("k = cls.kernel\ny = k(x, o)\nz = k(x, o)", 2),
        ("y = R.exp(x)", 0),
        ('y = cls.kernel(x, o)\nt = R.memory.alloc_storage(R.shape([8]), R.prim_value(0), R.str("global"), R.dtype("float32"))', 0),
        ('R.func_attr({"relax.force_pure": True})\ny = cls.kernel(x, o)', 0),
    ],
)  # fmt: skip
def test_direct_calls_of_kernels(lines: str, count: int) -> None:
    body = "\n".join(f"        {line}" for line in lines.splitlines())
    module = rxe.normalize(rxe.parse(KERNELS.format("" if "force" in lines else "(pure=False)", body)))
    assert len(list(prim_funcs.direct_calls(module))) == count
    bare = replace(module, attrs=module.attrs)
    assert len(list(prim_funcs.direct_calls(bare))) == count
