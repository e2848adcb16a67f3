"""Operators replaced by calls of PrimFuncs: all (LegalizeOps), or those that code of a library may compute (DispatchSampling, DispatchSortScan)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.check.arguments import problem
from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.check.infer import EXTERN, UNREPORTED
from relax_explorer.core.check.stopping import lengths_to_check
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ops import find, get
from relax_explorer.core.ops.kit import legalize
from relax_explorer.core.ops.kit.decl import NotLowered, Op
from relax_explorer.core.passes.contract import PassSite, bad_option, by_name, function_pass, module_pass
from relax_explorer.core.passes.readings import RARE_OPERATORS
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite, without_plain_annotation
from relax_explorer.core.passes.symbols import normalized_names
from relax_explorer.core.passes.tvm_kernels import (
    counted,
    is_left_by_tvm,
    kernel_name,
    kernel_pattern,
    said,
    with_known_operands,
    without_shape_operands,
)
from relax_explorer.core.phases.module_properties import (
    ADDED_KERNELS,
    CANONICAL_BINDINGS,
    NO_HIGH_LEVEL_OPS,
    NO_TENSOR_TO_SHAPE,
    NORMAL_FORM,
)
from relax_explorer.core.phases.phases import closure_calls
from relax_explorer.core.program.module import IRModule


@function_pass(
    "LegalizeOps",
    rebuilds=True,
    requires=[NORMAL_FORM],
    establishes=[NO_HIGH_LEVEL_OPS],
    invalidates=[CANONICAL_BINDINGS, *ADDED_KERNELS],
)
def legalize_ops(
    fn: e.Function, at: PassSite, *, skip: Annotated[tuple[str, ...], "operators that stay"] = ()
) -> e.Function:
    """Replace each operator by a call_tir of a PrimFunc made from its `legalize` rule.

    If equal lengths are required but not proven, a match_cast before the call compares them, except in a dataflow
    block. Equal calls share one PrimFunc. Operators in `skip` are kept. So are calls without a lowering, and calls whose result
    shares memory that may be overwritten; each gets a warning with the reason. In the profile `tvm`, what becomes a kernel, what stays,
    and the names and patterns of kernels are TVM's, so that fusion makes the same groups; the loops inside are ours. No lengths are
    compared then, and memory that may be overwritten is copied.
    """
    _check_names(skip)
    at.once("closures", lambda: _say_closures(at))
    return lower_operators(fn, at, lambda name: name not in skip and name.removeprefix("relax.") not in skip)


def lower_operators(
    fn: e.Function, at: PassSite, chosen: Callable[[str], bool], may_leave: bool = True
) -> e.Function:
    """Lower the operators with the chosen names. The others that have a lowering are kept.

    In the profile `tvm` those are kept, too, that TVM's LegalizeOps leaves for other passes, unless `may_leave` is False.
    """
    memory = aliases(at.module, at.function, fn)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if at.as_tvm and type(value) is e.Tuple and binding.var is not None:
            walk.note(binding.var, value)
        if type(binding) is not e.VarBinding or type(value) is not e.Call or type(value.op) is not e.OpRef:
            return binding
        op = find(value.op.name)
        if op is None:
            return binding
        other = counted(value, op.name) or said(value, op.name) if at.as_tvm and chosen(op.name) else None
        if other is not None:
            return e.with_value(binding, other)
        is_left = may_leave and at.as_tvm and is_left_by_tvm(value, binding.var, op.name)
        is_written = bool(op.shares) and memory.written(binding.var)
        if _stays(binding, op, chosen(op.name) and not is_left, is_written, at):
            return binding
        build = walk.front_of(binding)
        try:
            call = _lowered(op, with_known_operands(value, walk.lookup) if at.as_tvm else value, at, build)
        except NotLowered as reason:
            at.waived.add(NO_HIGH_LEVEL_OPS)
            at.report.say(codes.NO_LEGALIZATION, f"{value.op.name} is kept: {reason}", value)
            return binding
        if call.struct_info is binding.var.struct_info or not (build.bindings or at.as_tvm):
            lowered = e.with_value(binding, call)
            return (*build.bindings, lowered) if build.bindings else lowered
        # The lengths have names now, so a new variable gets the more precise StructInfo.
        var = e.var_like(binding.var, call.struct_info)
        walk.rename(binding.var, var)
        trimmed.append(not always_fits(call.struct_info or s.OBJECT, binding.var.struct_info or s.OBJECT))
        return (*build.bindings, e.VarBinding(var, call, None, binding.span))

    trimmed: list[bool] = []
    new = rewrite(fn, at, rule)
    return _with_lengths_of_the_run(new, at) if any(trimmed) else new


def dispatched(module: IRModule, at: PassSite, operators: Collection[str]) -> IRModule:
    """The module without these operators. In the profile `tvm`, public functions are then called by their symbols."""
    for name, fn in by_name(module):
        at.function = name
        at.editor.replace(name, lower_operators(fn, at, operators.__contains__, False))
    return normalized_names(at.editor.done(), at) if at.as_tvm else at.editor.done()


def _stays(binding: e.VarBinding, op: type[Op], is_chosen: bool, is_written: bool, at: PassSite) -> bool:
    """True if a call stays. The phase is noted, and why a call that should go stays."""
    call = binding.value
    assert type(call) is e.Call  # as the caller looked
    if not op.is_lowered():
        if op.no_evaluate:  # others can run unlowered
            at.report.say(codes.NO_LEGALIZATION, f"{op.name} is kept: {op.no_legalize}", call)
        return True
    is_view = not at.as_tvm and is_written and op.unfold is None
    if is_chosen and is_view:
        at.report.say(codes.NO_LEGALIZATION, f"{op.name} is kept: {_SHARED}", call)
    if is_view or not is_chosen:
        at.waived.add(NO_HIGH_LEVEL_OPS)
        return True
    return False


def _with_lengths_of_the_run(fn: e.Function, at: PassSite) -> e.Function:
    """The function without claims about lengths that only the run knows now, such as a number of boxes."""
    new = rewrite(fn, at, without_plain_annotation)
    told = fn.ret_struct_info is fn.body.body.struct_info
    return replace(new, ret_struct_info=None, struct_info=None) if told else new


def _say_closures(at: PassSite) -> None:
    """Warn if LambdaLift has already run: the calls that it makes have no lowering."""
    calls = closure_calls(at.module)
    if calls:
        names = ", ".join(dict.fromkeys(name for _, name in calls))
        text = f"LambdaLift came before LegalizeOps: {names} have no lowering and are kept"
        at.report.say(codes.WRONG_ORDER, text, calls[0][0], help=codes.WRONG_ORDER.fix)


_SHARED = "its result shares memory that may be overwritten, and a kernel would copy it"


def _check_names(skip: tuple[str, ...]) -> None:
    for name in skip:
        if find(name) is None and find(f"relax.{name}") is None:
            text = f"skip names {name!r}, which is not an operator"
            raise bad_option(text, 'write skip="relax.matmul"')


_TO_SHAPE = e.op_ref("relax.tensor_to_shape")


def _lowered(op: type[Op], call: e.Call, at: PassSite, build: BlockBuilder) -> e.Expr:
    """The value that replaces `call`: a kernel call, a runtime call, or the expansion of the operator.

    Its operands are emitted with `build`.
    """
    wrong = problem(op, call.attrs)
    if wrong:
        raise NotLowered(f"the call is wrong: {wrong}")
    if op.packed:
        args = (e.ExternFunc(op.packed, EXTERN), *call.args)
        info = call.struct_info
        assert info is not None  # the module is normalized
        packed = e.op_ref("relax.call_pure_packed")
        return e.Call(packed, args, sinfo_args=(info,), struct_info=info, span=call.span)
    if at.as_tvm and (like := without_shape_operands(call, op.name)) is not None:
        assert type(like.op) is e.OpRef  # as it is made
        return _lowered(get(like.op.name), like, at, build)
    if op.unfold is not None and (op.legalize is None or not _has_known_shape(call)):
        expanded = build.informed(op.unfold(build, call, [UNREPORTED.info(arg) for arg in call.args]))
        values = (expanded, *[binding.value for binding in build.bindings])
        if any(type(value) is e.Call and value.op is _TO_SHAPE for value in values):
            at.waived.add(NO_TENSOR_TO_SHAPE)
        return expanded
    if not build.is_dataflow and not at.as_tvm:
        _check_lengths(build, op, call)
    # TVM takes the fields of a tuple that is written there, too.
    is_split = at.as_tvm and op.name == "relax.index_tensor"
    args = tuple([_literal(build, arg, is_split) for arg in call.args])
    return _kernel_call(replace(call, args=args) if build.bindings else call, at, build)


def _check_lengths(build: BlockBuilder, op: type[Op], call: e.Call) -> None:
    """Emit run-time checks for lengths that inference could not compare. The operator checks them; a kernel would not.

    A dataflow block may lose errors, so it gets no checks.
    """
    infos = [UNREPORTED.info(arg) for arg in call.args]
    for have, want in lengths_to_check(op, call, infos) or ():  # a wrong call is already reported
        build.emit_check(e.ShapeExpr((have,), s.ShapeStructInfo((have,))), s.ShapeStructInfo((want,)))


def _has_known_shape(call: e.Call) -> bool:
    return not isinstance(call.struct_info, s.TensorStructInfo) or call.struct_info.dims is not None


def _literal(build: BlockBuilder, arg: e.Expr, is_split: bool) -> e.Expr:
    """Unpack a tuple variable into a tuple of field variables, because kernels take tensors."""
    info = arg.struct_info
    if not isinstance(info, s.TupleStructInfo) or not (isinstance(arg, e.Var) or is_split):
        return arg
    if type(arg) is e.Tuple:
        return e.Tuple(tuple([build.emit(field) for field in arg.fields]), info)
    assert isinstance(arg, e.Var)  # the other form of a tuple in normal form
    fields = [build.emit(e.TupleGetItem(arg, n), f"{arg.name}_{n}") for n in range(len(info.fields))]
    return e.Tuple(tuple(fields), info)


def _kernel_call(call: e.Call, at: PassSite, build: BlockBuilder) -> e.Call:
    """The call_tir for `call`. Its PrimFunc is added to the module, or shared with an equal call."""
    infos = [UNREPORTED.info(arg) for arg in call.args]
    exact = "legalized", legalize.exact_key(call, infos)
    kernel, scalars, out = at.once(exact, lambda: _kernel(call, infos, at))
    return build.call_tir(kernel, (*legalize.flat_operands(call), *scalars), out, call.struct_info)


def _kernel(
    call: e.Call, infos: list[s.StructInfo], at: PassSite
) -> tuple[e.GlobalVar, tuple[e.Expr, ...], s.StructInfo]:
    """The PrimFunc for `call`, the scalars that it takes after the operands, and the StructInfo of its results."""
    lowered = legalize.lower(call, infos)
    scalars = lowered.args[len(legalize.flat_operands(call)) :]
    key = legalize.key(call, infos)
    op: type[Op] = key[0]

    def make() -> e.GlobalVar:
        fn, name = lowered.prim_func, op.kernel_name()
        if at.as_tvm:
            name, pattern = kernel_name(op, call), kernel_pattern(call, op.name)
            fn = fn if pattern is None else replace(fn, attrs=fn.attrs.having(op_pattern=int(pattern)))
        return at.editor.add(name, fn)

    return at.once(("legalized", key), make), scalars, lowered.out


# -- dispatch kernels ------------------------------------------------------------------------------------------------
# DispatchSampling and DispatchSortScan: operators that code of a library may compute.


@module_pass(
    "DispatchSampling",
    rebuilds=True,
    reads=[RARE_OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=ADDED_KERNELS,
)
def dispatch_sampling(module: IRModule, at: PassSite) -> IRModule:
    """Lower `multinomial_from_uniform` to a kernel. TVM does so for GPUs, and leaves the operator to LegalizeOps on CPUs.

    In the profile `tvm` public functions are then called by their symbols, as by NormalizeGlobalVar.
    """
    return dispatched(module, at, {"relax.multinomial_from_uniform"})


_OPERATORS = frozenset({"relax.sort", "relax.argsort", "relax.topk", "relax.cumsum", "relax.cumprod"})


@module_pass(
    "DispatchSortScan",
    rebuilds=True,
    reads=[RARE_OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=ADDED_KERNELS,
)
def dispatch_sort_scan(module: IRModule, at: PassSite) -> IRModule:
    """Lower `sort`, `argsort`, `topk`, `cumsum` and `cumprod` to kernels, as LegalizeOps does with every operator.

    In the profile `tvm` public functions are then called by their symbols, as by NormalizeGlobalVar.
    """
    return dispatched(module, at, _OPERATORS)
