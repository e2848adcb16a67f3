"""Reads the buffers of PrimFuncs, with shapes and options. A scalar is a buffer with one element."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from relax_explorer.core.codes import syntax as syntax_codes
from relax_explorer.core.codes import tir as tir_codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import BOOL, FLOAT32, INT32, DType
from relax_explorer.core.ir.node import replace
from relax_explorer.core.syntax.context import Context
from relax_explorer.core.syntax.parse_tir_expr import TirExprReader
from relax_explorer.core.syntax.python_tree import dotted, dtype_of_prefix, expression_tree
from relax_explorer.core.tir.mutator import Substitution
from relax_explorer.core.tir.prim_expr import BufferPtr
from relax_explorer.core.tir.stmt import Buffer, BufferRegion

_ORDER = ("shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor")
ONE = (p.IntImm(1, INT32),)


class BufferReader:
    """Reads buffers in one PrimFunc. `names` has its variables and buffers, `declared` the dtypes of variables in its body."""

    def __init__(
        self,
        ctx: Context,
        names: dict[str, Any],
        expr: TirExprReader,
        define: Callable[[str, DType], p.PrimVar],
    ) -> None:
        self.ctx, self.names, self.expr, self.define = ctx, names, expr, define
        self.declared: dict[str, DType] = {}
        self.forward: set[Buffer] = set()  # declared by `A = T.Buffer(…)`, for use in a region
        self.allocated: dict[Buffer, Buffer] = {}  # the allocated buffer for each declared one

    def read(self, name: str, call: ast.Call, skip: int = 0, is_view: bool = False) -> Buffer:
        """The buffer of `T.Buffer(shape, dtype, …)` or an allocation. The first `skip` arguments do not describe the buffer."""
        arguments: dict[str, ast.expr] = dict(zip(_ORDER, call.args[skip:], strict=False))
        arguments.update(self.expr.keywords(call))
        shape = arguments.get("shape")
        if shape is None:
            raise self.ctx.fail(tir_codes.TIR_PARAMETER, f"buffer {name!r} has no shape", call)
        items = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]
        dims = tuple([self._dim(part) for part in items])
        scope = arguments.get("scope")
        strides = arguments.get("strides")
        return Buffer(
            name,
            dims,
            self.expr.dtype(arguments["dtype"]) if "dtype" in arguments else FLOAT32,
            str(scope.value) if isinstance(scope, ast.Constant) else "",
            self.expr.read(arguments["data"]) if "data" in arguments else None,
            tuple([self._stride(part, dims if is_view else ()) for part in strides.elts])
            if isinstance(strides, (ast.Tuple, ast.List)) and strides.elts
            else None,
            self.expr.read(arguments["elem_offset"]) if "elem_offset" in arguments else None,
            _int(arguments.get("align")),
            _int(arguments.get("offset_factor")),
            tuple([(key, ast.unparse(value)) for key, value in arguments.items() if key not in _ORDER]),
            span=self.ctx.span(call),
        )

    def view(self, name: str, call: ast.expr) -> Buffer | None:
        """The buffer of `A.view(shape…)`: the memory of A with another shape. None for anything else."""
        function = call.func if isinstance(call, ast.Call) else None
        if (
            not isinstance(call, ast.Call)
            or not isinstance(function, ast.Attribute)
            or function.attr != "view"
            or call.keywords
        ):
            return None
        source = self.names.get(function.value.id) if isinstance(function.value, ast.Name) else None
        dims = tuple([self.expr.read(item) for item in call.args])
        if not isinstance(source, Buffer) or not all(dim.dtype.is_int for dim in dims):
            return None
        pointer = BufferPtr(source, "data")
        viewed = replace(source, name=name, shape=dims, data=pointer, others=(), span=self.ctx.span(call))
        return self.allocate(name, viewed)

    def allocate(self, name: str, buffer: Buffer) -> Buffer:
        """Bind `buffer` to its name. It replaces a buffer that was declared with this name before its allocation."""
        declared = self.names.get(name)
        if isinstance(declared, Buffer) and declared in self.forward and _alike(declared, buffer):
            self.allocated[declared] = buffer
        self.names[name] = buffer
        return buffer

    def announce(self, name: str, buffer: Buffer) -> Buffer:
        """Bind a buffer declared by `A = T.Buffer(…)`. With a single local element, it may be a scalar."""
        if buffer.shape == ONE and buffer.scope == "local":
            buffer = replace(buffer, is_scalar=True)
        self.names[name] = buffer
        self.forward.add(buffer)
        return buffer

    def regions(self, regions: tuple[BufferRegion, ...] | None) -> tuple[BufferRegion, ...] | None:
        """Regions with declared buffers replaced by the allocated ones."""
        if regions is None or not self.allocated:
            return regions
        replaced = Substitution({}, self.allocated)
        return tuple([replaced.node(region) for region in regions])

    def scalar(self, name: str, dtype: DType, place: ast.AST) -> Buffer:
        """A scalar that can be assigned several times. Its name alone refers to its element."""
        buffer = Buffer(name, ONE, dtype, "local", is_scalar=True, span=self.ctx.span(place))
        return self.allocate(name, buffer)

    def vector(self, name: str, annotation: ast.expr) -> Buffer | None:
        """The buffer of `x: T.float32[4]`. None for other annotations."""
        if not isinstance(annotation, ast.Subscript):
            return None
        element = dtype_of_prefix(dotted(annotation.value))
        if element is None:
            return None
        items = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        dims = tuple([self.expr.index(item) for item in items])
        return self.allocate(name, Buffer(name, dims, element, span=self.ctx.span(annotation)))

    def _stride(self, node: ast.expr, dims: tuple[p.PrimExpr, ...]) -> p.PrimExpr:
        """A stride. A name in quotes is a new variable, visible only through the buffer."""
        if not dims or not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            return self._dim(node)
        return p.PrimVar(node.value, dims[0].dtype)

    def _dim(self, node: ast.expr) -> p.PrimExpr:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            self._need_declared(node)
            return self._dim_expr(node)
        try:
            inner = expression_tree(node.value)
        except ValueError:
            raise self.ctx.fail(
                tir_codes.TIR_EXPRESSION, f"{node.value[:40]!r} is not a dimension", node
            ) from None
        for child in ast.walk(inner):
            ast.copy_location(child, node)
        return self._dim_expr(inner)

    def _need_declared(self, node: ast.expr) -> None:
        """Report lengths that are declared below or nowhere: TVM reads a PrimFunc from top to bottom."""
        for part in ast.walk(node):
            if not isinstance(part, ast.Name) or part.id in self.names or part.id == "T":
                continue
            if self.ctx.type_var_dtype(part.id) is None:
                text = f"length {part.id!r} is not defined yet"
                help = f"declare it above: {part.id} = T.int64()"
                self.ctx.refuse(syntax_codes.UNDEFINED, text, part, help=help)

    def _dim_expr(self, node: ast.expr) -> p.PrimExpr:
        """A dimension. New names in it define variables."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id not in self.names and part.id != "T":
                element = self.declared.get(part.id) or self.ctx.type_var_dtype(part.id)
                self.define(part.id, element or INT32)  # the default integer dtype of PrimFuncs
        length = self.expr.index(node)
        if length.dtype is BOOL:
            text = "a length is an integer, this is bool"
            raise self.ctx.fail(tir_codes.TIR_EXPRESSION, text, node, help="write 1 or 0")
        return length


def declarations(body: list[ast.stmt]) -> Iterator[tuple[str, DType]]:
    """The variables declared by `n = T.int64()` in a body."""
    for node in body:
        call = node.value if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(call, ast.Call) and not call.args:
            element = dtype_of_prefix(dotted(call.func))
            if element is not None:
                yield from [(target.id, element) for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and len(target.elts) == len(node.value.elts):
                    pairs = zip(target.elts, node.value.elts, strict=True)
                    yield from declarations([ast.Assign([name], value) for name, value in pairs])


def scalars(node: ast.FunctionDef) -> dict[str, DType]:
    """The integer parameters, by name. A buffer before them may use them as lengths."""
    dtypes = {}
    for argument in node.args.args:
        element = dtype_of_prefix(dotted(argument.annotation)) if argument.annotation is not None else None
        if element is not None and element.is_int:
            dtypes[argument.arg] = element
    return dtypes


def _alike(a: Buffer, b: Buffer) -> bool:
    return a.shape == b.shape and a.dtype is b.dtype


def _int(node: ast.expr | None) -> int | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None
