"""A program with contracts as Relax: matches bind and compare lengths, assertions check the rest (note 004 and errata E-41).

Each length gets a variable of its own, since a match_cast binds whole dimensions only: `m * 4` becomes a fresh variable and an
assertion that 4 divides it. Relax has no variable for an element type, so a packed function compares those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.contract_tree import Environment, Guard, guards
from relax_explorer.core.shapes.primitives import IMPLEMENTATIONS, how_to_compute
from relax_explorer.core.source import Span

SAME_DTYPE = "rxe.shapes.same_dtype"
_OPERATORS = {
    name: f"R.{name}({{0}}, {{1}})" for name in ("add", "subtract", "multiply", "maximum", "matmul")
}
_SORTS = {"Size": "T.int64", "Shape": "R.Shape"}
Packed = Callable[..., object]


@dataclass
class Lowered:
    """The text of a Relax module, and the packed functions that it calls by name; a run needs them registered.

    `places` has, for each function, the places in the notation that its bindings come from, in order.
    """

    text: str
    packed: dict[str, Packed] = field(default_factory=dict)
    places: dict[str, list[Span | None]] = field(default_factory=dict)


def lower(program: c.Program, terms: c.Terms) -> Lowered:
    """A Relax module with one function for each function, and `main` over the values that only the run knows.

    Raises Failure for what Relax cannot express, such as a branch.
    """
    found = Lowered("", {SAME_DTYPE: same_dtype})
    names = program.functions
    parts = [_Function(terms, found, name, names).function(fn) for name, fn in program.functions.items()]
    parts.append(_Function(terms, found, "main", names).main(program))
    body = "\n\n".join("\n".join(f"    {line}" for line in part) for part in parts)
    found.text = f"@I.ir_module\nclass Module:\n{body}\n"
    return found


def same_dtype(*arrays: np.ndarray[Any, Any]) -> tuple[()]:
    """Raises ValueError if two arrays have different element types."""
    kinds = {array.dtype.name for array in arrays}
    if len(kinds) > 1:
        raise ValueError(f"the element types {' and '.join(sorted(kinds))} differ")
    return ()


class _Function:
    """The lines of one function. `names` tells which variable of Relax has a value now."""

    def __init__(
        self, terms: c.Terms, found: Lowered, name: str, functions: Mapping[str, c.Function]
    ) -> None:
        self.terms, self.found, self.name, self.functions = terms, found, name, functions
        self.names: dict[str, str] = {}
        self.lines: list[str] = []
        self.places = found.places.setdefault(name, [])  # of the lines
        self.place: Span | None = None  # of what is lowered now
        self.lengths: dict[p.PrimVar, p.PrimExpr] = {}
        self.sizes: list[str] = []
        self.taken: set[str] = set()
        self.shapes: set[str] = set()  # variables that hold shapes

    def function(self, function: c.Function) -> list[str]:
        """Parameters, their contract, the body, the contract of the result."""
        env = Environment()
        params = [self.free(q.name) for q in function.params]
        for q, name in zip(function.params, params, strict=True):
            self.names[q.name] = name
            self.hold(q.name, q.type, env, q.span)
        if function.body is None or isinstance(function.body.value, c.Opaque):
            value = self.packed(function.name, [self.names[q.name] for q in function.params], function.span)
        else:
            for statement in function.body.statements:
                self.statement(statement, env)
            self.place = getattr(function.body.value, "span", None) or function.span
            value = self.value(function.body.value)
        self.names["out"] = self.bind(value)
        self.hold("out", function.ret, env, function.span)
        head = self.head(params, [q.type for q in function.params], function.span)
        return self.whole(f"def {self.name}({head}):", self.names["out"], True)

    def main(self, program: c.Program) -> list[str]:
        """The statements; a value that only the run knows is a parameter."""
        env = Environment()
        inputs = [
            item for item in program.main if isinstance(item, c.Let) and isinstance(item.value, c.Opaque)
        ]
        params = [self.free(item.name) for item in inputs]
        self.names.update(zip([item.name for item in inputs], params, strict=True))
        for item in program.main:
            if isinstance(item, c.Let) and isinstance(item.value, c.Opaque):
                if item.type is not None:
                    self.hold(item.name, item.type, env, item.span)
            else:
                self.statement(item, env)
        lets = [self.names[item.name] for item in program.main if isinstance(item, c.Let)]
        head = self.head(params, [item.type for item in inputs], None)
        return self.whole(f"def main({head}):", f"({', '.join(lets)},)", False)

    def head(self, params: Sequence[str], kinds: Sequence[c.SweetType | None], place: Span | None) -> str:
        """The parameters of a function: tensors, sizes and shapes."""
        sorts = [kind.name if isinstance(kind, c.Sort) else "" for kind in kinds]
        if "DType" in sorts:
            self.refuse("Relax has no variable for an element type", place)
        written = [_SORTS.get(sort, "R.Tensor") for sort in sorts]
        return ", ".join(f"{name}: {kind}" for name, kind in zip(params, written, strict=True))

    def whole(self, head: str, result: str, is_private: bool) -> list[str]:
        """The lines of a function with its decorator and size variables."""
        sizes = [f"    {name} = T.int64()" for name in self.sizes]
        options = "private=True, pure=False" if is_private else "pure=False"
        return [
            f"@R.function({options})",
            head,
            *sizes,
            *[f"    {line}" for line in self.lines],
            f"    return {result}",
        ]

    def statement(self, item: c.Let | c.Assert, env: Environment) -> None:
        """A let with its annotation, or an assertion."""
        self.place = item.span
        if isinstance(item, c.Assert):
            self.check(Guard(item.condition, ""))
            return
        self.names[item.name] = self.bind(self.value(item.value), item.name)
        if item.type is not None:
            self.hold(item.name, item.type, env, item.span)

    def bind(self, text: str, wish: str = "v") -> str:
        """Bind an expression to a new variable."""
        name = self.free(wish)
        self.add(f"{name} = {text}")
        return name

    def add(self, line: str) -> None:
        """Add a line, which is one binding."""
        self.lines.append(line)
        self.places.append(self.place)

    def free(self, wish: str) -> str:
        """A name that nothing has yet; inputs and parameters keep theirs. Relax has no `x'`."""
        wish = name = wish.replace("'", "_")
        number = 0
        while name in self.taken:
            number += 1
            name = f"{wish}_{number}"
        self.taken.add(name)
        return name

    def value(self, expr: c.Expr) -> str:
        """An expression of Relax."""
        if isinstance(expr, c.Name):
            return self.names[expr.name]
        if isinstance(expr, c.Literal) and isinstance(expr.value, np.ndarray):
            return f'R.const({expr.value.tolist()}, "{expr.value.dtype.name}")'
        if isinstance(expr, c.Call):
            self.refuse_numbers(expr)
            args = [
                self.value(arg) if isinstance(arg, c.Name) else self.bind(self.value(arg))
                for arg in expr.args
            ]
            return self.call(expr, args)
        if isinstance(expr, c.Literal) and type(expr.value) is int:
            return f"R.prim_value({expr.value})"
        if isinstance(expr, c.Literal) and isinstance(expr.value, tuple):
            return f"R.shape([{', '.join(map(str, expr.value))}])"
        self.refuse(f"{type(expr).__name__} has no form in Relax here", getattr(expr, "span", None))

    def refuse_numbers(self, call: c.Call) -> None:
        """Raise Failure for a number or shape where no size or shape is expected."""
        function = self.functions.get(call.function)
        kinds = [q.type for q in function.params] if function is not None else [None] * len(call.args)
        for arg, kind in zip(call.args, kinds, strict=False):
            is_told = isinstance(arg, c.Literal) and isinstance(arg.value, int | tuple)
            if is_told and not isinstance(kind, c.Sort):
                self.refuse("Literal has no form in Relax here", call.span)

    def call(self, call: c.Call, args: list[str]) -> str:
        """A call of a function of the program, of an operator, or of what computes a primitive."""
        if call.function in self.functions:
            return f"Module.{call.function}({', '.join(args)})"
        if call.function == "concat":
            return f"R.concat(({', '.join(args)},), axis={call.attrs.get('axis', 0)})"
        if call.function in _OPERATORS and len(args) == 2:
            return _OPERATORS[call.function].format(*args)
        if call.attrs:
            self.refuse(f"@{call.function} has attributes, which a packed function does not take", call.span)
        return self.packed(call.function, args, call.span)

    def packed(self, name: str, args: list[str], place: Span | None) -> str:
        """A call of the implementation that is registered for a primitive."""
        implementation = IMPLEMENTATIONS.get(name)
        if implementation is None:
            self.refuse(f"nothing computes @{name}", place, how_to_compute(name))
        self.found.packed[f"rxe.shapes.{name}"] = implementation
        return f'R.call_packed("rxe.shapes.{name}", {", ".join(args)}, sinfo_args=R.Tensor)'

    # -- contracts ---------------------------------------------------------------------------------------------------

    def hold(self, name: str, kind: c.SweetType, env: Environment, place: Span | None) -> None:
        """Match a value with its type: a match_cast, then assertions."""
        self.place = place
        if isinstance(kind, c.Scalar):
            kind = c.TensorType((), kind.dtype)
        demanded = list(guards(name, kind, env, self.terms, place))
        if isinstance(kind, c.Sort):
            self.hold_sort(name, kind, demanded)
            return
        if not isinstance(kind, c.TensorType) or kind.is_plain:
            return
        element = f'"{kind.dtype.name}"' if isinstance(kind.dtype, DType) else ""
        if isinstance(kind.shape, tuple):
            compared = {guard.axis: guard for guard in demanded if self.is_matched(guard)}
            dims = []
            for axis in range(len(kind.shape)):
                dim = self.wanted(compared[axis]) if axis in compared else self.length(name, axis)
                self.lengths[self.terms.dim(name, axis)] = dim
                dims.append(f"{dim}, ")
            shape = f"({''.join(dims)})" + (f", {element}" if element else "")
            self.names[name] = self.bind(f"R.match_cast({self.names[name]}, R.Tensor({shape}))", name)
            demanded = [guard for guard in demanded if guard not in compared.values()]
        elif isinstance(kind.shape, c.ShapeName) and env.shapes[kind.shape.name] in self.shapes:
            owner = self.names[env.shapes[kind.shape.name]]
            shape = f"{owner}, {element}" if element else owner
            self.names[name] = self.bind(f"R.match_cast({self.names[name]}, R.Tensor({shape}))", name)
            demanded = [guard for guard in demanded if not isinstance(guard.condition, c.SameShape)]
        elif element:
            self.names[name] = self.bind(f"R.match_cast({self.names[name]}, R.Tensor(dtype={element}))", name)
        for guard in demanded:
            self.check(guard)

    def hold_sort(self, name: str, kind: c.Sort, demanded: Sequence[Guard]) -> None:
        """A size is a length by its name; a shape is matched by what has it."""
        if kind.name == "Shape":
            self.shapes.add(name)
        elif kind.variable is not None:
            self.lengths[self.terms.dim(name, 0)] = p.PrimVar(self.names[name])
        for guard in demanded:
            self.check(guard)

    def is_matched(self, guard: Guard) -> bool:
        """True if a match_cast compares what a guard asserts: that a whole dimension is a known length."""
        condition = guard.condition
        return (
            guard.axis >= 0
            and isinstance(condition, p.EQ)
            and condition.a is self.terms.dim(guard.name, guard.axis)
        )

    def wanted(self, guard: Guard) -> p.PrimExpr:
        """The length that a guard asserts, in the variables of this function."""
        assert isinstance(guard.condition, p.EQ)
        return p.substitute(guard.condition.b, self.lengths)

    def length(self, name: str, axis: int) -> p.PrimExpr:
        """A new variable for a length."""
        text = self.free(f"{name}_dim{axis}")
        self.sizes.append(text)
        return p.PrimVar(text)

    def check(self, guard: Guard) -> None:
        """Assert a condition that no match_cast compares."""
        condition = guard.condition
        if isinstance(condition, c.SameDType):
            if isinstance(condition.left, str) and isinstance(condition.right, str):
                names = f"{self.names[condition.left]}, {self.names[condition.right]}"
                self.add(f'_ = R.call_packed("{SAME_DTYPE}", {names}, sinfo_args=R.Tuple())')
        elif isinstance(condition, p.PrimExpr):
            ranks = [var for var in p.free_vars(condition) if self.terms.parts.get(var, ("", 0))[1] < 0]
            unknown = [
                var for var in p.free_vars(condition) if var in self.terms.parts and var not in self.lengths
            ]
            if not ranks and unknown:
                name = self.terms.parts[unknown[0]][0]
                self.refuse(
                    f"{name} has no type that tells its lengths; write `let {name} : Tensor([…], …)`",
                    self.place,
                )
            if not ranks:
                text = str(p.substitute(condition, self.lengths))
                self.add(f'_ = R.assert_op(R.prim_value({text}), format="{guard.condition}")')
        else:
            self.refuse(f"{condition} has no form in Relax", None)

    def refuse(self, text: str, place: Span | None, help: str = "") -> NoReturn:
        """Raise Failure."""
        label = (Label(place, "", True),) if place is not None else ()
        help = help or "Run it as it is; this part cannot be lowered."
        raise Failure(Diagnostic(codes.NOTATION, text, label, help=help))
