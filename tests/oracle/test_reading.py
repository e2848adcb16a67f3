"""TVM reads our printed text as the original program, and so do we."""

from __future__ import annotations

import textwrap

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from tests.support.oracle import Oracle

HEAD = "from tvm.script import ir as I, relax as R, tirx as T\n\n"

SCALARS = {
    "a scalar sizes a tensor": """
        @R.function
        def main(n: T.int64, x: R.Tensor((n, "m"), "float32")) -> R.Tensor((n, "m"), "float32"):
            return x
    """,
    "scalars make a shape": """
        @R.function
        def main(n: T.int64, m: T.int64):
            y = R.shape([n, m + 1])
            return y
    """,
    "scalars size what an operator makes": """
        @R.function
        def main(n: T.int64, m: R.Prim("int64")):
            y = R.eye(n, m)
            z = R.arange(n)
            w = R.zeros((n, m), "float32")
            v = R.full(R.shape([n]), R.const(1.0, "float32"), dtype="float32")
            return (y, z, w, v)
    """,
    "scalars bound a slice": """
        @R.function
        def main(n: T.int64, x: R.Tensor((9,), "float32")):
            y = R.strided_slice(x, axes=[0], begin=[0], end=[n])
            return y
    """,
    "a scalar by another name is an operand": """
        @R.function
        def main(n: T.int64):
            alias = n
            y = R.arange(alias)
            return y
    """,
    "scalars are computed with": """
        @R.function
        def main(n: T.int64, c: T.float32):
            y = c + T.float32(1)
            z = n * 2 < 3
            return (y, z)
    """,
    "a dimension computed of a scalar": """
        @R.function
        def main(n: T.int64, x: R.Tensor((n + 1,), "float32")) -> R.Tensor((n + 1,), "float32"):
            y = R.reshape(x, (1, n + 1))
            z = R.reshape(y, (n + 1,))
            return z
    """,
}

HELD_SHAPES = {
    "what is made in a shape that a variable holds": """
        @R.function
        def main(s: R.Shape(ndim=2), x: R.Tensor("float32"), v: R.Tensor((), "float32")):
            a = R.full(s, v)
            b = R.zeros(s, "int8")
            c = R.ones(s, "int8")
            d = R.broadcast_to(v, s)
            f = R.reshape(x, s)
            g = R.collapse_sum_to(x, s)
            h = R.add(f, g)
            i = R.where(R.astype(h, "bool"), h, f)
            j = R.nn.softmax(i)
            return (a, b, c, d, f, g, h, i, j)
    """,
    "a shape of a tensor": """
        @R.function
        def main(t: R.Tensor((3,), "int64"), x: R.Tensor("float32")):
            s = R.tensor_to_shape(t)
            y = R.reshape(x, s)
            z: R.Tensor(s, "float32") = R.exp(y)
            w = R.zeros_like(z)
            return (z, w)
    """,
}

MEMBERS = {
    "a PrimFunc that calls another": """
        @I.ir_module
        class Module:
            @T.prim_func
            def f(a: T.float32, b: T.float32) -> T.float32:
                return a + b
            @T.prim_func
            def main(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32"), z: T.Buffer((4,), "float32")):
                for i in range(4):
                    z[i] = Module.f(x[i], y[i]) * T.float32(2)
    """,
    "a loop over the shape of a buffer": """
        @I.ir_module
        class Module:
            @T.prim_func
            def main(A: T.Buffer((4, 5), "float32"), B: T.Buffer((4, 5), "float32")):
                for i, j in T.grid(*A.shape):
                    B[i, j] = A[i, j]
    """,
    "axes keep the width of what they are bound to": """
        @I.ir_module
        class Module:
            @T.prim_func(s_tir=True)
            def main(A: T.Buffer((4, 5), "float32"), B: T.Buffer((4, 5), "float32")):
                for i, j in T.grid(4, 5):
                    with T.sblock("b"):
                        vi = T.axis.spatial(1, T.int64(0))
                        vk = T.axis.reduce(T.int64(2), 0)
                        vl = T.axis.reduce(8, T.int64(2) * 3)
                        vj = T.axis.spatial(5, j)
                        T.reads(A[vi, vj])
                        T.writes(B[vi, vj])
                        B[vi, vj] = A[vi, vj]
    """,
    "a length before it is declared": """
        @I.ir_module
        class Module:
            @T.prim_func
            def main(a: T.handle, b: T.handle, n: T.int64):
                A = T.match_buffer(a, (n, 4), "float32")
                B = T.match_buffer(b, (n, 4), "float32")
                for i in range(n):
                    B[i, 0] = A[i, 0]
    """,
    "a function value for a kernel": """
        @I.ir_module
        class Module:
            @T.prim_func
            def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
                for i in range(4):
                    B[i] = A[i]
            @R.function(pure=False)
            def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
                f = Module.k
                _: R.Tuple = R.vm.call_tir_dyn(f, (x, y))
                return x
    """,
    "annotated calls of kernels": """
        @I.ir_module
        class Module:
            @T.prim_func
            def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
                for i in range(4):
                    B[i] = A[i]
            @T.prim_func
            def twice(A: T.Buffer((4,), "float32")):
                for i in range(4):
                    A[i] = A[i] * T.float32(2)
            @R.function
            def main(x: R.Tensor((4,), "float32")):
                y: R.Tensor((4,), "float32") = R.call_tir(Module.k, (x,), out_ty=R.Tensor((4,), "float32"))
                z: R.Tensor((4,), "float32") = R.call_tir_inplace(
                    Module.twice, (y,), inplace_indices=[0], out_ty=R.Tensor((4,), "float32")
                )
                w: R.Tensor((4,), "float32") = R.call_tir_with_grad(
                    Module.k, (z,), out_ty=R.Tensor((4,), "float32"), te_grad_name="g"
                )
                return w
    """,
}
PYTHON = {
    "constants and calls by `relax.`": """
        @I.ir_module
        class Module:
            @T.prim_func
            def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
                for i in range(4):
                    B[i] = A[i]
            @R.function
            def main(x: R.Tensor((4,), "float32")):
                c = relax.const(1.0, "float32")
                y = R.add(x, c)
                z = relax.call_tir(Module.k, (y,), out_ty=R.Tensor((4,), "float32"))
                return z
    """,
    "what a variable is annotated with": """
        @R.function
        def main(x: R.Tensor((2,), "float32")):
            y: x.ty = R.add(x, x)
            z = R.call_dps_packed("f", (y,), out_ty=x.ty)
            return z
    """,
    "a packed function with its StructInfo": """
        @R.function
        def main(x: R.Tensor((2,), "float32")):
            f = R.ExternFunc("myf", R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"), True))
            y = f(x)
            return y
    """,
    "float8": """
        @R.function
        def main(x: R.Tensor((2,), "float8")):
            return x
    """,
    "a TypeVar of a local function": """
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            m = TypeVar("m")
            @R.function
            def inner(y: R.Tensor((m,), "float32")) -> R.Tensor((m,), "float32"):
                z = R.add(y, y)
                return z
            w = inner(x)
            return w
    """,
    "the empty tuple, annotated": """
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            _: R.Tuple = R.print(x, format="{}")
            return x
    """,
}


# The last statements of the branches of an If. A tuple is a leaf, so it needs no variable.
BRANCHES = {
    "tuples": ("r = (x, x)", "y = R.exp(x)\nr = (y, x)"),
    "a tuple in one branch": ("r = (x, x)", "r = R.split(R.concat((x, x), axis=0), 2)"),
    "tuples in a tuple": ("r = (x, (x, x))", "r = (x, (x, x))"),
    "calls in a tuple": ("r = (R.exp(x), x)", "r = (x, R.exp(x))"),
    "empty tuples": ("r = R.tuple()", "r = R.tuple()"),
    "scalars in a tuple": ("r = (x, m)", "r = (x, m + 1)"),
    "tuples with annotations": ("r: R.Tuple(R.Tensor, R.Tensor) = (x, x)", "r: R.Tuple(R.Tensor, R.Tensor) = (x, x)"),
    "a tuple behind another If": ("if c:\n    r = (x, x)\nelse:\n    r = (x, R.exp(x))", "r = (R.exp(x), x)"),
    "a copy of a tuple": ("p = (x, x)\nr = p", "r = (x, x)"),
    "shapes": ("r = R.shape([m, 3])", "r = R.shape([3, m])"),
}  # fmt: skip


def branched(ends: tuple[str, str]) -> str:
    """A function with an If that ends in these statements."""
    first, second = [textwrap.indent(end, " " * 4) for end in ends]
    body = f"if c:\n{first}\nelse:\n{second}\nreturn r"
    return "@R.function\n" + (
        'def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool"), m: T.int64):\n'
        + textwrap.indent(body, " " * 4)
    )


# Operands that are left out, as TVM fills them in.
FILLED = {
    f"R.unique({operands})": f"""
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.unique({operands})
            return y
    """
    for operands in ("x", "x, True, False", "x, 1, 0", "x, sorted=False, axis=0", "x, axis=None")
}


# The lengths of the parameter and of the result of a function, and the lengths of the argument of its call.
CALLED = {
    '"m", "k"': [('"m + k",', '3, "n"'), ('"k + m",', '"n", "n"'), ('"k * 4 + m",', '"n * 2", 2'), ('"m", "k - m"', '"n", "n + 2"')],
    '"m",': [
        ('"m",', '"2 * n",'), ('"2 * m",', '"n",'), ('"2 * m",', '"n + 1",'), ('"m + m",', '"n",'),
        ('"m * m",', '"n + 1",'), ('"(m + 1) // 2 * 2",', '"n * 2 + 1",'), ('"T.max(m, 3)",', '"n + 1",'),
    ],
}  # fmt: skip


def called(params: str, result: str, argument: str) -> str:
    """A function that casts to lengths of its own, and a call of it."""
    names = "\n".join(f"            {name} = T.int64()" for name in "mk" if name in params)
    return f"""
        @R.function(private=True)
        def f(x: R.Tensor(({params}), "float32"), u: R.Tensor("float32")) -> R.Tensor(({result}), "float32"):
{names}
            r = R.match_cast(u, R.Tensor(({result.replace('"', "")}), "float32"))
            return r
        @R.function
        def main(w: R.Tensor(("n",), "float32"), x: R.Tensor(({argument}), "float32"), u: R.Tensor("float32")):
            cls = Module
            y = cls.f(x, u)
            z = R.exp(y)
            return z
    """


CALLS = {
    f"a call of ({params}) -> ({result}) with ({argument})": called(params, result, argument)
    for params, cases in CALLED.items()
    for result, argument in cases
}


# Names that stand for calls of other operators.
SHORTHANDS = {
    value: f"""
        @R.function
        def main(x: R.Tensor((4, 3), "float32"), w: R.Tensor((5, 3), "float32"), v: R.Tensor((3,), "float32")):
            u = R.exp(R.sum(w, axis=1))
            y = {value}
            return (y, u)
    """
    for value in (
        "R.linear(x, w)", "R.linear(x, w, u)", "R.linear(x, w, None)", "R.linear(x, v)", "R.linear(v, v)",
        'R.linear(R.exp(x), weight=R.sin(w), bias=R.exp(u))', 'R.linear(x, w, out_dtype="float16")',
        "R.nn.relu6(x)", "R.nn.relu6(R.linear(x, w))", "R.stop_lift_params(x)", 'x.astype("float16")',
        '(x + x).astype("float16").astype("int8")', 'x.astype(dtype="int32")', 'R.split(w, 5)[1].astype("float64")',
    )
}  # fmt: skip


def module_of(text: str) -> str:
    """The program as TVM expects it: imports, and a class around functions."""
    text = textwrap.dedent(text).strip("\n") + "\n"
    if "@I.ir_module" in text:
        return HEAD + text
    return f"{HEAD}@I.ir_module\nclass Module:\n{textwrap.indent(text, '    ')}"


IFS = {f"an If of {name}": branched(ends) for name, ends in BRANCHES.items()}
FORMS = {**SCALARS, **HELD_SHAPES, **MEMBERS, **PYTHON, **IFS, **FILLED, **CALLS, **SHORTHANDS}


@pytest.mark.parametrize("name", FORMS)
def test_what_we_print_is_what_was_written(name: str, oracle: Oracle) -> None:
    written = module_of(FORMS[name])
    theirs = oracle.parse(written, check_well_formed=False).get()
    module = rxe.parse(written)
    printed = module.script()
    assert rxe.structural_equal(rxe.parse(printed), module), printed
    assert rxe.parse(printed).script() == printed
    assert oracle.equal(theirs, oracle.parse(printed, check_well_formed=False).get()).get().mapped, printed


@pytest.mark.parametrize("name", FORMS)
def test_what_they_print_is_read(name: str, oracle: Oracle) -> None:
    written = module_of(FORMS[name])
    theirs = oracle.script(oracle.parse(written, check_well_formed=False).get()).get()
    module = rxe.parse(theirs)
    assert [str(item) for item in rxe.check(module, profile="tvm") if item.is_error] == []


@pytest.mark.parametrize("name", HELD_SHAPES)
def test_the_variable_that_holds_a_shape_is_kept_as_they_keep_it(name: str, oracle: Oracle) -> None:
    written = module_of(HELD_SHAPES[name])
    theirs = [(row.name, row.type) for row in oracle.types(written).get() if row.name.isalpha()]
    ours = [
        (b.var.name, str(b.var.struct_info))
        for b in bindings(rxe.normalize(rxe.parse(written))["main"])
        if b.var is not None
    ]
    assert [row for row in ours if row[0] != "gv"] == [row for row in theirs if row[0] != "gv"]


@pytest.mark.parametrize("name", [*CALLS, *SHORTHANDS])
def test_the_values_have_their_types(name: str, oracle: Oracle) -> None:
    written = module_of(FORMS[name])
    theirs = {row.name: row.type for row in oracle.types(written).get()}
    ours = {
        b.var.name: str(b.var.struct_info)
        for b in bindings(rxe.normalize(rxe.parse(written))["main"])
        if b.var
    }
    names = ours.keys() & {"y", "z"}
    assert names
    assert {name: ours[name] for name in names} == {name: theirs[name] for name in names}
