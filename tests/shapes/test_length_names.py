"""Two shape variables of one name are told apart by their functions: in conditions, and where a function is specialized."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes.length_names import LengthNames, read_conditions, scopes
from relax_explorer.core.shapes.residual import PARAMETERS, shape_checks
from relax_explorer.core.shapes.why import what_if
from relax_explorer.viz.length_text import what_if_data, what_if_lines
from tests.cli.test_commands import rxe_cli

TEXT = """@I.ir_module
class Module:
    @R.function
    def layer(x: R.Tensor(("n",), "float32"), y: R.Tensor(("k",), "float32")):
        n, k = T.int64(), T.int64()
        a = R.match_cast(y, R.Tensor((n,), "float32"))
        return a

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor("float32", ndim=1), z: R.Tensor(("n * 2",), "float32"), f: R.Tensor((), "bool")):
        n = T.int64()
        @R.function
        def inner(q: R.Tensor(("k",), "float32"), r: R.Tensor("float32", ndim=1)):
            k, m = T.int64(), T.int64()
            s = R.match_cast(r, R.Tensor((m,), "float32"))
            t = R.match_cast(s, R.Tensor((k,), "float32"))
            return t
        @R.function
        def other(q: R.Tensor(("k",), "float32")):
            k = T.int64()
            @R.function
            def deep(v: R.Tensor(("d",), "float32")):
                d = T.int64()
                w = R.match_cast(v, R.Tensor((k,), "float32"))
                return w
            u = R.match_cast(q, R.Tensor((n,), "float32"))
            e = deep(q)
            return e
        if f:
            j = T.int64()
            b = R.match_cast(y, R.Tensor((j,), "float32"))
            c = R.match_cast(b, R.Tensor((n,), "float32"))
        else:
            c = R.match_cast(y, R.Tensor((n,), "float32"))
        return c
"""


@pytest.fixture(scope="module")
def module() -> rxe.IRModule:
    return rxe.normalize(rxe.parse(TEXT))


def proved(module: rxe.IRModule, condition: str, function: str = "main") -> list[str]:
    """The values whose casts are proved by a condition."""
    wanted = read_conditions(condition, LengthNames(module, function))
    return [
        getattr(getattr(check.place, "var", None), "name", "")
        for check in shape_checks(module, wanted)
        if check.kind != PARAMETERS
        and check.answer is Answer.YES
        and any(fact.why == "given" for fact in check.proof)
    ]


@pytest.mark.parametrize(
    ("condition", "function", "values"),
    [
        ("n == k", "layer", ["a"]),
        ("layer.n == layer.k", "main", ["a"]),
        ("layer.n == layer.k", "layer", ["a"]),
        ("m == main.inner.k", "main", ["t"]),
        ("inner.m == inner.k", "main", ["t"]),
        ("main.inner.m == main.inner.k", "layer", ["t"]),
        ("other.k == n", "main", ["u"]),
        ("other.k == other.n", "main", ["u"]),
        ("other.deep.d == other.k", "main", ["w"]),
        ("d == other.deep.k", "main", ["w"]),
        ("j == n", "main", ["c_then"]),
        ("main.j == main.n, layer.k == layer.n", "main", ["a", "c_then"]),
        ("layer.k == layer.n, j == n, d == other.k", "main", ["a", "w", "c_then"]),
        ("inner.m == 7, layer.n == 7, layer.k == 7", "main", ["a"]),
        ("inner.m == 7, layer.n == 7, inner.k == 7", "main", ["t"]),
        ("layer.n == 7, main.j == 7, main.n == 8", "main", []),
    ],
)
def test_a_condition_is_about_the_function_that_it_names(
    module: rxe.IRModule, condition: str, function: str, values: list[str]
) -> None:
    assert proved(module, condition, function) == values


@pytest.mark.parametrize(
    ("condition", "code", "message", "hint"),
    [
        ("k == 1", "RX0607", "2 shape variables of main are called k", "main.inner.k or main.other.k"),
        ("q == 1", "RX0607", "there is no shape variable q", "here are n, j."),
        ("layer.j == 1", "RX0607", "there is no shape variable j of layer", "Other functions have main.j."),
        ("nothing.n == 1", "RX0607", "there is no Relax function nothing", "layer, main, main.inner"),
        ("layer.inner.k == 1", "RX0607", "there is no Relax function layer.inner", "main.other.deep"),
        ("deep.d == 1", "RX0607", "there is no Relax function deep", "main.other.deep"),
        ("layer.n == n", "RX0601", "layer.n and main.n are lengths of different functions", "main.n == 7"),
        ("n == 1, layer.n == n", "RX0601", "layer.n and main.n are lengths of different functions", ""),
        ("layer. == 1", "RX0601", "a nested function or a shape variable is expected here", ""),
        ("layer.1 == 1", "RX0601", "a nested function or a shape variable is expected here", ""),
        ("layer.n == 1, layer.n == 2", "RX0601", "n == 2 never holds", ""),
    ],
)
def test_names_that_tell_no_variable_are_refused(
    module: rxe.IRModule, condition: str, code: str, message: str, hint: str
) -> None:
    with pytest.raises(Failure) as failure:
        read_conditions(condition, LengthNames(module, "main"))
    (problem,) = failure.value.diagnostics
    assert problem.code.id == code
    assert message in problem.message
    assert problem.labels
    assert problem.help
    assert hint in problem.help


def test_the_same_number_in_two_functions_is_no_contradiction(module: rxe.IRModule) -> None:
    found = read_conditions("layer.n == 1, n == 2, inner.k == 3, other.k == 4", LengthNames(module, "main"))
    assert {name: [str(one) for one in some] for name, some in found.items()} == {
        "layer": ["n == 1"],
        "main": ["n == 2", "k == 3", "k == 4"],
    }
    assert not set(p.free_vars(*found["layer"])) & set(p.free_vars(*found["main"]))


def test_two_variables_of_one_name_in_a_function_have_the_names_that_are_printed() -> None:
    callee = """    @R.function(private=True)
    def layer(x: R.Tensor("float32", ndim=1)):
        m = T.int64()
        y = R.match_cast(x, R.Tensor((m,), "float32"))
        return y
"""
    text = f"""@I.ir_module
class Module:
{callee}
    @R.function
    def main(x: R.Tensor("float32", ndim=1), y: R.Tensor("float32", ndim=1)):
        m = T.int64()
        a = R.match_cast(x, R.Tensor((m,), "float32"))
        b = Module.layer(y)
        c = R.add(a, b)
        return c
"""
    inlined = rxe.apply_pass(rxe.parse(text), "InlinePrivateFunctions")
    own = scopes("main", inlined.relax_functions["main"])["main",]
    assert list(own) == ["m", "m_1"]
    assert "R.Tensor((m_1,)" in inlined.script()
    assert [one.value for one in what_if(inlined, "main", "m_1 = 3").values] == ["y"]
    assert [one.value for one in what_if(inlined, "main", "m = 3").values] == ["a"]
    assert what_if(inlined, "main", "m = 3").given == "main.m == 3; not of main.m_1"


def test_what_if_asks_the_function_that_is_named(module: rxe.IRModule) -> None:
    found = what_if(module, "main", "layer.n = 7")
    assert (found.function, [one.value for one in found.values]) == ("layer", ["x", "a"])
    assert found.given == "layer.n == 7; not of main.n"
    assert what_if_lines(found, "layer.n = 7")[:2] == [
        ("layer, if layer.n = 7:", None),
        ("  that is layer.n == 7; not of main.n", None),
    ]
    assert what_if_data(found)["given"] == found.given
    inner = what_if(module, "main", "inner.k = 7")
    assert [one.value for one in inner.values if one.value in "qtu"] == ["q", "t"]
    assert inner.given == "main.inner.k == 7; not of layer.k and main.other.k"
    assert [one.value for one in what_if(module, "main", "other.k = 7").values if one.value in "qtw"] == [
        "q",
        "w",
    ]
    with pytest.raises(Failure, match="about main and layer"):
        what_if(module, "main", "n = 1, layer.n = 1")


def test_the_command_line_tells_which_variable_a_condition_is_about(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(TEXT)
    shown = rxe_cli("shapes", str(path), "--given", "layer.n == layer.k")
    assert shown.stdout.startswith("given layer.n == layer.k; not of main.n, main.inner.k and main.other.k\n")
    data: dict[str, Any] = json.loads(
        rxe_cli("shapes", str(path), "--given", "m == 4", "--format", "json").stdout
    )
    assert data["given"] == "main.inner.m == 4"
    assert "given" not in json.loads(rxe_cli("shapes", str(path), "--format", "json").stdout)
    wrong = rxe_cli("shapes", str(path), "--given", "k == 4")
    assert wrong.exit_code == 1
    assert "Write main.inner.k or main.other.k." in wrong.stderr
    there = rxe_cli("shapes", str(path), "--func", "layer", "--given", "k == 4")
    assert there.exit_code == 0
    assert there.stdout.startswith("given layer.k == 4; not of main.inner.k and main.other.k\n")


def test_names_of_many_functions_are_cut() -> None:
    functions = "".join(
        f'    @R.function\n    def f{n}(x: R.Tensor(("n",), "float32")):\n        n = T.int64()\n        return x\n'
        for n in range(30)
    )
    module = rxe.normalize(rxe.parse(f"@I.ir_module\nclass Module:\n{functions}"))
    told = what_if(module, "f3", "n = 1").given
    assert told == "f3.n == 1; not of f0.n, f1.n, f2.n, f4.n, f5.n, f6.n, f7.n and 22 more"


def test_a_bare_name_prefers_the_function_itself_to_a_nested_one() -> None:
    text = """@R.function
def main(x: R.Tensor("float32", ndim=1)):
    @R.function
    def inner(q: R.Tensor(("k",), "float32")):
        k = T.int64()
        return q
    k = T.int64()
    a = R.match_cast(x, R.Tensor((k,), "float32"))
    b = inner(a)
    return b
"""
    module = rxe.normalize(rxe.parse(text))
    assert what_if(module, "main", "k = 3").given == "main.k == 3; not of main.inner.k"
    with pytest.raises(Failure) as failure:  # no call tells the length that a match_cast binds
        rxe.apply_pass(module, "SpecializeShapes", bindings=["k=3"], public=True)
    assert failure.value.diagnostics[0].message == "no parameter of 'main' binds a shape variable 'k'"
