"""Short ways to build trees that no text can express, for the literate chapters."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ir.prim import as_prim
from relax_explorer.core.program.module import IRModule


def tensor(
    dims: tuple[Any, ...] | None = None, element: str | None = "float32", ndim: int = -1
) -> s.TensorStructInfo:
    """`R.Tensor(dims, element)`; a dimension is a number or a shape variable."""
    shape = None if dims is None else tuple([as_prim(dim) for dim in dims])
    return s.TensorStructInfo(shape, None if element is None else dtype(element), ndim)


def var(name: str, info: s.StructInfo | None = None) -> e.Var:
    """A variable; by default a tensor of two floats."""
    return e.Var(name, info or tensor((2,)))


def lv(name: str) -> e.DataflowVar:
    """A dataflow variable."""
    return e.DataflowVar(name)


def call(op: Any, *args: e.Expr, **attrs: Any) -> e.Call:
    """A call of an operator by name, or of an expression."""
    callee = e.op_ref(f"relax.{op}") if isinstance(op, str) else op
    return e.Call(callee, args, Attrs(attrs) if attrs else EMPTY)


def bind(variable: e.Var, value: e.Expr, annotation: s.StructInfo | None = None) -> e.VarBinding:
    """`variable: annotation = value`."""
    return e.VarBinding(variable, value, annotation)


def block(*bindings: e.Binding) -> e.BindingBlock:
    """An ordinary block."""
    return e.BindingBlock(bindings)


def dataflow(*bindings: e.Binding) -> e.DataflowBlock:
    """A dataflow block."""
    return e.DataflowBlock(bindings)


def seq(blocks: list[e.BindingBlock], body: e.Expr) -> e.SeqExpr:
    """Blocks and the value after them."""
    return e.SeqExpr(tuple(blocks), body)


def function(params: list[e.Var], body: Any, ret: s.StructInfo | None = None, **more: Any) -> e.Function:
    """A public function; its body may be any expression."""
    name = more.pop("name", "main")
    attrs = Attrs({"global_symbol": name, **more.pop("attrs", {})})
    return e.Function(tuple(params), body, ret, more.pop("pure", None), attrs)


def program(**functions: e.Function) -> IRModule:
    """A module of these functions."""
    return IRModule(functions)


def normal(fn: e.Function) -> e.Function:
    """The function in normal form."""
    from relax_explorer.core.check.normalize import normalize_with

    result = normalize_with(IRModule({"main": fn}))[0]["main"]
    assert isinstance(result, e.Function)
    return result


def found(*functions: e.Function, profile: str = "spec", normalized: bool = False) -> list[str]:
    """The codes of the problems of a module of these functions, without notes."""
    import relax_explorer as rxe

    named = {f"f{number}" if number else "main": fn for number, fn in enumerate(functions)}
    renamed = {
        name: e.Function(fn.params, fn.body, fn.ret_struct_info, fn.pure, fn.attrs.having(global_symbol=name))
        for name, fn in named.items()
    }
    problems = rxe.check(IRModule(renamed), profile, normalized)
    return [item.code.id for item in problems if str(item.level) != "note"]


def text_of(fn: e.Function) -> list[str]:
    """The printed lines of the body."""
    lines = IRModule({"main": fn}).script().splitlines()
    start = next(number for number, line in enumerate(lines) if line.strip().startswith("def "))
    return [line.strip() for line in lines[start + 1 :]]


def kinds(fn: e.Function) -> list[tuple[str, int]]:
    """The blocks of the body: `BB` or `DB`, and the number of bindings."""
    return [("DB" if type(b) is e.DataflowBlock else "BB", len(b.bindings)) for b in fn.body.blocks]


def names(fn: e.Function) -> list[str]:
    """The names bound at the top of the body, in order."""
    return [binding.var.name if binding.var else "_" for b in fn.body.blocks for binding in b.bindings]


NAMES = {
    name: value
    for name, value in vars().items()
    if callable(value) and getattr(value, "__module__", "") == __name__
} | {"Report": Report}
