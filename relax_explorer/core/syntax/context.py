"""State shared by the readers of Relax functions and PrimFuncs while one text is read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Label, Report, Severity
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.expr import Expr
from relax_explorer.core.ir.prim import PrimExpr
from relax_explorer.core.source import Source, Span
from relax_explorer.core.syntax.dialects import Dialect, guess

if TYPE_CHECKING:
    from relax_explorer.core.tir.stmt import PrimFunc

_MOST_GUESSES, _NAMES_COMPARED = 50, 5000
UNREADABLE = (
    "__unreadable__"  # replaces the value of a line that Python can't read; the error is in the report
)


class Skip(Exception):
    """A part of the text can't be read, and the problem is in the report. Caught per statement, so that reading continues."""


Kernels: TypeAlias = "dict[tuple[str, tuple[tuple[str, str], ...]], PrimFunc]"
"""PrimFuncs by their dialect and text, and the names that are declared around them."""


def known_texts(kernels: Kernels) -> dict[str, None]:
    """The texts of PrimFuncs, each once."""
    return dict.fromkeys([key[0].partition("\n")[2] for key in kernels])


class Context:
    """The text, the problems in it, and the names defined at module level."""

    def __init__(self, source: Source, report: Report, names: dict[str, DType] | None = None) -> None:
        self.source = source
        self.report = report
        self.computed: Mapping[
            str, str
        ] = {}  # names outside of the program, with why their values are unknown
        self.kernels: Kernels | None = None  # PrimFuncs of other texts, by their text
        self.experimental = False  # True if constructs are accepted that no TVM has yet
        self.line_offset = source.above  # number of lines before the piece that is being read
        self.column_offset = 0  # number of columns cut off its lines
        # `n = TypeVar("n")`: each function has its own variable for it
        self.type_vars: dict[str, DType] = dict(names or {})
        self.numbers = frozenset(
            name for name in self.type_vars if name.isdecimal()
        )  # variables with digits as names
        self.metadata: dict[str, list[Any]] = {}
        self.has_metadata = self.misses_data = False
        self.has_places = False  # True if the module names devices or meshes
        self.functions: set[str] = set()
        self.externs: set[str] = set()  # packed functions that are members of the module
        self.function: ast.FunctionDef | None = None  # the function of the module that is being read
        self.aliases: set[str] = set()  # names of the module in this function, such as cls
        self.module_name, self.is_in_class = "Module", False
        self.scalar_results: dict[
            str, DType
        ] = {}  # result dtypes of functions with a scalar return annotation
        self.module_names: set[str] = {"cls"}
        self._guesses = 0

    @cached_property
    def dialect(self) -> Dialect:
        """The dialect of the text."""
        return guess(self.source.text)

    def span(self, node: ast.AST) -> Span:
        """The span of an `ast` node, which must have one."""
        placed: Any = node  # in the types of `ast`, only some classes have positions
        line, end = placed.lineno + self.line_offset, placed.end_lineno + self.line_offset
        column, end_column = (
            placed.col_offset + self.column_offset,
            placed.end_col_offset + self.column_offset,
        )
        if self.source.is_ascii:
            return Span(self.source, line, column, end, end_column)
        return Span(
            self.source, line, self.source.column(line, column), end, self.source.column(end, end_column)
        )

    def say(self, code: Code, message: str, node: ast.AST, label: str = "", **details: object) -> Diagnostic:
        """Report a problem at an `ast` node."""
        return self.report.say(code, message, self.span(node), label, **details)

    def refuse(self, code: Code, message: str, node: ast.AST, *, help: str = "") -> None:
        """Note what TVM 0.27 does not read, and our language does: an error in the profile `tvm`."""
        self.say(code, message, node, severity=Severity.NOTE, tvm_only=True, help=help)

    def fail(self, code: Code, message: str, node: ast.AST, label: str = "", **details: object) -> Skip:
        """Report a problem at an `ast` node, and return a Skip for the caller to raise."""
        self.say(code, message, node, label, **details)
        return Skip(message)

    def fail_with_fix(self, code: Code, message: str, node: ast.AST, label: str = "") -> Skip:
        """As `fail`, with the advice of the code."""
        return self.fail(code, message, node, label, help=code.fix)

    def meant(self, name: str, names: Iterable[str]) -> str:
        """A hint on an undefined name: why its value is unknown, or a similar name, or "". There is a limit to the number of guesses."""
        if name in self.computed:
            return f"{self.computed[name]}; write its value"
        self._guesses += 1
        if self._guesses > _MOST_GUESSES:
            return ""
        from difflib import get_close_matches

        near = get_close_matches(name, list(islice(names, _NAMES_COMPARED)), 1)
        return f"did you mean {near[0]}?" if near else ""

    def undefined(self, name: str, what: str, node: ast.AST, help: str) -> Skip:
        """Report an undefined name, with the place that binds it if that is out of sight, and return a Skip to raise."""
        from relax_explorer.core.syntax.python_tree import elsewhere  # a rare need

        found = elsewhere(self.source, self.function, name, self.span(node).line)
        if found is None:
            return self.fail(codes.UNDEFINED, what, node, "not defined here", help=help)
        labels = (Label(found.span, "bound here"),)
        return self.fail(
            codes.UNDEFINED, found.text, node, "not defined here", help=found.help, labels=labels
        )

    def metadata_entry(self, node: ast.AST) -> object:
        """The entry of the metadata block that `metadata["key"][0]` names; None for another expression, and if there is none."""
        outer = node.value if isinstance(node, ast.Subscript) else None
        if not isinstance(node, ast.Subscript) or not isinstance(outer, ast.Subscript):
            return None
        base, key, index = outer.value, outer.slice, node.slice
        if not isinstance(base, ast.Name) or base.id != "metadata" or not isinstance(key, ast.Constant):
            return None
        entries = self.metadata.get(str(key.value), [])
        number = index.value if isinstance(index, ast.Constant) else None
        return entries[number] if isinstance(number, int) and 0 <= number < len(entries) else None

    def declare(self, name: str, dtype: DType = INT64) -> None:
        """Declare a module-level shape variable."""
        self.type_vars[name] = dtype


# -- blocks ----------------------------------------------------------------------------------------------------------
# The blocks of a sequence that is being read.


class Blocks:
    """The blocks of a sequence that is being read."""

    __slots__ = ("bindings", "blocks")

    def __init__(self) -> None:
        self.blocks: list[e.BindingBlock] = []
        self.bindings: list[e.Binding] = []

    def close(self) -> tuple[e.BindingBlock, ...]:
        """End the open block, and return all blocks so far."""
        if self.bindings:
            self.blocks.append(e.BindingBlock(tuple(self.bindings)))
            self.bindings = []
        return tuple(self.blocks)


# -- local names -----------------------------------------------------------------------------------------------------
# The names in scope at a place of a function. Names bound in a block go out of scope at its end.


Named = Expr | PrimExpr
_V = TypeVar("_V")


class LocalNames(dict[str, _V]):
    """Names with their values. The cost of a block depends on its own bindings, not on the names around it.

    While a block is open, every change is logged. The end of the block undoes the changes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._log: list[tuple[str, _V | None]] = []
        self._open = 0

    def __setitem__(self, name: str, value: _V) -> None:
        """Bind a name."""
        if self._open:
            self._log.append((name, self.get(name)))
        super().__setitem__(name, value)

    def hide(self, name: str) -> None:
        """Remove a name until the open block ends."""
        value = super().pop(name, None)
        if self._open and value is not None:
            self._log.append((name, value))

    @contextmanager
    def block(self, stays: Callable[[str, _V], bool] = lambda name, value: False) -> Iterator[None]:
        """A block whose names go out of scope at its end, except names for which `stays` returns True."""
        mark = len(self._log)
        self._open += 1
        try:
            yield
        finally:
            changed = {name: self.get(name) for name, _ in self._log[mark:]}
            for name, before in reversed(self._log[mark:]):
                if before is None:
                    super().pop(name, None)
                else:
                    super().__setitem__(name, before)
            del self._log[mark:]
            self._open -= 1
            for name, value in changed.items():
                if value is not None and stays(name, value):
                    self[name] = value


class Scope(LocalNames[Named]):
    """The names of a Relax function."""
