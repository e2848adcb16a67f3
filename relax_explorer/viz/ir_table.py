"""A stage as a table: number, variable, operation, StructInfo; one row for a binding, and rows for heads, blocks and kernels.

Relax functions come first, then kernels, each folded into one row. Rows are written when they are read, so that a table of
100,000 bindings is made at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, partial

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.syntax.doc import Line
from relax_explorer.core.syntax.names import Names
from relax_explorer.core.tir.stmt import Buffer, PrimFunc
from relax_explorer.viz.compact import Compact, OpClass, parameters, role, signature
from relax_explorer.viz.kernel_class import kernel_text, of_function
from relax_explorer.viz.lexer import Piece, highlight
from relax_explorer.viz.short import short_dtype, short_info
from relax_explorer.viz.table_folds import Fold, Place, check_folds, folds, layer_folds, outline
from relax_explorer.viz.tables import LazyRows, Row, colored_row

WIDEST_NAME = 24
_INDENT = "    "
_NESTED: Piece = ("muted", "│ ")


class IrTable(LazyRows[Row]):
    """The rows of a stage, or of one of its functions. `opened` are the kernels with all lines; None opens all."""

    def __init__(self, stage: Snapshot, function: str = "", opened: Collection[str] | None = ()) -> None:
        super().__init__()
        self.stage, self.function, self.opened = stage, function, opened
        self.places: list[Place] = []
        self._heads: list[int] = []  # the rows of the functions
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
            if self.places and (type(functions.get(name)) is e.Function or self.places[-1].kind != "kernel"):
                self.places.append(Place("blank", None, ""))
            self._add(name, lines[name])

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
        self._writers[name] = _Writer(names, name, bindings, self.stage.module)

    def width_of(self, function: str) -> int:
        """The width of the column with the names of a function's variables."""
        return self._writers[function].width if function in self._writers else 0

    def has_plain_names(self, function: str) -> bool:
        """True if every variable of a Relax function is shown with its own name."""
        writer = self._writers.get(function)
        return writer is not None and all(name == var.name for var, name in writer.names.items())

    @cached_property
    def row_of(self) -> dict[int, int]:
        """The row of each node, by its identity: the first that shows it."""
        found: dict[int, int] = {}
        for number, place in enumerate(self.places):
            if place.node is not None and place.kind != "else":
                found.setdefault(id(place.node), number)
        return found

    @cached_property
    def starts(self) -> dict[str, int]:
        """The first row of each function."""
        found: dict[str, int] = {}
        for number, place in enumerate(self.places):
            if place.function:
                found.setdefault(place.function, number)
        return found

    @cached_property
    def folds(self) -> list[Fold]:
        """What can be folded, in the order of the heads."""
        found = [*folds(self.places), *self.check_folds, *layer_folds(self.places, self.stage.module)]
        return sorted(found, key=lambda fold: (fold.head, -fold.end))

    @cached_property
    def check_folds(self) -> list[Fold]:
        """The checks that open functions. They are found without a walk through the table."""
        return check_folds(self.places, self._heads)

    def lines_of(self, kernel: str) -> Sequence[Line]:
        """The lines of a kernel that is one row."""
        return self._folded.get(kernel, ())

    def __len__(self) -> int:
        return len(self.places)

    def _made(self, number: int) -> Row:
        place = self.places[number]
        if place.kind == "text":
            return _row(place, highlight(place.text))
        if place.kind == "kernel":
            return _kernel_row(place, of_function(place.function, self.stage.module))
        return _row(place) if place.kind == "blank" else self._writers[place.function].row(place)


def _row(place: Place, pieces: Iterable[Piece] = (), info: str = "") -> Row:
    """The row of a place, with a StructInfo at its right."""
    return colored_row(pieces, " ", place.node, place.function, info, place.kind)


class _Writer:
    """Writes the rows of one function, with its columns."""

    def __init__(self, names: Names, name: str, bindings: Sequence[object], module: IRModule) -> None:
        self.names, self.name = names, name
        self.compact = Compact(names, partial(of_function, module=module))
        self.digits = max(len(str(len(bindings))), 2)
        shown = [len(names[var]) for item in bindings if (var := getattr(item, "var", None)) is not None]
        self.width = min(max(shown, default=1), WIDEST_NAME)

    def row(self, place: Place) -> Row:
        bars = (_NESTED,) * place.depth
        pieces, info = _KINDS[place.kind](self, place)
        return _row(place, (*self._number(place), *bars, *pieces), info)

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


def _kernel_row(place: Place, kind: OpClass) -> Row:
    fn, names = place.node, Names()
    assert isinstance(fn, PrimFunc)  # the table says so
    shown = parameters((names[param], _buffer_info(param)) for param in fn.params)
    pieces = [(role(kind or OpClass.CALL), f"@{place.function}"), *shown]
    return _row(place, pieces, f"{kernel_text(fn, kind)}, {place.number} lines")


def _buffer_info(param: object) -> str:
    """Shape and dtype of a parameter of a kernel; empty for a number."""
    if not isinstance(param, Buffer):
        return ""
    dims = tuple([dim.value if isinstance(dim, p.IntImm) else dim for dim in param.shape])
    return f"{tuple_text(dims)} {short_dtype(param.dtype.name)}"
