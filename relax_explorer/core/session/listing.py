"""The numbered lines of a program that a debugger lists: the text as read, or the text of a stage after passes."""

from __future__ import annotations

from dataclasses import dataclass, field

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.source import Span
from relax_explorer.core.tir.stmt import BufferStore, Evaluate, PrimFunc, Stmt
from relax_explorer.core.tir.traverse import statements


@dataclass(slots=True)
class Listing:
    """Lines with numbers from 1, the lines of bindings and stores, and the first and last lines of functions."""

    filename: str
    lines: list[str]
    starts: dict[e.Binding, int] = field(default_factory=dict)
    ends: dict[e.Binding, int] = field(default_factory=dict)
    functions: dict[str, tuple[int, int]] = field(default_factory=dict)
    stores: dict[Stmt, int] = field(default_factory=dict)  # of PrimFuncs: what a walk stops after

    def line_of(self, binding: e.Binding | None) -> int:
        """The first line of a binding; 0 if it has none."""
        return 0 if binding is None else self.starts.get(binding, 0)

    def bindings_at(self, line: int) -> list[e.Binding]:
        """The bindings that start at a line, or else those that go on there."""
        own = [binding for binding, start in self.starts.items() if start == line]
        return own or [b for b, start in self.starts.items() if start < line <= self.ends[b] and _is_flat(b)]

    def stores_at(self, line: int) -> list[Stmt]:
        """The stores of a PrimFunc that start at a line."""
        return [node for node, start in self.stores.items() if start == line]

    def store_line(self, line: int, function: str) -> int:
        """The first line from `line` on at which a store of a PrimFunc starts; 0 if there is none."""
        last = self.functions[function][1]
        return min([start for start in self.stores.values() if line <= start <= last], default=0)

    def head_of(self, function: str) -> int:
        """The line with the name of a function, behind its decorators."""
        first, last = self.functions[function]
        heads = (n for n in range(first, last + 1) if self.lines[n - 1].lstrip().startswith("def "))
        return next(heads, first)

    def function_at(self, line: int) -> str:
        """The innermost function with this line; empty if none has."""
        around = [(first, name) for name, (first, last) in self.functions.items() if first <= line <= last]
        return max(around, default=(0, ""))[1]

    def next_line(self, line: int) -> int:
        """The first line behind `line` at which a binding starts; 0 if there is none."""
        return min((start for start in self.starts.values() if start > line), default=0)


_LISTINGS: PerNode[Listing] = PerNode()


def listing(stage: Snapshot, filename: str) -> Listing:
    """The text of stage 0 as it was read, made once. Later stages have the text that `show` prints."""
    return _LISTINGS.of(stage, lambda stage: _listing(stage, filename))


def _listing(stage: Snapshot, filename: str) -> Listing:
    functions = stage.module.functions
    spans = [fn.span for fn in functions.values() if fn.span is not None]
    if stage.number == 0 and len(spans) == len(functions) and len({span.source for span in spans}) == 1:
        return _as_read(stage.module, filename, spans)
    shown = Listing(f"{filename} after {stage.made_by}", [line.text for line in stage.printed.lines])
    for number, line in enumerate(stage.printed.lines, 1):
        if isinstance(line.node, (e.VarBinding, e.MatchCast)):
            shown.starts.setdefault(line.node, number)
            shown.ends[line.node] = number
        elif isinstance(line.node, (BufferStore, Evaluate)):
            shown.stores.setdefault(line.node, number)
        if line.function:
            first, _ = shown.functions.get(line.function, (number, 0))
            shown.functions[line.function] = (first, number)
    return shown


def _as_read(module: IRModule, filename: str, spans: list[Span]) -> Listing:
    source = spans[0].source
    shown = Listing(filename, [*[""] * source.above, *source.text.splitlines()])
    for name, fn in module.functions.items():
        if fn.span is not None:
            shown.functions[name] = (fn.span.line, fn.span.end_line)
        if isinstance(fn, PrimFunc):
            for node in statements(fn.body):
                if isinstance(node, (BufferStore, Evaluate)) and node.span is not None:
                    shown.stores[node] = node.span.line
        for binding in bindings(fn) if type(fn) is e.Function else ():
            span = binding.span or getattr(binding.value, "span", None)
            if span is not None:
                shown.starts[binding], shown.ends[binding] = span.line, span.end_line
    return shown


def _is_flat(binding: e.Binding) -> bool:
    """False for a branch or a function, which have bindings of their own."""
    return not isinstance(binding.value, (e.If, e.Function))
