"""Names of the values of a function. Copies, checked values and fields of tuples are the value that they are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.shapes.value_terms import told


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

    def given(self, callee: e.Function, call: e.Call) -> Given:
        """What a variable of the callee, such as `x.dtype` of a parameter, is at a call; None if that is not known."""
        args = dict(zip(names_of(callee.params), call.args, strict=True))

        def value(term: p.PrimVar) -> p.PrimExpr | None:
            found = _TERM.match(term.name)
            arg = None if found is None else args.get(found["param"])
            return None if found is None or arg is None else self._told(arg, found["rest"])

        return value

    def _told(self, arg: e.Expr, rest: str) -> p.PrimExpr | None:
        """What an argument is, or a field of it: what its StructInfo tells, else the variable of that."""
        place = self.place(arg) if isinstance(arg, e.Var) else ""
        info = arg.struct_info
        while (field := _FIELD.match(rest)) is not None and not isinstance(info, s.ShapeStructInfo):
            number, rest = int(field["number"]), field["rest"]
            fields = getattr(arg if isinstance(arg, e.Tuple) else info, "fields", None)
            if fields is not None and number >= len(fields):
                return None  # the call has another problem, which is reported
            if isinstance(arg, e.Tuple):
                return self._told(arg.fields[number], rest)
            place = self.fields.get(f"{place}[{number}]", f"{place}[{number}]")
            info = info.fields[number] if isinstance(info, s.TupleStructInfo) else None
        return told(info, rest) or (self._term(place + rest) if place else None)


Given = Callable[[p.PrimVar], p.PrimExpr | None]
_TERM = re.compile(r"(?P<param>\w+(?:'+|'\d+)?)(?P<rest>[.\[].*)$")
_FIELD = re.compile(r"\[(?P<number>\d+)\](?P<rest>.+)$")
