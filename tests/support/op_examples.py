"""The notation of operator examples, as programs.

    f32[n,4] f32[4,8] out_dtype="float32" -> f32[n,8]

Tensors are a short dtype and their lengths. `f32` alone has an unknown rank, `f32[?,?]` unknown lengths, `any[n]` an
unknown dtype. `(n,4)` is a shape if the operator takes one, else a tuple: of tensors `(f32[2],f32[3])` or of scalars
`(0,1)`. A bare number is a scalar, `_` omits an optional operand. `name=value` is an attribute, written as in
TVMScript. The result may be a tensor, a tuple of tensors, or `shape(n,4)`. Text in braces is literal TVMScript, an
operand or the value of an attribute; it may name the PrimFunc `cls.kernel` and the function `cls.other`. `object` and
`callable` are values of unknown type and of unknown signature. `out_ty=` and `ty_args=` take types in this notation,
several in brackets. `f32[4]@cuda:1` lies on a device of the module, `f32[4,6]@S0.R` is divided over its mesh of two axes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Kind, Op

DTYPES = {
    "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "f8": "float8_e4m3fn", "bool": "bool", "any": "",
}  # fmt: skip
TENSOR = re.compile(r"([a-z]+\d*)(?:\[([^\]]*)\])?(?:@([\w.:]+))?$")
ATTRIBUTE = re.compile(r"[a-z_][a-z_0-9]*=")
NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?$")

TYPES = ("out_ty", "ty_args")
"""Attributes that give the type of the result."""
DEVICES = (("llvm", 0), ("cuda", 0), ("cuda", 1))
MESHES = ("R.device_mesh((2,), I.Range(0, 2))", "R.device_mesh((2, 2), I.Range(0, 4))")
"""The devices and meshes of modules with calls about devices; meshes are indexed by their number of axes."""
PLACES = f"""    I.module_global_infos({{
        "vdevice": [{", ".join(f'I.vdevice("{kind}", {number}, "global")' for kind, number in DEVICES)}],
        "mesh": [{", ".join(MESHES)}],
    }})
"""
CALLABLE = 'R.Callable((R.Tensor((4,), dtype="float32"),), R.Tensor((4,), dtype="float32"), True)'

OTHERS = """    @T.prim_func(private=True, s_tir=True)
    def kernel(a: T.Buffer((T.int64(4),), "float32"), b: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                v = T.axis.spatial(T.int64(4), i)
                b[v] = a[v] + T.float32(1)

    @R.function
    def other(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        y = R.add(x, x)
        return y
"""


@dataclass(frozen=True)
class Example:
    """One example of an operator: the texts of its operands, attributes and result."""

    op: type[Op]
    text: str
    operands: tuple[str, ...]
    attributes: tuple[str, ...]
    result: str

    def __str__(self) -> str:
        return f"{self.op.name.removeprefix('relax.')}: {self.text}"

    def function(self, name: str = "main", *, expect: bool = False) -> str:
        """The example as a function of an I.ir_module; with `expect` its last parameter has the result's type."""
        params: list[str] = []
        args = [self._argument(text, n, params) for n, text in enumerate(self.operands) if text != "_"]
        if expect:
            params.append(f"expected: {annotation(self.result)}")
        types = [text for text in self.attributes if text.startswith(TYPES) and "={" not in text]
        symbols = sorted(set(re.findall(r"\b[a-z]\b", " ".join((*self.operands, *types, self.result)))))
        if symbols:
            params.append(f"symbols: R.Shape([{', '.join(repr(s) for s in symbols)}])".replace("'", '"'))
        attributes = [_attribute(text) for text in self.attributes]
        call = f"R.{self.op.name.removeprefix('relax.')}({', '.join((*args, *attributes))})"
        pure = "" if self.op.pure else "(pure=False)"
        head = [f"@R.function{pure}", f"def {name}({', '.join(params)}):"]
        own = ["    cls = Module"] if "cls." in self.text else []
        body = [*[f"    {s} = T.int64()" for s in symbols], *own, f"    result = {call}", "    return result"]
        return "\n".join(f"    {line}" for line in (*head, *body)) + "\n"

    def module(self, *, expect: bool = False) -> str:
        """The example as a whole text."""
        text = " ".join((*self.operands, *self.attributes))
        first = [PLACES] if any(word in text for word in ("@", "vdevice", "mesh")) else []
        return module([*first, self.function(expect=expect), *([OTHERS] if "cls." in text else [])])

    def _argument(self, text: str, number: int, params: list[str]) -> str:
        kinds = [operand.kind for operand in self.op.operands] or [Kind.ANY]
        kind = kinds[min(number, len(kinds) - 1)]
        name = f"x{len(params)}"
        if text.startswith("{"):
            return text[1:-1]
        if NUMBER.match(text) or (kind in (Kind.PRIM, Kind.PRIMS) and not text.startswith("(")):
            return f"R.prim_value({text})"
        if text.startswith("(") and kind.startswith("Shape"):
            return f"R.shape([{text[1:-1].rstrip(',')}])"
        if text.startswith("(") and "[" not in text:
            return f"({', '.join(f'R.prim_value({item})' for item in split(text[1:-1]))},)"
        if text.startswith("("):
            return f"({', '.join(self._argument(item, number, params) for item in split(text[1:-1]))},)"
        if text.startswith('"'):
            return text
        params.append(f"{name}: {annotation(text)}")
        return name


def _attribute(text: str) -> str:
    """An attribute in TVMScript."""
    name, _, value = text.partition("=")
    if value.startswith("{"):
        return f"{name}={value[1:-1]}"
    if name not in TYPES:
        return text
    if value.startswith("["):
        return f"{name}=[{', '.join(annotation(item, inside=True) for item in split(value[1:-1]))}]"
    return f"{name}={annotation(value, inside=True)}"


def annotation(text: str, *, inside: bool = False) -> str:
    """A type as the annotation of a parameter, or `inside` a function, where symbols are variables."""
    if text.startswith("shape"):
        if "(" not in text or "?" in text:
            return f"R.Shape(ndim={text.count('?')})" if "(" in text else "R.Shape"
        return f"R.Shape([{', '.join(dims(text[6:-1], inside))}])"
    if text.startswith("("):
        return f"R.Tuple({', '.join(annotation(item, inside=inside) for item in split(text[1:-1]))})"
    if text in ("object", "callable"):
        return CALLABLE if text == "callable" else f"R.Object{'()' if inside else ''}"
    if text.startswith("scalar"):
        return f'R.Prim("{text[7:-1]}")'
    match = TENSOR.match(text)
    assert match is not None, f"{text!r} is no tensor"
    kind, lengths, place = DTYPES[match[1]], match[2], match[3] or ""
    parts = [f'dtype="{kind}"'] if kind else []
    if lengths is not None and "?" in lengths:
        parts.append(f"ndim={lengths.count('?')}")
    elif lengths is not None:
        parts.insert(0, f"({', '.join(dims(lengths, inside))}{',' if lengths else ''})")
    if ":" in place:
        parts.append(f'vdevice="{place}"')
    elif place:
        placement = re.sub(r"S(\d+)", r"S[\1]", place).replace(".", ", ")
        parts += [f'device_mesh="mesh[{place.count(".")}]"', f'placement="{placement}"']
    return f"R.{'DTensor' if place and ':' not in place else 'Tensor'}({', '.join(parts)})"


def dims(text: str, inside: bool = False) -> list[str]:
    """Lengths as in annotations: symbols in quotes, unless `inside` the function."""
    return [item if inside or NUMBER.match(item) else f'"{item}"' for item in split(text)]


def split(text: str) -> list[str]:
    """The items of a list, at the commas outside brackets."""
    return [item for item in re.split(r",(?![^\[]*\])(?![^(]*\))", text) if item]


def read(op: type[Op], text: str) -> Example:
    """An example of `op`."""
    left, _, result = f" {text}".rpartition(" -> ") if "-> " in text else (text, "", "")
    words = re.findall(r'(?:[^\s{"]|\{[^}]*\}|"[^"]*"|")+', left)
    attributes = tuple(word for word in words if ATTRIBUTE.match(word))
    return Example(op, text, tuple(word for word in words if not ATTRIBUTE.match(word)), attributes, result)


def examples() -> Iterator[Example]:
    """Every example of every operator."""
    for op in table().values():
        for text in op.examples:
            yield read(op, text)


def module(functions: list[str]) -> str:
    """Functions as a text that our parser and TVM's read."""
    head = "from tvm.script import ir as I\nfrom tvm.script import relax as R\nfrom tvm.script import tirx as T\n"
    return f"{head}\n@I.ir_module\nclass Module:\n" + "\n".join(functions)
