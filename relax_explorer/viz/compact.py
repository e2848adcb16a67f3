"""Expressions in the compact notation of tables: `@kernel(x)` for a `call_tir`, operators without `R.`, default attributes left out.

The result is pieces, texts with roles. A role is the class of an operation (`op_class`), or var, number, string, keyword,
attribute, function, dimension, or muted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

from relax_explorer.core import ops
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.prim_text import quoted
from relax_explorer.core.ops.kit.decl import Fusion, Op
from relax_explorer.core.syntax.dialects import NEW
from relax_explorer.core.syntax.names import Names
from relax_explorer.core.syntax.printer_expr import Constants, ExprText
from relax_explorer.core.tir.computation import Computation
from relax_explorer.viz.lexer import Piece
from relax_explorer.viz.short import short_info

# -- op class --------------------------------------------------------------------------------------------------------
# The class of an operation: matmul-like, element-wise, reduction, layout, call, memory or effect.
# Tables, graphs and the terminal colour operations by it. The class follows from the operator's declaration.


class OpClass(StrEnum):
    """A class; the value is its mark in a legend without colours."""

    MATMUL = "MM"
    ELEMENTWISE = "EW"
    REDUCE = "RD"
    SHAPE = "SH"
    CALL = "ƒ"
    MEMORY = "ME"
    EFFECT = "!!"
    OTHER = ""

    @property
    def letter(self) -> str:
        """Its letter before the name of a kernel in a graph; empty for classes that kernels do not have."""
        return _LETTERS.get(self, "")

    @property
    def word(self) -> str:
        """The class in a word, for legends."""
        return _WORDS[self]

    @property
    def doc(self) -> str:
        """What the class holds, in a few words."""
        return _DOCS[self]


_DOCS = {
    OpClass.MATMUL: "matmul, convolution, attention",
    OpClass.ELEMENTWISE: "element-wise, activation",
    OpClass.REDUCE: "reduction, normalization, softmax, pooling",
    OpClass.SHAPE: "reshape, transpose, split, index",
    OpClass.CALL: "call of a function, a kernel or a closure",
    OpClass.MEMORY: "allocation, its end, shape heap",
    OpClass.EFFECT: "effect, packed function, assertion",
    OpClass.OTHER: "other operators",
}
_WORDS = {
    OpClass.MATMUL: "matmul", OpClass.ELEMENTWISE: "element-wise", OpClass.REDUCE: "reduction", OpClass.SHAPE: "layout",
    OpClass.CALL: "call", OpClass.MEMORY: "memory", OpClass.EFFECT: "effect", OpClass.OTHER: "other",
}  # fmt: skip
_LETTERS = {OpClass.MATMUL: "M", OpClass.ELEMENTWISE: "E", OpClass.REDUCE: "R", OpClass.SHAPE: "S"}
_BY_FUSION = {
    Fusion.ELEMENTWISE: OpClass.ELEMENTWISE,
    Fusion.BROADCAST: OpClass.ELEMENTWISE,
    Fusion.INJECTIVE: OpClass.SHAPE,
    Fusion.TUPLE: OpClass.SHAPE,
    Fusion.REDUCE: OpClass.REDUCE,
    Fusion.OUT_ELEMENTWISE: OpClass.REDUCE,
}
_BY_COMPUTATION = {
    Computation.FILL: OpClass.ELEMENTWISE,
    Computation.MOVE: OpClass.SHAPE,
    Computation.ARITHMETIC: OpClass.ELEMENTWISE,
    Computation.REDUCTION: OpClass.REDUCE,
    Computation.CONTRACTION: OpClass.MATMUL,
}
_MATMULS = ("matmul", "einsum", "conv", "attention")
_CALLS = ("call_tir", "call_dps", "invoke_", "make_closure")
_EFFECTS = ("call_packed", "call_pure_packed", "call_inplace_packed", "call_py_func", "call_builtin_with_ctx")
_MEMORY = ("memory.", "vm.alloc", "vm.kill", "builtin.alloc")


def by_family(family: str) -> OpClass:
    """The class of a node, by the name that it has in graphs."""
    return OpClass[family.upper()] if family else OpClass.OTHER


def op_class(expr: e.Expr) -> OpClass:
    """The class of a bound expression."""
    kind = type(expr)
    if kind in (e.TupleGetItem, e.Tuple, e.ShapeExpr):
        return OpClass.SHAPE
    if kind is not e.Call:
        return OpClass.OTHER
    assert type(expr) is e.Call  # for the type checker
    if type(expr.op) is e.OpRef:
        return of_operator(expr.op.name)
    if type(expr.op) is e.ExternFunc:
        return of_packed(expr.op.name)
    return OpClass.CALL


def of_packed(name: str) -> OpClass:
    """The class of a packed function: the builtins of the virtual machine that hold memory, or an effect."""
    is_memory = name.startswith("vm.builtin.") and any(
        word in name for word in ("alloc", "shape", "storage", "null_value", "kill")
    )
    return OpClass.MEMORY if is_memory else OpClass.EFFECT


@lru_cache(maxsize=1024)
def of_operator(name: str) -> OpClass:
    """The class of the operator with this full name."""
    short = name.removeprefix("relax.")
    if short.startswith(_EFFECTS):
        return OpClass.EFFECT
    if short.startswith(_CALLS) or short.startswith(("dist.call_tir", "vm.call_tir")):
        return OpClass.CALL
    if short.startswith(_MEMORY):
        return OpClass.MEMORY
    declared = ops.find(name)
    return OpClass.OTHER if declared is None else _declared(short, declared)


def of_fusion(pattern: Fusion) -> OpClass:
    """The class of a kernel with this pattern."""
    return _BY_FUSION.get(pattern, OpClass.OTHER)


def of_computation(found: Computation) -> OpClass:
    """The class of a kernel whose loops do this."""
    return _BY_COMPUTATION.get(found, OpClass.OTHER)


def _declared(short: str, op: type[Op]) -> OpClass:
    if not op.pure or op.writes:
        return OpClass.EFFECT
    if op.fusion is Fusion.OUT_ELEMENTWISE and any(word in short for word in _MATMULS):
        return OpClass.MATMUL
    return of_fusion(op.fusion)


# -- compact ---------------------------------------------------------------------------------------------------------


DEEPEST = 12  # calls inside calls; deeper ones are `…`
MOST = 100  # elements of a list
_COMMA: Piece = ("muted", ", ")
_KERNELS = frozenset(
    {
        "relax.call_tir",
        "relax.call_tir_inplace",
        "relax.call_tir_with_grad",
        "relax.call_dps_packed",
        "relax.dist.call_tir_local_view",
        "relax.vm.call_tir_dyn",
    }
)
_CALLING = {
    "relax.call_pure_packed": "pure ",
    "relax.call_inplace_packed": "in place ",
    "relax.call_builtin_with_ctx": "ctx ",
    "relax.invoke_closure": "",
    "relax.invoke_pure_closure": "",
    "relax.make_closure": "closure ",
}


def role(kind: OpClass) -> str:
    """The role of an operation's name."""
    return kind.name.lower()


class Compact:
    """Writes expressions of one function. `names` gives its variables their names, `classes` the class of a kernel by its name."""

    def __init__(self, names: Names, classes: Callable[[str], OpClass] | None = None) -> None:
        self.names, self.classes = names, classes
        self.text = ExprText(names, NEW, Constants())

    def binding(self, binding: e.Binding) -> list[Piece]:
        """The right side of a binding. A function and an `if` show their first line."""
        if isinstance(binding, e.MatchCast):
            head: list[Piece] = [("keyword", binding.word), ("muted", "(")]
            info = ("dimension", short_info(binding.struct_info))
            return [*head, *self.expr(binding.value), _COMMA, info, ("muted", ")")]
        return self.expr(binding.value)

    def expr(self, expr: e.Expr, depth: int = 0) -> list[Piece]:
        """An expression."""
        if depth > DEEPEST:
            return [("muted", "…")]
        return _RULES[type(expr)](self, expr, depth)

    def listed(self, exprs: Sequence[e.Expr], depth: int) -> list[Piece]:
        """Expressions with commas between them."""
        pieces: list[Piece] = []
        for number, expr in enumerate(exprs):
            if number:
                pieces.append(_COMMA)
            if number == MOST:
                pieces.append(("muted", f"… {len(exprs) - MOST} more"))
                break
            pieces += self.expr(expr, depth + 1)
        return pieces

    def called(self, name: Piece, args: Sequence[e.Expr], depth: int, attrs: str = "") -> list[Piece]:
        """`name(args, attrs)`. `attrs` begins with a comma."""
        inner = self.listed(args, depth)
        tail = [("attribute", attrs if inner else attrs.removeprefix(", "))] if attrs else []
        return [name, ("muted", "("), *inner, *tail, ("muted", ")")]


def own_attributes(call: e.Call) -> Attrs:
    """The attributes of a call that differ from the defaults that its operator declares."""
    declared = ops.find(call.op.name) if type(call.op) is e.OpRef else None
    if declared is None or not call.attrs:
        return call.attrs
    defaults = {
        parameter.name: parameter.default for parameter in declared.attributes if not parameter.required
    }
    return Attrs(
        [(name, value) for name, value in call.attrs.items() if not _is_default(name, value, defaults)]
    )


def _is_default(name: str, value: object, defaults: dict[str, Any]) -> bool:
    if name not in defaults:
        return False
    default = defaults[name]
    return value is default or (type(value) is type(default) and bool(value == default))


def _call(out: Compact, call: e.Call, depth: int) -> list[Piece]:
    op = call.op
    if type(op) is e.OpRef:
        return _operator(out, call, op.name, depth)
    attrs = out.text.attrs(call.attrs, op) if call.attrs else ""
    return out.called(_callee(out, op), call.args, depth, attrs)


def _callee(out: Compact, callee: e.Expr) -> Piece:
    if type(callee) is e.GlobalVar:
        kind = out.classes(callee.name) if out.classes is not None else OpClass.OTHER
        return role(kind or OpClass.CALL), f"@{callee.name}"
    if type(callee) is e.ExternFunc:
        return role(of_packed(callee.name)), quoted(callee.name)
    if isinstance(callee, e.Var):
        return "call", out.names[callee]
    return "call", "".join([text for _, text in out.expr(callee, DEEPEST)])


def _operator(out: Compact, call: e.Call, name: str, depth: int) -> list[Piece]:
    kept = own_attributes(call)
    attrs = out.text.attrs(kept, call.op) if kept else ""
    if name in _KERNELS and len(call.args) >= 2:
        return out.called(_callee(out, call.args[0]), _spread(call.args[1:]), depth, attrs)
    if name in _CALLING and call.args:
        head: list[Piece] = [("keyword", _CALLING[name])] if _CALLING[name] else []
        return [*head, *out.called(_callee(out, call.args[0]), _spread(call.args[1:]), depth, attrs)]
    return out.called((role(of_operator(name)), name.removeprefix("relax.")), call.args, depth, attrs)


def _spread(args: Sequence[e.Expr]) -> list[e.Expr]:
    """The arguments of a kernel: the fields of its tuple, then the values of its shape variables."""
    spread: list[e.Expr] = []
    for arg in args:
        if type(arg) is e.Tuple:
            spread += arg.fields
        elif type(arg) is e.ShapeExpr and arg is not args[0]:
            spread += [e.PrimValue(value) for value in arg.values]
        else:
            spread.append(arg)
    return spread


def _tuple(out: Compact, expr: e.Tuple, depth: int) -> list[Piece]:
    end = ",)" if len(expr.fields) == 1 else ")"
    return [("muted", "("), *out.listed(expr.fields, depth), ("muted", end)]


def _field(out: Compact, expr: e.TupleGetItem, depth: int) -> list[Piece]:
    return [*out.expr(expr.tuple, depth + 1), ("muted", "["), ("number", str(expr.index)), ("muted", "]")]


def scalar(expr: e.Constant) -> str:
    """A constant of rank 0 with six digits; empty for others."""
    data = expr.data
    if data is None or data.ndim:
        return ""
    return f"{float(data[()]):.6g}" if data.dtype.kind not in "biu" else str(data[()])


def _constant(out: Compact, expr: e.Constant, depth: int) -> list[Piece]:
    number = scalar(expr)
    if number:
        return [("number", number)]
    return [("keyword", "const "), ("dimension", short_info(expr.struct_info))]


def _shape(out: Compact, expr: e.ShapeExpr, depth: int) -> list[Piece]:
    return [("muted", "["), ("dimension", out.text.prim.listed(expr.values)), ("muted", "]")]


def signature(out: Compact, name: str, fn: e.Function) -> list[Piece]:
    """`name(x: (n, 4) f32, …)`, with `impure` behind it."""
    shown = parameters((out.names[param], short_info(param.struct_info)) for param in fn.params)
    impure: list[Piece] = [("keyword", " impure")] if fn.pure is False else []
    return [("function", name), *shown, *impure]


def parameters(params: Iterable[tuple[str, str]]) -> list[Piece]:
    """`(x: (n, 4) f32, …)`, given names with their StructInfo, which may be empty."""
    pieces: list[Piece] = [("muted", "(")]
    for name, info in params:
        pieces += [_COMMA] if len(pieces) > 1 else []
        pieces.append(("var", name))
        pieces += [("muted", ": "), ("dimension", info)] if info else []
    return [*pieces, ("muted", ")")]


def _sequence(out: Compact, expr: e.SeqExpr, depth: int) -> list[Piece]:
    return [*([("muted", "…; ")] if expr.blocks else []), *out.expr(expr.body, depth + 1)]


_RULES: dict[type, Callable[[Compact, Any, int], list[Piece]]] = {
    e.Var: lambda out, x, depth: [("var", out.names[x])],
    e.DataflowVar: lambda out, x, depth: [("var", out.names[x])],
    e.GlobalVar: lambda out, x, depth: [("call", f"@{x.name}")],
    e.ExternFunc: lambda out, x, depth: [_callee(out, x)],
    e.OpRef: lambda out, x, depth: [(role(of_operator(x.name)), x.name.removeprefix("relax."))],
    e.Constant: _constant,
    e.ShapeExpr: _shape,
    e.PrimValue: lambda out, x, depth: [("dimension", out.text.prim.write(x.value))],
    e.StringImm: lambda out, x, depth: [("string", quoted(x.value))],
    e.DataTypeImm: lambda out, x, depth: [("string", str(x.value))],
    e.Tuple: _tuple,
    e.TupleGetItem: _field,
    e.Call: _call,
    e.If: lambda out, expr, depth: [("keyword", "if "), *out.expr(expr.condition, depth + 1)],
    e.Function: lambda out, fn, depth: signature(out, "function", fn),
    e.SeqExpr: _sequence,
}
