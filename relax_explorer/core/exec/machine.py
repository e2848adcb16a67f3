"""The machine: explicit frames, one step at a time. `run` and the debugger are loops around it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.check.effects import effects
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Failure, Label
from relax_explorer.core.exec import builtins, packed
from relax_explorer.core.exec.bound_recorder import run_bound
from relax_explorer.core.exec.engine import FUSED
from relax_explorer.core.exec.events import (
    CHECKED,
    PROVED,
    Change,
    Check,
    Event,
    check_annotation,
    check_params,
    check_result,
    entry,
)
from relax_explorer.core.exec.faults import guarded
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.function_values import called, handed, look_up, other_than_stated, unknown
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernels import LLVM, REFERENCE, Kernels, by_symbol
from relax_explorer.core.exec.match import Mismatch, Scope, match, proved
from relax_explorer.core.exec.memory import ENDED, call_kernel, overwriting, put_back, take_back
from relax_explorer.core.exec.operation import run_again, run_operator
from relax_explorer.core.exec.plan import Instruction, Plan, captured
from relax_explorer.core.exec.ranks import Rank
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.exec.shape_origins import explained
from relax_explorer.core.exec.trace import run_trace
from relax_explorer.core.exec.values import (
    UNKNOWN,
    Closure,
    Lengths,
    Lifted,
    Opaque,
    PackedFunction,
    Shape,
    Value,
    as_parameters,
    bytes_of,
    describe,
    fault,
    shape_value,
)
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.struct_info import StructInfo
from relax_explorer.core.ops import find
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc

DEPTH_LIMIT = 10_000
_NOTHING = Event("", "", 0)


class Machine:
    """Runs one call of one function of a module in normal form.

    With `record`, each step can be undone. Without, registers are freed after their last use. With `check_annotations`, a value
    that contradicts the annotation of its binding stops the program (errata E-44). `interrupt` stops it from another thread.
    With `private`, a private function can be run too. `engine` is one of `ENGINES`, or `fused`, an older name of LLVM.
    Neighbouring bindings run together unless `fused` is False; with `record` or the engine REFERENCE, they never do.
    Storages are `storage_factor` times as large as the program says, and so are the offsets in them (see `widening`).
    """

    def __init__(
        self,
        module: IRModule,
        function: str,
        args: Sequence[Value],
        record: bool = False,
        cache: Path | None = None,
        check_annotations: bool = False,
        interrupt: Interrupt | None = None,
        private: bool = False,
        engine: str = LLVM,
        fused: bool = True,
        storage_factor: int = 1,
    ) -> None:
        self.module, self.record, self.check_annotations = module, record, check_annotations
        self.storage_factor = storage_factor
        self.interrupt = interrupt if interrupt is not None else Interrupt()
        self.fused = fused and engine != REFERENCE
        self.kernels = Kernels(cache, self.interrupt, LLVM if engine == FUSED else engine)
        self.kernels.module = module
        self.fitting: dict[Any, StructInfo] = {}  # result types of operators by operand types
        self.frames: list[Frame] = []
        self.result: Any = None
        self.done = False
        self.met: set[int] | None = None
        self.rank: Rank | None = None  # its place among machines that run side by side
        self.log: list[Change] = []
        self.position = 0  # number of recorded steps in effect
        self.change: Change | None = None
        self.entry: Check | None = None  # of the inputs, when recording
        self.failed: Failure | None = None  # why the last recorded step had no effect
        self.kept: list[Any] = []  # arrays that packed functions may still write into
        self.output: list[str] = []  # output of R.print
        self.warnings: list[Diagnostic] = self.kernels.remarks
        self.is_mutable = effects(module).mutable  # True if a run can distinguish shared memory from a copy
        self.renewed: dict[Plan, list[int]] = {}  # registers of constants that each frame copies
        self.globals = self._globals()
        self.prologue = tuple([Event("global", name, 0, None, value) for name, value in self.globals.items()])
        self._start(function, args, private)

    def _start(self, function: str, args: Sequence[Value], private: bool) -> None:
        fn = entry(self.module, function, len(args), private)
        self.enter(fn, function, as_parameters(args, fn.params, function), {}, None, None, {})

    def _globals(self) -> Mapping[str, Any]:
        """The values of the functions of the module: closures without captures, and kernels."""
        values = {
            name: Closure(fn, name, {}, {}) if type(fn) is e.Function else Opaque(f"kernel {name}")
            for name, fn in self.module.functions.items()
        }
        return MappingProxyType(values)

    @property
    def frame(self) -> Frame:
        """The innermost frame."""
        return self.frames[-1]

    # -- calls ----------------------------------------------------------------------------------------------------

    def enter(
        self,
        fn: e.Function,
        name: str,
        args: Sequence[Value],
        captured: dict[e.Var, Any],
        into: tuple[Frame, int] | None,
        binding: e.Binding | None,
        dims: Lengths,
    ) -> None:
        """Begin a call: a new frame, whose result goes `into` a register."""
        if len(self.frames) >= DEPTH_LIMIT:
            raise fault(codes.DEPTH, f"{name} was called at a depth of {DEPTH_LIMIT}", binding or fn)
        frame = Frame(fn, name, dims)
        frame.into, frame.made_by = into, binding
        if self.is_mutable and frame.plan.constants:
            self._renew_constants(frame, fn, name)
        for slot, value in zip(frame.plan.params, args, strict=True):
            frame.registers[slot] = value
        for var, slot in frame.plan.captured:
            frame.registers[slot] = captured.get(var)
        start = time.perf_counter() if self.record else 0.0
        check_params(frame, args, self.scope(frame))
        if self.record:
            seconds = time.perf_counter() - start
            call = binding.value if binding is not None else None
            outcome = PROVED if type(call) is e.Call and proved(call) else CHECKED
            self._checked(Check("parameters", name, fn, outcome, seconds, bytes_of(tuple(args)), binding))
        self.frames.append(frame)

    def _renew_constants(self, frame: Frame, fn: e.Function, name: str) -> None:
        """Copy the constants that may be overwritten into the frame."""
        slots = self.renewed.get(frame.plan)
        if slots is None:
            memory = aliases(self.module, name, fn)
            slots = self.renewed[frame.plan] = [n for n, expr in frame.plan.constants if memory.written(expr)]
        for slot in slots:
            frame.registers[slot] = frame.registers[slot].copy()

    def scope(self, frame: Frame) -> Scope:
        """The names visible to StructInfo in a frame."""
        return Scope(frame.value_of, self._relax_function)

    def _relax_function(self, name: str) -> e.Function | None:
        fn = self.module.functions.get(name)
        return fn if type(fn) is e.Function else None

    # -- steps ----------------------------------------------------------------------------------------------------

    def step(self) -> Event:
        """Run until a binding has its value, or a function is entered or returns. Raises Failure if the program traps.

        Raises Cancelled, a Failure, when `interrupt` is set.
        """
        if self.done:
            return Event("done", "", 0, None, self.result)
        self.interrupt.check()
        if not self.record:
            return self._advance()
        if self.position < len(self.log):
            return self._redo()
        return self._advance_recorded()

    def _advance_recorded(self) -> Event:
        frame, depth = self.frames[-1], len(self.frames)
        known_dims, known_output = len(frame.dims), len(self.output)
        change = self.change = Change(_NOTHING, frame, frame.pc, frame.pc)
        self.failed, kernels = None, self.kernels
        compiled, checked, start = kernels.compiling, kernels.checking, time.perf_counter()
        try:
            event = self._advance()
        except Failure as failure:
            self.failed = failure
            self._take_back(change)
            raise
        change.seconds = time.perf_counter() - start - (kernels.compiling - compiled)
        change.checking, change.size = kernels.checking - checked, bytes_of(event.content)
        if len(frame.dims) > known_dims:  # new ones are last
            change.bound = event.dims = tuple(islice(frame.dims.items(), known_dims, None))
        if len(self.output) > known_output:
            change.printed = tuple(self.output[known_output:])
        if len(self.frames) > depth:
            change.entered = self.frames[-1]
            event.dims = tuple(change.entered.dims.items())
        event.checks, event.branches = change.checks, change.branches
        change.event, change.after, change.result = event, frame.pc, self.result
        change.returned = len(self.frames) < depth
        self.log.append(change)
        self.position += 1
        return event

    def attempt(self) -> None:
        """Begin the next step, which raises a Failure before its end. Nothing is recorded, and all is as before."""
        frame, before = self.frames[-1], self.change
        change = self.change = Change(_NOTHING, frame, frame.pc, frame.pc)
        try:
            self._advance()
        finally:
            self._take_back(change)
            self.change = before

    def _take_back(self, change: Change) -> None:
        """Restore program counter, registers and memory."""
        change.frame.pc = change.before
        for frame, slot, old, _ in reversed(change.writes):
            frame.registers[slot] = old
        take_back(change)

    def _redo(self) -> Event:
        change = self.log[self.position]
        for frame, slot, _, new in change.writes:
            frame.registers[slot] = new
        put_back(change)
        change.frame.dims.update(change.bound)
        change.frame.pc = change.after
        self.output.extend(change.printed)
        if change.entered is not None:
            self.frames.append(change.entered)
        if change.returned:
            self.frames.pop()
        self.position += 1
        if not self.frames:
            self.done, self.result = True, change.result
        return change.event

    def undo(self) -> Event | None:
        """Undo the last step; None at the start. Nothing is evaluated again, so side effects happen only once.

        The output of the step disappears, and comes back when the step is redone.
        """
        if self.position == 0:
            return None
        change, self.failed = self.log[self.position - 1], None
        if change.entered is not None:
            self.frames.pop()
        if change.returned:
            self.frames.append(change.frame)
        self._take_back(change)
        for var, _ in change.bound:
            del change.frame.dims[var]
        if change.printed:
            del self.output[-len(change.printed) :]
        self.position -= 1
        self.done = False
        return change.event

    def _advance(self) -> Event:
        while True:
            frame = self.frames[-1]
            instruction = frame.plan.code[frame.pc]
            frame.pc += 1
            if frame.has_ended:
                self._refuse_ended(frame, instruction)
            event = _RULES[instruction.kind](self, frame, instruction)
            if event is not None:
                return event
            value = frame.registers[instruction.target]
            if self.check_annotations and instruction.binding is not None:
                check_annotation(frame, instruction.binding, value)
            if not self.record:
                for slot in instruction.dead:
                    frame.registers[slot] = None
            if instruction.binding is not None:
                return Event("bind", frame.name, len(self.frames), instruction.binding, value)

    def run(self) -> Value:
        """Run to the end, and return the result. Makes no events, so nothing is recorded. Raises Failure."""
        straight = run_bound if self.is_mutable else run_trace
        fused = self.fused and not self.check_annotations
        while self.frames:
            frame = self.frames[-1]
            code = frame.plan.code
            while True:
                if self.interrupt.is_cancelled:
                    self.interrupt.check()
                instruction = code[frame.pc]
                may_be = fused and (self.is_mutable or instruction.known is not None)
                if may_be and straight(self, frame, _RULES):
                    continue
                frame.pc += 1
                if frame.has_ended:
                    self._refuse_ended(frame, instruction)
                if _RULES[instruction.kind](self, frame, instruction) is not None:
                    break  # another function
                if self.check_annotations and instruction.binding is not None:
                    value = frame.registers[instruction.target]
                    check_annotation(frame, instruction.binding, value)
                for slot in instruction.dead:
                    frame.registers[slot] = None
        return self.result

    def _refuse_ended(self, frame: Frame, at: Instruction) -> None:
        for slot in at.args:
            if frame.registers[slot] is ENDED:
                name = next(
                    (var.name for var, register in frame.plan.slots.items() if register == slot), "a value"
                )
                raise self.trap(codes.USED_AFTER_END, f"{name} is used after it was killed", at)

    def _checked(self, check: Check) -> None:
        """Record a check that passed."""
        if self.change is not None:
            self.change.checks += (check,)
        else:
            self.entry = check

    def compute(self, frame: Frame, at: Instruction) -> None:
        """Execute an instruction that only computes a value, into a register of `frame`. Nothing is recorded."""
        change, self.change = self.change, None
        _RULES[at.kind](self, frame, at)
        self.change = change

    def write(self, frame: Frame, slot: int, value: Value) -> None:
        """Put a value into a register."""
        if self.change is not None:
            self.change.writes.append((frame, slot, frame.registers[slot], value))
        frame.registers[slot] = value

    # -- instructions ---------------------------------------------------------------------------------------------

    def _move(self, frame: Frame, at: Instruction) -> None:
        self.write(frame, at.target, frame.registers[at.args[0]])

    def _tuple(self, frame: Frame, at: Instruction) -> None:
        self.write(frame, at.target, tuple([frame.registers[slot] for slot in at.args]))

    def _item(self, frame: Frame, at: Instruction) -> None:
        source = frame.registers[at.args[0]]
        if source is UNKNOWN:
            self.write(frame, at.target, UNKNOWN)
        elif isinstance(source, tuple) and at.node.index < len(source):
            self.write(frame, at.target, source[at.node.index])
        else:
            raise self.trap(codes.CAST_FAILED, f"{describe(source)} has no field {at.node.index}", at)

    def _shape(self, frame: Frame, at: Instruction) -> None:
        self.write(frame, at.target, Shape(shape_value(at.node.values, frame.dims, at.node)))

    def _scalar(self, frame: Frame, at: Instruction) -> None:
        try:
            value = evaluate(at.node.value, frame.dims)
        except Undefined as problem:
            raise self.trap(problem.code, str(problem), at) from None
        if value is None:
            raise self.trap(codes.SHAPE_CHECK, f"{at.node.value} has no value here", at)
        self.write(frame, at.target, value)

    def _jump(self, frame: Frame, at: Instruction) -> None:
        frame.pc = at.jump

    def _branch(self, frame: Frame, at: Instruction) -> None:
        value = frame.registers[at.args[0]]
        if isinstance(value, np.ndarray) and value.ndim:
            raise self.trap(codes.CAST_FAILED, f"the condition is {describe(value)}, not one bool", at)
        if self.change is not None:
            self.change.branches += (bool(value),)
        if not bool(value):
            frame.pc = at.jump

    def _match_cast(self, frame: Frame, at: Instruction) -> None:
        value = frame.registers[at.args[0]]
        dims = dict(frame.dims)
        start = time.perf_counter() if self.record else 0.0
        try:
            match(value, at.node.struct_info, dims, self.scope(frame))
        except Mismatch as problem:
            text = f"{describe(value)} is not {at.node.struct_info}: {problem}"
            name = at.node.value.name if isinstance(at.node.value, e.Var) else "the value"
            notes = explained(frame, problem, name, dims, have=at.node.value.struct_info)
            raise self.trap(problem.code or codes.CAST_FAILED, text, at, notes=notes) from None
        if self.record:
            seconds, have = time.perf_counter() - start, at.node.value.struct_info
            outcome = PROVED if have is not None and always_fits(have, at.node.struct_info) else CHECKED
            self._checked(Check("match_cast", frame.name, at.node, outcome, seconds, bytes_of(value)))
        frame.dims.update(dims)
        self.write(frame, at.target, value)

    def _make_closure(self, frame: Frame, at: Instruction) -> None:
        fn = at.node
        name = at.binding.var.name if at.binding is not None and at.binding.var is not None else "closure"
        values = {var: frame.registers[slot] for var, slot in zip(captured(fn), at.args, strict=True)}
        closure = Closure(fn, name, values, dict(frame.dims))
        if at.binding is not None and at.binding.var in values:
            values[at.binding.var] = closure  # a closure that calls itself
        self.write(frame, at.target, closure)

    def _global(self, frame: Frame, at: Instruction) -> Event | None:
        fn = self.module.functions.get(at.node.op.name)
        args = [frame.registers[slot] for slot in at.args]
        if type(fn) is e.Function:
            if len(args) != len(fn.params):  # calls of a file are checked against the first stage alone
                text = f"{at.node.op.name} takes {len(fn.params)} arguments, {len(args)} given"
                raise self.trap(codes.INPUT_COUNT, text, at)
            return self._call(fn, at.node.op.name, args, {}, frame, at, {})
        if type(fn) is PrimFunc:
            self.write(frame, at.target, call_kernel(self, at, fn, args))
            return None
        raise self.trap(
            codes.UNKNOWN_FUNCTION, f"the module has no function {at.node.op.name!r} that can run", at
        )

    def _closure(self, frame: Frame, at: Instruction) -> Event | None:
        callee, *args = [frame.registers[slot] for slot in at.args]
        return self.call_value(callee, args, frame, at)

    def call_value(self, callee: Value, args: Sequence[Value], frame: Frame, at: Instruction) -> Event | None:
        """Call a closure, a global function or a packed function."""
        if isinstance(callee, Closure):
            if len(args) != len(callee.function.params):
                text = f"{callee.name} takes {len(callee.function.params)} arguments, {len(args)} given"
                raise self.trap(codes.INPUT_COUNT, text, at)
            return self._call(callee.function, callee.name, args, callee.captured, frame, at, callee.dims)
        if isinstance(callee, Lifted):
            return self.call_value(callee.function, [*args, *callee.captured], frame, at)
        if isinstance(callee, e.GlobalVar) and type(self.module.functions.get(callee.name)) is e.Function:
            return self._call(self.module.functions[callee.name], callee.name, args, {}, frame, at, {})  # type: ignore[arg-type]  # checked above
        if isinstance(callee, (e.ExternFunc, PackedFunction)):
            self.write(frame, at.target, self.packed(callee.name, args, at))
            return None
        if callable(callee):
            name = getattr(callee, "__name__", "a packed function")
            self.write(frame, at.target, self._foreign(callee, name, args, at))
            return None
        raise self.trap(codes.CAST_FAILED, f"{describe(callee)} is not a function", at)

    def _call(
        self,
        fn: e.Function,
        name: str,
        args: Sequence[Value],
        captured: dict[e.Var, Any],
        frame: Frame,
        at: Instruction,
        dims: Lengths,
    ) -> Event:
        self.enter(fn, name, args, captured, (frame, at.target), at.binding, dims)
        check = self.change.checks[-1].outcome if self.change is not None else ""
        return Event("enter", name, len(self.frames), at.binding, check=check)

    def _packed(self, frame: Frame, at: Instruction) -> None:
        args = [frame.registers[slot] for slot in at.args]
        self.write(frame, at.target, self.packed(at.node.op.name, args, at))

    def packed(self, name: str, args: Sequence[Value], at: Instruction) -> Value:
        """The result of a packed function. With unknown arguments the result is unknown."""
        from relax_explorer.core.exec import vm_builtins

        kernel = by_symbol(self.module, name)
        if kernel is not None:
            return call_kernel(self, at, kernel, list(args))
        function = packed.find(name, args)
        builtin = vm_builtins.TABLE.get(name)
        if function is None and builtin is not None:
            return overwriting(self, args, lambda: guarded(self, at, lambda: builtin(self, at, list(args))))
        if function is None:
            raise unknown(self, name, at)
        return self._foreign(function, name, args, at)

    def _foreign(
        self, function: Callable[..., Any], name: str, args: Sequence[Value], at: Instruction
    ) -> Value:
        def work() -> Value:
            if packed.is_operator(function):
                return guarded(self, at, lambda: function(*args))
            return called(self, at, name, function, handed(self, args, at))

        result = overwriting(self, args, work)
        if isinstance(result, np.generic):  # numpy returns scalars for tensors of rank 0
            result = np.asarray(result)
        odd = other_than_stated(self, at, result)
        if odd:
            self.warn(codes.OTHER_THAN_STATED, f"{name} returned {odd}", at)
        is_plain = isinstance(result, (int, float, str)) and not packed.is_operator(function)
        if is_plain and not any(item.code is codes.PLAIN_RESULT for item in self.warnings):
            text = f"{name} returned {result!r}, a plain Python {type(result).__name__}; it is treated as a scalar or string"
            self.warn(codes.PLAIN_RESULT, text, at)
        return () if result is None else result

    def _op(self, frame: Frame, at: Instruction) -> Event | None:
        args = [frame.registers[slot] for slot in at.args]
        if at.known is not None and run_again(self, frame, at, args):
            return None
        name = at.node.op.name
        builtin = builtins.TABLE.get(name)
        if builtin is not None:
            return builtin(self, frame, at, args)  # type: ignore[no-any-return]  # the table has the type
        op = find(name)
        if op is None or op.evaluate is None:
            reason = op.no_evaluate if op is not None else "it is not known"
            raise self.trap(
                codes.NO_EVALUATION, f"{name} can't be run here: {reason or 'it has no evaluation'}", at
            )
        run_operator(self, frame, at, op, args)
        return None

    def _return(self, frame: Frame, at: Instruction) -> Event:
        value = frame.registers[at.args[0]]
        self._check_result(frame, value)
        self.frames.pop()
        if frame.into is None:
            self.done, self.result = True, value
            return Event("done", frame.name, 0, None, value)
        caller, slot = frame.into
        self.write(caller, slot, value)
        return Event("return", frame.name, len(self.frames), frame.made_by, value)

    def _check_result(self, frame: Frame, value: Value) -> None:
        fn = frame.function
        info, derived = fn.ret_struct_info, fn.body.struct_info
        proven = derived is not None and info is not None and always_fits(derived, info)
        start = time.perf_counter() if self.record else 0.0
        if not proven or self.check_annotations:
            check_result(frame, value, self.scope(frame))
        if self.record and info is not None:
            seconds, outcome = time.perf_counter() - start, PROVED if proven else CHECKED
            self._checked(Check("result", frame.name, fn, outcome, seconds, bytes_of(value), frame.made_by))

    # -- problems -------------------------------------------------------------------------------------------------

    def trap(
        self, code: Code, text: str, at: Instruction, hint: str = "", notes: tuple[str, ...] = ()
    ) -> Failure:
        """A failure of the program at this instruction."""
        place = at.node if getattr(at.node, "span", None) is not None else at.binding or at.node
        name = at.binding.var.name if at.binding is not None and at.binding.var is not None else ""
        notes = (*notes, *[f"in {frame.name}" for frame in reversed(self.frames[-8:])])
        return Failure(
            Diagnostic(
                code,
                f"{name + ': ' if name.strip('_0123456789') else ''}{text}",
                (Label(place, "", True),),
                notes,
                hint or code.fix,
            )
        )

    def warn(self, code: Code, text: str, at: Instruction) -> None:
        """Add a warning at this instruction, once."""
        label = Label(at.binding or at.node, "", True)
        known = [(item.code, item.labels[0].place) for item in self.warnings]
        if (code, label.place) not in known:
            self.warnings.append(Diagnostic(code, text, (label,), help=code.fix))


_RULES: dict[str, Callable[[Machine, Frame, Instruction], Event | None]] = {
    "move": Machine._move,
    "tuple": Machine._tuple,
    "item": Machine._item,
    "shape": Machine._shape,
    "scalar": Machine._scalar,
    "jump": Machine._jump,
    "branch": Machine._branch,
    "match_cast": Machine._match_cast,
    "make_closure": Machine._make_closure,
    "extern": look_up,
    "global": Machine._global,
    "closure": Machine._closure,
    "packed": Machine._packed,
    "op": Machine._op,
    "return": Machine._return,
}
