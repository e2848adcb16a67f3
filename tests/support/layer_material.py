"""Random parts of networks: products, convolutions, norms, reshapes, layouts, weights; the seed decides everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from operator import eq

from tests.support.random_text import RandomText

HEADER = "from tvm.script import ir as I, relax as R, tirx as T\n\n@I.ir_module\nclass Module:\n"
Shape = tuple[str, ...]
SHAPES: tuple[Shape, ...] = (
    ("2", "4"),
    ("4", "4"),
    ("n", "4"),
    ("4",),
    ("2", "2", "4"),
    ("1", "4", "6", "6"),
)
VECTOR, SQUARE, IMAGE = ("4",), ("4", "4"), ("1", "4", "6", "6")
UNARY = ("exp", "nn.relu", "negative", "sigmoid", "nn.gelu", "tanh", "sqrt")
BINARY = ("add", "multiply", "subtract", "divide", "maximum")


def tensor(shape: Shape, dtype: str = "float32", quoted: bool = True) -> str:
    """The StructInfo of a tensor as text. Lengths of parameters are quoted."""
    dims = "".join(f"{dim if dim.isdigit() or not quoted else repr(dim)}, " for dim in shape)
    return f'R.Tensor(({dims}), "{dtype}")'


@dataclass
class _Scope:
    """The variables of each shape and dtype, the pairs of them, and what was said before."""

    values: dict[tuple[Shape, str], list[str]] = field(default_factory=dict)
    pairs: list[tuple[str, tuple[Shape, str], tuple[Shape, str]]] = field(default_factory=list)
    said: list[tuple[str, Shape, str]] = field(default_factory=list)
    is_dataflow: bool = False

    def inner(self, is_dataflow: bool) -> _Scope:
        values = {key: list(names) for key, names in self.values.items()}
        return _Scope(values, list(self.pairs), list(self.said), is_dataflow)

    def add(self, name: str, shape: Shape, dtype: str = "float32") -> None:
        self.values.setdefault((shape, dtype), []).append(name)


class _Network(RandomText):
    def __init__(self, seed: int, is_loss: bool) -> None:
        super().__init__(f"layers {seed}")
        self.is_loss = is_loss
        self.helpers: list[tuple[str, list[Shape], Shape]] = []
        self.is_main = False  # indices and conditions are parameters of `main`
        for number in range(0 if is_loss else self.random.choice([0, 0, 1, 2])):
            self._helper(f"f{number}")
        self._main()

    def _helper(self, name: str) -> None:
        shapes = self.random.choices(SHAPES[:4], k=self.random.randint(1, 3))
        scope = _Scope()
        for number, shape in enumerate(shapes):
            scope.add(f"p{number}", shape)
        written = ", ".join(f"p{number}: {tensor(shape)}" for number, shape in enumerate(shapes))
        self._say(1, "@R.function(private=True)")
        self._say(1, f"def {name}({written}):")
        if ("n", "4") in shapes:
            self._say(2, "n = T.int64()")
        self._say(2, "cls = Module")
        self._body(scope, 2, self.random.randint(1, 3))
        shape, dtype = self.random.choice([key for key in scope.values if key[1] == "float32"])
        self._say(2, f"return {self.random.choice(scope.values[shape, dtype])}")
        self.helpers.append((name, shapes, shape))

    def _main(self) -> None:
        self.is_main = True
        scope, written = _Scope(), []
        inputs = self.random.randint(1, 3)
        shapes = [
            *(self.random.choice([("n", "4"), ("2", "4"), ("2", "2", "4"), IMAGE]) for _ in range(inputs)),
            *self.random.choices([SQUARE, SQUARE, VECTOR, VECTOR, ("2", "4")], k=self.random.randint(2, 6)),
        ]
        for number, shape in enumerate(shapes):
            name = f"{'x' if number < inputs else 'w'}{number}"
            scope.add(name, shape)
            written.append(f"{name}: {tensor(shape)}")
        written += [
            'k: R.Tensor((4, 4, 1, 1), "float32")',
            'i: R.Tensor((2,), "int64")',
            'c: R.Tensor((), "bool")',
        ]
        scope.add("k", ("4", "4", "1", "1"))
        self._say(1, "@R.function")
        self._say(1, f"def main({', '.join(written)}):")
        if ("n", "4") in shapes:
            self._say(2, "n = T.int64()")
        self._say(2, f'R.func_attr({{"num_input": {inputs}}})')
        self._say(2, "cls = Module")
        if self.is_loss:
            self._loss(scope)
            return
        for _ in range(self.random.randint(1, 3)):
            if self._chance(0.75):
                self._block(scope)
            else:
                self._body(scope, 2, self.random.randint(1, 3))
        keys = [key for key in scope.values if key[1] != "int64"]
        results = [
            self.random.choice(scope.values[self.random.choice(keys)][-2:])
            for _ in range(self.random.randint(1, 3))
        ]
        self._say(2, f"return {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}")

    def _loss(self, scope: _Scope) -> None:
        """One dataflow block whose output is the sum of a value."""
        inner = scope.inner(is_dataflow=True)
        self._say(2, "with R.dataflow():")
        self._body(inner, 3, self.random.randint(2, 8))
        made = [
            name
            for (_, dtype), names in inner.values.items()
            for name in names
            if name[0] == "v" and dtype == "float32"
        ]
        self._say(3, f"loss = R.sum({made[-1] if made else 'k'})")
        self._say(3, "R.output(loss)")
        self._say(2, "return loss")

    def _block(self, scope: _Scope) -> None:
        inner = scope.inner(is_dataflow=True)
        before = {name for names in scope.values.values() for name in names}
        self._say(2, "with R.dataflow():")
        self._body(inner, 3, self.random.randint(2, 8))
        new = [(name, key) for key, names in inner.values.items() for name in names if name not in before]
        outputs = self.random.sample(new, min(len(new), self.random.randint(1, 3)))
        if not outputs:
            name = self._bind(inner, 3, self._unary(inner), SQUARE)
            outputs = [(name, (SQUARE, "float32"))]
        self._say(3, f"R.output({', '.join(name for name, _ in outputs)})")
        for name, (shape, dtype) in outputs:
            scope.add(name, shape, dtype)

    def _body(self, scope: _Scope, depth: int, size: int) -> None:
        for _ in range(size):
            if not scope.is_dataflow and self._chance(0.12):
                self._if(scope, depth)
            elif scope.said and self._chance(0.08):
                text, shape, dtype = self.random.choice(scope.said)
                self._bind(scope, depth, text, shape, dtype)
            else:
                self._one(scope, depth)

    def _one(self, scope: _Scope, depth: int) -> None:
        makers = (
            self._product, self._sum, self._move, self._join, self._unary_or_binary, self._copy, self._norm, self._image,
            self._constant, self._call, self._cast, self._blocks,
        )  # fmt: skip
        maker = self.random.choices(makers, (7, 4, 4, 4, 5, 2, 2, 2, 1, 2, 1, 1))[0]
        text, shape, dtype = maker(scope, depth)
        scope.said.append((text, shape, dtype))
        self._bind(scope, depth, text, shape, dtype)

    def _bind(self, scope: _Scope, depth: int, text: str, shape: Shape, dtype: str = "float32") -> str:
        self.count += 1
        name = f"v{self.count}"
        self._say(depth, f"{name} = {text}")
        scope.add(name, shape, dtype)
        return name

    def _pick(self, scope: _Scope, fits: Callable[[Shape], bool] = lambda shape: True) -> tuple[str, Shape]:
        """A float32 variable, mostly a young one, whose shape fits; a constant if there is none."""
        keys = [key for key in scope.values if key[1] == "float32" and fits(key[0])]
        if not keys:
            return f"R.zeros(R.shape([{', '.join(SQUARE)}]), 'float32')", SQUARE
        shape, dtype = self.random.choice(keys[-5:] if self._chance(0.6) else keys)
        names = scope.values[shape, dtype]
        return self.random.choice(names[-3:] if self._chance(0.6) else names), shape

    def _unary(self, scope: _Scope) -> str:
        name, _ = self._pick(scope, lambda shape: shape == SQUARE)
        return f"R.{self.random.choice(UNARY)}({name})"

    def _product(self, scope: _Scope, depth: int) -> tuple[str, Shape, str]:
        a, left = self._pick(scope, lambda shape: 0 < len(shape) < 4 and shape[-1].isdigit())
        b, right = self._pick(scope, lambda shape: 0 < len(shape) < 3 and shape[0] == left[-1])
        if right[:1] != left[-1:]:
            return f"R.exp({a})", left, "float32"
        if self._chance(0.25) and len(right) == 2 and right[0] == right[1]:
            b = self._bind(scope, depth, f"R.permute_dims({b})", right)
        return f"R.matmul({a}, {b})", (*left[:-1], *right[1:]), "float32"

    def _sum(self, scope: _Scope, depth: int) -> tuple[str, Shape, str]:
        """A product with a sum, or a sum of products."""
        a, left = self._pick(scope, lambda shape: len(shape) in (2, 3) and shape[-1] == "4")
        b, right = self._pick(scope, lambda shape: shape == SQUARE)
        if right != SQUARE or left[-1] != "4":
            return f"R.exp({a})", left, "float32"
        c, _ = self._pick(scope, lambda shape: shape == SQUARE)
        if self._chance(0.5):
            d = self._bind(scope, depth, f"R.add({b}, {c})", SQUARE)
            return f"R.matmul({a}, {d})", left, "float32"
        d = self._bind(scope, depth, f"R.matmul({a}, {b})", left)
        return f"R.matmul({d}, {c})" if self._chance(0.5) else f"R.add({d}, {a})", left, "float32"

    def _move(self, scope: _Scope, depth: int) -> tuple[str, Shape, str]:
        a, shape = self._pick(scope)
        choice = self.random.random()
        if choice < 0.3 and len(shape) > 1:
            axes = self.random.sample(range(len(shape)), len(shape))
            return f"R.permute_dims({a}, axes={axes})", tuple(shape[axis] for axis in axes), "float32"
        if choice < 0.5 and len(shape) < 4:
            axis = self.random.randint(0, len(shape))
            return f"R.expand_dims({a}, axis={axis})", (*shape[:axis], "1", *shape[axis:]), "float32"
        if self.is_main and choice < 0.65 and shape[-1:] == VECTOR:
            return f"R.take({a}, i, axis={len(shape) - 1})", (*shape[:-1], "2"), "float32"
        if all(dim.isdigit() for dim in shape):
            count = 1
            for dim in shape:
                count *= int(dim)
            targets = [(str(count),), (str(count // 2), "2"), ("2", str(count // 2)), shape]
            target = self.random.choice([of for of in targets if "0" not in of and _count(of) == count])
            return f"R.reshape({a}, R.shape([{', '.join(target)}]))", target, "float32"
        return f"R.reshape({a}, R.shape([{', '.join(shape)}]))", shape, "float32"

    def _join(self, scope: _Scope, depth: int) -> tuple[str, Shape, str]:
        """Two tensors side by side, or a part of one."""
        a, shape = self._pick(scope, lambda shape: 0 < len(shape) < 4)
        axis = self.random.randrange(len(shape))
        if not shape[axis].isdigit():
            return f"R.nn.softmax({a})", shape, "float32"
        if self._chance(0.3) and int(shape[axis]) % 2 == 0:
            whole = f"R.split({a}, 2, axis={axis})"
            half = (*shape[:axis], str(int(shape[axis]) // 2), *shape[axis + 1 :])
            self.count += 1
            self._say(depth, f"v{self.count} = {whole}")
            return f"v{self.count}[{self.random.randrange(2)}]", half, "float32"
        b, _ = self._pick(scope, lambda other: other == shape)
        if self._chance(0.5) and len(shape) == 2:
            a, b = (self._bind(scope, depth, f"R.permute_dims({x})", shape[::-1]) for x in (a, b))
            shape, axis = shape[::-1], 1 - axis
        if not shape[axis].isdigit():
            return f"R.add({a}, {b})", shape, "float32"
        longer = (*shape[:axis], str(2 * int(shape[axis])), *shape[axis + 1 :])
        return f"R.concat(({a}, {b}), axis={axis})", longer, "float32"

    def _unary_or_binary(self, scope: _Scope, depth: int) -> tuple[str, Shape, str]:
        a, shape = self._pick(scope)
        if self._chance(0.4):
            return f"R.{self.random.choice(UNARY)}({a})", shape, "float32"
        b, _ = self._pick(scope, lambda other: other == shape or (other == VECTOR and shape[-1:] == VECTOR))
        if self._chance(0.15):
            b = 'R.const(2.0, "float32")'
        return f"R.{self.random.choice(BINARY)}({a}, {b})", shape, "float32"

    def _copy(self, scope: _Scope, depth: int) -> tuple[str, Shape, str]:
        """A copy, also through a tuple or a check that holds."""
        a, shape = self._pick(scope)
        choice = self.random.random()
        if choice < 0.4:
            return a, shape, "float32"
        if choice < 0.8:
            self.count += 1
            b, _ = self._pick(scope)
            self._say(depth, f"v{self.count} = ({b}, {a})")
            return f"v{self.count}[1]", shape, "float32"
        return f"R.match_cast({a}, {tensor(shape, quoted=False)})", shape, "float32"

    def _norm(self, scope: _Scope, depth: int) -> tuple[str, Shape, str]:
        a, shape = self._pick(scope, lambda shape: shape[-1:] == VECTOR and len(shape) > 1)
        g, of = self._pick(scope, lambda shape: shape == VECTOR)
        if of != VECTOR or shape[-1:] != VECTOR:
            return f"R.nn.softmax({a})", shape, "float32"
        if self._chance(0.5):
            return f"R.nn.rms_norm({a}, {g}, axes=[-1])", shape, "float32"
        return f"R.nn.layer_norm({a}, {g}, {g}, axes=[-1])", shape, "float32"

    def _image(self, scope: _Scope, depth: int) -> tuple[str, Shape, str]:
        a, shape = self._pick(scope, lambda shape: shape == IMAGE)
        g, of = self._pick(scope, lambda shape: shape == VECTOR)
        if shape != IMAGE or of != VECTOR:
            return f"R.nn.relu({a})", shape, "float32"
        choice = self.random.random()
        if choice < 0.4:
            return f"R.nn.conv2d({a}, k)", IMAGE, "float32"
        if choice < 0.6:
            conv = self._bind(scope, depth, f"R.nn.conv2d({a}, k)", IMAGE)
            self.count += 1
            self._say(depth, f"v{self.count} = R.nn.batch_norm({conv}, {g}, {g}, {g}, {g}, axis=1)")
            return f"v{self.count}[0]", IMAGE, "float32"
        if choice < 0.8:
            return f"R.nn.max_pool2d({a}, pool_size=[3, 3], padding=[1, 1, 1, 1])", IMAGE, "float32"
        bias = self._bind(scope, depth, f"R.reshape({g}, R.shape([1, 4, 1, 1]))", ("1", "4", "1", "1"))
        return f"R.add({a}, {bias})", IMAGE, "float32"

    def _constant(self, scope: _Scope, depth: int) -> tuple[str, Shape, str]:
        row = "[1.0, 2.0, 3.0, 4.0]"
        if self._chance(0.5):
            return f'R.const({row}, "float32")', VECTOR, "float32"
        return f'R.const([{", ".join([row] * 4)}], "float32")', SQUARE, "float32"

    def _call(self, scope: _Scope, depth: int) -> tuple[str, Shape, str]:
        for name, shapes, result in self.random.sample(self.helpers, len(self.helpers)):
            args = [self._pick(scope, partial(eq, want)) for want in shapes]
            if [shape for _, shape in args] == shapes:
                return f"cls.{name}({', '.join(arg for arg, _ in args)})", result, "float32"
        return self._product(scope, depth)

    def _cast(self, scope: _Scope, depth: int) -> tuple[str, Shape, str]:
        """float16 and back."""
        half = [
            (name, key[0]) for key, names in scope.values.items() if key[1] == "float16" for name in names
        ]
        if half and self._chance(0.6):
            name, shape = self.random.choice(half)
            return f'R.astype({name}, "float32")', shape, "float32"
        a, shape = self._pick(scope)
        return f'R.astype({a}, "float16")', shape, "float16"

    def _blocks(self, scope: _Scope, depth: int) -> tuple[str, Shape, str]:
        """A layout and the way back."""
        a, shape = self._pick(scope, lambda shape: len(shape) == 2)
        if len(shape) != 2:
            return f"R.exp({a})", shape, "float32"
        there = self._bind(
            scope, depth, f"R.layout_transform({a}, index_map=lambda i, j: (j, i))", shape[::-1]
        )
        return f"R.layout_transform({there}, index_map=lambda i, j: (j, i))", shape, "float32"

    def _if(self, scope: _Scope, depth: int) -> None:
        shape, dtype = self.random.choice([key for key in scope.values if key[1] == "float32"])
        self.count += 1
        name = f"v{self.count}"
        for head in (
            "if c:" if self.lines and "x0" in str(scope.values) else "if R.const(True, 'bool'):",
            "else:",
        ):
            self._say(depth, head)
            inner = scope.inner(is_dataflow=False)
            self._body(inner, depth + 1, self.random.randint(0, 3))
            self._say(depth + 1, f"{name} = {self.random.choice(inner.values[shape, dtype])}")
        scope.add(name, shape, dtype)


def _count(shape: Shape) -> int:
    count = 1
    for dim in shape:
        count *= int(dim)
    return count


def layer_material(seed: int) -> str:
    """A module of up to two private functions and `main`, whose first parameters are inputs and whose others are weights."""
    return HEADER + "\n".join(_Network(seed, False).lines) + "\n"


def loss_material(seed: int) -> str:
    """A module with `main` only, which returns a scalar computed in one dataflow block."""
    return HEADER + "\n".join(_Network(seed, True).lines) + "\n"
