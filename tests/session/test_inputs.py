"""Inputs are bound to the right parameters, within a limit, or refused with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Code, Failure
from relax_explorer.core.ir.expr import Function
from relax_explorer.core.session.arrays import read_arrays
from relax_explorer.core.session.inputs import from_file, generated_inputs


def function(head: str) -> Function:
    module = rxe.parse(f"@R.function\ndef main({head}):\n    return R.tuple()\n")
    found = module["main"]
    assert isinstance(found, Function)
    return found


TWO = 'a: R.Tensor((2,), "float32"), b: R.Tensor((2,), "float32")'
SIZED = 'n: T.int64, x: R.Tensor((n,), "float32")'
ONE, TEN = np.ones(2, np.float32), np.full(2, 10, np.float32)


def refused(code: Code, fn: Function, given: dict[str, str], shape: dict[str, int] | None = None) -> str:
    with pytest.raises(Failure) as caught:
        generated_inputs(fn, given, shape)[0]
    problem = caught.value.diagnostics[0]
    assert problem.code is code
    assert problem.help
    return problem.message


@pytest.mark.parametrize(
    ("entries", "first"),
    [({"a": ONE, "b": TEN}, 1), ({"b": TEN, "a": ONE}, 1), ({"b": TEN, "a": ONE, "out0": ONE}, 1), ({"arr_1": TEN, "arr_0": ONE}, 1),
     ({"in1_x": TEN, "in0_y": ONE, "out0": ONE}, 1), ({"in0": TEN, "in1": ONE}, 10)],
    ids=["names", "other order", "results", "numpy", "numbers", "bare numbers"],
)  # fmt: skip
def test_entries_are_bound_by_name_or_by_their_own_number(
    entries: dict[str, np.ndarray], first: int, tmp_path: Path
) -> None:
    np.savez(tmp_path / "io.npz", **entries)
    a, b = from_file(function(TWO), tmp_path / "io.npz")
    assert (a[0], b[0]) == (first, 11 - first)


def test_more_than_ten_entries_keep_their_order(tmp_path: Path) -> None:
    np.savez(tmp_path / "io.npz", *[np.full(1, n) for n in range(12)])
    fn = function(", ".join(f'p{n}: R.Tensor((1,), "int64")' for n in range(12)))
    assert [int(value[0]) for value in from_file(fn, tmp_path / "io.npz")] == list(range(12))


@pytest.mark.parametrize(
    "entries",
    [{"b": ONE, "c": ONE}, {"a": ONE, "c": ONE}, {"a": ONE, "b": ONE, "c": ONE}, {"arr_0": ONE, "arr_2": ONE}, {"a": ONE, "arr_0": ONE},
     {"arr_0": ONE}, {"a": ONE}, {}, {"out0": ONE, "out1": ONE}],
    ids=lambda entries: " ".join(entries) or "none",
)  # fmt: skip
def test_entries_of_other_names_are_refused(entries: dict[str, np.ndarray], tmp_path: Path) -> None:
    np.savez(tmp_path / "io.npz", **entries)
    with pytest.raises(Failure) as caught:
        from_file(function(TWO), tmp_path / "io.npz")
    assert caught.value.diagnostics[0].code is codes.WRONG_INPUT
    assert "a, b" in caught.value.diagnostics[0].help


def test_a_parameter_called_out_is_bound(tmp_path: Path) -> None:
    np.savez(tmp_path / "io.npz", output=ONE)
    assert from_file(function('output: R.Tensor((2,), "float32")'), tmp_path / "io.npz")[0][0] == 1


def test_a_scalar_that_is_a_length_is_honoured() -> None:
    n, x = generated_inputs(function(SIZED), {"n": "7"})[0]
    assert (n, x.shape) == (7, (7,))
    assert "n" not in generated_inputs(function(SIZED), {"n": "7"})[1].split(" by ")[0]
    assert generated_inputs(function(SIZED), {}, {"n": 5})[0][0] == 5
    assert generated_inputs(function(SIZED), {"n": "7"}, {"n": 7})[0][1].shape == (7,)
    scalars = function("n: T.int64, b: T.bool, f: T.float32")
    assert generated_inputs(scalars, {"n": "-2", "b": "1", "f": "0.5"})[0] == [-2, 1, 0.5]


def test_a_scalar_that_does_not_fit_the_lengths_is_a_problem_of_the_run() -> None:
    module = rxe.parse(f"@R.function\ndef main({SIZED}):\n    return x\n")
    args = generated_inputs(module["main"], {"n": "7"}, {"n": 8})[0]  # type: ignore[arg-type]  # a Relax function
    with pytest.raises(Failure) as caught:
        rxe.run(module, "main", args)
    assert caught.value.diagnostics[0].code is codes.WRONG_INPUT


@pytest.mark.parametrize(
    "source", ["foo", "", "2.5", "1e999", "nan", "9" * 5000, "9223372036854775808", "randn:0", "arange", "²"]
)
def test_what_is_no_number_of_the_scalar_is_refused(source: str) -> None:
    refused(codes.WRONG_INPUT, function(SIZED), {"n": source})


@pytest.mark.parametrize(
    "source",
    [
        "randn:abc",
        "randn:-1",
        "randn:²",
        f"randn:{'9' * 5000}",
        "zeros:3",
        "ones:",
        "arange:1",
        "foo",
        "zero",
    ],
)
def test_unknown_sources_are_refused(source: str) -> None:
    assert "not a source" in refused(codes.WRONG_INPUT, function(TWO), {"a": source})


@pytest.mark.parametrize("key", ["2", "99", "²", "-1", "٣", "", "9" * 5000, "c"])
def test_what_names_no_parameter_is_refused(key: str) -> None:
    assert "no parameter" in refused(codes.WRONG_INPUT, function(TWO), {key: "zeros"})


def test_a_parameter_is_given_once() -> None:
    assert "twice" in refused(codes.WRONG_INPUT, function(TWO), {"a": "zeros", "0": "ones"})


@pytest.mark.parametrize("dtype", ["handle", "float32x4", "int4x8"])
def test_dtypes_without_arrays_are_refused(dtype: str) -> None:
    assert dtype in refused(codes.WRONG_INPUT, function(f'x: R.Tensor((2,), "{dtype}")'), {})


@pytest.mark.parametrize("source", ["randn:0", "zeros", "1", "arange"])
def test_made_inputs_have_a_limit_together(source: str) -> None:
    head = ", ".join(f'x{n}: R.Tensor((1000,), "float32")' for n in range(4))
    given = {f"x{n}": source for n in range(4)}
    assert len(generated_inputs(function(head), given, most=16_000)[0]) == 4
    with pytest.raises(Failure) as caught:
        generated_inputs(function(head), given, most=15_999)
    assert caught.value.diagnostics[0].code is codes.TOO_LARGE
    assert "100" in refused(codes.TOO_LARGE, function('x: R.Tensor((100000000000,), "int8")'), {})
    assert "axes" in refused(codes.WRONG_INPUT, function(f'x: R.Tensor(({"1, " * 100}), "int8")'), {})


@pytest.mark.parametrize("packed", [True, False])
def test_files_have_a_limit_and_are_held_to_their_headers(packed: bool, tmp_path: Path) -> None:
    path = tmp_path / ("io.npz" if packed else "io.npy")
    if packed:
        np.savez_compressed(path, a=np.zeros(1 << 20, np.uint8), b=np.zeros(1 << 20, np.uint8))
    else:
        np.save(path, np.zeros(1 << 21, np.uint8))
    assert sum(array.nbytes for array in read_arrays(str(path), 1 << 21).values()) == 1 << 21
    with pytest.raises(Failure) as caught:
        read_arrays(str(path), (1 << 21) - 1)
    assert caught.value.diagnostics[0].code is codes.TOO_LARGE
    if not packed:
        path.write_bytes(path.read_bytes().replace(b"(2097152,)", b"(9097152,)"))
        with pytest.raises(Failure, match="declares 9097152 bytes"):
            read_arrays(str(path))


def test_no_device_is_read_as_a_file_of_arrays() -> None:
    with pytest.raises(Failure, match="not a regular file"):
        read_arrays("/dev/zero")


@pytest.mark.parametrize(
    ("param", "shape"),
    [
        ('x: R.Tensor(("n", R.any_dim), "float32")', "(3, 3)"),
        ('x: R.Tuple(R.Tensor((R.any_dim, 2), "float32"), R.Shape([R.any_dim]))', "(3, 2)"),
    ],
)
def test_a_length_without_a_name_is_made_up_and_said(param: str, shape: str) -> None:
    text = f"""@I.ir_module
class Module:
    I.module_attrs({{"wildcard_dims": True}})

    @R.function
    def main({param}):
        n = T.int64()
        return R.tuple()
"""
    text = text if '"n"' in param else text.replace("        n = T.int64()\n", "")
    fn = rxe.parse(text)["main"]
    assert isinstance(fn, Function)
    values, note = generated_inputs(fn, {})
    first = values[0][0] if isinstance(values[0], tuple) else values[0]
    assert str(first.shape) == shape
    assert "R.any_dim = 3" in note
    assert "R.any_dim" not in generated_inputs(function('x: R.Tensor(("n",), "float32")'), {})[1]


@pytest.mark.parametrize(
    ("dtype", "source"),
    [("float16", "1e39"), ("float32", "-1e39"), ("bfloat16", "1e39"), ("float8_e4m3fn", "1e3")],
)
def test_a_number_beyond_its_dtype_is_refused(dtype: str, source: str) -> None:
    fn = function(f'x: R.Tensor((2,), "{dtype}")')
    assert dtype in refused(codes.WRONG_INPUT, fn, {"x": source})
    module = rxe.parse(f'@R.function\ndef main(x: R.Tensor((2,), "{dtype}")):\n    return x\n')
    with pytest.raises(Failure) as caught:
        rxe.run(module, "main", [[1, float(source)]])
    assert caught.value.diagnostics[0].code is codes.WRONG_INPUT


@pytest.mark.parametrize("dtype", ["uint8", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "given", [[1, 10**40], [1, 10**400], [1, "a"], ["1", "2"], [[1], [2, 3]], [1, {}], [1, None], [1j, 2]]
)
def test_lists_that_are_no_tensor_are_refused(given: list[object], dtype: str) -> None:
    module = rxe.parse(f'@R.function\ndef main(x: R.Tensor((2,), "{dtype}")):\n    return x\n')
    with pytest.raises(Failure) as caught:
        rxe.run(module, "main", [given])
    assert caught.value.diagnostics[0].code is codes.WRONG_INPUT


@pytest.mark.parametrize(
    ("info", "given"),
    [(f'R.Tensor("{dtype}", ndim={ndim})', given)
     for dtype in ("int8", "uint8", "int4", "int64", "bool")
     for ndim, given in [(0, 1.5), (1, [1, 0.5]), (2, [[1], [0.5]]), (1, [np.float32(1.5)]), (1, [float("nan")]), (1, [1e30])]]
    + [
        ('R.Tensor("bool", ndim=1)', [2]), ('R.Tensor("int4", ndim=1)', [8]), ('R.Tensor("uint8", ndim=1)', [-1.0]),
        ('R.Tuple(R.Tensor("int8", ndim=1))', ([1.5],)), ('R.Prim("int8")', 300), ('R.Prim("uint8")', -1), ('R.Prim("int64")', 2**63),
        ('R.Prim("float16")', 1e5), ('R.Prim("float16")', 70000), ('R.Prim("float32")', 10**400), ("R.Shape(ndim=1)", (2**63,)),
    ],
)  # fmt: skip
def test_a_number_that_its_dtype_does_not_have_is_refused_at_its_parameter(info: str, given: object) -> None:
    module = rxe.parse(f"@R.function\ndef main(x: {info}):\n    return x\n")
    with pytest.raises(Failure) as caught:
        rxe.run(module, "main", [given])
    problem = caught.value.diagnostics[0]
    assert problem.code is codes.WRONG_INPUT
    assert problem.span is not None
    assert problem.span.text.startswith("x: R.")


@pytest.mark.parametrize(
    ("info", "given", "wanted"),
    [
        ('R.Tensor("int16", ndim=1)', [2.0, True, 1e3, -0.0], [2, 1, 1000, 0]),
        ('R.Tensor("int8", ndim=2)', [[], []], [[], []]),
        ('R.Tensor("int8", ndim=0)', 2.0, 2),
        ('R.Tensor("bool", ndim=1)', [1, 0.0, True], [True, False, True]),
        ('R.Tensor("float16", ndim=1)', [True, 2049, 0.1], [1, 2048, np.float16(0.1)]),
        ('R.Tensor("int64", ndim=1)', [2**53 + 1, 1.0], [2**53 + 1, 1]),
        ('R.Tensor("uint64", ndim=1)', [2**64 - 1], [2**64 - 1]),
        ('R.Prim("float32")', 0.1, np.float32(0.1)),
        ('R.Prim("float64")', 2, 2.0),
        ("R.Shape(ndim=1)", (2**63 - 1,), (2**63 - 1,)),
    ],
)
def test_a_number_that_its_dtype_has_is_taken(info: str, given: object, wanted: object) -> None:
    module = rxe.parse(f"@R.function\ndef main(x: {info}):\n    return x\n")
    assert np.asarray(rxe.run(module, "main", [given])).tolist() == np.asarray(wanted).tolist()


def test_a_number_of_a_file_or_a_closure_is_refused_at_its_parameter(tmp_path: Path) -> None:
    fn = function('x: R.Prim("int8")')
    np.savez(tmp_path / "io.npz", x=np.array(300))
    with pytest.raises(Failure) as caught:
        from_file(fn, tmp_path / "io.npz")
    assert caught.value.diagnostics[0].span is not None
    text = '@R.function\ndef main():\n    @R.function\n    def f(a: R.Tensor((1,), "int8")):\n        return a\n    return f\n'
    closure = rxe.run(rxe.parse(text), "main", [])
    assert closure([2.0]).tolist() == [2]
    with pytest.raises(Failure) as caught:
        closure([2.5])
    assert caught.value.diagnostics[0].span is not None
