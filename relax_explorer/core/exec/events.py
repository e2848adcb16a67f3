"""The events of a run, the recorded changes, and the checks of lengths and types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec.frame import Frame, recalled
from relax_explorer.core.exec.match import Mismatch, Scope, match, match_all
from relax_explorer.core.exec.shape_origins import explained
from relax_explorer.core.exec.values import Lengths, Types, Value, describe, fault, types_of
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.struct_info import OBJECT, StructInfo
from relax_explorer.core.ir.walk import info_holders
from relax_explorer.core.program.module import IRModule

# -- checks ----------------------------------------------------------------------------------------------------------
# The checks of values against StructInfo during a run: their records, and their failures with the dimensions that led
# there.


PROVED, CHECKED = "proved", "checked"


@dataclass(frozen=True, slots=True)
class Check:
    """A check that passed: of the `parameters` or the `result` of the function `place`, or of a `match_cast`, a binding.

    `outcome` is proved if the program alone shows that the values fit. The lengths were compared anyway, in `seconds`. `size`
    are the bytes of the values. `site` is the call that enters the function; None if it was called from outside.
    """

    kind: str
    function: str
    place: e.Function | e.MatchCast
    outcome: str
    seconds: float
    size: int = 0
    site: e.Binding | None = None


def entry(module: IRModule, function: str, count: int, private: bool) -> e.Function:
    """The function to run on `count` inputs. Raises Failure if it can't be run from outside."""
    fn = module.functions.get(function)
    if type(fn) is not e.Function:
        names = ", ".join(module.relax_functions) or "none"
        text = f"the module has no Relax function {function!r}"
        raise fault(codes.UNKNOWN_FUNCTION, text, hint=f"it has {names}")
    if fn.is_private and not private:
        text = f"{function} is private: only functions of the module call it"
        raise fault(codes.PRIVATE, text, fn)
    if count != len(fn.params):
        text = f"{function} takes {len(fn.params)} inputs ({', '.join(q.name for q in fn.params)}), {count} given"
        raise fault(codes.INPUT_COUNT, text, fn)
    return fn


# What passed its checks: the types of arguments and the shape variables that they bind, of each function; and the types of results
# with the shape variables around them.
_PASSED: PerNode[dict[Types, Lengths]] = PerNode()
_RESULTS: PerNode[set[Types]] = PerNode()
_MOST = 64  # combinations of types


def check_params(frame: Frame, args: Sequence[Value], scope: Scope) -> None:
    """Compare the arguments of a new frame with its parameters, and bind its shape variables. Raises Failure."""
    types = None if frame.dims or frame.plan.captured else types_of(args)
    if types is None:
        _check_params(frame, args, scope)
        return
    passed = _PASSED.of(frame.function, lambda fn: {})
    dims = passed.get(types)
    if dims is not None:
        frame.dims.update(dims)
        return
    _check_params(frame, args, scope)
    if len(passed) >= _MOST:
        passed.clear()
    passed[types] = dict(frame.dims)


def _check_params(frame: Frame, args: Sequence[Value], scope: Scope) -> None:
    fn, name = frame.function, frame.name
    infos = [param.struct_info if param.struct_info is not None else OBJECT for param in fn.params]
    try:
        match_all(args, infos, frame.dims, scope)
    except Mismatch as problem:
        param, value = fn.params[problem.position], args[problem.position]
        text = f"{param.name} of {name} is {describe(value)}, not {param.struct_info}: {problem}"
        raise Failure(
            Diagnostic(
                problem.code or codes.WRONG_INPUT,
                text,
                (Label(param, "", True), *_call_label(frame)),
                explained(frame, problem, param.name, param=problem.position),
                codes.WRONG_INPUT.fix,
            )
        ) from None


def _call_label(frame: Frame) -> tuple[Label, ...]:
    return () if frame.made_by is None else (Label(frame.made_by, "called here"),)


def check_result(frame: Frame, value: Value, scope: Scope) -> None:
    """Compare the result of a frame with the StructInfo of its function. Raises Failure."""
    info = frame.function.ret_struct_info
    if info is None:
        return
    types = None if info_holders(info) else types_of((value,))
    if types is None:
        _check_result(frame, value, info, scope)
        return
    passed, key = _RESULTS.of(frame.function, lambda fn: set()), (types, *frame.dims.items())
    if key not in passed:
        _check_result(frame, value, info, scope)
        if len(passed) >= _MOST:
            passed.clear()
        passed.add(key)


def _check_result(frame: Frame, value: Value, info: StructInfo, scope: Scope) -> None:
    dims = dict(frame.dims)
    try:
        match(value, info, dims, scope)
    except Mismatch as problem:
        text = f"{frame.name} returns {describe(value)}, not {info}: {problem}"
        raise Failure(
            Diagnostic(
                problem.code or codes.CAST_FAILED,
                text,
                (Label(frame.function, "", True),),
                explained(frame, problem, "the result", dims),
                codes.CAST_FAILED.fix,
            )
        ) from None


def check_annotation(frame: Frame, binding: e.Binding, value: Value) -> None:
    """Compare a value with the annotation of its binding. Raises Failure."""
    if binding.annotation is None:
        return
    dims = dict(frame.dims)
    try:
        match(value, binding.annotation, dims)
    except Mismatch as problem:
        name = binding.var.name if binding.var is not None else "the value"
        text = f"{name} is {describe(value)}, its annotation says {binding.annotation}: {problem}"
        label = Label(binding, "", True)
        notes = explained(frame, problem, name, dims)
        raise Failure(Diagnostic(codes.CAST_FAILED, text, (label,), notes, codes.CAST_FAILED.fix)) from None


# -- events ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Event:
    """One step: `kind` is bind (a binding got its value), enter, return, done or trap.

    `check` tells how the arguments of an entered function were checked: `proved` before the run, or `checked` at this call.
    """

    kind: str
    function: str
    depth: int
    binding: e.Binding | None = None
    content: Value = None  # the value, or what stands for it after it was evicted
    dims: tuple[tuple[p.PrimVar, int], ...] = ()  # shape variables bound by this step
    check: str = ""
    checks: tuple[Check, ...] = ()  # that passed in this step
    branches: tuple[bool, ...] = ()  # taken in this step: True for the then-branch of an If

    @property
    def value(self) -> Value:
        """The value that the step bound or returned. An evicted one is computed again."""
        return recalled(self.content)

    def __str__(self) -> str:
        name = self.binding.var.name if self.binding is not None and self.binding.var is not None else ""
        return f"{self.kind} {self.function}{' ' + name if name else ''}"


@dataclass(slots=True, eq=False)
class Change:
    """The effects of one step on the machine. It can be undone and redone without evaluation.

    A step moves the innermost frame. It may also enter one function, or return from the innermost one. So its record does not
    grow with the depth of the calls.
    """

    event: Event
    frame: Frame  # the innermost one before the step
    before: int  # its program counter
    after: int
    entered: Frame | None = None
    returned: bool = False
    writes: list[tuple[Frame, int, Value, Value]] = field(
        default_factory=list
    )  # register, old value, new value
    bound: tuple[tuple[p.PrimVar, int], ...] = ()  # shape variables of the frame
    printed: tuple[str, ...] = ()
    result: Value = None
    checks: tuple[Check, ...] = ()
    branches: tuple[bool, ...] = ()
    memory: tuple[tuple[Value, Value, Value], ...] = ()  # array, its contents before and after
    states: tuple[tuple[Value, Value, Value], ...] = ()  # object, its state before and after
    seconds: float = 0.0  # of the step, without compiling
    checking: float = 0.0  # the seconds in which an operator or a kernel compared the lengths of its operands
    size: int = 0  # the bytes of the value that it bound
