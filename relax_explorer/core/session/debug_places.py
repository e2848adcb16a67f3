"""Places of breakpoints as text: `y`, `main.y`, `op:matmul`, `fn:f`, `kernel:k`, `line:12`, `model.py:12`, `nan`, `inf`, `PLACE if CONDITION`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import PurePath

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.breakpoints import Breakpoint, condition, on_bindings, on_condition, on_stores
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import all_dims, bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.source import Span
from relax_explorer.core.tir.stmt import BufferStore, Evaluate, PrimFunc, Stmt
from relax_explorer.core.tir.traverse import names_of, statements

# -- listing ---------------------------------------------------------------------------------------------------------
# The numbered lines of a program that a debugger lists: the text as read, or the text of a stage after passes.


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


# -- debug places ----------------------------------------------------------------------------------------------------


NOT_FINITE = {"nan": ("nan",), "inf": ("inf",), "not-finite": ("nan", "inf")}
_IF = re.compile(r"(?:^|\s)if\s+(.*)", re.DOTALL)
_LINE = re.compile(r"(?:(?P<file>.*):)?(?P<line>[0-9]{1,9})", re.DOTALL)


def refused(text: str, hint: str = "") -> Failure:
    """The failure for a command that is refused."""
    return Failure(Diagnostic(codes.BAD_COMMAND, text, help=hint or codes.BAD_COMMAND.fix))


def near(word: str, known: Iterable[str], other: str = "") -> str:
    """A hint with the words closest to `word`, or `other`."""
    found = get_close_matches(word, sorted(set(known)), 3)
    return f"did you mean {' or '.join(found)}?" if found else other


class Places:
    """The places of a program."""

    def __init__(self, debugger: Debugger, listing: Listing) -> None:
        self.debugger, self.listing = debugger, listing
        functions = debugger.module.functions
        self.kernels = {name: fn for name, fn in functions.items() if isinstance(fn, PrimFunc)}
        self.globals = {name: fn for name, fn in functions.items() if type(fn) is e.Function}

    @cached_property
    def bindings(self) -> dict[str, list[e.Binding]]:
        """The bindings of each function, found when a place is first asked for."""
        return {name: list(bindings(fn)) for name, fn in self.globals.items()}

    @cached_property
    def all(self) -> list[e.Binding]:
        """The bindings of all functions."""
        return [binding for own in self.bindings.values() for binding in own]

    def breakpoint(self, text: str) -> Breakpoint:
        """The breakpoint for `[PLACE] [if CONDITION]`; without both, at the next binding. Raises Failure."""
        found = _IF.search(text)
        place = (text[: found.start()] if found else text).strip()
        if found and not place:
            return self._wherever(found[1].strip())
        breakpoint = self._place(place)
        breakpoint.place = place or breakpoint.text
        if found:
            self.condition(breakpoint, found[1])
        return breakpoint

    def condition(self, breakpoint: Breakpoint, text: str) -> None:
        """Set or clear the condition of a breakpoint. Raises Failure."""
        parsed = condition(text) if text.strip() else None
        self._check_condition(parsed.names if parsed is not None else (), breakpoint.prim_func)
        breakpoint.condition = parsed
        breakpoint.forget()

    def check_names(self, names: Collection[str]) -> None:
        """Refuse variables that no function has."""
        known = self.names()
        if not known.issuperset(names):
            known |= {name for fn in self.kernels.values() for name in names_of(fn)}
        _check(names, known, "the program")

    def _check_condition(self, names: Collection[str], fn: PrimFunc | None) -> None:
        """Refuse variables that a condition can't read: those of PrimFuncs are for breakpoints inside."""
        if fn is not None:
            _check(names, names_of(fn), "the PrimFunc")
            return
        known = self.names()
        inner = [name for name in sorted(names) if name not in known]
        owner = next((key for key, own in self.kernels.items() if inner and inner[0] in names_of(own)), "")
        if owner:
            text = f"{inner[0]} is a variable of the PrimFunc {owner}"
            raise refused(text, "set the breakpoint at the line of a store there, or after `into`")
        _check(names, known, "the program")

    def _wherever(self, text: str) -> Breakpoint:
        """The breakpoint for a condition alone. Inside a PrimFunc, it may be one over its variables."""
        names, walk = condition(text).names, self.debugger.inside
        if walk is not None and names and names_of(walk.fn).issuperset(names):
            stores = [node for node in walk.scopes if node is not None]
            breakpoint = on_stores(f"stores of {walk.name}", walk.fn, stores)
            breakpoint.condition = condition(text)
            return breakpoint
        self._check_condition(names, None)
        return on_condition(text)

    def names(self) -> set[str]:
        """The variables and shape variables of the program."""
        known = {b.var.name for b in self.all if b.var is not None}
        functions = [
            *self.globals.values(),
            *[b.value for b in self.all if isinstance(b.value, e.Function)],
        ]
        infos = [b.struct_info for b in self.all if isinstance(b, e.MatchCast)]
        for fn in functions:
            known |= {param.name for param in fn.params}
            infos += [param.struct_info for param in fn.params if param.struct_info is not None]
        return known | {var.name for info in infos for var in all_dims(info)}

    # -- kinds of places ------------------------------------------------------------------------------------------

    def _place(self, text: str) -> Breakpoint:
        kind, colon, name = text.partition(":")
        if not text:
            return self._next()
        if text in NOT_FINITE:
            from relax_explorer.core.exec.blame import on_not_finite

            return on_not_finite(self.debugger, NOT_FINITE[text])
        if colon and kind in ("op", "fn", "kernel"):
            return {"op": self._operator, "fn": self._function, "kernel": self._kernel}[kind](text, name)
        line = _LINE.fullmatch(text)
        if line:
            return self._line(text, line["file"] or "", int(line["line"]))
        return self._name(text)

    def at(self, binding: e.Binding) -> Breakpoint:
        """The breakpoint at one binding."""
        name = binding.var.name if binding.var is not None else ""
        namesakes = [item for item in self.all if name and item.var is not None and item.var.name == name]
        if len(namesakes) != 1:
            line = self.listing.line_of(binding)
            name = f"line:{line}" if line else name
        breakpoint = on_bindings(name, [binding])
        breakpoint.place = name
        return breakpoint

    def _next(self) -> Breakpoint:
        binding, walk = self.debugger.next_binding, self.debugger.inside
        if walk is not None and walk.stored is not None:
            line = self.listing.stores.get(walk.stored, 0)
            return on_stores(f"line:{line}" if line else f"a store of {walk.name}", walk.fn, [walk.stored])
        if binding is None:
            raise refused("there is no next binding in this function", "name a place: break y")
        return self.at(binding)

    def _operator(self, text: str, name: str) -> Breakpoint:
        name = name.removeprefix("R.").removeprefix("relax.")
        found = [binding for binding in self.all if _operator_of(binding) == name]
        if not found:
            known = {_operator_of(binding) for binding in self.all}
            raise refused(f"the program calls no operator {name!r}", near(name, known))
        return on_bindings(text, found)

    def _function(self, text: str, name: str) -> Breakpoint:
        known = self._functions()
        if name not in known:
            raise refused(f"the program has no function {name!r}", near(name, known))
        return on_bindings(text, (), [name])

    def _functions(self) -> set[str]:
        local = {b.var.name for b in self.all if b.var is not None and isinstance(b.value, e.Function)}
        return local | self.globals.keys()

    def _kernel(self, text: str, name: str) -> Breakpoint:
        if name not in self.kernels:
            raise refused(f"the program has no PrimFunc {name!r}", near(name, self.kernels))
        calls = [b for b in self.all if name in _globals_of(b)]
        if not calls:
            raise refused(f"no binding calls the PrimFunc {name!r}")
        return on_bindings(text, calls)

    def _line(self, text: str, file: str, line: int) -> Breakpoint:
        own = self.listing.filename
        if file not in ("", "line", own, PurePath(own).name):
            raise refused(f"{file!r} is not the file of this program", f"it is {own}")
        if not 1 <= line <= len(self.listing.lines):
            raise refused(f"there is no line {line}; the last one is {len(self.listing.lines)}")
        found = self.listing.bindings_at(line)
        if found:
            return on_bindings(f"line:{line}", found)
        function = self.listing.function_at(line)
        if function in self.kernels:
            return self._kernel_line(line, function)
        after = self.listing.next_line(line)
        raise refused(
            f"no binding starts at line {line}", f"the next one is at line {after}" if after else ""
        )

    def _kernel_line(self, line: int, function: str) -> Breakpoint:
        """A line of a PrimFunc: its store, or else the next one. The head of the function stands for its calls."""
        at = self.listing.store_line(line, function)
        if at and (at == line or line > self.listing.head_of(function)):
            place = on_stores(f"line:{at}", self.kernels[function], self.listing.stores_at(at))
            place.note = "" if at == line else f"line {line} has no store; the next one is here"
            return place
        place = self._kernel(f"line:{line}", function)
        within = f"; the next store inside is at line {at}" if at else ""
        place.note = f"stops after calls of {function}{within}"
        return place

    def _name(self, text: str) -> Breakpoint:
        function, dot, name = text.rpartition(".")
        if dot and function in self.bindings:
            own = self.bindings[function]
        elif dot:
            raise refused(f"the program has no function {function!r}", near(function, self.bindings))
        else:
            own = self.all
        found = [binding for binding in own if binding.var is not None and binding.var.name == name]
        if found:
            return on_bindings(text, found)
        if not dot and name in self._functions():
            return self._function(f"fn:{name}", name)
        if not dot and name in self.kernels:
            return self._kernel(f"kernel:{name}", name)
        variables = {binding.var.name for binding in own if binding.var is not None}
        known = variables if dot else variables | self._functions() | self.kernels.keys()
        raise refused(f"{function or 'the program'} binds no variable {name!r}", near(name, known))


def _check(names: Collection[str], known: Collection[str], what: str) -> None:
    for name in sorted(names):
        if name not in known:
            raise refused(f"{what} has no variable {name!r}", near(name, known))


def _operator_of(binding: e.Binding) -> str:
    """The name of the operator that a binding calls; empty if it calls none."""
    value = binding.value
    called = value.op if type(value) is e.Call else None
    return called.name.removeprefix("relax.") if type(called) is e.OpRef else ""


def _globals_of(binding: e.Binding) -> set[str]:
    """The global functions that a call mentions as callee or argument."""
    value = binding.value
    parts = (value.op, *value.args) if type(value) is e.Call else ()
    return {part.name for part in parts if type(part) is e.GlobalVar}
