"""Scopes of Relay texts: what a block, a function or a type declares ends with it, and a long text is not a deep one."""

from __future__ import annotations

import pytest

from tests.support.spec_relations import relay

ONE = "Constant(1, (2,), float32)"
TWO = "Constant(1, (3,), int8)"


def main(text: str) -> str:
    found = relay(text)
    return found if isinstance(found, str) else "; ".join([*found.codes, found.main])


def test_many_things_side_by_side_are_not_deep() -> None:
    lets = "".join([f"let %v{n} : (Tensor[(2,), float32],) = ({ONE},); " for n in range(300)])
    functions = "".join([f"let %w{n} = fn (%p : Tensor[(2,), float32]) {{ %p }}; " for n in range(150)])
    assert main(f"{lets}{functions}%w149(%v299.0)") == "Tensor[(2,), float32]"
    tuples = ", ".join(["(1, (2, 3))"] * 300)
    assert main(f"({tuples}).299.1.0") == "Tensor[(), int32]"


INNER_AND_OUTER = {
    "a branch": f"let %a = {ONE}; let %b = if (True) {{ let %a = {TWO}; %a }} else {{ {TWO} }}; (%a, %b)",
    "the other branch": f"let %a = {ONE}; let %b = if (True) {{ {TWO} }} else {{ let %a = {TWO}; %a }}; (%a, %b)",
    "a function": f"let %a = {ONE}; let %f = fn (%a : Tensor[(3,), int8]) {{ %a }}; (%a, %f({TWO}))",
    "a function in a function": f"""let %a = {ONE};
        let %f = fn (%b : Tensor[(3,), int8]) {{ fn (%a : Tensor[(3,), int8]) {{ %a }}(%b) }}; (%a, %f({TWO}))""",
    "its own value": f"let %a = {TWO}; let %b = if (True) {{ let %a = (%a, {ONE}); %a.1 }} else {{ {ONE} }}; (%b, %a)",
}


@pytest.mark.parametrize("case", INNER_AND_OUTER)
def test_the_inner_name_counts_inside_and_the_outer_one_outside(case: str) -> None:
    assert main(INNER_AND_OUTER[case]) == "(Tensor[(2,), float32], Tensor[(3,), int8])"


@pytest.mark.parametrize(
    "text",
    [
        f"let %a = if (True) {{ let %b = {ONE}; %b }} else {{ {ONE} }}; %b",
        f"let %a = if (True) {{ let %b = {ONE}; %b }} else {{ %b }}; %a",
        "let %f = fn (%p : Tensor[(2,), float32]) { %p }; %p",
        f"let %f = fn <t>(%x : t) {{ %x }}; let %g = fn (%y : t) {{ %y }}; {ONE}",
    ],
)
def test_what_was_declared_inside_is_unknown_outside(text: str) -> None:
    assert main(text).startswith("RX06"), main(text)


def test_type_parameters_of_one_name_belong_to_their_functions() -> None:
    text = (
        "def @f<n : ShapeVar>(%x : Tensor[(n,), float32]) -> Tensor[(n,), float32] { %x } "
        "def @g<n : ShapeVar, m : ShapeVar>(%x : Tensor[(m, n), int8], %y : Tensor[(m,), int8]) -> Tensor[(m,), int8] { %y } "
        f"(@f({ONE}), @g(Constant(1, (3, 5), int8), {TWO}))"
    )
    assert main(text) == "(Tensor[(2,), float32], Tensor[(3,), int8])"
