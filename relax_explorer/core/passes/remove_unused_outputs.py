"""RemoveUnusedOutputs: drop the fields of the results of private functions that no call reads."""

from __future__ import annotations

from collections.abc import Mapping

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.purity import has_effect
from relax_explorer.core.check.stopping import stopping
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import Facts, facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import merged_blocks
from relax_explorer.core.passes import machine_calls as m
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.private_functions import changeable, clean_up
from relax_explorer.core.passes.properties import CANONICAL_BINDINGS, NORMAL_FORM
from relax_explorer.core.passes.readings import PRIVATE
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.program.module import IRModule

Outputs = Mapping[str, tuple[int, ...]]  # the fields that stay, by the name of the function


@module_pass(
    "RemoveUnusedOutputs",
    reads=[PRIVATE],
    rebuilds=True,
    requires=[NORMAL_FORM],
    establishes=[CANONICAL_BINDINGS],
)
def remove_unused_outputs(module: IRModule, at: PassSite) -> IRModule:
    """Drop the fields of tuples returned by private functions that no call reads.

    A single remaining field is returned without a tuple. A function keeps all fields if a call uses its result as a whole, or if
    the function is used as a value. At the end, bindings are canonicalized and dead code is removed. In the profile `tvm` uses as
    a value do not count, and a call whose result nothing reads goes with its effects.
    """
    outputs = _read_outputs(module, at)
    for name, fn in module.relax_functions.items() if outputs else ():
        new = _returning(fn, outputs[name]) if name in outputs else fn
        at.editor.replace(name, _reading(new, outputs, at))
    return clean_up(at)


def _read_outputs(module: IRModule, at: PassSite) -> Outputs:
    """The fields that calls read, of the functions that return others too."""
    found = changeable(module, at, lambda fn: _fields(fn) > 0)
    sizes = {name: _fields(fn) for name, fn in found.items()}
    read: dict[str, set[int]] = {name: set() for name in sizes}
    for fn in module.relax_functions.values() if sizes else ():
        derived = facts(fn)
        for binding in derived.bindings:
            name = _callee(binding)
            if name in read and binding.var is not None:
                read[name] |= _read_fields(derived, binding.var, sizes[name])
    return {name: tuple(sorted(fields)) for name, fields in read.items() if len(fields) < sizes[name]}


def _fields(fn: e.Function) -> int:
    """The number of fields that a function returns; 0 if it returns no tuple."""
    info = fn.struct_info
    ret = info.ret if isinstance(info, s.FuncStructInfo) else None
    return len(ret.fields) if isinstance(ret, s.TupleStructInfo) else 0


def _callee(binding: e.Binding) -> str:
    value = binding.value
    return value.op.name if type(value) is e.Call and type(value.op) is e.GlobalVar else ""


def _read_fields(derived: Facts, var: e.Var, size: int) -> set[int]:
    """The fields of a tuple that its readers take. All, if one of them uses the tuple as a whole."""
    fields: set[int] = set()
    for number in derived.users(var):
        value = derived.bindings[number].value if number < len(derived.bindings) else None
        if type(value) is e.Function:  # it captures the tuple
            fields |= _read_fields(facts(value), var, size)
            continue
        if type(value) is not e.TupleGetItem:
            return set(range(size))
        fields.add(value.index)
    return fields


def _returning(fn: e.Function, fields: tuple[int, ...]) -> e.Function:
    """The function with fewer fields in its result."""
    names = FreshNames.of(fn)
    whole = m.bound(names("previous_outputs"), fn.body.body)
    parts = [m.bound(names("gv"), _field(whole.var, number)) for number in fields]
    block = e.BindingBlock((whole, *parts))
    result = parts[0].var if len(parts) == 1 else e.tuple_of(tuple([part.var for part in parts]))
    body = replace(
        fn.body,
        blocks=tuple(merged_blocks([*fn.body.blocks, block])),
        body=result,
        struct_info=result.struct_info,
    )
    ret = fn.ret_struct_info
    if isinstance(ret, s.TupleStructInfo):
        infos = tuple([ret.fields[number] for number in fields])
        ret = infos[0] if len(infos) == 1 else s.TupleStructInfo(infos)
    return replace(fn, body=body, ret_struct_info=ret, struct_info=None)


def _field(whole: e.Var, number: int) -> e.TupleGetItem:
    assert isinstance(whole.struct_info, s.TupleStructInfo)  # the function returns a tuple
    return e.TupleGetItem(whole, number, whole.struct_info.fields[number])


def _reading(fn: e.Function, outputs: Outputs, at: PassSite) -> e.Function:
    """The function with fewer fields in the results of the calls of `outputs`."""
    results: dict[e.Expr, tuple[e.Var, tuple[int, ...]]] = {}  # by the variable that held the whole result
    may_stop = stopping(at.module).binding

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(value) is e.TupleGetItem and value.tuple in results:
            var, fields = results[value.tuple]
            if len(fields) == 1:
                return replace(binding, value=var)
            return replace(binding, value=replace(value, tuple=var, index=fields.index(value.index)))
        name = _callee(binding)
        if name not in outputs or binding.var is None:
            return binding
        if not outputs[name] and (at.as_tvm or not (has_effect(value) or may_stop(binding))):
            return ()
        info = binding.var.struct_info
        assert isinstance(info, s.TupleStructInfo)  # the result of the callee
        infos = tuple([info.fields[number] for number in outputs[name]])
        new = infos[0] if len(infos) == 1 else s.TupleStructInfo(infos)
        var = e.var_like(binding.var, new)
        results[binding.var] = var, outputs[name]
        return replace(binding, var=var, value=replace(value, struct_info=new), annotation=None)

    return rewrite(fn, at, rule)
