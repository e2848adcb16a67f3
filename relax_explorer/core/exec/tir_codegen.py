"""PrimFuncs as Python source for numba. No name and no string of the program gets into the text: variables are v0, buffers b0.

Arithmetic keeps TIR's dtypes: numba would widen float32 beside a Python float, and int32 beside anything. Elements of
float16, bfloat16 and float8 are computed as float32; the caller converts the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec import tir_memory, tir_packed
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, DType
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.expr import BufferLoad, BufferPtr, Let, PointerType
from relax_explorer.core.tir.intervals import Domains, inside

HEADER = """import math
import numpy as np
from numba import njit
from relax_explorer.core.exec.tir_support import at, floor_div, larger, nonzero, shift, smaller, trunc_div, trunc_mod


"""
_MATH: dict[str, str] = {
    "exp": "math.exp", "log": "np.log", "log2": "np.log2", "log10": "np.log10", "log1p": "np.log1p", "sqrt": "np.sqrt", "tanh": "math.tanh",
    "erf": "math.erf", "sin": "math.sin", "cos": "math.cos", "tan": "math.tan", "asin": "np.arcsin", "acos": "np.arccos",
    "atan": "math.atan", "sinh": "math.sinh", "cosh": "math.cosh", "asinh": "math.asinh", "acosh": "np.arccosh", "atanh": "np.arctanh",
    "atan2": "math.atan2", "pow": "np.power", "power": "np.power", "floor": "np.floor", "ceil": "np.ceil", "trunc": "np.trunc",
    "round": "np.rint", "nearbyint": "np.rint", "fabs": "abs", "abs": "abs", "fmod": "np.fmod", "exp2": "np.exp2", "expm1": "np.expm1",
}  # fmt: skip
_BITS: dict[str, str] = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_FORMS: dict[str, str] = {
    "if_then_else": "({1} if {0} else {2})", "likely": "{0}", "rsqrt": "({one} / np.sqrt({0}))",
    "sigmoid": "({one} / ({one} + {dtype}(math.exp(-{0}))))",
}  # fmt: skip
_TESTS: dict[str, str] = {"isnan": "np.isnan", "isinf": "np.isinf", "isfinite": "np.isfinite"}


def element(dtype: DType) -> str:
    """The numpy scalar type that elements of a dtype are computed in."""
    if dtype.is_bool:
        return "np.bool_"
    if dtype.is_int:
        return f"np.{dtype.name if dtype.bits >= 8 else ('int8' if dtype.kind == 'int' else 'uint8')}"
    return "np.float64" if dtype.name == "float64" else "np.float32"


def generate(fn: t.PrimFunc, cached: bool) -> str:
    """The source of a module whose `kernel` takes the parameters in order, then the shape variables in order.

    Raises Failure for what has no translation.
    """
    return _Generator(fn).source(cached)


def problem_text(fn: t.PrimFunc, error: Exception) -> str:
    """What an error says that a kernel raised: its arguments are numbers of accesses and assertions, in order."""
    found = _Generator(fn)
    found.source(False)
    if isinstance(error, AssertionError):
        return str(found.messages[error.args[0]])
    if isinstance(error, IndexError) and len(error.args) == 3:
        access, index, length = error.args
        buffer, axis = found.accesses[access]
        return f"an index of buffer {buffer.name} is {index}, its axis {axis} has length {length}"
    return str(error)


def shape_variables(fn: t.PrimFunc) -> list[p.PrimVar]:
    """The variables of the parameters' dimensions that are no parameters themselves."""
    scalars = {param for param in fn.params if isinstance(param, p.PrimVar)}
    dims = [dim for param in fn.params if isinstance(param, Buffer) for dim in param.shape]
    return [var for var in p.free_vars(*dims) if var not in scalars]


class _Generator:
    def __init__(self, fn: t.PrimFunc) -> None:
        self.fn = fn
        self.lines: list[str] = []
        self.names: dict[Any, str] = {}
        self.domains: Domains = {}
        self.accesses: list[tuple[Buffer, int]] = []  # what an index is checked for: the buffer and its axis
        self.messages: list[str] = []  # of the assertions
        self.calls_packed = False
        self.pointers: dict[p.PrimExpr, p.PrimExpr] = {}  # what pointer variables stand for

    def name(self, item: Any) -> str:
        """The name of a variable or buffer."""
        hit = self.names.get(item)
        if hit is None:
            hit = self.names[item] = f"{'b' if isinstance(item, Buffer) else 'v'}{len(self.names)}"
        return hit

    def line(self, depth: int, text: str) -> None:
        """Append a line."""
        self.lines.append("    " * depth + text)

    def refuse(self, what: str, place: Any = None) -> Failure:
        """The failure for something without translation."""
        where = place if getattr(place, "span", None) is not None else self.fn
        return Failure(
            Diagnostic(
                codes.NO_KERNEL,
                f"{what} has no translation to numba",
                (Label(where, "", True),),
                help=codes.NO_KERNEL.fix,
            )
        )

    def source(self, cached: bool) -> str:
        """The module's text."""
        params = [self.name(item) for item in (*self.fn.params, *shape_variables(self.fn))]
        self.statement(self.fn.body, 1)
        option = ", cache=True" if cached else ""
        body = self.lines or ["    pass"]
        header = (tir_packed.HEADER if self.calls_packed else "") + HEADER
        head = f'@njit(error_model="numpy"{option})', f"def kernel({', '.join(params)}):"
        return "\n".join([header + head[0], head[1], *body, ""])

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, node: t.Stmt, depth: int) -> None:
        """One statement."""
        rule = _STATEMENTS.get(type(node))
        if rule is None:
            raise self.refuse(f"the statement {type(node).__name__}", node)
        rule(self, node, depth)

    def _seq(self, node: t.SeqStmt, depth: int) -> None:
        for item in node.stmts:
            self.statement(item, depth)
        if not node.stmts:
            self.line(depth, "pass")

    def _for(self, node: t.For, depth: int) -> None:
        if node.kind == "thread_binding":
            raise self.refuse("a loop over GPU threads", node)
        chain, block = _reduction_nest(node)
        if block is not None:
            self._reduction(chain, block, depth)
            return
        self._loop(node, depth)
        self.statement(node.body, depth + 1)

    def _loop(self, node: t.For, depth: int) -> None:
        start, extent = self.expr(node.start), self.expr(node.extent)
        self._domain(node.var, node.start, node.extent)
        step = f", {self.expr(node.step)}" if node.step is not None else ""
        if isinstance(node.start, p.IntImm) and node.start.value == 0 and not step:
            self.line(depth, f"for {self.name(node.var)} in range({extent}):")
        else:
            self.line(depth, f"for {self.name(node.var)} in range({start}, {start} + {extent}{step}):")

    def _domain(self, var: p.PrimVar, start: p.PrimExpr, extent: p.PrimExpr) -> None:
        from relax_explorer.core.tir.intervals import interval

        low, high = interval(start, self.domains), interval(extent, self.domains)
        if low is not None and high is not None:
            self.domains[var] = (low[0], p.Sub(p.Add(low[1], high[1]), p.IntImm(1)))

    def _reduction(self, chain: list[t.For], block: t.SBlock, depth: int) -> None:
        """init in loops of its own; then the innermost spatial loop moved inside the reduction, which keeps its order."""
        reduce_vars = {
            value
            for axis, value in zip(block.iter_vars, block.iter_values, strict=True)
            if axis.kind == "reduce"
        }
        spatial = [loop for loop in chain if loop.var not in reduce_vars]
        inner = [loop for loop in chain if loop.var in reduce_vars]
        at = depth
        for loop in spatial:
            self._loop(loop, at)
            at += 1
        self._axes(block, at, {axis.var for axis in block.iter_vars if axis.kind != "reduce"})
        assert block.init is not None  # the nest was found by it
        self.statement(block.init, at)
        at = depth
        for loop in (*spatial[:-1], *inner, *spatial[-1:]):
            self._loop(loop, at)
            at += 1
        self._axes(block, at, None)
        self.statement(block.body, at)

    def _axes(self, block: t.SBlock, depth: int, wanted: set[p.PrimVar] | None) -> None:
        for axis, value in zip(block.iter_vars, block.iter_values, strict=True):
            if wanted is None or axis.var in wanted:
                self.line(depth, f"{self.name(axis.var)} = {self.expr(value)}")
                self._axis_domain(axis, value)

    def _axis_domain(self, axis: t.IterVar, value: p.PrimExpr) -> None:
        from relax_explorer.core.tir.intervals import interval

        found = interval(value, self.domains)
        if found is not None:
            self.domains[axis.var] = found

    def _block(self, node: t.SBlock, depth: int) -> None:
        self._axes(node, depth, None)
        if node.predicate is not None:
            self.line(depth, f"if {self.expr(node.predicate)}:")
            depth += 1
        for buffer in node.alloc_buffers:
            self._allocate(buffer, depth)
        if node.match_buffers:
            raise self.refuse("T.match_buffer inside a block", node)
        if node.init is not None:
            starts = [
                f"{self.name(axis.var)} == {self.expr(axis.domain.start)}"
                for axis in node.iter_vars
                if axis.kind == "reduce"
            ]
            self.line(depth, f"if {' and '.join(starts) or 'True'}:")
            self.statement(node.init, depth + 1)
        self.statement(node.body, depth)

    def _allocate(self, buffer: Buffer, depth: int) -> None:
        shape = ", ".join([self.expr(dim) for dim in buffer.shape])
        self.line(
            depth,
            f"{self.name(buffer)} = np.empty(({shape}{',' if len(buffer.shape) == 1 else ''}), {element(buffer.dtype)})",
        )

    def _alloc(self, node: t.AllocBuffer, depth: int) -> None:
        buffer = node.buffer
        if buffer.is_scalar:
            self.line(depth, f"{self.name(buffer)} = {element(buffer.dtype)}(0)")
            return
        if buffer.data is None:
            self._allocate(buffer, depth)
            return
        pointer = self.pointers.get(buffer.data, buffer.data)
        text = tir_memory.view(buffer, pointer, self.expr(buffer.data), self.expr)
        if text is None:
            raise self.refuse(f"{buffer.name}, a view with strides or of another dtype,", node)
        self.line(depth, f"{self.name(buffer)} = {text}")

    def _store(self, node: t.BufferStore, depth: int) -> None:
        self.line(depth, f"{self.place(node.buffer, node.indices)} = {self.expr(node.value)}")

    def _evaluate(self, node: t.Evaluate, depth: int) -> None:
        value = node.value
        if isinstance(value, p.PrimCall) and value.op == "ret":
            self.line(depth, f"return {self.expr(value.args[0])}")
            return
        packed = tir_packed.packed_call(value, self.name, self.expr)
        self.calls_packed = self.calls_packed or packed is not None
        if packed is None and not _is_idle(value):
            raise self.refuse(f"{_effect(value)}, evaluated for its effect,", node)
        self.line(depth, packed or "pass")

    def _let(self, node: t.LetStmt, depth: int) -> None:
        self.line(depth, f"{self.name(node.var)} = {self.expr(node.value)}")
        if node.var.dtype is HANDLE:
            self.pointers[node.var] = self.pointers.get(node.value, node.value)

    def _if(self, node: t.IfThenElse, depth: int) -> None:
        self.line(depth, f"if {self.expr(node.condition)}:")
        self.statement(node.then_case, depth + 1)
        if node.else_case is not None:
            self.line(depth, "else:")
            self.statement(node.else_case, depth + 1)

    def _while(self, node: t.While, depth: int) -> None:
        self.line(depth, f"while {self.expr(node.condition)}:")
        self.statement(node.body, depth + 1)

    def _attr(self, node: t.AttrStmt, depth: int) -> None:
        if node.key == "launch_thread":
            raise self.refuse("a launched GPU thread", node)
        self.statement(node.body, depth)

    def _assert(self, node: t.AssertStmt, depth: int) -> None:
        self.line(depth, f"if not ({self.expr(node.condition)}):")
        self.line(depth + 1, f"raise AssertionError({len(self.messages)})")
        self.messages.append(node.message)

    # -- expressions ----------------------------------------------------------------------------------------------

    def place(self, buffer: Buffer, indices: tuple[p.PrimExpr, ...]) -> str:
        """An element of a buffer, each index checked unless it is proven to lie inside."""
        if buffer.is_scalar:
            if not all(isinstance(index, p.IntImm) and index.value == 0 for index in indices):
                raise self.refuse(f"an element of the scalar {buffer.name}")
            return self.name(buffer)
        if not buffer.shape:
            return f"{self.name(buffer)}[()]"
        parts = []
        for number, (index, length) in enumerate(zip(indices, buffer.shape, strict=True)):
            text = self.expr(index)
            if not inside(index, length, self.domains):
                text = f"at({text}, {self.name(buffer)}.shape[{number}], np.int32({len(self.accesses)}))"
                self.accesses.append((buffer, number))
            parts.append(text)
        return f"{self.name(buffer)}[{', '.join(parts)}]"

    def expr(self, expr: p.PrimExpr) -> str:
        """An expression."""
        rule = _EXPRESSIONS.get(type(expr))
        if rule is None:
            raise self.refuse(f"the expression {type(expr).__name__}")
        return rule(self, expr)

    def typed(self, expr: p.PrimExpr, text: str) -> str:
        """Arithmetic of a dtype that numba would widen, brought back to it."""
        wide = expr.dtype.name in ("int64", "float32", "float64", "bool") or not (
            expr.dtype.is_int or expr.dtype.is_float
        )
        return f"({text})" if wide else f"{element(expr.dtype)}({text})"

    def _literal(self, expr: p.IntImm | p.FloatImm) -> str:
        if expr.dtype.is_bool:
            return str(bool(expr.value))
        if isinstance(expr, p.IntImm):
            return str(expr.value) if expr.dtype.name == "int64" else f"{element(expr.dtype)}({expr.value})"
        text = repr(float(expr.value))
        special = {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}.get(text, text)
        return f"{element(expr.dtype)}({special})"

    def _binary(self, expr: p.Binary) -> str:
        return self.typed(expr, f"{self.expr(expr.a)} {expr.symbol} {self.expr(expr.b)}")

    def _div(self, expr: p.Div) -> str:
        a, b = self.expr(expr.a), self.expr(expr.b)
        if expr.dtype.kind == "uint":  # beside a signed number numba would make it a float
            return self.typed(expr, f"{a} // nonzero({b})")
        return self.typed(expr, f"{a} / {b}" if not expr.dtype.is_int else f"trunc_div({a}, {b})")

    def _floor(self, expr: p.Binary) -> str:
        b = self.expr(expr.b)
        safe = isinstance(expr.b, p.IntImm) and expr.b.value > 0
        if not safe and isinstance(expr, p.FloorDiv) and expr.dtype.kind == "int":
            return self.typed(expr, f"floor_div({self.expr(expr.a)}, {b})")
        return self.typed(
            expr,
            f"{self.expr(expr.a)} {expr.symbol} {b if safe or not expr.dtype.is_int else f'nonzero({b})'}",
        )

    def _mod(self, expr: p.Mod) -> str:
        a, b = self.expr(expr.a), self.expr(expr.b)
        if expr.dtype.kind == "uint":
            return self.typed(expr, f"{a} % nonzero({b})")
        return self.typed(expr, f"trunc_mod({a}, {b})" if expr.dtype.is_int else f"np.fmod({a}, {b})")

    def _cast(self, expr: p.Cast) -> str:
        value = self.expr(expr.value)
        if expr.dtype.is_bool:
            return f"({value} != 0)"
        return f"{element(expr.dtype)}({value})"

    def _select(self, expr: p.Select) -> str:
        return f"({self.expr(expr.true_value)} if {self.expr(expr.condition)} else {self.expr(expr.false_value)})"

    def _call(self, expr: p.PrimCall) -> str:
        read = tir_memory.field(expr, self.name) if expr.op == "tvm_struct_get" else None
        if read is not None:
            return read
        if any(isinstance(arg, (p.PrimString, PointerType)) for arg in expr.args):
            raise self.refuse(f"the intrinsic T.{expr.op}")
        args = [self.expr(arg) for arg in expr.args]
        if expr.op in _FORMS:
            return _FORMS[expr.op].format(*args, one=f"{element(expr.dtype)}(1)", dtype=element(expr.dtype))
        if expr.op in _MATH:
            return f"{element(expr.dtype)}({_MATH[expr.op]}({', '.join(args)}))"
        if expr.op in _TESTS:
            return f"{_TESTS[expr.op]}({args[0]})"
        if expr.op in _BITS:
            return self.typed(expr, f"{args[0]} {_BITS[expr.op]} {args[1]}")
        if expr.op in ("shift_left", "shift_right"):
            symbol = "<<" if expr.op == "shift_left" else ">>"
            return self.typed(expr, f"{args[0]} {symbol} shift({args[1]}, {expr.dtype.bits})")
        if expr.op == "bitwise_not":
            return self.typed(expr, f"~{args[0]}")
        if expr.op == "isnullptr" and type(expr.args[0]) is p.PrimVar and expr.args[0] in self.pointers:
            return "False"  # memory of buffers, lengths and strides are there
        raise self.refuse(f"the intrinsic T.{expr.op}")

    def _pointer(self, expr: BufferPtr) -> str:
        if expr.how != "data":
            raise self.refuse(f"the expression {expr}")
        return f"{self.name(expr.buffer)}.reshape(-1)"

    def _let_expr(self, expr: Let) -> str:
        from relax_explorer.core.ir.prim import substitute

        return self.expr(substitute(expr.body, {expr.var: expr.value}))


def _is_idle(value: p.PrimExpr) -> bool:
    """Whether nothing comes of evaluating an expression."""
    return isinstance(value, (p.IntImm, p.PrimVar)) or (
        isinstance(value, p.PrimCall) and value.op == "assume"
    )


def _effect(value: p.PrimExpr) -> str:
    """What is evaluated, in a few words."""
    if isinstance(value, p.PrimCall) and value.op == "call_packed" and value.args:
        return f"a call of {value.args[0]}"
    return f"{str(value)[:60]}"


def _reduction_nest(node: t.For) -> tuple[list[t.For], t.SBlock | None]:
    """The loops of a plain reduction and its block: every axis is a loop of its own, from 0, and nothing else is there."""
    chain: list[t.For] = []
    current: t.Stmt = node
    while type(current) is t.For and current.kind != "thread_binding" and current.step is None:
        if not isinstance(current.start, p.IntImm) or current.start.value:
            return chain, None
        chain.append(current)
        current = current.body
    if (
        type(current) is not t.SBlock
        or current.init is None
        or current.predicate is not None
        or current.alloc_buffers
    ):
        return chain, None
    loops = [loop.var for loop in chain]
    plain = (
        sorted(map(id, current.iter_values)) == sorted(map(id, loops)) and type(current.body) is t.BufferStore
    )
    bound = set(loops)
    square = all(not bound & set(p.free_vars(loop.extent)) for loop in chain)
    has_reduce = any(axis.kind == "reduce" for axis in current.iter_vars)
    return chain, current if plain and square and has_reduce else None


_STATEMENTS: dict[type, Callable[[_Generator, Any, int], None]] = {
    t.SeqStmt: _Generator._seq,
    t.For: _Generator._for,
    t.SBlock: _Generator._block,
    t.AllocBuffer: _Generator._alloc,
    t.BufferStore: _Generator._store,
    t.Evaluate: _Generator._evaluate,
    t.LetStmt: _Generator._let,
    t.IfThenElse: _Generator._if,
    t.While: _Generator._while,
    t.AttrStmt: _Generator._attr,
    t.AssertStmt: _Generator._assert,
}
_EXPRESSIONS: dict[type, Callable[[_Generator, Any], str]] = {
    p.PrimVar: lambda g, x: g.name(x),
    p.IntImm: _Generator._literal,
    p.FloatImm: _Generator._literal,
    BufferLoad: lambda g, x: g.place(x.buffer, x.indices),
    BufferPtr: _Generator._pointer,
    p.Div: _Generator._div,
    p.FloorDiv: _Generator._floor,
    p.FloorMod: _Generator._floor,
    p.Mod: _Generator._mod,
    p.Max: lambda g, x: f"larger({g.expr(x.a)}, {g.expr(x.b)})",
    p.Min: lambda g, x: f"smaller({g.expr(x.a)}, {g.expr(x.b)})",
    p.Not: lambda g, x: f"(not {g.expr(x.a)})",
    p.Cast: _Generator._cast,
    p.Select: _Generator._select,
    p.PrimCall: _Generator._call,
    Let: _Generator._let_expr,
    **dict.fromkeys(
        (p.Add, p.Sub, p.Mul, p.EQ, p.NE, p.LT, p.LE, p.GT, p.GE, p.And, p.Or), _Generator._binary
    ),
}
