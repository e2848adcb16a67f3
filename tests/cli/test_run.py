"""`run` as a new user tries it: comparisons, breakpoints, generated inputs, and functions that do not run."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner, Result

from relax_explorer.ui.cli.main import group

CHAIN = "".join(f'    v{n} = R.add(x, R.const({n}.0, "float32"))\n' for n in range(12))
MANY = (
    '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n'
    + CHAIN
    + f"    return ({', '.join(f'v{n}' for n in range(12))})\n"
)


def run(path: Path, text: str, *arguments: str) -> Result:
    program = path / "p.py"
    program.write_text(text)
    done = CliRunner().invoke(group, ["run", str(program), *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_results_are_paired_by_number(tmp_path: Path) -> None:
    file = str(tmp_path / "io.npz")
    assert run(tmp_path, MANY, "-o", file).exit_code == 0
    done = run(tmp_path, MANY, "--expect", file)
    assert done.exit_code == 0, done.stderr
    assert [line.split(":")[0] for line in done.stderr.splitlines() if "equal" in line] == [
        f"out{n}" for n in range(12)
    ]
    with np.load(file) as found:
        np.savez(file, **{name: found[name] for name in found.files if name != "out3"})
    done = run(tmp_path, MANY, "--expect", file)
    assert done.exit_code == 1
    assert "the function has 12" in done.stderr


@pytest.mark.parametrize(
    "name", ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16", "int8", "bool", "float64"]
)
def test_results_of_every_dtype_are_compared(name: str, tmp_path: Path) -> None:
    text = (
        f'@R.function\ndef main(x: R.Tensor((3,), "float32")):\n    y = R.astype(x, "{name}")\n    return y\n'
    )
    file = str(tmp_path / "io.npz")
    assert run(tmp_path, text, "--input", "x=arange", "-o", file).exit_code == 0
    done = run(tmp_path, text, "--input", "x=arange", "--expect", file)
    assert done.exit_code == 0, done.output
    assert run(tmp_path, text, "--input", "x=0", "--expect", file).exit_code == 1


@pytest.mark.parametrize(
    "array",
    [np.zeros(2, [("a", "f4"), ("b", "i4")]), np.array(["a", "b"]), np.zeros((3,)), np.zeros(2, "V3"), np.array([1j, 2]),
     np.array([np.nan, np.inf]), np.zeros(2, "M8[s]"), np.zeros(2, ml_dtypes.bfloat16)],
    ids=["records", "text", "shape", "void", "complex", "not finite", "dates", "bfloat16"],
)  # fmt: skip
def test_odd_expectations_are_answered(array: np.ndarray, tmp_path: Path) -> None:
    file = str(tmp_path / "odd.npz")
    np.savez(file, out0=array)
    done = run(
        tmp_path, '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    return x\n', "--expect", file
    )
    assert done.exit_code in (1, 2)
    assert "records" in done.stderr or "DIFFERS" in done.stderr


TWO = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")):
        y = R.matmul(x, x)
        z = M.inner(y)
        return z

    @R.function
    def inner(a: R.Tensor((2, 2), "float32")):
        b = R.exp(a)
        return b

    @R.function
    def other(a: R.Tensor((2, 2), "float32")):
        far = R.tanh(a)
        return far
"""


@pytest.mark.parametrize(
    ("place", "hint"),
    [
        ("yy", "did you mean y"),
        ("op:matmull", "did you mean matmul"),
        ("far", ""),
        ("op:tanh", ""),
        ("", ""),
        ("op:", ""),
        ("max(yy) > 1", "did you mean y"),
        ("n > 1", "has no variable 'n'"),
    ],
)
def test_a_place_that_no_step_reaches_is_refused(place: str, hint: str, tmp_path: Path) -> None:
    done = run(tmp_path, TWO, "--break", place)
    assert done.exit_code == 2
    assert "--break" in done.stderr
    assert hint in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "place", ["y", "b", "op:matmul", "op:relax.exp", "op:R.exp", "max(b) > 0", "x.ndim == 2"]
)
def test_places_that_are_reached_stop(place: str, tmp_path: Path) -> None:
    assert "stopped after step" in run(tmp_path, TWO, "--break", place).stdout


def test_a_condition_is_read_and_not_executed(tmp_path: Path) -> None:
    done = run(tmp_path, TWO, "--break", "print(x)")
    assert done.exit_code == 2
    assert "there are max, min" in done.stderr


def nan(path: Path, body: str, *arguments: str, head: str = 'x: R.Tensor((2,), "float32")') -> str:
    text = f"@I.ir_module\nclass M:\n{INPLACE}\n    @R.function(pure=False)\n    def main({head}):\n"
    text += "".join(f"        {line}\n" for line in body.split("\n"))
    done = run(path, text, "--break", "nan", "--input", "x=1", *arguments)
    assert done.exit_code == 0, done.output
    return done.stdout.split("\n")[0] if "stopped" in done.stdout else ""


INPLACE = """    @T.prim_func
    def broken(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("b"):
                B[i] = T.sqrt(A[i] - T.float32(5))
"""


def test_masks_of_minus_infinity_are_meant(tmp_path: Path) -> None:
    assert not nan(
        tmp_path,
        'm = R.full((2,), R.const(float("-inf"), "float32"), "float32")\ny = R.add(x, m)\nz = R.nn.softmax(R.maximum(y, x))\nreturn z',
    )


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ("y = R.add(x, x)\nz = R.log(R.negative(y))\nreturn z", "z"),
        ("y = R.subtract(x, x)\nz = R.divide(x, y)\nreturn z", "z"),
        ('y = R.astype(x, "bfloat16")\nz = R.log(R.negative(y))\nreturn z', "z"),
        ("y = R.split(R.log(R.negative(x)), 2)\nreturn y", ""),
        ('y = R.call_tir_inplace(M.broken, (x, x), [1], R.Tensor((2,), "float32"))\nreturn y', "y"),
        ('a = R.builtin.alloc_tensor(R.shape([2]), "float32", 0)\n_ = M.broken(x, a)\nreturn a', ""),
    ],
)
def test_numbers_that_went_wrong_stop(body: str, at: str, tmp_path: Path) -> None:
    assert nan(tmp_path, body).endswith(at)
    assert "stopped" in nan(tmp_path, body)


KERNEL = """@I.ir_module
class M:
    @T.prim_func
    def NAME(A: T.Buffer((2,), "float32"), BUFFER: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("b"):
                BUFFER[i] = VALUE
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        a = R.builtin.alloc_tensor(R.shape([2]), "float32", 0)
        _ = M.NAME(x, a)
        return a
"""


@pytest.mark.parametrize(
    ("name", "buffer", "value", "stops"),
    [
        ("alloc_roots", "B", "T.sqrt(A[i] - T.float32(5))", True),
        ("divide", "inf", "A[i] / T.float32(0)", True),
        ("divide", "B", "A[i] / T.float32(0)", True),
        ("mask", "B", 'T.float32("-inf")', False),
    ],
)
def test_names_do_not_decide_what_went_wrong(
    name: str, buffer: str, value: str, stops: bool, tmp_path: Path
) -> None:
    text = KERNEL.replace("NAME", name).replace("BUFFER", buffer).replace("VALUE", value)
    assert ("stopped" in run(tmp_path, text, "--break", "nan", "--input", "x=1").stdout) is stops


PARTS = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return x

    @R.function
    def other(o: R.Object):
        y: R.Tensor((2,), "float32") = o
        return y
"""


def test_only_what_runs_is_warned_of_and_the_profile_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "RX" not in run(tmp_path, PARTS).stderr
    assert "RX0116" in run(tmp_path, PARTS, "--func", "other", "--input", "o=1").stderr
    assert (
        "RX0116" not in run(tmp_path, PARTS, "--func", "other", "--input", "o=1", "--profile", "tvm").stderr
    )
    assert CliRunner().invoke(group, ["opt", str(tmp_path / "p.py")]).exit_code == 1
    monkeypatch.chdir(tmp_path)
    (tmp_path / "relax-explorer.toml").write_text('profile = "tvm"')
    assert CliRunner().invoke(group, ["opt", str(tmp_path / "p.py")]).exit_code == 0
    assert "RX0116" not in run(tmp_path, PARTS, "--func", "other", "--input", "o=1").stderr


def test_what_was_made_up_is_said_in_one_line(tmp_path: Path) -> None:
    text = '@R.function\ndef main(x: R.Tensor(("n", "m"), "float32"), w: R.Tensor(("m",), "float32")):\n    return R.add(x, w)\n'
    assert (
        run(tmp_path, text).stderr
        == "made up: n = 3, m = 3, x w by randn:0; --shape and --input choose others\n"
    )
    assert (
        "made up: m = 3, w by randn:0;" in run(tmp_path, text, "--shape", "n=2", "--input", "x=ones").stderr
    )
    np.save(tmp_path / "x.npy", np.zeros((2, 5), np.float32))
    assert "made up: w by randn:0;" in run(tmp_path, text, "--input", f"x={tmp_path}/x.npy").stderr
    assert (
        "made up"
        not in run(
            tmp_path, text, "--shape", "n=2", "--shape", "m=2", "--input", "x=0", "--input", "w=0"
        ).stderr
    )


def test_a_kernel_is_told_from_nothing(tmp_path: Path) -> None:
    text = (
        f'@I.ir_module\nclass M:\n{INPLACE}\n    @R.function\n    def main(x: R.Tensor((2,), "float32")):\n'
    )
    text += '        y = R.call_tir(M.broken, (x,), out_sinfo=R.Tensor((2,), "float32"))\n        return y\n'
    done = run(tmp_path, text, "--func", "broken")
    assert done.exit_code == 2
    assert "a PrimFunc" in done.stderr
    assert "run main, which calls it" in " ".join(done.stderr.split())
    assert "no function 'typo'" in run(tmp_path, text, "--func", "typo").stderr


def test_concise_is_one_line_for_each_problem(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(PARTS)
    done = CliRunner().invoke(group, ["check", str(tmp_path / "p.py"), "--output-format", "concise"])
    lines = done.stdout.splitlines()
    assert lines
    assert all("[RX" in line for line in lines)


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn"])
def test_a_file_gives_dtypes_that_numpy_has_not(tmp_path: Path, kind: str) -> None:
    text = f'@R.function\ndef main(x: R.Tensor((2,), "{kind}")):\n    return x\n'
    array = np.array([1.5, -2.0], getattr(ml_dtypes, kind))
    np.savez(tmp_path / "i.npz", x=array)
    np.savez(tmp_path / "n.npz", array)
    np.save(tmp_path / "x.npy", array)
    np.save(tmp_path / "wide.npy", np.zeros(2, "V4"))
    for source in ("i.npz", "n.npz", f"x={tmp_path}/x.npy", f"x={tmp_path}/i.npz"):
        given = source if "=" in source else str(tmp_path / source)
        assert "[1.5 -2" in run(tmp_path, text, "--input", given).stdout
    assert "dtype void32" in run(tmp_path, text, "--input", f"x={tmp_path}/wide.npy").stderr


def test_a_cache_is_shown_but_not_stored(tmp_path: Path) -> None:
    text = (
        '@I.ir_module\nclass M:\n    @R.function(pure=False)\n    def main(x: R.Tensor((2, 3), "float32")):\n'
        '        c = R.call_pure_packed("vm.builtin.attention_kv_cache_create", x, R.shape([4, 3]), R.prim_value(-1), ty_args=[R.Any])\n'
        "        return (c, x)\n"
    )
    stored = tmp_path / "out.npz"
    result = run(tmp_path, text, "--format", "json", "--output", str(stored))
    assert json.loads(result.stdout)["results"][0] == {"value": "<kv cache of 2 rows, 3 float32 each>"}
    assert "left out" in result.stderr
    with np.load(stored, allow_pickle=False) as arrays:
        assert list(arrays) == ["out1"]
        assert arrays["out1"].shape == (2, 3)
