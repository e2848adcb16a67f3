"""What is wrong with calls of PrimFuncs, and in PrimFuncs themselves: arguments, lengths without a source."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from relax_explorer.core.arith.multiples import bind_multiples, multiple
from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.check.arguments import depends_on_missing, requirement
from relax_explorer.core.check.call_graph import Callees
from relax_explorer.core.check.claimed_phase import claims_lowered
from relax_explorer.core.check.compatible import (
    Conversion,
    conversion,
    counterexample,
    match_dims,
    typed_alike,
)
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.codes import tir as tir_codes
from relax_explorer.core.codes import well_formedness
from relax_explorer.core.diagnostics import Code, Diagnostic, Label, Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.fold import DimMap
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import bindings, contents, info_vars, substitute_info
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import Phase
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import Buffer, PrimFunc
from relax_explorer.core.tir.traverse import has_effect


@dataclass(frozen=True, slots=True)
class _Actual:
    """The actual value of one parameter of the PrimFunc: an argument, a new output, or a number of tir_vars."""

    what: str
    info: s.StructInfo
    place: e.Expr | None = None
    is_output: bool = False


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A call in the function `caller`; `dims` and `passed_dims` are as `_dims` returns them."""

    report: Report
    call: e.Call
    caller: str
    dims: DimMap
    passed_dims: DimMap


def check(
    report: Report,
    call: e.Call,
    infos: Sequence[s.StructInfo | None],
    poisoned: Collection[e.Expr],
    definitions: Mapping[e.Var, e.Expr],
    caller: str,
) -> bool:
    """Report arguments that do not fit the PrimFunc. True if the result can be inferred. `infos` belong to the operands."""
    callee = infos[0]
    if not isinstance(callee, s.FuncStructInfo) or callee.params is None:
        return True
    returns = isinstance(callee.ret, s.PrimStructInfo)
    if not returns and (callee.pure or callee.ret is not s.VOID):
        text = f"func is {_name(call)}, a Relax function; a PrimFunc of the module is needed"
        label = Label(call.args[0], f"this is {callee}")
        fix = f"call it directly: {_name(call)}(…)"
        report.say(codes.NOT_CALLABLE, _with_operator(call, text), call, help=fix, labels=(label,))
        return False
    if len(infos) > 2 and isinstance(infos[2], s.ShapeStructInfo) and infos[2].ndim < 0:
        return True  # the number of tir_vars is unknown
    actuals = _actuals(call, infos, callee.params)
    if len(actuals) != len(callee.params):
        _say_count(report, call, actuals, len(callee.params))
        return False
    at, good = _Comparison(report, call, caller, *_dims(callee.params, actuals)), True
    for number, (want, have) in enumerate(zip(callee.params, actuals, strict=True), 1):
        if have.info is want or have.place in poisoned:
            continue
        if have.place is not None and depends_on_missing(have.place, definitions):
            continue
        good = _one(at, number, want, have) and good
    return good


def _dims(params: Sequence[s.StructInfo], actuals: Sequence[_Actual]) -> tuple[DimMap, DimMap]:
    """The values of the PrimFunc's shape variables, from all parameters, and from the passed tensors only."""
    dims: DimMap = {}
    passed_dims: DimMap = {}
    for outputs in (False, True):  # arguments first: outputs are compared with them
        for want, have in zip(params, actuals, strict=True):
            if have.is_output is outputs:
                match_dims(want, have.info, dims)
                if not outputs and isinstance(want, s.TensorStructInfo):
                    match_dims(want, have.info, passed_dims)
    given = [(want, have) for want, have in zip(params, actuals, strict=True) if not have.is_output]
    for pairs in (given, zip(params, actuals, strict=True)):
        bind_multiples(_pairs(pairs), dims)
    bind_multiples(_pairs((q, have) for q, have in given if isinstance(q, s.TensorStructInfo)), passed_dims)
    return dims, passed_dims


def _pairs(values: Iterable[tuple[s.StructInfo, _Actual]]) -> Iterator[tuple[p.PrimExpr, p.PrimExpr]]:
    """The dimensions of parameters with the lengths that they get."""
    for want, have in values:
        wanted, lengths = s.lengths(want), s.lengths(have.info)
        if len(wanted) == len(lengths):
            yield from zip(wanted, lengths, strict=True)


def _actuals(
    call: e.Call, infos: Sequence[s.StructInfo | None], params: Sequence[s.StructInfo]
) -> list[_Actual]:
    """The actual values in the order of the parameters: arguments, outputs, and tir_vars at the place that the PrimFunc has."""
    whole = infos[1]
    fields = whole.fields if isinstance(whole, s.TupleStructInfo) else ()
    places = call.args[1].fields if isinstance(call.args[1], e.Tuple) else [None] * len(fields)
    passed = [
        _Actual(f"args[{n}]", info, place) for n, (info, place) in enumerate(zip(fields, places, strict=True))
    ]
    out = call.sinfo_args[0] if len(call.sinfo_args) == 1 else s.TupleStructInfo(call.sinfo_args)
    outputs = out.fields if isinstance(out, s.TupleStructInfo) else (out,)
    indices = call.attrs.get("inplace_indices", ())
    overwritten = indices if isinstance(indices, tuple) else (indices,)
    new = [
        _Actual("out_ty" if len(outputs) == 1 else f"out_ty[{n}]", info, None, True)
        for n, info in enumerate(outputs)
        if not (n < len(overwritten) and overwritten[n] >= 0)
    ]
    tail = infos[2] if len(infos) > 2 else None
    values = _values(tail) if isinstance(tail, s.ShapeStructInfo) else ()
    scalars = [
        _Actual(f"tir_vars[{n}]", s.PrimStructInfo(INT64, value), call.args[2])
        for n, value in enumerate(values)
    ]
    scalars_last = bool(params) and isinstance(params[-1], s.PrimStructInfo)
    return [*passed, *new, *scalars] if scalars_last else [*passed, *scalars, *new]


def _values(shape: s.ShapeStructInfo) -> Sequence[p.PrimExpr | None]:
    return shape.values if shape.values is not None else [None] * shape.ndim


def _say_count(report: Report, call: e.Call, actuals: Sequence[_Actual], needed: int) -> None:
    outputs = sum(actual.is_output for actual in actuals)
    text = (
        f"{_name(call)} takes {needed} parameter{'' if needed == 1 else 's'}; "
        f"the call passes {len(actuals) - outputs} and allocates {outputs}"
    )
    fix = "args and out_ty together must match the parameters of the PrimFunc, in their order"
    label = Label(call.args[1], f"{len(actuals) - outputs} passed here")
    report.say(codes.ARGUMENT_COUNT, _with_operator(call, text), call, help=fix, labels=(label,))


def _one(at: _Comparison, number: int, param: s.StructInfo, have: _Actual) -> bool:
    """Report a problem of one parameter. True if the result of the call can still be inferred."""
    report, call, dims, passed_dims = at.report, at.call, at.dims, at.passed_dims
    want = substitute_info(param, dims)
    verdict = conversion(have.info, want)
    if verdict is Conversion.FITS:
        return True
    places = (Label(have.place, f"this is {have.info}"),) if have.place is not None else ()
    text = f"{have.what} is {have.info}, parameter {number} of {_name(call)} is {want}"
    if verdict is Conversion.MAYBE:
        if have.is_output and not set(info_vars(want)) & set(info_vars(param)):
            _say_maybe(report, call, text, have, want)
        return True
    only_dims = typed_alike(have.info, want)
    conflict = _conflict(have.info, param, dims) if only_dims else None
    if conflict is None:
        fix = f"cast it first: R.match_cast(…, {want})" if have.info is s.OBJECT else _fix(have, want)
        report.say(codes.ARGUMENT_INFO, _with_operator(call, text), call, help=fix, labels=places)
        return False
    axis, length, expected = conflict
    value = simplify(p.substitute(expected, dims))
    # The PrimFunc compares lengths with one another at its start. TVM relies on this, except for outputs.
    late = _conflict(have.info, param, passed_dims if have.is_output else {}) is None
    needed = requirement(expected, value, _name(call), at.caller)
    where = f", dimension {axis}" if isinstance(have.info, s.TensorStructInfo) else ""
    if passed_dims.keys().isdisjoint(p.free_vars(expected)) and _has_no_solution(expected, length):
        needed = f"{expected}: {expected} = {length} has no solution"
    text = f"{have.what}{where} is {length}, parameter {number} of {_name(call)} needs {needed}"
    code: Code = codes.ARGUMENT_DIMS if late else codes.ARGUMENT_INFO
    report.say(code, _with_operator(call, text), call, help=_fix(have, want), labels=places, spec_only=late)
    return late


def _has_no_solution(dim: p.PrimExpr, length: p.PrimExpr) -> bool:
    """True if no value of its one variable makes the dimension that length."""
    variables = p.free_vars(dim)
    found = multiple(dim, length, variables[0]) if dim.children() and len(variables) == 1 else None
    return found is not None and equal(found.remainder, p.IntImm(0)) is Answer.NO


def _fix(have: _Actual, want: s.StructInfo) -> str:
    if have.is_output:
        return f"declare in out_ty the buffer that the PrimFunc fills: {want}"
    value = want.value if isinstance(want, s.PrimStructInfo) else None
    return f"pass {value}, a {want}" if isinstance(value, p.IntImm) else f"pass {want}"


def _conflict(
    have: s.StructInfo, param: s.StructInfo, dims: DimMap
) -> tuple[int, p.PrimExpr, p.PrimExpr] | None:
    """The first axis with different lengths: its number, the actual length, and the length in the PrimFunc."""
    for axis, (a, b) in enumerate(zip(_lengths(have), _lengths(param), strict=False)):
        if equal(a, p.substitute(b, dims)) is Answer.NO:
            return axis, a, b
    return None


def _lengths(info: s.StructInfo) -> tuple[p.PrimExpr, ...]:
    if isinstance(info, s.PrimStructInfo):
        return () if info.value is None else (info.value,)
    return s.lengths(info)


def _say_maybe(report: Report, call: e.Call, text: str, have: _Actual, want: s.StructInfo) -> None:
    notes = counterexample(have.info, want)
    fix = "write the lengths as the PrimFunc computes them"
    report.say(
        codes.MAYBE_ARGUMENT, _with_operator(call, f"{text}: whether they agree is known only at run time"), call, help=fix,
        notes=notes, tvm_only=True,
    )  # fmt: skip


def _name(call: e.Call) -> str:
    return getattr(call.args[0], "name", "the PrimFunc")


def _with_operator(call: e.Call, text: str) -> str:
    return f"{getattr(call.op, 'name', '')}: {text}"


# -- kernel calls ----------------------------------------------------------------------------------------------------
# Report direct calls of PrimFuncs. They belong in lowered programs, which allocate the buffers themselves.


def direct_calls(module: IRModule) -> Iterator[Diagnostic]:
    """Every direct call of a PrimFunc that fills buffers, unless the module is lowered, or the function is forced to be pure."""
    prim_funcs = [(name, fn) for name, fn in module.functions.items() if type(fn) is PrimFunc]
    kernels = {name for name, fn in prim_funcs if fn.ret_type is None or has_effect(fn)}
    if not kernels:
        return
    functions = module.relax_functions.values()
    operators = {op for fn in functions for op in contents(fn).operators}
    if any(map(_is_of_lowered_programs, operators)) or claims_lowered(module):
        return
    for fn in functions:
        is_forced = bool(fn.attrs.get("relax.force_pure"))  # as CallTIRRewrite needs it
        callees = Callees()
        for binding in bindings(fn) if contents(fn).calls_functions and not is_forced else ():
            value = binding.value
            if type(value) is not e.Call:
                callees.note(binding)
            elif type(value.op) is not e.OpRef:
                callee = callees.of(value.op)
                if type(callee) is e.GlobalVar and callee.name in kernels:
                    yield _direct(callee.name, value, binding)


def _is_of_lowered_programs(op: e.Expr) -> bool:
    """True if only lowered programs call an operator."""
    declared = find(op.name) if type(op) is e.OpRef else None
    return declared is not None and declared.phase.includes(Phase.LOWERED)


def _direct(name: str, call: e.Call, binding: e.Binding) -> Diagnostic:
    place = call if call.span else binding
    help = f"use R.call_tir({name}, (…), out_sinfo=…), which allocates the result"
    text = f"the PrimFunc {name!r} is called directly"
    return Diagnostic(
        well_formedness.DIRECT_KERNEL_CALL, text, (Label(place, "", True),), help=help, spec_only=True
    )


# -- kernel lengths --------------------------------------------------------------------------------------------------
# Warnings about lengths of PrimFuncs that no dimension of a buffer has alone, so that TVM cannot find their values.


_TEXTS: PerNode[list[str]] = PerNode()


def unbound_lengths(module: IRModule) -> Iterator[Diagnostic]:
    """A warning for each such variable of each PrimFunc."""
    for fn in module.functions.values():
        if type(fn) is PrimFunc:
            for text in _TEXTS.of(fn, _texts):
                yield Diagnostic(
                    tir_codes.LENGTH_NOT_ALONE,
                    text,
                    (Label(fn, "", True),),
                    help=tir_codes.LENGTH_NOT_ALONE.fix,
                )


def _texts(fn: PrimFunc) -> list[str]:
    dims = [dim for param in fn.params if isinstance(param, Buffer) for dim in param.shape]
    values: dict[p.PrimVar, p.PrimExpr] = {
        dim: dim for dim in (*dims, *fn.params) if isinstance(dim, p.PrimVar)
    }
    alone = set(values)
    told = bind_multiples([(dim, p.PrimVar("length", dim.dtype)) for dim in dims], values)
    by_variable: dict[p.PrimVar, p.PrimExpr] = {}
    for dim, _ in told:
        for var in p.free_vars(dim):
            by_variable.setdefault(var, dim)
    texts = []
    for var in p.free_vars(*dims):
        place = next(dim for dim in dims if var in p.free_vars(dim))
        if var not in values:
            texts.append(f"the dimension {place} does not tell {var.name}, and no other one does")
        elif var not in alone:
            texts.append(
                f"{var.name} is no dimension by itself: {by_variable[var]} tells it here, but TVM compiles no such PrimFunc"
            )
    return texts
