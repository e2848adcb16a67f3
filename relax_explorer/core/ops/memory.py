"""Memory and the virtual machine: what lowered programs are made of. They are typed here; most run only in TVM."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.decl import Op, Site


class Lowered(Op):
    """Base of the operators of lowered programs."""

    variadic = True
    takes_sinfo = True
    by_info = False
    no_evaluate = "it belongs to TVM's runtime"
    no_legalize = "it is lowered already"


def _shape_and_dtype(at: Site) -> s.StructInfo:
    """A tensor of the first shape and the first dtype among the arguments."""
    shape = next((arg.values for arg in at.call.args if type(arg) is e.ShapeExpr), None)
    ndim = next((i.ndim for arg in at.call.args if isinstance(i := arg.struct_info, s.ShapeStructInfo)), -1)
    kind = next((arg.value for arg in at.call.args if type(arg) is e.DataTypeImm), None)
    return s.TensorStructInfo(shape, kind, ndim)


class Allocated(Lowered):
    """Base of the allocations of tensors."""

    @staticmethod
    def infer(at: Site, *args: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """A tensor of the shape and dtype given."""
        return at.call.sinfo_args[0] if at.call.sinfo_args else _shape_and_dtype(at)


class Killed(Lowered):
    """Base of the ends of objects."""

    pure = False

    @staticmethod
    def infer(at: Site, *args: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """Nothing."""
        return s.VOID


class BuiltinAllocTensor(Allocated, name="relax.builtin.alloc_tensor"):
    """A tensor of a shape and dtype, its contents not set."""

    by_machine = True
    no_evaluate = ""


class MemoryAllocTensor(Allocated, name="relax.memory.alloc_tensor"):
    """A tensor inside a storage."""


class VmAllocTensor(Allocated, name="relax.vm.alloc_tensor"):
    """A tensor inside a storage, as the virtual machine makes it."""


class MemoryAllocStorage(Lowered, name="relax.memory.alloc_storage"):
    """A piece of memory."""


class VmAllocStorage(Lowered, name="relax.vm.alloc_storage"):
    """A piece of memory, as the virtual machine makes it."""


class MemoryKillStorage(Killed, name="relax.memory.kill_storage"):
    """The end of a storage."""


class MemoryKillTensor(Killed, name="relax.memory.kill_tensor"):
    """The end of a tensor."""


class VmKillObject(Killed, name="relax.vm.kill_object"):
    """The end of an object."""


class VmCallTirDyn(Killed, name="relax.vm.call_tir_dyn"):
    """A PrimFunc called with lengths of a running program."""


class StopLiftParams(Lowered, name="relax.builtin.stop_lift_params"):
    """A mark that parameters aren't lifted beyond; the tensor itself."""

    by_machine = True
    no_evaluate = ""

    @staticmethod
    def infer(at: Site, *args: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """The tensor."""
        return args[0] if args else s.OBJECT


class MemoryView(Lowered, name="relax.memory.view"):
    """A tensor over the memory of another."""

    @staticmethod
    def infer(at: Site, *args: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """The shape and dtype asked for, else those of the tensor."""
        base = args[0] if args and isinstance(args[0], s.TensorStructInfo) else s.TensorStructInfo()
        shape = next((arg.values for arg in at.call.args if type(arg) is e.ShapeExpr), base.shape)
        kind = next((arg.value for arg in at.call.args if type(arg) is e.DataTypeImm), base.dtype)
        return s.TensorStructInfo(shape, kind, base.ndim)


class EnsureZeroOffset(Lowered, name="relax.memory.ensure_zero_offset"):
    """The tensor, copied if it starts inside its memory."""

    @staticmethod
    def infer(at: Site, *args: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """The tensor."""
        return args[0] if args else s.OBJECT
