"""Aligns the bindings of two stages, and classifies each pair.

Relax functions are aligned by binding, not by line. PrimFuncs are aligned by line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, operands
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align_kernel import align_lines, kernel_lines
from relax_explorer.core.session.pairing import Pairing, increasing, name_of
from relax_explorer.core.shown import Shown
from relax_explorer.core.syntax.dialects import NEW
from relax_explorer.core.syntax.doc import Line
from relax_explorer.core.syntax.names import Names
from relax_explorer.core.syntax.printer import FunctionPrinter
from relax_explorer.core.syntax.printer_expr import Constants, ExprText
from relax_explorer.core.tir.stmt import PrimFunc

KINDS = ("added", "removed", "changed", "type", "kind", "renamed", "moved", "same")


Unit = e.Binding | Line


@dataclass(frozen=True, slots=True)
class Pair:
    """Binding or line `a` of the old side and `b` of the new; None where one side has none. `exact` marks a certain match."""

    kind: str
    a: int | None
    b: int | None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Group:
    """Old bindings that one new binding computes (`kind` is merged), or one old binding that several new ones compute (split).

    `old` and `new` are numbers of bindings; the last of `new` makes the value. `exact` marks a recorded group.
    """

    kind: str
    old: tuple[int, ...]
    new: tuple[int, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class FunctionDiff:
    """The diff of one function: `status` is same, added, removed or changed. Pairs are in the order of the new text.

    `groups` holds what was merged or split, by the new binding that makes the value.
    """

    name: str
    status: str
    old: tuple[Unit, ...]
    new: tuple[Unit, ...]
    pairs: tuple[Pair, ...]
    groups: Mapping[int, Group] = field(default_factory=dict)
    _counts: Counter[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_counts", Counter([pair.kind for pair in self.pairs]))

    def count(self, kind: str) -> int:
        """The number of pairs of `kind`."""
        return self._counts[kind]


@dataclass(frozen=True, slots=True)
class ModuleDiff(Shown):
    """The diff of a module, function by function."""

    functions: tuple[FunctionDiff, ...]

    @property
    def stat(self) -> dict[str, int]:
        """Counts of added, removed, changed, type, kind, renamed and moved bindings; `kind` is DataflowVar or Var."""
        return {kind: sum(fn.count(kind) for fn in self.functions) for kind in KINDS if kind != "same"}

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {kind}" for kind, count in self.stat.items() if count)
        return f"<ModuleDiff of {len(self.functions)} functions: {counts or 'no binding differs'}>"

    @property
    def is_empty(self) -> bool:
        """True if nothing differs."""
        return all(fn.status == "same" for fn in self.functions)


@collector_at_rest()
def diff_modules(a: IRModule, b: IRModule) -> ModuleDiff:
    """The difference of two modules."""
    names = [*a.functions, *[name for name in b.functions if name not in a.functions]]
    return ModuleDiff(
        tuple([_function(name, a.functions.get(name), b.functions.get(name)) for name in names])
    )


def _function(name: str, a: Any, b: Any) -> FunctionDiff:
    old = tuple(bindings(a)) if type(a) is e.Function else ()
    if type(a) is type(b) is PrimFunc and a is not b:
        return diff_kernels(name, a, b)
    if a is b:
        return FunctionDiff(name, "same", old, old, ())
    new = tuple(bindings(b)) if type(b) is e.Function else ()
    if a is None:
        return FunctionDiff(name, "added", (), new, tuple([Pair("added", None, j) for j in range(len(new))]))
    if b is None:
        return FunctionDiff(
            name, "removed", old, (), tuple([Pair("removed", i, None) for i in range(len(old))])
        )
    if type(a) is type(b) is e.Function:
        return _relax(name, a, b, old, new)
    unchanged = type(a) is type(b) and structural_equal(a, b)
    return FunctionDiff(name, "same" if unchanged else "changed", old, new, tuple(align(old, new)))


def _relax(
    name: str, a: e.Function, b: e.Function, old: tuple[e.Binding, ...], new: tuple[e.Binding, ...]
) -> FunctionDiff:
    """Bindings by alignment. Lines of the head and the result follow them in `old` and `new`, where they differ."""
    pairs, kinds = _aligned(old, new, dict(zip(b.params, a.params, strict=False)))
    left, right = outline(name, a), outline(name, b)
    rows = [Pair(*row) for row in align_lines(left[:-1], right[:-1])]
    head = _shifted(rows, len(old), len(new)) if any(row.kind != "same" for row in rows) else []
    results: list[Pair] = []
    if not kinds.same_value(a.body.body, b.body.body):
        results = [Pair("changed", len(old) + len(left) - 1, len(new) + len(right) - 1)]
    blocks = [type(block) for block in a.body.blocks] == [type(block) for block in b.body.blocks]
    unchanged = blocks and not head and not results and all(pair.kind == "same" for pair in pairs)
    status = "same" if unchanged else "changed"
    return FunctionDiff(name, status, (*old, *left), (*new, *right), (*head, *pairs, *results))


def _shifted(rows: Sequence[Pair], a: int, b: int) -> list[Pair]:
    return [
        Pair(row.kind, None if row.a is None else a + row.a, None if row.b is None else b + row.b, row.exact)
        for row in rows
    ]


def outline(name: str, fn: e.Function) -> list[Line]:
    """The lines of a function without its bindings: decorator, signature, attributes, result last."""
    bare = replace(fn, body=replace(fn.body, blocks=()))
    nodes = {bare: fn, bare.body: fn.body}
    lines = FunctionPrinter(ExprText(Names(), NEW, Constants())).print(name, bare)
    return [Line(line.text, nodes.get(line.node, line.node), name) for line in lines]


def binding_text(binding: e.Binding) -> str:
    """The binding on one line."""
    printer = FunctionPrinter(ExprText(Names(), NEW, Constants()))
    printer.binding(binding, 0)
    return printer.lines[0].text


def unit_text(unit: Unit) -> str:
    """A binding or a line of a kernel as one line, without indentation."""
    return unit.text.strip() if isinstance(unit, Line) else binding_text(unit)


def diff_kernels(name: str, a: PrimFunc, b: PrimFunc) -> FunctionDiff:
    """The diff of two PrimFuncs by their lines."""
    if structural_equal(a, b):
        return FunctionDiff(name, "same", (), (), ())
    old, new = kernel_lines(name, a), kernel_lines(name, b)
    return FunctionDiff(name, "changed", old, new, tuple([Pair(*row) for row in align_lines(old, new)]))


def align(
    old: Sequence[e.Binding], new: Sequence[e.Binding], params: dict[e.Var, e.Var] | None = None
) -> list[Pair]:
    """Pairs of bindings: the same object, then the same variable, then the same name and operator, then the same computation,
    then by order in gaps.

    `params` maps parameters of the new side to those of the old.
    """
    return _aligned(old, new, params or {})[0]


def _aligned(
    old: Sequence[e.Binding], new: Sequence[e.Binding], params: dict[e.Var, e.Var]
) -> tuple[list[Pair], _Kinds]:
    pairing = Pairing(old, new, params)
    match = pairing.match
    in_order = increasing(match)
    pairs: list[Pair] = []
    back = {j: i for i, j in match.items()}
    kinds = _Kinds(pairing, params)
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
            kind = kinds.of(old[i], new[j])
            moved = kind in ("same", "renamed") and i not in in_order
            pairs.append(Pair("moved" if moved else kind, i, j, i in pairing.exact))
    pairs += [Pair("removed", i, None) for i in range(position, len(old)) if i not in match]
    return pairs, kinds


class _Kinds:
    """Classifies matched bindings."""

    def __init__(self, pairing: Pairing, params: Mapping[e.Var, e.Var]) -> None:
        self._text = pairing.texts.of
        self._variables: dict[e.Var, e.Var | None] = dict(params)  # from new variables to old ones
        for i, j in pairing.match.items():
            a, b = pairing.old[i], pairing.new[j]
            if b.var is not None:
                self._variables[b.var] = a.var
            if type(a.value) is type(b.value) is e.Function:
                self._variables.update(zip(b.value.params, a.value.params, strict=False))

    def of(self, a: e.Binding, b: e.Binding) -> str:
        """The kind of change from `a` to `b`."""
        if a is b:
            return "same"
        if not self.same_value(a.value, b.value):
            return "changed"
        if not self._same_info(a.var, b.var):
            return "type"
        if type(a.var) is not type(b.var):
            return "kind"
        return "same" if name_of(a) == name_of(b) else "renamed"

    def _same_info(self, a: e.Var | None, b: e.Var | None) -> bool:
        """True if the StructInfos print the same. Separately parsed modules do not share shape variables, so text is compared."""
        left, right = (None if var is None else var.struct_info for var in (a, b))
        return left is right or self._text(left) == self._text(right)

    def same_value(self, a: e.Expr, b: e.Expr) -> bool:
        """True if two values are the same operation on matched operands."""
        stack = [(a, b)]
        while stack:
            x, y = stack.pop()
            if x is y:
                continue
            if isinstance(y, e.Var):
                if self._variables.get(y, y) is not x:
                    return False
                continue
            left, right = operands(x), operands(y)
            if len(left) != len(right) or not self._same_head(x, y):
                return False
            stack.extend(zip(left, right, strict=True))
        return True

    def _same_head(self, a: e.Expr, b: e.Expr) -> bool:
        """True if two expressions are equal apart from their operands."""
        if type(a) is not type(b):
            return False
        if isinstance(a, e.Call) and isinstance(b, e.Call):
            left, right = map(self._text, a.sinfo_args), map(self._text, b.sinfo_args)
            return a.attrs is b.attrs and list(left) == list(right)
        if isinstance(a, e.TupleGetItem) and isinstance(b, e.TupleGetItem):
            return a.index == b.index
        return bool(operands(a)) or structural_equal(a, b, map_free_vars=True)
