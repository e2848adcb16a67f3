"""Which memory the values of one dataflow block hold, and which binding of the block names it last.

Memory is a cell. Values that may share memory have one cell (Steensgaard, Points-to analysis in almost linear time, 1996); a tuple
has those of its fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Union

from relax_explorer.core.check.effects import effects, leaves
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ir.walk import bindings, sequences
from relax_explorer.core.ops import find
from relax_explorer.core.program.module import IRModule


class Cell:
    """Memory that one or more values hold. `last` is the last position that names one of them; `open` is memory of others, too."""

    __slots__ = ("last", "open", "parent")

    def __init__(self, is_open: bool) -> None:
        self.parent: Cell | None = None
        self.last = -1
        self.open = is_open

    def root(self) -> Cell:
        """The cell that stands for all cells joined with this one."""
        cell = self
        while cell.parent is not None:
            if cell.parent.parent is not None:
                cell.parent = cell.parent.parent  # halves the path
            cell = cell.parent
        return cell

    def join(self, other: Cell) -> None:
        """Make both cells one."""
        mine, theirs = self.root(), other.root()
        if mine is not theirs:
            theirs.parent = mine
            mine.last, mine.open = max(mine.last, theirs.last), mine.open or theirs.open


Held = Union[Cell, "tuple[Held, ...]"]
"""The memory of a value: a cell, or those of the fields of a tuple."""


class BlockMemory:
    """The memory of the values that a dataflow block binds. Positions are those of its bindings.

    Memory from elsewhere is open: of parameters, constants, values bound before the block, and results of functions that may keep
    them. Outputs of the block are named after its end.
    """

    def __init__(self, block: e.BindingBlock, fresh: FreshResults) -> None:
        self._effects, self._fresh = fresh.effects, fresh
        self._outside = Cell(is_open=True)
        self._held: dict[e.Var, Held] = {}
        for position, binding in enumerate(block.bindings):
            for var in variables(binding.value):
                self._named(var, binding.value, position)
            if binding.var is None:
                continue
            held = self._held[binding.var] = self._result(binding)
            if type(binding.var) is not e.DataflowVar:
                _name(held, len(block.bindings))

    def is_last(self, var: e.Var, position: int) -> bool:
        """True if the memory of a tensor is the block's own, and no later binding names it."""
        held = self._held.get(var, self._outside)
        return isinstance(held, Cell) and not held.root().open and held.root().last <= position

    def share(self, a: e.Expr, b: e.Expr) -> bool:
        """True if two operands may share memory of the block."""
        mine, theirs = ({cell.root() for cell in _cells(self._of(expr))} for expr in (a, b))
        return not mine.isdisjoint(theirs)

    def _of(self, expr: e.Expr) -> Held:
        """The memory of an operand."""
        if isinstance(expr, e.Var):
            return self._held.get(expr, self._outside)
        if type(expr) is e.Tuple:
            return tuple([self._of(field) for field in expr.fields])
        if type(expr) is e.TupleGetItem:
            whole = self._of(expr.tuple)
            return whole if isinstance(whole, Cell) else whole[expr.index] if expr.index < len(whole) else ()
        return self._outside if type(expr) is e.Constant else ()

    def _named(self, var: e.Var, value: e.Expr, position: int) -> None:
        """Note that a binding names a variable. One that takes a field of a tuple names that field."""
        if type(value) is e.TupleGetItem and value.tuple is var:
            _name(self._of(value), position)
        elif not isinstance(value, (e.Var, e.Tuple)) or isinstance(self._held.get(var), Cell):
            _name(self._of(var), position)  # the copy of a tuple, and a tuple in a tuple, read no field

    def _result(self, binding: e.Binding) -> Held:
        """The memory of the value of a binding."""
        value = binding.value
        if isinstance(value, (e.Var, e.Tuple, e.TupleGetItem, e.Constant)):
            return self._of(value)
        if type(value) is not e.Call:  # a nested function, which holds what it captures
            return self._joined(variables(value), is_open=type(value) is not e.Function)
        effect = self._effects.of(value)
        if effect.keeps:
            self._joined(effect.writes, is_open=True)
        is_open = effect.keeps or not self._fresh.of(value)
        shares = value.args[:1] if type(value.op) is e.OpRef and value.op.name in _COPIES else effect.shares
        if shares or is_open:
            return self._joined(shares, is_open)
        return _new(binding.var.struct_info if binding.var is not None else None)

    def _joined(self, exprs: Iterable[e.Expr], is_open: bool) -> Cell:
        """One cell for all memory of these values."""
        joined = Cell(is_open)
        for expr in exprs:
            for cell in _cells(self._of(expr)):
                joined.join(cell)
        return joined


class FreshResults:
    """Tells which calls return new memory, or that of their arguments. A function of the module is known by its body."""

    def __init__(self, module: IRModule) -> None:
        self.effects = effects(module)
        self._functions = module.relax_functions
        self._known: dict[str, bool] = {}

    def of(self, call: e.Call) -> bool:
        """False if the result may be memory that others hold, too: a constant, or what unknown code has kept."""
        if type(call.op) is e.OpRef:
            return call.op.name not in _UNKNOWN and find(call.op.name) is not None
        if type(call.op) is not e.GlobalVar:
            return False
        name = call.op.name
        if name not in self._functions:
            return False
        if name not in self._known:
            self._known[name] = False  # while its body is looked at: a recursive call tells nothing
            self._known[name] = self._body(self._functions[name])
        return self._known[name]

    def _body(self, fn: e.Function) -> bool:
        values = {binding.var: binding.value for binding in bindings(fn)}
        seen: set[e.Expr] = set(fn.params)
        stack = list(leaves([fn.body.body]))
        while stack:
            leaf = stack.pop()
            if leaf in seen:
                continue
            seen.add(leaf)
            value = values.get(leaf) if isinstance(leaf, e.Var) else None
            if type(value) is e.If:
                stack += leaves(branch.body for branch in sequences(value))
            elif type(value) is e.Call and self.of(value):
                stack += self.effects.of(value).shares
            elif isinstance(value, (e.Var, e.Tuple, e.TupleGetItem)):
                stack += leaves([value])
            else:  # a constant, a closure, a call of unknown code
                return False
        return True


_UNKNOWN = frozenset(
    f"relax.{name}"
    for name in (
        "call_packed",
        "call_pure_packed",
        "call_inplace_packed",
        "call_py_func",
        "call_builtin_with_ctx",
        "invoke_closure",
        "invoke_pure_closure",
    )
)
"""Operators that call code which the module does not show."""


_COPIES = frozenset(f"relax.{name}" for name in ("expand_dims", "flatten", "permute_dims", "squeeze"))
"""Operators that copy the elements of their operand, and that other passes may make views of it, as RewriteDataflowReshape does."""


def _cells(held: Held) -> Iterator[Cell]:
    """The cells of a value, each tuple once."""
    seen: set[int] = set()
    stack = [held]
    while stack:
        item = stack.pop()
        if isinstance(item, Cell):
            yield item
        elif id(item) not in seen:
            seen.add(id(item))
            stack.extend(item)


def _name(held: Held, position: int) -> None:
    """Note that a binding names a value."""
    for cell in _cells(held):
        root = cell.root()
        root.last = max(root.last, position)


def _new(info: s.StructInfo | None) -> Held:
    """New memory for a value; a tuple has some for each field."""
    if isinstance(info, s.TupleStructInfo):
        return tuple([_new(field) for field in info.fields])
    return Cell(is_open=False)
