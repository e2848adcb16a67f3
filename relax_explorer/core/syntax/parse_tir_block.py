"""Reads the heads of blocks in PrimFuncs, and constants of attributes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.codes import syntax as syntax_codes
from relax_explorer.core.codes import tir as tir_codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim, freeze
from relax_explorer.core.ir.dtype import BOOL, FLOAT32, HANDLE, INT32, INT64, DType
from relax_explorer.core.ir.node import replace
from relax_explorer.core.syntax.context import Context, LocalNames, Skip
from relax_explorer.core.syntax.parse_tir_expr import TirExprReader
from relax_explorer.core.syntax.python_tree import (
    NO_LITERAL,
    dotted,
    dtype_of_prefix,
    elements,
    placed_tree,
    plain_constant,
)
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.mutator import Substitution
from relax_explorer.core.tir.prim_expr import ORIGIN, BufferLoad, BufferPtr
from relax_explorer.core.tir.stmt import Buffer, BufferRegion, Range
from relax_explorer.core.tir.traverse import subexpressions

# -- parse tir buffer ------------------------------------------------------------------------------------------------
# Reads the buffers of PrimFuncs, with shapes and options. A scalar is a buffer with one element.


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
        items = elements(shape)
        dims = tuple([self._dim(part) for part in items])
        scope = arguments.get("scope")
        strides = arguments.get("strides")
        return Buffer(
            name,
            dims,
            self.expr.dtype(arguments["dtype"]) if "dtype" in arguments else FLOAT32,
            str(scope.value) if isinstance(scope, ast.Constant) else t.SCOPES.get(dotted(call.func), ""),
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
        return self.allocate(name, Buffer(name, dims, element, "local", span=self.ctx.span(annotation)))

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
            inner = placed_tree(node)
        except ValueError:
            raise self.ctx.fail(
                tir_codes.TIR_EXPRESSION, f"{node.value[:40]!r} is not a dimension", node
            ) from None
        return self._dim_expr(inner)

    def _need_declared(self, node: ast.expr) -> None:
        """Report lengths that are declared below or nowhere: TVM reads a PrimFunc from top to bottom."""
        for part in ast.walk(node):
            if not isinstance(part, ast.Name) or part.id in self.names or part.id == "T":
                continue
            if self.ctx.type_vars.get(part.id) is None:
                text = f"length {part.id!r} is not defined yet"
                help = f"declare it above: {part.id} = T.int64()"
                self.ctx.refuse(syntax_codes.UNDEFINED, text, part, help=help)

    def _dim_expr(self, node: ast.expr) -> p.PrimExpr:
        """A dimension. New names in it define variables."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id not in self.names and part.id != "T":
                element = self.declared.get(part.id) or self.ctx.type_vars.get(part.id)
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


# -- parse tir block -------------------------------------------------------------------------------------------------


Assigned = ast.Assign | ast.AnnAssign
_AXES = {"S": "spatial", "R": "reduce", "O": "opaque"}


class BlockParts:
    """The properties of a block, from the statements at its head."""

    def __init__(self) -> None:
        self.iter_vars: list[t.IterVar] = []
        self.iter_values: list[p.PrimExpr] = []
        self.reads: tuple[BufferRegion, ...] | None = None
        self.writes: tuple[BufferRegion, ...] | None = None
        self.predicate: p.PrimExpr | None = None
        self.init: t.Stmt | None = None
        self.allocs: list[Buffer] = []
        self.matches: list[t.MatchBufferRegion] = []
        self.annotations = EMPTY


def constant(node: ast.expr, expr: TirExprReader) -> Any:
    """A compile-time constant of an attribute. Anything else is kept as text."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return freeze(
            {str(constant(key, expr)): constant(value, expr) for key, value in pairs if key is not None}
        )
    plain = plain_constant(node, lambda item: constant(item, expr))
    if plain is not NO_LITERAL:
        return plain
    if isinstance(node, ast.Call) and dtype_of_prefix(dotted(node.func)) is not None:
        return expr.read(node)
    if isinstance(node, ast.Name) and isinstance(expr.names.get(node.id), Buffer):
        return expr.read(node)
    return Verbatim(ast.unparse(node))


class BlockReader:
    """Reads the statements at the head of a block, and keeps the names and blocks of the function."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.names: LocalNames[Any] = LocalNames()
        self.expr = TirExprReader(ctx, self.names, self._define)
        self.buffers = BufferReader(ctx, self.names, self.expr, self._define)
        self.blocks: list[BlockParts] = [BlockParts()]  # the root first
        self.domains: dict[p.PrimExpr, Range] = {}  # of the loop variables

    def _define(self, name: str, dtype: DType) -> p.PrimVar:
        var = p.PrimVar(name, dtype)
        self.names[name] = var
        return var

    def bad(self, node: ast.AST) -> Skip:
        """Report that `node` is not a statement, and return a Skip for the caller to raise."""
        text = f"{ast.unparse(node).splitlines()[0][:60]!r} is not a statement of a PrimFunc"
        return self.ctx.fail(tir_codes.TIR_STATEMENT, text, node, help=tir_codes.TIR_STATEMENT.why)

    def _need_block(self, call: ast.Call) -> None:
        if len(self.blocks) == 1:
            is_match = dotted(call.func) == "T.match_buffer"
            subject = "T.match_buffer of a buffer" if is_match else dotted(call.func)
            text = f"{subject} describes a block, but it is not inside one"
            raise self.ctx.fail(
                tir_codes.TIR_STATEMENT, text, call, help='write it under `with T.sblock("name"):`'
            )

    def _remap(self, targets: list[ast.expr], call: ast.Call) -> None:
        kinds = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""
        is_listed = len(call.args) > 1 and isinstance(call.args[1], (ast.List, ast.Tuple))
        values = elements(call.args[1]) if is_listed else []
        if not isinstance(kinds, str) or not len(kinds) == len(values) == len(targets):
            raise self.ctx.fail(
                tir_codes.TIR_STATEMENT,
                "T.axis.remap takes one kind and one loop variable for each axis",
                call,
            )
        for target, letter, value in zip(targets, kinds, values, strict=True):
            loop = self.expr.index(value)
            domain = self._loop_domain(loop)
            self._add_axis(
                target.id if isinstance(target, ast.Name) else "v", _AXES.get(letter, "spatial"), domain, loop
            )

    def _loop_domain(self, loop: p.PrimExpr) -> Range:
        domain = self.domains.get(loop)
        return domain if domain is not None else Range(p.IntImm(0, loop.dtype), loop)

    def _axis(self, target: str, axis_kind: str, call: ast.Call) -> None:
        self._need_block(call)
        if axis_kind == "remap":
            self._remap([ast.Name(target)], call)
            return
        if len(call.args) != 2:
            raise self.ctx.fail(
                tir_codes.TIR_STATEMENT, f"T.axis.{axis_kind} takes a domain and a value", call
            )
        domain, value = call.args
        if isinstance(domain, (ast.Tuple, ast.List)) and len(domain.elts) == 2:
            stop, start = self.expr.align(self.expr.index(domain.elts[1]), self.expr.index(domain.elts[0]))
            axis_domain = Range(start, self.expr.extent(start, stop))
        else:
            extent = self.expr.index(domain)
            axis_domain = Range(p.IntImm(0, extent.dtype), extent)
        self._add_axis(target, axis_kind, axis_domain, self.expr.read(value))

    def _add_axis(self, name: str, kind: str, domain: Range, value: p.PrimExpr) -> None:
        parts = self.blocks[-1]
        parts.iter_vars.append(t.IterVar(self._define(name, domain.extent.dtype), domain, kind))
        parts.iter_values.append(value)

    def _reads(self, call: ast.Call) -> None:
        self._need_block(call)
        self.blocks[-1].reads = self._regions(call)

    def _writes(self, call: ast.Call) -> None:
        self._need_block(call)
        self.blocks[-1].writes = self._regions(call)

    def _regions(self, call: ast.Call) -> tuple[BufferRegion, ...]:
        items = elements(call.args[0]) if len(call.args) == 1 else call.args
        return tuple([self.expr.region(item) for item in items])

    def _where(self, call: ast.Call) -> None:
        self._need_block(call)
        if len(call.args) != 1:
            raise self.ctx.fail(codes.BAD_CALL, "T.where takes one condition", call)
        self.blocks[-1].predicate = self.expr.truth(call.args[0])

    def _block_attr(self, call: ast.Call) -> None:
        self._need_block(call)
        attrs = constant(call.args[0], self.expr) if call.args else EMPTY
        self.blocks[-1].annotations = attrs if isinstance(attrs, Attrs) else EMPTY


# -- parse tir assign ------------------------------------------------------------------------------------------------
# Reads assignments in PrimFuncs: stores, variables, scalars and buffers.


_BLOCK_ALLOCS = frozenset({"T.sblock_alloc_buffer"})
_ALLOCS = frozenset({"T.alloc_buffer", "T.alloc_local", "T.alloc_shared", "T.decl_buffer", "T.Buffer"})


class AssignmentReader(BlockReader):
    """Reads assignments and declarations."""

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.params: list[Buffer | p.PrimVar] = []
        self.handles: dict[str, int] = {}
        self.old = ctx.dialect.old
        self.computed: set[p.PrimVar] = set()  # variables assigned by statements

    def _assign(self, node: ast.Assign) -> t.Stmt | None:
        target = node.targets[0]
        if len(node.targets) != 1:
            raise self.bad(node)
        if isinstance(target, ast.Subscript):
            return self._store(target, node.value, node)
        call = node.value if isinstance(node.value, ast.Call) else None
        name = dotted(call.func) if call is not None else ""
        if isinstance(target, ast.Tuple) and call is not None and name == "T.axis.remap":
            self._need_block(call)
            self._remap(target.elts, call)
            return None
        if isinstance(target, ast.Tuple):
            return self._several(target, node)
        if not isinstance(target, ast.Name) or call is None:
            return self._plain(target, node)
        return self._named_call(target.id, name, call, node)

    def _several(self, target: ast.Tuple, node: ast.Assign) -> t.Stmt | None:
        values = node.value.elts if isinstance(node.value, ast.Tuple) else []
        if len(values) != len(target.elts):
            raise self.bad(node)
        pairs = zip(target.elts, values, strict=True)
        results = [
            self._assign(ast.copy_location(ast.Assign([result], value), node)) for result, value in pairs
        ]
        flat = [
            part
            for result in results
            if result
            for part in (result.stmts if type(result) is t.SeqStmt else (result,))
        ]
        return t.SeqStmt(tuple(flat)) if flat else None

    def _plain(self, target: ast.expr, node: ast.Assign) -> t.Stmt:
        """`x = expression`: a store to a scalar, or a new one. For a pointer, and in the older dialect, a new variable."""
        if not isinstance(target, ast.Name):
            raise self.bad(node)
        view = self.buffers.view(target.id, node.value)
        if view is not None:
            return t.AllocBuffer(view, "decl_buffer", span=self.ctx.span(node))
        bound = self.names.get(target.id)
        value = self.expr.read(node.value)
        if isinstance(bound, Buffer) and bound.is_scalar:
            return self._stored(bound, ORIGIN, value, node)
        if self.old or value.dtype is HANDLE:
            return self._let(target.id, value.dtype, value, node)
        return self._scalar(target.id, value.dtype, value, node)

    def _let(self, name: str, dtype: DType, value: p.PrimExpr, node: ast.stmt) -> t.Stmt:
        var = self._define(name, dtype)
        self.computed.add(var)
        return t.LetStmt(var, value, self.ctx.span(node))

    def _scalar(self, name: str, dtype: DType, value: p.PrimExpr | None, node: Assigned) -> t.Stmt:
        """A new scalar, with its first value if there is one."""
        buffer = self.buffers.scalar(name, dtype, node)
        alloc = t.AllocBuffer(buffer, "local_scalar", span=self.ctx.span(node))
        if value is None:
            return alloc
        return t.SeqStmt((alloc, self._stored(buffer, ORIGIN, value, node)))

    def _named_call(self, target: str, name: str, call: ast.Call, node: ast.Assign) -> t.Stmt | None:
        if name.startswith("T.axis."):
            self._axis(target, name.removeprefix("T.axis."), call)
        elif name == "T.match_buffer":
            self._match_buffer(target, call)
        elif name in _BLOCK_ALLOCS or (name == "T.alloc_buffer" and self.old):
            self.blocks[-1].allocs.append(self.buffers.allocate(target, self.buffers.read(target, call)))
        elif name in _ALLOCS:
            buffer = self.buffers.allocate(target, self.buffers.read(target, call))
            if name == "T.Buffer":
                buffer = self.buffers.announce(target, buffer)
            return t.AllocBuffer(buffer, name.removeprefix("T."), span=self.ctx.span(node))
        elif name == "T.local_scalar" and len(call.args) == 1:
            scalar = self.buffers.scalar(target, self.expr.dtype(call.args[0]), node)
            return t.AllocBuffer(scalar, "local_scalar", span=self.ctx.span(node))
        elif dtype_of_prefix(name) is not None and not call.args:
            if not isinstance(self.names.get(target), p.PrimVar):
                self._define(target, dtype_of_prefix(name) or INT64)
        elif name == "T.env_thread":
            raise self.bad(node)
        else:
            return self._plain(ast.Name(target), node)
        return None

    def _match_buffer(self, target: str, call: ast.Call) -> None:
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Name) and first.id in self.handles:
            buffer = self.buffers.read(target, call, 1)
            loads = any(isinstance(part, BufferLoad) for part in subexpressions(*buffer.shape))
            if loads or not self.computed.isdisjoint(p.free_vars(*buffer.shape)):
                text = f"the shape of parameter {first.id!r} depends on values computed in the body"
                raise self.ctx.fail(
                    tir_codes.TIR_PARAMETER, text, call, help="declare its variables: n = T.int64()"
                )
            if isinstance(self.params[self.handles[first.id]], Buffer):
                text = f"parameter {first.id!r} is a buffer already"
                raise self.ctx.fail(tir_codes.TIR_PARAMETER, text, call, help="match it once")
            self.params[self.handles[first.id]] = buffer
            self.names[target] = buffer
            return
        if first is None:
            raise self.bad(call)
        region = self.expr.region(first)
        buffer = self.buffers.read(target, call, 1, is_view=True)
        self.names[target] = buffer
        self._need_block(call)
        self.blocks[-1].matches.append(t.MatchBufferRegion(buffer, region))

    def _store(self, target: ast.Subscript, value: ast.expr, node: Assigned) -> t.Stmt:
        buffer, indices = self.expr.access(target)
        return self._stored(buffer, indices, self.expr.read(value), node)

    def _stored(
        self, buffer: Buffer, indices: tuple[p.PrimExpr, ...], value: p.PrimExpr, node: Assigned
    ) -> t.Stmt:
        element = buffer.dtype
        if (
            (isinstance(value, p.IntImm) or (isinstance(value, p.FloatImm) and element.is_float))
            and value.dtype is not element
            and not element.is_bool
        ):
            value = self.expr.literal(value.value, element, node.value or node)
        return t.BufferStore(buffer, indices, value, self.ctx.span(node))

    def _aug_assign(self, node: ast.AugAssign) -> t.Stmt:
        target = node.target
        if not isinstance(target, (ast.Subscript, ast.Name)):
            raise self.bad(node)
        load = copy(target)
        load.ctx = ast.Load()
        assign = ast.Assign([target], ast.copy_location(ast.BinOp(load, node.op, node.value), node))
        store = self._assign(ast.copy_location(assign, node))
        if not isinstance(store, t.BufferStore):
            raise self.bad(node)
        return store

    def _ann_assign(self, node: ast.AnnAssign) -> t.Stmt | None:
        """A variable `v: T.let[T.float32] = value`, a scalar `v: T.float32 = value`, or a buffer `v: T.float32[4]`."""
        if not isinstance(node.target, ast.Name):
            raise self.bad(node)
        name, annotation = node.target.id, node.annotation
        vector = self.buffers.vector(name, annotation) if node.value is None else None
        if vector is not None:
            return t.AllocBuffer(vector, "alloc_local", span=self.ctx.span(node))
        is_let = isinstance(annotation, ast.Subscript) or dotted(annotation) == "T.let"
        inner = annotation.slice if isinstance(annotation, ast.Subscript) else annotation
        element = dtype_of_prefix(dotted(inner.func if isinstance(inner, ast.Call) else inner))
        value = None if node.value is None else self.expr.read(node.value)
        if element is not None and isinstance(value, p.IntImm) and value.dtype is not element and node.value:
            value = self.expr.literal(value.value, element, node.value)
        if not is_let and not self.old and element is not None and element is not HANDLE:
            return self._scalar(name, element, value, node)
        if value is None:
            self._define(name, element or INT64)
            return None
        return self._let(name, element or value.dtype, value, node)
