"""The engines of a run, and which one computes a binding."""

from __future__ import annotations

from relax_explorer.core.exec import packed, vm_builtins
from relax_explorer.core.exec.kernels import LLVM, NUMBA, REFERENCE, Kernels, by_symbol
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ops import find
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc

# What compiles PrimFuncs: LLVM, or numba. Reference: nothing, they run statement by statement.
ENGINES = LLVM, NUMBA, REFERENCE
FUSED = "fused"  # an older name: LLVM, with bindings that run together, which is an option of its own now


def engine(module: IRModule, binding: e.Binding, kernels: Kernels) -> str:
    """The engine of a binding.

    `numpy` for operators; `llvm`, `numba` or `reference` for PrimFuncs, and for operators whose kernel computed the last call, whatever
    compiled this one; `python` for packed functions of
    the user, `builtin` for those of TVM's virtual machine, `machine` for calls of Relax functions, memory, tuples, branches and
    match_cast.
    """
    found = kernels.owned.get(id(binding.value)) or _engine(module, binding)
    return kernels.compiler(found) if isinstance(found, PrimFunc) else found


def _engine(module: IRModule, binding: e.Binding) -> str | PrimFunc:
    call = binding.value
    if type(call) is not e.Call or isinstance(binding, e.MatchCast):
        return "machine"
    if type(call.op) is e.ExternFunc:
        return _of_packed(module, call.op.name)
    if type(call.op) is e.GlobalVar:
        return _of_global(module, call.op.name)
    declared = find(call.op.name) if type(call.op) is e.OpRef else None
    if declared is None:
        return "machine"
    if declared.evaluate is not None:
        return "numpy"
    callee = call.args[0] if call.args else None
    if isinstance(callee, e.GlobalVar):
        return _of_global(module, callee.name)
    return _of_packed(module, callee.name) if isinstance(callee, e.ExternFunc) else "machine"


def _of_global(module: IRModule, name: str) -> str | PrimFunc:
    fn = module.functions.get(name)
    return fn if type(fn) is PrimFunc else "machine"


def _of_packed(module: IRModule, name: str) -> str | PrimFunc:
    kernel = by_symbol(module, name)
    if kernel is not None:
        return kernel
    function = packed.find(name)
    if function is not None:
        return "numpy" if packed.is_operator(function) else "python"
    return "builtin" if name in vm_builtins.TABLE else "python"
