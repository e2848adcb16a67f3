"""Calls that ran before run again without checks. Everything that the checks would refuse is still refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import events, operation, packed
from relax_explorer.core.exec.compiled_kernel import Kernel
from relax_explorer.core.exec.known_call import KnownCode, KnownKernel, KnownOperator
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.plan import plan
from relax_explorer.core.exec.values import Shape
from relax_explorer.core.ir.expr import Function

F = np.float32


def module(body: str, params: str) -> rxe.IRModule:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return rxe.normalize(rxe.parse(f"@R.function\ndef main({params}):\n{lines}\n"))


def runs(program: rxe.IRModule, *args: object) -> Any:
    """The result of the third run of a program with the same operands. All three must agree."""
    results = [np.asarray(rxe.run(program, "main", args)) for _ in range(3)]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[1], results[2])
    return results[2]


def refused(program: rxe.IRModule, *args: object) -> str:
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(program, "main", args)
    return caught.value.diagnostics[0].code.id


def test_other_lengths_and_dtypes_are_checked_again() -> None:
    program = module("y = R.add(a, b)\nreturn y", "a: R.Tensor(ndim=1), b: R.Tensor(ndim=1)")
    assert runs(program, np.ones(3, F), np.ones(3, F)).tolist() == [2, 2, 2]
    assert refused(program, np.ones(3, F), np.ones(2, F)) == "RX0507"
    assert runs(program, np.ones(2, F), np.ones(1, F)).tolist() == [2, 2]
    assert runs(program, np.ones(3, "int32"), np.ones(3, "int32")).dtype == "int32"
    assert refused(program, np.ones(3, F), np.ones(3, "int32")) == "RX0519"


def test_values_that_stop_a_run_stop_it_again() -> None:
    program = module(
        "y = R.floor_divide(a, b)\nreturn y", 'a: R.Tensor((2,), "int32"), b: R.Tensor((2,), "int32")'
    )
    runs(program, np.array([6, 8], "int32"), np.array([2, 3], "int32"))
    assert refused(program, np.array([6, 8], "int32"), np.array([2, 0], "int32")) == "RX0509"
    index = module(
        "y = R.take(a, i, axis=0)\nreturn y", 'a: R.Tensor((2,), "float32"), i: R.Tensor((1,), "int64")'
    )
    runs(index, np.ones(2, F), np.array([1]))
    assert refused(index, np.ones(2, F), np.array([7])) == "RX0508"


def test_a_result_whose_length_depends_on_elements_is_not_remembered() -> None:
    program = module("y = R.nonzero(a)\nreturn y", 'a: R.Tensor((3,), "int32")')
    assert runs(program, np.array([1, 0, 2], "int32")).tolist() == [[0, 2]]
    assert runs(program, np.array([0, 0, 2], "int32")).tolist() == [[2]]


def test_a_length_given_by_a_shape_is_compared_in_each_run() -> None:
    program = module(
        "k = T.int64()\ny = R.broadcast_to(a, R.shape([k]))\nreturn y",
        'a: R.Tensor(ndim=1, dtype="float32"), s: R.Shape(["k"])',
    )
    assert runs(program, np.ones(1, F), (3,)).tolist() == [1, 1, 1]
    assert runs(program, np.ones(1, F), (2,)).tolist() == [1, 1]
    assert refused(program, np.ones(3, F), (2,)) == "RX0507"


def test_shared_memory_stays_apart_where_a_program_can_tell() -> None:
    text = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")):
    y = R.permute_dims(x)
    _ = R.call_packed("test.known.inc", y, sinfo_args=R.Tuple([]))
    return x
"""
    program = rxe.normalize(rxe.parse(text))
    for _ in range(3):
        assert rxe.run(program, "main", [np.zeros(2, F)]).tolist() == [0, 0]


@packed.packed_function("test.known.inc")
def _increase(x: Any) -> None:
    x += 1


@packed.packed_function("test.known.three")
def _three() -> Any:
    return np.ones(3, F)


def test_a_value_with_other_lengths_than_stated_is_refused_in_each_run() -> None:
    """The packed function returns 3 elements, whatever `n` is. The types of the operands are the same in both runs."""
    text = """
@R.function(pure=False)
def main(s: R.Shape(["n"])):
    n = T.int64()
    a = R.call_packed("test.known.three", sinfo_args=R.Tensor((n,), "float32"))
    b = R.add(a, a)
    return b
"""
    program = rxe.normalize(rxe.parse(text))
    assert runs(program, (3,)).tolist() == [2, 2, 2]
    assert refused(program, (2,)) == "RX0507"
    assert runs(program, (3,)).tolist() == [2, 2, 2]


KERNEL = """
@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def scale(a: T.handle, b: T.handle, k: T.int64):
        n = T.int64()
        A = T.match_buffer(a, (n, 2), "int32")
        B = T.match_buffer(b, (n, 2), "int32")
        for i, j in T.grid(n, 2):
            with T.sblock("B"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                B[v_i, v_j] = {value}
    @R.function
    def main(x: R.Tensor(("n", 2), "int32"), s: R.Shape(["k"])):
        n = T.int64()
        k = T.int64()
        y = R.call_tir(M.scale, (x,), out_sinfo=R.Tensor((n, 2), "int32"), tir_vars=R.shape([k]))
        return y
"""


def kernel(value: str) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(KERNEL.format(value=value)))


def test_a_kernel_gets_the_lengths_and_scalars_of_each_call() -> None:
    program = kernel("A[v_i, v_j] * T.Cast('int32', k)")
    ones = np.ones((3, 2), "int32")
    assert runs(program, ones, (5,)).tolist() == [[5, 5]] * 3
    assert runs(program, ones, (7,)).tolist() == [[7, 7]] * 3
    assert runs(program, ones[:1], (7,)).tolist() == [[7, 7]]
    assert refused(program, np.ones((3, 3), "int32"), (7,)) == "RX0501"


def test_an_array_in_another_order_reaches_a_kernel_in_order() -> None:
    program = kernel("A[v_i, v_j] * T.Cast('int32', k)")
    square = np.array([[1, 2], [3, 4]], "int32")
    assert runs(program, square, (1,)).tolist() == [[1, 2], [3, 4]]
    assert runs(program, square.T, (1,)).tolist() == [[1, 3], [2, 4]]
    assert runs(program, np.ones((9, 2), "int32")[::3], (2,)).tolist() == [[2, 2]] * 3


def test_a_kernel_that_stops_says_why_in_each_run() -> None:
    program = kernel("A[v_i, v_j] // T.Cast('int32', k - A[v_i, 0])")
    ones = np.ones((1, 2), "int32")
    assert runs(program, ones, (2,)).tolist() == [[1, 1]]
    assert refused(program, ones * 2, (2,)) == "RX0509"
    assert runs(program, ones, (2,)).tolist() == [[1, 1]]


def test_another_kernel_of_the_same_name_is_called() -> None:
    """`main` is the same function in both modules, and so is its plan."""
    first = kernel("A[v_i, v_j] * T.Cast('int32', k)")
    ones = np.ones((1, 2), "int32")
    assert runs(first, ones, (3,)).tolist() == [[3, 3]]
    second = first.having({**first.functions, "scale": kernel("A[v_i, v_j] + T.Cast('int32', k)")["scale"]})
    assert second["main"] is first["main"]
    assert runs(second, ones, (3,)).tolist() == [[4, 4]]
    assert runs(first, ones, (3,)).tolist() == [[3, 3]]


def test_an_operator_like_one_before_needs_no_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"y{n + 1} = R.add(y{n}, y0)" for n in range(9)]
    program = module("\n".join([*lines, "return y9"]), "y0: R.Tensor((3,), 'float32')")
    checked = []
    check_value = operation.check_value
    monkeypatch.setattr(operation, "check_value", lambda *args: (checked.append(args), check_value(*args))[1])
    assert rxe.run(program, "main", [np.ones(3, F)]).tolist() == [10, 10, 10]
    assert len(checked) == 1
    assert {type(at.known) for at in plan(program["main"], "main").code if at.binding} == {KnownOperator}


def test_operators_with_other_attributes_or_operands_are_told_apart() -> None:
    lines = [
        "a = R.sum(x, axis=[0])",
        "b = R.sum(x, axis=[1])",
        "c = R.sum(x, axis=[1], keepdims=True)",
        "d = R.subtract(x, a)",
        "e = R.subtract(a, a)",
        "f = R.subtract(c, x)",
        "g = R.astype(x, 'float64')",
        "h = R.sum(g, axis=[0])",
        "i = R.subtract(x, b)",
        "return (a, b, c, d, e, f, h, i)",
    ]
    program, x = module("\n".join(lines), "x: R.Tensor((2, 2), 'float32')"), np.array([[1, 2], [3, 5]], F)
    wanted = [
        [4, 7],
        [3, 8],
        [[3], [8]],
        [[-3, -5], [-1, -2]],
        [0, 0],
        [[2, 1], [5, 3]],
        [4, 7],
        [[-2, -6], [0, -3]],
    ]
    for _ in range(2):
        results = rxe.run(program, "main", [x])
        assert [item.tolist() for item in results] == wanted
        assert [item.dtype.name for item in results] == ["float32"] * 6 + ["float64", "float32"]


def test_operators_with_operands_of_unknown_lengths_are_told_apart() -> None:
    body = "c = R.add(a, a)\nd = R.add(b, b)\ne = R.add(a, b)\nf = R.add(b, a)\nreturn (c, d, e, f)"
    program = module(body, "a: R.Tensor(ndim=1), b: R.Tensor(ndim=1)")
    for _ in range(2):
        results = rxe.run(program, "main", [np.ones(1, F), np.ones(3, F)])
        assert [len(item) for item in results] == [1, 3, 3, 3]
        results = rxe.run(program, "main", [np.ones(2, "int32"), np.ones(2, "int32")])
        assert [item.dtype.name for item in results] == ["int32"] * 4
        assert refused(program, np.ones(2, F), np.ones(3, F)) == "RX0507"
    # NumPy adds float32 and float16 to float32, which the rule refuses.
    program = module(
        "c = R.add(a, a)\nd = R.add(a, b)\nreturn (c, d)", "a: R.Tensor(ndim=1), b: R.Tensor(ndim=1)"
    )
    assert refused(program, np.ones(3, F), np.ones(3, "float16")) == "RX0519"


def test_an_operator_like_one_before_is_compared_with_its_own_type() -> None:
    """The packed function returns 3 elements, whatever its binding says, so the second addition is refused."""
    text = """
@R.function(pure=False)
def main(s: R.Shape(["n"])):
    n = T.int64()
    a = R.call_packed("test.known.three", sinfo_args=R.Tensor((3,), "float32"))
    b = R.add(a, a)
    c = R.call_packed("test.known.three", sinfo_args=R.Tensor((n,), "float32"))
    d = R.add(c, c)
    return (b, d)
"""
    program = rxe.normalize(rxe.parse(text))
    for _ in range(2):
        assert [item.tolist() for item in rxe.run(program, "main", [(3,)])] == [[2, 2, 2]] * 2
        assert refused(program, (2,)) == "RX0507"


def test_an_operator_like_one_in_a_call_with_other_lengths_is_compared_again() -> None:
    text = """
@I.ir_module
class M:
    @R.function(pure=False)
    def f(s: R.Shape(["n"])) -> R.Tensor("float32", ndim=1):
        n = T.int64()
        c = R.call_packed("test.known.three", sinfo_args=R.Tensor((n,), "float32"))
        d = R.add(c, c)
        e = R.add(c, c)
        return e
    @R.function(pure=False)
    def main(s: R.Shape(["k"]), t: R.Shape(["m"])):
        a = M.f(s)
        b = M.f(t)
        return (a, b)
"""
    program = rxe.normalize(rxe.parse(text))
    for _ in range(2):
        assert refused(program, (3,), (2,)) == "RX0507"  # first when no call of `f` is known
        assert [item.tolist() for item in rxe.run(program, "main", [(3,), (3,)])] == [[2, 2, 2]] * 2


def test_a_view_for_a_product_is_no_result_for_others() -> None:
    body = "v = R.permute_dims(w)\ny = R.matmul(x, v)\nt = R.permute_dims(w)\nreturn (y, t)"
    program = module(body, 'x: R.Tensor((64, 64), "float32"), w: R.Tensor((64, 64), "float32")')
    x, w = np.ones((64, 64), F), np.arange(4096, dtype=F).reshape(64, 64)
    for _ in range(3):
        y, t = rxe.run(program, "main", [x, w])
        assert not np.shares_memory(t, w)
        assert t.tolist() == w.T.tolist()
        np.testing.assert_allclose(y, x @ w.T)


def test_an_operator_like_one_before_that_stops_says_where() -> None:
    body = "b = R.floor_divide(a, a)\nc = R.subtract(b, a)\nd = R.floor_divide(a, c)\nreturn d"
    program = module(body, 'a: R.Tensor((2,), "int32")')
    for _ in range(2):
        assert refused(program, np.array([2, 1], "int32")) == "RX0509"
        assert rxe.run(program, "main", [np.array([2, 3], "int32")]).tolist() == [-2, -2]


def test_results_of_operators_alike_do_not_share_memory_that_is_written() -> None:
    text = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")):
    y = R.permute_dims(x)
    z = R.permute_dims(x)
    _ = R.call_packed("test.known.inc", z, sinfo_args=R.Tuple([]))
    return (x, y, z)
"""
    program = rxe.normalize(rxe.parse(text))
    for _ in range(2):
        assert [item.tolist() for item in rxe.run(program, "main", [np.zeros(2, F)])] == [
            [0, 0],
            [0, 0],
            [1, 1],
        ]


def calls(value: str, *lines: str) -> rxe.IRModule:
    """A program whose lines call one kernel on `x` of n rows, with numbers `k` and `m`."""
    text = KERNEL.format(value=value)
    head = text[: text.index("        y = ")].replace('R.Shape(["k"])', 'R.Shape(["k", "m"])')
    body = "".join(f"        {line}\n" for line in ("m = T.int64()", *lines))
    names = ", ".join(line.split(" = ")[0] for line in lines)
    return rxe.normalize(rxe.parse(f"{head}{body}        return ({names})\n"))


def scaled(name: str, of: str, number: str, rows: str = "n") -> str:
    info = f'R.Tensor(({rows}, 2), "int32")'
    return f"{name} = R.call_tir(M.scale, ({of},), out_sinfo={info}, tir_vars=R.shape([{number}]))"


def test_a_call_like_one_before_needs_no_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    program = calls(
        "A[v_i, v_j] * T.Cast('int32', k)",
        *[scaled(f"y{n}", f"y{n - 1}" if n else "x", "k") for n in range(9)],
    )
    checked = []
    dims = Kernel._dims
    monkeypatch.setattr(Kernel, "_dims", lambda *args: (checked.append(args), dims(*args))[1])
    result = rxe.run(program, "main", [np.ones((3, 2), "int32"), (2, 0)])
    assert [item.tolist() for item in result] == [[[2**n] * 2] * 3 for n in range(1, 10)]
    assert 1 <= len(checked) <= 3
    code = plan(program["main"], "main").code
    assert sum(isinstance(at.known, KnownKernel) for at in code) == 9
    assert len({id(at.known.function) for at in code if isinstance(at.known, KnownCode)}) == 1


def test_calls_that_differ_in_a_number_or_a_length_are_told_apart() -> None:
    program = calls(
        "A[v_i, v_j] * T.Cast('int32', k)",
        scaled("a", "x", "k"),
        scaled("b", "x", "m"),
        scaled("c", "a", "k"),
        "d = R.concat((x, x), axis=0)",
        scaled("e", "d", "m", rows="2 * n"),
        scaled("f", "e", "k", rows="n + n"),
    )
    for rows in (3, 1):
        values = rxe.run(program, "main", [np.ones((rows, 2), "int32"), (2, 5)])
        assert (
            [int(item.max()) for item in values]
            == [int(item.min()) for item in values]
            == [2, 5, 4, 1, 5, 10]
        )
        assert [len(item) for item in values] == [rows] * 3 + [2 * rows] * 3


def test_a_call_with_another_result_is_checked() -> None:
    lines = scaled("a", "x", "k"), scaled("b", "x", "k", rows="m")
    program, ones = calls("A[v_i, v_j] * T.Cast('int32', k)", *lines), np.ones((3, 2), "int32")
    assert [item.tolist() for item in rxe.run(program, "main", [ones, (2, 3)])] == [[[2, 2]] * 3] * 2
    assert refused(program, ones, (2, 4)) == "RX0507"
    assert [item.tolist() for item in rxe.run(program, "main", [ones, (2, 3)])] == [[[2, 2]] * 3] * 2
    assert refused(program, ones, (2, 4)) == "RX0507"


def test_a_call_like_one_before_that_stops_says_where() -> None:
    program = calls(
        "A[v_i, v_j] // T.Cast('int32', k - A[v_i, 0])", scaled("a", "x", "k"), scaled("b", "a", "k")
    )
    for _ in range(2):
        with pytest.raises(rxe.Failure) as caught:  # 1 // -2 is -1, and -1 minus this is 0
            rxe.run(program, "main", [np.ones((1, 2), "int32"), (-1, 0)])
        assert caught.value.diagnostics[0].code.id == "RX0509"
    values = rxe.run(program, "main", [np.ones((1, 2), "int32"), (2, 0)])
    assert [item.tolist() for item in values] == [[[1, 1]], [[1, 1]]]


def test_each_engine_runs_its_own_kernels() -> None:
    call = "        y{} = R.call_tir(M.scale, ({},), out_sinfo=R.Tensor((n, 2), 'int32'), tir_vars=R.shape([k]))\n"
    calls = "".join(call.format(n, f"y{n - 1}" if n else "x") for n in range(5))
    start = KERNEL[: KERNEL.index("        y = ")].format(value="A[v_i, v_j] + T.Cast('int32', k)")
    program = rxe.normalize(rxe.parse(f"{start}{calls}        return y4\n"))
    main = program["main"]
    assert isinstance(main, Function)
    used = []
    for engine in ("llvm", "numba", "llvm"):
        for _ in range(6):
            machine = Machine(program, "main", [np.ones((3, 2), "int32"), Shape((2,))], engine=engine)
            assert machine.run().tolist() == [[11, 11]] * 3
        used.append({at.known.engine for at in plan(main, "main").code if at.known is not None})
    assert used == [{"llvm"}, {"numba"}, {"llvm"}]


def test_the_reference_runs_no_known_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    program, ones = kernel("A[v_i, v_j] * T.Cast('int32', k)"), np.ones((1, 2), "int32")
    runs(program, ones, (3,))
    monkeypatch.setattr(KnownKernel, "value", lambda *_: pytest.fail("compiled code ran"))
    assert rxe.run(program, "main", [ones, (3,)], engine="reference").tolist() == [[3, 3]]


class Counts(rxe.ops.Op, name="test.counts"):
    """Counts its evaluations, and fails for negative elements."""

    x: "Tensor" = rxe.ops.operand("the tensor")  # type: ignore[name-defined]  # noqa: F821, UP037
    pure = False
    seen = 0

    @staticmethod
    def infer(at: Any, x: Any) -> Any:
        return rxe.ops.rules.tensor(at, x, "x")

    @staticmethod
    def evaluate(x: Any) -> Any:
        Counts.seen += 1
        if x.min() < 0:
            raise ValueError("negative")
        return x + x


def test_an_operator_with_an_effect_is_evaluated_once_even_if_it_fails() -> None:
    rxe.ops.register(Counts)
    program = rxe.normalize(
        rxe.parse(
            '@R.function(pure=False)\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.op("test.counts", x)\n    return y\n'
        )
    )
    runs(program, np.ones(2, F))
    assert Counts.seen == 3
    refused(program, -np.ones(2, F))
    assert Counts.seen == 4
    rxe.ops.unregister(Counts.name)


SIGNATURE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), s: R.Shape(["m", 2]), t: R.Tuple(R.Tensor(("n",), "float32"), R.Prim("int64"))):
        y = R.reshape(x, R.shape([m * n]))
        return y
"""


def test_arguments_of_known_types_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []
    match_all = events.match_all
    monkeypatch.setattr(events, "match_all", lambda *args: (compared.append(args), match_all(*args))[1])
    module = rxe.parse(SIGNATURE)

    def run(n: int, m: int, second: int = 2, other: int = 0, whole: int = 7) -> tuple[int, ...]:
        args = [np.ones((n, m), F), Shape((m, second)), (np.ones(n + other, F), whole)]
        result: tuple[int, ...] = rxe.run(module, "main", args).shape
        return result

    for n, m in ((2, 3), (3, 2), (2, 3), (3, 2), (2, 3)):
        assert run(n, m) == (6,)
    assert len(compared) == 2
    for _ in range(2):
        for wrong in ({"second": 3}, {"other": 1}, {"whole": 1.5}):
            with pytest.raises(rxe.Failure) as caught:
                run(2, 3, **wrong)
            assert caught.value.diagnostics[0].code.id == "RX0501"
    assert len(compared) == 8
    assert run(2, 3) == (6,)
    assert run(0, 5) == (0,)


def test_results_of_known_types_are_compared_with_the_lengths_of_each_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lengths = iter([2, 3, 2, 2, 2])
    monkeypatch.setitem(packed._REGISTRY, "test.some", lambda: np.ones(next(lengths), F))
    text = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    y = R.call_packed("test.some", sinfo_args=R.Tensor(ndim=1, dtype="float32"))
    return y
"""
    program = rxe.parse(text)
    for n in (2, 3, 2):
        assert rxe.run(program, "main", [np.zeros(n, F)]).shape == (n,)
    assert refused(program, np.zeros(3, F)) == refused(program, np.zeros(3, F))


def test_tuples_of_other_lengths_are_no_results_of_a_known_call() -> None:
    program = module("y = R.split(x, 2)\nreturn y", "x: R.Tensor((4,), 'float32')")
    x = np.arange(4, dtype=F)
    rxe.run(program, "main", [x])
    (known,) = [at.known for at in plan(program["main"], "main").code if at.known is not None]
    assert [part.tolist() for part in known.value([x])] == [[0, 1], [2, 3]]
    assert known.value([x[:2]]) is None
    assert known.value([x[:1, None]]) is None
