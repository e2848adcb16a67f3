"""What a pass of TVM leaves open: it orders by the addresses of variables, so that its result differs from run to run.

`python -m tests.oracle.unsteady PASS PROGRAM` asks about one program again and again, and counts the results. A freedom is a function that
gives TVM's result the order of ours. It moves parts that are there, everywhere at once, and nothing else may differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.expr import Function
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.program.module import IRModule, Member

_STORES = "shape_func"
_SLOT = re.compile(r"H\[T\.int64\((\d+)\)\]")


def in_our_order(name: str, ours: IRModule, theirs: IRModule) -> IRModule:
    """TVM's result of a pass with what it leaves open in our order. The same object if it leaves nothing open, or has our order."""
    order = FREEDOMS.get(name)
    moved = theirs if order is None else order(ours, theirs)
    return theirs if moved is theirs else rxe.normalize(moved)


def with_lengths_in_order(ours: IRModule, theirs: IRModule) -> IRModule:
    """Functions that compute lengths have our numbers, and their stores our order, if they are the same stores.

    Two functions whose stores are the same in another order are one.
    """
    mine = {name: fn for name, fn in ours.functions.items() if name.startswith(_STORES)}
    names = _our_numbers(ours, theirs)
    others = [name for name in theirs.functions if name.startswith(_STORES)]
    if sorted(names) != sorted(others) or {*names.values()} != {*mine}:
        return theirs  # several may be one of ours: TVM finds equal ones only if their stores have one order
    if not all(_are_same_stores(mine[new], theirs.functions[old]) for old, new in names.items()):
        return theirs
    if all(mine[new] is theirs.functions[old] for old, new in names.items()):
        return theirs

    def renamed(call: e.Call) -> e.Call:
        name = call.op.name if type(call.op) is e.GlobalVar else ""
        return replace(call, op=e.GlobalVar(names[name])) if name in names else call

    module = with_calls(theirs, renamed)
    return module.having(
        {
            names.get(name, name): mine[names[name]] if name in names else fn
            for name, fn in module.functions.items()
        }
    )


def _our_numbers(ours: IRModule, theirs: IRModule) -> dict[str, str]:
    """Our names of the functions that compute lengths, by TVM's names, as they are called in the same order."""
    names: dict[str, str] = {}
    for name, fn in theirs.relax_functions.items():
        mine = ours.relax_functions.get(name)
        for old, new in zip(_called(fn), _called(mine) if mine is not None else [], strict=False):
            if names.setdefault(old, new) != new:
                return {}
    return names


def _called(fn: Function) -> list[str]:
    """The names of the functions that compute lengths, in the order of their calls."""
    calls = [binding.value for binding in bindings(fn) if type(binding.value) is e.Call]
    names = [call.op.name for call in calls if type(call.op) is e.GlobalVar]
    return [name for name in names if name.startswith(_STORES)]


def _are_same_stores(a: Member, b: Member) -> bool:
    """True if two functions write the same, in any order if none of them reads what it writes."""
    first, second = _lines(a), _lines(b)
    written = {slot[1] for line in first if (slot := _SLOT.match(line.strip()))}
    read = {slot for line in first for slot in _SLOT.findall(line.partition(" = ")[2])}
    return first == second or (written.isdisjoint(read) and sorted(first) == sorted(second))


def _lines(fn: Member) -> list[str]:
    return [line for line in IRModule({"f": fn}).script().splitlines() if "global_symbol" not in line]


def with_new_parameters_in_order(ours: IRModule, theirs: IRModule) -> IRModule:
    """Functions take the lengths that became parameters in our order, in the definition as in each call, if they are the same."""
    orders = {}
    for name, fn in theirs.relax_functions.items():
        mine = ours.relax_functions.get(name)
        if mine is not None and (order := _new_order(mine, fn)) is not None:
            orders[name] = order
    if not orders:
        return theirs

    def ordered(call: e.Call) -> e.Call:
        order = orders.get(call.op.name) if type(call.op) is e.GlobalVar else None
        return call if order is None else replace(call, args=tuple([call.args[n] for n in order]))

    module = with_calls(theirs, ordered)
    functions = dict(module.functions)
    for name, order in orders.items():
        changed = module.relax_functions[name]
        params = tuple([changed.params[n] for n in order])
        functions[name] = replace(changed, params=params, struct_info=None)
    return module.having(functions)


def _new_order(mine: Function, theirs: Function) -> list[int] | None:
    """The places of our parameters among those of TVM, if only new ones at the end have others; else None."""
    names, others = [param.name for param in mine.params], [param.name for param in theirs.params]
    start = next((n for n, param in enumerate(theirs.params) if _is_new(param)), len(others))
    is_known = (
        names[:start] == others[:start] and sorted(names) == sorted(others) and len({*names}) == len(names)
    )
    if names == others or not is_known or not all(map(_is_new, theirs.params[start:])):
        return None
    return [others.index(name) for name in names]


def _is_new(param: e.Var) -> bool:
    """True for the shape of one length, which RemoveUnusedParameters makes."""
    info = param.struct_info
    return param.name.startswith("param_") and type(info) is s.ShapeStructInfo and len(info.values or ()) == 1


def with_calls(module: IRModule, change: Callable[[e.Call], e.Call]) -> IRModule:
    """A module whose bound calls are changed. The same object if none is."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        new = change(binding.value) if type(binding.value) is e.Call else binding.value
        return binding if new is binding.value else replace(binding, value=new)

    site = PassSite(module)
    for name, fn in module.relax_functions.items():
        site.function = name
        site.editor.replace(name, rewrite(fn, site, rule))
    return site.editor.done()


def with_scalars_in_order(ours: IRModule, theirs: IRModule) -> IRModule:
    """The lengths that a kernel takes have the order of our call, if they are the same lengths."""
    orders = {
        (_callee(call), frozenset(numbers)): numbers
        for call in _calls(ours)
        if len(numbers := _scalars(call)) > 1 and len(set(numbers)) == len(numbers)
    }

    def ordered(expr: e.Call) -> e.Call:
        if expr.op is not _CALL_TIR:
            return expr
        numbers = _scalars(expr)
        wanted = orders.get((_callee(expr), frozenset(numbers)), numbers)
        if wanted == numbers or type(expr.args[1]) is not e.Tuple:
            return expr
        fields = expr.args[1].fields
        if len([field for field in fields if type(field) is e.PrimValue]) != len(numbers):
            return expr
        tensors = [field for field in fields if type(field) is not e.PrimValue]
        scalars = dict(zip(numbers, [field for field in fields if type(field) is e.PrimValue], strict=True))
        operands = e.tuple_of((*tensors, *[scalars[name] for name in wanted]))
        return e.Call(
            expr.op, (expr.args[0], operands), expr.attrs, expr.sinfo_args, expr.struct_info, expr.span
        )

    return with_calls(theirs, ordered)


_CALL_TIR = e.op_ref("relax.call_tir")


def _callee(call: e.Call) -> str:
    """The name of the kernel of a call_tir."""
    return call.args[0].name if call.args and type(call.args[0]) is e.GlobalVar else ""


def _scalars(call: e.Call) -> tuple[str, ...]:
    """The names of the lengths behind the tensors of a call_tir."""
    operands = call.args[1] if call.op is _CALL_TIR else None
    fields = operands.fields if type(operands) is e.Tuple else ()
    return tuple([f.value.name for f in fields if type(f) is e.PrimValue and isinstance(f.value, p.PrimVar)])


def _calls(module: IRModule) -> Iterator[e.Call]:
    for fn in module.relax_functions.values():
        yield from (binding.value for binding in bindings(fn) if type(binding.value) is e.Call)


Freedom = Callable[[IRModule, IRModule], IRModule]
FREEDOMS: dict[str, Freedom] = {
    "FuseTIR": with_new_parameters_in_order,  # it ends with the next one
    "LegalizeOps": with_scalars_in_order,
    "RemoveUnusedParameters": with_new_parameters_in_order,
    "VMShapeLower": with_lengths_in_order,
}
"""From both results to TVM's in our order, by the pass."""
