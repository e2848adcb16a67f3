"""Alias analysis: which values of a function may share memory, and where that memory may be overwritten.

Values that may share memory are in one class (Steensgaard, Points-to analysis in almost linear time, 1996). A write is recorded
as the number of its binding. The numbers follow the order of evaluation, because Relax has no loops.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from relax_explorer.core.check.effects import Effect, Effects, effects, leaves
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import sequences
from relax_explorer.core.program.module import IRModule

_WITHOUT_MEMORY = (s.ShapeStructInfo, s.PrimStructInfo)
_ALIASES: PerNode[tuple[Effects, Aliases]] = PerNode()


def aliases(module: IRModule, name: str, fn: e.Function | None = None) -> Aliases:
    """The aliases of a function of the module, built once. `fn` replaces the function of this name, such as a nested one."""
    module_effects = effects(module)
    function = fn if fn is not None else module.functions[name]
    assert type(function) is e.Function  # kernels have buffers
    cached = _ALIASES.get(id(function))
    if cached is None or cached[0] is not module_effects:
        is_called = name in module_effects.called or module.functions.get(name) is not function
        cached = _ALIASES.add(function, (module_effects, Aliases(function, module_effects, is_called)))
    return cached[1]


class Aliases:
    """Classes of values that may share memory, with the places where each class may be overwritten.

    If the module itself calls the function, the caller may overwrite its result.
    """

    def __init__(self, fn: e.Function, module_effects: Effects, is_called: bool) -> None:
        self._parent: dict[object, object] = {}
        self._writes: dict[object, list[int]] = {}
        self._left: set[object] = set()
        self._mutable = module_effects.mutable
        self._effects = module_effects
        if not self._mutable:
            return
        self._kept = object()  # the class of all arguments of unknown callees
        self._params = self._kept if is_called else object()  # parameters, which may be one array
        writes: list[tuple[int, object]] = []
        escaping: list[e.Expr] = [fn.body.body] if is_called else []
        for param in fn.params:
            self._join(self._params, param)
        self._number = facts(fn).defs
        for number, binding in enumerate(facts(fn).bindings):
            self._binding(number, binding, writes, escaping)
        for number, item in writes:
            self._writes.setdefault(self._find(item), []).append(number)
        self._left = {self._find(leaf) for leaf in leaves(escaping)}

    def effect(self, value: e.Expr) -> Effect:
        """The effect of evaluating a value on memory."""
        return self._effects.of(value)

    def written(self, leaf: e.Expr, after: e.Var | None = None) -> bool:
        """True if the memory of a variable or constant may be overwritten at any time, or once `after` is bound."""
        if not self._mutable or _has_no_memory(leaf):
            return False
        root = self._find(leaf)
        last = self._writes[root][-1] if root in self._writes else -1
        since = -1 if after is None else self._number.get(after, -1)
        return last > since or root in self._left or self._is_new(leaf)

    def written_between(self, read: Iterable[e.Expr], first: e.Var, second: e.Var) -> bool:
        """True if memory of `read` may be overwritten after `first` is bound and before `second`, both in one function body.

        Neither variable is new; for new ones `written` is True.
        """
        if not self._mutable:
            return False
        start, end = self._number[first], self._number[second]
        for leaf in read:
            if _has_no_memory(leaf):
                continue
            places = self._writes.get(self._find(leaf), ())
            if bisect_right(places, start) < bisect_right(places, end - 1) or self._is_new(leaf):
                return True
        return False

    def _is_new(self, leaf: e.Expr) -> bool:
        """True for a variable that a pass replaced after the analysis. Its memory is not known here."""
        return isinstance(leaf, e.Var) and leaf not in self._number and leaf not in self._parent

    def _binding(
        self, number: int, binding: e.Binding, writes: list[tuple[int, object]], escaping: list[e.Expr]
    ) -> None:
        value = binding.value
        effect = self._effects.of(value) if type(value) is not e.If else Effect()
        results: list[e.Expr] = list(effect.shares)
        if type(value) is e.If:
            results += leaves(seq.body for seq in sequences(value))
        if type(value) is e.Function:  # its callers are unknown
            for param in value.params:
                self._join(self._kept, param)
            escaping.append(value.body.body)
        if binding.var is not None:
            for leaf in results:
                self._join(binding.var, leaf)
        if effect.keeps:
            for leaf in effect.writes:
                self._join(self._kept, leaf)
            if binding.var is not None:
                self._join(self._kept, binding.var)
            writes.append((number, self._kept))
        writes += [(number, leaf) for leaf in effect.writes]

    def _find(self, node: object) -> object:
        parent = self._parent
        while (above := parent.get(node, node)) is not node:
            parent[node] = above = parent.get(above, above)  # halves the path
            node = above
        return node

    def _join(self, a: object, b: object) -> None:
        if _has_no_memory(a) or _has_no_memory(b):
            return
        left, right = self._find(a), self._find(b)
        if left is not right:
            self._parent[right] = left


def _has_no_memory(item: object) -> bool:
    """True for shapes and scalars; nothing overwrites them."""
    return isinstance(getattr(item, "struct_info", None), _WITHOUT_MEMORY)
