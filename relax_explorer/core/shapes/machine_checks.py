"""The checks of a function in virtual machine form: what its builtins compare, and what is known of its values.

There lengths lie on a shape heap, so that StructInfo tells little. The heap is followed slot by slot: `match_shape` stores
lengths of values, PrimFuncs compute further ones, and `make_shape` makes the shapes of new tensors of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.conditions import Demand
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad

NUMBER, STORE, NOTHING, SLOT = 0, 1, 2, 3
"""What `match_shape` does with a length: compare it with a number, store it, nothing, or compare it with a slot."""

_PREFIX = "vm.builtin."
_READERS = frozenset({"match_shape", "match_prim_value", "make_shape", "make_prim_value"})  # of the heap
_SAME = frozenset(
    {"vm.builtin.ensure_aligned", "relax.memory.ensure_zero_offset", "vm.builtin.ensure_zero_offset"}
)
TENSOR, SHAPE, SCALAR, TUPLE, FUNCTION = (
    p.PrimVar(name) for name in ("tensor", "shape", "scalar", "tuple", "function")
)


def callee_name(value: e.Expr) -> str:
    """The name of the operator or packed function that a value calls, also with the context of the machine; "" for others."""
    if not isinstance(value, e.Call):
        return ""
    op = value.args[0] if value.op is e.op_ref("relax.call_builtin_with_ctx") else value.op
    return op.name if isinstance(op, (e.ExternFunc, e.OpRef)) else ""


def is_lowered(fn: e.Function) -> bool:
    """True if the function begins with a shape heap. Without lengths the heap is a null value in front of the checks.

    Without parameters it is a null value that nothing but builtins reads.
    """
    first = [binding for block in fn.body.blocks[:1] for binding in block.bindings[:2]]
    names = [callee_name(binding.value) for binding in first]
    if names[:1] == ["vm.builtin.alloc_shape_heap"]:
        return True
    if names[:1] != ["relax.null_value"]:
        return False
    if fn.params:
        return len(names) > 1 and names[1].startswith("vm.builtin.check_")
    heap = first[0].var
    values = [value for value in (*[b.value for b in bindings(fn)], fn.body.body) if heap in variables(value)]
    return all(callee_name(value).startswith("vm.builtin.") for value in values)


@dataclass
class _Made:
    """A tensor or shape that the function makes itself."""

    dims: tuple[p.PrimExpr, ...]
    kind: p.PrimVar
    dtype: str
    place: e.Binding


@dataclass
class MachineState:
    """What is known at a place of a lowered function: the slots of the heap, and where values come from.

    `called` names a value. No fact is kept here: the caller proves the demands, and adds them to what it knows.
    """

    functions: Mapping[str, object]
    slots: dict[int, p.PrimExpr] = field(default_factory=dict)
    _roots: dict[e.Expr, e.Expr] = field(default_factory=dict)
    _fields: dict[tuple[e.Expr, int], e.Expr] = field(default_factory=dict)
    _made: dict[e.Expr, _Made] = field(default_factory=dict)
    _terms: dict[tuple[e.Expr, str], p.PrimVar] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)
    _dtypes: dict[str, p.PrimVar] = field(default_factory=dict)
    _heap: e.Expr | None = None

    # -- values ----------------------------------------------------------------------------------------------------

    def root(self, value: e.Expr) -> e.Expr:
        """The value that a variable is a copy of, or the first variable with the same field of a tuple."""
        return self._roots.get(value, value)

    def term(self, value: e.Expr, what: str) -> p.PrimVar:
        """The variable that stands for the rank, the dtype, or a length of a value."""
        key = self.root(value), what
        found = self._terms.get(key)
        if found is None:
            name = value.name if isinstance(value, e.Var) else "the value"
            if (key[0], "") not in self._terms:
                earlier = self._names.get(name, 0)
                self._names[name] = earlier + 1
                self._terms[key[0], ""] = p.PrimVar(f"{name}'{earlier + 1}" if earlier else name)
            found = self._terms[key] = p.PrimVar(f"{self._terms[key[0], ''].name}.{what}", INT64)
        return found

    def length(self, value: e.Expr, axis: int) -> p.PrimVar:
        """The variable that stands for a length."""
        return self.term(value, f"shape[{axis}]")

    def bind(self, binding: e.Binding) -> None:
        """Note what a binding tells of its variable."""
        var, value = binding.var, binding.value
        if var is None:
            return
        name = callee_name(value)
        if isinstance(value, e.Var) or isinstance(binding, e.MatchCast):
            self._roots[var] = self.root(value)
        elif isinstance(value, e.TupleGetItem):
            source = self.root(value.tuple)
            known = self._fields.setdefault((source, value.index), var)
            self._roots[var] = self.root(known)
        elif isinstance(value, e.Tuple):
            self._fields |= {(var, n): self.root(one) for n, one in enumerate(value.fields)}
        elif isinstance(value, e.Call) and name in ("vm.builtin.alloc_shape_heap", "relax.null_value"):
            self._heap = var if self._heap is None else self._heap
        elif isinstance(value, e.Call) and name in _SAME and value.args:
            self._roots[var] = self.root(value.args[0])
        elif isinstance(value, e.Call):
            self._bind_made(var, value, name, binding)

    def _bind_made(self, var: e.Var, call: e.Call, name: str, place: e.Binding) -> None:
        args = call.args
        if name == "vm.builtin.make_shape" and len(args) > 1 and args[0] is self._heap:
            numbers = [number_of(arg) for arg in args[2:]]
            pairs = zip(numbers[::2], numbers[1::2], strict=False)
            dims = [
                p.IntImm(n) if source == 0 and n is not None else self.slots.get(n if n is not None else -1)
                for source, n in pairs
            ]
            self._note(var, dims, SHAPE, "", place)
        elif name == "relax.vm.alloc_tensor" and len(args) > 3:
            self._note(var, self._dims_of(args[2]), TENSOR, _dtype(args[3]), place)
        elif name == "relax.builtin.alloc_tensor" and len(args) > 1:
            self._note(var, self._dims_of(args[0]), TENSOR, _dtype(args[1]), place)

    def lengths(self, shape: e.Expr) -> tuple[p.PrimExpr, ...] | None:
        """The lengths of a shape, as it is written or as the function made it of the heap."""
        if isinstance(shape, e.ShapeExpr):
            return shape.values
        made = self._made.get(self.root(shape))
        return None if made is None else made.dims

    def _dims_of(self, shape: e.Expr) -> Sequence[p.PrimExpr | None]:
        if isinstance(shape, e.ShapeExpr):
            return shape.values if all(isinstance(dim, p.IntImm) for dim in shape.values) else [None]
        made = self._made.get(self.root(shape))
        return [None] if made is None else made.dims

    def _note(
        self, var: e.Var, dims: Sequence[p.PrimExpr | None], kind: p.PrimVar, dtype: str, place: e.Binding
    ) -> None:
        known = tuple([dim for dim in dims if dim is not None])
        if len(known) == len(dims):
            self._made[var] = _Made(known, kind, dtype, place)

    def made_lengths(self, value: e.Expr) -> tuple[p.PrimExpr, ...] | None:
        """The lengths of a tensor or shape that the function makes itself; None if they are not known."""
        made = self._made.get(self.root(value))
        return None if made is None else made.dims

    def facts_with(self, value: e.Expr, facts: Assumptions) -> Assumptions:
        """What is known, with what is known of a value because the function made it so."""
        made = self._made.get(self.root(value))
        if made is None or facts.value(self.term(value, "kind")) is not None:
            return facts
        new = [(self.term(value, "kind"), made.kind), (self.term(value, "rank"), p.IntImm(len(made.dims)))]
        new += [(self.term(value, "dtype"), self._element(made.dtype))] if made.dtype else []
        new += [(self.length(value, axis), dim) for axis, dim in enumerate(made.dims)]
        for term, is_ in new:
            facts = facts.plus(p.EQ(term, is_), "it is made so", made.place)
        return facts

    def _element(self, dtype: str) -> p.PrimVar:
        return self._dtypes.setdefault(dtype, p.PrimVar(dtype))

    # -- checks ----------------------------------------------------------------------------------------------------

    def checked(self, binding: e.Binding) -> e.Expr | None:
        """The value that a binding checks."""
        args = binding.value.args if isinstance(binding.value, e.Call) else ()
        is_check = callee_name(binding.value).startswith((f"{_PREFIX}check_", f"{_PREFIX}match_"))
        return args[0] if is_check and args else None

    def demands(self, binding: e.Binding) -> Iterator[Demand]:
        """The conditions of a check, in order. What it stores is on the heap after its turn."""
        call = binding.value
        if not isinstance(call, e.Call):
            return
        name, args = callee_name(call).removeprefix(_PREFIX), call.args
        if name == "match_shape" and len(args) > 2 and args[1] is self._heap:
            count = number_of(args[2])
            if count is None:
                return
            yield self._is(args[0], "rank", p.IntImm(count))
            yield from self._lengths(
                args[0], [number_of(arg) for arg in args[3:] if isinstance(arg, e.PrimValue)]
            )
        elif name == "match_prim_value" and len(args) > 3:
            self.slots.pop(number_of(args[3]) or 0, None)  # a scalar may be negative, which no length is
        elif name in _KINDS and args:
            yield self._is(args[0], "kind", _KINDS[name])
            rest = args[1:]  # the last one tells where the check comes from
            rank = next((n for n in map(number_of, rest) if n is not None), None)
            if rank is not None and rank >= 0:
                yield self._is(args[0], "size" if name == "check_tuple_info" else "rank", p.IntImm(rank))
            for dtype in filter(None, map(_dtype, rest)):
                yield self._is(args[0], "dtype", self._element(dtype))

    def _is(self, value: e.Expr, what: str, wanted: p.PrimExpr) -> Demand:
        condition = p.EQ(self.term(value, what), wanted)
        said = _SAID.get(what)
        return Demand(said.format(self.term(value, "").name, wanted) if said else str(condition), condition)

    def _lengths(self, value: e.Expr, rules: Sequence[int | None]) -> Iterator[Demand]:
        for axis, (action, number) in enumerate(zip(rules[::2], rules[1::2], strict=False)):
            length = self.length(value, axis)
            if action == STORE and number is not None:
                self.slots[number] = length
            elif action == NUMBER and number is not None:
                yield self._is(value, f"shape[{axis}]", p.IntImm(number))
            elif action != NOTHING:
                wanted = self.slots.get(-1 if number is None else number) if action == SLOT else None
                condition = None if wanted is None else p.EQ(length, wanted)
                text = f"{length} == slot {number} of the heap" if condition is None else str(condition)
                yield Demand(text, condition)

    # -- the heap --------------------------------------------------------------------------------------------------

    def call(self, call: e.Call) -> None:
        """Note what a call does to the heap: a PrimFunc computes slots, other callees may do anything with it."""
        if not any(arg is self._heap for arg in call.args) or self._heap is None:
            return
        name = callee_name(call)
        fn = self.functions.get(call.op.name) if isinstance(call.op, e.GlobalVar) else None
        if isinstance(fn, t.PrimFunc) and len(fn.params) == 1:
            self._compute(fn)
        elif name.removeprefix(_PREFIX) not in _READERS and not name.startswith("relax.vm.kill"):
            self.slots.clear()

    def _compute(self, fn: t.PrimFunc) -> None:
        body = fn.body
        for statement in body.stmts if isinstance(body, t.SeqStmt) else (body,):
            if (
                not isinstance(statement, t.BufferStore)
                or len(statement.indices) != 1
                or not isinstance(statement.indices[0], p.IntImm)
            ):
                self.slots.clear()
                return
            value = self._in_slots(statement.value)
            if value is None:
                self.slots.pop(statement.indices[0].value, None)
            else:
                self.slots[statement.indices[0].value] = value

    def _in_slots(self, value: p.PrimExpr) -> p.PrimExpr | None:
        """An expression over the heap in terms of the lengths that lie there; None if one is not known."""
        if isinstance(value, BufferLoad):
            index = value.indices[0]
            return self.slots.get(index.value) if isinstance(index, p.IntImm) else None
        children = value.children()
        if not children:
            return value
        parts = [self._in_slots(child) for child in children]
        known = tuple([part for part in parts if part is not None])
        return value.with_children(known) if len(known) == len(parts) else None

    def join(self, var: e.Var | None, results: Sequence[e.Expr]) -> None:
        """Note that a variable is one of several values; what all of them have in common is known of it."""
        made = [self._made.get(self.root(one)) for one in results]
        first = made[0] if made else None
        if (
            var is not None
            and first is not None
            and all(
                one is not None
                and one.dims == first.dims
                and (one.kind, one.dtype) == (first.kind, first.dtype)
                for one in made
            )
        ):
            self._made[var] = first


_SAID = {
    "kind": "{} is a {}",
    "rank": "the rank of {} is {}",
    "size": "{} has {} fields",
    "dtype": "{} is {}",
}
_KINDS = {
    "check_tensor_info": TENSOR,
    "check_shape_info": SHAPE,
    "check_prim_value_info": SCALAR,
    "check_tuple_info": TUPLE,
    "check_func_info": FUNCTION,
}


def number_of(value: e.Expr) -> int | None:
    """The number of a scalar; None for any other value."""
    prim = value.value if isinstance(value, e.PrimValue) else None
    return prim.value if isinstance(prim, p.IntImm) else None


def _dtype(value: e.Expr) -> str:
    return value.value.name if isinstance(value, e.DataTypeImm) else ""
