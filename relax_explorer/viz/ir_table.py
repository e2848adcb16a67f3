"""A stage as a table: number, variable, operation, StructInfo; one row for a binding, and rows for heads, blocks and kernels.

Relax functions come first, then kernels, each folded into one row. Rows are written when they are read, so that a table of
100,000 bindings is made at once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import NamedTuple, Union, overload

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.syntax.doc import Line
from relax_explorer.core.syntax.names import Names
from relax_explorer.core.tir.stmt import Buffer, PrimFunc
from relax_explorer.viz.compact import Compact, Piece, plain, short_dims, short_dtype, short_info, signature
from relax_explorer.viz.lexer import highlight

# -- table folds -----------------------------------------------------------------------------------------------------
# What can be folded in a table: functions, dataflow blocks, the bodies of branches and nested functions, and checks
# of arguments.
#
# A function in virtual machine form opens with a check of each argument. These lines are folded until they are asked
# for.


# -- outline ---------------------------------------------------------------------------------------------------------
# The places of a function in the order of its text: heads, blocks, bindings, branches, nested functions.


class Place(NamedTuple):
    """What a row shows: its kind (head, block, binding, else, result, return, kernel, text, blank), its node, and where.

    A table makes one for each of its rows at once, hence a tuple: a dataclass takes four times as long.
    """

    kind: str
    node: e.Binding | e.Function | e.BindingBlock | e.Expr | object | None
    function: str
    depth: int = 0
    number: int = 0  # of a binding, from 1
    text: str = ""  # of a line of a kernel


_WITH_BODIES = (e.Function, e.If)
_Step = Union[Place, Iterator["_Step"]]  # noqa: UP007  # an alias that names itself


def outline(name: str, fn: e.Function) -> Iterator[Place]:
    """The places of a function, in the order of its text; nested functions and branches to any depth."""
    stack: list[Iterator[_Step]] = [_Walk(name).function(fn)]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, Place):
            yield item
        else:
            stack.append(item)


class _Walk:
    """Walks through a function and numbers its bindings. An inner body is given as the walk through it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.numbers = count(1)

    def function(self, fn: e.Function) -> Iterator[_Step]:
        """The places of the function."""
        yield Place("head", fn, self.name)
        yield self._sequence(fn.body, 0, "return")

    def _sequence(self, body: e.Expr, depth: int, last: str) -> Iterator[_Step]:
        name, numbers = self.name, self.numbers
        if isinstance(body, e.SeqExpr):
            for block in body.blocks:
                if type(block) is e.DataflowBlock:
                    yield Place("block", block, name, depth)
                for binding in block.bindings:
                    yield Place("binding", binding, name, depth, next(numbers))
                    if type(binding.value) in _WITH_BODIES and isinstance(binding, e.VarBinding):
                        yield self._inner(binding, depth + 1)
        yield Place(last, body, name, depth)

    def _inner(self, binding: e.VarBinding, depth: int) -> Iterator[_Step]:
        value = binding.value
        if isinstance(value, e.Function):
            yield self._sequence(value.body, depth, "return")
        elif isinstance(value, e.If):
            yield self._sequence(value.true_branch, depth, "result")
            yield Place("else", binding, self.name, depth - 1)
            yield self._sequence(value.false_branch, depth, "result")


# -- table folds -----------------------------------------------------------------------------------------------------


class FoldKey(NamedTuple):
    """The name of a fold in every stage: the number `ordinal` of its kind in a function."""

    function: str
    kind: str  # function, block, body or checks
    ordinal: int


CHECKS = "checks"
LEAST_CHECKS = 3  # lines that are folded together
_BEFORE = 3  # rows between the head of a function and its checks: the shape heap, a dataflow block
_CHECKING = re.compile(r"vm\.builtin\.(check_\w+_info|match_shape|match_prim_value)")


@dataclass(frozen=True, slots=True)
class Folded:
    """Which folds are closed: of checks all but those in `turned`, of other folds those in `turned`."""

    turned: frozenset[FoldKey] = frozenset()

    def __contains__(self, key: FoldKey) -> bool:
        return (key in self.turned) != (key.kind == CHECKS)

    @property
    def hides_code(self) -> bool:
        """True if more than checks is closed."""
        return any(key in self for key in self.turned)

    def opened(self, keys: Collection[FoldKey]) -> Folded:
        """With some folds open."""
        return Folded(self.turned ^ {key for key in keys if key in self})

    def toggled(self, key: FoldKey) -> Folded:
        """With a fold closed, or open again."""
        return Folded(self.turned ^ {key})


@dataclass(frozen=True, slots=True)
class Fold:
    """The rows behind row `head` up to row `end`, which hold this number of bindings."""

    key: FoldKey
    head: int
    end: int
    bindings: int

    def hides(self, row: int) -> bool:
        """True if a closed fold hides a row."""
        return self.head < row < self.end


@dataclass(slots=True)
class _Open:
    """A fold whose end is not reached yet. `left` is the number of bindings that its block still has."""

    key: FoldKey
    head: int
    depth: int
    left: int = 0
    bindings: int = 0

    def ends_at(self, place: Place) -> bool:
        """True if a row is the first behind the fold."""
        if place.function != self.key.function:
            return True
        if self.key.kind == "function":
            return False
        is_beside = place.depth <= self.depth
        # The row `else` belongs to the binding above it, so that a block goes on behind it.
        return is_beside and (self.key.kind == "body" or (self.left == 0 and place.kind != "else"))


def folds(places: Sequence[Place]) -> list[Fold]:
    """The folds of a table, in the order of their heads. A fold with nothing to hide is left out."""
    found: list[Fold] = []
    stack: list[_Open] = []
    counts: Counter[tuple[str, str]] = Counter()
    for row, place in enumerate(places):
        while stack and stack[-1].ends_at(place):
            _close(stack, row, found)
        if place.kind == "binding":
            for item in stack:
                item.bindings += 1
            if stack and stack[-1].depth == place.depth:
                stack[-1].left -= 1
        kind = _kind(place)
        if kind:
            key = FoldKey(place.function, kind, counts[place.function, kind])
            counts[place.function, kind] += 1
            left = len(place.node.bindings) if isinstance(place.node, e.BindingBlock) else 0
            stack.append(_Open(key, row, place.depth, left))
    while stack:
        _close(stack, len(places), found)
    return sorted(found, key=lambda fold: fold.head)


def _close(stack: list[_Open], row: int, found: list[Fold]) -> None:
    item = stack.pop()
    if row > item.head + 1:
        found.append(Fold(item.key, item.head, row, item.bindings))


def _kind(place: Place) -> str:
    if place.kind in ("head", "block"):
        return "function" if place.kind == "head" else "block"
    value = place.node.value if isinstance(place.node, e.VarBinding) else None
    return "body" if isinstance(value, (e.If, e.Function)) and place.kind in ("binding", "else") else ""


def around(found: Iterable[Fold], row: int) -> list[Fold]:
    """The folds that would hide a row, the outermost first."""
    return [fold for fold in found if fold.hides(row)]


def check_folds(places: Sequence[Place], heads: Iterable[int]) -> list[Fold]:
    """The checks that open functions; `heads` are the rows of the functions."""
    found = []
    for head in heads:
        opening = range(head + 1, min(head + 2 + _BEFORE, len(places)))
        first = next((n for n in opening if is_check(places[n].node)), None)
        if first is None:
            continue
        end = next((n for n in range(first, len(places)) if not is_check(places[n].node)), len(places))
        if end - first >= LEAST_CHECKS:
            found.append(Fold(FoldKey(places[head].function, CHECKS, 0), first, end, end - first - 1))
    return found


def is_check(node: object) -> bool:
    """True for a call of the machine's builtins that compares an argument with its StructInfo."""
    value = node.value if type(node) is e.VarBinding else None
    op = value.op if type(value) is e.Call else None
    return type(op) is e.ExternFunc and _CHECKING.fullmatch(op.name) is not None


# -- ir table --------------------------------------------------------------------------------------------------------


WIDEST_NAME = 24
_INDENT = "    "
_NESTED: Piece = ("muted", "│ ")


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: pieces (role, text) from the left, and StructInfo for the right edge."""

    place: Place
    pieces: tuple[Piece, ...]
    info: str = ""

    @property
    def text(self) -> str:
        """The row without its StructInfo."""
        return plain(self.pieces)


class IrTable(Sequence[TableRow]):
    """The rows of a stage, or of one of its functions. `opened` are the kernels with all lines; None opens all."""

    def __init__(self, stage: Snapshot, function: str = "", opened: Collection[str] | None = ()) -> None:
        self.stage, self.function, self.opened = stage, function, opened
        self.places: list[Place] = []
        self._heads: list[int] = []  # the rows of the functions
        self._rows: dict[int, TableRow] = {}
        self._writers: dict[str, _Writer] = {}
        self._folded: dict[str, list[Line]] = {}
        printed = stage.printed_short
        lines: dict[str, list[Line]] = {}
        if stage.text:
            self.places = [Place("text", None, "", text=line.text) for line in printed.lines]
        for line in printed.lines:
            if line.function and (not function or line.function == function):
                lines.setdefault(line.function, []).append(line)
        functions = stage.module.functions
        for name in sorted(lines, key=lambda name: type(functions.get(name)) is not e.Function):  # stable
            if self.places and (
                type(functions.get(name)) is e.Function or not self._is_folded(len(self) - 1)
            ):
                self.places.append(Place("blank", None, ""))
            self._add(name, lines[name])

    def _is_folded(self, row: int) -> bool:
        return self.places[row].kind == "kernel"

    def _add(self, name: str, lines: list[Line]) -> None:
        fn = self.stage.module.functions.get(name)
        if type(fn) is not e.Function:
            if type(fn) is PrimFunc and self.opened is not None and name not in self.opened:
                self._folded[name] = lines
                self.places.append(Place("kernel", fn, name, number=len(lines)))
                return
            cut = len(_INDENT)
            self.places += [Place("text", line.node, name, text=line.text[cut:]) for line in lines]
            return
        self._heads.append(len(self.places))
        self.places += outline(name, fn)
        bindings = [place.node for place in self.places if place.kind == "binding" and place.function == name]
        names = self.stage.printed_short.names.get(name) or Names()
        self._writers[name] = _Writer(names, name, bindings)

    def width_of(self, function: str) -> int:
        """The width of the column with the names of a function's variables."""
        return self._writers[function].width if function in self._writers else 0

    @cached_property
    def row_of(self) -> dict[int, int]:
        """The row of each node, by its identity: the first that shows it."""
        found: dict[int, int] = {}
        for number, place in enumerate(self.places):
            if place.node is not None and place.kind != "else":
                found.setdefault(id(place.node), number)
        return found

    @cached_property
    def folds(self) -> list[Fold]:
        """What can be folded, in the order of the heads."""
        return sorted([*folds(self.places), *self.check_folds], key=lambda fold: (fold.head, -fold.end))

    @cached_property
    def check_folds(self) -> list[Fold]:
        """The checks that open functions. They are found without a walk through the table."""
        return check_folds(self.places, self._heads)

    def lines_of(self, kernel: str) -> Sequence[Line]:
        """The lines of a kernel that is one row."""
        return self._folded.get(kernel, ())

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, number: int) -> TableRow: ...
    @overload
    def __getitem__(self, number: slice) -> list[TableRow]: ...
    def __getitem__(self, number: int | slice) -> TableRow | list[TableRow]:
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        row = self._rows.get(number)
        if row is None:
            row = self._rows[number] = self._written(self.places[number])
        return row

    def _written(self, place: Place) -> TableRow:
        if place.kind == "blank":
            return TableRow(place, ())
        if place.kind == "text":
            return TableRow(place, highlight(place.text))
        if place.kind == "kernel":
            return _kernel_row(place)
        return self._writers[place.function].row(place)


class _Writer:
    """Writes the rows of one function, with its columns."""

    def __init__(self, names: Names, name: str, bindings: Sequence[object]) -> None:
        self.names, self.name = names, name
        self.compact = Compact(names)
        self.digits = max(len(str(len(bindings))), 2)
        shown = [len(names[var]) for item in bindings if (var := getattr(item, "var", None)) is not None]
        self.width = min(max(shown, default=1), WIDEST_NAME)

    def row(self, place: Place) -> TableRow:
        bars = (_NESTED,) * place.depth
        pieces, info = _KINDS[place.kind](self, place)
        return TableRow(place, (*self._number(place), *bars, *pieces), info)

    def _number(self, place: Place) -> tuple[Piece, ...]:
        if place.kind == "head" and not place.depth:
            return ()
        number = str(place.number) if place.number else ""
        return (("muted", f"{number:>{self.digits}} "),)

    def _head(self, place: Place) -> tuple[list[Piece], str]:
        fn = place.node
        assert isinstance(fn, e.Function)  # the outline says so
        pieces = signature(self.compact, self.name, fn)
        if fn.is_private:
            pieces.append(("keyword", " private"))
        return pieces, f"→ {short_info(fn.ret_struct_info)}"

    def _block(self, place: Place) -> tuple[list[Piece], str]:
        return [("muted", "dataflow")], ""

    def _binding(self, place: Place) -> tuple[list[Piece], str]:
        binding = place.node
        assert isinstance(binding, (e.VarBinding, e.MatchCast))  # the outline says so
        var = binding.var
        name = "_" if var is None else self.names[var]
        info = "" if var is None or name == "_" else short_info(var.struct_info)
        left: list[Piece] = [("var", f"{name:<{self.width}}"), ("muted", " = ")]
        return [*left, *self.compact.binding(binding)], info

    def _else(self, place: Place) -> tuple[list[Piece], str]:
        return [("keyword", "else")], ""

    def _result(self, place: Place) -> tuple[list[Piece], str]:
        node = place.node.body if isinstance(place.node, e.SeqExpr) else place.node
        assert isinstance(node, e.Expr)  # the outline says so
        word = "return " if place.kind == "return" else "→ "
        return [("keyword", word), *self.compact.expr(node)], short_info(node.struct_info)


_KINDS = {
    "head": _Writer._head,
    "block": _Writer._block,
    "binding": _Writer._binding,
    "else": _Writer._else,
    "result": _Writer._result,
    "return": _Writer._result,
}


def _kernel_row(place: Place) -> TableRow:
    fn = place.node
    assert isinstance(fn, PrimFunc)  # the table says so
    pieces: list[Piece] = [("call", f"@{place.function}"), ("muted", "(")]
    names = Names()
    for number, param in enumerate(fn.params):
        pieces += [("muted", ", ")] if number else []
        pieces.append(("var", names[param]))
        if isinstance(param, Buffer):
            dims = tuple([dim.value if isinstance(dim, p.IntImm) else dim for dim in param.shape])
            pieces += [("muted", ": "), ("dimension", f"{short_dims(dims)} {short_dtype(param.dtype.name)}")]
    return TableRow(place, (*pieces, ("muted", ")")), f"kernel, {place.number} lines")
