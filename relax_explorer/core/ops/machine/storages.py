"""Memory in lowered programs: allocating storages and tensors, and ending their lifetime."""

from __future__ import annotations

from relax_explorer.core.arith.prove import Answer, at_least
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import Function, Op, Phase, Prim, Shape, Site, Stops, Value, operand
from relax_explorer.core.ops.kit.devices import numbered_device
from relax_explorer.core.ops.kit.te import Tensor

_DEVICE = "number of the device among the module's; -1 is the host"
_SCOPE = "the kind of memory there, such as global or shared"


class Lowered(Op):
    """Base of the operators of lowered programs; the machine runs them."""

    by_machine = True
    by_info = False
    by_literals = True
    takes_sinfo = True
    phase = Phase.LOWERED
    no_legalize = "it is lowered already"


def need_shape(at: Site, info: s.StructInfo, name: str, known: bool = True) -> s.ShapeStructInfo:
    """`info` as the StructInfo of a shape. With `known` false, an Object is accepted as a shape of unknown rank."""
    if isinstance(info, s.ShapeStructInfo):
        return info
    if info is s.OBJECT and not known:
        return s.ShapeStructInfo()
    raise at.fail(codes.WRONG_KIND, f"{name} is {info}, a shape is needed", **{name: f"this is {info}"})


def need_object(at: Site, info: s.StructInfo, name: str, what: str = "a storage") -> None:
    """Refuse a tensor, a shape, a scalar or a function where an object of the runtime is needed. TVM refuses a written tuple only."""
    if info is not s.OBJECT:
        text, label = f"{name} is {info}, {what} is needed", {name: f"this is {info}"}
        if type(at.arg(name)) is e.Tuple:
            raise at.fail(codes.WRONG_KIND, text, **label)
        raise at.fail_by_spec(codes.WRONG_KIND, text, **label)


def need_scalar(at: Site, info: s.StructInfo | None, name: str) -> p.PrimExpr | None:
    """The value of an int64 scalar, if known; anything else is refused. TVM takes scalars of any dtype."""
    if isinstance(info, s.PrimStructInfo) and info.dtype is INT64:
        return info.value
    text, label = f"{name} is {info}, a scalar of int64 is needed", {name: f"this is {info}"}
    if isinstance(info, s.PrimStructInfo):
        raise at.fail_by_spec(codes.WRONG_KIND, text, **label)
    raise at.fail(codes.WRONG_KIND, text, **label)


def need_text(at: Site, name: str) -> None:
    """Refuse anything but a string literal."""
    given = at.arg(name)
    if given is not None and type(given) is not e.StringImm:
        raise at.fail(codes.WRONG_KIND, f"{name} is not a string literal", **{name: 'write R.str("…")'})


def need_dtype(at: Site, name: str = "dtype") -> DType | None:
    """The dtype given by an operand; anything but a dtype literal is refused."""
    given = at.arg(name)
    if type(given) is e.DataTypeImm:
        return given.value
    raise at.fail(codes.WRONG_KIND, f"{name} is not a dtype literal", **{name: 'write R.dtype("…")'})


def need_device(at: Site, info: s.StructInfo | None, name: str) -> None:
    """Refuse a device number below -1."""
    number = need_scalar(at, info, name)
    if isinstance(number, p.IntImm) and number.value < -1:
        text = f"{name} is {number}, the least is -1, the host"
        raise at.fail(codes.BAD_ATTRIBUTE, text, **{name: f"this is {number}"})


def placed(at: Site, info: s.StructInfo, device: s.StructInfo) -> s.StructInfo:
    """A new tensor on the device with this number, if the module names its devices."""
    if not at.places or not isinstance(info, s.TensorStructInfo) or info.vdevice is not None:
        return info
    number = device.value if isinstance(device, s.PrimStructInfo) else None
    place = numbered_device(at, number.value) if isinstance(number, p.IntImm) else None
    return info if place is None else s.TensorStructInfo(info.shape, info.dtype, info.ndim, place)


def need_offset(at: Site, info: s.StructInfo | None, name: str) -> p.PrimExpr | None:
    """Refuse an offset in bytes below 0."""
    offset = need_scalar(at, info, name)
    if offset is not None and at_least(offset, 0) is Answer.NO:
        text = f"{name} is {offset}, memory before the start can't be used"
        raise at.fail(codes.BAD_ATTRIBUTE, text, **{name: f"this is {offset}"}, help="use 0 or more bytes")
    return offset


def need_lengths(at: Site, shape: s.ShapeStructInfo, name: str = "shape") -> None:
    """Refuse a length below 0."""
    for length in shape.values or ():
        if isinstance(length, p.IntImm) and length.value < 0:
            text = f"{name} has the length {length}, the least is 0"
            raise at.fail(
                codes.BAD_ATTRIBUTE, text, **{name: f"this is {shape}"}, help="use lengths of at least 0"
            )


class BuiltinAllocTensor(Lowered, name="relax.builtin.alloc_tensor"):
    """A new uninitialized tensor, before memory is planned.

    Its memory ends with the last use. The explorer fills it with 0, so that no undefined value is shown.
    """

    source = "TVM, relax/op/op.cc"
    raises = (codes.BAD_ATTRIBUTE,)
    allocates = True
    shape: Shape = operand("its lengths, written out as R.shape([…])")
    dtype: DType = operand("its element type")
    runtime_device_index: Prim = operand(_DEVICE)
    storage_scope: str = operand(_SCOPE, default="global")
    examples = ('(n,4) "float32" 0 -> f32[n,4]', '(2,n) "int8" -1 "global" -> i8[2,n]')

    @staticmethod
    def infer(
        at: Site,
        shape: s.StructInfo,
        dtype: object,
        runtime_device_index: s.StructInfo,
        storage_scope: object,
    ) -> s.StructInfo:
        """The shape and dtype as written, or the StructInfo in ty_args."""
        element_dtype = need_dtype(at)
        need_device(at, runtime_device_index, "runtime_device_index")
        need_text(at, "storage_scope")
        dims = need_shape(at, shape, "shape")
        if type(at.arg("shape")) is not e.ShapeExpr:
            raise at.fail(
                codes.WRONG_KIND,
                "shape is a value, its lengths must be written out",
                shape="write R.shape([…])",
            )
        need_lengths(at, dims)
        info = at.call.sinfo_args[0] if at.call.sinfo_args else s.TensorStructInfo(dims.values, element_dtype)
        return placed(at, info, runtime_device_index)


class AllocStorage(Lowered):
    """Base of the allocations of storages."""

    allocates = True

    @staticmethod
    def _check(
        at: Site, size: s.StructInfo, name: str, device: s.StructInfo, device_name: str
    ) -> s.StructInfo:
        if isinstance(size, s.ShapeStructInfo):
            need_lengths(at, size, name)
        else:
            need_object(at, size, name, "a shape")
        need_device(at, device, device_name)
        need_dtype(at)
        need_text(at, "storage_scope")
        return s.OBJECT


class MemoryAllocStorage(AllocStorage, name="relax.memory.alloc_storage"):
    """A piece of memory for tensors, as planned by StaticPlanBlockMemory."""

    source = "TVM, relax/op/memory"
    raises = (codes.BAD_ATTRIBUTE,)
    size: Shape = operand("the number of bytes that it holds")
    virtual_device_index: Prim = operand(_DEVICE)
    storage_scope: str = operand(_SCOPE)
    dtype: DType = operand("what is stored; the size is in bytes all the same")
    examples = ('(64,) 0 "global" "uint8" -> object', '(n*16,) 0 "global" "float32" -> object')

    @staticmethod
    def infer(
        at: Site, size: s.StructInfo, virtual_device_index: s.StructInfo, storage_scope: object, dtype: object
    ) -> s.StructInfo:
        """An object."""
        return AllocStorage._check(at, size, "size", virtual_device_index, "virtual_device_index")


class VmAllocStorage(AllocStorage, name="relax.vm.alloc_storage"):
    """A piece of memory for tensors, as allocated by the virtual machine."""

    source = "TVM, relax/op/op.cc"
    raises = (codes.BAD_ATTRIBUTE,)
    phase = Phase.VM
    shape: Shape = operand("the number of elements of `dtype` that it holds, usually one number of bytes")
    runtime_device_index: Prim = operand(_DEVICE)
    dtype: DType = operand("what `shape` counts")
    storage_scope: str = operand(_SCOPE, default="global")
    examples = ('(64,) 0 "uint8" -> object', '(n*16,) -1 "uint8" "global" -> object')

    @staticmethod
    def infer(
        at: Site,
        shape: s.StructInfo,
        runtime_device_index: s.StructInfo,
        dtype: object,
        storage_scope: object,
    ) -> s.StructInfo:
        """An object."""
        return AllocStorage._check(at, shape, "shape", runtime_device_index, "runtime_device_index")


class AllocTensor(Lowered):
    """Base of the tensors in storages."""

    shares = ("storage",)
    allocates = True
    storage: Value = operand("the storage it is placed in")
    offset: Prim = operand("the offset in bytes from the start of the storage")
    shape: Shape = operand("its lengths")
    dtype: DType = operand("its element type")
    runtime_device_ind: Prim = operand(_DEVICE, default=0)

    @staticmethod
    def _check(
        at: Site,
        storage: s.StructInfo,
        offset: s.StructInfo,
        shape: s.StructInfo,
        device: s.StructInfo,
        known: bool,
    ) -> tuple[s.ShapeStructInfo, DType | None]:
        need_object(at, storage, "storage")
        need_offset(at, offset, "offset")
        need_device(at, device, "runtime_device_ind")
        lengths = need_shape(at, shape, "shape", known)
        need_lengths(at, lengths)
        return lengths, need_dtype(at)


class MemoryAllocTensor(AllocTensor, name="relax.memory.alloc_tensor"):
    """A tensor at an offset in a storage, as planned by StaticPlanBlockMemory."""

    source = "TVM, relax/op/memory"
    raises = (codes.BAD_ATTRIBUTE,)
    examples = ('object 0 (n,4) "float32" -> f32[n,4]', 'object 64 (2,3) "int8" 0 -> i8[2,3]')

    @staticmethod
    def infer(
        at: Site,
        storage: s.StructInfo,
        offset: s.StructInfo,
        shape: s.StructInfo,
        dtype: object,
        runtime_device_ind: s.StructInfo,
    ) -> s.StructInfo:
        """The given shape and dtype; a shape held by a variable stays that variable."""
        lengths, element_dtype = AllocTensor._check(at, storage, offset, shape, runtime_device_ind, True)
        info = (
            rules.of_shape(at, "shape", element_dtype)
            if lengths.values is None
            else s.TensorStructInfo(lengths.values, element_dtype)
        )
        return placed(at, info, runtime_device_ind)


class VmAllocTensor(AllocTensor, name="relax.vm.alloc_tensor"):
    """A tensor at an offset in a storage, as created by the virtual machine."""

    source = "TVM, relax/op/op.cc"
    raises = (codes.BAD_ATTRIBUTE,)
    phase = Phase.VM
    examples = ('object 0 (n,4) "float32" -> f32[n,4]', 'object 64 (2,3) "int8" 0 -> i8[2,3]')

    @staticmethod
    def infer(
        at: Site,
        storage: s.StructInfo,
        offset: s.StructInfo,
        shape: s.StructInfo,
        dtype: object,
        runtime_device_ind: s.StructInfo,
    ) -> s.StructInfo:
        """The given shape and dtype, as far as the shape is known."""
        lengths, element_dtype = AllocTensor._check(at, storage, offset, shape, runtime_device_ind, False)
        info = s.TensorStructInfo(lengths.values, element_dtype, lengths.ndim)
        return placed(at, info, runtime_device_ind)


class Killed(Lowered):
    """Base of the operators that end the lifetime of an object."""

    raises = (codes.WRONG_KIND,)
    pure = False

    @staticmethod
    def infer(at: Site, ended: s.StructInfo) -> s.StructInfo:
        """An empty tuple."""
        name = at.op.operands[0].name if at.op is not None else ""
        several = type(at.arg(name)) is e.Tuple
        text, label = f"{name} is {ended}, which has no memory", {name: f"this is {ended}"}
        if several:
            raise at.fail(codes.WRONG_KIND, text, **label)
        if isinstance(ended, (s.PrimStructInfo, s.ShapeStructInfo, s.FuncStructInfo)):
            raise at.fail_by_spec(codes.WRONG_KIND, text, **label)
        return s.VOID


class MemoryKillStorage(Killed, name="relax.memory.kill_storage"):
    """Ends the lifetime of a storage: nothing may use it afterwards."""

    source = "TVM, relax/op/memory"
    writes = ("storage",)
    storage: Value = operand("the storage")
    examples = ("object -> ()",)


class MemoryKillTensor(Killed, name="relax.memory.kill_tensor"):
    """Ends the lifetime of a tensor: nothing may use it afterwards."""

    source = "TVM, relax/op/memory"
    writes = ("tensor",)
    tensor: Value = operand("the tensor")
    examples = ("f32[n,4] -> ()", "object -> ()")


class VmKillObject(Killed, name="relax.vm.kill_object"):
    """Ends the lifetime of a tensor or storage: its register is empty afterwards."""

    source = "TVM, relax/op/op.cc"
    writes = ("obj",)
    phase = Phase.VM
    obj: Value = operand("the tensor or storage")
    examples = ("f32[n,4] -> ()", "object -> ()")


class VmCallTirDyn(Lowered, name="relax.vm.call_tir_dyn"):
    """A call of a PrimFunc with tensors and, last, a shape whose lengths are passed as scalars."""

    source = "TVM, relax/op/op.cc"
    raises = (codes.WRONG_KIND, codes.NOT_CALLABLE)
    writes = ("args",)
    phase = Phase.VM
    func: Function = operand("the PrimFunc")
    args: Value = operand("a tuple of inputs, outputs, and last the shape")
    pure = False

    @staticmethod
    def infer(at: Site, func: s.StructInfo, args: s.StructInfo) -> s.StructInfo:
        """An empty tuple: the outputs are among the arguments."""
        named = isinstance(at.arg("func"), (e.GlobalVar, e.ExternFunc))
        if not named and not isinstance(func, s.FuncStructInfo):
            raise at.fail(codes.NOT_CALLABLE, "func is no function", func=f"this is {func}")
        if not isinstance(args, s.TupleStructInfo):
            raise at.fail(codes.WRONG_KIND, f"args is {args}, a tuple is needed", args=f"this is {args}")
        return s.VOID


class StopLiftParams(Lowered, name="relax.builtin.stop_lift_params"):
    """The tensor itself, marked so that LiftTransformParams lifts nothing beyond it."""

    source = "TVM, relax/op/op.cc"
    shares = ("x",)
    stops = Stops.NEVER
    phase = Phase.HIGH
    x: Tensor = operand("the tensor")
    examples = ("f32[n,4] -> f32[n,4]", "i8[] -> i8[]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo) -> s.StructInfo:
        """The StructInfo of x."""
        return rules.tensor(at, x, "x")
