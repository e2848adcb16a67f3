"""Random Relax programs: mostly sensible, sometimes wrong, always different; the seed determines everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

HEADER = "from tvm.script import ir as I, relax as R, tirx as T\n\n"
_DIMS = ["n", "m", "1", "2", "3", "4", "n + 1", "n * 2", "n * m"]
_UNARY = [
    "exp",
    "negative",
    "nn.relu",
    "sigmoid",
    "abs",
    "nn.gelu",
    "tanh",
    "sqrt",
    "logical_not",
    "sign",
    "floor",
]
_BINARY = ["add", "multiply", "subtract", "maximum", "divide", "power", "less", "equal", "logical_and"]
_REDUCE = ["sum", "mean", "max", "min", "prod", "argmax"]
_DTYPES = ["float32", "float16", "int32", "int64", "bool"]


@dataclass
class _Value:
    """A variable in scope: its rank (-1 unknown), and its dimensions as text where known."""

    name: str
    dims: list[str] | None
    dtype: str = "float32"


@dataclass
class _Body:
    random: Random
    known: list[_Value]
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def pick(self) -> _Value:
        """Any variable; younger ones are likelier."""
        return self.random.choice(self.known[-6:] if self.random.random() < 0.7 else self.known)

    def like(self, value: _Value) -> _Value:
        """A variable of the same shape and dtype if there is one; sometimes any variable."""
        same = [other for other in self.known if (other.dims, other.dtype) == (value.dims, value.dtype)]
        return self.random.choice(same) if same and self.random.random() < 0.85 else self.pick()

    def bind(self, text: str, dims: list[str] | None, dtype: str, indent: str) -> None:
        """Bind this value to a new variable."""
        name = f"v{self.count}"
        self.count += 1
        self.lines.append(f"{indent}{name} = {text}")
        self.known.append(_Value(name, dims, dtype))


def _tensor(random: Random, dims: list[str] | None, dtype: str) -> str:
    if dims is None:
        return f'R.Tensor("{dtype}", ndim={random.randint(1, 3)})'
    quoted = [dim if dim.isdigit() else f'"{dim}"' for dim in dims]
    return f'R.Tensor(({"".join(dim + ", " for dim in quoted)}), "{dtype}")'


def _elementwise(body: _Body, indent: str) -> None:
    a = body.pick()
    if body.random.random() < 0.5:
        op = body.random.choice(_UNARY)
        body.bind(f"R.{op}({a.name})", a.dims, a.dtype, indent)
    else:
        op, b = body.random.choice(_BINARY), body.like(a)
        dtype = "bool" if op in ("less", "equal") else a.dtype
        body.bind(f"R.{op}({a.name}, {b.name})", a.dims if a.dims == b.dims else None, dtype, indent)


def _reduce(body: _Body, indent: str) -> None:
    a, random = body.pick(), body.random
    rank = len(a.dims) if a.dims is not None else 2
    axis = random.randint(-rank, rank - (random.random() < 0.95)) if rank else None
    op, keep = random.choice(_REDUCE), random.random() < 0.5
    where = f"axis={axis}" if op == "argmax" else f"axis={[axis] if axis is not None else None}"
    dims = None
    if a.dims is not None and axis is not None and -rank <= axis < rank:
        dims = list(a.dims)
        dims[axis : axis + 1 or None] = ["1"] if keep else []
    body.bind(
        f"R.{op}({a.name}, {where}, keepdims={keep})", dims, "int64" if op == "argmax" else a.dtype, indent
    )


def _move(body: _Body, indent: str) -> None:
    a, random = body.pick(), body.random
    rank = len(a.dims) if a.dims is not None else 2
    kind = random.choice(
        ["permute", "expand", "squeeze", "flatten", "reshape", "flip", "astype", "repeat", "slice"]
    )
    if kind == "permute":
        axes = random.sample(range(rank), rank)
        dims = [a.dims[axis] for axis in axes] if a.dims is not None else None
        body.bind(f"R.permute_dims({a.name}, axes={axes})", dims, a.dtype, indent)
    elif kind == "expand":
        axis = random.randint(0, rank)
        dims = [*a.dims[:axis], "1", *a.dims[axis:]] if a.dims is not None else None
        body.bind(f"R.expand_dims({a.name}, axis={axis})", dims, a.dtype, indent)
    elif kind == "squeeze":
        body.bind(f"R.squeeze({a.name})", None, a.dtype, indent)
    elif kind == "flatten":
        body.bind(f"R.flatten({a.name})", None, a.dtype, indent)
    elif kind == "reshape":
        target = random.choice(["[-1]", "[n, -1]", f"[{', '.join(reversed(a.dims or ['2']))}]", "[2, 3]"])
        body.bind(f"R.reshape({a.name}, R.shape({target}))", None, a.dtype, indent)
    elif kind == "flip":
        body.bind(f"R.flip({a.name}, axis={random.randint(-1, rank)})", a.dims, a.dtype, indent)
    elif kind == "astype":
        dtype = random.choice(_DTYPES)
        body.bind(f'R.astype({a.name}, dtype="{dtype}")', a.dims, dtype, indent)
    elif kind == "repeat":
        body.bind(
            f"R.repeat({a.name}, repeats=2, axis={random.choice([0, -1, None])})", None, a.dtype, indent
        )
    else:
        begin, end = random.randint(-2, 2), random.randint(1, 5)
        text = f"R.strided_slice({a.name}, axes=[0], begin=[{begin}], end=[{end}])"
        body.bind(text, None, a.dtype, indent)


def _join(body: _Body, indent: str) -> None:
    a, random = body.pick(), body.random
    kind = random.choice(
        ["matmul", "concat", "split", "where", "take", "broadcast", "stack", "softmax", "full"]
    )
    if kind == "matmul":
        body.bind(f"R.matmul({a.name}, {body.pick().name})", None, a.dtype, indent)
    elif kind in ("concat", "stack"):
        body.bind(
            f"R.{kind}(({a.name}, {body.like(a).name}), axis={random.randint(-1, 1)})", None, a.dtype, indent
        )
    elif kind == "split":
        body.bind(
            f"R.split({a.name}, indices_or_sections={random.choice([2, [1], [1, 2]])}, axis=0)",
            None,
            "tuple",
            indent,
        )
        whole = body.known.pop()
        body.bind(f"{whole.name}[{random.randint(0, 1)}]", None, a.dtype, indent)
    elif kind == "where":
        body.bind(
            f"R.where(R.less({a.name}, {a.name}), {a.name}, {body.like(a).name})", None, a.dtype, indent
        )
    elif kind == "take":
        body.bind(f"R.take({a.name}, {body.pick().name}, axis=0)", None, a.dtype, indent)
    elif kind == "broadcast":
        target = ["2", *(a.dims or ["n"])]
        body.bind(f"R.broadcast_to({a.name}, R.shape([{', '.join(target)}]))", target, a.dtype, indent)
    elif kind == "softmax":
        body.bind(f"R.nn.softmax({a.name}, axis={random.randint(-3, 2)})", a.dims, a.dtype, indent)
    else:
        dims = random.choices(_DIMS, k=2)
        body.bind(f'R.zeros(R.shape([{", ".join(dims)}]), dtype="float32")', dims, "float32", indent)


def _cast(body: _Body, indent: str) -> None:
    a, random = body.pick(), body.random
    rank = len(a.dims) if a.dims is not None else random.randint(1, 3)
    fresh = [f"k{body.count}_{axis}" for axis in range(rank)]
    dims = [
        old if a.dims is not None and random.random() < 0.5 else new
        for old, new in zip(a.dims or fresh, fresh, strict=True)
    ]
    for name in fresh:
        if name in dims:
            body.lines.append(f"{indent}{name} = T.int64()")
    target = f'R.Tensor(({"".join(dim + ", " for dim in dims)}), "{a.dtype}")'
    body.bind(f"R.match_cast({a.name}, {target})", dims, a.dtype, indent)


_STATEMENTS: list[tuple[float, Callable[[_Body, str], None]]] = [
    (4, _elementwise), (2, _reduce), (3, _move), (3, _join), (1, _cast),
]  # fmt: skip


def _statement(body: _Body, indent: str) -> None:
    weights, kinds = zip(*_STATEMENTS, strict=True)
    body.random.choices(kinds, weights)[0](body, indent)


def _branch(body: _Body, condition: str, indent: str) -> None:
    name = f"v{body.count}"
    body.count += 1
    a = body.pick()
    before = list(body.known)
    for keyword in (f"if {condition}:", "else:"):
        body.lines.append(indent + keyword)
        body.known = list(before)
        for _ in range(body.random.randint(0, 2)):
            _statement(body, indent + "    ")
        value = f"R.exp({a.name})" if body.random.random() < 0.6 else f"R.negative({body.pick().name})"
        body.lines.append(f"{indent}    {name} = {value}")
    body.known = [*before, _Value(name, None, a.dtype)]


def random_program(seed: int) -> str:
    """A module of one or two functions, the second calling the first."""
    random = Random(seed)
    lines = [HEADER + "@I.ir_module", "class Module:"]
    first = _function(random, "f", [])
    lines += first
    if random.random() < 0.5:
        lines += _function(random, "main", ["f"])
    return "\n".join(lines) + "\n"


def _function(random: Random, name: str, callees: list[str]) -> list[str]:
    params = [_Value("p0", ["n", "m"]), _Value("c", [], "bool")]
    for number in range(1, random.randint(2, 4)):
        dims = None if random.random() < 0.15 else random.choices(_DIMS, k=random.randint(1, 3))
        params.append(
            _Value(f"p{number}", dims, random.choice(_DTYPES) if random.random() < 0.3 else "float32")
        )
    written = ", ".join(f"{p.name}: {_tensor(random, p.dims, p.dtype)}" for p in params)
    body = _Body(random, [p for p in params if p.name != "c"])
    indent = " " * 8
    dataflow = random.random() < 0.4
    inner = indent + "    " * dataflow
    for _ in range(random.randint(2, 7)):
        if not dataflow and random.random() < 0.12:
            _branch(body, "c", indent)
        elif callees and random.random() < 0.2:
            body.bind(f"Module.f({body.pick().name}, c, {body.pick().name})", None, "float32", inner)
        else:
            _statement(body, inner)
    last = body.known[-1].name
    head = [
        "    @R.function",
        f"    def {name}({written}):",
        f"{indent}n = T.int64()",
        f"{indent}m = T.int64()",
    ]
    if dataflow:
        out = [indent + "with R.dataflow():", *body.lines, f"{inner}R.output({last})"]
        return [*head, *(out if last.startswith("v") else body.lines), f"{indent}return {last}"]
    return [*head, *body.lines, f"{indent}return {last}"]
