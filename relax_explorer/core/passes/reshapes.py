"""Reshapes and layouts: merged and dropped (RemoveRedundantReshape, OptimizeLayoutTransform), and RewriteDataflowReshape."""

from __future__ import annotations

from functools import cache

from relax_explorer.core.arith.assume import prove_under
from relax_explorer.core.arith.prove import Answer as Proof
from relax_explorer.core.arith.prove import equal
from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.fold import substitute
from relax_explorer.core.ir.index_map import IndexMap, place
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.prim import IntImm
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pattern_rules import Rule, apply_rules, call
from relax_explorer.core.passes.readings import DATAFLOW, OPERATORS, operators
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.patterns.matcher import Match
from relax_explorer.core.patterns.pattern import Pattern, is_gv, is_op, is_tuple, wildcard
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import BUILTINS_LOWERED, NORMAL_FORM, SHAPES_LOWERED
from relax_explorer.core.tir.reshaping import is_reshape
from relax_explorer.core.tir.stmt import Buffer, PrimFunc


@function_pass("RemoveRedundantReshape", reads=[operators("reshape")], rebuilds=True, requires=[NORMAL_FORM])
def remove_redundant_reshape(fn: e.Function, at: PassSite) -> e.Function:
    """Replace `reshape(reshape(x, a), b)` by `reshape(x, b)`, and `reshape(x, b)` by x if that is the shape of x.

    A length 0 in b means the length of the operand at its place. If it would mean another length, the reshape stays.
    In the profile `tvm` the results of branches lose their lengths, and the reshape of a scalar stays.
    """
    return apply_rules(fn, at, _TVM_RULES if at.as_tvm else RULES)


_X, _SHAPE = wildcard(), wildcard()
_INNER = is_op("relax.reshape")(_X, wildcard())
_OUTER = is_op("relax.reshape")(_INNER, _SHAPE)


def _merged(found: Match) -> e.Expr | None:
    shape = found[_SHAPE]
    return call("relax.reshape", found[_X], shape) if _means_the_same(shape, found[_X]) else None


def _means_the_same(shape: e.Expr, x: e.Expr) -> bool:
    """True if no 0 in the shape stands for another length of x."""
    if type(shape) is not e.ShapeExpr:
        return True
    dims = x.struct_info.dims if isinstance(x.struct_info, s.TensorStructInfo) else None
    zeros = [n for n, length in enumerate(shape.values) if type(length) is IntImm and length.value == 0]
    return not zeros or (
        dims is not None and all(n < len(dims) and dims[n] is shape.values[n] for n in zeros)
    )


def _dropped(found: Match) -> e.Expr | None:
    shape, info = found[_SHAPE_OF_ANY], found[_ANY].struct_info
    same = type(shape) is e.ShapeExpr and isinstance(info, s.TensorStructInfo) and info.dims == shape.values
    return found[_ANY] if same else None


_ANY, _SHAPE_OF_ANY = wildcard(), wildcard()
RULES = (
    Rule("merge reshapes", _OUTER, _merged),
    Rule("drop a reshape to the same shape", is_op("relax.reshape")(_ANY, _SHAPE_OF_ANY), _dropped),
)


def _dropped_as_tvm(found: Match) -> e.Expr | None:
    """TVM takes a shape without lengths for one that is not known."""
    info = found[_ANY].struct_info
    return _dropped(found) if isinstance(info, s.TensorStructInfo) and info.dims else None


_TVM_RULES = (RULES[0], Rule(RULES[1].name, RULES[1].pattern, _dropped_as_tvm))


# -- rewrite dataflow reshape ----------------------------------------------------------------------------------------
# RewriteDataflowReshape: call `reshape` in place of kernels that only copy a tensor into another shape.


@function_pass(
    "RewriteDataflowReshape",
    has_profiles=True,
    reads=[DATAFLOW],
    requires=[NORMAL_FORM],
    invalidates=[BUILTINS_LOWERED, SHAPES_LOWERED],
)
def rewrite_dataflow_reshape(fn: e.Function, at: PassSite) -> e.Function:
    """In the dataflow blocks of a function itself, replace the call of a kernel that copies its operand in row-major order by `reshape`.

    The virtual machine then gives the same memory another shape, and nothing is copied. Outputs of the block stay copies, and so
    does what shares memory that may be overwritten, except in the profile `tvm`.
    """
    memory = cache(lambda: aliases(at.module, at.function, fn))  # most functions have no such kernel
    own = frozenset(fn.body.blocks)  # those of branches and of nested functions stay as they are, as in TVM

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        call = binding.value
        if type(binding.var) is not e.DataflowVar or type(call) is not e.Call or walk.block not in own:
            return binding
        out = call.sinfo_args[0] if call.op is e.op_ref("relax.call_tir") else None
        if not isinstance(out, s.TensorStructInfo) or out.dims is None or len(call.args) != 2:
            return binding
        fields = call.args[1].fields if isinstance(call.args[1], e.Tuple) else ()
        kernel = _reshaping(call.args[0], at)
        if not fields or kernel is None or not _has_lengths(fields[0], fields[1:], kernel):
            return binding
        operand = fields[0]
        if not at.as_tvm and (memory().written(operand) or memory().written(binding.var)):
            return binding
        value = m.operation("relax.reshape", (operand, m.shape(out.dims)), call.struct_info or out, call)
        return replace(binding, value=value)

    return rewrite(fn, at, rule)


def _reshaping(callee: e.Expr, at: PassSite) -> PrimFunc | None:
    """The kernel that is called, if it only copies a tensor into another shape."""
    kernel = at.module.functions.get(callee.name) if isinstance(callee, e.GlobalVar) else None
    if not isinstance(kernel, PrimFunc):
        return None
    return kernel if at.once(("is a reshape", kernel), lambda: is_reshape(kernel)) else None


def _has_lengths(operand: e.Expr, lengths: tuple[e.Expr, ...], kernel: PrimFunc) -> bool:
    """True if a tensor provably has the lengths that a call passes with it, so that the kernel would not stop."""
    source, *params = kernel.params[:-1]
    if not params and not lengths:
        return True
    info = operand.struct_info
    dims = info.dims if isinstance(info, s.TensorStructInfo) else None
    if not isinstance(source, Buffer) or dims is None or len(params) != len(lengths):
        return False
    if len(dims) != len(source.shape):
        return False
    known: dict[p.PrimVar, p.PrimExpr] = {}
    for param, length in zip(params, lengths, strict=True):
        if not isinstance(param, p.PrimVar) or not isinstance(length, e.PrimValue):
            return False
        known[param] = length.value
    for wanted, dim in zip(source.shape, dims, strict=True):
        if type(wanted) is p.PrimVar and wanted not in known:
            known[wanted] = dim
        elif equal(substitute(wanted, known), dim) is not Proof.YES:
            return False
    return True


# -- optimize layout transform ---------------------------------------------------------------------------------------
# OptimizeLayoutTransform: drop pairs of layout transforms that undo each other.


@function_pass("OptimizeLayoutTransform", reads=[OPERATORS], rebuilds=True, requires=[NORMAL_FORM])
def optimize_layout_transform(fn: e.Function, at: PassSite) -> e.Function:
    """Replace a layout_transform of a layout_transform by the first operand, if the second one undoes the first.

    Between them may stand a kernel with the attribute `operator_name = "remove_pad"`: the elements that it removes hold no data.
    In the profile `tvm` the results of branches lose their lengths.
    """

    def dropped(found: Match) -> e.Expr | None:
        if _KERNEL in found and not _removes_pad(at, found[_KERNEL]):
            return None
        outer = found.call(_PAIR if _PAIR in found else _WITH_PAD)
        inner, x = found.call(_INNER_TRANSFORM), found[_LAID_OUT]
        lengths = s.lengths(x.struct_info)
        if not lengths or lengths != s.lengths(outer.struct_info):
            return None
        return x if _undoes(outer.attrs.get("index_map"), inner.attrs.get("index_map"), lengths) else None

    return apply_rules(fn, at, [Rule("drop inverse layout transforms", _PAIR | _WITH_PAD, dropped)])


_LAID_OUT, _KERNEL = wildcard(), is_gv()
_transform = is_op("relax.layout_transform")
_INNER_TRANSFORM = _transform(_LAID_OUT)
_PAIR: Pattern = _transform(_INNER_TRANSFORM)
_WITH_PAD: Pattern = _transform(is_op("relax.call_tir")(_KERNEL, is_tuple([_INNER_TRANSFORM])))


def _removes_pad(at: PassSite, kernel: e.Expr) -> bool:
    fn = at.module.functions.get(kernel.name) if type(kernel) is e.GlobalVar else None
    return isinstance(fn, PrimFunc) and fn.attrs.get("operator_name") == "remove_pad"


def _undoes(outer: object, inner: object, lengths: tuple[p.PrimExpr, ...]) -> bool:
    """True if the second map leads each index of a tensor back to itself."""
    if not isinstance(outer, IndexMap) or not isinstance(inner, IndexMap):
        return False
    indices = [place(n) for n in range(len(lengths))]
    back = outer.at(inner.at(indices))
    facts = [p.LT(index, length) for index, length in zip(indices, lengths, strict=True)]
    return len(back) == len(indices) and all(
        prove_under(facts, p.EQ(new, old)) is Proof.YES for new, old in zip(back, indices, strict=True)
    )
