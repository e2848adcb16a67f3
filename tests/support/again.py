"""Runs the calls of a case again where state would show: later, in another module, in branches, after failures and undone steps.

Every way to run a call gives the value or the problem that the first run gave. Ways that do not apply are counted with a reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.check.compatible import defined_dims
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.values import Shape
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from tests.support import packed_functions

APPLIED: Counter[str] = Counter()
"""How often each way was tried, and how often it did not apply: `way` and `way: reason`."""

MOST_STEPS = 400
FEW = 3  # calls of a case
NAME = "once_more"
Outcome = tuple[str, Any]


class NotApplicable(Exception):
    """A way that does not apply to a call, with the reason."""


class Calls:
    """Records the calls of `run`, `machine`, `trap` and `debugger` that a case makes, with copies of their arguments."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.made: list[tuple[str, tuple[Any, ...]]] = []
        for name in ("run", "machine", "trap", "debugger"):
            names[name] = self._recorded(name, names[name])
        for name in _READERS:
            names[name] = _twice(name, names[name])

    def _recorded(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            function = args[0] if name == "run" else options.get("function", "main")
            values = args[1:] if name == "run" else args
            if len(self.made) < FEW and _are_plain(values):
                self.made.append((function, deepcopy(values)))
            return original(*args, **options)

        return call


def _twice(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """A function about a text that is asked a second time, behind a question that fails. Holes have new numbers then."""

    def call(*args: Any, **options: Any) -> Any:
        first = original(*args, **options)
        if name in ("contract", "relay"):
            original(_NO_PROGRAM)
        second = original(*args, **options)
        assert _shown(first) == _shown(second), (name, args)
        APPLIED[f"{name} asked again"] += 1
        return first

    return call


def _shown(found: Any) -> str:
    told = vars(found) if isinstance(found, SimpleNamespace) else {"": found}
    return re.sub(r"\?\w*", "?", str([(name, told[name]) for name in ("", *_TOLD) if name in told]))


_READERS = ("contract", "relay", "relate", "entail", "decided")
_TOLD = ("types", "asserted", "left", "codes", "messages", "spans", "functions", "main", "status")
_NO_PROGRAM = "let a : Tensor([n, 3], int8) = ..; let b : Tensor([n, ("


def hold_calls(text: str, module: IRModule, calls: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
    """Run the calls of a program again in every way."""
    for function, args in calls:
        fn = module.functions.get(function)
        if type(fn) is not e.Function or fn.is_private:
            continue
        try:
            normal = rxe.normalize(module)
        except Failure:
            continue
        expected = _outcome(partial(_run, normal, function, args))
        for way in WAYS:
            name = way.__name__.strip("_")
            try:
                found = way(text, normal, function, args, expected)
            except NotApplicable as reason:
                APPLIED[f"{name}: {reason}"] += 1
                continue
            APPLIED[name] += 1
            for one in found:
                assert _same(one, expected), (name, function, args, one, expected)


def _run(module: IRModule, function: str, args: Sequence[Any]) -> Any:
    packed_functions.LOG.clear()
    return rxe.run(module, function, list(deepcopy(args)))


def _outcome(work: Callable[[], Any]) -> Outcome:
    try:
        return "value", work()
    except Failure as failure:
        return "failure", failure.diagnostics[0].code.id


def _same(one: Outcome, other: Outcome) -> bool:
    return one[0] == other[0] and _equal(one[1], other[1])


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        if not isinstance(other, np.ndarray) or one.shape != other.shape or one.dtype != other.dtype:
            return False
        return one.tobytes() == other.tobytes()
    if isinstance(one, tuple | list):
        return type(one) is type(other) and len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, str | int | float | np.generic):
        return type(one) is type(other) and (one == other or (one != one and other != other))
    return type(one) is type(other)


def _are_plain(values: Sequence[Any]) -> bool:
    """True if values can be copied: tensors, numbers, texts, shapes, and tuples of them."""
    return all(
        _are_plain(value)
        if type(value) is tuple
        else isinstance(value, np.ndarray | Shape | str | int | float)
        for value in values
    )


# -- ways to run a call ---------------------------------------------------------------------------------------------


def _in_a_second_module(
    text: str, module: IRModule, function: str, args: Any, expected: Outcome
) -> list[Outcome]:
    other = rxe.normalize(rxe.parse(text))
    return [_outcome(partial(_run, one, function, args)) for one in (other, module)]


def _after_a_failing_call(
    text: str, module: IRModule, function: str, args: Any, expected: Outcome
) -> list[Outcome]:
    for wrong in (_map(args, lambda x: x[None], lambda n: float(n)), args[:-1]):
        if _outcome(partial(_run, module, function, wrong))[0] == "failure":
            return [_outcome(lambda: _run(module, function, args))]
    raise NotApplicable("it takes every argument")


def _after_stepping_back(
    text: str, module: IRModule, function: str, args: Any, expected: Outcome
) -> list[Outcome]:
    packed_functions.LOG.clear()
    try:
        debugger = Debugger(module, function, list(deepcopy(args)))
    except Failure as failure:
        return [("failure", failure.diagnostics[0].code.id)]
    first, trail = _to_end(debugger)
    while debugger.position:
        debugger.back()
    second, again = _to_end(debugger)
    assert trail == again, (trail, again)
    return [first, second]


def _to_end(debugger: Debugger) -> tuple[Outcome, list[Any]]:
    """The end of a run, and what was known after each step: the function, its lengths, and those that it captured."""
    trail: list[Any] = []
    while not debugger.done:
        if debugger.position > MOST_STEPS:
            raise NotApplicable("many steps")
        try:
            debugger.step()
        except Failure as failure:
            return ("failure", failure.diagnostics[0].code.id), trail
        frame = debugger.frame
        trail.append((frame.name, sorted((str(dim), n) for dim, n in frame.dims.items())))
    return ("value", debugger.result), trail


def _as_second_call(
    text: str, module: IRModule, function: str, args: Any, expected: Outcome
) -> list[Outcome]:
    return _behind(module, module, function, args)


def _inlined_as_second_call(
    text: str, module: IRModule, function: str, args: Any, expected: Outcome
) -> list[Outcome]:
    return _behind(module, _private(module, function), function, args, "InlinePrivateFunctions")


def _private(module: IRModule, function: str) -> IRModule:
    fn = module.relax_functions[function]
    attrs = Attrs({name: value for name, value in fn.attrs.items() if name != "global_symbol"})
    return module.having({**module.functions, function: replace(fn, attrs=attrs)})


def _behind(module: IRModule, called: IRModule, function: str, args: Any, name: str = "") -> list[Outcome]:
    """The second of two calls in one function of `called` after a pass; the first call has other lengths, if they fit."""
    if len(args) != len(module.relax_functions[function].params):
        raise NotApplicable("the call has another number of arguments")
    others = _fitting(module, function, args)
    params, again = _params(module, function, "first"), _params(module, function, "second")
    first, second = e.Var("a", s.OBJECT), e.Var("b", s.OBJECT)
    call = e.GlobalVar(function)
    made = [
        e.VarBinding(first, e.Call(call, params)),
        e.VarBinding(second, e.Call(call, again)),
    ]
    result = e.Tuple((first, second))
    twice = _with(called, (*params, *again), made, result)
    twice = rxe.apply_pass(twice, name) if name else twice
    found = _outcome(lambda: _run(twice, NAME, (*deepcopy(others), *args)))
    if name and found == ("failure", "RX0503"):  # the match_cast that checks an argument instead of the call
        return (
            [("failure", "RX0501")]
            if _outcome(lambda: _run(module, function, args))[1] == "RX0501"
            else [found]
        )
    return [(found[0], found[1][1] if found[0] == "value" else found[1])]


def _fitting(module: IRModule, function: str, args: Any) -> Any:
    """Arguments of other lengths with which a function returns; the same ones if there are none."""
    ways = (
        lambda x: np.concatenate((x, x)) if x.ndim else x,
        lambda x: np.concatenate((x, x), -1) if x.ndim else x,
        lambda x: np.ones([length + 1 for length in x.shape], x.dtype),
    )
    for way in ways:
        others = _map(args, way, lambda n: n)
        if not _equal(others, args) and _outcome(partial(_run, module, function, others))[0] == "value":
            return others
    if _outcome(lambda: _run(module, function, args))[0] == "value":
        APPLIED["second call with the same lengths"] += 1
        return args
    raise NotApplicable("the function never returns")


def _in_sibling_branches(
    text: str, module: IRModule, function: str, args: Any, expected: Outcome
) -> list[Outcome]:
    if len(args) != len(module.relax_functions[function].params):
        raise NotApplicable("the call has another number of arguments")
    params = _params(module, function, "arg")
    condition = e.Var("condition", s.TensorStructInfo((), dtype("bool"), 0))
    results = [e.Var(name, s.OBJECT) for name in ("yes", "no", "chosen")]
    call = e.GlobalVar(function)
    yes, no = [
        e.SeqExpr((e.BindingBlock((e.VarBinding(var, e.Call(call, params)),)),), var) for var in results[:2]
    ]
    made = [e.VarBinding(results[2], e.If(condition, yes, no))]
    module = _with(module, (condition, *params), made, results[2])
    return [_outcome(partial(_run, module, NAME, (np.array(c), *args))) for c in (True, False, True)]


WAYS = (
    _in_a_second_module,
    _after_a_failing_call,
    _after_stepping_back,
    _as_second_call,
    _inlined_as_second_call,
    _in_sibling_branches,
)


def _map(value: Any, on_array: Callable[[Any], Any], on_number: Callable[[Any], Any]) -> Any:
    if isinstance(value, np.ndarray):
        return on_array(value)
    if type(value) is tuple:
        return tuple([_map(part, on_array, on_number) for part in value])
    return on_number(value) if type(value) in (int, float) else value


def _params(module: IRModule, function: str, name: str) -> tuple[e.Var, ...]:
    """Parameters like those of a function, without lengths: a call checks them."""
    params = module.relax_functions[function].params
    return tuple(
        [e.Var(f"{name}_{number}", _vague(param.struct_info)) for number, param in enumerate(params)]
    )


def _vague(info: s.StructInfo | None) -> s.StructInfo:
    if isinstance(info, s.TensorStructInfo):
        return s.TensorStructInfo(None, info.dtype, info.ndim, info.vdevice)
    if isinstance(info, s.ShapeStructInfo):
        return s.ShapeStructInfo(None, info.ndim)
    if isinstance(info, s.PrimStructInfo):
        return s.PrimStructInfo(info.dtype)
    if isinstance(info, s.TupleStructInfo):
        return s.TupleStructInfo(tuple(map(_vague, info.fields)))
    if isinstance(info, s.FuncStructInfo):
        raise NotApplicable("a parameter is a function")
    return s.OBJECT


def _with(module: IRModule, params: tuple[e.Var, ...], made: list[e.VarBinding], result: e.Expr) -> IRModule:
    """The module with the function `once_more`."""
    body = e.SeqExpr((e.BindingBlock(tuple(made)),), result)
    fn = e.Function(params, body, None, False, Attrs({"global_symbol": NAME}))
    normal: IRModule = rxe.normalize(module.having({**module.functions, NAME: fn}))
    return normal


# -- ways to check a program ----------------------------------------------------------------------------------------


def hold_checks(text: str, module: IRModule, problems: Sequence[Diagnostic]) -> None:
    """Check a program again, with its functions in both branches of an If, and with a reader in the other branch."""
    found = rxe.check(module)
    other = rxe.check(rxe.parse(text))
    assert _said(found) == _said(other) == _said(rxe.check(module)), "the second module"
    APPLIED["checked again"] += 1
    if any(problem.is_error for problem in problems):
        return
    twice = _changed(module, lambda fn: _if(fn, _renewed(fn)))
    wrong = [problem for problem in rxe.check(twice) if problem.is_error]
    assert not wrong, wrong
    APPLIED["checked in sibling branches"] += 1
    for fn in module.relax_functions.values():
        _hold_apart(module, fn)


def _said(problems: Sequence[Diagnostic]) -> list[tuple[str, str, int]]:
    return [(item.code.id, str(item.level), item.span.line if item.span else 0) for item in problems]


def _changed(module: IRModule, change: Callable[[e.Function], e.Function]) -> IRModule:
    functions = {name: change(fn) for name, fn in module.relax_functions.items()}
    return module.having({**module.functions, **functions})


def _if(fn: e.Function, other: e.SeqExpr) -> e.Function:
    """The function with its body in one branch of an If and another sequence in the other one."""
    var = e.Var("either", None)
    condition = e.Constant(np.array(True), s.TensorStructInfo((), dtype("bool"), 0))
    block = e.BindingBlock((e.VarBinding(var, e.If(condition, fn.body, other)),))
    return replace(fn, body=e.SeqExpr((block,), var))


def _hold_apart(module: IRModule, fn: e.Function) -> None:
    """What one branch binds is unknown in the other: a variable, and a length of a match_cast."""
    made = [b for block in fn.body.blocks for b in block.bindings if type(block) is e.BindingBlock]
    variables = [b.var for b in made if type(b.var) is e.Var]
    casts = [b.struct_info for b in made if type(b) is e.MatchCast]
    params = {dim for param in fn.params for dim in _dims(param.struct_info)}
    dims = [dim for info in casts for dim in _dims(info) if dim not in params]
    readers: list[tuple[str, e.Expr]] = [("a variable", var) for var in variables[:1]]
    readers += [("a length", e.ShapeExpr((dim,))) for dim in dims[:1]]
    for what, reader in readers:
        name = next(name for name, one in module.functions.items() if one is fn)
        apart = module.having({**module.functions, name: _if(fn, e.SeqExpr((), reader))})
        assert any(problem.is_error for problem in rxe.check(apart)), (what, reader)
        APPLIED[f"{what} of the sibling branch is unknown"] += 1


def _dims(info: s.StructInfo | None) -> list[p.PrimVar]:
    return [] if info is None else list(defined_dims(info))


def _renewed(fn: e.Function) -> e.SeqExpr:
    """A copy of the body with variables and lengths of its own."""
    params = {dim for param in fn.params for dim in _dims(param.struct_info)}
    casts = [b.struct_info for b in bindings(fn) if type(b) is e.MatchCast]
    own = {dim for info in casts for dim in _dims(info)} - params
    return _Renewed(dims={dim: p.PrimVar(dim.name, dim.dtype) for dim in own}).sequence(fn.body)


class _Renewed(Substitution):
    def _define(self, var: e.Var) -> e.Var:
        new = e.var_like(var, self.info(var.struct_info))
        self.variables[var] = new
        return new
