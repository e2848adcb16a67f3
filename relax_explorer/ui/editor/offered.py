"""What can stand at a place: operators with their signatures, attributes, and the variables that fit by their StructInfo."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from relax_explorer.core import ops
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import info_holders, info_vars
from relax_explorer.core.ops.kit import page
from relax_explorer.core.ops.kit.decl import Kind, Op, Parameter, Phase
from relax_explorer.core.phases.module_check import examined
from relax_explorer.core.source import Source
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.ui.editor.document import Document, Position, Range
from relax_explorer.ui.editor.hover_text import kernel_signature, signature
from relax_explorer.ui.editor.logical_lines import Token, logical_lines
from relax_explorer.ui.editor.regions import Definition, Region
from relax_explorer.viz.explanations import INFOS
from relax_explorer.viz.short import short_info

_BEHIND_R = re.compile(r"(?<![\w.])R\.([\w.]*)$")
_MEMBER = re.compile(r"(?<![\w.])(\w+)\.(\w*)$")
_WORD = re.compile(r"\w*$")
_DTYPES = ("float32", "float16", "bfloat16", "float64", "int64", "int32", "int8", "uint8", "bool")
_MOST_ASKED = 120  # variables whose fit is asked of inference at once
_MOST_ABOVE = 60  # lines of an open call above the cursor
_FORMS = {
    "function": "a Relax function", "dataflow": "a dataflow block", "output": "what a dataflow block passes on",
    "match_cast": "a value checked against a StructInfo at run time", "tuple": "a tuple of values", "const": "a constant",
    "shape": "a shape", "prim_value": "a scalar", "str": "a string", "dtype": "a dtype", "func_attr": "attributes of the function",
    "emit_te": "not read: run the builder, and print the module", "ExternFunc": "a packed function as a value",
}  # fmt: skip
_OFFERED_FORMS = tuple(name for name in _FORMS if name != "emit_te")


@dataclass(frozen=True, slots=True)
class Offer:
    """One completion: its text, what it is (`operator`, `attribute`, `variable`, `function`, `type` or `value`), and what is told of it."""

    text: str
    kind: str
    detail: str
    range: Range
    page: str = ""
    rank: int = 0
    is_unfinished: bool = False


@dataclass(frozen=True, slots=True)
class OpenCall:
    """The call around a cursor: its dotted name, the number of the argument, its keyword, and what is written of the others."""

    name: str
    number: int
    keyword: str
    words: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    inside: tuple[str, ...] = field(default=())

    @property
    def operator(self) -> type[Op] | None:
        """The operator that is called."""
        name = self.name.removeprefix("R.")
        return ops.find(f"relax.{name}") if self.name.startswith("R.") else None


def offers(region: Region, document: Document, position: Position) -> list[Offer]:
    """What can stand at a position of a document. `region` is the program around it, perhaps as it was before the last edits."""
    before = document.line(position.line)[: position.column]
    if _is_in_comment(before):
        return []
    if (match := _BEHIND_R.search(before)) is not None:
        return list(_behind_r(_range(position, match[1]), match[1]))
    member = _MEMBER.search(before)
    if member is not None and member[1] in ("cls", "self", region.names.class_name):
        return list(_members(region, _range(position, member[2])))
    if member is not None:
        return []
    call = call_at(document, region.lines, position)
    place = _range(position, (_WORD.search(before) or [""])[0])
    if _is_in_string(before):
        return [Offer(name, "value", "dtype", place) for name in _DTYPES] if _wants_dtype(call) else []
    found: list[Offer] = []
    if call is not None and call.operator is not None and not call.keyword:
        found += _attributes(call.operator, call, place)
    return [*found, *_variables(region, position, call, place)]


def _range(position: Position, word: str) -> Range:
    return Range(Position(position.line, position.column - len(word)), position)


def _is_in_comment(before: str) -> bool:
    text, mark, _ = before.rpartition("#")
    return bool(mark) and not _is_in_string(text)


def _is_in_string(before: str) -> bool:
    return bool(before.count('"') % 2 or before.count("'") % 2)


def _wants_dtype(call: OpenCall | None) -> bool:
    if call is None:
        return False
    if call.keyword in ("dtype", "out_dtype"):
        return True
    if call.name in ("R.Tensor", "R.const", "R.Prim", "R.astype"):
        return call.number == 1 or call.name == "R.Prim"
    parameter = _parameter(call)
    return parameter is not None and parameter.kind is Kind.DTYPE


# -- names behind a dot ----------------------------------------------------------------------------------------------


def _behind_r(place: Range, typed: str) -> Iterator[Offer]:
    for short in sorted(name.removeprefix("relax.") for name in ops.names()):
        if short.startswith(typed) or typed in short:
            op = ops.get(f"relax.{short}")
            rank = 0 if op.phase is Phase.HIGH else 2
            yield Offer(short, "operator", op.signature(), place, page.sentence(op), rank)
    for name in INFOS:
        yield Offer(name, "type", f"R.{name}", place, rank=1)
    for name in _OFFERED_FORMS:
        if ops.find(f"relax.{name}") is None:
            yield Offer(name, "function", _FORMS[name], place, rank=1)


def _members(region: Region, place: Range) -> Iterator[Offer]:
    """The functions and kernels of the module."""
    functions = region.module.functions if region.module is not None else {}
    names = {fn.name: fn.kind for fn in region.names.functions if not fn.outer}
    for name, kind in names.items():
        found = functions.get(name)
        detail = kind
        if isinstance(found, PrimFunc):
            detail = kernel_signature(name, found)
        elif type(found) is e.Function:
            detail = signature(name, found)
        yield Offer(name, "function", detail, place)


def _attributes(op: type[Op], call: OpenCall, place: Range) -> Iterator[Offer]:
    """The attributes that the call does not give yet."""
    for parameter in op.parameters:
        if parameter.name in call.words or (parameter.is_operand and parameter.required):
            continue
        default = page.default_words(parameter)
        detail = page.kind_words(parameter) + (f", default {default}" if default else "")
        yield Offer(f"{parameter.name}=", "attribute", detail, place, parameter.doc, 1)


# -- variables -------------------------------------------------------------------------------------------------------


def _variables(region: Region, position: Position, call: OpenCall | None, place: Range) -> list[Offer]:
    """The variables in scope: in a call of an operator those that fit, all elsewhere."""
    seen = _in_scope(region, position)
    parameter = _parameter(call) if call is not None else None
    if call is not None and call.operator is not None and (parameter is None or not parameter.is_operand):
        return []
    if parameter is not None:
        kind = (
            Kind.TENSOR
            if parameter.kind is Kind.TENSORS and call is not None and call.inside
            else parameter.kind
        )
        seen = [item for item in seen if _is_of_kind(item.info, kind)]
        seen = _fitting(seen, region, call)
    found = [Offer(item.name, "variable", short_info(item.info), place) for item in seen]
    return found + [
        Offer(name, "value", "shape variable", place, rank=1) for name in _lengths(seen) if parameter is None
    ]


def _in_scope(region: Region, position: Position) -> list[Definition]:
    """The variables that a line sees, the nearest first; of several with a name only that one."""
    fn = region.names.function_at(position.line)
    if fn is None:
        return []
    owner = fn.outer.partition(".")[0] or fn.name
    found: dict[str, Definition] = {}
    for place, item in sorted(region.definitions.items(), reverse=True):
        if item.function == owner and place.line < position.line and item.name != "_":
            found.setdefault(item.name, item)
    return list(found.values())


def _lengths(seen: Iterable[Definition]) -> list[str]:
    return list(
        dict.fromkeys(var.name for item in seen if item.info is not None for var in info_vars(item.info))
    )


_INFOS_OF_KIND: dict[Kind, tuple[type, ...]] = {
    Kind.TENSOR: (s.TensorStructInfo,), Kind.TENSORS: (s.TupleStructInfo,), Kind.SHAPE: (s.ShapeStructInfo,),
    Kind.PRIM: (s.PrimStructInfo,), Kind.FUNCTION: (s.FuncStructInfo,),
}  # fmt: skip


def _is_of_kind(info: s.StructInfo | None, kind: Kind) -> bool:
    """True if a value of a StructInfo may be an operand of a kind."""
    wanted = _INFOS_OF_KIND.get(kind)
    return (
        wanted is None
        or info is None
        or (isinstance(info, (*wanted, s.ObjectStructInfo)) and type(info) is not s.StructInfo)
    )


def _parameter(call: OpenCall) -> Parameter | None:
    """The parameter of the operator that the argument at the cursor belongs to."""
    op = call.operator
    if op is None or (call.inside and call.inside[-1] == "call"):
        return None
    if call.keyword:
        return next((item for item in op.parameters if item.name == call.keyword), None)
    return op.parameters[call.number] if call.number < len(op.parameters) else None


def _fitting(seen: Sequence[Definition], region: Region, call: OpenCall | None) -> list[Definition]:
    """The variables with which inference accepts the call, if the other operands are written; all, if it can't tell."""
    if call is None or call.operator is None or call.inside or call.keyword:
        return list(seen)
    operands = [item for item in call.operator.operands if item.required]
    if len(call.arguments) < len(operands) - 1 or call.number >= len(operands):
        return list(seen)
    others = {word for text in call.arguments for word in re.findall(r"[A-Za-z_]\w*", text)}
    asked = list(seen[:_MOST_ASKED])
    known = {item.name: item for item in [*_in_scope(region, Position(region.lines.stop, 0)), *asked]}
    given = [known[word] for word in others if word in known]
    infos = {
        item.name: item.info
        for item in [*given, *asked]
        if item.info is not None and not info_holders(item.info)
    }
    lines = [
        f"{call.name}({', '.join([*call.arguments[: call.number], item.name, *call.arguments[call.number :]])})"
        for item in asked
    ]
    wrong = _refused(infos, lines)
    return (
        [item for number, item in enumerate(asked) if number not in wrong]
        if len(wrong) < len(asked)
        else list(seen)
    )


def _refused(infos: dict[str, s.StructInfo], calls: Sequence[str]) -> set[int]:
    """The numbers of the calls that are wrong, for variables of these StructInfos."""
    lengths = dict.fromkeys(var.name for info in infos.values() for var in info_vars(info))
    declared = [f'{name} = TypeVar("{name}")' for name in lengths]
    params = ", ".join(f"{name}: {info}" for name, info in infos.items())
    head = [*declared, "@R.function(private=True, pure=False)", f"def _({params}):"]
    body = [f"    _{number} = {text}" for number, text in enumerate(calls)]
    seen = examined(Source("\n".join([*head, *body, "    return R.tuple()"]), "completion"))
    errors = [item.span.line for item in seen.problems if item.is_error and item.span is not None]
    return {line - len(head) - 1 for line in errors if line > len(head)}


# -- call at a cursor ------------------------------------------------------------------------------------------------


def call_at(document: Document, lines: range, position: Position) -> OpenCall | None:
    """The innermost call with a name whose brackets are open at a position; None outside of calls."""
    first = max(lines.start, position.line - _MOST_ABOVE)
    cut = Document(document.name, document.text[: document.offset(position)])
    tokens: tuple[Token, ...] = ()
    for line in logical_lines(cut, range(first, position.line + 1)):
        tokens = line.tokens
    stack: list[_Open] = []
    for number, token in enumerate(tokens):
        if token.text in ("(", "[", "{"):
            stack.append(_Open(_dotted_before(tokens, number) if token.text == "(" else "", number + 1))
        elif token.text in (")", "]", "}") and stack:
            stack.pop()
        elif stack:
            stack[-1].take(token, tokens[number - 1])
    named = [number for number, item in enumerate(stack) if item.name]
    if not named:
        return None
    call = stack[named[-1]]
    inside = tuple("list" for _ in stack[named[-1] + 1 :])
    return OpenCall(
        call.name, len(call.commas), call.keyword, tuple(call.words), call.arguments(tokens), inside
    )


class _Open:
    """An open bracket: the dotted name before it, where it begins, its commas and its keywords."""

    def __init__(self, name: str, start: int) -> None:
        self.name, self.start = name, start
        self.commas: list[Token] = []
        self.words: list[str] = []
        self.keyword = ""
        self.depth: int | None = None

    def take(self, token: Token, before: Token) -> None:
        """Read on inside of the bracket itself."""
        if token.text == ",":
            self.commas.append(token)
            self.keyword = ""
        elif token.text == "=" and before.kind == "name":
            self.words.append(before.text)
            self.keyword = before.text

    def arguments(self, tokens: Sequence[Token]) -> tuple[str, ...]:
        """The texts of the arguments before the last comma."""
        texts, start = [], self.start
        for comma in self.commas:
            end = next(n for n, token in enumerate(tokens) if token is comma)
            texts.append(_text(tokens[start:end]))
            start = end + 1
        return tuple(texts)


def _text(tokens: Sequence[Token]) -> str:
    return "".join(f"{token.text} " if token.text == "," else token.text for token in tokens)


def _dotted_before(tokens: Sequence[Token], number: int) -> str:
    """The dotted name in front of a bracket."""
    parts: list[str] = []
    for token in reversed(tokens[:number]):
        if token.kind == "name" and (not parts or parts[0] == "."):
            parts.insert(0, token.text)
        elif token.text == "." and parts and parts[0] != ".":
            parts.insert(0, ".")
        else:
            break
    return "".join(parts)


# -- signature help --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a call: its text, the parameters with what they are, and the one at the cursor (None: no more)."""

    text: str
    doc: str
    parameters: tuple[tuple[str, str], ...]
    active: int | None


def signature_at(region: Region, document: Document, position: Position) -> Signature | None:
    """The signature of the operator, function or kernel whose call is open at a position."""
    call = call_at(document, region.lines, position)
    if call is None:
        return None
    if call.operator is not None:
        return _of_operator(call.operator, call)
    owner, _, name = call.name.rpartition(".")
    fn = region.module.relax_functions.get(name) if region.module is not None else None
    if owner not in ("cls", "self", "Module", region.names.class_name) or fn is None:
        return None
    parameters = tuple(
        [(f"{param.name}: {short_info(param.struct_info)}", str(param.struct_info)) for param in fn.params]
    )
    active = call.number if call.number < len(parameters) else None
    return Signature(signature(name, fn), "", parameters, active)


def _of_operator(op: type[Op], call: OpenCall) -> Signature:
    names = [
        (_written(parameter, op), f"{page.kind_words(parameter)}: {parameter.doc}")
        for parameter in op.parameters
    ]
    found = _parameter(call)
    active = op.parameters.index(found) if found is not None else None
    if found is None and not call.keyword and op.variadic:
        active = len(op.operands) - 1 if op.operands else None
    return Signature(op.signature(), page.sentence(op), tuple(names), active)


def _written(parameter: Parameter, op: type[Op]) -> str:
    """A parameter as the signature of its operator writes it."""
    inner = op.signature().partition("(")[2]
    match = re.search(
        rf"(?<![\w]){re.escape(parameter.name)}(=(?:\[[^\]]*\]|'[^']*'|[^,)]*))?(?=[,)])", inner
    )
    return match[0] if match is not None else parameter.name
