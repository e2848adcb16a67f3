"""Constants without data in the text. Their values are unknown, so annotations of them are trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings, operands, sequences
from relax_explorer.core.program.module import IRModule

_FAR = 100  # the maximal number of values to search for such a constant


def is_missing(expr: e.Expr) -> bool:
    """True for a constant tensor without data."""
    return type(expr) is e.Constant and expr.data is None and isinstance(expr.struct_info, s.TensorStructInfo)


def depends_on_missing(value: e.Expr, definitions: Mapping[e.Var, e.Expr]) -> bool:
    """True if `value` depends on such a constant, directly or through variables with incomplete StructInfo."""
    stack, seen = [value], {value}
    while stack and len(seen) < _FAR:
        part = stack.pop()
        if is_missing(part):
            return True
        parts = list(operands(part))
        if isinstance(part, e.Var) and part in definitions and not _is_whole(part.struct_info):
            parts.append(definitions[part])
        stack += [operand for operand in parts if operand not in seen]
        seen.update(parts)
    return False


def _is_whole(info: s.StructInfo | None) -> bool:
    if isinstance(info, s.TupleStructInfo):
        return all(map(_is_whole, info.fields))
    return isinstance(info, s.TensorStructInfo) and info.dims is not None and info.dtype is not None


def _constants(fn: e.Function) -> Iterator[e.Constant]:
    """The constants of a function, in text order but for bodies of branches. Variables, which most operands are, are skipped."""
    for value in (*[binding.value for binding in bindings(fn)], fn.body.body):
        stack = [*[seq.body for seq in sequences(value)[::-1]], value]
        while stack:
            expr = stack.pop()
            if type(expr) is e.Constant:
                yield expr
            else:
                stack.extend([part for part in operands(expr)[::-1] if type(part) in _HOLDING])


_HOLDING = frozenset({e.Constant, e.Call, e.Tuple, e.TupleGetItem})


def violations(module: IRModule) -> list[Diagnostic]:
    """One diagnostic for all constants without data."""
    constants = [
        expr for fn in module.relax_functions.values() for expr in _constants(fn) if is_missing(expr)
    ]
    if not constants:
        return []
    count = len({expr.key for expr in constants if isinstance(expr, e.Constant)})
    text = (
        f"the module was printed without show_meta=True: the data of {count} constant{'s' if count > 1 else ''} "
        "is not in the text, and annotations are trusted"
    )
    return [
        Diagnostic(
            codes.MISSING_METADATA, text, (Label(constants[0], "", True),), help=codes.MISSING_METADATA.fix
        )
    ]
