"""StructInfo as TVMScript text."""

from __future__ import annotations

from collections.abc import Callable

from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.prim import IntImm, PrimExpr, PrimVar
from relax_explorer.core.ir.prim_text import PrimText, quoted


class StructInfoText:
    """Writes StructInfo in one dialect.

    `object_name` is `R.Any` or `R.Object`; with `old` scalars print `R.Prim("int64")`. In signatures TVM quotes compound
    dimensions (`quote`), and the older dialect every symbolic one (`quote_all`). With `for_tvm` a scalar inside of another
    StructInfo is `R.Prim("int64")`, for TVM prints but can't read `T.int64` there.
    """

    def __init__(
        self,
        prim: PrimText | None = None,
        var_name: Callable[[object], str] | None = None,
        object_name: str = "R.Any",
        old: bool = False,
        quote: bool = False,
        quote_all: bool = False,
        for_tvm: bool = False,
    ) -> None:
        self.prim = prim or PrimText()
        self.var_name = var_name or (lambda var: str(getattr(var, "name", var)))
        self.object_name, self.old, self.quote, self.quote_all = object_name, old, quote, quote_all
        self.for_tvm = for_tvm

    def write(self, info: s.StructInfo) -> str:
        """`info` as text."""
        return WRITERS[type(info)](self, info)

    def part(self, info: s.StructInfo) -> str:
        """StructInfo inside of another one."""
        if self.for_tvm and isinstance(info, s.PrimStructInfo) and not self.old:
            return f'R.Prim("{info.dtype}")'
        return self.write(info)

    def dim(self, expr: PrimExpr) -> str:
        """One dimension."""
        text = self.prim.write(expr)
        if type(expr) is IntImm or (type(expr) is PrimVar and not self.quote_all):
            return text
        return quoted(text) if self.quote or self.quote_all else text

    def dims(self, values: tuple[PrimExpr, ...]) -> str:
        """Dimensions in parentheses, as a Python tuple."""
        inner = ", ".join([self.dim(value) for value in values])
        return f"({inner},)" if len(values) == 1 else f"({inner})"


def _object(out: StructInfoText, info: s.ObjectStructInfo) -> str:
    return out.object_name


def _prim(out: StructInfoText, info: s.PrimStructInfo) -> str:
    if not out.old:
        return f"T.{info.dtype}"
    if info.value is None:
        return f'R.Prim("{info.dtype}")'
    dtype = "" if info.dtype is INT64 else f'"{info.dtype}", '  # which a length of that dialect always has
    return f"R.Prim({dtype}value={quoted(out.prim.write(info.value))})"


def _shape(out: StructInfoText, info: s.ShapeStructInfo) -> str:
    if info.values is not None:
        return f"R.Shape([{', '.join([out.dim(value) for value in info.values])}])"
    return f"R.Shape(ndim={info.ndim})" if info.ndim >= 0 else "R.Shape"


def _tensor(out: StructInfoText, info: s.TensorStructInfo) -> str:
    parts = []
    if type(info.shape) is tuple:
        parts.append(out.dims(info.shape))
    elif info.shape is not None:
        parts.append(out.var_name(info.shape))
    if info.dtype is not None:
        parts.append(f'dtype="{info.dtype}"')
    if info.shape is None and info.ndim >= 0:
        parts.append(f"ndim={info.ndim}")
    if info.vdevice is not None and s.MESH_MARK in info.vdevice:
        mesh, _, placement = info.vdevice.partition(s.MESH_MARK)
        where = mesh if mesh.endswith(")") else quoted(mesh)
        return f"R.DTensor({', '.join([*parts, f'device_mesh={where}', f'placement={quoted(placement)}'])})"
    if info.vdevice is not None:
        parts.append(f"vdevice={quoted(info.vdevice)}")
    return f"R.Tensor({', '.join(parts)})" if parts else "R.Tensor"


def _tuple(out: StructInfoText, info: s.TupleStructInfo) -> str:
    return f"R.Tuple({', '.join([out.part(field) for field in info.fields])})" if info.fields else "R.Tuple"


def _func(out: StructInfoText, info: s.FuncStructInfo) -> str:
    if info.params is None:
        plain = info.ret is s.OBJECT and not info.pure and info.derive_func is None
        parts = [] if plain else [f"ret={out.part(info.ret)}", f"purity={info.pure}"]
        parts += [f'derive_func="{info.derive_func}"'] if info.derive_func else []
        return f"R.Callable({', '.join(parts)})" if parts else "R.Callable"
    params = ", ".join([out.part(param) for param in info.params])
    return f"R.Callable(({params}{',' if len(info.params) == 1 else ''}), {out.part(info.ret)}, {info.pure})"


WRITERS: dict[type, Callable[..., str]] = {
    s.ObjectStructInfo: _object,
    s.PrimStructInfo: _prim,
    s.ShapeStructInfo: _shape,
    s.TensorStructInfo: _tensor,
    s.TupleStructInfo: _tuple,
    s.FuncStructInfo: _func,
}
_PLAIN = StructInfoText()


def struct_info_text(info: s.StructInfo) -> str:
    """`info` in the default dialect, variables by their name hints."""
    return _PLAIN.write(info)
