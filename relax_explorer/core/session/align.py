"""Which binding of one stage is which of another, and what became of it. The unit is the binding, not the line."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings, operands
from relax_explorer.core.program.module import IRModule

KINDS = ("added", "removed", "changed", "type", "renamed", "moved", "same")
_GAP_LIMIT = 2000  # a larger gap between anchors is not aligned further: its ends are added and removed


@dataclass(frozen=True, slots=True)
class Pair:
    """One binding on either side: `a` and `b` are numbers, None where there is none; `exact` says the match is certain."""

    kind: str
    a: int | None
    b: int | None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class FunctionDiff:
    """What became of one function: `status` is same, added, removed or changed; pairs stand in the order of the new text."""

    name: str
    status: str
    old: tuple[e.Binding, ...]
    new: tuple[e.Binding, ...]
    pairs: tuple[Pair, ...]

    def count(self, kind: str) -> int:
        """How many pairs are of `kind`."""
        return sum(pair.kind == kind for pair in self.pairs)


@dataclass(frozen=True, slots=True)
class ModuleDiff:
    """What became of a module, function by function."""

    functions: tuple[FunctionDiff, ...]

    @property
    def stat(self) -> dict[str, int]:
        """Counts of added, removed, changed, type, renamed and moved bindings."""
        return {kind: sum(fn.count(kind) for fn in self.functions) for kind in KINDS if kind != "same"}

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return all(fn.status == "same" for fn in self.functions)


def diff_modules(a: IRModule, b: IRModule) -> ModuleDiff:
    """The difference of two modules."""
    names = [*a.functions, *[name for name in b.functions if name not in a.functions]]
    return ModuleDiff(
        tuple([_function(name, a.functions.get(name), b.functions.get(name)) for name in names])
    )


def _function(name: str, a: Any, b: Any) -> FunctionDiff:
    old = tuple(bindings(a)) if type(a) is e.Function else ()
    if a is b:
        return FunctionDiff(name, "same", old, old, ())
    new = tuple(bindings(b)) if type(b) is e.Function else ()
    if a is None:
        return FunctionDiff(name, "added", (), new, tuple([Pair("added", None, j) for j in range(len(new))]))
    if b is None:
        return FunctionDiff(
            name, "removed", old, (), tuple([Pair("removed", i, None) for i in range(len(old))])
        )
    params = dict(zip(b.params, a.params, strict=False)) if type(a) is type(b) is e.Function else {}
    pairs = align(old, new, params)
    if type(a) is type(b) is e.Function:
        unchanged = all(pair.kind == "same" for pair in pairs) and _heads_equal(a, b)
    else:
        from relax_explorer.core.program.equal import structural_equal

        unchanged = type(a) is type(b) and structural_equal(a, b)
    return FunctionDiff(name, "same" if unchanged else "changed", old, new, tuple(pairs))


def _heads_equal(a: e.Function, b: e.Function) -> bool:
    blocks = [type(block) for block in a.body.blocks] == [type(block) for block in b.body.blocks]
    return (
        blocks
        and a.attrs is b.attrs
        and len(a.params) == len(b.params)
        and str(a.ret_struct_info) == str(b.ret_struct_info)
    )


def align(
    old: Sequence[e.Binding], new: Sequence[e.Binding], params: dict[e.Var, e.Var] | None = None
) -> list[Pair]:
    """Pairs of bindings: the same object, then the same variable, then the same name and operator, then by order in gaps.

    `params` maps parameters of the new side to those of the old.
    """
    match: dict[int, int] = {}
    exact: set[int] = set()
    _by_key(old, new, match, exact, id)
    _by_key(old, new, match, exact, lambda b: b.var)
    _by_key(old, new, match, None, lambda b: (_name(b), _op(b)))
    _by_key(old, new, match, None, _name)
    _fill_gaps(old, new, match)
    in_order = _increasing(match)
    pairs: list[Pair] = []
    back = {j: i for i, j in match.items()}
    variables: dict[Any, Any] = dict(params or {})
    variables.update({new[j].var: old[i].var for i, j in match.items()})
    position = 0
    for j in range(len(new)):
        i = back.get(j)
        while position < len(old) and (
            position not in match or (i is not None and position < i and match[position] < j)
        ):
            if position not in match:
                pairs.append(Pair("removed", position, None))
            position += 1
        if i is None:
            pairs.append(Pair("added", None, j))
        else:
            kind = _kind(old[i], new[j], variables)
            pairs.append(
                Pair("moved" if kind in ("same", "renamed") and i not in in_order else kind, i, j, i in exact)
            )
    pairs += [Pair("removed", i, None) for i in range(position, len(old)) if i not in match]
    return pairs


def _by_key(
    old: Sequence[e.Binding],
    new: Sequence[e.Binding],
    match: dict[int, int],
    exact: set[int] | None,
    key: Any,
) -> None:
    """Match what has the same key on both sides, once each."""
    taken = set(match.values())
    places: dict[Any, int] = {}
    for j, binding in enumerate(new):
        found = key(binding)
        if j not in taken and found is not None:
            places[found] = -1 if found in places else j  # a key that occurs twice decides nothing
    used: set[int] = set()
    for i, binding in enumerate(old):
        j = places.get(key(binding), -1) if i not in match else -1
        if j >= 0 and j not in used:
            match[i] = j
            used.add(j)
            if exact is not None:
                exact.add(i)


def _name(binding: e.Binding) -> str | None:
    return binding.var.name if binding.var is not None and binding.var.name != "_" else None


def _op(binding: e.Binding) -> str:
    value = binding.value
    return getattr(value.op, "name", "") if type(value) is e.Call else type(value).__name__


def _fill_gaps(old: Sequence[e.Binding], new: Sequence[e.Binding], match: dict[int, int]) -> None:
    """Align what is left between neighbouring anchors by operator and StructInfo."""
    anchors = sorted(_increasing(match))
    borders = [(-1, -1), *[(i, match[i]) for i in anchors], (len(old), len(new))]
    taken = set(match.values())
    for (i0, j0), (i1, j1) in pairwise(borders):
        left = [i for i in range(i0 + 1, i1) if i not in match]
        right = [j for j in range(j0 + 1, j1) if j not in taken]
        if not left or not right or len(left) * len(right) > _GAP_LIMIT**2:
            continue
        a = [(_op(old[i]), old[i].var and old[i].var.struct_info) for i in left]  # type: ignore[union-attr]
        b = [(_op(new[j]), new[j].var and new[j].var.struct_info) for j in right]  # type: ignore[union-attr]
        for block in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
            for k in range(block.size):
                match[left[block.a + k]] = right[block.b + k]


def _increasing(match: dict[int, int]) -> set[int]:
    """The old numbers of a longest run of matches that keep their order."""
    tails: list[int] = []
    chain: list[int] = []
    before: dict[int, int] = {}
    for i in sorted(match):
        place = bisect_left(tails, match[i])
        before[i] = chain[place - 1] if place else -1
        if place == len(tails):
            tails.append(match[i])
            chain.append(i)
        else:
            tails[place], chain[place] = match[i], i
    kept: set[int] = set()
    i = chain[-1] if chain else -1
    while i >= 0:
        kept.add(i)
        i = before[i]
    return kept


def _kind(a: e.Binding, b: e.Binding, variables: dict[Any, Any]) -> str:
    if a is b:
        return "same"
    if not _same_value(a.value, b.value, variables):
        return "changed"
    if not _same_info(a.var, b.var) or type(a.var) is not type(b.var):
        return "type"
    return "same" if _name(a) == _name(b) else "renamed"


def _same_info(a: e.Var | None, b: e.Var | None) -> bool:
    """Whether two variables have the same StructInfo; modules read apart have shape variables of their own, so text decides."""
    left, right = (None if var is None else var.struct_info for var in (a, b))
    return left is right or str(left) == str(right)


def _same_value(a: e.Expr, b: e.Expr, variables: dict[Any, Any]) -> bool:
    if a is b:
        return True
    if isinstance(b, e.Var):
        return variables.get(b, b) is a
    if type(a) is not type(b):
        return False
    if type(a) is e.Call and (a.attrs is not b.attrs or str(a.sinfo_args) != str(b.sinfo_args)):  # type: ignore[attr-defined]
        return False
    if type(a) is e.TupleGetItem and a.index != b.index:  # type: ignore[attr-defined]
        return False
    left, right = operands(a), operands(b)
    if not left:
        from relax_explorer.core.program.equal import structural_equal

        return structural_equal(a, b, map_free_vars=True)
    return len(left) == len(right) and all(
        _same_value(x, y, variables) for x, y in zip(left, right, strict=True)
    )
