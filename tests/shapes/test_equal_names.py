"""Values, parameters and shape variables with one name are different ones: proofs go by identity. Passes make such names."""

from __future__ import annotations

import json

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.residual import shape_checks

ONE = 'R.Tensor("float32", ndim=1)'
CALLED = f"""@I.ir_module
class M:
    @R.function(private=True, pure=False)
    def inner(x: {ONE}, y: {ONE}, z: {ONE}) -> {ONE}:
        c = R.match_cast({{first}}, R.Tensor((3,), "float32"))
        d = R.match_cast({{second}}, R.Tensor((4,), "float32"))
        return x
    @R.function(pure=False)
    def main(p: R.Tensor((3,), "float32"), q: R.Tensor((4,), "float32"), r: {ONE}):
        u = M.inner({{args}})
        return u
"""


def with_one_name(text: str, *names: str) -> IRModule:
    """A program in which all these variables are called like the first one."""

    def renamed(part: object) -> object:
        if isinstance(part, dict):
            return {
                key: names[0] if key == "name" and value in names else renamed(value)
                for key, value in part.items()
            }
        return [renamed(one) for one in part] if isinstance(part, list) else part

    data = json.loads(rxe.to_json(rxe.normalize(rxe.parse(text))))
    return rxe.from_json(json.dumps(renamed(data)))


def answers(module: IRModule, kind: str) -> list[tuple[str, str]]:
    return [(check.text, check.answer.name) for check in shape_checks(module) if check.kind == kind]


@pytest.mark.parametrize(
    ("first", "second", "args", "left"),
    [
        ("x", "y", "p, q, r", ["YES", "YES"]),
        ("x", "y", "q, p, r", ["NO", "NO"]),
        ("y", "x", "q, p, r", ["YES", "YES"]),
        ("x", "z", "p, r, q", ["YES", "YES"]),
        ("z", "y", "r, q, p", ["YES", "YES"]),
        ("x", "y", "p, p, q", ["YES", "NO"]),
        ("x", "z", "p, q, r", ["YES", "UNKNOWN"]),
        ("y", "z", "p, r, q", ["UNKNOWN", "YES"]),
    ],
)
def test_parameters_of_one_name(first: str, second: str, args: str, left: list[str]) -> None:
    text = CALLED.format(first=first, second=second, args=args)
    apart = answers(rxe.normalize(rxe.parse(text)), "match_cast")
    module = with_one_name(text, "x", "y", "z")
    assert [param.name for param in module.relax_functions["inner"].params] == ["x", "x", "x"]
    found = answers(module, "match_cast")
    assert [answer for _, answer in found] == [answer for _, answer in apart] == left
    removed = rxe.apply_pass(module, "EliminateShapeChecks")
    lengths = [(3, 4, 3), (3, 4, 4), (3, 4, 5)]
    for p, q, r in lengths:
        values = [np.ones(n, "float32") for n in (p, q, r)]
        assert ends(module, values) is ends(removed, values) is ends(rxe.parse(text), values)


def ends(module: IRModule, values: list[np.ndarray]) -> bool:
    try:
        rxe.run(module, "main", values)
    except Failure:
        return False
    return True


def second(module: IRModule) -> object:
    """The type of the second parameter of `inner`, or its column if it has a place in a text."""
    param = module.relax_functions["inner"].params[1]
    return param.span.column if param.span else param.struct_info


def test_an_argument_that_never_fits_is_shown_beside_its_own_parameter() -> None:
    text = f"""@I.ir_module
class M:
    @R.function
    def inner(x: R.Tensor(("n",), "float32"), y: R.Tensor((4,), "float32")) -> {ONE}:
        return x
    @R.function
    def main(p: {ONE}) -> {ONE}:
        c = R.match_cast(p, R.Tensor((3,), "float32"))
        u = M.inner(c, p)
        return u
"""
    module = with_one_name(text, "x", "y")
    found = [item for item in rxe.check(module) if item.is_error]
    assert [item.message for item in found] == ["x' of inner: p.shape[0] == 4 never holds here"]
    places = [label.place for label in found[0].labels if label.text == "the parameter"]
    assert [getattr(place, "struct_info", None) or place.column for place in places] == [second(module)]


def test_a_nested_function_hides_a_parameter() -> None:
    text = f"""@R.function(pure=False)
def main(x: {ONE}, y: {ONE}):
    a = R.match_cast(x, R.Tensor((3,), "float32"))

    @R.function(pure=False)
    def inner(x: {ONE}) -> {ONE}:
        b = R.match_cast(x, R.Tensor((3,), "float32"))
        return b

    c = inner(y)
    d = R.match_cast(x, R.Tensor((3,), "float32"))
    return d
"""
    module = rxe.normalize(rxe.parse(text))
    assert [answer for _, answer in answers(module, "match_cast")] == ["UNKNOWN", "UNKNOWN", "YES"]
    removed = rxe.apply_pass(module, "EliminateShapeChecks")
    for n, m in ((3, 3), (3, 4), (4, 3)):
        values = [np.ones(n, "float32"), np.ones(m, "float32")]
        assert ends(removed, values) is ends(module, values) is ((n, m) == (3, 3))


@pytest.mark.parametrize(("name", "answer"), [("n", Answer.UNKNOWN), ("k", Answer.UNKNOWN)])
def test_shape_variables_of_two_functions(name: str, answer: Answer) -> None:
    text = f"""@I.ir_module
class M:
    @R.function(private=True, pure=False)
    def inner(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("n",), "float32"):
        n, m = T.int64(), T.int64()
        _ = R.assert_op(R.prim_value(n == m), format="equal")
        return x
    @R.function(pure=False)
    def main(x: R.Tensor(("{name}", 2), "float32"), a: R.Tensor(("m",), "float32"), b: R.Tensor(("{name}",), "float32")):
        {name}, m = T.int64(), T.int64()
        c = R.match_cast(a, R.Tensor(({name},), "float32"))
        u = M.inner(b, c)
        v = M.inner(b, SECOND)
        return (u, v)
"""
    same = text.replace("SECOND", "b")
    assert answers(rxe.normalize(rxe.parse(same)), "assert") == [("n == m", "YES")]
    other = text.replace("SECOND", "d").replace(
        "        u = M.inner", '        d = R.zeros(R.shape([7]), "float32")\n        u = M.inner'
    )
    assert answers(rxe.normalize(rxe.parse(other)), "assert") == [("n == m", answer.name)]


def test_two_shape_variables_of_one_name_in_one_function() -> None:
    text = """@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32"), z: R.Tensor(("m",), "float32")):
    n, m = T.int64(), T.int64()
    a = R.match_cast(y, R.Tensor((n,), "float32"))
    b = R.match_cast(z, R.Tensor((n,), "float32"))
    return b
"""
    module = with_one_name(text, "n", "m")
    assert [answer for _, answer in answers(module, "match_cast")] == ["UNKNOWN", "YES"]
    assert not [item for item in rxe.check(module) if item.is_error]
