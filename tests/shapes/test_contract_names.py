"""What is known of a value of a program with contracts is known of that value, not of another one with the same name."""

from __future__ import annotations

import re

import numpy as np
import pytest

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.shapes.contract_facts import residual_rows
from relax_explorer.core.shapes.contract_run import Runner
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.contract_tree import Let, Opaque
from relax_explorer.core.shapes.lower import lower
from relax_explorer.core.shapes.propagate import analyse

FUNCTIONS = """
@quarter = fn(x : Tensor([n * 4], int8)) : Tensor([n * 4], int8) { x }
@alike = fn(x : Tensor(?, d), y : Tensor(?, d)) : Tensor(?, d) { x }
@one = fn(x : Tensor(?, int8)) : Tensor(?, int8) { assert x.rank == 1; x }
@taken = fn(x : Tensor(?, int8)) : Tensor(?, int8) { let y ! Tensor([k], int8) = x; y }
@even = fn(x : Tensor([a], int8), y : Tensor([a], int8)) : Tensor([a], int8) { let x = y; x }
@vector = fn(x : Tensor([k], int8)) : Tensor([k], int8) { x }
@any = fn(x : Tensor(?, int8)) : Tensor(?, int8) { x }
@pick = [@quarter, @any]
@matmul = fn(x : Tensor(?, int8), y : Tensor(?, int8)) : Tensor([2, 2], int8)
@square = fn(x : Tensor(?, int8)) : Tensor(?, int8) { @matmul(x, x) }
@out = fn(out : Tensor([n], int8)) : Tensor([n], int8) { @concat([out, out], axis=0) }
@join = fn(x : Tensor(?, int8)) : Tensor(?, int8) {
    let y = { let z = x; assert z.rank == 1; z };
    let w = { let z = @concat([x, x], axis=0); assert z.dim(0) == 4; z };
    w
}
"""
ANY = "let {} : Tensor(?, int8) = ..;\n"
X_Y = ANY.format("x") + ANY.format("y")


def runs(text: str, *arrays: np.ndarray, keep_branches: bool = False) -> list[bool]:
    """Whether a run ends: one that makes all assertions, and one without those that are proved."""
    program, terms = read_contract(FUNCTIONS + text)
    found = analyse(program, terms, keep_branches)
    inputs = dict(
        zip(
            [one.name for one in program.main if isinstance(one, Let) and isinstance(one.value, Opaque)],
            arrays,
            strict=True,
        )
    )
    ended = []
    for analysis in (None, found):
        try:
            Runner(program, terms, inputs, analysis).run()
            ended.append(True)
        except Failure:
            ended.append(False)
    return ended


def vector(length: int, kind: str = "int8") -> np.ndarray:
    return np.ones(length, kind)


@pytest.mark.parametrize("keep_branches", [False, True])
@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        # a parameter is called like a value of the caller, whose lengths are known
        (X_Y + "assert x.rank == 1; assert x.dim(0) % 4 == 0; assert y.rank == 1; let z = @quarter(y)", (8, 4), (8, 3)),
        (X_Y + "assert x.rank == 1; assert x.dim(0) % 4 == 0; let z = @quarter(y)", (8, 4), (8, 3)),
        # two values with one name
        (ANY.format("x") * 2 + "assert x.rank == 1; assert x.dim(0) == 4", (3, 4), (4, 3)),
        (
            ANY.format("x") + "assert x.rank == 1; assert x.dim(0) == 4; " + ANY.format("x") + "assert x.rank == 1; "
            "assert x.dim(0) == 4",
            (4, 4), (4, 3),
        ),
        (
            ANY.format("x") + "assert x.rank == 1; assert x.dim(0) == 4; let x = @concat([x, x], axis=0); "
            "let z ! Tensor([8], int8) = x; assert x.dim(0) == 8",
            (4,), (3,),
        ),
        # in blocks, one after the other
        (ANY.format("x") + "let z = @join(x)", (2,), (3,)),
        # the same body for two calls
        (X_Y + "let p = @one(x); let q = @one(y)", (3, 3), (3, None)),
        (X_Y + "let p = @taken(x); let q = @taken(y); assert p.rank == 1; assert q.rank == 1; assert q.dim(0) == p.dim(0)", (3, 3), (3, 4)),
        # a parameter is hidden by a let
        (X_Y + "let z = @even(x, y)", (3, 3), (3, 4)),
        # a parameter is called like the result
        (ANY.format("x") + "let z = @out(x)", (0,), (3,)),
        # a branch knows nothing of the other one
        (
            X_Y + "assert y.rank == 1; let z = if (y.dim(0) == 1) { let a ! Tensor([m], int8) = x; "
            "a } else { let a ! Tensor([3], int8) = x; a }",
            (3, 2), (4, 2),
        ),
        (
            X_Y + "assert y.rank == 1; let z = if (y.dim(0) == 1) { let a ! Tensor([m], int8) = x; a } else { x }; "
            "let w ! Tensor([m], int8) = y; let v ! Tensor([m], int8) = x",
            (2, 2), (3, 2),
        ),
        (
            X_Y + "assert y.rank == 1; let z = if (y.dim(0) == 2) { assert x.rank == 1; x } else { x }; "
            "let w ! Tensor([k], int8) = x",
            (3, 3), (None, 3),
        ),
        (X_Y + "assert y.rank == 1; let z = if (y.dim(0) == 2) { @vector(x) } else { x }; let w ! Tensor([k], int8) = x", (3, 3), (None, 3)),
        # what is certain in one call of a function is not in another one
        ("let p : Tensor([4], int8) = ..;" + ANY.format("y") + "let a = @one(p); let b = @one(y)", (4, 4), (4, None)),
        ("let p : Tensor([2, 2], int8) = ..;" + ANY.format("y") + "let a = @square(p); let b = @square(y)", (None, None), (None, 9)),
    ],
)  # fmt: skip
def test_an_assertion_that_can_fail_stays(
    text: str, good: tuple[int | None, ...], bad: tuple[int | None, ...], keep_branches: bool
) -> None:
    def arrays(lengths: tuple[int | None, ...]) -> list[np.ndarray]:
        shapes = [{None: (2, 2), 9: (3, 3)}.get(length, (length,)) for length in lengths]
        return [np.ones(shape, "int8") for shape in shapes]

    assert runs(text, *arrays(good), keep_branches=keep_branches) == [True, True]
    assert runs(text, *arrays(bad), keep_branches=keep_branches) == [False, False]


def test_an_element_type_of_two_branches_is_no_one_elses() -> None:
    text = (
        "let y : Tensor(?, ?) = ..; let a : Tensor(?, int8) = ..; let b : Tensor(?, int32) = ..;"
        "let j = if (a.rank == 1) { a } else { b }; let z = @alike(y, j)"
    )
    assert runs(text, vector(2), vector(2), vector(2, "int32")) == [True, True]
    assert runs(text, vector(2, "int32"), vector(2), vector(2, "int32")) == [False, False]


def test_what_branches_give_has_no_name_of_the_text() -> None:
    for name in [f"{letter}{number}" for letter in "v_" for number in range(1, 16)]:
        text = (
            f"let a : Tensor([p], int8) = ..; let b : Tensor([q], int8) = ..; {ANY.format(name)}"
            f"assert {name}.rank == 1; assert {name}.dim(0) == 4;"
            "let z = if (a.dim(0) > b.dim(0)) { a } else { b }; assert z.dim(0) == 4"
        )
        left = [str(one.condition) for one in analyse(*read_contract(text)).residual]
        assert left == [f"{name}.rank == 1", f"{name}.dim(0) == 4", "z.dim(0) == 4"]


@pytest.mark.parametrize("test", ["y.dim(0) == 1", "i.dim(0) == 3", "i.dim(0) == 2"])
def test_a_size_variable_of_a_branch_ends_with_it(test: str) -> None:
    text = (
        f"let i : Tensor([3], int8) = ..;{ANY.format('y')}assert y.rank == 1;"
        f"let z = if ({test}) {{ let a ! Tensor([m], int8) = i; a }} else {{ let a ! Tensor([m], int8) = i; a }};"
        "let w ! Tensor([m], int8) = y"
    )
    left = ["y.rank == 1"]  # no length: m is another one there
    assert [str(one.condition) for one in analyse(*read_contract(text)).residual] == left
    for length in (1, 2, 3):
        assert runs(text, vector(3), vector(length)) == [True, True]


def test_a_contract_is_about_the_argument() -> None:
    asserted = "assert x.rank == 1; assert x.dim(0) % 4 == 0; assert y.rank == 1;"
    program, terms = read_contract(
        FUNCTIONS + X_Y + asserted + "let z = @pick(y); let w = @pick(x); let v = @quarter(y)"
    )
    found = analyse(program, terms)
    assert [name for _, name in found.chosen] == ["any", "quarter"]
    assert "x" not in found.types["v"]
    assert "y.dim(0)" in found.types["v"]


def test_what_is_learned_in_a_body_is_learned_of_the_argument() -> None:
    text = "@swap = fn(x : Tensor(?, int8), y : Tensor(?, int8)) : Tensor(?, int8) { let p = @vector(x); let q = @vector(y); q }\n"
    found = analyse(*read_contract(FUNCTIONS + text + X_Y + "let z = @swap(y, x)"), True)
    assert "x.dim(0)" in found.types["z"]
    assert [str(one.condition) for one in found.residual if one.function == "main"] == [
        "y.rank == 1",
        "x.rank == 1",
    ]


def test_a_second_value_of_a_name_has_a_name_of_its_own() -> None:
    text = (
        "let x : Tensor([3], int8) = ..;"
        + "let x = @concat([x, x], axis=0);" * 2
        + "let x = @flatten(x);" * 2
    )
    program, terms = read_contract(text)
    types = analyse(program, terms).types
    assert types == {
        "x": "Tensor([3], int8)", "x'": "Tensor([6], int8)", "x''": "Tensor([12], int8)",
        "x'3": "Tensor([12, 1], int8)", "x'4": "Tensor([12, 1], int8)",
    }  # fmt: skip
    assert "x_ = R.concat((x_1, x_1,), axis=0)" in lower(program, terms).text
    branches = "let x : Tensor([3], int8) = ..; let y = if (x.dim(0) == 3) { let z = x; z } else { let z = x; z }; let z = x"
    assert [let.name for let in read_contract(branches)[0].main] == ["x", "y", "z'"]
    one = branches.replace("else { let z = x; z }", "else { x }")
    assert [let.name for let in read_contract(one)[0].main] == ["x", "y", "z'"]
    assert read_contract("@f = fn(out : Tensor) : Tensor { out }")[0].functions["f"].params[0].name == "out'"


@pytest.mark.parametrize(
    "text",
    [
        "@f = fn(x : Tensor, x : Tensor) : Tensor { x }",
        "@f = fn(x : Tensor([n], int8), y : Tensor, x : Tensor([n], int8)) : Tensor",
    ],
)
def test_two_parameters_of_one_name_are_refused(text: str) -> None:
    with pytest.raises(Failure, match="two parameters are named `x`") as problem:
        read_contract(text)
    found = problem.value.diagnostics[0]
    assert found.span is not None
    assert found.span.text.startswith("x : Tensor")
    assert found.span.column >= 20


@pytest.mark.parametrize(
    ("a", "b", "left", "refused"),
    [
        (": Tensor([n, 3], int8) = ..", ": Tensor([n, 3], int8) = ..", [], False),
        (": Tensor([n, 3], int8) = ..", ": Tensor([m, 3], int8) = ..", ["m == n"], False),
        (": Tensor([n, 3, k], int8) = ..", ": Tensor([n, m, k], int8) = ..", ["m == 3"], False),
        (": Tensor([n, k], int8) = ..", ": Tensor([m, l], int8) = ..", ["m == n", "l == k"], False),
        (": Tensor([2, 3], int8) = ..", ": Tensor([2, 4], int8) = ..", [], True),
        (": Tensor([2], int8) = ..", ": Tensor([2, 3], int8) = ..", [], True),
        (": Tensor([], int8) = ..", ": Tensor([2], int8) = ..", [], True),
        (": Tensor([], int8) = ..", ": Tensor([], int8) = ..", [], False),
        (": Tensor(?, int8) = ..", ": Tensor(?, int8) = ..", ["b.shape == a.shape"] * 2, False),
        (": Tensor(?, int8) = ..", "= a", [], False),
        (": Tensor(?, int8) = ..", "= @add(a, a)", [], False),
        (
            ": Tensor([n], int8) = ..",
            ": Tensor(?, int8) = ..",
            ["b.shape == a.shape", "b.shape == z.shape"],
            False,
        ),
        (": Tensor(?, int8) = ..", ": Tensor([n], int8) = ..", ["b.shape == a.shape"] * 2, False),
        (": Tensor([2], int8) = ..", ": Tensor([2], int32) = ..", [], True),
        (": Tensor([2], ?) = ..", ": Tensor([2], ?) = ..", ["b.dtype == a.dtype"], False),
        (": Tensor([2], ?) = ..", ": Tensor([2], int8) = ..", ["int8 == a.dtype"], False),
    ],
)
def test_one_shape_of_two_values(a: str, b: str, left: list[str], refused: bool) -> None:
    text = "@same = fn(x : Tensor(s, d), y : Tensor(s, d)) : Tensor(s, d)\n"
    found = analyse(*read_contract(f"{text}let a {a}; let b {b}; let z = @same(a, b); let y = @same(z, b)"))
    assert [str(one.condition) for one in found.residual] == left
    assert bool(list(found.report)) is refused
    assert found.asserted.get("z", False) is False


def test_a_kept_assertion_tells_rank_and_element_type() -> None:
    text = "@f = fn(x : Tensor([n, m], int8)) : Tensor([n, m], int8)\n"
    calls = "let a : Tensor(?, ?) = ..; let z = @f(a); let y = @f(a); let x ! Tensor([k, l], int8) = a"
    found = analyse(*read_contract(text + calls))
    assert [str(one.condition) for one in found.residual] == ["a.rank == 2", "a.dtype == int8"]
    inside = analyse(
        *read_contract(
            text
            + "@g = fn(x : Tensor) : Tensor { let y = @f(x); let z = @f(y); z }\nlet a : Tensor = ..; let b = @g(a)"
        )
    )
    assert [(one.function, str(one.condition)) for one in inside.residual] == [
        ("@g", "x.rank == 2"),
        ("@g", "x.dtype == int8"),
    ]
    numbers = analyse(
        *read_contract(
            "@f = fn(x : int8, y : Tensor([n], int8)) : Tensor([n], int8)\nlet a : Tensor([3], int8) = ..; let z = @f(4, a)"
        )
    )
    assert not numbers.residual


def test_a_body_knows_its_contract() -> None:
    body = "let y ! Tensor([m * 4], int8) = x; assert x.dim(1) == x.dim(0); @g(x)"
    text = f"@g = fn(x : Tensor([n * 4, n * 4], int8)) : Tensor {{ {body} }}"
    assert not analyse(*read_contract(text.replace("m * 4", "m * 4, k"))).residual
    open_ = analyse(*read_contract(text.replace("m * 4", "m * 8, k"))).residual
    assert [str(one.condition) for one in open_] == ["y.dim(0) % 8 == 0"]


def test_the_main_program_knows_nothing_of_the_values_of_functions() -> None:
    text = "@f = fn(x : Tensor(?, int8)) : Tensor { assert x.rank == 1; assert x.dim(0) == 4; x }\n"
    main = "let x : Tensor(?, int8) = ..; assert x.rank == 1; assert x.dim(0) == 4"
    found = [(one.function, str(one.condition)) for one in analyse(*read_contract(text + main)).residual]
    assert found == [
        (where, f"x.{what}") for where in ("@f", "main") for what in ("rank == 1", "dim(0) == 4")
    ]


def test_one_element_type_tells_the_other() -> None:
    text = "@same = fn(x : Tensor(?, d), y : Tensor(?, d)) : Tensor(?, d)\n@f = fn(x : Tensor(?, int8)) : Tensor(?, int8)\n"
    lets = "let a : Tensor = ..; let b : Tensor(?, int8) = ..; let z = @same({}); let u = @f(a); let v = @f(b); let w = @f(z)"
    for args, left in (("a, b", "int8 == a.dtype"), ("b, a", "a.dtype == int8")):
        found = analyse(*read_contract(text + lets.format(args)))
        assert [str(one.condition) for one in found.residual] == [left]


def test_what_a_primitive_promises_is_asserted_unless_its_rule_tells_it() -> None:
    add = "@add = fn(x : Tensor([n], int8), y : Tensor([m], int8)) : Tensor([n], int8)\n"
    text = add + "let p : Tensor([?], int8) = ..; let q : Tensor([?], int8) = ..; let r = @add(p, q)"
    assert runs(text, vector(3), vector(1)) == [True, True]
    assert runs(text, vector(1), vector(3)) == [False, False]
    sure = text.replace("m", "n").replace("let q : Tensor([?]", "let q : Tensor([1]")
    assert runs(sure, vector(1), vector(1)) == [True, True]


def test_a_function_with_the_name_of_a_primitive_has_no_rule() -> None:
    add = "@add = fn(x : Tensor([n], int8), y : Tensor([n], int8)) : Tensor([n], int8) { @concat([x, y], axis=0) }\n"
    text = add + "let p : Tensor([3], int8) = ..; let q : Tensor([3], int8) = ..; let r = @add(p, q)"
    assert runs(text, vector(3), vector(3)) == [False, False]


@pytest.mark.parametrize(
    ("result", "proved"), [("[?, 4]", 3), ("[k, 4]", 3), ("[?, 5]", 2), ("?", 1)], ids=str
)
def test_what_a_rule_tells_of_some_lengths_needs_no_assertion(result: str, proved: int) -> None:
    program, terms = read_contract(
        f"@add = fn(x : Tensor([n, 4], int8), y : Tensor([m, 4], int8)) : Tensor({result}, int8)\n"
        "let a : Tensor([i, 4], int8) = ..; let b : Tensor([j, 4], int8) = ..; let c = @add(a, b)"
    )
    found = analyse(program, terms)
    assert len([number for _, number in found.proved if number >= 6]) == proved


@pytest.mark.parametrize(
    ("condition", "ends"),
    [
        ("x.dim(0) == 2", True),
        ("x.dim(1) == 0", False),
        ("x.dim(1) == 2", False),
        ("x.dim(1) <= 9", False),
        ("x.dim(5) == 2", False),
        ("x.dim(1) < x.dim(0)", False),
        ("x.dim(0) >= 0", True),
        ("x.dim(1) >= 0", False),
        ("x.dim(1) == x.dim(1)", False),
        ("x.dim(0) + x.dim(1) >= x.dim(0)", False),
    ],
)
def test_an_axis_that_a_value_does_not_have_has_no_length(condition: str, ends: bool) -> None:
    assert runs(f"{ANY.format('x')}assert {condition};", vector(2)) == [ends, ends]
    assert runs(f"{ANY.format('x')}let w = x; assert {condition.replace('x', 'w')};", vector(2)) == [ends] * 2


def left_of(text: str, keep_branches: bool = False) -> list[str]:
    found = analyse(*read_contract(text), keep_branches)
    return [str(one.condition) for one in found.residual] + [one.message for one in found.report]


def test_a_length_that_is_asserted_tells_that_its_axis_exists() -> None:
    x = ANY.format("x")
    again = "assert x.dim(1) <= 9; assert x.dim(1) >= 0; assert x.dim(0) >= 0; assert x.dim(2) >= 0"
    assert left_of(x + again) == ["x.dim(1) <= 9", "x.dim(2) >= 0"]
    assert left_of(x + "assert x.rank == 2; assert x.dim(1) >= 0; let y : Tensor([?, ?], int8) = x") == [
        "x.rank == 2"
    ]
    assert left_of(x + "assert x.dim(0) == 2; let y : Tensor([?, ?], int8) = x") == [
        "x.dim(0) == 2",
        "y.rank == 2",
    ]
    assert left_of(x + "assert x.rank >= 2; assert x.dim(1) >= 0") == ["x.rank >= 2"]
    assert left_of(x + "assert 3 == x.rank; assert x.dim(2) >= 0") == ["3 == x.rank"]
    assert left_of(x + "assert x.rank == 1; assert x.dim(1) >= 0") == [
        "x.rank == 1",
        "x.dim(1) >= 0 never holds: x is Tensor([x.dim(0)], int8); an assertion of the program asks for it",
    ]
    inner = "@g = fn(v : Tensor(?, int8)) : Tensor(?, int8) { assert v.dim(1) >= 0; v }\n"
    assert left_of(inner + x + "assert x.rank >= 2; let z = @g(x)", True) == ["v.dim(1) >= 0", "x.rank >= 2"]
    both = "let a : Tensor([n, m], int8) = ..; let b : Tensor([n], int8) = ..; assert a.dim(1) >= b.dim(1)"
    assert left_of(both) == [
        "a.dim(1) >= b.dim(1) never holds: b is Tensor([n], int8); an assertion of the program asks for it"
    ]
    typed = "let x : Tensor(?, ?) = ..; assert x.dtype == int8; let y : Tensor(?, int8) = x; assert y.dtype == int32"
    assert left_of(typed) == [
        "x.dtype == int8",
        "y.dtype == int32 never holds: y is Tensor(?, int8); an assertion of the program asks for it",
    ]


@pytest.mark.parametrize("test", ["x.dim(1) >= 0", "x.dim(1) <= 3", "x.dim(1) == x.dim(1)"])
def test_a_condition_about_an_axis_that_does_not_exist_is_false(test: str) -> None:
    text = f"{X_Y}assert y.rank == 1; let z = if ({test}) {{ <1> }} else {{ <2> }}"
    cast = "let a ! Tensor([4], int8) = y; a"
    for then, otherwise in (("y", cast), (cast, "y")):
        branches = text.replace("<1>", then).replace("<2>", otherwise)
        assert left_of(branches) == ["y.rank == 1", "a.dim(0) == 4"]
        for shape in ((2,), (2, 3), (2, 5)):
            is_then = len(shape) > 1 and (shape[1] <= 3 or "3" not in test)
            ends = (then if is_then else otherwise) == "y"
            assert runs(branches, np.ones(shape, "int8"), vector(3)) == [ends, ends], (branches, shape)
    total = (
        X_Y
        + "assert y.rank == 1; let z = if (x.dim(1) + y.dim(0) >= 3) { y } else { assert y.dim(0) < 3; y }"
    )
    assert runs(total, vector(2), vector(5)) == [False, False], (
        "that the sum is less is not known without the axis"
    )
    inside = text.replace("<1>", "assert x.dim(1) >= 0; assert x.dim(0) >= 0; y").replace("<2>", "y")
    assert left_of(inside) == ["y.rank == 1"]
    known = (
        "let x : Tensor([n, m], int8) = ..; let z = if (x.dim(1) <= 3) { x } else { assert x.dim(1) > 3; x }"
    )
    assert left_of(known) == []
    flat = f"let x : Tensor([n], int8) = ..; let y : Tensor([3], int8) = ..; let z = if ({test}) {{ {cast} }} else {{ y }}"
    assert left_of(flat) == []


def test_a_number_has_the_element_type_that_is_wanted() -> None:
    for text, ends in {
        "let k = 7; assert k.dtype == int32; assert k.dtype == int8;": True,
        "@f = fn(x : int32) : int32 { x }\nlet k = @f(7);": True,
        "let k = [3, 4]; assert k.dtype == int8;": False,
        "let k = <literal [3] int32>; let j = 7; assert k.dtype == j.dtype;": True,
    }.items():
        assert runs(text) == [ends, ends], text


def test_values_without_a_name_are_told_by_their_text() -> None:
    head = "@g = fn(x : Tensor) : Tensor { ... }\n"
    head += "@h = fn(v : Tensor) : Tensor(?, ?) { let y = @g(v); let x = @quarter(y); let z : Tensor([3], int8) = @g(x); z }\n"
    head += "@same = fn(x : Tensor(?, d), y : Tensor(?, d)) : Tensor(?, d) { ... }\nlet a : Tensor(?, ?) = ..; let k : int8 = ..;"
    text = head + "let b = @quarter(@g(\n  a)); let c = @same(@g(a), if (k > 3) { a } else { @g(a) });"
    wide = f"@concat([{', '.join('a' * 18)}], axis=0)"
    text += f"let d = @quarter({{ let w = @g(a); w }}); let e = @h(a); let f = @quarter(@h({wide}))"
    for keep_branches in (False, True):
        found = analyse(*read_contract(FUNCTIONS + text), keep_branches, traced=True)
        rows = [row[1] for row in residual_rows(found)]
        assert not [row for row in rows if re.search(r"%\d|\?", row)], rows
        assert "assert @g( a).rank == 1" in rows
        assert "assert (if (k > 3) { a } else { @g(a) }).dtype == @g(a).dtype" in rows
        long = [row for row in rows if " .. " in row]
        assert len(long) == (0 if keep_branches else 3), "the body of @h tells its shape"
        assert all(row.startswith("assert @h(@concat([a, a, ") and len(row) < 90 for row in long), long
        assert {"assert z.dim(0) == 3", "assert y.dim(0) % 4 == 0"} <= {*rows}
        assert "%" not in "".join(found.types.values())


def test_the_innermost_variable_of_a_name_is_meant() -> None:
    block = "{ let x = @concat([x, x], axis=0); @concat([x, x], axis=0) }"
    text = f"@f = fn(x : Tensor([n], int8)) : Tensor(?, int8) {{ let z = {block}; assert z.dim(0) == x.dim(0) * 4; z }}\n"
    assert left_of(text) == []
    assert left_of(f"let x : Tensor([n], int8) = ..; let z = {block}; assert z.dim(0) == n * 4") == []
    assert runs(f"{ANY.format('x')}assert x.rank == 1; let z = {block}; assert z.dim(0) == 8", vector(2)) == [
        True,
        True,
    ]
