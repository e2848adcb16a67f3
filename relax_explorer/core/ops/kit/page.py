"""The documentation of an operator, read from its class. Pages and tables are made of it."""

from __future__ import annotations

import inspect
import linecache
import re
from functools import lru_cache
from typing import Any

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Code
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ops.kit.decl import (
    ANY_OPERAND,
    CALLING_PHASES,
    Fusion,
    Kind,
    Op,
    Parameter,
)

_OPERANDS = {
    Kind.TENSOR: "tensor",
    Kind.TENSORS: "tuple of tensors",
    Kind.SHAPE: "shape",
    Kind.PRIM: "scalar",
    Kind.PRIMS: "tuple of scalars",
    Kind.DTYPE: "dtype",
    Kind.STR: "string",
    Kind.FUNCTION: "function",
    Kind.ARGUMENTS: "tuple of arguments",
    Kind.VALUE: "any value",
}
_ATTRIBUTES = {
    Kind.INT: "integer",
    Kind.FLOAT: "number",
    Kind.FLOAT_IMM: "number or FloatImm",
    Kind.BOOL: "True or False",
    Kind.STR: "string",
    Kind.DTYPE: "dtype",
    Kind.AXES: "axis or list of axes",
    Kind.INTS: "integer or list of integers",
    Kind.INT_LIST: "list of integers",
    Kind.NUMBERS: "number or list of numbers",
    Kind.INT_OR_INTS: "integer, or else list of integers",
    Kind.INDEX_MAP: "index map",
    Kind.EXPR: "scalar expression",
    Kind.ANY: "any constant",
}
_FUSIONS = {
    Fusion.ELEMENTWISE: "element-wise: fused with any neighbour",
    Fusion.BROADCAST: "broadcasting: fused with element-wise neighbours and others that broadcast",
    Fusion.INJECTIVE: "injective: each element of the result is one of the operands, fused with neighbours before and after",
    Fusion.REDUCE: "reduction: fused with what is element-wise before it",
    Fusion.OUT_ELEMENTWISE: "complex: what is element-wise after it is fused into it",
    Fusion.TUPLE: "tuple: fused with all that make its fields",
    Fusion.OPAQUE: "opaque: never fused",
}


def kind_words(parameter: Parameter) -> str:
    """The kind of a parameter in plain words."""
    if parameter.is_operand:
        return _OPERANDS[parameter.kind]
    return _ATTRIBUTES[parameter.kind] + (" or None" if parameter.is_optional else "")


def kind_phrase(parameter: Parameter) -> str:
    """The kind of a parameter as part of a sentence: an integer, a list of integers, True or False."""
    return " or ".join(map(_with_article, kind_words(parameter).split(" or ")))


def _with_article(words: str) -> str:
    first, _, rest = words.partition(" ")
    if first == "else":  # `or else a list`
        return f"else {_with_article(rest)}"
    if first in ("True", "False", "None", "any"):
        return words
    return f"{'an' if first[0] in 'aeio' else 'a'} {words}"


def problems(op: type[Op]) -> list[str]:
    """The mistakes in an operator's class, each as a phrase."""
    texts = []
    for q in op.parameters:
        known = _OPERANDS if q.is_operand else _ATTRIBUTES
        if q.kind not in known:
            text = f"{q.name} is of the kind {q.annotation}, which is none of {', '.join(known)}"
            named = q.annotation.startswith(("typing.", "<class"))
            texts.append(text + "; put the annotation in quotes" if named else text)
    operands = {*ANY_OPERAND, *[q.name for q in op.operands]}
    for property_name in ("shares", "writes"):
        unknown = [name for name in getattr(op, property_name) or () if name not in operands]
        if unknown:
            texts.append(f"{property_name} names {unknown[0]!r}, which is no operand")
    if op.phase not in CALLING_PHASES:
        texts.append(f"phase is {op.phase!r}, which is none of {', '.join(CALLING_PHASES)}")
    attributes = {q.name: None for q in op.attributes}
    for name, first in _RULES.items():
        rule = getattr(op, name)
        if rule is None or op.variadic:
            continue
        try:
            inspect.signature(rule).bind(*first, *[None] * len(op.operands), **attributes)
        except TypeError as error:
            takes = ", ".join((*first, *[q.name for q in op.operands], *attributes))
            texts.append(f"{name} is called with ({takes}), and it has {error}")
    return texts


# The rules of an operator, with the arguments that come before the operands.
_RULES: dict[str, tuple[str, ...]] = {"infer": ("at",), "evaluate": (), "legalize": ("te",)}


def default_words(parameter: Parameter) -> str:
    """The default as TVMScript; empty when there is none."""
    if parameter.required:
        return ""
    value = parameter.default
    if parameter.is_operand and value in (None, ()):
        return "left out"
    if isinstance(value, DType):
        return f'"{value}"'
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def sentence(op: type[Op]) -> str:
    """The first line of the documentation, with the document that defines the operator."""
    first = _doc(op).split("\n", 1)[0]
    return f"{first.removesuffix('.')} ({source(op)})." if source(op) else first


def details(op: type[Op]) -> str:
    """The documentation after its first line."""
    return _doc(op).partition("\n")[2].strip()


def _doc(op: type[Op]) -> str:
    return inspect.cleandoc(op.__doc__ or "")


def source(op: type[Op]) -> str:
    """The document that defines the operator; empty when none is declared."""
    return str(vars(op).get("source", ""))


def place(op: type[Op]) -> str:
    """The file and line where the operator is declared."""
    module = op.__module__.replace(".", "/")
    try:
        own = _class_lines(inspect.getfile(op)) if module.startswith("relax_explorer/") else {}
        return f"{module}.py:{own.get(op.__qualname__) or inspect.getsourcelines(op)[1]}"
    except (OSError, TypeError):  # installed without sources
        return f"{module}.py"


@lru_cache(maxsize=256)
def _class_lines(file: str) -> dict[str, int]:
    """The line of each class of a file. `inspect` would parse the whole file for each class."""
    lines = linecache.getlines(file)
    return {match[1]: number for number, line in enumerate(lines, 1) if (match := _CLASS.match(line))}


_CLASS = re.compile(r"class (\w+)")


def inference(op: type[Op]) -> str:
    """The result's StructInfo, in a sentence."""
    return " ".join((op.infer.__doc__ or "").split()) if op.infer is not Op.infer else "An object."


def errors(op: type[Op]) -> tuple[Code, ...]:
    """The codes of errors and warnings for a call: those of every operator, then the operator's own."""
    possible = {codes.ARGUMENT_COUNT, *op.raises}
    if op.attributes:
        possible.add(codes.BAD_ATTRIBUTE)
    if any(q.kind not in (Kind.VALUE, Kind.FUNCTION, Kind.STR, Kind.DTYPE) for q in op.operands):
        possible.add(codes.WRONG_KIND)
    return tuple(sorted(possible, key=lambda code: code.id))


def evaluation(op: type[Op]) -> str:
    """Whether and how the operator runs here."""
    if op.evaluate is not None:
        large = "; large calls of float32 by their own kernel" if op.by_kernel else ""
        return f"runs: evaluated with numpy{large}"
    return "runs: by the machine" if op.by_machine else f"does not run here: {op.no_evaluate}"


def lowering(op: type[Op]) -> str:
    """Whether LegalizeOps lowers the operator, and into what."""
    if op.legalize is not None:
        other = f", to {op.unfolds_to} where the shape is not known" if op.unfold is not None else ""
        return f"lowered by LegalizeOps to a PrimFunc called {op.kernel_name()}{other}"
    if op.packed:
        return f"lowered by LegalizeOps to a call of {op.packed}, which the runtime has"
    if op.unfold is not None:
        return f"lowered by LegalizeOps to {op.unfolds_to}"
    return f"is not lowered: {op.no_legalize}"


def fusion(op: type[Op]) -> str:
    """How the kernel is fused with its neighbours."""
    return _FUSIONS[op.fusion]


def purity(op: type[Op]) -> str:
    """Whether a call may be repeated, moved or dropped."""
    if not op.pure:
        return "has side effects: it can't stand in a dataflow block"
    return "pure" if op.pure_in_spec else "pure in TVM; the specification says it may have side effects"


def memory(op: type[Op]) -> str:
    """The memory of the result, and the operands that a call may overwrite."""
    shared, written = map(_listed, (op.shares, op.overwritten()))
    text = "the result is new memory"
    if op.shares:
        text = f"the result may share the memory of {shared}"
    elif op.allocates:
        text = "each call gives another piece of memory"
    return f"memory: {text}" + (f"; a call may overwrite {written}" if written else "")


def _listed(names: tuple[str, ...]) -> str:
    return "any operand" if names == ANY_OPERAND else " and ".join(names)


def stops(op: type[Op]) -> str:
    """The run-time errors of a call that inference accepted."""
    kinds = ", ".join(op.defined_for)
    others = f"; at elements of other kinds than {kinds} it may stop" if kinds else ""
    return f"at run time: {op.stops.value}{others}"


def describe(op: type[Op]) -> dict[str, Any]:
    """All of the documentation, as data."""
    return {
        "name": op.name,
        "signature": op.signature(),
        "doc": sentence(op),
        "details": details(op),
        "source": source(op),
        "operands": [_parameter(q) for q in op.operands],
        "variadic": op.variadic,
        "attributes": [_parameter(q) for q in op.attributes],
        "takes_struct_info": op.takes_sinfo,
        "examples": list(op.examples),
        "inference": inference(op),
        "errors": [
            {"code": code.id, "title": code.title, "severity": str(code.severity)} for code in errors(op)
        ],
        "evaluation": {
            "runs": op.evaluate is not None or op.by_machine,
            "by": "numpy" if op.evaluate is not None else "machine" if op.by_machine else None,
            "reason": op.no_evaluate,
        },
        "legalization": {
            "lowered": op.is_lowered(),
            "to": _lowered_to(op),
            "kernel": op.kernel_name() if op.legalize is not None else None,
            "packed": op.packed or None,
            "reason": "" if op.is_lowered() else op.no_legalize,
        },
        "pure": op.pure,
        "pure_in_specification": op.pure and op.pure_in_spec,
        "memory": {
            "shares": list(op.shares),
            "writes": list(op.overwritten()),
            "allocates": op.allocates,
        },
        "stops": op.stops.name.lower(),
        "fusion": op.fusion.name.lower(),
        "phase": op.phase,
        "declared": place(op),
    }


def _lowered_to(op: type[Op]) -> str | None:
    if op.legalize is not None:
        return "kernel"
    return "packed" if op.packed else "bindings" if op.unfold is not None else None


def _parameter(q: Parameter) -> dict[str, Any]:
    entry = {"name": q.name, "type": kind_words(q), "doc": q.doc, "required": q.required, "unit": q.unit}
    return entry if q.required else {**entry, "default": default_words(q)}
