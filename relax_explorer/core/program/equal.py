"""Structural equality and hash of Relax. Names of variables do not matter, only their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.index_map import IndexMap
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import operands
from relax_explorer.core.program.module import IRModule


@collector_at_rest()
def structural_equal(a: object, b: object, map_free_vars: bool = False) -> bool:
    """True if two modules, functions, expressions or StructInfos have the same structure.

    Bound variables correspond by place. Free variables must be the same objects unless `map_free_vars`.

    >>> rxe.structural_equal(module, rxe.parse(module.script()))
    True
    """
    return _Comparer(map_free_vars).equal(a, b)


_UNREAD = frozenset({"op_pattern", "relax.force_pure", "global_symbol"})  # attributes of functions


@collector_at_rest()
def runs_equally(a: object, b: object) -> bool:
    """True if a run of function `b` gives what a run of `a` gives that ends.

    They have the same structure, but `b` may drop dataflow blocks, whose variables end with them. Attributes that no run reads
    may differ; the caller tells which PrimFunc a global symbol names.
    """
    return _RunComparer(False).equal(a, b)


class _Comparer:
    def __init__(self, map_free_vars: bool) -> None:
        self.map_free_vars = map_free_vars
        self.left: dict[Any, Any] = {}
        self.right: dict[Any, Any] = {}
        self.infos: set[tuple[Any, Any]] = set()
        self.scalars: dict[p.PrimExpr, e.Var] = {}  # scalar parameters, by their values
        self.unnamed: set[p.PrimExpr | None] = {None}  # those whose partners have no named value
        self.defining = False  # inside a function: the first occurrence of a shape variable defines it

    def equal(self, a: object, b: object) -> bool:
        if isinstance(a, IRModule) and isinstance(b, IRModule):
            return self.modules(a, b)
        if isinstance(a, p.PrimExpr) and isinstance(b, p.PrimExpr):
            return self.prim(a, b)
        if isinstance(a, s.StructInfo) and isinstance(b, s.StructInfo):
            return self.info(a, b)
        if isinstance(a, e.BindingBlock) and isinstance(b, e.BindingBlock):
            return self.block(a, b)
        return self.expr(a, b)

    def modules(self, a: IRModule, b: IRModule) -> bool:
        if (
            set(a.functions) != set(b.functions)
            or not _Comparer(self.map_free_vars)._attrs(a.attrs, b.attrs)
            or a.global_infos is not b.global_infos
        ):
            return False
        for name, fn in a.functions.items():
            comparer = _Comparer(self.map_free_vars)
            comparer.defining = isinstance(fn, e.ExternFunc)  # its type defines its own shape variables
            if not comparer.expr(fn, b.functions[name]):
                return False
        return True

    # -- variables ------------------------------------------------------------------------------------------------

    def bind(self, a: object, b: object) -> bool:
        """Let two variables correspond from now on."""
        self.left[a], self.right[b] = b, a
        return True

    def variable(self, a: object, b: object) -> bool:
        partner = self.left.get(a)
        if partner is not None:
            return partner is b
        if b in self.right:
            return False
        if a is b:
            return True
        return self.map_free_vars and type(a) is type(b) and self.bind(a, b)

    # -- scalars and infos ----------------------------------------------------------------------------------------

    def prim(self, a: p.PrimExpr, b: p.PrimExpr) -> bool:
        """Compare scalar expressions, without recursion."""
        stack = [(a, b)]
        while stack:
            x, y = stack.pop()
            if not self._prim_head(x, y):
                return False
            left, right = x.children(), y.children()
            if len(left) != len(right):
                return False
            stack.extend(zip(reversed(left), reversed(right), strict=True))
        return True

    def _prim_head(self, a: p.PrimExpr, b: p.PrimExpr) -> bool:
        """True if two scalar expressions are equal except for their operands."""
        if type(a) is p.PrimVar and type(b) is p.PrimVar:
            return a.dtype is b.dtype and self.shape_variable(a, b)
        if type(a) is not type(b) or a.dtype is not b.dtype:
            return False
        if (
            isinstance(a, p.PrimCall)
            and isinstance(b, p.PrimCall)
            and (a.op, a.keywords) != (b.op, b.keywords)
        ):
            return False
        return bool(a.children()) or a is b or type(a) is p.AnyDim

    def shape_variable(self, a: p.PrimVar, b: p.PrimVar) -> bool:
        partner = self.left.get(a)
        if partner is not None or b in self.right:
            return partner is b
        if not self.defining:
            return a is b or (self.map_free_vars and self.bind(a, b))
        return self.bind(a, b)  # first occurrence on both sides: a definition

    def info(self, a: s.StructInfo | None, b: s.StructInfo | None) -> bool:
        if a is None or b is None:
            return a is b
        if (a, b) in self.infos:
            return True
        same = type(a) is type(b) and _INFOS[type(a)](self, a, b)
        if same:
            self.infos.add((a, b))
        return same

    def _dims(self, a: tuple[p.PrimExpr, ...], b: tuple[p.PrimExpr, ...]) -> bool:
        return len(a) == len(b) and all(self.prim(x, y) for x, y in zip(a, b, strict=True))

    def _tensor(self, a: s.TensorStructInfo, b: s.TensorStructInfo) -> bool:
        if a.dtype is not b.dtype or a.ndim != b.ndim or a.vdevice != b.vdevice:
            return False
        if type(a.shape) is tuple and type(b.shape) is tuple:
            return self._dims(a.shape, b.shape)
        if isinstance(a.shape, e.Var) and isinstance(b.shape, e.Var):
            return self.variable(a.shape, b.shape)
        return a.shape is b.shape

    def _shape(self, a: s.ShapeStructInfo, b: s.ShapeStructInfo) -> bool:
        if a.values is None or b.values is None:
            return a.values is b.values and a.ndim == b.ndim
        return self._dims(a.values, b.values)

    def _prim_info(self, a: s.PrimStructInfo, b: s.PrimStructInfo) -> bool:
        if a.value is None or b.value is None:
            return a.dtype is b.dtype and a.value in self.unnamed and b.value in self.unnamed
        return a.dtype is b.dtype and self.prim(a.value, b.value)

    def _tuple_info(self, a: s.TupleStructInfo, b: s.TupleStructInfo) -> bool:
        return len(a.fields) == len(b.fields) and all(
            self.info(x, y) for x, y in zip(a.fields, b.fields, strict=True)
        )

    def _func_info(self, a: s.FuncStructInfo, b: s.FuncStructInfo) -> bool:
        if (
            a.pure is not b.pure
            or a.derive_func != b.derive_func
            or (a.params is None) is not (b.params is None)
        ):
            return False
        left, right = a.params or (), b.params or ()
        return (
            len(left) == len(right)
            and all(self.info(x, y) for x, y in zip(left, right, strict=True))
            and self.info(a.ret, b.ret)
        )

    # -- expressions ----------------------------------------------------------------------------------------------

    def expr(self, a: Any, b: Any) -> bool:
        node_type = type(a)
        if node_type is not type(b):
            a, b = self._scalar(a), self._scalar(b)
            return isinstance(a, e.Var) and isinstance(b, e.Var) and self.variable(a, b)
        if node_type in _HEADS:
            return self._nested(a, b)
        rule = _EXPRS.get(node_type)
        if rule is None:  # a PrimFunc
            from relax_explorer.core.program.prim_func_equal import prim_func_equal

            return prim_func_equal(a, b)
        return rule(self, a, b)

    def _nested(self, a: e.Expr, b: e.Expr) -> bool:
        """Compare nested calls and tuples, without recursion."""
        stack = [(a, b)]
        while stack:
            x, y = stack.pop()
            head = _HEADS.get(type(x))
            if head is None:
                if not self.expr(x, y):
                    return False
                continue
            left, right = operands(x), operands(y)
            if type(x) is not type(y) or len(left) != len(right) or not head(self, x, y):
                return False
            stack.extend(zip(reversed(left), reversed(right), strict=True))
        return True

    def _scalar(self, expr: e.Expr) -> e.Expr:
        """The parameter that stands for a scalar. In a text, both are one name."""
        return self.scalars.get(expr.value, expr) if type(expr) is e.PrimValue else expr

    def _call(self, a: e.Call, b: e.Call) -> bool:
        if len(a.sinfo_args) != len(b.sinfo_args) or not self._attrs(a.attrs, b.attrs):
            return False
        return all(map(self.info, a.sinfo_args, b.sinfo_args))

    def _attrs(self, a: Attrs, b: Attrs) -> bool:
        if a is b:
            return True
        if a.keys() != b.keys():  # their order does not count
            return False
        return all(self._constant(value, b[name]) for name, value in a.items())

    def _constant(self, a: object, b: object) -> bool:
        if isinstance(a, p.PrimExpr) and isinstance(b, p.PrimExpr):
            return self.prim(a, b)
        if isinstance(a, tuple) and isinstance(b, tuple):
            return len(a) == len(b) and all(map(self._constant, a, b))
        if isinstance(a, s.StructInfo) and isinstance(b, s.StructInfo):
            return self.info(a, b)
        if isinstance(a, Attrs) and isinstance(b, Attrs):
            return self._attrs(a, b)
        if isinstance(a, IndexMap) and isinstance(b, IndexMap):
            if len(a.names) != len(b.names) or not self._constant(a.results, b.results):
                return False
            return self._constant(a.inverse, b.inverse)
        return type(a) is type(b) and bool(a == b)

    def _constant_expr(self, a: e.Constant, b: e.Constant) -> bool:
        if a.data is None or b.data is None:
            return a.data is b.data and a.key == b.key
        if a.data is b.data:
            return True
        if a.data.dtype != b.data.dtype or a.data.shape != b.data.shape:
            return False
        return bool(a.data.tobytes() == b.data.tobytes())

    def _if(self, a: e.If, b: e.If) -> bool:
        return (
            self.expr(a.condition, b.condition)
            and self.expr(a.true_branch, b.true_branch)
            and self.expr(a.false_branch, b.false_branch)
        )

    def _seq(self, a: e.SeqExpr, b: e.SeqExpr) -> bool:
        if len(a.blocks) != len(b.blocks):
            return False
        return all(self.block(x, y) for x, y in zip(a.blocks, b.blocks, strict=True)) and self.expr(
            a.body, b.body
        )

    def block(self, a: e.BindingBlock, b: e.BindingBlock) -> bool:
        if type(a) is not type(b) or len(a.bindings) != len(b.bindings):
            return False
        return all(self.binding(x, y) for x, y in zip(a.bindings, b.bindings, strict=True))

    def binding(self, a: e.Binding, b: e.Binding) -> bool:
        if type(a) is not type(b):
            return False
        recursive = type(a.value) is e.Function and a.var is not None and b.var is not None
        if recursive:
            self.bind(a.var, b.var)
        if not self.expr(a.value, b.value):
            return False
        if (
            isinstance(a, e.MatchCast)
            and isinstance(b, e.MatchCast)
            and not self.info(a.struct_info, b.struct_info)
        ):
            return False
        if a.var is None or b.var is None:
            return a.var is b.var
        return (
            self._are_alike(a.var, b.var)
            and self.info(a.var.struct_info, b.var.struct_info)
            and self.bind(a.var, b.var)
        )

    def _function(self, a: e.Function, b: e.Function) -> bool:
        if len(a.params) != len(b.params) or (a.pure is False) is not (b.pure is False):
            return False
        self.defining = True
        for x, y in zip(a.params, b.params, strict=True):
            self._note(x, y)
            self._note(y, x)
            if not self.info(x.struct_info, y.struct_info):
                return False
            self.bind(x, y)
        if not self._attrs(a.attrs, b.attrs):  # they may contain shape variables
            return False
        return self.info(a.ret_struct_info, b.ret_struct_info) and self.expr(a.body, b.body)

    def _are_alike(self, a: e.Var, b: e.Var) -> bool:
        """True if two bound variables are of one kind."""
        return type(a) is type(b)

    def _note(self, param: e.Var, other: e.Var) -> None:
        """Note the value of a scalar parameter. A text names it only if the function computes with it."""
        info, facing = param.struct_info, other.struct_info
        if type(info) is s.PrimStructInfo and type(info.value) is p.PrimVar:
            self.scalars[info.value] = param
            if type(facing) is s.PrimStructInfo and facing.value is None:
                self.unnamed.add(info.value)


class _RunComparer(_Comparer):
    """Compares what runs: not the marks of dataflow blocks that the second side drops, and no attribute that no run reads."""

    def expr(self, a: object, b: object) -> bool:
        if type(a) is e.SeqExpr and type(b) is e.SeqExpr:
            return self._bindings(a, b)
        return super().expr(_plain(a), _plain(b))

    def _bindings(self, a: e.SeqExpr, b: e.SeqExpr) -> bool:
        if any(type(block) is e.DataflowBlock for block in b.blocks):
            return self._seq(a, b)
        left, right = [[item for block in seq.blocks for item in block.bindings] for seq in (a, b)]
        return (
            len(left) == len(right)
            and all(self.binding(x, y) for x, y in zip(left, right, strict=True))
            and self.expr(a.body, b.body)
        )

    def _are_alike(self, a: e.Var, b: e.Var) -> bool:
        return type(a) is type(b) or type(b) is e.Var


def _plain(fn: object) -> object:
    """A function or PrimFunc without the attributes that no run reads; anything else as it is."""
    attrs = getattr(fn, "attrs", EMPTY)
    if type(fn) in _HEADS or _UNREAD.isdisjoint(attrs):
        return fn
    return replace(fn, attrs=Attrs({name: value for name, value in attrs.items() if name not in _UNREAD}))


def _declared(fn: e.ExternFunc) -> s.StructInfo | None:
    """The declared signature of a packed function, or None."""
    info = fn.struct_info
    return info if isinstance(info, s.FuncStructInfo) and info.params is not None else None


_INFOS: dict[type, Callable[[_Comparer, Any, Any], bool]] = {
    s.ObjectStructInfo: lambda c, a, b: True,
    s.PrimStructInfo: _Comparer._prim_info,
    s.ShapeStructInfo: _Comparer._shape,
    s.TensorStructInfo: _Comparer._tensor,
    s.TupleStructInfo: _Comparer._tuple_info,
    s.FuncStructInfo: _Comparer._func_info,
}
_EXPRS: dict[type, Callable[[_Comparer, Any, Any], bool]] = {
    e.Var: _Comparer.variable,
    e.DataflowVar: _Comparer.variable,
    e.GlobalVar: lambda c, a, b: a.name == b.name,
    e.ExternFunc: lambda c, a, b: a.name == b.name and c.info(_declared(a), _declared(b)),
    e.OpRef: lambda c, a, b: a is b or a.name == b.name,
    e.Constant: _Comparer._constant_expr,
    e.ShapeExpr: lambda c, a, b: c._dims(a.values, b.values),
    e.PrimValue: lambda c, a, b: c.prim(a.value, b.value),
    e.StringImm: lambda c, a, b: a.value == b.value,
    e.DataTypeImm: lambda c, a, b: a.value is b.value,
    e.If: _Comparer._if,
    e.SeqExpr: _Comparer._seq,
    e.Function: _Comparer._function,
    e.OpaqueFunction: lambda c, a, b: a.text == b.text and a.decorator == b.decorator,
}


# Comparisons without operands.
_HEADS: dict[type, Callable[[_Comparer, Any, Any], bool]] = {
    e.Call: _Comparer._call,
    e.Tuple: lambda c, a, b: True,
    e.TupleGetItem: lambda c, a, b: a.index == b.index,
}


@collector_at_rest()
def structural_hash(value: object) -> int:
    """A 64-bit hash, the same for structurally equal values in every process. Names of variables do not matter.

    >>> rxe.structural_hash(module) == rxe.structural_hash(rxe.parse(module.script()))
    True
    """
    from relax_explorer.core.program.hash import Hasher

    return Hasher().hash(value)
