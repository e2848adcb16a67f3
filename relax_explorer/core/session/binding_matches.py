"""Matches the bindings of two texts, in nearly linear time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import operands

_SMALL_GAP = 200  # bindings per side: larger gaps are split at equally frequent keys, then paired in order
_SMALL_DATA = 64  # bytes: larger constants are compared by dtype and shape only


class Texts:
    """A cache of StructInfo texts. Separately parsed modules do not share shape variables, so texts are compared."""

    def __init__(self) -> None:
        self._known: dict[s.StructInfo | None, str] = {}

    def of(self, info: s.StructInfo | None) -> str:
        """The text of a StructInfo."""
        text = self._known.get(info)
        if text is None:
            text = self._known[info] = str(info)
        return text


class Matching:
    """Pairs of bindings: the same object, then the same variable, then the same name, then the same computation, then by order.

    `match` maps numbers of old bindings to those of new ones; `exact` holds the old numbers whose match is certain.
    """

    def __init__(
        self, old: Sequence[e.Binding], new: Sequence[e.Binding], params: Mapping[e.Var, e.Var]
    ) -> None:
        self.old, self.new, self.texts = old, new, Texts()
        self.match: dict[int, int] = {}
        self._taken: set[int] = set()
        self._by_key(id)
        self._by_key(lambda binding: binding.var)
        self.exact = frozenset(self.match)
        self._by_key(lambda binding: (name_of(binding), callee_of(binding)))
        self._by_key(name_of)
        if len(self.match) < len(old) and len(self.match) < len(new):
            self._by_computation(params)
            self._by_order()

    def _add(self, i: int, j: int) -> None:
        self.match[i] = j
        self._taken.add(j)

    def _by_key(self, key: Callable[[e.Binding], Hashable]) -> None:
        """Match bindings whose key occurs once on each side."""
        places: dict[Hashable, int] = {}
        for j, binding in enumerate(self.new):
            value = key(binding)
            if j not in self._taken and value is not None:
                places[value] = -1 if value in places else j  # a repeated key is ambiguous
        for i, binding in enumerate(self.old):
            j = places.get(key(binding), -1) if i not in self.match else -1
            if j >= 0 and j not in self._taken:
                self._add(i, j)

    def _by_computation(self, params: Mapping[e.Var, e.Var]) -> None:
        """Match equal computations over matched operands, whatever the variable names."""
        numbers: dict[Hashable, int] = {}
        known = {old: ("parameter", number) for number, old in enumerate(params.values())}
        left = _Computations(numbers, self.texts, known)
        right = _Computations(numbers, self.texts, {new: known[old] for new, old in params.items()})
        for i, j in self.match.items():
            left.names[self.old[i]] = right.names[self.new[j]] = ("matched", i)
        places = {name: j for j, name in enumerate(map(right.name, self.new))}
        for i, name in enumerate(map(left.name, self.old)):
            j = places.get(name, -1)
            if i not in self.match and j >= 0 and j not in self._taken:
                self._add(i, j)

    def _by_order(self) -> None:
        """Align the remaining bindings between matched neighbours by operator and StructInfo."""
        anchors = sorted(increasing(self.match))
        borders = [(-1, -1), *[(i, self.match[i]) for i in anchors], (len(self.old), len(self.new))]
        for (i0, j0), (i1, j1) in pairwise(borders):
            left = [i for i in range(i0 + 1, i1) if i not in self.match]
            right = [j for j in range(j0 + 1, j1) if j not in self._taken]
            if left and right:
                a, b = [self._head(self.old[i]) for i in left], [self._head(self.new[j]) for j in right]
                for x, y in common_run(a, b):
                    self._add(left[x], right[y])

    def _head(self, binding: e.Binding) -> Hashable:
        return callee_of(binding), binding.var and self.texts.of(binding.var.struct_info)


class _Computations:
    """Gives each binding a key for its computation: equal operations on operands with equal keys have equal keys.

    `names` holds the known keys. A repeated computation gets a new key.
    """

    def __init__(
        self, numbers: dict[Hashable, int], texts: Texts, variables: Mapping[e.Var, Hashable]
    ) -> None:
        self._numbers, self._texts = numbers, texts
        self._variables = dict(variables)
        self._count: dict[int, int] = {}
        self.names: dict[e.Binding, Hashable] = {}

    def name(self, binding: e.Binding) -> Hashable:
        """The key of the next binding."""
        name = self.names.get(binding)
        if name is None:
            key = tuple(self._parts(binding))
            number = self._numbers.setdefault(key, len(self._numbers))
            self._count[number] = count = self._count.get(number, 0) + 1
            name = number, count
        if binding.var is not None:
            self._variables[binding.var] = name
        if type(binding.value) is e.Function:
            for place, param in enumerate(binding.value.params):
                self._variables[param] = (name, place)
        return name

    def _parts(self, binding: e.Binding) -> list[Hashable]:
        parts: list[Hashable] = [type(binding).__name__]
        if isinstance(binding, e.MatchCast):
            parts.append(self._texts.of(binding.struct_info))
        stack = [binding.value]
        while stack:
            item = stack.pop()
            parts.append(self._part(item))
            stack.extend(operands(item))
        return parts

    def _part(self, expr: e.Expr) -> Hashable:
        if isinstance(expr, e.Var):
            return self._variables.get(expr, expr.name)
        if isinstance(expr, e.Call):
            return len(expr.args), expr.attrs, *map(self._texts.of, expr.sinfo_args)
        return type(expr).__name__, _content(expr)


def _content(expr: e.Expr) -> Hashable:
    """The content of an expression without its operands."""
    rule = _CONTENTS.get(type(expr))
    return None if rule is None else rule(expr)


def _constant(constant: e.Constant) -> Hashable:
    if constant.data is None:
        return constant.key
    data = constant.data.tobytes() if constant.data.nbytes <= _SMALL_DATA else b""
    return str(constant.data.dtype), constant.data.shape, data


_CONTENTS: dict[type, Callable[..., Hashable]] = {
    e.GlobalVar: lambda x: x.name,
    e.ExternFunc: lambda x: x.name,
    e.OpRef: lambda x: x.name,
    e.Constant: _constant,
    e.Tuple: lambda x: len(x.fields),
    e.TupleGetItem: lambda x: x.index,
    e.ShapeExpr: lambda x: tuple(map(str, x.values)),
    e.PrimValue: lambda x: str(x.value),
    e.StringImm: lambda x: x.value,
    e.DataTypeImm: lambda x: x.value,
    e.Function: lambda x: len(x.params),
}


def name_of(binding: e.Binding) -> str | None:
    """The name of the bound variable, or None."""
    return binding.var.name if binding.var is not None and binding.var.name != "_" else None


def head_of(binding: e.Binding) -> str:
    """What a binding calls: a kernel or function by its name, an operator by its own; else the kind of its value."""
    value = binding.value
    if type(value) is not e.Call:
        return type(value).__name__
    callee = value.op
    if type(callee) is e.OpRef and value.args and type(value.args[0]) is e.GlobalVar:
        callee = value.args[0]
    return getattr(callee, "name", type(callee).__name__)


def callee_of(binding: e.Binding) -> str:
    """The operator or function that a binding calls, else the kind of its value."""
    value = binding.value
    return getattr(value.op, "name", "") if type(value) is e.Call else type(value).__name__


def base_name(operation: str) -> str:
    """An operation without its namespace and number: `matmul` for relax.matmul, R.matmul and the kernel matmul12."""
    return operation.rpartition(".")[2].rstrip("0123456789_") or operation


def common_run(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Index pairs of a common subsequence of `a` and `b`, in order: the longest for short inputs, nearly the longest for long ones."""
    start, ends = 0, (len(a), len(b))
    while start < min(ends) and a[start] == b[start]:
        start += 1
    while min(ends) > start and a[ends[0] - 1] == b[ends[1] - 1]:
        ends = ends[0] - 1, ends[1] - 1
    middle = [(i + start, j + start) for i, j in _between(a[start : ends[0]], b[start : ends[1]])]
    rest = range(len(a) - ends[0])
    return [(i, i) for i in range(start)] + middle + [(ends[0] + k, ends[1] + k) for k in rest]


def _between(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    if len(a) * len(b) <= _SMALL_GAP**2:
        blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
        return [(block.a + k, block.b + k) for block in blocks for k in range(block.size)]
    places = _numbered(b)
    pairs = {i: places[key] for key, i in _numbered(a).items() if key in places}
    return [(i, pairs[i]) for i in sorted(increasing(pairs))]


def _numbered(keys: Sequence[Hashable]) -> dict[tuple[Hashable, int], int]:
    """Maps each key, with the number of its earlier occurrences, to its place."""
    count: dict[Hashable, int] = {}
    places = {}
    for place, key in enumerate(keys):
        count[key] = number = count.get(key, 0) + 1
        places[key, number] = place
    return places


def increasing(match: Mapping[int, int]) -> set[int]:
    """The old numbers of a longest increasing subsequence of matches."""
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
