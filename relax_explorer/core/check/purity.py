"""Side effects: which calls have them, and where they may stand.

A function without a declared purity is as pure as its body (errata E-34). TVM assumes that it is pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Label, Severity
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.pauses import with_pauses
from relax_explorer.core.ir.walk import contents, operands, sequences
from relax_explorer.core.ops import find
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.dialects import DIALECTS, NEW

FORCE_PURE = ("relax.force_pure", "force_pure")


def is_impure(expr: e.Expr, undeclared: bool = True, by_spec: bool = False) -> bool:
    """True if evaluating this expression, in normal form, may have a side effect beyond failing.

    With `undeclared`, an unknown operator counts as impure. It has its own warning, so errors of purity ignore it.
    With `by_spec`, operators count that are impure only in the specification (errata E-33).
    """
    if type(expr) is not e.Call:
        return False
    op = expr.op
    if type(op) is e.OpRef:
        declared = find(op.name)
        if declared is None:
            return undeclared
        return not declared.pure or (by_spec and not declared.pure_in_spec)
    if type(op) is e.ExternFunc:
        return expr.attrs.get("pure") is not True
    info = op.struct_info
    return isinstance(info, s.FuncStructInfo) and not info.pure


def has_effect(value: e.Expr) -> bool:
    """True if evaluating the value of a binding may have a side effect. An If has the effects of its branches."""
    if type(value) is not e.If:
        return is_impure(value)
    stack: list[e.Expr] = [value]
    while stack:
        expr = stack.pop()
        if is_impure(expr):
            return True
        if type(expr) is e.If:
            stack.extend(b.value for seq in sequences(expr) for block in seq.blocks for b in block.bindings)
    return False


def forced(fn: e.Function) -> bool:
    """True if the function is forced to be pure, whatever its body does."""
    return any(fn.attrs.get(name) for name in FORCE_PURE)


def stated(fn: e.Function) -> bool | None:
    """The declared purity of a function, by `pure=` or by its attribute; None if it declares none."""
    if fn.pure is not None:
        return fn.pure
    attribute = fn.attrs.get("pure")
    return None if attribute is None else bool(attribute)


def is_pure(fn: e.Function, has_effect: bool) -> bool:
    """True if calls of the function are pure: by its declaration, or else by its body."""
    if forced(fn):
        return True
    declared = stated(fn)
    return declared if declared is not None else not has_effect


def impure_calls(fn: e.Function) -> Iterator[tuple[e.Call, e.Binding, bool]]:
    """The calls in a function that may have an effect, each with its binding, and True if it is in a dataflow block.

    Branches are included. Nested functions are not: they do nothing until they are called.
    """
    stack: list[tuple[e.BindingBlock, bool]] = [(block, False) for block in reversed(fn.body.blocks)]
    pure: dict[e.Expr, bool] = {}
    while stack:
        block, within = stack.pop()
        inside = within or type(block) is e.DataflowBlock
        for binding in with_pauses(block.bindings):
            value = binding.value
            if type(value) is e.Function or type(value) in e.LEAVES:
                continue
            if type(value) is e.Call and (
                (value.settled is not None and pure.get(value.op)) or _is_plain(value, pure)
            ):
                continue  # most often; what is settled has leaves as operands
            for call in _impure_inside(binding.value):
                yield call, binding, inside
            for seq in sequences(binding.value):
                stack.extend((nested, inside) for nested in reversed(seq.blocks))


def _is_plain(call: e.Call, pure: dict[e.Expr, bool]) -> bool:
    """True for a call of a pure operator over leaves, as most values are. `pure` has the operators met so far."""
    op, args = call.op, call.args
    if type(op) is not e.OpRef:
        return False
    if op not in pure:
        pure[op] = not is_impure(call, undeclared=False, by_spec=True)
    if len(args) == 2 and type(args[1]) is e.Tuple:
        args = (args[0], *args[1].fields)  # of a kernel
    return pure[op] and e.LEAVES.issuperset(map(type, args))


def _impure_inside(value: e.Expr) -> Iterator[e.Call]:
    stack = [value]
    while stack:
        expr = stack.pop()
        if is_impure(expr, undeclared=False, by_spec=True):
            assert isinstance(expr, e.Call)  # only calls are impure
            yield expr
        parts = expr.args if type(expr) is e.Call and type(expr.op) is e.OpRef else operands(expr)
        stack.extend([part for part in parts if type(part) not in e.LEAVES])


def violations(fn: e.Function, assume_pure: bool) -> Iterator[Diagnostic]:
    """Impure calls in dataflow blocks and in functions declared pure; in `fn` and its nested functions.

    With `assume_pure`, a function without a declared purity counts as pure, as in TVM.
    """
    stack = [fn]
    while stack:
        current = stack.pop()
        yield from _of_function(current, assume_pure)
        stack.extend(_inner(current))


def has_marks(module: IRModule) -> bool:
    """True if functions of the module's dialect say whether they are pure. Texts before mid-2023 do not."""
    return DIALECTS.get(module.dialect, NEW).purity


def without_marks(problems: Iterator[Diagnostic]) -> Iterator[Diagnostic]:
    """What remains of the problems of a function in a dialect without purity: warnings of effects in dataflow blocks."""
    for problem in problems:
        if problem.code is codes.IMPURE_IN_DATAFLOW:
            yield replace(problem, severity=Severity.WARNING)


def _of_function(fn: e.Function, assume_pure: bool) -> Iterator[Diagnostic]:
    calls, declared = list(impure_calls(fn)), stated(fn)
    if forced(fn):
        if stated(fn) is False:
            yield _problem(codes.FORCE_PURE_MIXED, "both pure=False and relax.force_pure are set", fn)
        elif calls:
            yield _problem(
                codes.FORCED_PURE, "the function is forced to be pure, but may have a side effect", fn
            )
        # Even in a function forced to be pure, a dataflow block must have no effects.
        calls = [entry for entry in calls if entry[2]]
    for call, binding, inside in calls:
        place = call if call.span else binding
        code = codes.IMPURE_IN_DATAFLOW if inside else codes.IMPURE_IN_PURE
        problem = _problem(code, "this call may have a side effect", place)
        if inside or declared is True:
            yield problem if is_impure(call) else replace(problem, spec_only=True)
        elif declared is None and assume_pure and is_impure(call):
            yield problem
    if declared is None and not forced(fn) and not assume_pure and calls:
        first = calls[0][0]
        text = "the function may have a side effect, but does not declare it"
        label = Label(first, "this call may have one") if first.span else None
        yield _problem(codes.INFERRED_IMPURE, text, fn, *([label] if label else []))


def _inner(fn: e.Function) -> list[e.Function]:
    """The functions nested in a function, but not in each other."""
    if e.Function not in contents(fn).values:
        return []
    functions = []
    blocks = list(fn.body.blocks)
    while blocks:
        for binding in blocks.pop().bindings:
            if type(binding.value) is e.Function:
                functions.append(binding.value)
            else:
                blocks.extend(block for seq in sequences(binding.value) for block in seq.blocks)
    return functions


def _problem(code: Code, text: str, place: object, *labels: Label) -> Diagnostic:
    return Diagnostic(code, text, (Label(place, "", True), *labels), help=code.fix)
