"""What a pass did, as a sentence with numbers and names: `4 merges: matmul + multiply → fused_matmul1_multiply, …; 24 bindings became 20.`

Each of `_CLAUSES` looks for one thing, and the sentence has those that were found, in this order, as far as there is room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.memory_use import MemoryUse, probed
from relax_explorer.core.cost.program_cost import ModuleCosts
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import FunctionDiff, Group, ModuleDiff
from relax_explorer.core.session.binding_matches import base_name, callee_of, head_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.viz.cost_text import bytes_text
from relax_explorer.viz.visible import columns, counted, fit, visible

MOST = 150  # cells of a sentence: two lines of 80 columns, with a frame
_NAME = 40  # cells of a name
_NAMED = 2  # things of a kind that are named
_ALLOCATIONS = frozenset({"alloc_tensor", "alloc_storage"})
_IN_STORAGE = frozenset({"relax.memory.alloc_tensor", "relax.vm.alloc_tensor"})
_KILLS = frozenset({"kill_tensor", "kill_storage", "kill_object"})


_KNOWN: PerNode[tuple[str, ...]] = PerNode()
"""The clauses about stages and those before them."""


def stage_sentence(session: Session, stage: Snapshot, since: int | None = None, width: int = MOST) -> str:
    """What became of a stage since another one, by default the one before. Empty for the first stage, and for one that can't be read."""
    before = session.stages[stage.number - 1 if since is None else since]
    if not stage.number or stage.text or before.text:
        return ""
    if before.module is stage.module:
        return "Nothing changed."

    def changes(_: object) -> tuple[str, ...]:
        return clauses(before.module, stage.module, session.diff(before.number, stage.number))

    return joined(changes(stage) if before.number != stage.number - 1 else _KNOWN.of(stage, changes), width)


def joined(found: Sequence[str], width: int = MOST) -> str:
    """Clauses as a sentence of at most `width` cells: the first, and those others that have room."""
    text = found[0][:1].upper() + found[0][1:]
    for clause in found[1:]:
        if columns(f"{text}; {clause}.") <= width:
            text = f"{text}; {clause}"
    return fit(text if text.endswith("…") else f"{text}.", width)


def clauses(a: IRModule, b: IRModule, diff: ModuleDiff) -> tuple[str, ...]:
    """What became of a module, the most important first. Never empty."""
    change = _Change(a, b, diff)
    found = _nothing_but(change)
    texts = [found] if found else [text for clause in _CLAUSES if (text := clause(change))]
    return tuple(texts) or (_rest(change),)


@dataclass(frozen=True)
class _Change:
    """Two modules with their difference, and what the clauses ask of it."""

    a: IRModule
    b: IRModule
    diff: ModuleDiff

    @cached_property
    def relax(self) -> tuple[FunctionDiff, ...]:
        """The Relax functions on both sides that changed."""
        return tuple([fn for fn in self.changed if _is_relax(self.a, fn.name) and _is_relax(self.b, fn.name)])

    @cached_property
    def kernels(self) -> tuple[FunctionDiff, ...]:
        """The kernels on both sides that changed."""
        return tuple(
            [fn for fn in self.changed if _is_kernel(self.a, fn.name) and _is_kernel(self.b, fn.name)]
        )

    @cached_property
    def changed(self) -> tuple[FunctionDiff, ...]:
        """The functions on both sides that changed."""
        return tuple([fn for fn in self.diff.functions if fn.status == "changed"])

    @cached_property
    def matched(self) -> tuple[tuple[e.Binding, e.Binding], ...]:
        """Bindings whose value changed, with what they became."""
        pairs = [(fn, pair) for fn in self.relax for pair in fn.pairs if pair.kind == "changed"]
        sides = [(fn.old[p.a], fn.new[p.b]) for fn, p in pairs if p.a is not None and p.b is not None]
        return tuple([(x, y) for x, y in sides if isinstance(x, e.Binding) and isinstance(y, e.Binding)])

    @cached_property
    def old(self) -> Counter[str]:
        """What the bindings of these functions call, without namespaces, and how often."""
        return _calls(self.a, self.relax)

    @cached_property
    def new(self) -> Counter[str]:
        """The same of the new module."""
        return _calls(self.b, self.relax)

    def named(self, status: str, is_kernel: bool) -> list[str]:
        """The kernels, or the other functions, that were added or removed."""
        module = self.b if status == "added" else self.a
        found = [fn.name for fn in self.diff.functions if fn.status == status]
        return [name for name in found if _is_kernel(module, name) is is_kernel]

    def bindings(self, module: IRModule) -> int:
        """The number of bindings in these functions."""
        return sum([1 for fn in self.relax for _ in _bindings(module, fn.name)])


def _is_relax(module: IRModule, name: str) -> bool:
    return type(module.functions.get(name)) is e.Function


def _is_kernel(module: IRModule, name: str) -> bool:
    return type(module.functions.get(name)) is PrimFunc


def _bindings(module: IRModule, name: str) -> Iterator[e.Binding]:
    fn = module.functions.get(name)
    return bindings(fn) if type(fn) is e.Function else iter(())


def _calls(module: IRModule, functions: Iterable[FunctionDiff]) -> Counter[str]:
    return Counter([_operation(item) for fn in functions for item in _bindings(module, fn.name)])


def _operation(binding: e.Binding) -> str:
    """What a binding calls; builtins without their namespace."""
    called = head_of(binding)
    return called.rpartition(".")[2] if "." in called else called


_VALUES = {
    "Var": ("alias", "aliases"),
    "TupleGetItem": ("tuple item", "tuple items"),
    "Tuple": ("tuple", "tuples"),
}
"""Words for values that are no calls."""


def _several(count: int, operation: str) -> str:
    """`20 match_shape`, `3 tuples`."""
    word = _VALUES[operation][count != 1] if operation in _VALUES else visible(operation, _NAME)
    return f"{count} {word}"


# -- changes of one kind ---------------------------------------------------------------------------------------------
# What a diff shows as many changes, but is one.


def _nothing_but(change: _Change) -> str:
    """The one kind of change, if there is only one that no binding shows."""
    if any(fn.status in ("added", "removed") for fn in change.diff.functions):
        return ""
    if len(change.relax) + len(change.kernels) < len(change.changed):
        return ""
    kinds = {kind for fn in change.relax for kind in _KINDS if _count(fn, kind)}
    if not kinds:
        return _attributes(change)
    if len(kinds) > 1 or change.kernels or kinds & {"added", "removed", "changed"}:
        return ""
    kind = kinds.pop()
    if kind == "kind":
        return _marks(change)
    count = sum([_count(fn, kind) for fn in change.relax])
    return f"nothing but {_KIND_WORDS[kind]} of {counted(count, 'binding')}"


def _marks(change: _Change) -> str:
    """Which variables left or entered dataflow blocks."""
    pairs = [
        (fn.old[p.a], fn.new[p.b])
        for fn in change.relax
        for p in fn.pairs
        if p.kind == "kind" and p.a is not None and p.b is not None
    ]
    left = len([1 for old, _ in pairs if isinstance(old, e.Binding) and isinstance(old.var, e.DataflowVar)])
    texts = [
        f"{counted(left, 'variable')} {'is no dataflow variable' if left == 1 else 'are no dataflow variables'} any more"
    ] * (left > 0)
    entered = len(pairs) - left
    texts += [
        f"{counted(entered, 'variable')} became {'a dataflow variable' if entered == 1 else 'dataflow variables'}"
    ] * (entered > 0)
    return f"nothing but marks: {', '.join(texts)}"


def _count(fn: FunctionDiff, kind: str) -> int:
    """The changes of a kind among the bindings; lines of the head follow them."""
    return len([pair for pair in fn.pairs if pair.kind == kind and _is_binding(fn, pair.a, pair.b)])


def _is_binding(fn: FunctionDiff, a: int | None, b: int | None) -> bool:
    unit = fn.new[b] if b is not None else fn.old[a] if a is not None else None
    return isinstance(unit, e.Binding)


_KIND_WORDS = {"renamed": "the name", "moved": "the place", "type": "the StructInfo"}
_KINDS = ("added", "removed", "changed", "kind", *_KIND_WORDS)


def _attributes(change: _Change) -> str:
    """The attributes, if nothing else differs."""
    keys: set[str] = set()
    for fn in change.changed:
        found = _only_attributes(change.a.functions[fn.name], change.b.functions[fn.name])
        if not found:
            return ""
        keys |= found
    if not keys:
        return ""
    kernels, functions = len(change.kernels), len(change.relax)
    names = _listed([visible(key, _NAME) for key in sorted(keys)], 3)
    owners = [counted(kernels, "kernel")] * (kernels > 0) + [counted(functions, "function")] * (functions > 0)
    return f"nothing but the attribute{'s' * (len(keys) > 1)} {names} of {' and '.join(owners)}"


def _only_attributes(a: object, b: object) -> set[str]:
    """The attributes that differ; none if something else does."""
    if isinstance(a, PrimFunc) and isinstance(b, PrimFunc):
        is_same = structural_equal(_bare(a), _bare(b))
        return _keys(a.attrs, b.attrs) if is_same else set()
    if isinstance(a, e.Function) and isinstance(b, e.Function):
        is_same = structural_equal(_bare(a), _bare(b))
        return _keys(a.attrs, b.attrs) if is_same else set()
    return set()


def _bare(fn: e.Expr) -> e.Expr:
    return replace(fn, attrs=EMPTY)


def _keys(a: Attrs, b: Attrs) -> set[str]:
    if a is b:
        return set()
    return {
        key
        for key in {*a, *b}
        if key not in a or key not in b or Attrs({key: a[key]}) is not Attrs({key: b[key]})
    }


# -- clauses ---------------------------------------------------------------------------------------------------------
# Each tells one thing about a change, or is empty.


def _merges(change: _Change) -> str:
    """`4 merges: matmul + multiply + add → fused_matmul1_multiply_add, …`."""
    found = [(fn, group) for fn in change.relax for group in fn.groups.values() if group.kind == "merged"]
    if not found:
        return ""
    texts = [_merge_text(fn, group) for fn, group in found]
    return f"{counted(len(found), 'merge')}: {_listed(list(dict.fromkeys(texts)), 1)}"


def _merge_text(fn: FunctionDiff, group: Group) -> str:
    items = [fn.old[n] for n in group.old]
    parts = [_part(unit) for unit in items if isinstance(unit, e.Binding)]
    made = fn.new[group.new[-1]]
    shown = [*parts[:2], "…", parts[-1]] if len(parts) > 4 else parts
    joined = visible(" + ".join(shown), 2 * _NAME)
    return f"{joined} → {visible(head_of(made), _NAME)}" if isinstance(made, e.Binding) else joined


def _part(binding: e.Binding) -> str:
    head = head_of(binding)
    return _VALUES[head][0] if head in _VALUES else base_name(head)


def _legalized(change: _Change) -> str:
    """`21 operators became calls of 17 kernels, matmul of 6`."""
    pairs = [(old, new) for old, new in change.matched if _is_legalized(old, new)]
    if not pairs:
        return ""
    kernels = {head_of(new) for _, new in pairs}
    of = Counter([name for name, _ in {(base_name(callee_of(old)), head_of(new)): 0 for old, new in pairs}])
    name, most = of.most_common(1)[0]
    detail = f", {visible(name, _NAME)} of {most}" if 1 < most < len(kernels) else ""
    verb = "became a call" if len(pairs) == 1 else "became calls"
    new = "new " if kernels <= {*change.named("added", True)} else ""
    return f"{counted(len(pairs), 'operator')} {verb} of {counted(len(kernels), f'{new}kernel')}{detail}"


def _is_legalized(old: e.Binding, new: e.Binding) -> bool:
    """True if the call of a kernel took the place of an operator that is no way to call something else."""
    is_operator = _calls_operator(old) and not base_name(callee_of(old)).startswith("call_")
    return is_operator and callee_of(new) == "relax.call_tir"


def _calls_operator(binding: e.Binding) -> bool:
    return type(binding.value) is e.Call and type(binding.value.op) is e.OpRef


def _storages(change: _Change) -> str:
    """`57 tensors share 11 storages: 1.9 MiB became 400 KiB at b = 64`."""
    storages = change.new["alloc_storage"] - change.old["alloc_storage"]
    placed = _placed(change.b, change.relax) - _placed(change.a, change.relax)
    if not 0 < storages < placed:
        return ""
    here = [fn.name for fn in change.relax if _calls(change.b, [fn])["alloc_storage"]]
    text = f"{counted(placed, 'tensor')} share {counted(storages, 'storage')}"
    return f"{text}{_bytes(change, here[0])}" if len(here) == 1 else text


def _placed(module: IRModule, functions: Iterable[FunctionDiff]) -> int:
    """The number of tensors in storages."""
    found = [callee_of(item) for fn in functions for item in _bindings(module, fn.name)]
    return len([name for name in found if name in _IN_STORAGE])


def _bytes(change: _Change, function: str) -> str:
    """What a plan saves, for usual lengths; empty if that is not known."""
    try:
        old, new = (ModuleCosts(module).of(function).memory for module in (change.a, change.b))
    except Failure:  # an invalid program has no cost; the sentence does without
        return ""
    before, after = _owned(old), _owned(new)
    if not before or not after or old.unknown or new.unknown:
        return ""
    lengths = dict.fromkeys([var.name for var in amounts.variables(old.owned)], amounts.PROBE)
    at = (
        f" at {', '.join(f'{visible(name, 12)} = {length}' for name, length in lengths.items())}"
        if lengths
        else ""
    )
    return f": {bytes_text(before)} became {bytes_text(after)}{at}"


def _owned(use: MemoryUse) -> int | None:
    return amounts.value(use.owned, probed([use.owned], {}))


def _allocates(change: _Change) -> str:
    """`allocates 57 tensors before the calls that fill them; 57 calls return nothing now`."""
    tensors = change.new["alloc_tensor"] - change.old["alloc_tensor"]
    if tensors <= 0 or change.new["alloc_storage"] > change.old["alloc_storage"]:
        return ""
    text = (
        f"allocates {counted(tensors, 'tensor')} before the calls that fill {'them' if tensors > 1 else 'it'}"
    )
    silent = _silent(change.b, change.relax) - _silent(change.a, change.relax)
    return (
        f"{text}; {counted(silent, 'call')} return{'s' * (silent == 1)} nothing now" if silent > 0 else text
    )


def _silent(module: IRModule, functions: Iterable[FunctionDiff]) -> int:
    """The number of calls with no result."""
    infos = [b.var.struct_info for fn in functions for b in _bindings(module, fn.name) if b.var is not None]
    return sum([isinstance(info, s.TupleStructInfo) and not info.fields for info in infos])


def _kills(change: _Change) -> str:
    """`frees 19 tensors and 8 storages after the last use`, unless they were freed before in other words."""
    more = {name: change.new[name] - change.old[name] for name in sorted(_KILLS, reverse=True)}
    parts = [counted(count, name.removeprefix("kill_")) for name, count in more.items() if count > 0]
    return f"frees {' and '.join(parts)} after the last use" if parts and sum(more.values()) > 0 else ""


def _became(change: _Change) -> str:
    """`27 memory.alloc_tensor became vm.alloc_tensor, …`: calls of another operator than before."""
    moves = Counter(
        [
            (callee_of(old).removeprefix("relax."), callee_of(new).removeprefix("relax."))
            for old, new in change.matched
            if _calls_other(old) and _calls_other(new) and not _is_legalized(old, new)
        ]
    )
    is_told = bool(_storages(change))  # of the tensors
    texts = [
        f"{n} {visible(x, _NAME)} became {visible(y, _NAME)}"
        for (x, y), n in moves.most_common()
        if x != y and not (is_told and x.endswith("alloc_tensor"))
    ]
    return _listed(texts, _NAMED)


def _calls_other(binding: e.Binding) -> bool:
    """True for a call of something outside of the module."""
    return type(binding.value) is e.Call and type(binding.value.op) is not e.GlobalVar


def _changed(change: _Change) -> str:
    """`4 bindings changed`, where they call what they called."""
    same = [1 for old, new in change.matched if callee_of(old) == callee_of(new)]
    return (
        f"{counted(len(same), 'binding')} changed {'its' if len(same) == 1 else 'their'} arguments"
        if same
        else ""
    )


def _totals(change: _Change) -> str:
    """`24 bindings became 8`."""
    old, new = change.bindings(change.a), change.bindings(change.b)
    return f"{counted(old, 'binding')} became {new}" if old != new else ""


def _more(change: _Change) -> str:
    """`adds 20 match_shape, …`, without what other clauses tell of."""
    told = _KILLS if _kills(change) else frozenset()
    told |= _ALLOCATIONS if _allocates(change) or _storages(change) else frozenset()
    merged = {
        head_of(unit)
        for fn in change.relax
        for n in fn.groups
        for unit in [fn.new[n]]
        if isinstance(unit, e.Binding)
    }
    more, added = change.new - change.old, _added(change) - told - merged
    return _with_verb("adds", [(name, n) for name, n in more.most_common() if name in added])


def _added(change: _Change) -> frozenset[str]:
    """What added bindings call."""
    found = [
        fn.new[pair.b]
        for fn in change.relax
        for pair in fn.pairs
        if pair.kind == "added" and pair.b is not None
    ]
    return frozenset([_operation(unit) for unit in found if isinstance(unit, e.Binding)])


def _fewer(change: _Change) -> str:
    """`removes 4 reshape`, if nothing was merged."""
    if _merges(change):
        return ""
    gone = [fn.old[p.a] for fn in change.relax for p in fn.pairs if p.kind == "removed" and p.a is not None]
    counts = Counter([_operation(unit) for unit in gone if isinstance(unit, e.Binding)])
    return _with_verb("removes", (counts & (change.old - change.new)).most_common())


def _with_verb(verb: str, counts: Sequence[tuple[str, int]]) -> str:
    texts = [_several(n, name) for name, n in counts]
    return f"{verb} {_listed(texts, _NAMED)}" if texts else ""


def _turned(change: _Change) -> str:
    """`4 functions became kernels: fused_matmul1_multiply, …`."""
    names = [
        fn.name for fn in change.changed if _is_relax(change.a, fn.name) and _is_kernel(change.b, fn.name)
    ]
    verb = "became a kernel" if len(names) == 1 else "became kernels"
    return (
        f"{counted(len(names), 'function')} {verb}: {_listed([visible(n, _NAME) for n in names], 1)}"
        if names
        else ""
    )


def _functions(change: _Change) -> str:
    """`4 new functions; 7 kernels are gone`. Kernels of legalized operators were told of."""
    parts = []
    for is_kernel, noun in ((False, "function"), (True, "kernel")):
        if new := change.named("added", is_kernel):
            is_told = is_kernel and _legalized(change)
            parts += [] if is_told else [f"{counted(len(new), f'new {noun}')}{_one(new)}"]
        if gone := change.named("removed", is_kernel):
            parts.append(f"{counted(len(gone), noun)} {'is' if len(gone) == 1 else 'are'} gone{_one(gone)}")
    return "; ".join(parts)


def _one(names: Sequence[str]) -> str:
    """The name if there is one only."""
    return f" ({visible(names[0], _NAME)})" if len(names) == 1 else ""


def _kernels(change: _Change) -> str:
    """`3 kernels changed inside`."""
    return f"{counted(len(change.kernels), 'kernel')} changed inside" if change.kernels else ""


def _variables(change: _Change) -> str:
    """`19 bindings have another StructInfo, 3 have another name`."""
    words = {
        "type": "another StructInfo",
        "renamed": "another name",
        "moved": "another place",
        "kind": "another mark",
    }
    counts = {kind: sum([_count(fn, kind) for fn in change.relax]) for kind in words}
    parts = [f"{n} with {words[kind]}" for kind, n in counts.items() if n]
    return f"bindings: {', '.join(parts)}" if parts else ""


_CLAUSES = (
    _merges, _legalized, _turned, _storages, _allocates, _kills, _became, _totals, _more, _fewer, _functions, _kernels,
    _changed, _variables,
)  # fmt: skip


def _rest(change: _Change) -> str:
    """What is said if no clause found anything: only heads, results or members of another kind differ."""
    names = [visible(fn.name, _NAME) for fn in change.diff.functions if fn.status == "changed"]
    if names:
        return f"the head, the blocks or the result changed: {_listed(names, 3)}"
    return "nothing in the functions; attributes of the module or constants"


def _listed(texts: Sequence[str], most: int) -> str:
    """The first texts, and `…` if there are more."""
    return ", ".join(chain(texts[:most], ["…"] * (len(texts) > most)))
