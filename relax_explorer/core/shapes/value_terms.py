"""The values of a function for the prover: their names, and as numbers what a StructInfo does not tell of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType

KINDS = ("object", "tensor", "shape", "scalar", "tuple", "function")
_GROUPS = {"bool": 1, "int": 2, "uint": 2, "float": 3, "bfloat": 3}
_GROUP = 1 << 28
_LEAST_BITS = {"int": 8, "uint": 8, "float": 16}
_RARE: dict[str, p.PrimVar] = {}
_OF_NUMBER: dict[int, DType] = {}  # as many as there are element types
_TERM = re.compile(r"(?P<value>.+?)\.(?P<what>shape\[\d+\]|dtype|ndim|kind|size|fit)$")
_NO_LENGTHS = frozenset({"dtype", "ndim", "kind", "size", "fit"})
_PART = re.compile(r"\[(\d+)\]")
FLOAT, INTEGER, NUMBER, BOOL_OR_INTEGER = (
    "a float type", "an integer type", "a type of numbers", "bool or an integer type",
)  # fmt: skip


def element_number(element: DType) -> p.PrimExpr:
    """The number of an element type. A variable for a rare one, such as `float8_e4m3`: rules for floats may refuse it."""
    if element.kind not in _GROUPS or element.lanes > 1 or element.bits < _LEAST_BITS.get(element.kind, 0):
        return _RARE.setdefault(element.name, p.PrimVar(element.name))
    number = _GROUPS[element.kind] * _GROUP + element.code * 1024 + element.bits
    _OF_NUMBER[number] = element
    return p.IntImm(number, INT64)


def rare_elements() -> Collection[p.PrimVar]:
    """The variables that stand for rare element types."""
    return _RARE.values()


def of_elements(term: p.PrimExpr, word: str) -> p.PrimExpr:
    """The condition that an element type is of a kind, such as `FLOAT`."""
    if word == BOOL_OR_INTEGER:
        return p.LT(term, p.IntImm(3 * _GROUP, INT64))
    width, wanted = {FLOAT: (1, 3), INTEGER: (1, 2), NUMBER: (2, 1)}[word]
    return p.EQ(p.FloorDiv(term, p.IntImm(width * _GROUP, INT64)), p.IntImm(wanted, INT64))


def kind_number(kind: str) -> p.IntImm:
    """The number of a kind of values, such as `tensor`."""
    return p.IntImm(KINDS.index(kind), INT64)


def info_term(info: s.StructInfo | None, what: str) -> p.PrimExpr | None:
    """What a StructInfo tells of a value: `.dtype`, `.ndim`, `.kind`, `.size`, `.shape[0]`, or `[0]` of a shape; None if it does not."""
    kind = _OF_INFO.get(type(info))
    if what == ".kind":
        return None if kind is None else kind_number(kind)
    if isinstance(info, s.TensorStructInfo) and what == ".dtype":
        return None if info.dtype is None else element_number(info.dtype)
    if isinstance(info, s.PrimStructInfo) and what == ".dtype":
        return element_number(info.dtype)
    if isinstance(info, s.TupleStructInfo) and what == ".size":
        return p.IntImm(len(info.fields))
    if not isinstance(info, (s.TensorStructInfo, s.ShapeStructInfo)):
        return None
    if what == ".ndim":
        return None if info.ndim < 0 else p.IntImm(info.ndim)
    dims = info.lengths if isinstance(info, s.TensorStructInfo) else info.values
    axis = _PART.search(what)
    if dims is None or axis is None or int(axis[1]) >= len(dims):
        return None
    return dims[int(axis[1])]


_OF_INFO: dict[type, str] = {
    s.TensorStructInfo: "tensor", s.ShapeStructInfo: "shape", s.PrimStructInfo: "scalar", s.TupleStructInfo: "tuple",
    s.FuncStructInfo: "function",
}  # fmt: skip


def is_no_length(condition: p.PrimExpr) -> bool:
    """True if a condition is about kinds, element types or ranks of values."""
    return any(_what(var) for var in p.free_vars(condition))


def _what(var: p.PrimVar) -> str:
    """What a variable stands for, if that is no length."""
    last = var.name.rpartition(".")[2]
    return last if last in _NO_LENGTHS and last != var.name else ""


def value_name(var: p.PrimVar) -> str:
    """The value that a variable is about, such as `x` of `x.shape[0]`."""
    found = _TERM.match(var.name)
    return var.name if found is None else found["value"]


def both(conditions: Iterable[p.PrimExpr]) -> p.PrimExpr:
    """The condition that all of some conditions hold; there is at least one."""
    first, *others = conditions
    for one in others:
        first = p.And(first, one)
    return first


def condition_text(condition: p.PrimExpr) -> str:
    """A condition as people say it: `x.dtype == float32`, not the number of the element type."""
    if isinstance(condition, p.And):
        return f"{condition_text(condition.a)} and {condition_text(condition.b)}"
    names = p.free_vars(condition)
    what = {_what(var) for var in names}
    if len(names) != 1 or what <= {"", "ndim"}:
        return str(condition)
    (var,), (word,) = names, what
    if word == "fit":
        return value_name(var)
    for kind in (FLOAT, INTEGER, NUMBER, BOOL_OR_INTEGER):
        if condition == of_elements(var, kind):
            return f"{var} is {kind}"
    numbers = [
        part.b.value for part in _either(condition) if isinstance(part, p.EQ) and isinstance(part.b, p.IntImm)
    ]
    if word == "kind":
        return f"{value_name(var)} is {' or '.join([_a(KINDS[n]) for n in numbers])}"
    if word == "size":
        return f"{value_name(var)} has {numbers[0]} fields"
    elements = [_OF_NUMBER[n].name for n in numbers]
    return f"{var} == {elements[0]}" if len(elements) == 1 else f"{var} is {' or '.join(elements)}"


def _a(kind: str) -> str:
    return f"{'an' if kind == 'object' else 'a'} {kind}"


def _either(condition: p.PrimExpr) -> list[p.PrimExpr]:
    """The conditions of which one holds."""
    return [*_either(condition.a), *_either(condition.b)] if isinstance(condition, p.Or) else [condition]


# -- value names -----------------------------------------------------------------------------------------------------
# Names of the values of a function. Copies, checked values and fields of tuples are the value that they are made of.


def numbered(name: str, earlier: int) -> str:
    """The name of a value that comes after so many of the same name: the second is `x'`, the third `x''`, the fourth `x'3`."""
    return name + ("'" * earlier if earlier < 3 else f"'{earlier}")


def names_of(params: Sequence[e.Var]) -> list[str]:
    """The names of the parameters of a function, as `ValueNames` has them: they come first."""
    names = ValueNames()
    return [names.called(param) for param in params]


class ValueNames:
    """The names that tell values apart, and the variables for what no StructInfo tells of them."""

    def __init__(self) -> None:
        self.unknown: dict[str, p.PrimVar] = {}
        self.fields: dict[str, str] = {}  # of a field such as `t[0]`, the value that it is
        self._names: dict[e.Expr, str] = {}  # no two values have the same
        self._counts: dict[str, int] = {}
        self._same: dict[e.Expr, str] = {}  # of copies

    def called(self, value: e.Expr) -> str:
        """The name of a value. Of values with the same name, the second is `x'`, the third `x''`, the fourth `x'3`."""
        name = self._names.get(value)
        if name is None:
            base = value.name if isinstance(value, e.Var) else "the value"
            earlier = self._counts.get(base, 0)
            self._counts[base] = earlier + 1
            name = self._names[value] = numbered(base, earlier)
        return name

    def place(self, value: e.Expr, field: int = -1) -> str:
        """The name of what a value is: of the variable that it copies, or of the tuple and the field. Of a field of it, if one is given."""
        found = self._same.get(value) or self.called(value)
        return found if field < 0 else self.fields.get(f"{found}[{field}]", f"{found}[{field}]")

    def note(self, binding: e.Binding) -> None:
        """Note what the variable of a binding is."""
        var, value = binding.var, binding.value
        if var is None:
            return
        if isinstance(value, e.Var):
            self._same[var] = self.place(value)
        elif isinstance(value, e.TupleGetItem) and isinstance(value.tuple, e.Var):
            self._same[var] = self.place(value.tuple, value.index)
        elif isinstance(value, e.Tuple):
            self._note_fields(self.called(var), value)

    def _note_fields(self, name: str, value: e.Tuple) -> None:
        for n, field in enumerate(value.fields):
            if isinstance(field, e.Tuple):
                self._note_fields(f"{name}[{n}]", field)
            elif isinstance(field, e.Var):
                self.fields[f"{name}[{n}]"] = self.place(field)

    def operand(self, value: e.Expr) -> object:
        """An operand as something that is equal for the same value."""
        if isinstance(value, e.Tuple):
            return tuple(map(self.operand, value.fields))
        if isinstance(value, e.ShapeExpr):
            return value.values
        return self.place(value) if isinstance(value, e.Var) else value

    def element(self, name: str) -> p.PrimVar:
        """The variable of the element type of a value."""
        return self._term(f"{name}.dtype")

    def _term(self, name: str) -> p.PrimVar:
        return self.unknown.setdefault(name, p.PrimVar(name))

    def operands_at(self, callee: e.Function, call: e.Call) -> OperandTerms:
        """What a variable of the callee, such as `x.dtype` of a parameter, is at a call; None if that is not known."""
        args = dict(zip(names_of(callee.params), call.args, strict=True))

        def value(term: p.PrimVar) -> p.PrimExpr | None:
            found = _COPIES.match(term.name)
            arg = None if found is None else args.get(found["param"])
            return None if found is None or arg is None else self._operand_term(arg, found["rest"])

        return value

    def _operand_term(self, arg: e.Expr, rest: str) -> p.PrimExpr | None:
        """What an argument is, or a field of it: what its StructInfo tells, else the variable of that."""
        place = self.place(arg) if isinstance(arg, e.Var) else ""
        info = arg.struct_info
        while (field := _FIELD.match(rest)) is not None and not isinstance(info, s.ShapeStructInfo):
            number, rest = int(field["number"]), field["rest"]
            fields = getattr(arg if isinstance(arg, e.Tuple) else info, "fields", None)
            if fields is not None and number >= len(fields):
                return None  # the call has another problem, which is reported
            if isinstance(arg, e.Tuple):
                return self._operand_term(arg.fields[number], rest)
            place = self.fields.get(f"{place}[{number}]", f"{place}[{number}]")
            info = info.fields[number] if isinstance(info, s.TupleStructInfo) else None
        return info_term(info, rest) or (self._term(place + rest) if place else None)


OperandTerms = Callable[[p.PrimVar], p.PrimExpr | None]
_COPIES = re.compile(r"(?P<param>\w+(?:'+|'\d+)?)(?P<rest>[.\[].*)$")
_FIELD = re.compile(r"\[(?P<number>\d+)\](?P<rest>.+)$")
