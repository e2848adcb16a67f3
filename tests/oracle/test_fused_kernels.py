"""FuseTIR on hand-written functions computes the same. `test_pass_results.py` compares the results with TVM's."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.passes import get
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare

HEAD = "# from tvm.script import ir as I, relax as R, tirx as T\n\n@I.ir_module\nclass Module:\n"
T = 'R.Tensor((2, 3), "float32")'
ROWS_OF = 'R.Tensor((n, 3), "float32")'
S = 'R.Tensor(("n", 3), "float32")'
M = 'R.Tensor(("m", 3), "float32")'
OTHER = 'R.Tensor(("k", 3), "float32")'
TT = f"R.Tuple({T}, {T})"


def kernel(name: str, params: str, body: str, reads: str, writes: str, rows: str = "T.int64(2)") -> str:
    """A kernel over 2 × 3 (or n × 3) elements, each of its parameters a buffer."""
    n = "        n = T.int64()\n" if rows == "n" else ""
    buffers = ", ".join(f'{q}: T.Buffer(({rows}, T.int64(3)), "float32")' for q in params)
    if rows == "n":
        buffers = ", ".join(f"{q}_: T.handle" for q in params)
        n += "".join(f'        {q} = T.match_buffer({q}_, (n, T.int64(3)), "float32")\n' for q in params)
    lines = "".join(f"                {line}\n" for line in body.split("; "))
    return (
        f"    @T.prim_func(private=True, s_tir=True)\n    def {name}({buffers}):\n"
        f'        T.func_attr({{"tirx.noalias": True, "op_pattern": 0}})\n{n}'
        f"        for i, j in T.grid({rows}, T.int64(3)):\n            with T.sblock({name!r}):\n"
        f'                v, w = T.axis.remap("SS", [i, j])\n'
        f"                T.reads({reads})\n                T.writes({writes})\n{lines}\n"
    )


ADD = kernel("add", "xyz", "z[v, w] = x[v, w] + y[v, w]", "x[v, w], y[v, w]", "z[v, w]")
ADD_ROWS = kernel("add", "xyz", "z[v, w] = x[v, w] + y[v, w]", "x[v, w], y[v, w]", "z[v, w]", "n")
FIRST = kernel("add", "xyz", "z[v, w] = x[v, w]", "x[v, w]", "z[v, w]")
NEXT = kernel(
    "next",
    "xz",
    "z[v, w] = x[v, w] + x[v, (w + T.int64(1)) % T.int64(3)]",
    "x[v, w], x[v, (w + T.int64(1)) % T.int64(3)]",
    "z[v, w]",
)
INTO = kernel("into", "xy", "x[v, w] = x[v, w] + y[v, w]", "x[v, w], y[v, w]", "x[v, w]")
INTO_ROWS = kernel("into", "xy", "x[v, w] = x[v, w] + y[v, w]", "x[v, w], y[v, w]", "x[v, w]", "n")
TWO = kernel(
    "two", "xyz", "y[v, w] = x[v, w] + T.float32(1); z[v, w] = x[v, w]", "x[v, w]", "y[v, w], z[v, w]"
)
MIXED = kernel(
    "mixed", "xyz", "x[v, w] = x[v, w] + y[v, w]; z[v, w] = y[v, w]", "x[v, w], y[v, w]", "x[v, w], z[v, w]"
)


def add(name: str, a: str, b: str, info: str = T) -> str:
    return f"{name} = R.call_tir(cls.add, ({a}, {b}), out_ty={info})"


def into(name: str, a: str, b: str, info: str = T) -> str:
    return f"{name} = R.call_tir_inplace(cls.into, ({a}, {b}), inplace_indices=[0], out_ty={info})"


def lines(text: list[str], indent: int) -> str:
    return "".join(" " * indent + line + "\n" for line in text)


def program(
    kernels: str, params: str, body: list[str], caller: list[str], info: str = T, private: bool = True
) -> str:
    """A module with a primitive function `f`, and a function that calls it."""
    decorator = "@R.function(private=True)" if private else "@R.function"
    return (
        f'{HEAD}{kernels}    {decorator}\n    def f({params}):\n        R.func_attr({{"Primitive": True}})\n'
        f"        cls = Module\n        with R.dataflow():\n{lines(body, 12)}            R.output(gv)\n        return gv\n\n"
        f"    @R.function\n    def main(x: {info}, y: {info}):\n        cls = Module\n{lines(caller, 8)}"
    )


def block(*body: str) -> list[str]:
    return ["with R.dataflow():", *(f"    {line}" for line in body), "    R.output(gv)", "return gv"]


PAIR = block("t = (x, y)", "gv = cls.f(t)")
BOTH = block("gv = cls.f(x, y)")
ONE = block("gv = cls.f(x)")
PROGRAMS = {
    "a tuple in a tuple": program(
        ADD, f"t: R.Tuple({TT}, {T})", ["a = t[0]", "b = a[1]", "c = t[1]", add("gv", "b", "c")],
        block("u = (x, y)", "t = (u, y)", "gv = cls.f(t)"),
    ),
    "a field of a tuple": program(ADD, f"t: {TT}", ["a = t[1]", add("gv", "a", "a")], PAIR),
    "an empty tuple": program(
        ADD, f"t: R.Tuple(), a: {T}", [add("gv", "a", "a")], block("t = R.tuple()", "gv = cls.f(t, x)")
    ),
    "two callers": program(
        ADD, f"t: {TT}, q: {T}", ["a = t[0]", add("gv", "a", "a")],
        block("t = (x, y)", "b = cls.f(t, y)", "u = (b, x)", "gv = cls.f(u, x)"),
    ),
    "callers in branches": program(
        ADD, f"t: {TT}", ["a = t[0]", "b = t[1]", add("gv", "a", "b")],
        ["if R.const(True, \"bool\"):", "    t = (x, y)", "    a = cls.f(t)", "    r = a",
         "else:", "    t = (y, y)", "    a = cls.f(t)", "    r = a", "return r"],
    ),
    "a parameter that nothing reads": program(ADD, f"a: {T}, b: {T}", [add("gv", "b", "b")], BOTH),
    "a parameter that dead code reads": program(
        ADD, f"a: {T}, b: {T}", [add("d", "a", "a"), add("gv", "b", "b")], BOTH
    ),
    "a parameter that the kernel does not read": program(FIRST, f"a: {T}, b: {T}", [add("gv", "a", "b")], BOTH),
    "an impure call that nothing reads": program(
        ADD, f"a: {T}, b: {T}", [add("gv", "a", "b")], ["d = cls.f(y, x)", "gv = cls.f(x, y)", "return gv"]
    )
    .replace("private=True)\n    def f", "private=True, pure=False)\n    def f")
    .replace("R.function\n    def main", "R.function(pure=False)\n    def main"),
    "symbolic lengths": program(
        ADD_ROWS, f"t: R.Tuple({S}, {S}), q: {S}", ["n = T.int64()", "a = t[1]", add("b", "a", "a", ROWS_OF), add("gv", "b", "a", ROWS_OF)],
        block("t = (x, y)", "gv = cls.f(t, x)"), M,
    ),
    "a tuple as the result": program(
        ADD, f"a: {T}", [add("b", "a", "a"), add("c", "a", "b"), "gv = (b, c)"],
        block("u = cls.f(x)", "a = u[0]", "b = u[1]", add("gv", "a", "b")),
    ),
    "a kernel with two results": program(
        ADD + TWO, f"a: {T}", [f"c = R.call_tir(cls.two, (a,), out_ty=[{T}, {T}])", "d = c[1]", add("gv", "d", "a")], ONE
    ),
    "one argument twice": program(
        ADD, f"a: {T}, b: {T}", [add("c", "a", "b"), add("gv", "c", "b")], block("gv = cls.f(x, x)")
    ),
    "an inner value is overwritten": program(
        ADD + INTO, f"a: {T}, b: {T}", [add("c", "a", "b"), into("gv", "c", "b")], BOTH
    ),
    "a parameter is overwritten": program(
        ADD + INTO, f"b: {T}, a: {T}", [add("c", "b", "b"), into("gv", "a", "c")],
        block(add("z", "x", "y"), "gv = cls.f(y, z)"),
    ),
    "a parameter is overwritten twice": program(
        ADD + INTO, f"a: {T}, b: {T}", [into("c", "a", "b"), into("gv", "c", "b")],
        block(add("z", "x", "y"), "gv = cls.f(z, y)"),
    ),
    "a field of a parameter is overwritten": program(
        ADD + INTO, f"t: {TT}", ["b = t[0]", "a = t[1]", into("gv", "a", "b")],
        block(add("z", "x", "y"), "t = (y, z)", "gv = cls.f(t)"),
    ),
    "a parameter of symbolic lengths is overwritten": program(
        ADD_ROWS + INTO_ROWS, f"a: {S}, b: {S}", ["n = T.int64()", into("gv", "a", "b", ROWS_OF)],
        block("m = T.int64()", add("z", "x", "y", 'R.Tensor((m, 3), "float32")'), "gv = cls.f(z, y)"), M,
    ),
}  # fmt: skip
EQUAL = "equal"
DIFFERENT = {
    "two regions of one buffer": program(
        NEXT, f"a: {T}", [f"b = R.call_tir(cls.next, (a,), out_ty={T})", f"gv = R.call_tir(cls.next, (b,), out_ty={T})"], ONE
    ),
    "a tuple in the result": program(
        ADD, f"a: {T}", [add("b", "a", "a"), add("c", "a", "b"), add("d", "c", "b"), "e = (c, d)", "gv = (b, e)"], ONE
    ),
    "a value twice": program(ADD, f"a: {T}", [add("b", "a", "a"), "gv = (b, b)"], ONE),
    "a public function": program(ADD, f"a: {T}, b: {T}", [add("gv", "b", "b")], BOTH, private=False),
    "a function as a value": program(
        ADD, f"q: {T}, b: {T}", [add("gv", "q", "b")], ["g = cls.f", "a = g(x, y)", "b = cls.f(a, x)", "return b"]
    ),
    "a parameter is overwritten for another result": program(
        ADD + INTO, f"a: {T}, b: {T}", [into("c", "a", "b"), add("gv", "c", "b")],
        block(add("z", "x", "y"), "gv = cls.f(z, y)"),
    ),
    "lengths that may differ": program(
        ADD_ROWS, f'a: {S}, b: {OTHER}', ["n = T.int64()", add("gv", "a", "b", ROWS_OF)], BOTH, M
    ),
}  # fmt: skip
"""Programs with the first words of their rows."""
X, Y = (np.arange(6, dtype="float32").reshape(2, 3) + k for k in (1, 10))


def runs_alike(text: str) -> rxe.IRModule:
    """The module after FuseTIR, which computes what the program did."""
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, "FuseTIR")
    want, have = (flat(rxe.run(module, "main", [X.copy(), Y.copy()])) for module in (before, after))
    assert len(want) == len(have) > 0
    for a, b in zip(want, have, strict=True):
        np.testing.assert_array_equal(a, b)
    return after


def flat(value: object) -> list[object]:
    return [leaf for field in value for leaf in flat(field)] if isinstance(value, tuple) else [value]


def functions(module: rxe.IRModule) -> set[str]:
    return set(module.relax_functions)


WRITTEN = {f"fused: {title}": text for title, text in (PROGRAMS | DIFFERENT).items()}
"""Given to FuseTIR by `test_pass_results.py`, too, with what differs from TVM."""


@pytest.mark.parametrize("title", PROGRAMS)
def test_the_result_computes_the_same(title: str) -> None:
    assert functions(runs_alike(PROGRAMS[title])) == {"main"}


@pytest.mark.parametrize("title", DIFFERENT)
def test_a_result_that_differs_computes_the_same(title: str) -> None:
    is_fused = title == "two regions of one buffer"
    assert functions(runs_alike(DIFFERENT[title])) == ({"main"} if is_fused else {"main", "f"})


def test_a_result_in_a_parameter_and_a_new_one(oracle: Oracle) -> None:
    """TVM fails, for it counts the operands of such a call in another way."""
    text = program(
        ADD + MIXED,
        f"a: {T}, b: {T}",
        [f"gv = R.call_tir_inplace(cls.mixed, (a, b), inplace_indices=[0, -1], out_ty=[{T}, {T}])"],
        block(add("z", "x", "y"), "gv = cls.f(z, y)"),
    )
    assert compare(oracle, text, ("FuseTIR", {})).kind == "not asked"
    after = runs_alike(text)
    assert functions(after) == {"main"}
    assert "inplace_indices=[0, -1]" in after.script()


def test_a_comparison_is_not_lost() -> None:
    """A kernel that gets m and k rows stops if they differ, before the pass and behind it."""
    text = DIFFERENT["lengths that may differ"].replace(f"y: {M}", f"y: {OTHER}")
    module = rxe.normalize(rxe.parse(text))
    for each in (module, rxe.apply_pass(module, "FuseTIR")):
        with pytest.raises(rxe.Failure, match="n = 2 is needed"):
            rxe.run(each, "main", [X.copy(), np.ones((4, 3), "float32")])


KEPT = {
    "f is kept: a kernel compares lengths that may differ": DIFFERENT["lengths that may differ"],
    "f is kept: its result has a tuple in a tuple": DIFFERENT["a tuple in the result"],
    "f is kept: it has no result, or a result twice": DIFFERENT["a value twice"],
    "f is kept: it is used as a value": DIFFERENT["a function as a value"],
    "f is kept: it overwrites an input that is no result": DIFFERENT["a parameter is overwritten for another result"],
    "f is kept: a result is an input": program(ADD, f"a: {T}", [add("b", "a", "a"), "gv = (b, a)"], ONE),
    "f is kept: it overwrites an argument whose shape is known to the run only": program(
        ADD + INTO, f"a: {T}, b: {T}", [into("gv", "a", "b")],
        [add("z", "x", "y"), 'q = R.match_cast(z, R.Tensor("float32", ndim=2))', "gv = cls.f(q, y)", "return gv"],
    ),
    "f is kept: 'gv' is not the call of a kernel": program(ADD, f"a: {T}", ["gv = R.negative(a)"], ONE),
}  # fmt: skip


@pytest.mark.parametrize("message", KEPT)
def test_a_function_that_is_kept_has_a_reason(message: str) -> None:
    module, site = get("FuseTIR").apply(rxe.normalize(rxe.parse(KEPT[message])))
    assert [(item.code.id, item.message) for item in site.report.sorted()] == [("RX0405", message)]
    assert "f" in functions(module)
