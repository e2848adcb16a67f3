"""A structural hash that is the same in every process. It can address content on disk."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.index_map import IndexMap
from relax_explorer.core.ir.tensor_place import Sharding, VDevice
from relax_explorer.core.program.module import IRModule


class Hasher:
    """Collects tokens in a fixed order. Variables are numbered by first occurrence.

    StructInfos and attributes occur in many places, so their text is cached. At the second place all their variables have
    numbers already.
    """

    def __init__(self) -> None:
        self._numbers: dict[object, str] = {}
        self._texts: dict[object, str] = {}
        self._scalars: dict[p.PrimExpr, e.Var] = {}  # scalar parameters, by their values
        self._tokens: list[str] = []

    def hash(self, value: Any) -> int:
        """The 64-bit hash of `value`."""
        self.feed(value)
        text = _joined(self._tokens).encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")

    def token(self, *values: Any) -> None:
        """Add plain tokens."""
        self._tokens.extend([str(value) for value in values])

    def number(self, var: e.Var | p.PrimVar) -> None:
        """Add the number of a variable."""
        self._tokens.append(self._numbers.get(var) or self._numbered(var))

    def _numbered(self, var: e.Var | p.PrimVar) -> str:
        number = self._numbers[var] = f"v{len(self._numbers) - len(self._scalars)}"
        return number

    def feed(self, value: Any) -> None:
        """Add any value of the IR, without recursion on nested calls, tuples and scalar expressions."""
        stack = [value]
        while stack:
            part = stack.pop()
            part_type = type(part)
            if part_type in _PARTS:
                name, fields = _PARTS[part_type]
                self._tokens.append(name)
                stack.extend([getattr(part, field) for field in reversed(fields)])
            elif part_type is tuple:
                self._tokens.append(f"[{len(part)}")
                stack.extend(reversed(part))
            elif part_type in _KEPT:
                self._tokens.append(self._texts.get(part) or self._kept(part))
            elif isinstance(part, p.PrimExpr) and part_type is not p.PrimVar:
                self._tokens.append(self._texts.get(part) or self._prims(part))
            else:
                self._one(part)

    def _kept(self, value: s.StructInfo | Attrs | e.OpRef) -> str:
        """The text of a value, which is cached."""
        outside, self._tokens = self._tokens, []
        if isinstance(value, s.StructInfo):
            self._info(value)
        elif isinstance(value, Attrs):
            self.all([item for pair in value.items() for item in pair])
        else:
            self.token("op", value.name)
        text = self._texts[value] = _joined(self._tokens)
        self._tokens = outside
        return text

    def _one(self, value: Any) -> None:
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

    def all(self, values: Any) -> None:
        """Add a sequence with its length."""
        self.token("[", len(values))
        for value in values:
            self.feed(value)

    def _prims(self, root: p.PrimExpr) -> str:
        """The text of a scalar expression, which is cached. The numbers of its variables stay."""
        outside, self._tokens = self._tokens, []
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
        text = self._texts[root] = _joined(self._tokens)
        self._tokens = outside
        return text

    def _info(self, value: s.StructInfo) -> None:
        self.token(type(value).__name__)
        if type(value) is s.PrimStructInfo and value.value in self._scalars:
            value = s.PrimStructInfo(value.dtype)  # whether a parameter's value is named does not count
        for name in type(value).__slots__:
            if name != "__weakref__":
                self.feed(getattr(value, name))

    def _constant(self, value: e.Constant) -> None:
        if value.data is None:
            self.token("constant", value.key)
        else:
            self.token(
                "constant",
                value.data.dtype,
                value.data.shape,
                blake2b(value.data.tobytes(), digest_size=8).hexdigest(),
            )

    def _prim_value(self, value: e.PrimValue) -> None:
        param = self._scalars.get(value.value)
        if param is not None:  # in a text, both are one name
            self.number(param)
        else:
            self.token("prim")
            self.feed(value.value)

    def _function(self, value: e.Function) -> None:
        self.token("function", len(value.params), value.pure is False)
        for param in value.params:
            self.number(param)
            info = param.struct_info
            if type(info) is s.PrimStructInfo and type(info.value) is p.PrimVar:
                self._scalars[info.value] = param
                self._numbers[info.value] = self._numbers[param]
            self.feed(info)
        self.feed(value.attrs)
        self.feed(value.ret_struct_info)
        self.feed(value.body)

    def _block(self, block: e.BindingBlock) -> None:
        self.token(type(block).__name__, len(block.bindings))
        for binding in block.bindings:
            value = binding.value
            if (
                type(value) is not e.Call
                or isinstance(binding, e.MatchCast)
                or not self._plain_call(binding.var, value)
            ):
                self._binding(binding)

    def _binding(self, binding: e.Binding) -> None:
        """Add any binding."""
        var = binding.var
        self._tokens.append(type(binding).__name__)
        if type(binding.value) is e.Function and var is not None:
            self.number(var)
        self.feed(binding.value)
        if isinstance(binding, e.MatchCast):
            self.feed(binding.struct_info)
        if var is not None:
            self.number(var)
            self._tokens.append(_VARS[type(var)])
            self.feed(var.struct_info)

    def _plain_call(self, var: e.Var | None, call: e.Call) -> bool:
        """Add a binding of an operator call on numbered variables, the most frequent one. Otherwise return False."""
        if call.sinfo_args or var is None:
            return False
        texts, numbers = self._texts, self._numbers
        op, attrs, info = texts.get(call.op), texts.get(call.attrs), texts.get(var.struct_info)
        args = [number for arg in call.args if (number := numbers.get(arg)) is not None]
        if op is None or attrs is None or info is None or len(args) < len(call.args):
            return False
        number = numbers.get(var) or self._numbered(var)
        self._tokens += [
            "VarBinding",
            "call",
            op,
            f"[{len(args)}",
            *args,
            attrs,
            "[0",
            number,
            _VARS[type(var)],
            info,
        ]
        return True

    def _module(self, value: IRModule) -> None:
        self.token("module")
        for name in sorted(value.functions):
            self.token(name)
            self.token(Hasher().hash(value.functions[name]))
        self.feed(value.attrs)
        self.feed(value.global_infos)


_VARS = {e.Var: "V", e.DataflowVar: "D"}


def _joined(tokens: list[str]) -> str:
    return "\x1f".join(tokens)


def _node(kind: str, *fields: str) -> Callable[[Hasher, Any], None]:
    def rule(hasher: Hasher, value: Any) -> None:
        hasher.token(kind)
        for name in fields:
            hasher.feed(getattr(value, name))

    return rule


_PARTS: dict[type, tuple[str, tuple[str, ...]]] = {
    e.Tuple: ("tuple", ("fields",)),
    e.TupleGetItem: ("item", ("tuple", "index")),
    e.Call: ("call", ("op", "args", "attrs", "sinfo_args")),
}
_KEPT = frozenset(
    {
        s.ObjectStructInfo, s.PrimStructInfo, s.ShapeStructInfo, s.TensorStructInfo, s.TupleStructInfo, s.FuncStructInfo,
        Attrs, e.OpRef,
    }
)  # fmt: skip
_RULES: dict[type, Callable[[Hasher, Any], None]] = {
    IndexMap: _node("index map", "places", "results", "inverse"),
    p.PrimVar: Hasher.number,
    e.Var: Hasher.number,
    e.DataflowVar: Hasher.number,
    e.GlobalVar: _node("global", "name"),
    e.ExternFunc: _node("extern", "name"),
    e.Constant: Hasher._constant,
    e.ShapeExpr: _node("shape", "values"),
    e.PrimValue: Hasher._prim_value,
    e.StringImm: _node("string", "value"),
    e.DataTypeImm: _node("dtype", "value"),
    e.If: _node("if", "condition", "true_branch", "false_branch"),
    e.SeqExpr: _node("seq", "blocks", "body"),
    e.BindingBlock: Hasher._block,
    e.DataflowBlock: Hasher._block,
    e.Function: Hasher._function,
    e.OpaqueFunction: _node("opaque", "decorator", "text"),
    IRModule: Hasher._module,
}
