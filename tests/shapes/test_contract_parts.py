"""Each part of a program with contracts counts: both sides of a test, both branches, calls one after another, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.contract_forms import _Rewriting, copy_of, monomorphise, splits_of
from relax_explorer.core.shapes.contract_run import Runner
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.contract_tree import Environment
from relax_explorer.core.shapes.lower import lower
from relax_explorer.core.shapes.propagate import analyse

TAKEN = """@f = fn(c : int8, d : int8) : Tensor { if (c < d) { <literal [1]> } else { <literal [2]> } }
let c : int8 = ..; let d : int8 = ..; let r = @f(c, d)"""


def run(text: str, **inputs: object) -> dict[str, object]:
    """The values of a program."""
    program, terms = read_contract(text)
    return Runner(program, terms, inputs).run()


@pytest.mark.parametrize(("left", "right", "taken"), [(1, 2, 1), (2, 1, 2), (2, 2, 2)])
def test_a_test_compares_its_sides(left: int, right: int, taken: int) -> None:
    assert np.all(run(TAKEN, c=np.int8(left), d=np.int8(right))["r"] == np.asarray([taken]))


def test_calls_one_after_another_are_not_nested() -> None:
    once = "@f = fn(x : Tensor([n], int8)) : Tensor([n], int8) { x }\nlet x : Tensor([n], int8) = ..; "
    calls = " ".join(f"let y{number} = @f(x);" for number in range(300))
    assert run(once + calls, x=np.ones(2, "int8"))["y299"].shape == (2,)
    for text in (
        "".join(f"@f{n} = fn(x : Tensor([n], int8)) : Tensor {{ <literal [1]> }}\n" for n in range(400)),
        once + "let z = @concat([" + ", ".join(["x"] * 400) + "], axis=0)",
    ):
        assert read_contract(text)
    deep = "let x : Tensor([2], int8) = ..; let y = " + "@f(" * 400 + "x" + ")" * 400
    with pytest.raises(Failure, match="nested"):
        read_contract(deep)
    endless = "@g = fn(x : Tensor([n], int8)) : Tensor([n], int8) { @g(x) }\nlet x : Tensor([2], int8) = ..; let y = @g(x)"
    with pytest.raises(Failure, match="calls itself"):
        run(endless, x=np.ones(2, "int8"))


def test_variables_of_a_branch_end_with_it() -> None:
    text = """@f = fn(c : int8, x : Tensor([n], int8)) : Tensor {
  let y = @flatten(x);
  let z = if (c > 3) { let y = @concat(x, x); let k ! Tensor([n * 2], int8) = y; k } else { let y = x; y };
  let w = { let y = @concat(x, @concat(x, x)); y };
  @concat([y, z, w], axis=0)
}
let c : int8 = ..; let x : Tensor([2], int8) = ..; let r = @f(c, x)"""
    text = text.replace("@flatten(x)", "@add(x, x)")
    for chosen, length in ((4, 12), (1, 10)):
        assert run(text, c=np.int8(chosen), x=np.ones(2, "int8"))["r"].shape == (length,)


def test_names_that_stand_in_a_branch_and_behind_it() -> None:
    text = "@f = fn(c : int8, x : Tensor([n], int8)) : Tensor { let z = if (c > 3) { x } else { let y = x; y }; let y = z; y }"
    program, _ = read_contract(text + "\nlet c : int8 = ..; let x : Tensor([2], int8) = ..; let r = @f(c, x)")
    body = program.functions["f"].body
    assert body is not None
    inner = next(
        item.value for item in body.statements if isinstance(item, c.Let) and isinstance(item.value, c.If)
    )
    names = [
        item.name for block in (body, inner.otherwise) for item in block.statements if isinstance(item, c.Let)
    ]
    assert len(set(names)) == len(names)


def test_copies_of_what_is_known_are_apart() -> None:
    known = Environment()
    copy = known.copy()
    for part in (copy.sizes, copy.shapes, copy.dtypes):
        part["x"] = "y"  # type: ignore[index, assignment]
    assert known == Environment()


@pytest.mark.parametrize(
    ("text", "is_right"),
    [("<literal [0, 1] bool>", True), ("<literal [0, 2] bool>", False), ("<literal [-1] bool>", False)],
)
def test_numbers_of_a_literal_fit_its_type(text: str, is_right: bool) -> None:
    if is_right:
        assert read_contract(f"let x = {text}")
    else:
        with pytest.raises(Failure):
            read_contract(f"let x = {text}")


CHOICE = """@ff = fn(x : Tensor([n, m], int8)) : Tensor([n, m], int8) { x }
@g = fn(c : int8, x : Tensor([n, m], int8)) : Tensor { if (c > 3) { @ff(x) } else { @add(x, x) } }
@h = fn(c : int8, x : Tensor([n, m], int8)) : Tensor { if (c > 3) { @add(x, x) } else { @ff(x) } }
let c : int8 = ..; let a : Tensor([2, 3], int8) = ..; let p = @ff(a); let q = @flatten(a); let r = @flatten(p);
let s = @concat([a, a], axis=0); let t = @concat([a, a], axis=1); let u = @concat([a, a, a], axis=0);
"""


def test_calls_in_either_branch_go_to_the_copy() -> None:
    program, terms = read_contract(CHOICE + "let v = @g(c, a); let w = @h(c, a)")
    sides = {name: list(c.calls_of(program.functions[name].body)) for name in "gh"}  # type: ignore[arg-type]
    assert [[call.function for call in calls] for calls in sides.values()] == [["ff", "add"], ["add", "ff"]]
    fixed = CHOICE.replace("c : int8, x : Tensor([n, m], int8)", "c : int8, x : Tensor([2, 3], int8)")
    program, terms = read_contract(fixed)
    new = monomorphise(program, terms, "ff", {"n": 2, "m": 3}, analyse(program, terms))
    called = {name: [call.function for call in c.calls_of(new.functions[name].body)] for name in "gh"}  # type: ignore[arg-type]
    assert called == {"g": ["ff_2_3", "add"], "h": ["add", "ff_2_3"]}
    told = list(copy_of(program, terms, "ff: n=2, m=3"))
    assert [line for line in told if "of @g" in line]
    assert [line for line in told if "of @h" in line]


def test_calls_on_either_side_of_a_test() -> None:
    place = read_contract(CHOICE)[0].functions["ff"].span
    for is_left in (True, False):
        call, other, block = (
            c.Call("ff", [], {}, place),
            c.Call("gg", [], {}, place),
            c.Block([], c.Name("x", place)),
        )
        choice = c.If("<", *((call, other) if is_left else (other, call)), block, block, place)
        assert list(c.calls_of(choice)) == [choice.left, choice.right]
        new = _Rewriting({id(call)}, "new").expr(choice)
        assert [each.function for each in c.calls_of(new)] == (["new", "gg"] if is_left else ["gg", "new"])
        assert _Rewriting({id(block)}, "new").expr(choice) is choice


def test_the_first_wrong_size_is_told() -> None:
    program, terms = read_contract(CHOICE)
    with pytest.raises(Failure, match="variable k;"):
        monomorphise(program, terms, "ff", {"k": 2, "l": 3})
    for request, told in (
        ("ff: n=2, n=3", "two sizes"),
        (f"ff: n={10**30}", "int64"),
        (f"ff: n={1 << 63}", "int64"),
        (f"ff: n={'9' * 5000}", "int64"),
    ):
        with pytest.raises(Failure, match=told):
            list(copy_of(program, terms, request))


def test_each_primitive_is_split_once_for_its_attributes() -> None:
    lines = [line for line in splits_of(*read_contract(CHOICE)) if line.endswith("==>")]
    assert [line.removesuffix("  ==>") for line in lines if not line.startswith(("@f", "@g", "@h"))] == [
        "@add(...)", "@concat(..., axis=0)", "@concat(..., axis=1)", "@concat(..., axis=0)",
    ]  # fmt: skip
    two = [
        line
        for line in splits_of(*read_contract(CHOICE + "let v = @matmul(a, a);"))
        if line.startswith("@matmul(")
    ]
    assert len(two) == len([line for line in lines if line.startswith("@flatten")]) == 1


def test_the_first_value_without_lengths_is_told() -> None:
    text = "let x : Tensor = ..; let y : Tensor = ..; "
    with pytest.raises(Failure, match="x has no type"):
        lower(*read_contract(text + "assert x.dim(0) == y.dim(0)"))
    typed = "let z : Tensor([n], int8) = ..; let w : Tensor([m], int8) = ..; assert z.dim(0) == w.dim(0)"
    assert "R.assert_op" in lower(*read_contract(typed)).text
