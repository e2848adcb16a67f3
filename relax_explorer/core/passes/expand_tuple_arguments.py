"""ExpandTupleArguments: give private functions one parameter for each field of a tuple."""

from __future__ import annotations

from collections.abc import Mapping

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import merged_blocks
from relax_explorer.core.passes import machine_calls as m
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.private_functions import changeable, clean_up
from relax_explorer.core.passes.properties import CANONICAL_BINDINGS, NORMAL_FORM
from relax_explorer.core.passes.readings import PRIVATE
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.program.module import IRModule

Functions = Mapping[str, e.Function]


@module_pass(
    "ExpandTupleArguments",
    reads=[PRIVATE],
    rebuilds=True,
    requires=[NORMAL_FORM],
    establishes=[CANONICAL_BINDINGS],
)
def expand_tuple_arguments(module: IRModule, at: PassSite) -> IRModule:
    """Replace each tuple parameter of a private function by one parameter for each field.

    `f(x: R.Tuple(A, B))` becomes `f(x_0: A, x_1: B)`, and so do tuples in tuples. A function that is used as a value stays, unless the
    profile is `tvm`. At the end, bindings are canonicalized and dead code is removed.
    """
    expanded = changeable(module, at, _takes_tuples)
    for name, fn in module.relax_functions.items() if expanded else ():
        new = _expanded(fn) if name in expanded else fn
        at.editor.replace(name, _calling(new, expanded, at))
    return clean_up(at)


def _is_tuple(expr: e.Expr) -> bool:
    return isinstance(expr.struct_info, s.TupleStructInfo)


def _takes_tuples(fn: e.Function) -> bool:
    return any(map(_is_tuple, fn.params))


def _expanded(fn: e.Function) -> e.Function:
    """The function with parameters for fields. It begins with the bindings of the tuples."""
    names = FreshNames.of(fn)
    params: list[e.Var] = []

    tuples: list[e.Binding] = []

    def given(param: e.Var) -> e.Var:
        """The parameter itself, or the tuple bound from its fields."""
        info = param.struct_info
        if not isinstance(info, s.TupleStructInfo):
            params.append(param)
            return param
        fields = [given(e.Var(names(f"{param.name}_{n}"), field)) for n, field in enumerate(info.fields)]
        tuples.append(e.VarBinding(param, e.tuple_of(tuple(fields))))
        return param

    for param in fn.params:
        given(param)
    result, ends = fn.body.body, list[e.Binding]()
    if type(result) is e.Tuple:  # TVM binds it, too
        ends.append(m.bound(names("gv"), result))
        result = ends[-1].var or result
    blocks = merged_blocks([e.BindingBlock(tuple(tuples)), *fn.body.blocks, e.BindingBlock(tuple(ends))])
    body = replace(fn.body, blocks=tuple(blocks), body=result)
    return replace(fn, params=tuple(params), body=body, struct_info=None)


def _calling(fn: e.Function, expanded: Functions, at: PassSite) -> e.Function:
    """The function with one argument for each field in the calls of `expanded`."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        call = binding.value
        if type(call) is not e.Call or type(call.op) is not e.GlobalVar or call.op.name not in expanded:
            return binding
        build = walk.front_of(binding)
        args = [leaf for arg in call.args for leaf in _fields(arg, build)]
        return *build.bindings, replace(binding, value=replace(call, args=tuple(args)))

    return rewrite(fn, at, rule)


def _fields(arg: e.Expr, build: BlockBuilder) -> list[e.Expr]:
    """The fields of an argument, those of inner tuples included. The argument itself if it is no tuple."""
    if type(arg) is e.Tuple:
        return [leaf for field in arg.fields for leaf in _fields(field, build)]
    info = arg.struct_info
    if not isinstance(info, s.TupleStructInfo):
        return [arg]
    numbers = range(len(info.fields))
    return [leaf for number in numbers for leaf in _fields(build.emit(e.TupleGetItem(arg, number)), build)]
