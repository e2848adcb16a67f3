"""RemoveRedundantReshape: merge reshapes of reshapes, and drop those to the same shape."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.prim import IntImm
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pattern_rules import Rule, apply_rules, call
from relax_explorer.core.passes.readings import operators
from relax_explorer.core.patterns.matcher import Match
from relax_explorer.core.patterns.pattern import is_op, wildcard
from relax_explorer.core.phases.module_properties import NORMAL_FORM


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
