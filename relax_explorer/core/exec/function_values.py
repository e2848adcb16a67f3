"""Function values in the hands of Python: packed functions and callers of `run` can call what they get."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec import packed
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.kernels import by_symbol
from relax_explorer.core.exec.memory import call_kernel
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import Closure, Lifted, PackedFunction, Value, as_parameters
from relax_explorer.core.ir import expr as e
from relax_explorer.core.tir.stmt import PrimFunc


def look_up(machine: Running, frame: Frame, at: Instruction) -> None:
    """Evaluate `R.ExternFunc("name")`: the function is looked up now, not when it is called."""
    machine.write(frame, at.target, found(machine, at.node.name, at))


def found(machine: Running, name: str, at: Instruction) -> PackedFunction:
    """The packed function of a name: a PrimFunc by its symbol, a registered function, or a builtin of the virtual machine."""
    from relax_explorer.core.exec import vm_builtins

    is_known = by_symbol(machine.module, name) or packed.find(name) or vm_builtins.TABLE.get(name)
    if is_known is None:
        raise unknown(machine, name, at)
    return PackedFunction(name, lambda *args: machine.packed(name, args, at))


def unknown(machine: Running, name: str, at: Instruction) -> Failure:
    """The failure of a name that stands for no packed function."""
    text = f"no packed function {name!r} is registered"
    return machine.trap(codes.UNKNOWN_PACKED, text, at, packed.hint(name))


def handed(machine: Running, values: Sequence[Value], at: Instruction) -> list[Value]:
    """The values as Python code gets them: functions are callable, in tuples too."""
    return [_handed(machine, value, at) for value in values]


def returned(machine: Running, function: str, value: Value) -> Value:
    """The result of a run for its caller, who can call the functions in it."""
    place = Instruction("return", machine.module.functions[function], (), -1)
    return _handed(machine, value, place)


def _handed(machine: Running, value: Value, at: Instruction) -> Value:
    if type(value) is tuple:
        return tuple(handed(machine, value, at))
    if isinstance(value, e.ExternFunc):
        return found(machine, value.name, Instruction("extern", value, (), -1, at.binding))
    if isinstance(value, e.GlobalVar):
        fn = machine.module.functions.get(value.name)
        if type(fn) is PrimFunc:
            return packed.Computation(value.name, lambda *args: call_kernel(machine, at, fn, list(args)))
        value = machine.globals.get(value.name, value)
    if isinstance(value, (Closure, Lifted)) and value.called is None:
        return replace(value, called=partial(_called, machine, value))
    return value


def _called(machine: Running, callee: Closure | Lifted, *args: Value) -> Value:
    """The result of a function value that Python calls: a run without steps of its own, in the memory of the machine."""
    inner = copy(machine)  # it shares the kernels, the output and the warnings
    inner.frames, inner.change, inner.record, inner.done = [], None, False, False
    closure = callee
    while isinstance(closure, Lifted):
        closure, args = machine.globals[closure.function.name], (*args, *closure.captured)
    params = closure.function.params
    if len(args) != len(params):
        text = f"{closure.name} takes {len(params)} arguments, {len(args)} given"
        raise Failure(Diagnostic(codes.INPUT_COUNT, text, help=codes.INPUT_COUNT.fix))
    values = as_parameters(args, params, closure.name)
    inner.enter(closure.function, closure.name, values, closure.captured, None, None, closure.dims)
    return inner.run()
