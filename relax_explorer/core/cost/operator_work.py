"""The work of a call: of an operator by its declaration or its lowering, of a kernel by its loops, of a packed function by its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relax_explorer.core.arith.polynomial import Polynomial, combine
from relax_explorer.core.check.call_graph import Callees
from relax_explorer.core.check.matching import DimMap, match_params
from relax_explorer.core.check.storage import NO_ACCESS, PLACES, PURE_KERNELS, SAME, STORAGES, VIEWS, spread
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.kernel_work import kernel_work
from relax_explorer.core.cost.machine_lengths import MachineLengths
from relax_explorer.core.cost.work import NO_WORK, Work
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace as with_parts
from relax_explorer.core.ir.walk import infos_of
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit import legalize
from relax_explorer.core.ops.kit.decl import NotLowered, Op
from relax_explorer.core.ops.kit.flop_count import FlopCount
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import prim_func_info

_LENGTHS = frozenset({"relax.size", "relax.builtin.alloc_tensor", "vm.builtin.tuple_getitem"})
_FREE = NO_ACCESS | SAME | VIEWS | _LENGTHS | frozenset([*PLACES, *STORAGES])
"""Calls that touch no element: they allocate, look at a shape, or give a value another name."""
INPLACE = "relax.call_tir_inplace"
_BY_HOST = "tirx.is_host_func"
"""The attribute of a PrimFunc that computes lengths, beside the program's work."""
_KERNELS = PURE_KERNELS - {"relax.call_dps_packed"} | {
    "relax.vm.call_tir_dyn",
    "relax.dist.call_tir_local_view",
}


class Calls:
    """The work of the calls of a module that enter no Relax function. Equal calls are counted once."""

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self._kernels: dict[tuple[PrimFunc, tuple[s.StructInfo, ...], tuple[int, ...]], Work] = {}
        self._operators: dict[tuple[legalize.Key, tuple[int, ...]], Work] = {}

    def of(self, call: e.Call, callees: Callees, lengths: MachineLengths) -> Work:
        """The work of a call."""
        fn = self.kernel(call, callees)
        if fn is not None and fn.attrs.get(_BY_HOST):
            return NO_WORK
        if fn is not None:
            again = _repeated(_tensors(call, callees))
            return self._of_kernel(fn, self._infos(call, callees, lengths), again)
        name, args = spread(call, callees)
        op = find(name) if type(call.op) is e.OpRef and name == call.op.name else None
        if name in _FREE or (op is not None and (op.shares or (op.by_machine and not op.takes_sinfo))):
            return NO_WORK
        if op is None or op.by_machine:
            return outside(name or "a function value", args, call)
        return self._of_operator(op, _written_out(call, callees))

    def kernel(self, call: e.Call, callees: Callees) -> PrimFunc | None:
        """The PrimFunc that a call runs."""
        callee = callees.of(call.op)
        if type(callee) is e.OpRef and callee.name in _KERNELS and call.args:
            callee = callees.of(call.args[0])
        fn = self.module.functions.get(callee.name) if type(callee) is e.GlobalVar else None
        return fn if type(fn) is PrimFunc else None

    def dims(self, fn: PrimFunc, call: e.Call, callees: Callees, lengths: MachineLengths) -> DimMap:
        """The lengths that a call gives to the variables of a PrimFunc."""
        return _dims(fn, self._infos(call, callees, lengths))

    def _of_kernel(self, fn: PrimFunc, infos: tuple[s.StructInfo, ...], again: tuple[int, ...]) -> Work:
        known = self._kernels.get((fn, infos, again))
        if known is None:
            known = self._kernels[fn, infos, again] = _placed(kernel_work(fn).with_repeated(again), fn, infos)
        return known

    def _infos(self, call: e.Call, callees: Callees, lengths: MachineLengths) -> tuple[s.StructInfo, ...]:
        """The StructInfo of the arguments that a PrimFunc gets, in its order."""
        if type(call.op) is not e.OpRef:
            return _spread_shapes(lengths.infos(call.args))
        whole = call.args[1] if len(call.args) > 1 else e.Tuple(())
        fields = callees.fields(whole)
        if fields is None:
            info = whole.struct_info
            fields_info = info.fields if isinstance(info, s.TupleStructInfo) else infos_of([whole])
        else:
            fields_info = lengths.infos(fields)
        results = call.sinfo_args[0] if len(call.sinfo_args) == 1 else s.TupleStructInfo(call.sinfo_args)
        outputs = results.fields if isinstance(results, s.TupleStructInfo) else (results,)
        if call.op.name == INPLACE:
            places = call.attrs.get("inplace_indices", ())
            outputs = tuple([out for out, place in zip(outputs, places, strict=False) if place == -1])
        return _spread_shapes((*fields_info, *outputs, *infos_of(call.args[2:])))

    def _of_operator(self, op: type[Op], call: e.Call) -> Work:
        key = legalize.exact_key(call, infos_of(call.args)), _repeated(legalize.flat_operands(call))
        known = self._operators.get(key)
        if known is None:
            known = self._operators[key] = _operator_work(op, call)
        return known


def _tensors(call: e.Call, callees: Callees) -> tuple[e.Expr, ...]:
    """The operands that a kernel gets first, as values."""
    if type(call.op) is not e.OpRef:
        return call.args
    return callees.fields(call.args[1]) or () if len(call.args) > 1 else ()


def _repeated(operands: Sequence[e.Expr]) -> tuple[int, ...]:
    """The numbers of operands that are variables which stand before them, too."""
    seen: set[e.Expr] = set()
    again = []
    for number, operand in enumerate(operands):
        if operand in seen and isinstance(operand, e.Var):
            again.append(number)
        seen.add(operand)
    return tuple(again)


def _spread_shapes(infos: tuple[s.StructInfo, ...]) -> tuple[s.StructInfo, ...]:
    """A shape among the arguments of a PrimFunc stands for its lengths."""
    if not any(isinstance(info, s.ShapeStructInfo) for info in infos):
        return infos
    found: list[s.StructInfo] = []
    for info in infos:
        if isinstance(info, s.ShapeStructInfo) and info.values is not None:
            found += [s.PrimStructInfo(length.dtype, length) for length in info.values]
        else:
            found.append(info)
    return tuple(found)


def _dims(fn: PrimFunc, infos: tuple[s.StructInfo, ...]) -> DimMap:
    dims: DimMap = {}
    match_params(prim_func_info(fn).params, infos, dims)
    return dims


def _placed(work: Work, fn: PrimFunc, infos: tuple[s.StructInfo, ...]) -> Work:
    """The work of a kernel in the lengths of its caller."""
    dims = _dims(fn, infos)
    own = {var for poly in work.amounts for var in amounts.variables(poly)} - dims.keys()
    if not own:
        return work.with_lengths(dims)
    names = ", ".join(sorted(var.name for var in own))
    missing = (f"lengths that the caller of a kernel does not tell: {names}",)
    kept = [
        {
            atoms: factor
            for atoms, factor in poly.items()
            if not own.intersection(amounts.variables({atoms: 1}))
        }
        for poly in work.amounts
    ]
    return Work.of(kept, work.unknown + missing, work.at_most).with_lengths(dims)


def _written_out(call: e.Call, callees: Callees) -> e.Call:
    """A call whose tuple operands are written out, as lowering wants them."""
    args = [_fields_of(arg, callees) for arg in call.args]
    return (
        call
        if all(a is b for a, b in zip(args, call.args, strict=True))
        else with_parts(call, args=tuple(args))
    )


def _fields_of(arg: e.Expr, callees: Callees) -> e.Expr:
    info = arg.struct_info
    if type(arg) is e.Tuple or not isinstance(info, s.TupleStructInfo):
        return arg
    known = callees.fields(arg)
    fields = known or tuple([e.Var(f"field{n}", field) for n, field in enumerate(info.fields)])
    return e.Tuple(fields, info)


def _operator_work(op: type[Op], call: e.Call) -> Work:
    """The work of an operator: the bytes of its lowering, and its FLOPs by its declaration or by the loops of its lowering."""
    if op.legalize is None:
        return outside(op.name, call.args, call)
    infos = infos_of(call.args)
    try:
        lowered = legalize.lower(call, infos)
    except NotLowered as reason:
        return outside(f"{op.name} ({reason})", call.args, call)
    outputs = lowered.out.fields if isinstance(lowered.out, s.TupleStructInfo) else (lowered.out,)
    fn = lowered.prim_func
    again = _repeated(lowered.args)
    work = _placed(kernel_work(fn).with_repeated(again), fn, (*infos_of(lowered.args), *outputs))
    declared = declared_flops(op, call)
    if declared is None:
        return work
    return replace(work, flops=combine(declared.arithmetic, declared.functions), functions=declared.functions)


def declared_flops(op: type[Op], call: e.Call) -> FlopCount | None:
    """The FLOPs of a call by the definition of its operator; None if it has none, if lengths are not known, or not all elements are floats."""
    operands: list[s.StructInfo | None] = list(infos_of(call.args))
    tensors = [info for info in operands if isinstance(info, s.TensorStructInfo)]
    if op.flops is None or not all(info.dtype is not None and info.dtype.is_float for info in tensors):
        return None
    operands += [None] * (len(op.operands) - len(operands))
    attrs = {parameter.name: parameter.default for parameter in op.attributes} | dict(call.attrs)
    return op.flops(call.struct_info, *operands, **attrs)


def outside(name: str, args: tuple[e.Expr, ...], call: e.Call) -> Work:
    """The work of code that the module does not show: its FLOPs are not known, its operands are read and its results written."""
    read, is_known = _bytes(infos_of(args))
    results = (call.struct_info or s.OBJECT,)
    written, is_written = _bytes(results)
    reasons = [f"FLOPs of {name}"]
    if not (is_known and is_written):
        reasons.append(f"bytes of {name}")
    return Work(read=read, written=written, unknown=tuple(reasons))


def _bytes(infos: tuple[s.StructInfo, ...]) -> tuple[Polynomial, bool]:
    """The bytes of values as far as they are known, and whether all are."""
    found = [amounts.info_bytes(info) for info in infos]
    return amounts.total([size for size in found if size is not None]), None not in found
