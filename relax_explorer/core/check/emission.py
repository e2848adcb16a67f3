"""The state of normalizing one function: the open block with fresh names, and bindings that stay without being derived again."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from operator import is_
from typing import Any

from relax_explorer.core.check import matching, purity
from relax_explorer.core.check.infer import Inferrer, Signature
from relax_explorer.core.check.matching import holds_function
from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import WITH_BLOCKS, bindings, info_holders, merged_blocks, operands
from relax_explorer.core.source import Span


class FreshNames:
    """Generates unused names: `lv`, `lv1`, `lv2`, … It keeps the next number of each base."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._reserved = [taken]  # read at the first request
        self._taken: set[str] | None = None
        self._numbers: dict[str, int] = {}

    @classmethod
    def of(cls, fn: e.Function) -> FreshNames:
        """Names that no parameter or variable of a function has, branches and nested functions included."""
        return cls(_names(fn))

    def take(self, names: Iterable[str]) -> None:
        """Reserve these names."""
        if self._taken is None:
            self._reserved.append(names)
        else:
            self._taken.update(names)

    def __call__(self, base: str, separator: str = "") -> str:
        """An unused name. It is reserved from now on."""
        taken, base_ = self._read(), base + separator
        number = self._numbers.get(base_, 0)
        name = f"{base_}{number}" if number else base
        while name in taken:
            number += 1
            name = f"{base_}{number}"
        self._numbers[base_] = number
        taken.add(name)
        return name

    def _read(self) -> set[str]:
        if self._taken is None:
            self._taken = set().union(*self._reserved)
        return self._taken


def _names(fn: e.Function) -> Iterator[str]:
    yield from (param.name for param in fn.params)
    for binding in bindings(fn):
        if binding.var is not None:
            yield binding.var.name


class OpenBlocks:
    """The blocks of a sequence under construction: the closed blocks, and the bindings of the open one."""

    __slots__ = ("bindings", "closed", "dataflow", "like")

    def __init__(self, dataflow: bool = False) -> None:
        self.closed: list[e.BindingBlock] = []
        self.bindings: list[e.Binding] = []
        self.dataflow = dataflow
        self.like: e.BindingBlock | None = None

    def start(self, dataflow: bool, like: e.BindingBlock | None = None) -> None:
        """Close the open block and open another. If it gets the bindings of `like`, it becomes `like` itself."""
        self.close()
        self.dataflow, self.like = dataflow, like

    def close(self) -> None:
        """Close the open block. An empty one is dropped."""
        bindings, like = self.bindings, self.like
        if bindings:
            if like is None:
                block_type = e.DataflowBlock if self.dataflow else e.BindingBlock
                self.closed.append(block_type(tuple(bindings)))
            elif len(bindings) == len(like.bindings) and all(map(is_, bindings, like.bindings)):
                self.closed.append(like)
            else:
                self.closed.append(replace(like, bindings=tuple(bindings)))
        self.bindings, self.like = [], None

    def variable(self, name: str, info: s.StructInfo | None, span: Span | None = None) -> e.Var:
        """A new variable for the open block; a DataflowVar if it is a dataflow block."""
        return (e.DataflowVar if self.dataflow else e.Var)(name, info, span)

    def sequence(self, like: e.SeqExpr, body: e.Expr, info: s.StructInfo) -> e.SeqExpr:
        """The sequence of these blocks. Adjacent blocks of one type merge. The same object as `like` if nothing changed."""
        self.close()
        blocks = merged_blocks(self.closed)
        same = len(blocks) == len(like.blocks) and all(
            a is b for a, b in zip(blocks, like.blocks, strict=True)
        )
        return replace(like, blocks=like.blocks if same else tuple(blocks), body=body, struct_info=info)


# -- kept bindings ---------------------------------------------------------------------------------------------------
# The state of normalizing one function, and the bindings that stay as they are without being derived again.


class KeptBindings:
    """Base of the normalizer of a function: what it knows so far, and the bindings that it keeps."""

    def __init__(
        self,
        report: Report,
        signature: Signature,
        assume_pure: bool,
        outer: KeptBindings | None = None,
        known: Iterable[e.Binding] = (),
        changed: Container[str] = (),
    ) -> None:
        self.report, self.assume_pure = report, assume_pure
        self.infer = Inferrer(report, signature)
        # The current variable for each original one. A nested function removes its entries at its end.
        self.vars: dict[e.Var, e.Var] = outer.vars if outer else {}
        self.rebound: list[tuple[e.Var, e.Var]] = []  # variables bound again, with the variables before
        self.dims: set[p.PrimVar] = set(outer.dims) if outer else set()
        self.params_dims: set[p.PrimVar] = set()  # the shape variables in scope at the start of the body
        self.bound: set[e.Var] = outer.bound if outer else set()
        self.open = OpenBlocks()  # the blocks of the current sequence
        self.ending = False  # True if new variables go out of scope at the end of the current value
        self.fresh = FreshNames()
        self.place: Span | None = None  # the span of new bindings whose value has none
        self.fn: e.Function | None = None
        self.has_effect = False
        self.tuples: set[e.Expr] = set()  # tuples in normal form
        self.is_unread = False  # True if nothing is known about the result
        # Bindings that are in normal form already, by identity; the caller keeps them alive.
        self.known: frozenset[int] = outer.known if outer else frozenset(map(id, known))
        # The global functions with another signature than at the known bindings.
        self.changed: Container[str] = outer.changed if outer else changed
        # True if no input of a known binding changed so far. Then the inputs are not compared.
        self.inputs_unchanged = not changed if outer is None else False
        if outer:
            self.infer.poisoned, self.infer.captured = outer.infer.poisoned, outer.infer.captured
            self.infer.callees, self.infer.wildcards = outer.infer.callees, outer.infer.wildcards
            self.infer.places, self.infer.unread = outer.infer.places, outer.infer.unread
            self.infer.poisoned_results = outer.infer.poisoned_results

    def _is_settled(self, binding: e.VarBinding, value: e.Call | e.TupleGetItem) -> bool:
        """Keep a binding unchanged if its StructInfo follows from that of its operands, and no operand has changed.

        This is the fast path: most bindings of a module in normal form are such. False means: use the general path.
        """
        info, var = value.struct_info, binding.var
        if var.struct_info is not info or self.ending or var in self.bound:
            return False
        if binding.annotation is not info and binding.annotation is not None:
            return False
        if isinstance(value, e.TupleGetItem):
            if not (self.inputs_unchanged and self.infer.settles_item(value)):
                return False
        else:
            if not self._has_note(value) or not (self.inputs_unchanged or self._same_arguments(value)):
                return False
        self.bound.add(var)
        self.vars[var] = var
        self.infer.definitions[var] = value
        self.open.bindings.append(binding)
        return True

    def _has_note(self, call: e.Call) -> bool:
        """True if the StructInfo of a call is known to follow from what it reads."""
        if call.settled is self.infer.settings:
            return True
        if call.settled is not self.infer.in_full:
            if self.infer.settles(call):
                return True
            if not self.infer.repeats(call):
                return False
        if self.infer.poisoned:
            return False
        parts = (call.op, *call.args)
        if e.GlobalVar in map(type, parts) and not all(map(self._is_current, parts)):
            return False
        if not self.has_effect:
            self.has_effect = purity.is_impure(call, undeclared=False, by_spec=True)
        return True

    def _is_current(self, part: e.Expr) -> bool:
        """False for a reference to a function that has another signature now."""
        return type(part) is not e.GlobalVar or self._global(part) is part

    def _same_arguments(self, call: e.Call) -> bool:
        """True if no argument of a call has changed, and no field of a tuple among them."""
        current: Callable[[Any, Any], Any] = self.vars.get
        args = call.args
        if tuple(map(current, args, args)) != args:
            return False
        fields = [field for arg in args if type(arg) is e.Tuple for field in arg.fields]
        return list(map(current, fields, fields)) == fields

    def _is_unchanged(self, binding: e.Binding) -> bool:
        """Keep a known binding unchanged. False if one of its inputs changed, or if bindings are nested in its value."""
        if type(binding) is not e.VarBinding or type(binding.value) in WITH_BLOCKS:
            return False
        if self.ending:
            return False
        if not (self.inputs_unchanged or self._reads_the_same(binding)):
            return False
        if not self.has_effect:
            self.has_effect = purity.is_impure(binding.value, undeclared=False, by_spec=True)
        var = self._var(binding.var, binding.var.struct_info or s.OBJECT)  # a known binding has one
        if self.infer.wildcards is not None and var.struct_info is not None:
            self.infer.wildcards.keep(var.struct_info)
        self.infer.definitions[var] = binding.value
        self.infer.callees.note(binding)
        self.open.bindings.append(binding)
        return True

    def _reads_the_same(self, binding: e.VarBinding) -> bool:
        """True if every variable and function that a known binding reads is unchanged."""
        arguments = binding.value.sinfo_args if type(binding.value) is e.Call else ()
        holders = [
            holder for info in (binding.annotation, *arguments) if info for holder in info_holders(info)
        ]
        parts: list[e.Expr] = [binding.value, *holders]
        while parts:
            part = parts.pop()
            if isinstance(part, e.Var):
                same = self.vars.get(part, part) is part
            else:
                named = part if type(part) is e.GlobalVar and part.struct_info is not None else None
                same = self._global(named) is named if named else not self._has_changed(part)
                parts.extend(operands(part))
            if not same:
                return False
        return True

    def _has_changed(self, part: e.Expr) -> bool:
        """True for a reference to a function that has another signature than before."""
        return type(part) is e.GlobalVar and part.name in self.changed

    def _var(self, var: e.Var, info: s.StructInfo) -> e.Var:
        if self.open.dataflow and type(var) is e.Var:
            info = matching.lasting(info)
        stays = (
            var.struct_info is info and not self.ending
        )  # a variable whose scope ends is replaced by a new one
        new = var if stays else e.var_like(var, info)
        if var in self.bound:
            text = f"{var.name!r} is bound twice"
            self.report.say(codes.BOUND_TWICE, text, var, help=codes.BOUND_TWICE.fix)
            self.rebound.append((var, self.vars.get(var, var)))
        self.bound.add(var)
        self.vars[var] = new
        self._scope(new)
        self.inputs_unchanged = self.inputs_unchanged and new is var
        return new

    def _scope(self, var: e.Var) -> None:
        """Record which shape variables the functions held by a variable may have captured."""
        info = var.struct_info
        if type(info) is s.FuncStructInfo or (type(info) is s.TupleStructInfo and holds_function(info)):
            self.infer.captured[var] = frozenset(self.dims)

    def _global(self, var: e.GlobalVar) -> e.GlobalVar:
        """The reference with the signature of its function."""
        info = self.infer.signature(var.name)
        return var if info is None or var.struct_info is info else e.GlobalVar(var.name, info, var.span)
