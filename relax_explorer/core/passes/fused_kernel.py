"""One PrimFunc for a private function of kernel calls: the bodies in sequence, with buffers for the values between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.fold import substitute
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops.kit.decl import NotLowered
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.mutator import Substitution
from relax_explorer.core.tir.traverse import children

Functions = Mapping[str, object]
_Value = Buffer | p.PrimExpr


def fused_kernel(fn: e.Function, functions: Functions) -> t.PrimFunc:
    """The PrimFunc of a function whose bindings are call_tir and fields of tuples. Raises NotLowered for others."""
    return _Fused(fn, functions).kernel()


class _Fused:
    """Builds the PrimFunc. `values` has the buffers and scalars of each Relax variable; a tuple has those of its fields."""

    def __init__(self, fn: e.Function, functions: Functions) -> None:
        self.fn, self.functions = fn, functions
        self.names, self.blocks = FreshNames(), FreshNames()
        self.bound: set[p.PrimVar] = set()  # loop variables and axes so far
        self.values: dict[e.Var, list[_Value]] = {}
        self.params: list[Buffer | p.PrimVar] = []
        self.inner: list[Buffer] = []
        self.body: list[t.Stmt] = []

    def kernel(self) -> t.PrimFunc:
        """The PrimFunc: inputs, then outputs."""
        for param in self.fn.params:
            self.values[param] = self._parameters(param)
            self.params += [q for q in self.values[param] if isinstance(q, (Buffer, p.PrimVar))]
        for binding in bindings(self.fn):
            self._binding(binding)
        outputs = [value for value in self._flat(self.fn.body.body) if isinstance(value, Buffer)]
        if (
            not outputs
            or any(output in self.params for output in outputs)
            or len(set(outputs)) < len(outputs)
        ):
            raise NotLowered("a result is an input, or a result twice")
        inner = tuple([buffer for buffer in self.inner if buffer not in outputs])
        body = self.body[0] if len(self.body) == 1 else t.SeqStmt(tuple(self.body))
        if inner or type(body) is t.SBlock:
            body = t.SBlock("root", (), (), body, alloc_buffers=inner)
        return t.PrimFunc((*self.params, *outputs), body, None, Attrs({"tirx.noalias": True}), True)

    def _parameters(self, param: e.Var) -> list[_Value]:
        info = param.struct_info
        if isinstance(info, s.TensorStructInfo):
            return [self._buffer(param.name, info)]
        if isinstance(info, s.PrimStructInfo):
            return [p.PrimVar(self.names(param.name), info.dtype)]
        if isinstance(info, s.ShapeStructInfo) and info.values is not None:
            return list(info.values)
        raise NotLowered(f"parameter {param.name!r} is {info}")

    def _buffer(self, name: str, info: s.StructInfo) -> Buffer:
        if not isinstance(info, s.TensorStructInfo) or info.dims is None or info.dtype is None:
            raise NotLowered(f"{name!r} is {info}, its lengths and dtype must be written")
        return Buffer(self.names(name), info.dims, info.dtype)

    def _binding(self, binding: e.Binding) -> None:
        value = binding.value
        if type(binding) is not e.VarBinding:
            raise NotLowered("it has a match_cast")
        if type(value) is e.Call and value.op is e.op_ref("relax.call_tir"):
            self.values[binding.var] = self._call(value)
        elif isinstance(value, (e.Var, e.Tuple, e.TupleGetItem)):
            self.values[binding.var] = self._flat(value)
        else:
            raise NotLowered(f"{binding.var.name!r} is not the call of a kernel")

    def _flat(self, value: e.Expr) -> list[_Value]:
        """The buffers and scalars of a value."""
        if isinstance(value, e.Var):
            return self.values[value]
        if type(value) is e.Tuple:
            return [item for field in value.fields for item in self._flat(field)]
        if type(value) is e.TupleGetItem:
            return [self._flat(value.tuple)[value.index]]
        if type(value) is e.PrimValue:
            return [value.value]
        if type(value) is e.ShapeExpr:
            return list(value.values)
        raise NotLowered(f"{type(value).__name__} is no operand of a kernel")

    def _call(self, call: e.Call) -> list[_Value]:
        """Append the body of a kernel; returns its outputs."""
        callee = call.args[0]
        kernel = self.functions.get(callee.name) if isinstance(callee, e.GlobalVar) else None
        if not isinstance(kernel, t.PrimFunc):
            raise NotLowered("it calls something else than a PrimFunc")
        inputs = [item for arg in call.args[1:2] for item in self._flat(arg)]
        out = call.sinfo_args[0]
        infos = out.fields if isinstance(out, s.TupleStructInfo) else (out,)
        names = [q.name for q in kernel.params if isinstance(q, Buffer)][-len(infos) :]
        outputs = [
            self._buffer(f"{name}_intermediate", info) for name, info in zip(names, infos, strict=True)
        ]
        scalars = [item for arg in call.args[2:] for item in self._flat(arg)]
        self._inline(kernel, [*inputs, *outputs, *scalars])
        self.inner += outputs
        return list(outputs)

    def _inline(self, kernel: t.PrimFunc, args: list[_Value]) -> None:
        if len(args) != len(kernel.params):
            raise NotLowered("a kernel gets another number of operands than it has parameters")
        buffers: dict[Buffer, Buffer] = {}
        scalars: dict[p.PrimVar, p.PrimExpr] = {}
        for param, arg in zip(kernel.params, args, strict=True):
            if isinstance(param, Buffer) and isinstance(arg, Buffer):
                buffers[param] = arg
                _match(param, arg, scalars)
            elif isinstance(param, p.PrimVar) and isinstance(arg, p.PrimExpr):
                scalars[param] = arg
            else:
                raise NotLowered("a kernel gets a scalar for a tensor, or a tensor for a scalar")
        body, inner = _root(kernel)
        for buffer in (*inner, *_allocated(body)):
            shape = tuple([substitute(length, scalars) for length in buffer.shape])
            buffers[buffer] = replace(buffer, name=self.names(buffer.name), shape=shape)
        self.inner += [buffers[buffer] for buffer in inner]
        new = _Renamed(scalars, buffers, self.blocks, self.bound).stmt(body)
        self.body += new.stmts if isinstance(new, t.SeqStmt) else (new,)


class _Renamed(Substitution):
    """Replaces variables and buffers. Each block gets a name, and each loop a variable, of its own."""

    def __init__(
        self,
        variables: Mapping[p.PrimVar, p.PrimExpr],
        buffers: Mapping[Buffer, Buffer],
        names: FreshNames,
        bound: set[p.PrimVar],
    ) -> None:
        super().__init__(variables, buffers)
        self.names, self.bound = names, bound

    def binder(self, var: p.PrimVar) -> p.PrimVar:
        """The variable itself, or a new one if a kernel before this one binds it."""
        new = super().binder(var)
        if new in self.bound:
            new = p.PrimVar(var.name, var.dtype, var.pointee)
            self._begin({**self.variables, var: new})
        self.bound.add(new)
        return new

    def stmt(self, node: t.Stmt) -> t.Stmt:
        """Rewrite a statement and everything inside it."""
        if isinstance(node, t.SBlock):
            node = replace(node, name=self.names(node.name))
        return super().stmt(node)


def _match(param: Buffer, arg: Buffer, scalars: dict[p.PrimVar, p.PrimExpr]) -> None:
    """Give the shape variables of a kernel the lengths of the buffer that it gets."""
    if len(param.shape) != len(arg.shape):
        raise NotLowered("a kernel gets a tensor of another rank")
    for length, known in zip(param.shape, arg.shape, strict=True):
        if isinstance(length, p.PrimVar):
            scalars.setdefault(length, known)


def _root(kernel: t.PrimFunc) -> tuple[t.Stmt, tuple[Buffer, ...]]:
    """The statements of a kernel, and the buffers that its root block allocates."""
    body = kernel.body
    if isinstance(body, t.SBlock) and body.name == "root" and not body.iter_vars:
        return body.body, body.alloc_buffers
    return body, ()


def _allocated(node: t.Stmt) -> Iterator[Buffer]:
    """The buffers that inner blocks and statements allocate."""
    if isinstance(node, t.SBlock):
        yield from node.alloc_buffers
        yield from (match.buffer for match in node.match_buffers)
    elif isinstance(node, t.AllocBuffer):
        yield node.buffer
    for child in children(node):
        yield from _allocated(child)
