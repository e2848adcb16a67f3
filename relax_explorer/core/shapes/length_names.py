"""Conditions over shape variables, such as `n == 7, m <= 2 * n`, and the names of shape variables in a module. Nothing in a text is executed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.walk import all_dims, sequences
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.source import Source, Span
from relax_explorer.core.syntax.names import Names, shape_name
from relax_explorer.core.syntax.notes import NoteReader

# -- length names ----------------------------------------------------------------------------------------------------
# Names of shape variables in a module: `n` of a chosen function, `layer.n` of another one, `main.inner.n` of a nested
# one.


_FEW = 8  # names in a sentence
Path = tuple[str, ...]  # a function of the module, then nested functions by the names of their values


@dataclass(frozen=True)
class Unknown:
    """Why a name tells no shape variable, and which names would."""

    text: str
    hint: str


def scopes(name: str, fn: e.Function) -> dict[Path, dict[str, p.PrimVar]]:
    """The shape variables that a function and its nested functions bind, each by its name there.

    A second variable of one name in a function is `n_1`, as it is printed. A nested function has those of its own only.
    """
    named: dict[Path, tuple[Names, dict[p.PrimVar, str]]] = {}
    waiting: list[tuple[Path, e.Function, frozenset[p.PrimVar]]] = [((name,), fn, frozenset())]
    for path, one, outer in waiting:  # grows below
        nested: list[tuple[str, e.Function]] = []
        names, own = named.setdefault(path, (Names(), {}))
        for var in _bound(one, nested):
            if var not in outer and var not in own:
                own[var] = names.assign(var, shape_name(var.name))
        inside = outer.union(own)
        waiting += [((*path, inner), value, inside) for inner, value in nested]
    return {path: {text: var for var, text in own.items()} for path, (_, own) in named.items()}


def _bound(fn: e.Function, nested: list[tuple[str, e.Function]]) -> Iterator[p.PrimVar]:
    """The shape variables of the parameters and match_casts of a function; `nested` takes the functions in it."""
    for param in fn.params:
        yield from all_dims(param.struct_info) if param.struct_info is not None else ()
    waiting = [fn.body]
    while waiting:
        seq = waiting.pop()
        inner: list[e.SeqExpr] = []
        for binding in (binding for block in seq.blocks for binding in block.bindings):
            if isinstance(binding, e.MatchCast):
                yield from all_dims(binding.struct_info)
            elif isinstance(binding.value, e.Function):
                nested.append((binding.var.name if binding.var is not None else "_", binding.value))
            else:
                inner += sequences(binding.value)
        waiting += reversed(inner)


class LengthNames:
    """The shape variables of a module; a bare name is one of the function `chosen`."""

    def __init__(self, module: IRModule, chosen: str) -> None:
        self.module, self.chosen = module, chosen

    @cached_property
    def places(self) -> dict[Path, dict[str, p.PrimVar]]:
        """The shape variables of each function."""
        functions = self.module.relax_functions.items()
        return {path: own for name, fn in functions for path, own in scopes(name, fn).items()}

    def find(self, path: Sequence[str]) -> tuple[Path, p.PrimVar] | Unknown:
        """The function and the variable of a name in its parts.

        A bare name is that of the chosen function itself. If it has none, it is that of its nested functions; of several ones
        none is preferred. A path may begin at the chosen function, and name a variable that is visible there.
        """
        *place, name = path
        if not place:
            return self._bare(name)
        where = tuple(place) if place[0] in self.module.relax_functions else (self.chosen, *place)
        if where not in self.places:
            return Unknown(f"there is no Relax function {'.'.join(place)}", f"{self._functions()}.")
        for end in range(len(where), 0, -1):  # a nested function also sees the variables around it
            if (var := self.places[where[:end]].get(name)) is not None:
                return where[:end], var
        return self._missing(name, where, f" of {'.'.join(where)}")

    def _bare(self, name: str) -> tuple[Path, p.PrimVar] | Unknown:
        found = [(place, own[name]) for place, own in self.places.items() if self._is_in(place, name)]
        own = [one for one in found if len(one[0]) == 1]
        if len(own or found) == 1:
            return (own or found)[0]
        if found:
            options = [f"{'.'.join(place)}.{name}" for place, _ in found]
            text = f"{len(found)} shape variables of {self.chosen} are called {name}"
            return Unknown(text, f"Write {_listed(options, 'or')}.")
        return self._missing(name, (self.chosen,), "")

    def _is_in(self, place: Path, name: str) -> bool:
        return place[0] == self.chosen and name in self.places[place]

    def _missing(self, name: str, where: Path, owner: str) -> Unknown:
        others = [f"{'.'.join(place)}.{name}" for place, own in self.places.items() if name in own]
        hint = f"The shape variables here are {', '.join(self.places.get(where, ())) or 'none'}."
        more = f" Other functions have {_listed(others)}." if others else ""
        return Unknown(f"there is no shape variable {name}{owner}", hint + more)

    def _functions(self) -> str:
        return f"The functions are {_listed(['.'.join(place) for place in self.places]) or 'none'}"

    def called(self, var: p.PrimVar) -> str:
        """The whole name of a variable: `main.inner.n`."""
        return next(
            (
                f"{'.'.join(place)}.{name}"
                for place, own in self.places.items()
                for name, one in own.items()
                if one is var
            ),
            var.name,
        )

    def text_of(self, conditions: Iterable[p.PrimExpr]) -> str:
        """Conditions with the whole names of their variables, and which variables of these names they are not about."""
        wanted = list(conditions)
        variables = p.free_vars(*wanted)
        whole: dict[p.PrimVar, p.PrimExpr] = {
            var: p.PrimVar(self.called(var), var.dtype) for var in variables
        }
        text = ", ".join([str(p.substitute(condition, whole)) for condition in wanted])
        names = {var.name for var in variables}
        others = [
            f"{'.'.join(place)}.{name}"
            for place, own in self.places.items()
            for name, var in own.items()
            if var.name in names and var not in whole
        ]
        return f"{text}; not of {_listed(others)}" if others else text


def _listed(names: Sequence[str], last: str = "and") -> str:
    """Names as a sentence has them; of many the first ones."""
    if len(names) > _FEW:
        names = [*names[: _FEW - 1], f"{len(names) - _FEW + 1} more"]
    return f" {last} ".join([part for part in (", ".join(names[:-1]), *names[-1:]) if part])


# -- given -----------------------------------------------------------------------------------------------------------
# Reads conditions over shape variables, such as `n == 7, m <= 2 * n`. Nothing in them is executed.


_COMPARISONS: dict[str, type[p.Comparison]] = {
    "==": p.EQ, "=": p.EQ, "!=": p.NE, "<": p.LT, "<=": p.LE, ">": p.GT, ">=": p.GE,
}  # fmt: skip
_CHOICES: dict[str, type[p.Min | p.Max]] = {"min": p.Min, "max": p.Max}


def read_conditions(text: str, names: LengthNames) -> dict[str, list[p.PrimExpr]]:
    """The conditions of a text, between commas, by the function of the module that each is about.

    A bare name is a shape variable of the chosen function; `layer.n` is one of another function, `main.inner.n` of a nested one. Raises
    Failure with the place of a mistake, of a name that is unknown or stands for several variables, of a condition on two
    functions, or of one that never holds with those before it.
    """
    reader, facts = _Reader(text, names), Assumptions()
    found: dict[str, list[p.PrimExpr]] = {}
    for owner, condition, place in reader.whole():
        if facts.prove(condition) is Answer.NO:
            because = " and ".join([str(fact) for fact in facts.reasons(condition)])
            reason = f"it contradicts {because}" if because else "shape variables are lengths, at least 0"
            reader.fail(f"{condition} never holds: {reason}", place)
        facts = facts.plus(condition)
        found.setdefault(owner, []).append(condition)
    return found


class _Reader(NoteReader):
    form = "Write conditions such as n == 7, m <= 2 * n."

    def __init__(self, text: str, names: LengthNames) -> None:
        self.names = names
        self.owners: dict[
            str, str
        ] = {}  # the functions of the condition that is read, each with a name of its own
        super().__init__(Source(text, "<condition>"))

    def whole(self) -> list[tuple[str, p.PrimExpr, Span]]:
        """`a == b, c < d`, up to the end of the text, each with its function and its place."""
        found: list[tuple[str, p.PrimExpr, Span]] = []
        while not found or self.takes(","):
            self.owners = {}
            start, condition = self.start, self.condition()
            place = self.span(start)
            if len(self.owners) > 1:
                names = " and ".join(self.owners.values())
                hint = "Give each function conditions of its own, such as main.n == 7, layer.n == 7."
                self.fail(f"{names} are lengths of different functions", place, help=hint)
            found.append((next(iter(self.owners), self.names.chosen), condition, place))
        self.ended()
        return found

    def condition(self) -> p.PrimExpr:
        """Two lengths and a comparison."""
        left = self.arithmetic()
        if not self.sees(*_COMPARISONS):
            self.fail(f"a comparison is expected here, not {self.shown()}: {' '.join(_COMPARISONS)}")
        compare = _COMPARISONS[self.advance()]
        return compare(left, self.arithmetic())

    def variable(self) -> p.PrimExpr:
        """A shape variable, or `T.min(n, 4)`."""
        start, path = self.start, [self.word("a shape variable or a number")]
        while self.takes("."):
            if path == ["T"] and self.sees(*_CHOICES):
                choice = _CHOICES[self.advance()]
                with self.deeper():
                    self.expect("(")
                    left = self.arithmetic()
                    self.expect(",")
                    right = self.arithmetic()
                    self.expect(")")
                return choice(left, right)
            path.append(self.word("a nested function or a shape variable"))
        found = self.names.find(path)
        if isinstance(found, Unknown):
            self.fail(found.text, self.span(start), codes.UNBOUND, found.hint)
        place, var = found
        self.owners.setdefault(place[0], f"{'.'.join(place)}.{path[-1]}")
        return var
