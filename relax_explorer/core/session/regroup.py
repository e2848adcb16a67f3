"""Finds in a diff the values that one binding makes and several made before (merged), and the other way round (split).

Recorded rewrites are certain. Else the computation tells: a call of a function that the old side lacks is compared with what that
function holds; a `call_tir` with the calls of its kernel just before the binding that keeps its variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.contract import Record
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import FunctionDiff, Group, ModuleDiff, Unit
from relax_explorer.core.session.pairing import common_run, head_of

_MOST_PARTS = 16  # bindings that one call is looked for in, when it was split


def with_groups(diff: ModuleDiff, a: IRModule, b: IRModule, record: Record | None = None) -> ModuleDiff:
    """The diff with the groups of its functions; the same object if there are none. `record` is that of the pass between `a` and `b`."""
    functions = tuple([_with_groups(fn, a, b, record) for fn in diff.functions])
    unchanged = all(new is old for new, old in zip(functions, diff.functions, strict=True))
    return diff if unchanged else ModuleDiff(functions)


def _with_groups(fn: FunctionDiff, a: IRModule, b: IRModule, record: Record | None) -> FunctionDiff:
    if fn.status != "changed" or type(a.functions[fn.name]) is not e.Function:
        return fn
    old = _items(fn.old, [pair.a for pair in fn.pairs if pair.kind in ("removed", "changed")])
    new = _items(fn.new, [pair.b for pair in fn.pairs if pair.kind in ("added", "changed")])
    if not (old and new):
        return fn
    found = {group.new[-1]: group for group in _split_calls(fn)}
    found.update({call: Group("merged", parts, (call,), False) for parts, call in _outlined(old, new, a, b)})
    for parts, call in _outlined(new, old, b, a):
        found[parts[-1]] = Group("split", (call,), parts, False)
    found.update(_recorded(fn, record))
    return replace(fn, groups=found) if found else fn


_Item = tuple[int, e.Binding]


def _items(units: Sequence[Unit], numbers: Iterable[int | None]) -> list[_Item]:
    """The bindings of these numbers, in order."""
    found = sorted([n for n in numbers if n is not None])
    return [(n, unit) for n in found if isinstance(unit := units[n], e.Binding)]


def _outlined(
    flat: Sequence[_Item], nested: Sequence[_Item], flat_module: IRModule, module: IRModule
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Bindings of `flat` that stand inside of a function which `nested` calls and `flat_module` lacks, with the number of the call."""
    inner = [(head, n) for n, call in nested for head in _inside(call, module, flat_module)]
    if not inner:
        return
    run = common_run([head_of(item) for _, item in flat], [head for head, _ in inner])
    for call, matches in groupby(run, lambda match: inner[match[1]][1]):
        parts = tuple([flat[i][0] for i, _ in matches])
        if len(parts) > 1:
            yield parts, call


def _inside(binding: e.Binding, module: IRModule, other: IRModule) -> list[str]:
    """The operations inside of the function that a binding calls, if `other` lacks that function."""
    value = binding.value
    if type(value) is not e.Call or type(value.op) is not e.GlobalVar or value.op.name in other.functions:
        return []
    callee = module.functions.get(value.op.name)
    if type(callee) is not e.Function:
        return []
    found: list[str] = []
    stack = [iter(bindings(callee))]
    entered = {value.op.name}
    while stack:
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
            continue
        head = head_of(part)
        called = module.functions.get(head)
        if type(called) is e.Function and head not in other.functions and head not in entered:
            entered.add(head)
            stack.append(iter(bindings(called)))
        else:
            found.append(head)
    return found


def _split_calls(fn: FunctionDiff) -> Iterator[Group]:
    """Calls of kernels that became an allocation, a call into it, and a binding of the old variable."""
    run: list[int] = []  # added bindings just before
    for pair in fn.pairs:
        if pair.b is None:
            continue
        if pair.a is None:
            run = [*run[1 - _MOST_PARTS :], pair.b]
            continue
        old, new = fn.old[pair.a], fn.new[pair.b]
        if pair.kind == "changed" and run and isinstance(old, e.Binding) and isinstance(new, e.Binding):
            head = head_of(old)
            heads = [head_of(item) for n in run if isinstance(item := fn.new[n], e.Binding)]
            if type(old.value) is e.Call and head in heads and head_of(new) != head:
                yield Group("split", (pair.a,), (*run, pair.b), False)
        run = []


def _recorded(fn: FunctionDiff, record: Record | None) -> Mapping[int, Group]:
    """The merges that the pass recorded, where both ends are bindings of this function."""
    merges = list(record.merges()) if record is not None else []
    if not merges:
        return {}
    old, new = (
        {item: n for n, item in enumerate(side) if isinstance(item, e.Binding)} for side in (fn.old, fn.new)
    )
    found: dict[int, Group] = {}
    for rewrite in merges:
        before = tuple(sorted([old[item] for item in rewrite.before if item in old]))
        after = [new[item] for item in rewrite.after if item in new]
        if len(before) > 1 and after:
            found[after[-1]] = Group("merged", before, (after[-1],), True)
    return found
