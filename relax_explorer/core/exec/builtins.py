"""Operators executed by the machine itself: calls of kernels and packed functions, closures, printing, assertions, shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.exec import memory
from relax_explorer.core.exec.collectives import collective
from relax_explorer.core.exec.faults import claim, guarded, say
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.kernels import allocate
from relax_explorer.core.exec.known_call import (
    kernel_again,
    kernel_alike,
    kernel_arguments,
    pays,
    remember_kernel,
    view_axes,
)
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import NULL, UNKNOWN, Lifted, Shape, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.prim import PrimVar
from relax_explorer.core.ops.distributed.ccl import Collective
from relax_explorer.core.ops.kit.devices import is_spread
from relax_explorer.core.tir.stmt import PrimFunc

Builtin = Callable[[Any, Any, Any, list[Any]], Any]


def _prim_func(machine: Running, at: Instruction, callee: Value) -> PrimFunc:
    fn = machine.module.functions.get(callee.name) if isinstance(callee, e.GlobalVar) else None
    if type(fn) is not PrimFunc:
        raise machine.trap(
            codes.UNKNOWN_FUNCTION, f"{getattr(callee, 'name', callee)!r} is not a PrimFunc of the module", at
        )
    return fn


def call_tir(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.call_tir(f, (args…), out)`. Scalars in `tir_vars` (older surface) go to their parameters in the PrimFunc."""
    fn = _prim_func(machine, at, args[0])
    value = kernel_again(machine, frame, at, fn, args) if at.known is not None else None
    if value is not None:
        machine.write(frame, at.target, value)
        return
    tail = list(args[2]) if len(args) > 2 else []
    out = at.node.sinfo_args[0]
    if any(map(is_spread, out.fields if isinstance(out, s.TupleStructInfo) else (out,))):
        text = f"R.dist.call_tir can't be run here: {Collective.no_evaluate}"
        raise machine.trap(codes.NO_EVALUATION, text, at, "use R.call_tir on whole tensors")
    if any(arg is UNKNOWN for arg in args[1]):
        machine.write(frame, at.target, UNKNOWN)
        return
    inputs = kernel_arguments(args[1])
    if tail and not isinstance(fn.params[-1], PrimVar):  # they precede the outputs
        inputs, tail = [*inputs, *tail], []
    axes = view_axes(machine, frame, at, fn)
    value = kernel_alike(machine, frame, at, fn, args) if axes is None else None
    if value is not None:
        machine.write(frame, at.target, value)
        return
    value = guarded(
        machine, at, lambda: machine.kernels.call_tir(fn, inputs, tail, out, frame.dims, at.node, axes)
    )
    if pays(machine, at) or pays(machine, fn):
        remember_kernel(machine, frame, at, fn, args, [inputs, tail], value)
    machine.write(frame, at.target, value)


def call_tir_inplace(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.call_tir_inplace`: overwritten inputs are copied first, so that stepping back restores them."""
    fn = _prim_func(machine, at, args[0])
    out = at.node.sinfo_args[0]
    infos = out.fields if isinstance(out, s.TupleStructInfo) else (out,)
    inputs = list(args[1])
    results = []
    for index, info in zip(at.node.attrs.get("inplace_indices", ()), infos, strict=False):
        if index >= 0:
            inputs[index] = inputs[index].copy()
            results.append(inputs[index])
        else:
            results.append(allocate(info, frame.dims, at.node))
    fresh = [
        r for r, index in zip(results, at.node.attrs.get("inplace_indices", ()), strict=True) if index < 0
    ]
    guarded(machine, at, lambda: machine.kernels.call(fn, [*kernel_arguments(inputs), *fresh]))
    machine.write(frame, at.target, tuple(results) if isinstance(out, s.TupleStructInfo) else results[0])


def call_dps_packed(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.call_dps_packed("name", (args…), out)`: outputs are allocated and passed last."""
    out = at.node.sinfo_args[0]
    infos = out.fields if isinstance(out, s.TupleStructInfo) else (out,)
    results = [allocate(info, frame.dims, at.node) for info in infos]
    machine.packed(args[0].name, [*args[1], *results], at)
    machine.write(frame, at.target, tuple(results) if isinstance(out, s.TupleStructInfo) else results[0])


def call_packed(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> Value:
    """`R.call_pure_packed` and `R.invoke_closure`: a function value with its arguments."""
    return machine.call_value(args[0], args[1:], frame, at)


def invoke_closure(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> Value:
    """`R.invoke_closure(f, (args…))`."""
    return machine.call_value(args[0], list(args[1]), frame, at)


def make_closure(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.make_closure(f, (captured…))`."""
    machine.write(frame, at.target, Lifted(args[0], tuple(args[1])))


def print_values(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.print`: the text goes to the machine's output, never to the terminal."""
    say(machine, at.node.attrs.get("format", ""), args)
    machine.write(frame, at.target, ())


def assert_op(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.assert_op(condition, args…, format=…)`."""
    claim(machine, at, args[0], at.node.attrs.get("format", ""), args[1:])
    machine.write(frame, at.target, ())


def shape_of(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.shape_of(x)`."""
    value = args[0]
    machine.write(frame, at.target, UNKNOWN if value is UNKNOWN else Shape(value.shape))


def tensor_to_shape(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.tensor_to_shape(x)`: a vector of integers as a shape."""
    machine.write(frame, at.target, Shape(int(n) for n in args[0].reshape(-1)))


def shape_to_tensor(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.shape_to_tensor(s)`: a shape as a vector of int64."""
    machine.write(frame, at.target, np.asarray(args[0], dtype=np.int64))


def null_value(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.null_value()`."""
    machine.write(frame, at.target, NULL)


def same(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """Operators about devices and hints. There is only one device here, so they return their operand."""
    machine.write(frame, at.target, args[0])


def call_py_func(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.call_py_func("name", (args…), out)`: call a registered packed function."""
    machine.write(frame, at.target, machine.packed(args[0], list(args[1]), at))


def call_builtin_with_ctx(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> Value:
    """`R.call_builtin_with_ctx("name", (args…))`: call a builtin of the virtual machine. The context is the machine."""
    callee, arguments = args
    if getattr(callee, "name", "") == "vm.builtin.invoke_closure":
        callee, *arguments = arguments
    return machine.call_value(callee, arguments, frame, at)


TABLE: dict[str, Builtin] = {
    "relax.call_tir": call_tir,
    "relax.call_tir_with_grad": call_tir,
    "relax.call_tir_inplace": call_tir_inplace,
    "relax.call_dps_packed": call_dps_packed,
    "relax.call_pure_packed": call_packed,
    "relax.call_inplace_packed": call_packed,
    "relax.invoke_closure": invoke_closure,
    "relax.invoke_pure_closure": invoke_closure,
    "relax.make_closure": make_closure,
    **{
        f"relax.ccl.{name}": collective
        for name in ("allreduce", "allgather", "broadcast_from_worker0", "scatter_from_worker0")
    },
    "relax.print": print_values,
    "relax.assert_op": assert_op,
    "relax.shape_of": shape_of,
    "relax.tensor_to_shape": tensor_to_shape,
    "relax.shape_to_tensor": shape_to_tensor,
    "relax.null_value": null_value,
    "relax.to_vdevice": same,
    "relax.hint_on_device": same,
    "relax.builtin.stop_lift_params": same,
    "relax.call_py_func": call_py_func,
    "relax.call_builtin_with_ctx": call_builtin_with_ctx,
    "relax.builtin.alloc_tensor": memory.builtin_alloc_tensor,
    "relax.memory.alloc_storage": memory.memory_alloc_storage,
    "relax.memory.alloc_tensor": memory.alloc_tensor,
    "relax.memory.kill_storage": memory.kill,
    "relax.memory.kill_tensor": memory.kill,
    "relax.vm.alloc_storage": memory.vm_alloc_storage,
    "relax.vm.alloc_tensor": memory.alloc_tensor,
    "relax.vm.kill_object": memory.kill,
    "relax.vm.call_tir_dyn": memory.call_tir_dyn,
}
