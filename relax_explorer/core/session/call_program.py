"""Calls in a file: their text, and the program that makes them."""

from __future__ import annotations

import ast
import math
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeGuard

import numpy as np

from relax_explorer.core.check.normalize import normal_form_of, normal_form_to_run
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec import packed, vm_builtins
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.events import entry
from relax_explorer.core.exec.expression import NoValue, expression, refused
from relax_explorer.core.exec.match import Mismatch, match_all
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.packed import Computation
from relax_explorer.core.exec.values import UNKNOWN, Shape, Value, as_argument, describe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.arrays import INPUT_LIMIT, cut
from relax_explorer.core.session.call_inputs import is_file
from relax_explorer.core.session.difference import leaves_of
from relax_explorer.core.session.inputs import Generator, named_source
from relax_explorer.core.session.naming import FieldNames, field_names
from relax_explorer.core.source import Source, Span, with_line_feeds
from relax_explorer.core.syntax.python_tree import python_tree

# -- named calls -----------------------------------------------------------------------------------------------------
# Several calls in sequence, with named results: what a caller of a language model does with its cache.
#
#     cache = create_cache(shape(4), shape(64), shape(16), shape(16), shape(0))
#     vm.builtin.kv_state_add_sequence(cache, 0)
#     logits, cache = prefill([[3, 14, 15]], cache, "weights.npz")
#
# Each line calls a function of the module, or a packed function by its dotted name. The text is parsed, and never
# executed.


MOST_CALLS = 2_000
_DOTTED = re.compile(r"[A-Za-z_][\w.]*")
_NUMBERS = {"nan": math.nan, "inf": math.inf}


@dataclass(frozen=True, slots=True)
class NamedCall:
    """One line: the names of its results, the function, and its arguments. `place` is the file and line."""

    place: str
    names: tuple[str, ...]
    function: str
    args: tuple[ast.expr, ...]
    span: Span | None = None


@dataclass(slots=True)
class Arguments:
    """The values of arguments of calls. `most` limits the bytes of each file or made value.

    Files are looked for in `folder` first. `names` are those that a build tells, for the fields of tuple parameters of each
    function; without them, those that the module tells. `remarks` tell how entries of files were found, each once.
    """

    module: IRModule
    most: int
    folder: str = ""
    names: Mapping[str, FieldNames] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)

    def value(
        self, call: NamedCall, node: ast.expr, fn: e.Function | None, number: int, known: Mapping[str, Value]
    ) -> Value:
        """The value of an argument of a function of the module, or of a packed one; `known` are results. Raises Failure."""
        with _at(call):
            return self._value(call, node, fn, number, _NamedResults(known))

    def check(self, call: NamedCall, node: ast.expr) -> None:
        """Raise Failure for an argument that no results can give a value."""
        with _at(call):
            for part in _leaves(node):
                expression(ast.unparse(part))

    def check_packed(self, call: NamedCall) -> None:
        """Raise Failure for a packed function that nobody knows."""
        if packed.find(call.function) is None and call.function not in vm_builtins.TABLE:
            text = f"{call.place}: no packed function {call.function!r} is registered"
            raise Failure(Diagnostic(codes.UNKNOWN_PACKED, text, help=packed.hint(call.function)))

    def _value(
        self, call: NamedCall, node: ast.expr, fn: e.Function | None, number: int, known: _NamedResults
    ) -> Value:
        info = fn.params[number].struct_info if fn is not None else None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if fn is None:
                raise _refused(call, "a source of values needs a parameter of a function of the module")
            return self._from_source(node.value, call, fn, number)
        if _is_shape(node):
            return Shape(_length(call, _element(arg, known)) for arg in _leaves(node))
        elements = _element(node, known)
        if isinstance(node, ast.List) and not isinstance(info, (s.TensorStructInfo, s.ShapeStructInfo)):
            return np.asarray(elements)
        try:
            return as_argument(elements, info)
        except Failure as failure:
            raise _refused(call, failure.diagnostics[0].message) from None

    def _from_source(self, source: str, call: NamedCall, fn: e.Function, number: int) -> Value:
        """The value of a source: a file, or what a builder fills."""
        param, path = fn.params[number], self._path(source)
        if not is_file(path):
            return Generator({}, self.most, "write the elements, [[1, 2], [3, 4]], or give a .npy file").make(
                param.struct_info or s.OBJECT, source, param, number
            )
        names = self.names.get(call.function) or field_names(fn, self.module)
        value, remarks = named_source(fn, number, path, self.most, names)
        self.remarks.update(dict.fromkeys(remarks))
        return value

    def _path(self, source: str) -> str:
        """The path of a source in the folder of the calls, if it is there; else as it is, from the current folder."""
        beside = os.path.join(self.folder, source)
        return beside if is_file(beside) and os.path.exists(beside) else source


@dataclass(frozen=True, slots=True)
class _NamedResults:
    """The results that expressions may name."""

    values: Mapping[str, Value]

    def find(self, name: str) -> Value:
        """The result called `name`, else the number; None if there is neither."""
        return self.values.get(name, _NUMBERS.get(name))


def _element(node: ast.expr, known: _NamedResults) -> Value:
    """The value of an expression, or a list of them."""
    if isinstance(node, ast.List):
        return [_element(part, known) for part in node.elts]
    return expression(ast.unparse(node)).value(known)


def _is_shape(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "shape"


def _leaves(node: ast.expr) -> list[ast.expr]:
    """The expressions in an argument: itself, the elements of a list, the lengths of a shape."""
    if _is_shape(node):
        return node.args
    return [leaf for part in node.elts for leaf in _leaves(part)] if isinstance(node, ast.List) else [node]


@contextmanager
def _at(call: NamedCall) -> Iterator[None]:
    """Report what is wrong with the values of a call at its place."""
    try:
        yield
    except (ValueError, OverflowError, TypeError, NoValue) as problem:
        raise _refused(call, str(problem)) from None


def read_calls(text: str, name: str) -> list[NamedCall]:
    """The calls in a text, one for each line. Empty lines and comments are skipped. Raises Failure."""
    source = Source(with_line_feeds(text), name)
    lines = [(number, source.line(number).strip()) for number in range(1, len(source.line_starts) + 1)]
    found = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if len(found) > MOST_CALLS:
        what = f"{name} has {len(found):,} calls; at most {MOST_CALLS:,} are made"
        raise Failure(Diagnostic(codes.TOO_LARGE, what, help="split the file"))
    return [
        _read(line, f"{name}:{number}", source.span(number, 0, number, len(line))) for number, line in found
    ]


def _read(line: str, place: str, span: Span) -> NamedCall:
    try:
        body = python_tree(line).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        body = []
    node = body[0] if len(body) == 1 else None
    value = node.value if isinstance(node, (ast.Assign, ast.Expr)) else None
    targets = node.targets if isinstance(node, ast.Assign) else []
    parts = targets[0].elts if targets and isinstance(targets[0], ast.Tuple) else targets
    names = tuple(part.id for part in parts if isinstance(part, ast.Name))
    function = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
    if (
        not isinstance(value, ast.Call)
        or value.keywords
        or not _DOTTED.fullmatch(function)
        or len(names) < len(parts)
    ):
        text = f"{place}: a line is `result = function(argument, …)`, not {line[:60]!r}"
        raise Failure(Diagnostic(codes.BAD_EXPRESSION, text, help="see `run --help`"))
    return NamedCall(place, names, function, tuple(value.args), span)


def _length(call: NamedCall, value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise _refused(call, f"a length is a whole number, not {describe(value)}")
    return int(value)


def _refused(call: NamedCall, text: str) -> Failure:
    return refused(f"{call.place}: {call.function}: {text}")


__all__ = ["Arguments", "NamedCall", "read_calls"]


# -- call program ----------------------------------------------------------------------------------------------------
# A file of calls as a program: one function that makes the calls, so that everything that runs a function runs them.
#
# Sources, shapes and literal elements are inputs of this function. An argument that is computed from earlier results
# is a call of a function that evaluates its text.


NAME = "calls"
"""The name of the function that makes the calls; longer if a function of the module has it."""
_FUNCTION = s.FuncStructInfo(None, s.OBJECT, True)
_MOST_LENGTHS = 3  # of a call, in its label


@dataclass(frozen=True, slots=True)
class CallProgram:
    """The calls of a file as a function called `name`, with its inputs. `remarks` tell how entries of files were found.

    `labels` name each call with the lengths that its literal arguments fix: `decode (total = 4)`. `results` are the
    names that hold a value at the end, with the place of the value in the result: the call, and the field if it has several.
    """

    file: str
    calls: tuple[NamedCall, ...]
    name: str
    function: e.Function
    values: tuple[Value, ...]
    labels: tuple[str, ...]
    results: Mapping[str, tuple[int, int]]
    params: tuple[tuple[str, ...], ...] = ()  # of the function of each call
    remarks: tuple[str, ...] = ()

    def into(self, module: IRModule) -> IRModule:
        """A stage with the function, in normal form."""
        stage = normal_form_of(module)
        return normal_form_to_run(stage.having({**stage.functions, self.name: self.function}))

    def named(self, result: Value) -> dict[str, Value]:
        """The values of the names at the end, from the result of the function."""
        return {
            name: result[call] if part < 0 else result[call][part]
            for name, (call, part) in self.results.items()
        }

    @property
    def summary(self) -> str:
        """All calls in a sentence, equal ones once."""
        counts: dict[str, int] = {}
        for label in self.labels:
            counts[label] = counts.get(label, 0) + 1
        shown = [f"{label} × {count}" if count > 1 else label for label, count in counts.items()]
        return f"{len(self.calls)} call{'s' * (len(self.calls) > 1)}: {cut(shown)}"

    def last(self, result: Value) -> list[Value]:
        """The results of the last call, without caches: what a file of right results holds as out0, out1, …"""
        return [part for part in leaves_of(result[-1]) if not isinstance(part, Stateful)]

    def number(self, binding: e.Binding | None) -> int:
        """The number of the call that a binding of the function belongs to, from 1; 0 for none."""
        span = binding.span if binding is not None else None
        lines = [call.span.line for call in self.calls if call.span is not None]
        return lines.index(span.line) + 1 if span is not None and span.line in lines else 0

    def text(self, binding: e.Binding) -> str:
        """The line of a binding that makes a call; empty for what is computed before and after it."""
        number = self.number(binding)
        is_call = (
            number
            and type(binding.value) is e.Call
            and isinstance(binding.value.op, (e.GlobalVar, e.ExternFunc))
        )
        span = self.calls[number - 1].span if is_call else None
        return span.text if span is not None else ""

    def named_line(self, number: int) -> str:
        """A call with the names of the parameters before what is written for them: `decode(ids=[[8]], total=4, effects)`."""
        call = self.calls[number - 1]
        shown = []
        for name, node in zip(self.params[number - 1], call.args, strict=True):
            text = ast.unparse(node)
            if text.startswith("shape("):
                text = text.removeprefix("shape(").removesuffix(")")
            is_source = isinstance(node, ast.Constant) and isinstance(node.value, str)
            is_result = isinstance(node, ast.Name)
            shown.append(text if not name or is_result else name if is_source else f"{name}={text}")
        return f"{call.function}({', '.join(shown)})"

    def label(self, number: int) -> str:
        """A call in a sentence: its number from 1, and its label."""
        if not number:
            return ""
        function, _, lengths = self.labels[number - 1].partition(" (")
        return f"call {number} ({function}{f', {lengths}' if lengths else ')'}"

    def ends(self, result: Value) -> list[tuple[str, Value]]:
        """The results of all calls, each with its name in a sentence. A cache stands where it was returned last, for it is one object."""
        found: list[tuple[str, Value]] = []
        for number, (call, value) in enumerate(zip(self.calls, result, strict=True), 1):
            parts = value if len(call.names) > 1 else (value,)
            for name, part in zip(call.names or ("the result",), parts, strict=True):
                leaves = list(leaves_of(part))
                marks = [f"[{n}]" for n in range(len(leaves))] if type(part) is tuple else [""]
                found += [
                    (f"{name}{mark} of {self.label(number)}", leaf)
                    for mark, leaf in zip(marks, leaves, strict=False)
                ]
        last = {id(value): n for n, (_, value) in enumerate(found) if isinstance(value, Stateful)}
        return [item for n, item in enumerate(found) if last.get(id(item[1]), n) == n]


def call_program(
    module: IRModule,
    calls: Sequence[NamedCall],
    file: str,
    folder: str = "",
    most: int = INPUT_LIMIT,
    names: Mapping[str, FieldNames] | None = None,
    private: bool = True,
) -> CallProgram:
    """The program of calls of functions of a module. Raises Failure for a call that can't be made.

    Files are looked for in `folder` first. `names` are those that a build tells for the fields of tuple parameters, by function.
    """
    builder = _ProgramBuilder(module, Arguments(module, most, folder, names or {}), private)
    for call in calls:
        builder.add(call)
    name = NAME
    while name in module.functions:
        name += "_"
    return CallProgram(
        file,
        tuple(calls),
        name,
        builder.function(name),
        tuple(builder.inputs.values()),
        tuple(builder.labels),
        builder.named,
        tuple(builder.params),
        tuple(builder.arguments.remarks),
    )


@dataclass(slots=True)
class _ProgramBuilder:
    """Turns calls into bindings one by one."""

    module: IRModule
    arguments: Arguments
    private: bool
    inputs: dict[e.Var, Value] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    named: dict[str, tuple[int, int]] = field(default_factory=dict)
    known: dict[str, e.Var] = field(default_factory=dict)  # the results so far
    bindings: list[e.Binding] = field(default_factory=list)
    made: list[e.Var] = field(default_factory=list)  # the result of each call
    params: list[tuple[str, ...]] = field(default_factory=list)
    sources: dict[tuple[str, str], e.Var] = field(default_factory=dict)  # inputs that several calls share

    def add(self, call: NamedCall) -> None:
        """One more call."""
        fn: e.Function | None = None
        if "." in call.function:
            self.arguments.check_packed(call)
            op: e.Expr = e.ExternFunc(call.function)
        else:
            fn = entry(self.module, call.function, len(call.args), self.private)
            op = e.GlobalVar(call.function)
        self.params.append(tuple(["" if fn is None else fn.params[n].name for n in range(len(call.args))]))
        args = tuple([self._argument(call, node, fn, n) for n, node in enumerate(call.args)])
        self.labels.append(self._label(call, fn, args))
        value = e.Call(op, args, sinfo_args=(s.OBJECT,) if fn is None else (), span=call.span)
        self._bind_results(call, value)

    def function(self, name: str) -> e.Function:
        """The function that makes the calls, and returns what each of them returned."""
        body = e.SeqExpr((e.BindingBlock(tuple(self.bindings)),), e.Tuple(tuple(self.made)))
        attrs = Attrs({"global_symbol": name})
        return e.Function(tuple(self.inputs), body, None, False, attrs)

    def _bind_results(self, call: NamedCall, value: e.Call) -> None:
        number, several = len(self.made), len(call.names) > 1
        fn = self.module.functions.get(call.function)
        info = fn.ret_struct_info if type(fn) is e.Function else None
        is_known = isinstance(info, s.TupleStructInfo) and len(info.fields) == len(call.names)
        if several and not is_known and info is not None and info is not s.OBJECT:
            raise refused(
                f"{call.place}: {call.function}: the result is {info}, not {len(call.names)} values"
            )
        name = call.names[0] if len(call.names) == 1 else call.function.rpartition(".")[2]
        whole = self._bound(name, value, call)
        self.made.append(whole)
        if not several:
            self.known.update(dict.fromkeys(call.names, whole))
            self.named.update(dict.fromkeys(call.names, (number, -1)))
            return
        parts = whole
        if not is_known:  # the run finds out
            parts = e.Var(f"{name}_results")
            anything = s.TupleStructInfo((s.OBJECT,) * len(call.names))
            self.bindings.append(e.MatchCast(parts, whole, anything, None, call.span))
        for n, part in enumerate(call.names):
            self.known[part] = self._bound(part, e.TupleGetItem(parts, n, span=call.span), call)
            self.named[part] = (number, n)

    def _bound(self, name: str, value: e.Expr, call: NamedCall) -> e.Var:
        var = e.Var(name, span=call.span)
        self.bindings.append(e.VarBinding(var, value, None, call.span))
        return var

    def _argument(self, call: NamedCall, node: ast.expr, fn: e.Function | None, number: int) -> e.Expr:
        """An argument: a result, an input, or what is computed from results."""
        if isinstance(node, ast.Name) and node.id in self.known:
            return self.known[node.id]
        name = fn.params[number].name if fn is not None else f"{call.function.rpartition('.')[2]}_{number}"
        used = [item for item in _names(node) if item in self.known]
        if used:
            self.arguments.check(call, node)
            work = _Computed(call, node, fn, number, tuple(used))
            host = self._input(f"{name}_of", _FUNCTION, Computation(ast.unparse(node), work))
            values = tuple([self.known[item] for item in used])
            return self._bound(name, e.Call(host, values, span=call.span), call)
        key = (ast.unparse(node), str(fn.params[number].struct_info) if fn is not None else "")
        is_source = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if not is_source or key not in self.sources:
            value = self.arguments.value(call, node, fn, number, {})
            self.sources[key] = self._input(name, s.OBJECT, value)
        return self.sources[key]

    def _input(self, name: str, info: s.StructInfo, value: Value) -> e.Var:
        """A new parameter, whose name is its own."""
        taken = {var.name for var in self.inputs}
        free = name if name not in taken else f"{name}_{len(self.labels) + 1}"
        while free in taken:
            free += "_"
        var = e.Var(free, info)
        self.inputs[var] = value
        return var

    def _label(self, call: NamedCall, fn: e.Function | None, args: Sequence[e.Expr]) -> str:
        """The function, and the lengths that its literal arguments fix."""
        dims: dict[p.PrimVar, int] = {}
        values = [self.inputs.get(arg, UNKNOWN) if isinstance(arg, e.Var) else UNKNOWN for arg in args]
        infos = [param.struct_info or s.OBJECT for param in fn.params] if fn is not None else []
        with suppress(Mismatch):  # the run will tell
            match_all(values[: len(infos)], infos, dims)
        shown = [f"{var.name} = {length}" for var, length in list(dims.items())[:_MOST_LENGTHS]]
        return f"{call.function} ({', '.join(shown)})" if shown else call.function


@dataclass(frozen=True, slots=True)
class _Computed:
    """Evaluates an argument on the results that it reads."""

    call: NamedCall
    node: ast.expr
    fn: e.Function | None
    number: int
    names: tuple[str, ...]

    def __call__(self, *values: Value) -> Value:
        """The value of the argument. Raises Failure."""
        known = dict(zip(self.names, values, strict=True))
        return Arguments(IRModule({}), INPUT_LIMIT).value(self.call, self.node, self.fn, self.number, known)


def _names(node: ast.expr) -> list[str]:
    """The names in an argument, each once."""
    return list(dict.fromkeys(part.id for part in ast.walk(node) if isinstance(part, ast.Name)))


def outermost(debugger: Debugger) -> e.Binding | None:
    """The binding of the first frame that runs, or was run last."""
    if not debugger.frames:
        return None
    frame = debugger.frames[0]
    is_inside = len(debugger.frames) > 1 or debugger.event.kind in ("bind", "return")
    before, after = frame.plan.code[: frame.pc], frame.plan.code[frame.pc :]
    found = [item.binding for item in (reversed(before) if is_inside else after) if item.binding is not None]
    return found[0] if found else None


# -- call steps ------------------------------------------------------------------------------------------------------
# Where the calls of a file stand among the steps of their run.


class CallSteps:
    """The calls of a run. `starts` are the positions before the first step of each call that the run has reached."""

    def __init__(self, program: CallProgram, debugger: Debugger) -> None:
        self.program, self.debugger = program, debugger
        self.starts = [0]
        self._seen = 0  # steps that were looked at
        self._first = debugger.frame

    def update(self) -> None:
        """Look at new steps. Steps that are undone stay known."""
        log = self.debugger.machine.log
        for number in range(self._seen, len(log)):
            change = log[number]
            if change.frame is self._first and self.program.number(change.event.binding) > len(self.starts):
                self.starts.append(number)
        self._seen = len(log)

    @property
    def number(self) -> int:
        """The call that runs or comes next, from 1; the last one at the end."""
        self.update()
        debugger, total = self.debugger, len(self.program.calls)
        if debugger.done:
            return total
        if len(debugger.frames) == 1:
            return self.program.number(debugger.next_binding) or total
        return bisect_right(self.starts, debugger.position)

    def forward(self) -> None:
        """Go to the start of the next call, or to the end; breakpoints stop on the way."""
        debugger, target = self.debugger, self.number + 1
        if target <= len(self.starts):
            debugger.goto(self.starts[target - 1])
            return
        while not debugger.done and self.number < target:
            debugger.interrupt.check()
            debugger.step()
            if debugger.stops:
                return

    def back(self) -> None:
        """Go to the start of this call, or from there to that of the call before."""
        number, debugger = self.number, self.debugger
        start = self.starts[number - 1] if number <= len(self.starts) else debugger.position
        if debugger.position <= start:
            start = self.starts[max(number - 2, 0)]
        debugger.goto(start)
