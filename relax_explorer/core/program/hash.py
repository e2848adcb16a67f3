"""A structural hash that is the same in every process. It can address content on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.index_map import IndexMap
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.struct_info import Sharding, VDevice
from relax_explorer.core.program.module import IRModule

_DIGESTS: PerNode[str] = PerNode()


def data_digest(array: np.ndarray[Any, np.dtype[Any]]) -> str:
    """The hash of the bytes of an array that is never written, computed once."""
    return _DIGESTS.of(array, lambda array: blake2b(array.tobytes(), digest_size=16).hexdigest())


class _Texts(dict[object, str]):
    """The texts of parts that occur in many places; `make` writes a missing one."""

    def __init__(self, make: Callable[[object], str]) -> None:
        self.make = make

    def __missing__(self, part: object) -> str:
        text = self[part] = self.make(part)
        return text


class Hasher:
    """Collects tokens in a fixed order. Variables are numbered by first occurrence.

    Operands, StructInfos and attributes occur in many places, so their text is kept. At the second place all their variables
    have numbers already.
    """

    def __init__(self) -> None:
        self._texts = _Texts(self._text)
        self._numbered = 0  # variables that have a number of their own
        self.scalars: dict[p.PrimExpr, e.Var] = {}  # scalar parameters, by their values
        self._tokens: list[str] = []

    def hash(self, value: object) -> int:
        """The 64-bit hash of `value`. Call it once."""
        self.feed(value)
        text = _joined(self._tokens).encode("utf-8", "surrogatepass")
        del self._texts  # it holds this object, and would stay until the next collection
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")

    def token(self, *values: object) -> None:
        """Add plain tokens."""
        self._tokens.extend([str(value) for value in values])

    def number(self, var: e.Var | p.PrimVar) -> None:
        """Add the number of a variable."""
        self._tokens.append(self._texts[var])

    def feed(self, value: Any) -> None:
        """Add any value of the IR, without recursion on nested calls, tuples and scalar expressions."""
        tokens, texts = self._tokens, self._texts
        stack = [value]
        while stack:
            part = stack.pop()
            part_type = type(part)
            if part_type in _PARTS:
                name, fields = _PARTS[part_type]
                tokens.append(name)
                stack.extend([getattr(part, field) for field in fields])
            elif part_type is tuple:
                tokens.append(f"[{len(part)}")
                stack.extend(reversed(part))
            elif part_type in _KEPT or isinstance(part, p.PrimExpr):
                tokens.append(texts[part])
            else:
                self._one(part)

    def _text(self, part: object) -> str:
        """The text of a part of the first kind in `feed`, or of any that is kept."""
        if type(part) in _VARIABLES:
            self._numbered += 1
            return f"v{self._numbered - 1}"
        if type(part) is e.ShapeExpr:
            return _joined(["shape", f"[{len(part.values)}", *map(self._texts.__getitem__, part.values)])
        if type(part) is e.Tuple and _VARIABLES.issuperset(map(type, part.fields)):
            return _joined(["tuple", f"[{len(part.fields)}", *map(self._texts.__getitem__, part.fields)])
        outside, self._tokens = self._tokens, []
        if isinstance(part, s.StructInfo):
            self._info(part)
        elif isinstance(part, Attrs):
            self.all(
                [item for name in sorted(part) for item in (name, part[name])]
            )  # the order does not count
        elif isinstance(part, p.PrimExpr):
            self._prims(part)
        elif type(part) is e.OpRef:
            self.token("op", part.name)
        else:
            self.feed(part)
        text = _joined(self._tokens)
        self._tokens = outside
        return text

    def _one(self, value: object) -> None:
        rule = _RULES.get(type(value))
        if rule is not None:
            rule(self, value)
        else:
            self._other(value)

    def _other(self, value: Any) -> None:
        if value is None or isinstance(value, (bool, int, str, DType)):
            self.token(type(value).__name__, value)
        elif isinstance(value, float):
            self.token("float", value.hex())
        elif isinstance(value, (VDevice, Sharding)):
            self.token("str", value)
        elif type(value).__name__ == "PrimFunc":
            from relax_explorer.core.program.prim_func_equal import prim_func_hash

            self.token("prim_func", prim_func_hash(value))
        else:
            raise TypeError(f"no structural hash for {type(value).__name__}")

    def all(self, values: Sequence[object]) -> None:
        """Add a sequence with its length."""
        self.token("[", len(values))
        for value in values:
            self.feed(value)

    def _prims(self, root: p.PrimExpr) -> None:
        """Add a scalar expression."""
        stack = [root]
        while stack:
            value = stack.pop()
            if type(value) is p.PrimVar:
                self.number(value)
                continue
            self.token(type(value).__name__, value.dtype)
            if isinstance(value, (p.IntImm, p.FloatImm, p.PrimString)):
                self._other(value.value)
            elif type(value) is p.PrimCall:
                self.token(value.op, value.keywords)
            children = value.children()
            self._tokens.append(f"[{len(children)}")
            stack.extend(reversed(children))

    def _info(self, value: s.StructInfo) -> None:
        self.token(type(value).__name__)
        if type(value) is s.PrimStructInfo and value.value in self.scalars:
            value = s.PrimStructInfo(value.dtype)  # whether a parameter's value is named does not count
        for name in type(value).__slots__:
            if name != "__weakref__":
                self.feed(getattr(value, name))

    def _constant(self, value: e.Constant) -> None:
        if value.data is None:
            self.token("constant", value.key)
        else:
            self.token("constant", value.data.dtype, value.data.shape, data_digest(value.data))

    def _prim_value(self, value: e.PrimValue) -> None:
        param = self.scalars.get(value.value)
        if param is not None:  # in a text, both are one name
            self.number(param)
        else:
            self.token("prim")
            self.feed(value.value)

    def function(self, value: e.Function) -> None:
        """Add a function."""
        self.token("function", len(value.params), value.pure is False)
        for param in value.params:
            self.number(param)
            info = param.struct_info
            if type(info) is s.PrimStructInfo and type(info.value) is p.PrimVar:
                self.scalars[info.value] = param
                self._texts[info.value] = self._texts[param]
            self.feed(info)
        self.feed(value.attrs)
        self.feed(value.ret_struct_info)
        self.feed(value.body)

    def _block(self, block: e.BindingBlock) -> None:
        """Add a block. Calls, the most frequent bindings, need no further function."""
        tokens, texts = self._tokens, self._texts
        text_of = texts.__getitem__
        tokens += [type(block).__name__, str(len(block.bindings))]
        for binding in block.bindings:
            var, call = binding.var, binding.value
            if type(call) is not e.Call or var is None or type(binding) is e.MatchCast:
                self._binding(binding)
                continue
            args, infos = call.args, call.sinfo_args
            head = texts[call.op], f"[{len(args)}", *map(text_of, args), texts[call.attrs]
            tail = (f"[{len(infos)}", *map(text_of, infos)) if infos else _NONE
            if var not in texts:  # always, but for blocks that come twice
                texts[var] = f"v{self._numbered}"
                self._numbered += 1
            tokens += "VarBinding", "call", *head, *tail, texts[var], _VARS[type(var)], texts[var.struct_info]

    def _binding(self, binding: e.Binding) -> None:
        """Add any binding."""
        var, value, tokens, texts = binding.var, binding.value, self._tokens, self._texts
        tokens.append(type(binding).__name__)
        if type(value) is e.Function and var is not None:
            self.number(var)
        if type(value) is e.TupleGetItem and type(value.tuple) in _VARIABLES:  # most are such
            tokens += "item", texts[value.tuple], "int", str(value.index)
        else:
            self.feed(value)
        if isinstance(binding, e.MatchCast):
            self.feed(binding.struct_info)
        if var is not None:
            tokens += texts[var], _VARS[type(var)]
            self.feed(var.struct_info)

    def _module(self, value: IRModule) -> None:
        self.token("module")
        for name in sorted(value.functions):
            self.token(name)
            self.token(Hasher().hash(value.functions[name]))
        self.feed(value.attrs)
        self.feed(value.global_infos)


_VARS = {e.Var: "V", e.DataflowVar: "D"}
_NONE = ("[0",)  # no items
_VARIABLES = frozenset({e.Var, e.DataflowVar, p.PrimVar})


def _joined(tokens: list[str]) -> str:
    return "\x1f".join(tokens)


def _node(kind: str, *fields: str) -> Callable[[Hasher, Any], None]:
    def rule(hasher: Hasher, value: object) -> None:
        hasher.token(kind)
        for name in fields:
            hasher.feed(getattr(value, name))

    return rule


# The fields in the order of a stack: the last is the first.
_PARTS: dict[type, tuple[str, tuple[str, ...]]] = {
    e.Tuple: ("tuple", ("fields",)),
    e.TupleGetItem: ("item", ("index", "tuple")),
    e.Call: ("call", ("sinfo_args", "attrs", "args", "op")),
    e.ShapeExpr: ("shape", ("values",)),
}
_KEPT = frozenset(
    {
        s.ObjectStructInfo, s.PrimStructInfo, s.ShapeStructInfo, s.TensorStructInfo, s.TupleStructInfo, s.FuncStructInfo,
        Attrs, e.OpRef, e.Var, e.DataflowVar,
    }
)  # fmt: skip
_RULES: dict[type, Callable[[Hasher, Any], None]] = {
    IndexMap: _node("index map", "places", "results", "inverse"),
    e.GlobalVar: _node("global", "name"),
    e.ExternFunc: _node("extern", "name"),
    e.Constant: Hasher._constant,
    e.PrimValue: Hasher._prim_value,
    e.StringImm: _node("string", "value"),
    e.DataTypeImm: _node("dtype", "value"),
    e.If: _node("if", "condition", "true_branch", "false_branch"),
    e.SeqExpr: _node("seq", "blocks", "body"),
    e.BindingBlock: Hasher._block,
    e.DataflowBlock: Hasher._block,
    e.Function: lambda hasher, value: hasher.function(value),
    e.OpaqueFunction: _node("opaque", "decorator", "text"),
    IRModule: Hasher._module,
}
