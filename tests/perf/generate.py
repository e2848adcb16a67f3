"""Generate transformer-like Relax modules of any length, as TVM 0.27 prints them.

Every layer is 34 bindings. Among them are a dead one, a duplicated expression, an alias, a tuple that is split and
projected, and a call_tir of a PrimFunc that all layers share. The text is byte for byte TVM's print of the parsed
module, so that printing can be compared as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count, islice

WIDTH = 64
HIDDEN = 256
HEADER = """# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def tir_scale(A_: T.Buffer((n, T.int64(256)), "float32"), B_: T.Buffer((n, T.int64(256)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i, j in T.grid(n, T.int64(256)):
            with T.sblock("B"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                T.reads(A_[v_i, v_j])
                T.writes(B_[v_i, v_j])
                B_[v_i, v_j] = A_[v_i, v_j] * T.float32(0.5)

"""


def tensor(*lengths: int | str) -> str:
    """Return the annotation of a float32 tensor."""
    inner = ", ".join(map(str, lengths)) + ("," if len(lengths) == 1 else "")
    return f'R.Tensor(({inner}), dtype="float32")'


TOKENS, WIDE, HALF = tensor("n", WIDTH), tensor("n", HIDDEN), tensor("n", HIDDEN // 2)
HEADS, SCORES, SPLIT = tensor(8, "n", 8), tensor(8, "n", "n"), tensor("n", 8, 8)
NORM = "axes=[-1], epsilon=1.0000000000000001e-05, center=True, scale=True"

LAYER = (
    ("q", TOKENS, "R.matmul({x}, wq{w}, out_dtype=None)"),
    ("qb", TOKENS, "R.add(q{i}, b{w})"),
    ("k", TOKENS, "R.matmul({x}, wk{w}, out_dtype=None)"),
    ("kb", TOKENS, "R.add(k{i}, b{w})"),
    ("v", TOKENS, "R.matmul({x}, wv{w}, out_dtype=None)"),
    ("vb", TOKENS, "R.add(v{i}, b{w})"),
    ("qr", SPLIT, "R.reshape(qb{i}, R.shape([n, 8, 8]))"),
    ("kr", SPLIT, "R.reshape(kb{i}, R.shape([n, 8, 8]))"),
    ("vr", SPLIT, "R.reshape(vb{i}, R.shape([n, 8, 8]))"),
    ("qt", HEADS, "R.permute_dims(qr{i}, axes=[1, 0, 2])"),
    ("kt", tensor(8, 8, "n"), "R.permute_dims(kr{i}, axes=[1, 2, 0])"),
    ("vt", HEADS, "R.permute_dims(vr{i}, axes=[1, 0, 2])"),
    ("sc", SCORES, "R.matmul(qt{i}, kt{i}, out_dtype=None)"),
    ("scm", SCORES, 'R.multiply(sc{i}, R.const(0.35355338454246521, "float32"))'),
    ("sm", SCORES, "R.nn.softmax(scm{i}, axis=-1)"),
    ("at", HEADS, "R.matmul(sm{i}, vt{i}, out_dtype=None)"),
    ("pt", SPLIT, "R.permute_dims(at{i}, axes=[1, 0, 2])"),
    ("pr", TOKENS, "R.reshape(pt{i}, R.shape([n, 64]))"),
    ("o", TOKENS, "R.matmul(pr{i}, wo{w}, out_dtype=None)"),
    ("ra", TOKENS, "R.add({x}, o{i})"),
    ("al", TOKENS, "ra{i}"),
    ("ln", TOKENS, f"R.nn.layer_norm(al{{i}}, g{{w}}, b{{w}}, {NORM})"),
    ("dup", TOKENS, "R.add({x}, o{i})"),
    ("h", WIDE, "R.matmul(ln{i}, w1{w}, out_dtype=None)"),
    ("sp", f"R.Tuple({HALF}, {HALF})", "R.split(h{i}, indices_or_sections=2, axis=1)"),
    ("s0", HALF, "sp{i}[0]"),
    ("s1", HALF, "sp{i}[1]"),
    ("act", HALF, "R.nn.relu(s0{i})"),
    ("cat", WIDE, "R.concat((act{i}, s1{i}), axis=1)"),
    ("tir", "", f"R.call_tir(cls.tir_scale, (cat{{i}},), out_ty={WIDE})"),
    ("dead", WIDE, "R.exp(tir{i})"),
    ("m2", TOKENS, "R.matmul(tir{i}, w2{w}, out_dtype=None)"),
    ("rb", TOKENS, "R.add(dup{i}, m2{i})"),
    ("y", TOKENS, f"R.nn.layer_norm(rb{{i}}, g{{w}}, b{{w}}, {NORM})"),
)
"""Name, annotation and value of a layer's bindings; {i} is the layer, {x} its input, {w} its weights."""

WEIGHTS = (
    *((name, tensor(WIDTH, WIDTH)) for name in ("wq", "wk", "wv", "wo")),
    ("w1", tensor(WIDTH, HIDDEN)),
    ("w2", tensor(HIDDEN, WIDTH)),
    ("g", tensor(WIDTH)),
    ("b", tensor(WIDTH)),
)
WEIGHT_SETS = 4


def transformer(bindings: int) -> str:
    """Return a module whose function `main` has this many bindings in one dataflow block."""
    parameters = [f"x: {TOKENS}"]
    parameters += [f"{name}{w}: {annotation}" for w in range(WEIGHT_SETS) for name, annotation in WEIGHTS]
    last = "x"
    lines = []
    for name, annotation, value in islice(_layers(), bindings - 1):
        lines.append(f"            {name}{': ' if annotation else ''}{annotation} = {value}\n")
        if annotation == TOKENS:
            last = name
    return (
        f"{HEADER}    @R.function\n    def main({', '.join(parameters)}) -> {TOKENS}:\n"
        f"        cls = Module\n        with R.dataflow():\n{''.join(lines)}"
        f"            out: {TOKENS} = R.nn.relu({last})\n            R.output(out)\n        return out\n"
    )


def _layers() -> Iterator[tuple[str, str, str]]:
    source = "x"
    for layer in count():
        for name, annotation, value in LAYER:
            yield f"{name}{layer}", annotation, value.format(i=layer, x=source, w=layer % WEIGHT_SETS)
        source = f"y{layer}"


def renamed(text: str) -> str:
    """A generated transformer whose bindings all have other names."""
    own = set(re.findall(r"^ {12}(\w+)(?:: | = )", text, re.MULTILINE))
    return re.sub(r"\w+", lambda match: match[0] + "_r" if match[0] in own else match[0], text)


VECTOR = tensor(4)
MAIN = f"""from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: {VECTOR}, c: R.Tensor((), "bool")) -> {VECTOR}:
"""


def dataflow_blocks(count: int) -> str:
    """A function with this many dataflow blocks."""
    one = (
        "        with R.dataflow():\n            a{0} = R.add(b{1}, x)\n            b{0} = R.exp(a{0})\n"
        "            R.output(b{0})\n"
    )
    return _chain(one, count)


def branches(count: int) -> str:
    """A function with this many Ifs."""
    one = "        if c:\n            b{0} = R.add(b{1}, x)\n        else:\n            b{0} = R.exp(b{1})\n"
    return _chain(one, count)


def closures(count: int) -> str:
    """A function with this many local functions that capture a parameter."""
    one = (
        f"        @R.function\n        def f{{0}}(p: {VECTOR}) -> {VECTOR}:\n            q = R.add(p, x)\n"
        "            return q\n        b{0} = f{0}(b{1})\n"
    )
    return _chain(one, count)


def _chain(one: str, count: int) -> str:
    lines = [one.format(i, i - 1) for i in range(1, count + 1)]
    return f"{MAIN}        b0 = R.exp(x)\n{''.join(lines)}        return b{count}\n"


def dimension(terms: int) -> str:
    """A function over a tensor whose length is a sum of this many terms, nested to the left as Python parses it."""
    length = " + ".join(["n * 2", "n"] * (terms // 2))
    info = f'R.Tensor(({length},), dtype="float32")'
    head = MAIN[: MAIN.index("    @R.function")]
    return (
        f'{head}    @R.function\n    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(None, "float32", ndim=1):\n'
        f'        n = T.int64()\n        y: {info} = R.zeros(R.shape([{length}]), dtype="float32")\n'
        "        z = R.add(y, y)\n        return z\n"
    )
