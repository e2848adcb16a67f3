"""The executable of a build, behind its last Relax stage: its instructions, each with the binding that it came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.executable import (
    Executable,
    Instruction,
    VMFunction,
    read_executable,
)
from relax_explorer.core.syntax.load import read_text

# -- executable links ------------------------------------------------------------------------------------------------
# Links the instructions of an executable to the bindings of the last Relax stage that they came from.
# The virtual machine's code follows the bindings in order: `expected` lists the calls that a function makes, each
# with its binding, and `linked` lays them beside the instructions, by order and by name. Instructions that no
# binding asks for stay without one.


_LOOKED_AHEAD = 40
"""How many instructions, or calls, may be missing on one side before the other goes on."""
_SILENT = frozenset({"relax.null_value"})  # a binding of it makes no instruction
_BUILTINS = {
    "relax.vm.kill_object": "vm.builtin.null_value",
    "relax.memory.kill_tensor": "vm.builtin.null_value",
    "relax.memory.kill_storage": "vm.builtin.null_value",
    "relax.memory.alloc_storage": "vm.builtin.alloc_storage",
    "relax.memory.alloc_tensor": "vm.builtin.alloc_tensor",
    "relax.invoke_closure": "vm.builtin.invoke_closure",
    "relax.invoke_pure_closure": "vm.builtin.invoke_closure",
    "relax.make_closure": "vm.builtin.make_closure",
    "relax.shape_of": "vm.builtin.shape_of",
    "relax.tensor_to_shape": "vm.builtin.tensor_to_shape",
    "relax.to_vdevice": "vm.builtin.to_device",
}
_CALLERS = frozenset({"relax.call_builtin_with_ctx", "relax.call_pure_packed", "relax.call_inplace_packed"})

Place = e.Binding | e.SeqExpr
"""What an instruction came from: a binding, or the sequence whose result it returns."""


@dataclass(frozen=True, slots=True)
class Call:
    """An instruction that a function of Relax asks for, by its name, and where."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class Links:
    """For each function of an executable, the place of each instruction, in order; None for one without."""

    places: Mapping[str, tuple[Place | None, ...]]

    def place(self, function: str, number: int) -> Place | None:
        """Where instruction `number` of a function came from."""
        return self.places[function][number] if function in self.places else None

    def of(self, place: Place) -> list[tuple[str, int]]:
        """The instructions of a binding: the name of their function and their numbers."""
        return [
            (name, at)
            for name, places in self.places.items()
            for at, found in enumerate(places)
            if found is place
        ]


def linked(executable: Executable, module: IRModule) -> Links:
    """The links of an executable to the module of its last Relax stage."""
    by_symbol = {str(fn.attrs.get("global_symbol", name)): fn for name, fn in module.relax_functions.items()}
    places = {}
    for name, function in executable.functions.items():
        relax = by_symbol.get(name)
        places[name] = (
            (None,) * len(function.instructions)
            if relax is None
            else _aligned(function, list(expected(relax, module)))
        )
    return Links(places)


def _aligned(function: VMFunction, calls: list[Call]) -> tuple[Place | None, ...]:
    """The places of the instructions. Where the two lists part, the nearest pair of equal names brings them together again."""
    places: list[Place | None] = []
    at = 0
    for number, item in enumerate(function.instructions):
        name = _name(item)
        if at < len(calls) and calls[at].name == name:
            places.append(calls[at].place)
            at += 1
            continue
        skipped = next(
            (n for n in range(1, _LOOKED_AHEAD) if at + n < len(calls) and calls[at + n].name == name), None
        )
        returns = _returns(function, number, calls[at].name) if at < len(calls) else None
        if skipped is not None and (returns is None or skipped < returns):
            places.append(calls[at + skipped].place)
            at += skipped + 1
        else:
            places.append(None)  # an instruction that no binding asks for
    return tuple(places)


def _returns(function: VMFunction, number: int, name: str) -> int | None:
    """After how many instructions the next call of this name comes."""
    ahead = function.instructions[number + 1 : number + _LOOKED_AHEAD]
    return next((n for n, item in enumerate(ahead, 1) if _name(item) == name), None)


def _name(item: Instruction) -> str:
    return item.callee if item.kind == "call" else item.kind


def expected(fn: e.Function, module: IRModule) -> Iterator[Call]:
    """The instructions that a function asks for, in the order of its bindings."""
    yield from _sequence(fn.body, module)
    yield from _tuples(fn.body.body, fn.body, True)
    yield Call("ret", fn.body)


def _sequence(sequence: e.Expr, module: IRModule) -> Iterator[Call]:
    blocks = sequence.blocks if isinstance(sequence, e.SeqExpr) else ()
    for block in blocks:
        for binding in block.bindings:
            if isinstance(binding, e.VarBinding):
                yield from _binding(binding, module)


def _binding(binding: e.VarBinding, module: IRModule) -> Iterator[Call]:
    value = binding.value
    if isinstance(value, e.If):
        yield Call("vm.builtin.read_if_cond", binding)
        yield Call("if", binding)
        for number, branch in enumerate((value.true_branch, value.false_branch)):
            yield from _sequence(branch, module)
            if isinstance(branch, e.SeqExpr):
                yield from _tuples(branch.body, binding, True)
            yield Call("vm.builtin.copy", binding)
            if number == 0:
                yield Call("goto", binding)
    elif isinstance(value, e.TupleGetItem):
        yield Call("vm.builtin.tuple_getitem", binding)
    elif isinstance(value, e.Tuple):
        yield from _tuples(value, binding, True)
    elif isinstance(value, e.Call):
        for arg in value.args:
            yield from _tuples(arg, binding, not _is_list(value, arg))
        name = _callee(value, module)
        if name is not None:
            yield Call(name, binding)


def _tuples(value: e.Expr, place: Place, is_made: bool) -> Iterator[Call]:
    """The tuples that are made in place, inner ones first."""
    if isinstance(value, e.Tuple):
        for field in value.fields:
            yield from _tuples(field, place, True)
        if is_made:
            yield Call("vm.builtin.make_tuple", place)


def _is_list(call: e.Call, arg: e.Expr) -> bool:
    """True if an argument is the list of the arguments of a builtin, which no instruction makes."""
    return (
        isinstance(call.op, e.OpRef)
        and call.op.name == "relax.call_builtin_with_ctx"
        and arg is call.args[-1]
    )


def _callee(call: e.Call, module: IRModule) -> str | None:
    """The name that the instruction of a call has. None if it has no instruction."""
    op = call.op
    if isinstance(op, e.OpRef):
        if op.name in _SILENT:
            return None
        if op.name in _CALLERS and call.args and isinstance(call.args[0], e.ExternFunc):
            return call.args[0].name
        return _BUILTINS.get(op.name) or op.name.replace("relax.vm.", "vm.builtin.", 1)
    if isinstance(op, e.GlobalVar):
        target = module.functions.get(op.name)
        symbol = None if target is None else getattr(target, "attrs", {}).get("global_symbol")
        return str(symbol or op.name)
    return op.name if isinstance(op, e.ExternFunc) else "vm.builtin.invoke_closure"


# -- compiled --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compiled:
    """An executable, and which instruction came from which binding of the last Relax stage."""

    path: str
    executable: Executable
    links: Links

    def of(self, bindings: Iterable[e.Binding]) -> list[tuple[str, int]]:
        """The instructions of bindings: the name of their function, and their numbers."""
        return [place for binding in bindings for place in self.links.of(binding)]

    def found(self, text: str) -> list[tuple[str, int]]:
        """The instructions whose text contains `text`."""
        return [(name, n) for name, n, item in self._all() if text in str(item)]

    def unlinked(self) -> list[tuple[str, int]]:
        """The instructions that no binding asks for."""
        return [(name, n) for name, n, _ in self._all() if self.links.place(name, n) is None]

    def text(self, place: tuple[str, int]) -> str:
        """An instruction with its number: `#12 conv2d(%0, %1, %14)`."""
        name, number = place
        return f"#{number} {self.executable.functions[name].instructions[number]}"

    def _all(self) -> Iterator[tuple[str, int, Instruction]]:
        for name, function in self.executable.functions.items():
            yield from [(name, n, item) for n, item in enumerate(function.instructions)]


def compiled(path: str, module: IRModule) -> Compiled:
    """The executable in a file, linked to the last Relax stage of its build. Raises ParseError."""
    executable = read_executable(read_text(path), path)
    return Compiled(path, executable, linked(executable, module))
