"""Values for constants whose data is not in the text, where calls or annotations tell their shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from relax_explorer.core.check import arguments
from relax_explorer.core.check.matching import match_dims
from relax_explorer.core.codes import syntax
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label, Severity
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.fold import DimMap
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, exprs, map_blocks, map_operands, substitute_info
from relax_explorer.core.phases.module_check import checked
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.arrays import INPUT_LIMIT
from relax_explorer.core.session.inputs import Generator
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import prim_func_info

_NUMBER = re.compile(r"\[([0-9]+)\]")


def with_constants(stage: Stage, source: str) -> tuple[Stage, str]:
    """A stage with values for all constants without data, and a note of what was made up.

    `source` is `zeros`, `ones`, `arange`, `randn:SEED` or a number. Raises Failure for a constant whose shape is not known: calls
    of PrimFuncs and Relax functions and annotations of variables tell it.
    """
    module = stage.module
    constants = _missing(module)
    if not constants:
        return stage, ""
    infos = _infos(checked(module).module)
    generator = Generator({}, INPUT_LIMIT)
    data = {}
    for number, (key, constant) in enumerate(constants.items()):
        found = infos.get(key, [])
        if len(found) != 1:
            raise _unknown(constant, found)
        info = found[0]
        named = _NUMBER.search(key)
        value = generator.make(
            info, source, e.Var(key, info, constant.span), int(named[1]) if named else number
        )
        value.setflags(write=False)
        data[key] = e.Constant(value, s.constant_info(value), "", constant.span)
    note = ", ".join([f"{key.rpartition('.')[2]} {data[key].struct_info}" for key in data])
    return Stage(
        stage.number, stage.made_by, _with_constants(module, data), stage.file
    ), f"{note} by {source}"


def _missing(module: IRModule) -> dict[str, e.Constant]:
    """The constants without data, each once."""
    found: dict[str, e.Constant] = {}
    for fn in module.relax_functions.values():
        for expr in exprs(fn):
            if type(expr) is e.Constant and arguments.is_missing(expr):
                found.setdefault(expr.key, expr)
    return found


def _infos(module: IRModule) -> dict[str, list[s.TensorStructInfo]]:
    """What the program says of each constant without data: known shapes with a dtype."""
    found: dict[str, list[s.TensorStructInfo]] = {}
    for fn in module.relax_functions.values():
        values = {b.var: b.value for b in bindings(fn) if type(b.value) in (e.Constant, e.Tuple)}
        for binding in bindings(fn):
            todo = list(_demands(module, binding))
            while todo:
                info, expr = todo.pop()
                expr = values.get(expr, expr) if isinstance(expr, e.Var) else expr
                if isinstance(info, s.TupleStructInfo) and type(expr) is e.Tuple:
                    todo += zip(info.fields, expr.fields, strict=False)
                elif type(expr) is e.Constant and arguments.is_missing(expr) and _is_static(info):
                    known = found.setdefault(expr.key, [])
                    known += [info] if info not in known else []
    return found


def _demands(module: IRModule, binding: e.Binding) -> Iterator[tuple[s.StructInfo, e.Expr]]:
    """The StructInfo that a binding demands of parts of its value."""
    value = binding.value
    if type(value) is not e.Call:
        if binding.var is not None and binding.var.struct_info is not None:
            yield binding.var.struct_info, value
        return
    callee, args = value.op, value.args
    if type(callee) is e.OpRef and args and type(args[0]) is e.GlobalVar:  # call_tir and the like
        callee, args = args[0], args[1].fields if type(args[1]) is e.Tuple else args[1:2]
    params = _params(module, callee.name) if type(callee) is e.GlobalVar else ()
    dims: DimMap = {}
    for want, arg in zip(params, args, strict=False):  # outputs have no operand
        if arg.struct_info is not None:
            match_dims(want, arg.struct_info, dims)
    for want, arg in zip(params, args, strict=False):
        yield substitute_info(want, dims), arg


def _params(module: IRModule, name: str) -> Sequence[s.StructInfo]:
    """The StructInfo of the parameters of a function or PrimFunc."""
    fn = module.functions.get(name)
    if isinstance(fn, PrimFunc):
        return prim_func_info(fn).params or ()
    return [param.struct_info or s.OBJECT for param in fn.params] if type(fn) is e.Function else ()


def _is_static(info: s.StructInfo) -> TypeGuard[s.TensorStructInfo]:
    if not isinstance(info, s.TensorStructInfo) or info.dims is None or info.dtype is None:
        return False
    return all(isinstance(dim, p.IntImm) for dim in info.dims)


def _unknown(constant: e.Constant, infos: Sequence[s.StructInfo]) -> Failure:
    text = (
        f"{constant.key} is used as {infos[0]} and as {infos[1]}"
        if infos
        else f"the shape of {constant.key} is not in the text: no call of a function tells it"
    )
    return Failure(
        Diagnostic(
            syntax.MISSING_METADATA,
            text,
            (Label(constant, "", True),),
            help=syntax.MISSING_METADATA.fix,
            severity=Severity.ERROR,
        )
    )


def _with_constants(module: IRModule, data: dict[str, e.Constant]) -> IRModule:
    """The module with these constants."""

    def value(expr: e.Expr) -> e.Expr:
        if type(expr) is e.Constant and arguments.is_missing(expr):
            return e.replace_span(data[expr.key], expr.span)
        if isinstance(expr, e.SeqExpr):
            return sequence(expr)
        if type(expr) is e.If:
            return replace(
                expr,
                condition=value(expr.condition),
                true_branch=value(expr.true_branch),
                false_branch=value(expr.false_branch),
            )
        if type(expr) is e.Function:
            return replace(expr, body=sequence(expr.body))
        return map_operands(expr, value)

    def sequence(seq: e.SeqExpr) -> e.SeqExpr:
        return replace(
            map_blocks(seq, lambda item: replace(item, value=value(item.value))), body=value(seq.body)
        )

    functions = {name: replace(fn, body=sequence(fn.body)) for name, fn in module.relax_functions.items()}
    return module.having({**module.functions, **functions})
