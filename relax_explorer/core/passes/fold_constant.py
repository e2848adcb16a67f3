"""Operators on constants: evaluated (FoldConstant), and a batch norm folded into a convolution (FoldBatchnormToConv2D)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import numpy as np

from relax_explorer.core.check.aliases import Aliases, aliases
from relax_explorer.core.check.infer import UNREPORTED
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT64
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import is_zero
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.eliminate import drop_unread
from relax_explorer.core.passes.pattern_rules import Rule, apply_rules, call
from relax_explorer.core.passes.readings import DATAFLOW, operators
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.patterns.matcher import Match
from relax_explorer.core.patterns.pattern import is_const, is_op, is_tuple_get_item, wildcard
from relax_explorer.core.phases.module_properties import BUILTINS_LOWERED, NORMAL_FORM, SHAPES_LOWERED
from relax_explorer.core.tir.stmt import PrimFunc

SIZE_LIMIT = 1 << 20  # elements that a folded constant may have, if the operands have fewer
FILL_LIMIT = 1024  # the same for calls without a tensor, such as zeros, which take less space in the program


@function_pass("FoldConstant", reads=[DATAFLOW], rebuilds=True, requires=[NORMAL_FORM])
def fold_constant(
    fn: e.Function,
    at: PassSite,
    *,
    everywhere: Annotated[bool, "evaluate operators outside of dataflow blocks, too"] = False,
) -> e.Function:
    """Replace pure operators and kernels on constants by their values, and drop bindings that nothing reads.

    Kernels are evaluated everywhere, operators in dataflow blocks only, unless `everywhere` is set. Readers of a constant read it
    directly, and so do operators whose operand is a variable of a written shape. Values of more than a million elements that have
    more than their operands are not folded, so that the program does not grow; those of calls without a tensor, such as zeros,
    up to 1024 elements. Nor are values whose memory may be overwritten. The profile `tvm` folds both. A kernel that stops, or runs
    longer than 10 s, is kept.
    """

    @cache
    def memory() -> Aliases:
        return aliases(at.module, at.function, fn)

    shapes: dict[e.Expr, e.ShapeExpr] = {}  # those that stand in bindings of their own

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if type(binding) is not e.VarBinding:
            return binding
        read, value = binding.var, binding.value
        if type(value) is e.Call:
            value = _with_shapes(value, shapes)
        known = _known(value, walk, everywhere or type(walk.block) is e.DataflowBlock)
        has_memory = type(known) not in (e.DataTypeImm, e.ShapeExpr)
        if known is None or (has_memory and not at.as_tvm and memory().written(read)):
            return _reading(walk, binding, value)
        if known is not value:
            binding = _bound(walk, binding, known if type(value) is e.Call else value)
        if type(known) in (e.Constant, e.DataTypeImm) and known.struct_info is binding.var.struct_info:
            walk.rename(read, known)
        elif type(known) is e.ShapeExpr:
            walk.note(binding.var, known)
            if known is binding.value and not any(map(is_zero, known.values)):
                shapes[binding.var] = known
        return binding

    return drop_unread(rewrite(fn, at, rule), at)


def _with_shapes(call: e.Call, shapes: dict[e.Expr, e.ShapeExpr]) -> e.Call:
    """The call of an operator that reads written shapes directly. Functions get theirs from the variable, as in TVM."""
    if not shapes or type(call.op) is not e.OpRef or shapes.keys().isdisjoint(call.args):
        return call
    direct = replace(call, args=tuple([shapes.get(arg, arg) for arg in call.args]), struct_info=None)
    return replace(direct, struct_info=UNREPORTED.info(direct))


def _reading(walk: Rewriter, binding: e.VarBinding, value: e.Expr) -> e.VarBinding:
    """The binding with a value that reads other operands, which may tell more of its StructInfo."""
    if value is binding.value:
        return binding
    if value.struct_info is binding.value.struct_info:
        return replace(binding, value=value)
    return _bound(walk, binding, value)


def _bound(walk: Rewriter, binding: e.VarBinding, value: e.Expr) -> e.VarBinding:
    """The binding with its value. If its shape is known by now, it gets a variable that tells it."""
    if type(value) is not e.ShapeExpr and value.struct_info is binding.var.struct_info:
        return replace(binding, value=value)
    var = e.var_like(binding.var, value.struct_info)
    walk.rename(binding.var, var)
    return replace(binding, var=var, value=value, annotation=None)


def _known(value: e.Expr, walk: Rewriter, operators: bool) -> e.Expr | None:
    """The value of an expression, if it is known."""
    if type(value) is e.Call:
        return _folded(value, walk, operators)
    if isinstance(value, e.Var):
        found: e.Expr | None = walk.lookup(value)  # None if it is no shape
        return found
    return value if type(value) in _LITERALS else None


def _folded(call: e.Call, walk: Rewriter, operators: bool) -> e.Expr | None:
    """The value of a call on constants. Without `operators`, only kernels are evaluated."""
    if call.op is _CALL_TIR:
        args = call.args[1]
        if type(args) is e.Tuple and (not args.fields or type(args.fields[0]) is e.Constant):  # hardly ever
            return _kernel_value(call, walk.at)
        return None
    if not operators:
        return None
    if call.op is e.op_ref("relax.tensor_to_shape"):
        return _shape_value(call)
    if call.op is e.op_ref("relax.shape_to_tensor"):
        return _lengths_value(call)
    return _operator_value(call, walk) if type(call.op) is e.OpRef else None


def _kernel_value(call: e.Call, at: PassSite) -> e.Expr | None:
    fields = call.args[1].fields if isinstance(call.args[1], e.Tuple) else None
    if fields is None or not all([type(arg) is e.Constant for arg in fields]):
        return None
    callee, out = call.args[0], call.sinfo_args[0]
    kernel = at.module.functions.get(callee.name) if isinstance(callee, e.GlobalVar) else None
    infos = out.fields if isinstance(out, s.TupleStructInfo) else (out,)
    data = [arg.data for arg in fields if type(arg) is e.Constant]
    if not isinstance(kernel, PrimFunc) or len(call.args) != 2 or not _may_stand(infos, fields, at):
        return None
    if any(array is None for array in data) or (not data and _size(out) > FILL_LIMIT):
        return None
    try:
        from relax_explorer.core.exec.kernels import kernel_results

        results = kernel_results(kernel, data, out, call)
    except Failure:
        return None  # the run of the program will report it
    constants = [_constant(array, info, call) for array, info in zip(results, infos, strict=True)]
    return e.tuple_of(tuple(constants)) if isinstance(out, s.TupleStructInfo) else constants[0]


def _shape_value(call: e.Call) -> e.Expr | None:
    arg = call.args[0]
    if type(arg) is not e.Constant or arg.data is None or arg.data.ndim != 1:
        return None
    lengths = tuple([p.IntImm(int(length), INT64) for length in arg.data])
    return e.ShapeExpr(lengths, s.ShapeStructInfo(lengths), call.span)


def _lengths_value(call: e.Call) -> e.Expr | None:
    """The lengths of a shape as a tensor, if the StructInfo of the shape tells them."""
    info = call.args[0].struct_info
    dims = info.values if isinstance(info, s.ShapeStructInfo) else None
    if dims is None or not all(isinstance(dim, p.IntImm) for dim in dims):
        return None
    lengths = [dim.value for dim in dims if isinstance(dim, p.IntImm)]
    return _constant(np.array(lengths, np.int64), call.struct_info, call)


def _operator_value(call: e.Call, walk: Rewriter) -> e.Expr | None:
    callee = call.op
    values = _operand_values(call, walk) if type(callee) is e.OpRef else None
    if type(callee) is not e.OpRef or values is None:
        return None
    op = find(callee.name)
    if op is None or op.evaluate is None or not op.pure or op.name == "relax.arange":
        return None
    info = call.struct_info
    if not _may_stand(_parts(info), call.args, walk.at):  # what is known of the operands may be new
        info = UNREPORTED.info(replace(call, struct_info=None))
    infos = _parts(info)
    if not _may_stand(infos, call.args, walk.at):
        return None
    if not any(map(_has_tensor, call.args)) and sum(map(_size, infos)) > FILL_LIMIT:
        return None
    missing = [None] * (len(op.operands) - len(values))
    try:
        with np.errstate(all="ignore"):
            result = op.evaluate(*values, *missing, **call.attrs)
    except (ValueError, IndexError, ZeroDivisionError, TypeError, MemoryError):
        return None  # the run of the program will report this failure
    if not isinstance(info, s.TupleStructInfo):
        return _constant(result, info, call)
    if len(result) != len(infos):
        return None
    return e.tuple_of(
        tuple([_constant(array, part, call) for array, part in zip(result, infos, strict=True)])
    )


def _operand_values(call: e.Call, walk: Rewriter) -> list[Any] | None:
    """The values of the operands; None at the first that is not known, which most often is the first of all."""
    values: list[Any] = []
    for arg in call.args:
        value = _value(walk, arg) if values or call.op not in _LIKE else _stand_in(arg.struct_info)
        if value is None:
            return None
        values.append(value)
    return values


def _parts(info: s.StructInfo | None) -> tuple[s.StructInfo | None, ...]:
    return info.fields if isinstance(info, s.TupleStructInfo) else (info,)


def _constant(value: object, info: s.StructInfo | None, call: e.Call) -> e.Constant:
    array = np.asarray(value)
    array.setflags(write=False)
    return e.Constant(array, info, "", call.span)


def _value(walk: Rewriter, arg: e.Expr) -> Any:
    """The value of an operand: an array, a number, the lengths of a shape, or a tuple. None if it is not known."""
    if isinstance(arg, e.Var):
        arg = walk.lookup(arg)  # None if it is no shape
    if type(arg) is e.Constant:
        return arg.data
    if type(arg) is e.ShapeExpr:
        values = [value.value if isinstance(value, p.IntImm) else None for value in arg.values]
        return None if None in values else tuple(values)
    if type(arg) is e.PrimValue:
        return arg.value.value if isinstance(arg.value, (p.IntImm, p.FloatImm)) else None
    if type(arg) is e.Tuple:
        fields = [_value(walk, field) for field in arg.fields]
        return None if any(field is None for field in fields) else tuple(fields)
    return None


_CALL_TIR = e.op_ref("relax.call_tir")
_LITERALS = (e.Constant, e.DataTypeImm, e.ShapeExpr)
_LIKE = frozenset(e.op_ref(f"relax.{name}_like") for name in ("zeros", "ones", "full", "eye"))
"""Operators that read only the StructInfo of their first operand."""


def _stand_in(info: s.StructInfo | None) -> Array | None:
    """An array of a known shape and dtype, which takes no memory."""
    if not _is_small(info):
        return None
    assert isinstance(info, s.TensorStructInfo)  # a small tensor is one
    lengths = [dim.value for dim in info.dims or () if isinstance(dim, p.IntImm)]
    assert info.dtype is not None  # the same
    return np.broadcast_to(np.zeros((), info.dtype.to_numpy()), lengths)


def _has_tensor(arg: e.Expr) -> bool:
    return type(arg) is e.Constant or (type(arg) is e.Tuple and any(map(_has_tensor, arg.fields)))


def _may_stand(infos: Sequence[s.StructInfo | None], operands: Sequence[e.Expr], at: PassSite) -> bool:
    """True if results may stand in the program: each is small, or together they are no larger than the operands."""
    if all(map(_is_small, infos)):
        return True
    if not all(map(_has_data, infos)):
        return False
    return at.as_tvm or sum(map(_size, infos)) <= sum(map(_elements, operands))


def _elements(operand: e.Expr) -> int:
    """The number of elements of the constants in an operand."""
    if type(operand) is e.Tuple:
        return sum(map(_elements, operand.fields))
    return operand.data.size if type(operand) is e.Constant and operand.data is not None else 0


def _is_small(info: s.StructInfo | None) -> bool:
    return isinstance(info, s.TensorStructInfo) and info.dtype is not None and -1 < _size(info) <= SIZE_LIMIT


def _has_data(info: s.StructInfo | None) -> bool:
    return isinstance(info, s.TensorStructInfo) and info.dtype is not None and _size(info) >= 0


def _size(info: s.StructInfo | None) -> int:
    """The number of elements of a tensor; -1 if it is not known."""
    if not isinstance(info, s.TensorStructInfo) or info.dims is None:
        return -1
    size = 1
    for dim in info.dims:
        if not isinstance(dim, p.IntImm):
            return -1
        size *= dim.value
    return size


# -- fold batchnorm to conv2d ----------------------------------------------------------------------------------------
# FoldBatchnormToConv2D: multiply the weights of a convolution by the factors of the batch norm behind it.


@function_pass(
    "FoldBatchnormToConv2D",
    reads=[operators("nn.batch_norm", "nn.conv2d")],
    rebuilds=True,
    requires=[NORMAL_FORM],
    invalidates=[BUILTINS_LOWERED, SHAPES_LOWERED],
)
def fold_batchnorm_to_conv2d(fn: e.Function, at: PassSite) -> e.Function:
    """Replace `batch_norm(conv2d(x, w), …)[0]` with constant parameters by a convolution with scaled weights, and an addition.

    As for inference, the moving moments count. FoldConstant then computes the scaled weights.
    In the profile `tvm` the results of branches lose their lengths.
    """
    return apply_rules(fn, at, [Rule("fold a batch norm", _FIRST, _folded_batchnorm)])


_X, _WEIGHT = wildcard(), is_const()
_GAMMA, _BETA, _MEAN, _VARIANCE = is_const(), is_const(), is_const(), is_const()
_CONV = is_op("relax.nn.conv2d")(_X, _WEIGHT)
_NORM = is_op("relax.nn.batch_norm")(_CONV, _GAMMA, _BETA, _MEAN, _VARIANCE)
_FIRST = is_tuple_get_item(_NORM, 0)
# The axis of output channels in the weights.
_CHANNELS = {"OIHW": 0, "IOHW": 1}


def _folded_batchnorm(found: Match) -> e.Expr | None:
    conv, norm = found.call(_CONV), found.call(_NORM)
    layouts = {conv.attrs.get(name) or "NCHW" for name in ("data_layout", "out_layout")}
    axis = _CHANNELS.get(conv.attrs["kernel_layout"])
    plain = norm.attrs["axis"] in (1, -3) and norm.attrs["center"] and norm.attrs["scale"]
    if axis is None or layouts != {"NCHW"} or not plain:
        return None
    if not all(s.lengths(found[numbers].struct_info) for numbers in (_GAMMA, _BETA)):
        return None  # a text without the data of its constants may not tell their shapes
    epsilon = p.FloatImm(norm.attrs["epsilon"], FLOAT32)
    deviation = call(
        "relax.sqrt",
        call("relax.add", found[_VARIANCE], e.PrimValue(epsilon, s.PrimStructInfo(FLOAT32, epsilon))),
    )
    factor = call("relax.divide", found[_GAMMA], deviation)
    offset = call("relax.subtract", found[_BETA], call("relax.multiply", found[_MEAN], factor))
    weight = call("relax.multiply", found[_WEIGHT], _along(axis, factor, found[_GAMMA]))
    scaled = e.Call(conv.op, (found[_X], weight), conv.attrs)
    return call("relax.add", scaled, _along(1, offset, found[_BETA]))


def _along(axis: int, channels: e.Expr, like: e.Expr) -> e.Call:
    """Numbers by channels, as a tensor of rank 4 with the channels at `axis`."""
    lengths: list[p.PrimExpr] = [p.IntImm(1)] * 4
    lengths[axis] = s.lengths(like.struct_info)[0]
    return call("relax.reshape", channels, e.ShapeExpr(tuple(lengths)))
