"""BindParams and BindSymbolicVars: constants in place of parameters, numbers in place of shape variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pipeline import run_step, steps
from relax_explorer.core.session.build_passes import with_files
from relax_explorer.ui.cli.main import group
from tests.support.roundtrip import function

TEXT = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), w: R.Tensor(("m", 3), "float32"), b: R.Tensor((3,), "float32")):
        n = T.int64()
        m = T.int64()
        y = R.add(x, b)
        c = R.sum(w)
        if R.less(c, c):
            z = R.multiply(y, c)
        else:
            z = R.add(y, b)
        s = R.zeros(R.shape([n, m + 1]), "float32")
        return (z, s)

    @R.function
    def other(x: R.Tensor(("n", 3), "float32"), y: R.Tensor(("k",), "float32")):
        n = T.int64()
        @R.function
        def inner(q: R.Tensor((n, 3), "float32")) -> R.Tensor((n, 3), "float32"):
            r = R.add(q, q)
            return r
        z = inner(x)
        s = R.match_cast(y, R.Tensor((n,), "float32"))
        return (z, s)
"""
ONES = np.ones(3, "float32")
W = np.arange(12, dtype="float32").reshape(4, 3)


def module(text: str = TEXT) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(text))


def after(before: rxe.IRModule, name: str, **options: Any) -> rxe.IRModule:
    result = rxe.apply_pass(before, name, **options)
    assert rxe.normalize(result) is result
    assert rxe.well_formed(result)
    return result


def test_parameters_become_constants_and_tell_their_lengths() -> None:
    result = after(module(), "BindParams", func_name="main", params={"w": W, "b": ONES})
    assert [param.name for param in result["main"].params] == ["x"]
    assert "R.shape([n, 5])" in result.script()
    x = np.full((2, 3), 2, "float32")
    for old, new in zip(rxe.run(module(), "main", [x, W, ONES]), rxe.run(result, "main", [x]), strict=True):
        np.testing.assert_array_equal(old, new)
    assert result["other"] is not None


def test_the_arrays_of_the_caller_are_copied() -> None:
    given = ONES.copy()
    result = after(module(), "BindParams", params={"b": given})
    given[:] = 7
    x = np.zeros((2, 3), "float32")
    np.testing.assert_array_equal(rxe.run(result, "main", [x, W])[0], np.full((2, 3), 2, "float32"))


def test_an_overwritten_parameter_becomes_a_variable() -> None:
    text = """
@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def inc(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
        for i in range(3):
            A[i] = A[i] + B[i]
    @R.function(pure=False)
    def main(x: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32")):
        cls = M
        _ = cls.inc(b, x)
        y = R.add(b, b)
        return y
"""
    before = module(text)
    result = rxe.apply_pass(before, "BindParams", params={"b": ONES})
    assert [param.name for param in result["main"].params] == ["x"]
    for _ in range(2):
        np.testing.assert_array_equal(rxe.run(result, "main", [ONES]), np.full(3, 4, "float32"))


@pytest.mark.parametrize(
    ("func_name", "params", "said"),
    [
        ("main", {"q": ONES}, "no parameter 'q'"),
        ("nobody", {"b": ONES}, "no Relax function 'nobody'"),
        ("main", {"b": ONES.astype("float64")}, "float64"),
        ("main", {"b": W}, "parameter 'b' is R.Tensor"),
        ("main", "weights.npz", "params is 'weights.npz'"),
        ("main", 3, "must be values by name"),
    ],
)
def test_params_that_do_not_fit_are_refused(func_name: str, params: Any, said: str) -> None:
    with pytest.raises(Failure, match=said) as caught:
        rxe.apply_pass(module(), "BindParams", func_name=func_name, params=params)
    assert caught.value.diagnostics[0].code.id == "RX0404"
    assert caught.value.diagnostics[0].help


def test_lengths_that_contradict_each_other_are_refused() -> None:
    text = TEXT.replace(
        'b: R.Tensor((3,), "float32")', 'b: R.Tensor((3,), "float32"), v: R.Tensor(("m",), "float32")'
    )
    with pytest.raises(Failure, match="parameter 'v'"):
        rxe.apply_pass(module(text), "BindParams", params={"w": W, "v": ONES})
    sums = TEXT.replace(
        'b: R.Tensor((3,), "float32")', 'b: R.Tensor((3,), "float32"), v: R.Tensor(("n + 1",), "float32")'
    )
    with pytest.raises(Failure, match="parameter 'v'"):  # a run would compare n + 1 with 3
        rxe.apply_pass(module(sums), "BindParams", params={"v": ONES})


def test_a_function_that_the_module_calls_keeps_its_parameters() -> None:
    text = (
        TEXT
        + "\n    @R.function\n    def caller(x: R.Tensor((2, 3), 'float32')):\n        t = M.main(x, x, x[0])\n        return t\n"
    )
    text = text.replace("x[0]", "R.zeros((3,), 'float32')")
    with pytest.raises(Failure, match="the module itself calls 'main'"):
        rxe.apply_pass(module(text), "BindParams", params={"b": ONES})


@pytest.mark.parametrize("written", ['binding_map="n=4, m=8"', "binding_map={'n': 4, 'm': 8}"])
def test_shape_variables_become_numbers_everywhere(written: str) -> None:
    (step,) = steps(f"BindSymbolicVars{{{written}}}")
    result = run_step(step, module()).module
    text = result.script()
    assert "R.shape([4, 9])" in text
    assert text.count("R.Tensor((4, 3)") > 4
    assert 'TypeVar("n")' not in text
    assert "k," in text
    assert rxe.normalize(result) is result


def test_only_the_named_function_changes() -> None:
    before = module()
    result = after(before, "BindSymbolicVars", binding_map={"n": 4}, func_name="main")
    assert result["other"] is before["other"]
    assert result["main"] is not before["main"]


def test_a_variable_that_a_match_cast_binds_becomes_a_check() -> None:
    text = """
@R.function
def main(x: R.Tensor("float32", ndim=1)):
    n = T.int64()
    y = R.match_cast(x, R.Tensor((n,), "float32"))
    z = R.add(y, y)
    return z
"""
    result = after(module(text), "BindSymbolicVars", binding_map={"n": 2})
    assert 'R.match_cast(x, R.Tensor((2,), dtype="float32"))' in result.script()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"binding_map": {"q": 4}}, "the module has no shape variable 'q'"),
        ({"binding_map": {"n": 4, "k": 1}, "func_name": "main"}, "function 'main' has no shape variable 'k'"),
        ({"binding_map": {"n": 4}, "func_name": "nobody"}, "no Relax function 'nobody'"),
        ({"binding_map": "n=4,n=5"}, "binding_map is"),
        ({"binding_map": "n"}, "binding_map is"),
        ({"binding_map": {"n": -1}}, "the value -1"),
        ({"binding_map": {"n": 1.5}}, "the value 1.5"),
        ({"binding_map": {"n": True}}, "the value True"),
        ({"binding_map": {"n": 2**63}}, "the value 9223372036854775808"),
        ({"binding_map": "n=4,m=9223372036854775808"}, "gives 'm' the value 9223372036854775808"),
        ({"binding_map": "n=" + "9" * 5000}, "gives 'n' the value 9223372036854775808"),
    ],
)
def test_values_without_a_meaning_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(Failure, match=said) as caught:
        rxe.apply_pass(module(), "BindSymbolicVars", **options)
    assert caught.value.diagnostics[0].code.id == "RX0404"


SCALARS = """
@I.ir_module
class M:
    @R.function(private=True)
    def f(n: T.int64, x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = R.zeros(R.shape([n]), "float32")
        return y
    @R.function
    def main(n: T.int64, x: R.Tensor(("n",), "float32"), k: T.int64):
        m = T.int64()
        y = M.f(n, x)
        t = (n, k)
        o = n
        return (y, t, o)
"""


def test_a_scalar_parameter_goes_with_its_variable() -> None:
    before = module(SCALARS)
    result = after(before, "BindSymbolicVars", binding_map={"n": 4}, func_name="main")
    assert [param.name for param in result["main"].params] == ["x", "k"]
    x = np.full(4, 2, "float32")
    for old, new in zip(rxe.run(before, "main", [4, x, 7]), rxe.run(result, "main", [x, 7]), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_scalar_parameter_of_a_function_that_is_called_stays() -> None:
    result = after(module(SCALARS), "BindSymbolicVars", binding_map={"n": 4})
    assert [param.name for param in result["f"].params] == ["n", "x"]
    assert "cls.f(R.prim_value(4), x)" in result.script()
    np.testing.assert_array_equal(rxe.run(result, "main", [np.ones(4, "float32"), 7])[0], np.zeros(4))


def test_values_that_contradict_the_program_are_refused() -> None:
    text = TEXT.replace("c = R.sum(w)", "c = R.sum(R.add(x, w))")
    after(module(text), "BindSymbolicVars", binding_map={"n": 4, "m": 4})
    with pytest.raises(Failure, match="broadcast"):
        rxe.apply_pass(module(text), "BindSymbolicVars", binding_map={"n": 4, "m": 5})


NEGATIVE = """@R.function
def main(x: R.Tensor(("n", "m"), "float32"), c: R.Tensor((), "bool")):
    n = T.int64()
    m = T.int64()
    LINES
"""


@pytest.mark.parametrize("value", [1, 2, 3])
@pytest.mark.parametrize(
    "lines",
    [
        "return R.zeros(R.shape([n - 2, m]), 'float32')",
        "if c:\n        y = R.zeros(R.shape([n - 2]), 'float32')\n    else:\n        y = R.zeros(R.shape([0]), 'float32')\n    return y",
        "@R.function\n    def f() -> R.Tensor((n - 2,), 'float32'):\n        return R.zeros(R.shape([n - 2]), 'float32')\n    return f()",
    ],
)
def test_values_that_make_a_length_negative_are_refused(lines: str, value: int) -> None:
    given = rxe.normalize(rxe.parse(NEGATIVE.replace("LINES", lines)))
    if value >= 2:
        assert rxe.apply_pass(given, "BindSymbolicVars", binding_map={"n": value}) is not given
        return
    with pytest.raises(Failure, match="dimension -") as refused:
        rxe.apply_pass(given, "BindSymbolicVars", binding_map={"n": value})
    assert {item.code.id for item in refused.value.diagnostics} == {"RX0155"}
    assert all("this is so with n = 1" in item.notes for item in refused.value.diagnostics)


@pytest.mark.parametrize("name", ["BindParams", "BindSymbolicVars"])
def test_nothing_to_bind_leaves_the_same_object(name: str) -> None:
    before = module()
    assert rxe.apply_pass(before, name) is before


@pytest.mark.parametrize("text", ["BindSymbolicVars{binding_map={'n': 4, 'm': 4}}"])
def test_bindings_have_their_origin(text: str) -> None:
    before = module()
    outcome = run_step(steps(text)[0], before)
    origins = {new: item.before for item in outcome.rewrites for new in item.after}
    changed = [b for b in bindings(outcome.module["main"]) if b not in set(bindings(before["main"]))]
    assert changed
    assert all(b in origins for b in changed)


@pytest.mark.parametrize("command", ["opt", "run"])
def test_the_command_line_reads_the_arrays_of_a_file(command: str, tmp_path: Path) -> None:
    program, weights = tmp_path / "model.py", tmp_path / "weights.npz"
    program.write_text(TEXT, encoding="utf-8")
    np.savez(weights, w=W, b=ONES)
    pipeline = f'BindParams{{func_name="main",params="{weights}"}}'
    extra = ["--func", "main"] if command == "run" else []
    done = CliRunner().invoke(group, [command, str(program), "-p", pipeline, *extra])
    assert done.exit_code == 0, done.stderr
    assert "5" in done.stdout
    missing = CliRunner().invoke(
        group, [command, str(program), "-p", pipeline.replace("weights.npz", "none.npz")]
    )
    assert missing.exit_code != 0
    assert "none.npz" in missing.stderr
    step = with_files(pipeline)[0]
    assert str(step) == f"BindParams{{func_name='main',params={str(weights)!r}}}"
    assert with_files(str(step)) == [step]


def test_lengths_in_the_type_of_a_function_are_simplified() -> None:
    text = """
@R.function
def main(x: R.Tensor(("n", "k"), "float32"), f: R.Callable((R.Tensor(("k * n * 2",), "float32"),), R.Any)):
    return x
"""
    result = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "BindSymbolicVars", binding_map={"n": 4})
    assert 'R.Tensor(("k * 8",), dtype="float32")' in result.script()


FUNCTION_TYPES = """@R.function
def main(x: R.Tensor(("n",), "float32"), f: R.Callable((R.Tensor(("m",), "float32"),), R.Tensor(("m", "n"), "float32"))):
    @R.function
    def g(y: R.Tensor(("k",), "float32")) -> R.Tensor(("k",), "float32"):
        return y
    return g
"""


@pytest.mark.parametrize(
    ("values", "params", "result"),
    [
        ("n=2", ["(2,)", "(m,)", "(m, 2)"], "(k,)"),
        ("m=2", ["(n,)", "(m,)", "(m, n)"], "(k,)"),
        ("k=2", ["(n,)", "(m,)", "(m, n)"], "(2,)"),
    ],
)
def test_lengths_that_a_function_type_binds_stay(values: str, params: list[str], result: str) -> None:
    """The function fits any length. One that the function around it binds becomes a number, and so does that of a nested function."""
    module = rxe.normalize(rxe.parse(FUNCTION_TYPES))
    main = rxe.run_pipeline(module, f'BindSymbolicVars{{binding_map="{values}"}}')["main"]
    x, f = (param.struct_info for param in main.params)
    found = [x.shape, f.params[0].shape, f.ret.shape, main.ret_struct_info.params[0].shape]
    written = ["(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")" for shape in found]
    assert written == [*params, result]


@pytest.mark.parametrize("name", ["CanonicalizeBindings", "FoldConstant"])
def test_a_dtype_is_read_directly_by_a_function_that_may_write(name: str) -> None:
    lines = 'd = R.dtype("float16")\nb = R.call_packed("f", x, d, ty_args=(R.Object,))\nc = R.call_packed("f", d, ty_args=(R.Object,))\nreturn (b, c)'
    text = function(lines).replace("R.function", "R.function(pure=False)", 1)
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), name)
    assert after.script().count('R.dtype("float16"),') == 2


@pytest.mark.parametrize(
    ("cast", "left"),
    [
        ('R.match_cast(m, R.Prim("int64"))', 0),
        ('R.match_cast(t, R.Tuple(R.Tensor((2,), "float32"), R.Prim("int64")))', 0),
        ('R.match_cast(m + 1, R.Prim("int64"))', 1),
        ('R.match_cast(u, R.Tensor((2,), "float32"))', 1),
    ],
)
def test_a_cast_of_a_scalar_to_its_own_type_goes(cast: str, left: int) -> None:
    lines = f"k = T.int64()\nt = (x, m)\nr = {cast}\nreturn r"
    text = function(lines, 'x: R.Tensor((2,), "float32"), u: R.Tensor("float32"), m: T.int64')
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "CanonicalizeBindings")
    assert after.script().count("match_cast") == left


@pytest.mark.parametrize("name", ["KillAfterLastUse", "FuseTIR"])
def test_a_branch_with_a_scalar_needs_no_cast(name: str) -> None:
    lines = """R.func_attr({"relax.force_pure": True})
if c:
    a = R.memory.alloc_storage(R.shape([8]), 0, "global", "float32")
    r = (x, m)
else:
    r = (x, m + 1)
return r"""
    text = function(lines, 'x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool"), m: T.int64')
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), name)
    assert "match_cast" not in after.script()
