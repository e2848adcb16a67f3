"""What became of each binding: two modules aligned function by function, and the history of a value through the stages."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, operands
from relax_explorer.core.passes.record import Record
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.binding_matches import (
    Matching,
    base_name,
    common_run,
    head_of,
    increasing,
    name_of,
)
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.shown import Readable, Shown
from relax_explorer.core.syntax.dialects import NEW
from relax_explorer.core.syntax.doc import Line
from relax_explorer.core.syntax.names import Names
from relax_explorer.core.syntax.node_text import binding_text
from relax_explorer.core.syntax.printer import FunctionPrinter
from relax_explorer.core.syntax.printer_expr import Constants, ExprText
from relax_explorer.core.syntax.printer_tir import print_prim_func
from relax_explorer.core.tir.stmt import PrimFunc

# -- align kernel ----------------------------------------------------------------------------------------------------
# Aligns the lines of a PrimFunc in two stages, and classifies each pair.


Row = tuple[str, int | None, int | None, bool]
"""Kind, old line number, new line number, and True for a certain match."""


def kernel_lines(name: str, fn: PrimFunc) -> tuple[Line, ...]:
    """The printed lines of one PrimFunc, each with its statement."""
    return tuple([Line(line.text, line.node, name) for line in print_prim_func(fn, name, NEW, {})])


def align_lines(old: Sequence[Line], new: Sequence[Line]) -> list[Row]:
    """Rows in the order of the new text.

    Lines with equal text are the same. Between them, lines of one statement object are renamed, lines of statements of one
    kind are changed, and all others are removed or added.
    """
    same = common_run([line.text for line in old], [line.text for line in new])
    rows: list[Row] = []
    for (i0, j0), (i1, j1) in pairwise([(-1, -1), *same, (len(old), len(new))]):
        rows += _gap(old, new, range(i0 + 1, i1), range(j0 + 1, j1))
        if i1 < len(old):
            rows.append(("same", i1, j1, True))
    return rows


def _gap(old: Sequence[Line], new: Sequence[Line], left: range, right: range) -> Iterator[Row]:
    kinds = [
        [type(line.node).__name__ for line in lines]
        for lines in (old[left.start : left.stop], new[right.start : right.stop])
    ]
    places = [(left[x], right[y]) for x, y in common_run(kinds[0], kinds[1])]
    for (i0, j0), (i1, j1) in pairwise([(left.start - 1, right.start - 1), *places, (left.stop, right.stop)]):
        yield from [("removed", i, None, True) for i in range(i0 + 1, i1)]
        yield from [("added", None, j, True) for j in range(j0 + 1, j1)]
        if i1 < left.stop:
            is_one = old[i1].node is not None and old[i1].node is new[j1].node
            yield ("renamed" if is_one else "changed", i1, j1, is_one)


# -- align -----------------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True, repr=False)
class ModuleDiff(Readable, Shown):
    """The diff of a module, function by function."""

    functions: tuple[FunctionDiff, ...]

    @property
    def stat(self) -> dict[str, int]:
        """Counts of added, removed, changed, type, kind, renamed and moved bindings; `kind` is DataflowVar or Var."""
        return {kind: sum(fn.count(kind) for fn in self.functions) for kind in KINDS if kind != "same"}

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


def _function(name: str, a: object, b: object) -> FunctionDiff:
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
    matching = Matching(old, new, params)
    match = matching.match
    in_order = increasing(match)
    pairs: list[Pair] = []
    back = {j: i for i, j in match.items()}
    kinds = _Kinds(matching, params)
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
            pairs.append(Pair("moved" if moved else kind, i, j, i in matching.exact))
    pairs += [Pair("removed", i, None) for i in range(position, len(old)) if i not in match]
    return pairs, kinds


class _Kinds:
    """Classifies matched bindings."""

    def __init__(self, matching: Matching, params: Mapping[e.Var, e.Var]) -> None:
        self._text = matching.texts.of
        self._variables: dict[e.Var, e.Var | None] = dict(params)  # from new variables to old ones
        for i, j in matching.match.items():
            a, b = matching.old[i], matching.new[j]
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


# -- regroup ---------------------------------------------------------------------------------------------------------
# Finds in a diff the values that one binding makes and several made before (merged), and the other way round
# (split).
# Recorded rewrites are certain. Else the computation tells: a call of a function that the old side lacks is compared
# with what that function holds; a `call_tir` with the calls of its kernel just before the binding that keeps its
# variable.


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
    return dataclasses.replace(fn, groups=found) if found else fn


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


# -- provenance ------------------------------------------------------------------------------------------------------
# The history of a binding from stage to stage; each answer has a certainty.
#
# The first match wins: same object (`=`), recorded rewrite (`=`), same variable (`≈`), alignment, inside of functions
# that a pass outlined or inlined too: `≈` if the computation or name and callee are the same, as in the stages that a
# build wrote to files, else `?`, a guess by name, operator and order. A value may also be gone, or not made yet.


@dataclass(frozen=True, slots=True, repr=False)
class Trace(Readable):
    """A value in one stage: its bindings there (none when gone), and the certainty (`=`, `≈`, `?`).

    `stage` is its place among the stages, `label` the number that users see. `is_before` holds for stages
    before the one that the history was asked in.
    """

    stage: int
    made_by: str
    bindings: tuple[e.Binding, ...]
    mark: str
    label: int
    is_before: bool = False

    @property
    def gone(self) -> bool:
        """True if the value has no binding in this stage."""
        return not self.bindings

    @property
    def absence(self) -> str:
        """Why the value has no binding in this stage."""
        return "not made yet" if self.is_before else "gone"


def history(stages: Sequence[Snapshot], number: int, function: str, binding: e.Binding) -> list[Trace]:
    """Trace the value of `binding`, a binding of stage `number`, through all stages in order."""
    here = Trace(number, stages[number].made_by, (binding,), "=", stages[number].label)
    earlier = _walk(stages, range(number, 0, -1), function, here, backwards=True)
    later = _walk(stages, range(number + 1, len(stages)), function, here, backwards=False)
    return [*reversed(earlier), here, *later]


def _walk(
    stages: Sequence[Snapshot], numbers: range, function: str, start: Trace, backwards: bool
) -> list[Trace]:
    traces: list[Trace] = []
    current = start
    for number in numbers:
        if current.gone:
            break
        later = stages[number]
        earlier = stages[number - 1]
        target = earlier if backwards else later
        links = _links(earlier, later, function, current.bindings, backwards)
        current = Trace(target.number, target.made_by, links[0], links[1], target.label, backwards)
        traces.append(current)
    return traces


def _links(
    earlier: Snapshot, later: Snapshot, function: str, items: tuple[e.Binding, ...], backwards: bool
) -> tuple[tuple[e.Binding, ...], str]:
    target = _of(earlier if backwards else later, function)
    present = set(target)
    same = tuple([b for b in items if b in present])
    if same:
        return same, "="
    recorded = _followed(later, items, backwards)
    kept = tuple([b for b in recorded if b in present])
    if kept:
        return kept, "="
    variables = {b.var for b in items if b.var is not None}
    by_var = tuple([b for b in target if b.var in variables])
    if by_var:
        return by_var, "≈"
    if recorded == () and not backwards and _dropped(later, items):
        return (), "="
    return _followed_by_alignment(earlier, later, function, items, backwards)


def _followed(later: Snapshot, items: tuple[e.Binding, ...], backwards: bool) -> tuple[e.Binding, ...]:
    """Follow the recorded rewrites of a stage to the end, through all steps of one pass."""
    followed = set(items)
    out: dict[e.Binding, None] = {}
    for rewrite in reversed(later.rewrites) if backwards else later.rewrites:
        source, target = (rewrite.after, rewrite.before) if backwards else (rewrite.before, rewrite.after)
        if any(item in followed for item in source):
            followed.update(target)
            out.update(dict.fromkeys(target))
    return tuple(out)


def _dropped(later: Snapshot, items: tuple[e.Binding, ...]) -> bool:
    return any(not r.after and any(item in r.before for item in items) for r in later.rewrites)


def _followed_by_alignment(
    earlier: Snapshot, later: Snapshot, function: str, items: tuple[e.Binding, ...], backwards: bool
) -> tuple[tuple[e.Binding, ...], str]:
    old, new = _opened(earlier, later, function), _opened(later, earlier, function)
    sources = set(items)
    targets: dict[e.Binding, None] = {}
    is_likely = True
    for pair in align([part for part, _ in old], [part for part, _ in new]):
        if pair.a is not None and pair.b is not None:
            a, b = old[pair.a][1], new[pair.b][1]
            if (b if backwards else a) in sources:
                targets[a if backwards else b] = None
                is_likely &= pair.kind != "changed" or _is_same_call(old[pair.a][0], new[pair.b][0])
    return tuple(targets), "≈" if targets and is_likely else "?"


def _is_same_call(old: e.Binding, new: e.Binding) -> bool:
    """True if two bindings of one name call the same function or kernel, or an operator and its kernel."""
    if name_of(old) is None or name_of(old) != name_of(new):
        return False
    return base_name(head_of(old)) == base_name(head_of(new))


def _opened(stage: Snapshot, other: Snapshot, function: str) -> list[tuple[e.Binding, e.Binding]]:
    """The bindings of a function, each with the one that holds it.

    That is the binding itself, but for a call of a function that `other` does not have: a pass outlined it or inlined it. Such a call holds the
    bindings of that function.
    """
    found = []
    for binding in _of(stage, function):
        value = binding.value
        callee = value.op.name if type(value) is e.Call and type(value.op) is e.GlobalVar else None
        inner = _of(stage, callee) if callee is not None and callee not in other.module.functions else []
        found += [(part, binding) for part in inner or (binding,)]
    return found


def _of(stage: Snapshot, function: str) -> list[e.Binding]:
    fn = stage.module.functions.get(function)
    return list(bindings(fn)) if type(fn) is e.Function else []
