"""What the StructInfo of a program tells, compared with that of an earlier one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.residual import ASSERT, CAST, shape_checks

T = TypeVar("T")

# The checks of the program tell more than these: they know what was checked before.
_ABOUT_LENGTHS = (codes.MAYBE_RETURN, codes.MAYBE_ARGUMENT)


def tells_as_much(new: IRModule, old: IRModule, dropped: Collection[e.Binding]) -> bool:
    """True if a program without some of its checks has no further problem, and loses no length, type or proof.

    `old` is normalized. Each other binding of `old` has its place in `new`; those in `dropped` may be gone or copies.
    """
    new, report = normalize_with(new)
    problems = Counter(item.code for item in report if item.code not in _ABOUT_LENGTHS)
    if problems - Counter(item.code for item in normalize_with(old)[1]):
        return False
    for name, fn in new.relax_functions.items():
        before = old.relax_functions[name]
        if fn is before:
            continue
        kept = [
            b for b in bindings(before) if b not in dropped or (type(b) is e.MatchCast and b.var is not None)
        ]
        pairs = [(a.var, b.var) for a, b in zip(kept, bindings(fn), strict=True) if a not in dropped]
        if any(a is not None and b is not None and loses(a.struct_info, b.struct_info) for a, b in pairs):
            return False
        if loses(before.ret_struct_info, fn.ret_struct_info):
            return False
    return not _open_checks(new) - _open_checks(old)


def refused(
    candidates: Sequence[T], is_fine: Callable[[Collection[T]], bool], taken: Collection[T] = ()
) -> set[T]:
    """The changes that stay away, because `is_fine` refuses them. Halves are tried as long as a whole fails."""
    if is_fine({*taken, *candidates}):
        return set()
    if len(candidates) == 1:
        return set(candidates)
    half = len(candidates) // 2
    first = refused(candidates[:half], is_fine, taken)
    taken = (*taken, *[one for one in candidates[:half] if one not in first])
    return first | refused(candidates[half:], is_fine, taken)


def _open_checks(module: IRModule) -> Counter[str]:
    """How many checks of each kind the program does not prove, apart from those that stand in its text."""
    checks = shape_checks(module)
    return Counter(
        one.kind for one in checks if one.answer is not Answer.YES and one.kind not in (CAST, ASSERT)
    )


def loses(old: s.StructInfo | None, new: s.StructInfo | None) -> bool:
    """True if lengths, rank, dtype or kind were known and are not."""
    if old is new or old is None or old is s.OBJECT:
        return False
    if type(old) is not type(new):
        return True
    if isinstance(old, s.TensorStructInfo) and isinstance(new, s.TensorStructInfo):
        known = (old.dtype, new.dtype), (old.lengths, new.lengths), (old.shape, new.shape)
        return (old.ndim, old.vdevice) != (new.ndim, new.vdevice) or any(
            a is not None and b is None for a, b in known
        )
    if isinstance(old, s.ShapeStructInfo) and isinstance(new, s.ShapeStructInfo):
        return old.ndim != new.ndim or (old.values is not None and new.values is None)
    if isinstance(old, s.PrimStructInfo) and isinstance(new, s.PrimStructInfo):
        return old.dtype is not new.dtype or (old.value is not None and new.value is None)
    if isinstance(old, s.TupleStructInfo) and isinstance(new, s.TupleStructInfo):
        return len(old.fields) != len(new.fields) or any(map(loses, old.fields, new.fields))
    if isinstance(old, s.FuncStructInfo) and isinstance(new, s.FuncStructInfo):
        if old.params is None or new.params is None:
            return old.params is not new.params
        pairs = zip((*old.params, old.ret), (*new.params, new.ret), strict=True)
        return len(old.params) != len(new.params) or any(loses(a, b) for a, b in pairs)
    return False
