"""Smaller programs: what may be left out of a program, or made shorter, while it shows the same fault.

Each function gives a program that is smaller than a case, or None where that is not possible. Whether it shows the fault is asked
later (`smallest`), so nothing here has to keep what the program computes.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial

from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.check.normalize import normal_form_of, normalize_with
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dataflow import reachable
from relax_explorer.core.ir.facts import facts, free_variables
from relax_explorer.core.ir.node import replace as with_fields
from relax_explorer.core.ir.substitute import substitute_vars
from relax_explorer.core.ir.walk import (
    bindings,
    info_vars,
    map_blocks,
    map_operands,
    map_sequences,
    sequences,
)
from relax_explorer.core.passes.pipeline import Step, steps
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule, Member
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.syntax.parser import parse
from relax_explorer.core.tir.stmt import PrimFunc

Lengths = tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class Case:
    """A program with the function that is run, the passes that are applied, and the lengths of shape variables.

    It is sent to other processes as text.
    """

    module: IRModule
    entry: str
    passes: tuple[Step, ...] = ()
    lengths: Lengths = ()

    @property
    def function(self) -> e.Function:
        """The function that is run."""
        fn = self.module.functions[self.entry]
        assert type(fn) is e.Function  # whoever makes a case chooses one
        return fn

    @property
    def size(self) -> int:
        """The number of bindings, those of other functions included."""
        return sum([len(list(bindings(fn))) for fn in self.module.relax_functions.values()])

    def having(self, name: str, fn: Member) -> Case:
        """The case with another function of this name, in normal form, and without functions that nothing calls any more."""
        return self.with_module(self.module.having({**self.module.functions, name: fn}))

    def with_module(self, module: IRModule) -> Case:
        """The case with another module, in normal form, of which functions are left out that the entry does not reach."""
        module = _in_normal_form(module)
        names = reachable([self.entry], lambda name: _called(module, name))
        return replace(
            self, module=module.having({name: fn for name, fn in module.functions.items() if name in names})
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _received, (
            Stage(0, "input", self.module),
            self.entry,
            ",".join(map(str, self.passes)),
            self.lengths,
        )


def _in_normal_form(module: IRModule) -> IRModule:
    """The module in normal form; where a rule of an operator fails, StructInfo is Object."""
    try:
        return normal_form_of(module)
    except Failure:
        return normalize_with(module)[0]


def _received(stage: Stage, entry: str, passes: str, lengths: Lengths) -> Case:
    return Case(_in_normal_form(stage.module), entry, tuple(steps(passes)) if passes else (), lengths)


def _called(module: IRModule, name: str) -> Collection[str]:
    fn = module.functions.get(name)
    return mentioned(fn) if type(fn) is e.Function else ()


Maker = Callable[[], Case | None]
Smaller = Callable[[Case], Iterator[Maker]]


# -- what can be dropped in parts ------------------------------------------------------------------------------------


def without_passes(case: Case, dropped: Collection[Step]) -> Case:
    """Without some passes, told by identity."""
    gone = set(map(id, dropped))
    return replace(case, passes=tuple([step for step in case.passes if id(step) not in gone]))


def bindings_of(case: Case) -> list[e.Binding]:
    """The bindings of the entry, with those in branches; those of nested functions go with them."""
    return list(_bindings(case.function.body))


def _bindings(seq: e.SeqExpr) -> Iterator[e.Binding]:
    for block in seq.blocks:
        for binding in block.bindings:
            yield binding
            for branch in sequences(binding.value) if type(binding.value) is e.If else ():
                yield from _bindings(branch)


def without_bindings(case: Case, dropped: Collection[e.Binding]) -> Case:
    """Without some bindings. What others read of them are new parameters."""
    gone = set(dropped)
    fn = case.function
    body = _without(fn.body, gone)
    return _open(case, with_fields(fn, body=body))


def _without(seq: e.SeqExpr, gone: Collection[e.Binding]) -> e.SeqExpr:
    def change(binding: e.Binding) -> e.Binding | tuple[()]:
        return () if binding in gone else map_sequences(binding, lambda inner: _without(inner, gone))

    return map_blocks(seq, change)


def _open(case: Case, fn: e.Function) -> Case:
    """A case with a function whose free variables become parameters."""
    free = free_variables(fn)
    new = {var: e.Var(var.name, var.struct_info) for var in free}
    fn = substitute_vars(fn, dict(new)) if new else fn
    return case.having(case.entry, with_fields(fn, params=(*fn.params, *new.values()), struct_info=None))


def without_parameters(case: Case, dropped: Collection[e.Var]) -> Case | None:
    """Without some parameters; None if the function reads one of them."""
    gone, fn = set(dropped), case.function
    fn = with_fields(fn, params=tuple([var for var in fn.params if var not in gone]), struct_info=None)
    return None if free_variables(fn) else case.having(case.entry, fn)


# -- results ---------------------------------------------------------------------------------------------------------


def results_of(case: Case) -> list[e.Var]:
    """The variables of the entry's own blocks that may be its result, in order."""
    blocks = case.function.body.blocks
    return [b.var for block in blocks for b in block.bindings if b.var is not None and _is_value(b)]


def _is_value(binding: e.Binding) -> bool:
    return type(binding.value) is not e.Function


def with_result(case: Case, var: e.Var) -> Case:
    """With this variable as the result, and without what stands behind it."""
    fn = case.function
    last = next(n for n, block in enumerate(fn.body.blocks) if any(b.var is var for b in block.bindings))
    block = fn.body.blocks[last]
    place = next(n for n, binding in enumerate(block.bindings) if binding.var is var)
    kept, result = list(block.bindings[: place + 1]), var
    if type(var) is e.DataflowVar:
        result = e.Var(var.name, var.struct_info)
        kept[-1] = with_fields(kept[-1], var=result)
    blocks = (*fn.body.blocks[:last], with_fields(block, bindings=tuple(kept)))
    body = with_fields(fn.body, blocks=blocks, body=result, struct_info=None)
    return case.having(
        case.entry, with_fields(fn, body=body, ret_struct_info=result.struct_info, struct_info=None)
    )


# -- single changes --------------------------------------------------------------------------------------------------


def other_entries(case: Case) -> Iterator[Maker]:
    """Other functions of the module in place of the entry."""
    for name in case.module.relax_functions:
        if name != case.entry:
            yield partial(replace(case, entry=name).with_module, case.module)


def without_dead(case: Case) -> Iterator[Maker]:
    """Without the bindings whose values nothing reads: all at once."""
    known = facts(case.function)
    unread = [b for b in bindings_of(case) if b.var is not None and not known.users(b.var)]
    if unread:
        yield partial(without_bindings, case, unread)


def bypassed(case: Case) -> Iterator[Maker]:
    """With an operand in place of a value that has the same StructInfo."""
    for binding in bindings_of(case):
        var, value = binding.var, binding.value
        if var is None or type(value) is not e.Call:
            continue
        for operand in dict.fromkeys(_leaves(value)):
            if structural_equal(operand.struct_info, var.struct_info):
                yield partial(_bypassed, case, binding, var, operand)


def _bypassed(case: Case, binding: e.Binding, var: e.Var, operand: e.Var) -> Case:
    fn = case.function
    fn = with_fields(fn, body=_without(fn.body, {binding}))
    return case.having(case.entry, substitute_vars(fn, {var: operand}))


def _leaves(call: e.Call) -> Iterator[e.Var]:
    for arg in call.args:
        fields = arg.fields if type(arg) is e.Tuple else (arg,)
        yield from [field for field in fields if isinstance(field, e.Var)]


def without_branches(case: Case) -> Iterator[Maker]:
    """With one branch in place of an If."""
    for binding in bindings_of(case):
        if type(binding.value) is e.If:
            for branch in (binding.value.true_branch, binding.value.false_branch):
                if type(branch) is e.SeqExpr:
                    yield partial(_inlined, case, binding, branch)


def _inlined(case: Case, binding: e.Binding, branch: e.SeqExpr) -> Case:
    def change(seq: e.SeqExpr) -> e.SeqExpr:
        blocks: list[e.BindingBlock] = []
        for block in seq.blocks:
            here = [n for n, item in enumerate(block.bindings) if item is binding]
            if not here:
                inner = [map_sequences(item, change) for item in block.bindings]
                blocks.append(with_fields(block, bindings=tuple(inner)))
                continue
            first, rest = block.bindings[: here[0]], block.bindings[here[0] + 1 :]
            last = with_fields(binding, value=branch.body)
            blocks += [with_fields(block, bindings=first), *branch.blocks]
            blocks.append(with_fields(block, bindings=(last, *rest)))
        return with_fields(seq, blocks=tuple([block for block in blocks if block.bindings]))

    fn = case.function
    return case.having(case.entry, with_fields(fn, body=change(fn.body)))


def without_constants(case: Case) -> Iterator[Maker]:
    """With parameters in place of constants of several elements: all of them, then one at a time."""
    found = [
        (constant_name(binding, n), constant)
        for binding in bindings_of(case)
        for n, constant in large_constants(binding)
    ]
    for chosen in ([found] if len(found) > 1 else []) + [[item] for item in found]:
        yield partial(_with_parameters, case, chosen)


def large_constants(binding: e.Binding) -> Iterator[tuple[int, e.Constant]]:
    """The constants of several elements that the call of a binding gets, with their numbers among its arguments."""
    for number, arg in enumerate(binding.value.args if type(binding.value) is e.Call else ()):
        if type(arg) is e.Constant and arg.data is not None and arg.data.size > 1:
            yield number, arg


def constant_name(binding: e.Binding, number: int) -> str:
    """The name of the parameter in place of a constant."""
    return f"{'' if binding.var is None else binding.var.name}_c{number}".lstrip("_")


def _with_parameters(case: Case, constants: list[tuple[str, e.Constant]]) -> Case:
    fn = case.function
    new: dict[e.Expr, e.Expr] = {item: e.Var(name, item.struct_info) for name, item in constants}
    return _open(case, with_fields(fn, body=_replaced(fn.body, new)))


def _replaced(seq: e.SeqExpr, new: dict[e.Expr, e.Expr]) -> e.SeqExpr:
    def change(binding: e.Binding) -> e.Binding:
        binding = map_sequences(binding, lambda inner: _replaced(inner, new))
        value = map_operands(binding.value, lambda arg: new.get(arg, arg))
        return binding if value is binding.value else with_fields(binding, value=value)

    return map_blocks(seq, change)


# -- lengths ---------------------------------------------------------------------------------------------------------

SHORT = (1, 2, 3, 4)  # lengths that are tried


def shorter(case: Case) -> Iterator[Maker]:
    """With shorter axes: a length and all its multiples divided, or a length alone, throughout the program."""
    text = case.module.script()
    for length in sorted(_static_lengths(case.module), reverse=True):
        for short in [n for n in SHORT if n < length]:
            for is_scaled in (True, False):
                yield partial(_rewritten, case, text, length, short, is_scaled)


def _static_lengths(module: IRModule) -> set[int]:
    """The lengths of axes above 1 in the program."""
    infos: list[s.StructInfo | None] = []
    for fn in module.relax_functions.values():
        infos += [var.struct_info for var in fn.params]
        infos += [binding.var.struct_info for binding in bindings(fn) if binding.var is not None]
    fields = [part for info in infos for part in _parts(info)]
    dims = [dim for part in fields if isinstance(part, s.TensorStructInfo) for dim in part.dims or ()]
    return {dim.value for dim in dims if type(dim) is p.IntImm and dim.value > 1}


def _parts(info: s.StructInfo | None) -> Iterator[s.StructInfo]:
    if isinstance(info, s.TupleStructInfo):
        for field in info.fields:
            yield from _parts(field)
    elif info is not None:
        yield info


def _rewritten(case: Case, text: str, length: int, short: int, is_scaled: bool) -> Case | None:
    """The program with other numbers in its text: attributes, kernels and types have the lengths, too."""

    def number(token: str) -> str:
        value = int(token) if token.isdecimal() else 0
        if value == length or (is_scaled and value > length and value % length == 0):
            return str(value // length * short)
        return token

    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    lines = text.splitlines(keepends=True)
    for token in reversed(tokens):
        if token.type == tokenize.NUMBER:
            line = lines[token.start[0] - 1]
            lines[token.start[0] - 1] = line[: token.start[1]] + number(token.string) + line[token.end[1] :]
    new = "".join(lines)
    try:
        return None if new == text else case.with_module(parse(new))
    except Failure:
        return None


def free_names(case: Case) -> list[str]:
    """The names of the shape variables of the entry."""
    infos = [param.struct_info for param in case.function.params if param.struct_info is not None]
    return list(dict.fromkeys(var.name for info in infos for var in info_vars(info)))


def with_length(case: Case, name: str, length: int) -> Case:
    """With this length of a shape variable."""
    return replace(case, lengths=(*[item for item in case.lengths if item[0] != name], (name, length)))


def kernels_of(case: Case) -> int:
    """The number of kernels."""
    return sum([isinstance(fn, PrimFunc) for fn in case.module.functions.values()])
