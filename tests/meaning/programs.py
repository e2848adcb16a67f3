"""Random programs that overwrite tensors, share memory, print, capture and fail; the seed determines everything."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.random_text import RandomText

HEADER = "from tvm.script import ir as I, relax as R, tirx as T\n\n@I.ir_module\nclass Module:\n"
TYPES = {
    "f2": 'R.Tensor((2,), "float32")',
    "fn": 'R.Tensor(("n",), "float32")',
    "fm": 'R.Tensor(("m",), "float32")',
    "f12": 'R.Tensor((1, 2), "float32")',
    "i2": 'R.Tensor((2,), "int32")',
}
PARAMS = {"x": "f2", "y": "f2", "a": "fn", "b": "fm", "i": "i2", "j": "i2"}


@dataclass
class _Scope:
    """Variables that can be read here, by type, and the functions that can be called."""

    values: dict[str, list[str]]
    dataflow: bool = False
    pure: bool = False
    closures: list[tuple[str, bool]] = field(default_factory=list)  # name, True if pure
    said: list[tuple[str, str]] = field(default_factory=list)  # pure expressions so far, with their types

    def inner(self, **changes: object) -> _Scope:
        """A scope inside this one; the outer scope does not see its additions."""
        copy = _Scope(
            {kind: list(names) for kind, names in self.values.items()},
            self.dataflow,
            self.pure,
            list(self.closures),
            list(self.said),
        )
        for name, value in changes.items():
            setattr(copy, name, value)
        return copy


class Program(RandomText):
    """One program as text; `text` is a module whose `main` takes PARAMS and one condition."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.helpers: list[tuple[str, bool]] = []
        for number in range(self.random.randint(0, 3)):
            self._helper(number)
        if self.random.random() < 0.03:
            self._forever()
        self._main()
        self.text = HEADER + "\n".join(self.lines) + "\n"

    def _name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def _helper(self, number: int) -> None:
        pure = self._chance(0.5)
        name = f"{'pure' if pure else 'impure'}{number}"
        public = self._chance(0.2)
        self._say(1, f"@R.function({'' if public else 'private=True, '}pure={pure})")
        self._say(1, f"def {name}(p: {TYPES['f2']}, q: {TYPES['f2']}) -> {TYPES['f2']}:")
        scope = _Scope({"f2": ["p", "q"]}, pure=pure)
        self._say(2, "cls = Module")
        self._body(scope, 2, self.random.randint(1, 4))
        self._say(2, f"return {self._any(scope, 'f2')}")
        self.helpers.append((name, pure))

    def _forever(self) -> None:
        self._say(1, "@R.function(private=True)")
        self._say(1, f"def forever(p: {TYPES['f2']}) -> {TYPES['f2']}:")
        self._say(2, "cls = Module")
        self._say(2, f"r: {TYPES['f2']} = cls.forever(p)")
        self._say(2, "return r")

    def _main(self) -> None:
        params = ", ".join(f"{name}: {TYPES[kind]}" for name, kind in PARAMS.items())
        self._say(1, "@R.function(pure=False)")
        self._say(1, f'def main({params}, c: R.Tensor((), "bool")):')
        self._say(2, "n = T.int64()")
        self._say(2, "m = T.int64()")
        self._say(2, "cls = Module")
        scope = _Scope({})
        for name, kind in PARAMS.items():
            scope.values.setdefault(kind, []).append(name)
        self._body(scope, 2, self.random.randint(4, 14))
        results = [self._any(scope, self.random.choice(["f2", "f2", "fn", "f12", "i2"])) for _ in range(3)]
        self._say(2, f"return ({', '.join(results)})")

    def _any(self, scope: _Scope, kind: str) -> str:
        names = scope.values.get(kind)
        if not names:
            return 'R.const([1.0, 2.0], "float32")' if kind == "f2" else self._any(scope, "f2")
        return self.random.choice(names[-4:] if self._chance(0.6) else names)

    def _bind(self, scope: _Scope, depth: int, text: str, kind: str) -> str:
        name = self._name()
        self._say(depth, f"{name} = {text}")
        scope.values.setdefault(kind, []).append(name)
        return name

    def _body(self, scope: _Scope, depth: int, size: int) -> None:
        for _ in range(size):
            if not scope.dataflow and self._chance(0.15):
                self._dataflow(scope, depth)
            elif scope.dataflow or scope.pure or self._chance(0.55):
                self._pure(scope, depth)
            else:
                self._effect(scope, depth)

    def _dataflow(self, scope: _Scope, depth: int) -> None:
        inner = scope.inner(dataflow=True)
        self._say(depth, "with R.dataflow():")
        before = {kind: len(names) for kind, names in inner.values.items()}
        self._body(inner, depth + 1, self.random.randint(1, 5))
        new = [(name, k) for k, names in inner.values.items() for name in names[before.get(k, 0) :]]
        self.random.shuffle(new)
        outputs = new[: self.random.randint(1, 3)]
        self._say(depth + 1, f"R.output({', '.join(name for name, _ in outputs)})")
        for name, kind in outputs:
            scope.values.setdefault(kind, []).append(name)

    def _pure(self, scope: _Scope, depth: int) -> None:
        if scope.said and self._chance(0.25):
            text, kind = self.random.choice(scope.said)
        elif self._chance(0.12):
            text, kind = self._failing(scope)
        elif not scope.dataflow and self._chance(0.1):
            self._if(scope, depth)
            return
        elif not scope.dataflow and self._chance(0.08):
            self._closure(scope, depth, pure=True)
            return
        else:
            text, kind = self._expression(scope)
        scope.said.append((text, kind))
        self._bind(scope, depth, text, kind)

    def _expression(self, scope: _Scope) -> tuple[str, str]:
        kind = self.random.choice([k for k in scope.values if scope.values[k]])
        x, y = self._any(scope, kind), self._any(scope, kind)
        pure = [name for name, is_pure in self.helpers if is_pure]
        u, w = self._any(scope, "f2"), self._any(scope, "f2")
        choices = [
            (f"R.add({x}, {y})", kind),
            (f"R.multiply({x}, {y})", kind),
            (f"R.negative({x})", kind),
            (x, kind),
            (f"({x}, {y})[{self.random.randint(0, 1)}]", kind),
            (f"R.reshape({u}, R.shape([1, 2]))", "f12"),
            (f"R.reshape({self._any(scope, 'f12')}, R.shape([2]))" if scope.values.get("f12") else u, "f2"),
            (f"R.expand_dims({u}, axis=0)", "f12"),
            (f"R.squeeze({self._any(scope, 'f12')}, axis=[0])" if scope.values.get("f12") else u, "f2"),
            (f"R.flatten({u})", "f2"),
            ('R.zeros(R.shape([2]), "float32")', "f2"),
            ('R.const([1.0, 2.0], "float32")', "f2"),
            (f'R.add({u}, R.const([1.0, 2.0], "float32"))', "f2"),
            (f"R.grad.no_grad({u})", "f2"),
            (f'R.call_pure_packed("identity", {u}, sinfo_args=R.Tensor((2,), "float32"))', "f2"),
        ]
        if pure:
            choices += [(f"cls.{self.random.choice(pure)}({u}, {w})", "f2")] * 2
        choices += [(f"{name}({u})", "f2") for name, is_pure in scope.closures if is_pure] * 2
        return self.random.choice(choices)

    def _failing(self, scope: _Scope) -> tuple[str, str]:
        """A value that stops the run for some lengths or elements."""
        a, b, i, j = (self._any(scope, kind) for kind in ("fn", "fm", "i2", "i2"))
        known = scope.values.get("fn") and scope.values.get("fm") and scope.values.get("i2")
        if not known:
            return f"R.negative({self._any(scope, 'f2')})", "f2"
        return self.random.choice(
            [
                (f"R.add({a}, {b})", "open"),
                (f"R.floor_divide({i}, {j})", "i2"),
                (f"R.floor_divide({i}, {j})", "i2"),
                (f"R.matmul({a}, {b})", "scalar"),
                ('R.zeros(R.shape([n - 2]), "float32")', "less"),
                (f'R.match_cast({a}, R.Tensor((m,), "float32"))', "fm"),
                (f'R.match_cast({a}, R.Tensor((2,), "float32"))', "f2"),
                (f"R.reshape({a}, R.shape([m]))", "fm"),
                (f"R.reshape({b}, R.shape([1, n]))", "row"),
            ]
        )

    def _if(self, scope: _Scope, depth: int) -> None:
        name = self._name()
        self._say(depth, "if c:" if "i" in scope.values.get("i2", ()) else 'if R.const(True, "bool"):')
        for branch in range(2):
            if branch:
                self._say(depth, "else:")
            inner = scope.inner()
            self._body(inner, depth + 1, self.random.randint(1, 3))
            self._say(depth + 1, f"{name} = {self._any(inner, 'f2')}")
        scope.values.setdefault("f2", []).append(name)

    def _closure(self, scope: _Scope, depth: int, pure: bool) -> None:
        name = self._name()
        self._say(depth, f"@R.function(pure={pure})")
        self._say(depth, f"def {name}(z{name}: {TYPES['f2']}) -> {TYPES['f2']}:")
        inner = scope.inner(pure=pure)
        inner.values["f2"].append(f"z{name}")
        self._body(inner, depth + 1, self.random.randint(1, 3))
        self._say(depth + 1, f"return {self._any(inner, 'f2')}")
        scope.closures.append((name, pure))
        if self._chance(0.3):
            copy = self._name()
            self._say(depth, f"{copy} = {name}")
            scope.closures.append((copy, pure))

    def _effect(self, scope: _Scope, depth: int) -> None:
        kind = self.random.choice(["f2", "f2", "fn", "f12", "i2"])
        x = self._any(scope, kind)
        u, w = self._any(scope, "f2"), self._any(scope, "f2")
        impure = [f"cls.{name}({u}, {w})" for name, is_pure in self.helpers if not is_pure]
        impure += [f"{name}({u})" for name, is_pure in scope.closures if not is_pure]
        choice = self.random.random()
        void = "sinfo_args=R.Tuple()"
        if choice < 0.35:
            self._say(depth, f'_ = R.call_packed("increment", {x}, {void})')
        elif choice < 0.45:
            self._say(depth, f'_ = R.print({x}, format="{{}}")')
        elif choice < 0.55:
            name = self.random.choice(["keep", "log"])
            self._say(depth, f'_ = R.call_packed("{name}", {u}, {void})')
        elif choice < 0.65:
            text = f'R.call_packed("identity", {u}, sinfo_args=R.Tensor((2,), "float32"))'
            self._bind(scope, depth, text, "f2")
        elif choice < 0.75:
            self._closure(scope, depth, pure=False)
        elif choice < 0.9 and impure:
            self._bind(scope, depth, self.random.choice(impure), "f2")
        elif choice < 0.92 and any("def forever" in line for line in self.lines):
            self._bind(scope, depth, f"cls.forever({u})", "f2")
        else:
            self._say(depth, f'_ = R.assert_op({self._condition(scope)}, format="stop")')

    def _condition(self, scope: _Scope) -> str:
        return "c" if "i" in scope.values.get("i2", ()) else 'R.const(True, "bool")'


PAIR = f"R.Tuple({TYPES['f2']}, {TYPES['f2']})"


class Aliases(Program):
    """A program in which many names share memory: through tuples, nested ones, views and casts, functions that return them, and branches."""

    def __init__(self, seed: int) -> None:
        self.makers: list[str] = []  # private functions of two tensors that return a pair
        self.takers: list[
            tuple[str, bool]
        ] = []  # those of a pair that return a tensor; True if they are pure
        super().__init__(seed)

    def _main(self) -> None:
        for number in range(self.random.randint(1, 2)):
            self._maker(number)
            self._taker(number)
        super()._main()

    def _maker(self, number: int) -> None:
        """A function whose result shares memory with its arguments."""
        self._say(1, "@R.function(private=True, pure=True)")
        self._say(1, f"def pair{number}(p: {TYPES['f2']}, q: {TYPES['f2']}) -> {PAIR}:")
        scope = _Scope({"f2": ["p", "q"]}, pure=True)
        self._say(2, "cls = Module")
        self._body(scope, 2, self.random.randint(0, 2))
        self._say(2, f"return {self._pair(scope)}")
        self.makers.append(f"pair{number}")

    def _taker(self, number: int) -> None:
        """A function that returns a field of its argument, and may overwrite the other one."""
        pure = self._chance(0.5)
        self._say(1, f"@R.function(private=True, pure={pure})")
        self._say(1, f"def field{number}(t: {PAIR}) -> {TYPES['f2']}:")
        kept = self.random.randint(0, 1)
        self._say(2, f"a = t[{kept}]")
        self._say(2, f"b = t[{1 - kept}]")
        if not pure:
            self._say(2, '_ = R.call_packed("increment", b, sinfo_args=R.Tuple())')
        self._say(2, f"return {self.random.choice(['a', 'a', 'b'])}")
        self.takers.append((f"field{number}", pure))

    def _pair(self, scope: _Scope) -> str:
        """A pair: a variable, or one that is written out."""
        names = scope.values.get("pair")
        if names and self._chance(0.6):
            return self.random.choice(names)
        return f"({self._any(scope, 'f2')}, {self._any(scope, 'f2')})"

    def _expression(self, scope: _Scope) -> tuple[str, str]:
        if self._chance(0.5):
            plain = scope.inner()
            plain.values.pop("pair", None)
            return super()._expression(plain)
        u, w, pair = self._any(scope, "f2"), self._any(scope, "f2"), self._pair(scope)
        at = self.random.randint(0, 1)
        choices = [
            (pair, "pair"),
            (f"({u}, {w})", "pair"),
            (f"{pair}[{at}]", "f2"),
            (f"({pair}, {w})[0]", "pair"),
            (f"({pair}, {w})[0][{at}]", "f2"),
            (f"(({u}, {w}), {pair})[1][{at}]", "f2"),
            (u, "f2"),
            (f'R.match_cast({u}, R.Tensor((2,), "float32"))', "f2"),
            (f"R.memory.view({u}, R.shape([1, 2]))", "f12"),
            (f"R.memory.ensure_zero_offset({u})", "f2"),
            (f"R.reshape(R.reshape({u}, R.shape([1, 2])), R.shape([2]))", "f2"),
        ]
        choices += [(f"cls.{name}({u}, {w})", "pair") for name in self.makers]
        choices += [(f"cls.{name}({u}, {w})[{at}]", "f2") for name in self.makers]
        choices += [(f"cls.{name}({pair})", "f2") for name, is_pure in self.takers if is_pure]
        return self.random.choice(choices)

    def _effect(self, scope: _Scope, depth: int) -> None:
        impure = [name for name, is_pure in self.takers if not is_pure]
        if impure and self._chance(0.25):
            self._bind(scope, depth, f"cls.{self.random.choice(impure)}({self._pair(scope)})", "f2")
        else:
            super()._effect(scope, depth)


MATERIALS = {"general": Program, "aliases": Aliases}
