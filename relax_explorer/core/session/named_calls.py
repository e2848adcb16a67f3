"""Several calls in sequence, with named results: what a caller of a language model does with its cache.

    cache = create_cache(shape(4), shape(64), shape(16), shape(16), shape(0))
    vm.builtin.kv_state_add_sequence(cache, 0)
    logits, cache = prefill([[3, 14, 15]], cache, "weights.npz")

Each line calls a function of the module, or a packed function by its dotted name. The text is parsed, and never executed.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec import packed, vm_builtins
from relax_explorer.core.exec.checks import entry
from relax_explorer.core.exec.engine import FUSED
from relax_explorer.core.exec.expression import NoValue, expression, refused
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernels import Kernels
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.values import Shape, Value, as_argument, describe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_inputs import is_file
from relax_explorer.core.session.field_names import FieldNames, field_names
from relax_explorer.core.session.inputs import named_source
from relax_explorer.core.session.made import Maker
from relax_explorer.core.syntax.parser import parse

_DOTTED = re.compile(r"[A-Za-z_][\w.]*")


@dataclass(frozen=True, slots=True)
class NamedCall:
    """One line: the names of its results, the function, and its arguments. `place` is the file and line."""

    place: str
    names: tuple[str, ...]
    function: str
    args: tuple[ast.expr, ...]


@dataclass(slots=True)
class Calls:
    """Runs calls of one module. `results` are the named ones so far; `most` limits the bytes of each file or made value.

    Files are looked for in `folder` first. `names` are those that a build tells, for the fields of tuple parameters of each
    function; without them, those that the module tells. `remarks` tell how
    entries of files were found, each once; their reader takes them.
    """

    module: IRModule
    most: int
    cache: Path | None = None
    private: bool = False
    engine: str = FUSED
    folder: str = ""
    names: Mapping[str, FieldNames] = field(default_factory=dict)
    results: dict[str, Value] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    _said: set[str] = field(default_factory=set)

    def find(self, name: str) -> Value:
        """The result called `name`; None if there is none."""
        return self.results.get(name)

    def run(
        self,
        call: NamedCall,
        interrupt: Interrupt,
        around: Callable[[Kernels], AbstractContextManager[None]] = lambda kernels: nullcontext(),
    ) -> Machine:
        """Run one call inside `around` of its kernels, and keep its results. Raises Failure."""
        given = self.arguments(call)
        with _at(call):
            machine = self._machine(call, given, interrupt)
        with around(machine.kernels):
            machine.run()
        values = (machine.result,) if len(call.names) < 2 else machine.result
        if call.names and (type(values) is not tuple or len(values) != len(call.names)):
            raise _refused(call, f"the result is {describe(machine.result)}, not {len(call.names)} values")
        self.results.update(zip(call.names, values, strict=False))
        return machine

    def arguments(self, call: NamedCall) -> list[Value]:
        """The arguments of a call. Raises Failure."""
        with _at(call):
            if "." in call.function:
                return [self._value(call, arg, None, 0) for arg in call.args]
            fn = entry(self.module, call.function, len(call.args), self.private)
            return [self._value(call, arg, fn, n) for n, arg in enumerate(call.args)]

    def _machine(self, call: NamedCall, values: list[Value], interrupt: Interrupt) -> Machine:
        if "." in call.function:
            return Machine(_wrapper(call), "main", values, interrupt=interrupt)
        return Machine(
            self.module,
            call.function,
            values,
            cache=self.cache,
            interrupt=interrupt,
            private=self.private,
            engine=self.engine,
        )

    def _value(self, call: NamedCall, node: ast.expr, fn: e.Function | None, number: int) -> Value:
        """The value of an argument of a function of the module, or of a packed one."""
        info = fn.params[number].struct_info if fn is not None else None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if fn is None:
                raise _refused(call, "a source of values needs a parameter of a function of the module")
            return self._made(node.value, call, fn, number)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "shape":
            return Shape(_length(call, self._element(arg)) for arg in node.args)
        if isinstance(node, ast.List):
            elements = self._element(node)
            known = isinstance(info, (s.TensorStructInfo, s.ShapeStructInfo))
            return as_argument(elements, info) if known else np.asarray(elements)
        return as_argument(self._element(node), info)

    def _element(self, node: ast.expr) -> Value:
        """The value of an expression, or a list of them."""
        if isinstance(node, ast.List):
            return [self._element(part) for part in node.elts]
        return expression(ast.unparse(node)).value(self)

    def _made(self, source: str, call: NamedCall, fn: e.Function, number: int) -> Value:
        """The value of a source: a file, or what a maker fills."""
        param, path = fn.params[number], self._path(source)
        if not is_file(path):
            return Maker({}, self.most, "write the elements, [[1, 2], [3, 4]], or give a .npy file").make(
                param.struct_info or s.OBJECT, source, param, number
            )
        names = self.names.get(call.function) or field_names(fn, self.module)
        value, remarks = named_source(fn, number, path, self.most, names)
        self.remarks += [remark for remark in remarks if remark not in self._said]
        self._said.update(remarks)
        return value

    def _path(self, source: str) -> str:
        """The path of a source in the folder of the calls, if it is there; else as it is, from the current folder."""
        beside = os.path.join(self.folder, source)
        return beside if is_file(beside) and os.path.exists(beside) else source


@contextmanager
def _at(call: NamedCall) -> Iterator[None]:
    """Report what is wrong with the values of a call at its place."""
    try:
        yield
    except (ValueError, OverflowError, TypeError, NoValue) as problem:
        raise _refused(call, str(problem)) from None


def read_calls(text: str, name: str) -> list[NamedCall]:
    """The calls in a text, one for each line. Empty lines and comments are skipped. Raises Failure."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    return [_read(line, f"{name}:{number}") for number, line in lines if line and not line.startswith("#")]


def _read(line: str, place: str) -> NamedCall:
    try:
        body = ast.parse(line).body
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
    return NamedCall(place, names, function, tuple(value.args))


def _wrapper(call: NamedCall) -> IRModule:
    """A program that calls a packed function with its parameters."""
    if packed.find(call.function) is None and call.function not in vm_builtins.TABLE:
        text = f"{call.place}: no packed function {call.function!r} is registered"
        raise Failure(Diagnostic(codes.UNKNOWN_PACKED, text, help=packed.hint(call.function)))
    names = [f"a{number}" for number in range(len(call.args))]
    text = (
        f"@I.ir_module\nclass Module:\n    @R.function(pure=False)\n"
        f"    def main({', '.join(f'{name}: R.Any' for name in names)}):\n"
        f'        out = R.call_packed("{call.function}", {"".join(f"{name}, " for name in names)}ty_args=[R.Any])\n'
        f"        return out\n"
    )
    return normal_form_of(parse(text, call.place))


def _length(call: NamedCall, value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise _refused(call, f"a length is a whole number, not {describe(value)}")
    return int(value)


def _refused(call: NamedCall, text: str) -> Failure:
    return refused(f"{call.place}: {call.function}: {text}")


__all__ = ["Calls", "NamedCall", "read_calls"]
