"""Rewriting TIR: a substitution reaches every field of every node, and an unchanged node is the same object.

The cases come from the declarations of the nodes, so that a new field of a node is a new case.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import INT32, DType
from relax_explorer.core.ir.struct_info import PrimStructInfo, StructInfo
from relax_explorer.core.program.prim_func_equal import prim_func_equal
from relax_explorer.core.source import Span
from relax_explorer.core.tir import prim_expr, stmt
from relax_explorer.core.tir import stmt as b
from relax_explorer.core.tir.mutator import Mutator, Substitution
from relax_explorer.core.tir.traverse import children, expressions

X = p.PrimVar("x", INT32)
OTHER = p.PrimVar("other", INT32)
SEVEN = p.IntImm(7, INT32)
ONE = p.IntImm(1, INT32)
STATEMENTS = [cls for cls in vars(stmt).values() if isinstance(cls, type) and issubclass(cls, stmt.Stmt)][1:]
NODES = [*STATEMENTS, stmt.PrimFunc, stmt.IterVar, stmt.MatchBufferRegion, b.Buffer, b.BufferRegion, b.Range]


def subclasses(cls: type) -> Iterator[type]:
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses(sub)


EXPRESSIONS = [
    cls for cls in subclasses(p.PrimExpr)
    if cls not in (p.Binary, p.Comparison, p.Called, p.Logical, p.PrimVar, p.AnyDim)
]  # fmt: skip


def sample(hint: Any, leaf: p.PrimExpr) -> Any:
    """A value of a declared type, which holds `leaf` if it can hold any expression."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return sample(next(option for option in arguments if option is not type(None)), leaf)
    if origin is tuple:
        items = arguments[:1] if arguments[-1] is Ellipsis else arguments
        return tuple([sample(item, leaf) for item in items])
    simple: dict[Any, Any] = {
        p.PrimExpr: leaf, Any: leaf, stmt.Stmt: stmt.Evaluate(leaf), Attrs: Attrs({"key": (leaf,)}), p.PrimVar: OTHER,
        str: "name", int: 2, float: 2.0, bool: True, DType: INT32, StructInfo: PrimStructInfo(INT32, leaf), Span: None,
    }  # fmt: skip
    return simple[hint] if hint in simple else built(hint, leaf)


@cache  # hints are texts, and evaluated each time
def declared(cls: type) -> dict[str, Any]:
    if dataclasses.is_dataclass(cls):
        hints = typing.get_type_hints(cls)
        return {field.name: hints[field.name] for field in dataclasses.fields(cls)}
    hints = typing.get_type_hints(cls.__new__)
    return {name: hints[name] for name in list(inspect.signature(cls.__new__).parameters)[1:]}


def built(cls: type, leaf: p.PrimExpr, only: str | None = None) -> Any:
    """A node of `cls` that holds `leaf` in all its fields, or in the field `only`."""
    return cls(*[sample(hint, leaf if only in (None, name) else ONE) for name, hint in declared(cls).items()])


def holds(value: Any, wanted: p.PrimExpr) -> bool:
    """True if `wanted` occurs anywhere in a value."""
    if value is wanted:
        return True
    if isinstance(value, tuple):
        return any(holds(item, wanted) for item in value)
    if isinstance(value, Attrs):
        return any(holds(item, wanted) for item in value.values())
    if isinstance(value, PrimStructInfo):
        return holds(value.value, wanted)
    if isinstance(value, p.PrimVar) or not isinstance(value, (*NODES, p.PrimExpr)):
        return False
    return any(holds(getattr(value, name), wanted) for name in declared(type(value)))


CASES = [
    (cls, name) for cls in [*NODES, *EXPRESSIONS] for name in declared(cls) if holds(built(cls, X, name), X)
]


def rewritten(mutator: Mutator, node: Any) -> Any:
    return mutator.function(node) if isinstance(node, stmt.PrimFunc) else mutator.value(node)


@pytest.mark.parametrize(("cls", "field"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_a_substitution_reaches_every_field(cls: type, field: str) -> None:
    node = built(cls, X, field)
    new = rewritten(Substitution({X: SEVEN}), node)
    assert type(new) is cls
    assert holds(new, SEVEN)
    assert not holds(new, X)
    assert holds(node, X)


@pytest.mark.parametrize("cls", [*NODES, *EXPRESSIONS], ids=lambda cls: cls.__name__)
def test_what_does_not_change_is_the_same_object(cls: type) -> None:
    node = built(cls, X)
    assert rewritten(Mutator(), node) is node
    assert rewritten(Substitution({p.PrimVar("y", INT32): SEVEN}), node) is node


def test_cases_cover_what_used_to_be_forgotten() -> None:
    names = {(cls.__name__, field) for cls, field in CASES}
    assert {
        ("AllocBuffer", "buffer"),
        ("For", "step"),
        ("SBlock", "match_buffers"),
        ("Buffer", "strides"),
    } <= names
    assert len(CASES) > 60


J = p.PrimVar("j", INT32)


def loop(var: p.PrimVar, extent: p.PrimExpr, body: p.PrimExpr) -> stmt.For:
    return stmt.For(var, p.IntImm(0, INT32), extent, stmt.Evaluate(body))


BOUND: dict[str, Any] = {
    "a loop": loop(X, X + ONE, X),
    "an expression": prim_expr.Let(X, X + ONE, X * ONE),
    "a statement": stmt.SeqStmt((stmt.LetStmt(X, X + ONE), stmt.Evaluate(X))),
    "an axis": stmt.SBlock("b", (stmt.IterVar(X, b.Range(X, ONE)),), (X + ONE,), stmt.Evaluate(X)),
    "a thread": stmt.AttrStmt((X, p.PrimString("threadIdx.x")), "launch_thread", X + ONE, stmt.Evaluate(X)),
}


def body_of(node: Any) -> Any:
    if isinstance(node, prim_expr.Let):
        return node.body
    return node.stmts[1].value if isinstance(node, stmt.SeqStmt) else node.body.value


def bound_by(node: Any) -> p.PrimVar:
    if isinstance(node, stmt.SeqStmt):
        return node.stmts[0].var  # type: ignore[attr-defined]  # a LetStmt
    if isinstance(node, stmt.SBlock):
        return node.iter_vars[0].var
    return node.subject[0] if isinstance(node, stmt.AttrStmt) else node.var  # type: ignore[no-any-return]


@pytest.mark.parametrize("node", BOUND.values(), ids=BOUND)
def test_a_bound_variable_stays(node: Any) -> None:
    new = Substitution({X: SEVEN}).value(node)
    assert new is not node  # uses before the scope are replaced
    assert bound_by(new) is X
    assert body_of(new) is body_of(node)


@pytest.mark.parametrize("node", BOUND.values(), ids=BOUND)
def test_nothing_is_captured(node: Any) -> None:
    body = {X: X, J: X + J}
    node = Substitution({}).value(node)
    renamed = Substitution({J: X}).value(replaced_body(node, body[J]))
    var = bound_by(renamed)
    assert var is not X
    assert var.name == "x"
    assert body_of(renamed) is p.Add(var, X)  # the bound one, and the one outside


def replaced_body(node: Any, value: p.PrimExpr) -> Any:
    if isinstance(node, prim_expr.Let):
        return prim_expr.Let(node.var, node.value, value)
    if isinstance(node, stmt.SeqStmt):
        return stmt.SeqStmt((node.stmts[0], stmt.Evaluate(value)))
    return dataclasses.replace(node, body=stmt.Evaluate(value))


def test_the_scope_of_a_variable_ends() -> None:
    nodes = stmt.SeqStmt((loop(X, ONE, X), stmt.Evaluate(X)))
    new = Substitution({X: SEVEN}).stmt(nodes)
    assert isinstance(new, stmt.SeqStmt)
    assert new.stmts[0] is nodes.stmts[0]
    assert new.stmts[1] is not nodes.stmts[1]
    choice = stmt.IfThenElse(X, stmt.LetStmt(X, ONE), stmt.Evaluate(X))
    assert holds(Substitution({X: SEVEN}).stmt(choice).else_case, SEVEN)  # type: ignore[attr-defined]


def test_one_buffer_stays_one_buffer() -> None:
    buffer = b.Buffer("A", (X,), INT32)
    store = stmt.BufferStore(buffer, (ONE,), prim_expr.BufferLoad(buffer, (ONE,)))
    block = stmt.SBlock("b", (), (), store, alloc_buffers=(buffer,))
    new = Substitution({X: SEVEN}).stmt(block)
    assert isinstance(new, stmt.SBlock)
    (made,) = new.alloc_buffers
    assert made.shape == (SEVEN,)
    assert new.body.buffer is made  # type: ignore[attr-defined]
    assert new.body.value.buffer is made  # type: ignore[attr-defined]


def test_buffers_are_replaced_where_they_are_declared_and_used() -> None:
    old, new = b.Buffer("A", (ONE,), INT32), b.Buffer("B", (ONE,), INT32)
    store = stmt.BufferStore(old, (ONE,), prim_expr.BufferPtr(old))
    both = Substitution({}, {old: new}).stmt(stmt.SeqStmt((stmt.AllocBuffer(old), store)))
    assert [item.buffer for item in both.stmts] == [new, new]  # type: ignore[attr-defined]
    assert both.stmts[1].value.buffer is new  # type: ignore[attr-defined]


def test_shared_operands_are_rewritten_once() -> None:
    value: p.PrimExpr = X
    for _ in range(200):
        value = p.Add(value, value)
    assert Substitution({X: SEVEN}).expr(value) is not value


def test_nesting_does_not_cost_more_of_the_stack() -> None:
    value: p.PrimExpr = X
    for _ in range(800):
        value = p.Sub(ONE, value)
    node: stmt.Stmt = stmt.Evaluate(X)
    for _ in range(150):
        node = stmt.While(X, node)
    assert not holds(Substitution({X: SEVEN}).stmt(node), X)
    Substitution({X: SEVEN}).expr(value)


def test_a_function_is_specialized() -> None:
    module = rxe.parse("""
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
        n = T.int64()
        for i in range(n):
            with T.sblock("b"):
                v = T.axis.spatial(n, i)
                B[v] = A[v]
""")
    fn = module["main"]
    n = fn.params[0].shape[0]
    four = Substitution({n: p.IntImm(4)}).function(fn)
    text = module.script()
    assert not prim_func_equal(fn, four)
    assert [str(param.shape) for param in four.params] == ["(4,)", "(4,)"]
    assert module.script() == text


@pytest.mark.parametrize("cls", STATEMENTS, ids=lambda cls: cls.__name__)
def test_a_walk_meets_what_a_statement_evaluates(cls: type) -> None:
    about = {"reads", "writes", "annotations", "subject"}
    for name in declared(cls):
        node = built(cls, X, name)
        inside = [*expressions(node), *[item for child in children(node) for item in expressions(child)]]
        written_to = cls is stmt.BufferStore and name == "buffer"
        assert any(holds(item, X) for item in inside) == (
            holds(node, X) and name not in about and not written_to
        )
