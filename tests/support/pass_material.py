"""Random programs without errors that passes change: private functions, tuples, copies, constants, unread bindings; the seed decides."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.random_text import RandomText

HEADER = "from tvm.script import ir as I, relax as R, tirx as T\n\n@I.ir_module\nclass Module:\n"
Type = str | tuple["Type", ...]
"""The type of a value: a key of `TENSORS`, or a tuple of types."""
TENSORS = {
    "A": 'R.Tensor((2, 3), "float32")',
    "B": 'R.Tensor((3,), "float32")',
    "N": 'R.Tensor(("n", 3), "float32")',
    "M": 'R.Tensor(("m", 3), "float32")',
    "U": 'R.Tensor("float32", ndim=2)',
    "I": 'R.Tensor((2,), "int64")',
}
_PARAMS: list[Type] = ["A", "A", "A", "B", "N", "I", ("A", "A"), ("A", "B"), (("A", "B"), "A"), ("A", "N")]
_CONSTANTS = {
    "A": "R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 'float32')",
    "B": "R.const([1.0, 2.0, 3.0], 'float32')",
    "I": "R.const([2, 3], 'int64')",
}


def annotation(of: Type) -> str:
    """A type as text."""
    return TENSORS[of] if isinstance(of, str) else f"R.Tuple({', '.join(map(annotation, of))})"


def _has(of: Type, name: str) -> bool:
    return of == name or (not isinstance(of, str) and any(_has(part, name) for part in of))


@dataclass
class _Scope:
    """Variables by type, and the expressions so far with their types."""

    values: dict[Type, list[str]] = field(default_factory=dict)
    said: list[tuple[str, Type]] = field(default_factory=list)
    is_dataflow: bool = False

    def inner(self, is_dataflow: bool) -> _Scope:
        values = {of: list(names) for of, names in self.values.items()}
        return _Scope(values, list(self.said), is_dataflow)

    def add(self, name: str, of: Type) -> None:
        self.values.setdefault(of, []).append(name)


@dataclass(frozen=True)
class _Helper:
    name: str
    params: list[Type]
    result: Type


class _Program(RandomText):
    def __init__(self, seed: int) -> None:
        super().__init__(f"pass material {seed}")
        self.helpers: list[_Helper] = []
        for number in range(self.random.randint(0, 3)):
            self._helper(f"f{number}")
        if self._chance(0.08):
            self._forever()
        self._main()

    def _helper(self, name: str) -> None:
        params = self.random.choices(_PARAMS, k=self.random.randint(1, 4))
        written = ", ".join(f"p{number}: {annotation(of)}" for number, of in enumerate(params))
        scope = _Scope()
        for number, of in enumerate(params):
            scope.add(f"p{number}", of)
        self._say(1, "@R.function(private=True)")
        self._say(1, f"def {name}({written}):")
        if any(_has(of, "N") for of in params):
            self._say(2, "n = T.int64()")
        self._say(2, "cls = Module")
        self._body(scope, 2, self.random.randint(1, 4))
        text, result = self._result(scope, self.random.choice([1, 1, 2, 3]))
        self._say(2, f"return {text}")
        self.helpers.append(_Helper(name, params, result))

    def _forever(self) -> None:
        """A function that calls itself."""
        self._say(1, "@R.function(private=True)")
        self._say(1, f"def forever(p: {TENSORS['A']}) -> {TENSORS['A']}:")
        self._say(2, "cls = Module")
        self._say(2, "q = R.exp(p)")
        self._say(2, f"r: {TENSORS['A']} = cls.forever(q)")
        self._say(2, "return r")
        self.helpers.append(_Helper("forever", ["A"], "A"))

    def _main(self) -> None:
        pure = self._chance(0.6)
        params: dict[str, Type] = {
            "x": "A",
            "y": "A",
            "b": "B",
            "s": "N",
            "u": "U",
            "i": "I",
            "t": ("A", "B"),
        }
        params |= {"r": "M"} if self._chance(0.4) else {}
        written = ", ".join(f"{name}: {annotation(of)}" for name, of in params.items())
        self._say(1, f"@R.function(pure={pure})")
        self._say(1, f'def main({written}, c: R.Tensor((), "bool")):')
        for name in ("n", "m") if "r" in params else ("n",):
            self._say(2, f"{name} = T.int64()")
        self._say(2, "cls = Module")
        scope = _Scope()
        for name, of in params.items():
            scope.add(name, of)
        for _ in range(self.random.randint(2, 4)):
            if self._chance(0.5):
                self._block(scope)
            else:
                self._body(scope, 2, self.random.randint(1, 4), pure)
        self._say(2, f"return {self._result(scope, self.random.randint(1, 4))[0]}")

    def _block(self, scope: _Scope) -> None:
        """A dataflow block with one to three outputs."""
        inner = scope.inner(is_dataflow=True)
        before = {name for names in scope.values.values() for name in names}
        self._say(2, "with R.dataflow():")
        self._body(inner, 3, self.random.randint(2, 6))
        new = [(name, of) for of, names in inner.values.items() for name in names if name not in before]
        outputs = self.random.sample(new, min(len(new), self.random.randint(1, 3)))
        self._say(3, f"R.output({', '.join(name for name, _ in outputs)})")
        for name, of in outputs:
            scope.add(name, of)

    def _any(self, scope: _Scope, of: Type) -> str:
        """A variable of this type, or an expression for a new one."""
        names = scope.values.get(of)
        if names:
            return self.random.choice(names[-4:] if self._chance(0.6) else names)
        if isinstance(of, str):
            return _CONSTANTS[of]
        return f"({', '.join(self._any(scope, part) for part in of)})"

    def _known(self, scope: _Scope, among: str) -> list[Type]:
        return [of for of in among if scope.values.get(of)]

    def _result(self, scope: _Scope, size: int) -> tuple[str, Type]:
        """The result of a function: one value, or a tuple of several."""
        kinds = [of for of in scope.values if scope.values[of]]
        types = self.random.choices(kinds, k=size)
        parts = [self._any(scope, of) for of in types]
        return (parts[0], types[0]) if size == 1 else (f"({', '.join(parts)})", tuple(types))

    def _body(self, scope: _Scope, depth: int, size: int, pure: bool = True) -> None:
        for _ in range(size):
            if not scope.is_dataflow and self._chance(0.08):
                self._if(scope, depth)
            elif not scope.is_dataflow and self._chance(0.05):
                self._closure(scope, depth)
            elif not pure and self._chance(0.25):
                self._say(depth, f"_ = R.print({self._any(scope, 'A')}, format='{{}}')")
            else:
                self._bind(scope, depth)

    def _bind(self, scope: _Scope, depth: int) -> None:
        if scope.said and self._chance(0.12):
            text, of = self.random.choice(scope.said)
        else:
            makers = (self._operator, self._structure, self._constant, self._call, self._special)
            text, of = self.random.choices(makers, (4, 4, 2, 4, 1))[0](scope)
            scope.said.append((text, of))
        scope.add(self._name(depth, text), of)

    def _name(self, depth: int, text: str) -> str:
        self.count += 1
        self._say(depth, f"v{self.count} = {text}")
        return f"v{self.count}"

    def _operator(self, scope: _Scope) -> tuple[str, Type]:
        of = self.random.choice(self._known(scope, "ABNM") or ["A"])
        a, b = self._any(scope, of), self._any(scope, of)
        operator = self.random.choice(["exp", "negative", "add", "multiply", "add"])
        return f"R.{operator}({a}{'' if operator in ('exp', 'negative') else f', {b}'})", of

    def _structure(self, scope: _Scope) -> tuple[str, Type]:
        """A copy, a tuple, a field, or a match_cast."""
        tuples = [of for of in scope.values if not isinstance(of, str)]
        choice = self.random.random()
        if choice < 0.25 or (choice < 0.7 and not tuples):
            of = self.random.choice(list(scope.values))
            return self._any(scope, of), of
        if choice < 0.7:
            of = self.random.choice(tuples)
            index = self.random.randrange(len(of))
            return f"{self._any(scope, of)}[{index}]", of[index]
        if choice < 0.9:
            parts = self.random.choices(list(scope.values), k=self.random.randint(1, 3))
            if len(repr(parts)) < 60:  # no tuples of tuples of tuples
                comma = "," if len(parts) == 1 else ""
                return f"({', '.join(self._any(scope, of) for of in parts)}{comma})", tuple(parts)
        return self._cast(scope)

    def _cast(self, scope: _Scope) -> tuple[str, Type]:
        """A match_cast that checks nothing, the rank and lengths, or one length against another."""
        of = str(self.random.choice(self._known(scope, "ABNM") or ["A"]))
        others = ["U"] if of != "B" and scope.values.get("U") else []
        others += ["N"] if of == "M" and scope.values.get("N") else []
        source = self.random.choice(others) if others and self._chance(0.5) else of
        target = TENSORS[of].replace('"n"', "n").replace('"m"', "m")
        return f"R.match_cast({self._any(scope, source)}, {target})", of

    def _constant(self, scope: _Scope) -> tuple[str, Type]:
        of = self.random.choice("AB")
        a, constant = self._any(scope, of), _CONSTANTS[of]
        texts = [constant, f"R.add({constant}, {constant})", f"R.exp({constant})", f"R.zeros_like({a})"]
        texts += [
            f"R.ones_like({a})",
            f"R.full_like({a}, R.const(2.0, 'float32'))",
            f"R.add({a}, {constant})",
        ]
        texts += [f"R.zeros(R.shape({'[2, 3]' if of == 'A' else '[3]'}), 'float32')"]
        return self.random.choice(texts), of

    def _call(self, scope: _Scope) -> tuple[str, Type]:
        fits = [helper for helper in self.helpers if scope.values.get("N") or not _uses_length(helper)]
        if not fits:
            return self._operator(scope)
        helper = self.random.choice(fits)
        args = [self._any(scope, of) for of in helper.params]
        return f"cls.{helper.name}({', '.join(args)})", helper.result

    def _special(self, scope: _Scope) -> tuple[str, Type]:
        """An operator that passes decompose."""
        a, b = self._any(scope, "A"), self._any(scope, "B")
        if self._chance(0.4):
            return f"R.nn.layer_norm({a}, {b}, {self._any(scope, 'B')}, axes=[-1])", "A"
        if self._chance(0.6):
            four = ", ".join([a, b, *(self._any(scope, "B") for _ in range(3))])
            return f"R.nn.batch_norm({four}, axis=1)", ("A", "B", "B")
        return f"R.reshape({a}, R.shape([2, 3]))", "A"

    def _closure(self, scope: _Scope, depth: int) -> None:
        """A function inside, and a call of it."""
        self.count += 1
        name, param = f"g{self.count}", f"z{self.count}"
        self._say(depth, "@R.function")
        self._say(depth, f"def {name}({param}: {TENSORS['A']}) -> {TENSORS['A']}:")
        inner = scope.inner(is_dataflow=False)
        inner.add(param, "A")
        self._body(inner, depth + 1, self.random.randint(1, 2))
        self._say(depth + 1, f"return {self._any(inner, 'A')}")
        call = f"{name}({self._any(scope, 'A')})"
        scope.said.append((call, "A"))
        scope.add(self._name(depth, call), "A")

    def _if(self, scope: _Scope, depth: int) -> None:
        of = self.random.choice(self._known(scope, "ABN") or ["A"])
        name = f"v{self.count + 1}"
        self.count += 1
        condition = "c" if "x" in scope.values.get("A", ()) else "R.const(True, 'bool')"
        for head in (f"if {condition}:", "else:"):
            self._say(depth, head)
            inner = scope.inner(is_dataflow=False)
            self._body(inner, depth + 1, self.random.randint(0, 2))
            self._say(depth + 1, f"{name} = {self._any(inner, of)}")
        scope.add(name, of)


def _uses_length(helper: _Helper) -> bool:
    return any(_has(of, "N") for of in helper.params)


def pass_material(seed: int) -> str:
    """A module of up to three private functions and `main`."""
    return HEADER + "\n".join(_Program(seed).lines) + "\n"
