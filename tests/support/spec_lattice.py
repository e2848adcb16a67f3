"""Short notation for StructInfo and types, and the rules about them, for the literate chapters."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.check.call_graph import default_derive, derive_function, derived, empty_derive
from relax_explorer.core.check.compatible import (
    NO,
    UNKNOWN,
    YES,
    compatible,
    fits,
    more_specific,
    overlaps,
    shape_var_mapping,
    unify,
)
from relax_explorer.core.check.matching import erase
from relax_explorer.core.check.order import glb, is_subtype, lub
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.match import Mismatch, match
from relax_explorer.core.exec.packed import packed_function
from relax_explorer.core.exec.values import Closure, Shape, kind_of
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir import types as t
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ir.expr import Var
from relax_explorer.core.ir.struct_info import VDevice
from relax_explorer.core.ir.types import erase_struct_info, wrap_type
from relax_explorer.core.program.module import IRModule

F32, F16, I32, I64, BOOL = map(dtype, ("float32", "float16", "int32", "int64", "bool"))


def _dims(values: Any) -> tuple[p.PrimExpr, ...]:
    items = values if isinstance(values, (tuple, list)) else (values,)
    return tuple([p.as_prim(item) for item in items])


class _Tensors:
    """`T[2, n]` is a float32 tensor of that shape, `T(f32, 2)` one of rank 2 and unknown shape, `T()` any tensor."""

    def __getitem__(self, dims: Any) -> s.TensorStructInfo:
        return s.TensorStructInfo(_dims(dims), F32)

    def __call__(
        self, element: Any = None, ndim: int = -1, shape: Any = None, vdevice: str | None = None
    ) -> s.TensorStructInfo:
        found = shape if shape is None or isinstance(shape, Var) else _dims(shape)
        return s.TensorStructInfo(found, element, ndim, None if vdevice is None else VDevice.read(vdevice))


class _Shapes:
    """`S[2, n]` is the shape (2, n), `S(2)` a shape of two lengths, `S()` any shape."""

    def __getitem__(self, dims: Any) -> s.ShapeStructInfo:
        return s.ShapeStructInfo(_dims(dims))

    def __call__(self, ndim: int = -1) -> s.ShapeStructInfo:
        return s.ShapeStructInfo(None, ndim)


def function(params: list[s.StructInfo], ret: s.StructInfo, pure: bool = True) -> s.FuncStructInfo:
    """A function with known parameters."""
    return s.FuncStructInfo(tuple(params), ret, pure)


def opaque(derive: str | None = None, ret: s.StructInfo = s.OBJECT, pure: bool = False) -> s.FuncStructInfo:
    """A function with a derive function only."""
    return s.FuncStructInfo(None, ret, pure, derive)


@cache
def types_of_depth(depth: int) -> list[t.Type]:
    """Every type from ranks -1 to 2 and three dtypes, and a sample of tuples and functions of these."""
    flat: list[t.Type] = [t.OBJECT_TYPE, t.PACKED_FUNC_TYPE, t.PrimType(I64), t.PrimType(BOOL)]
    flat += [t.ShapeType(rank) for rank in range(-1, 3)]
    flat += [t.DynTensorType(rank, element) for rank in range(-1, 3) for element in (None, F32, I32)]
    if depth == 0:
        return flat
    few = [
        flat[0],
        flat[1],
        t.ShapeType(),
        t.ShapeType(1),
        t.DynTensorType(),
        t.DynTensorType(1),
        t.DynTensorType(1, F32),
    ]
    nested: list[t.Type] = [t.TupleType(()), t.FuncType((), flat[0]), t.FuncType((), flat[0], False)]
    nested += [t.TupleType((a,)) for a in flat] + [t.TupleType((a, b)) for a in few for b in few[3:]]
    nested += [t.FuncType((a,), b, pure) for a in few for b in few for pure in (True, False)]
    return flat + nested


def above_both(a: t.Type, b: t.Type) -> list[t.Type]:
    """The types of `types_of_depth(1)` above both types."""
    return [other for other in _above(a) if other in _above(b)]


def below_both(a: t.Type, b: t.Type) -> list[t.Type]:
    """The types of `types_of_depth(1)` below both types."""
    return [other for other in _below(a) if other in _below(b)]


@cache
def _above(a: t.Type) -> dict[t.Type, None]:
    return dict.fromkeys([other for other in types_of_depth(1) if is_subtype(a, other)])


@cache
def _below(a: t.Type) -> dict[t.Type, None]:
    return dict.fromkeys([other for other in types_of_depth(1) if is_subtype(other, a)])


@cache
def struct_infos() -> list[s.StructInfo]:
    """A grid of StructInfo over two shape variables, with a sample of tuples and functions."""
    n, m = NAMES["n"], NAMES["m"]
    dims = [(), (2,), (3,), (n,), (m,), (n + 1,), (2, n), (n, n)]
    shapes: list[s.StructInfo] = [s.ShapeStructInfo(_dims(shape)) for shape in dims]
    tensors: list[s.StructInfo] = [
        s.TensorStructInfo(_dims(shape), kind) for shape in dims for kind in (None, F32)
    ]
    tensors += [s.TensorStructInfo(None, kind, rank) for kind in (None, F32) for rank in (-1, 1, 2)]
    shapes += [s.ShapeStructInfo(None, rank) for rank in (-1, 1, 2)]
    flat = [
        s.OBJECT,
        s.PrimStructInfo(I64),
        s.PrimStructInfo(BOOL),
        s.PrimStructInfo(I64, n),
        *shapes,
        *tensors,
    ]
    few = [s.OBJECT, tensors[0], tensors[3], tensors[7], tensors[9], tensors[-2], shapes[3]]
    nested: list[s.StructInfo] = [s.TupleStructInfo((a, b)) for a in few for b in few[:4]]
    nested += [s.FuncStructInfo((a,), b, pure) for a in few for b in few for pure in (True, False)]
    nested += [opaque(), opaque("d"), opaque("e"), opaque(None, few[2]), s.VOID]
    return flat + nested


def about(module: IRModule | None) -> dict[str, Any]:
    """Ways to run the program above a block."""

    def machine(*arguments: Any, function: str = "main") -> Machine:
        """A machine that ran a function of the program to its end."""
        assert module is not None
        made = Machine(rxe.normalize(module), function, list(arguments))
        while not made.done:
            made.step()
        return made

    def debugger(*arguments: Any, function: str = "main") -> Debugger:
        """A debugger at the start of a function of the program."""
        assert module is not None
        return Debugger(rxe.normalize(module), function, list(arguments))

    def trap(*arguments: Any, function: str = "main") -> Diagnostic:
        """The error of a run that fails."""
        with pytest.raises(rxe.Failure) as caught:
            machine(*arguments, function=function)
        found: Diagnostic = caught.value.diagnostics[0]
        return found

    return {"machine": machine, "debugger": debugger, "trap": trap}


def floats(*dims: int, element: str = "float32") -> Any:
    """Zeros of a shape."""
    return np.zeros(dims, element)


NAMES: dict[str, Any] = {
    "T": _Tensors(), "S": _Shapes(), "Tup": lambda *fields: s.TupleStructInfo(fields), "Fn": function, "opaque": opaque,
    "Prim": lambda name, value=None: s.PrimStructInfo(dtype(name), value), "Object": s.OBJECT,
    "f32": F32, "f16": F16, "i32": I32, "i64": I64, "bool_": BOOL,
    "n": p.PrimVar("n"), "m": p.PrimVar("m"), "k": p.PrimVar("k"),
    "DTT": t.DynTensorType, "ST": t.ShapeType, "TT": t.TupleType, "FT": t.FuncType, "PFT": t.PACKED_FUNC_TYPE,
    "OT": t.OBJECT_TYPE, "PT": lambda name: t.PrimType(dtype(name)), "Type": t.Type,
    "YES": YES, "NO": NO, "POSSIBLY": UNKNOWN, "compatible": compatible, "fits": fits, "more_specific": more_specific,
    "overlaps": overlaps, "unify": unify, "mapping": shape_var_mapping, "erase": erase,
    "erase_struct_info": erase_struct_info, "wrap_type": wrap_type, "is_subtype": is_subtype, "lub": lub, "glb": glb,
    "types_of_depth": types_of_depth, "above_both": above_both, "below_both": below_both,
    "packed_function": packed_function, "kind_of": kind_of, "Shape": Shape, "Closure": Closure, "floats": floats,
    "match": match, "Mismatch": Mismatch, "derive_function": derive_function,
    "struct_infos": struct_infos, "derived": derived, "default_derive": default_derive, "empty_derive": empty_derive,
}  # fmt: skip
