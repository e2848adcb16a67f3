"""Laws of the order of types and of StructInfo, and runs that confirm its answers."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from relax_explorer.core.check.compatible import (
    NO,
    YES,
    compatible,
    erase,
    fits,
    more_specific,
    overlaps,
    unify,
)
from relax_explorer.core.check.matching import free_dims
from relax_explorer.core.check.order import glb, is_subtype, lub
from relax_explorer.core.exec.match import Mismatch, match
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.types import erase_struct_info, wrap_type
from tests.support.infos import K, M, N, data, environments, infos, pairs, values

Pair = tuple[s.StructInfo, s.StructInfo]
many = settings(max_examples=400, deadline=None)


def above(a: s.StructInfo, b: s.StructInfo) -> bool:
    return more_specific(a, b) is YES


def holds(value: Any, info: s.StructInfo, dims: dict[Any, int]) -> bool:
    try:
        match(value, info, dict(dims))
    except Mismatch:
        return False
    return True


@many
@given(pairs())
def test_least_upper_bound_of_types(pair: Pair) -> None:
    a, b = map(erase_struct_info, pair)
    bound = lub(a, b)
    assert bound is lub(b, a)
    assert lub(a, a) is a
    assert is_subtype(a, bound)
    assert is_subtype(b, bound)
    if is_subtype(a, b):
        assert bound is b


@many
@given(pairs())
def test_greatest_lower_bound_of_types(pair: Pair) -> None:
    a, b = map(erase_struct_info, pair)
    bound = glb(a, b)
    assert bound is glb(b, a)
    assert bound is None or (is_subtype(bound, a) and is_subtype(bound, b))
    if is_subtype(a, b):
        assert bound is a


@many
@given(pairs(), infos)
def test_subtypes_are_transitive(pair: Pair, other: s.StructInfo) -> None:
    a, b, c = map(erase_struct_info, (*pair, other))
    joined = lub(b, c)
    if is_subtype(a, b):
        assert is_subtype(a, joined)
    if is_subtype(a, b) and is_subtype(b, a):
        assert a is b


@many
@given(pairs(), infos)
@example(
    (s.FuncStructInfo((s.OBJECT,), s.ShapeStructInfo((N,))), s.FuncStructInfo((s.ShapeStructInfo((N,)),), s.ShapeStructInfo((N,)))),
    s.FuncStructInfo((s.ShapeStructInfo((M,)),), s.ShapeStructInfo((M,))),
)  # fmt: skip
def test_a_certain_order_is_transitive(pair: Pair, other: s.StructInfo) -> None:
    a, b = pair
    for c in (other, unify(b, other), unify(a, b), wrap_type(erase_struct_info(b))):
        if above(a, b) and above(b, c):
            assert above(a, c)


@many
@given(pairs())
def test_unification_is_above_both_and_symmetric(pair: Pair) -> None:
    a, b = pair
    bound, other = unify(a, b), unify(b, a)
    assert unify(a, a) is a
    assert above(a, bound)
    assert above(b, bound)
    assert above(bound, other)
    assert above(other, bound)


@many
@given(pairs())
def test_unification_forgets_no_more_than_types_do(pair: Pair) -> None:
    a, b = pair
    joined = lub(erase_struct_info(a), erase_struct_info(b))
    assert is_subtype(joined, erase_struct_info(unify(a, b)))


@many
@given(pairs(data))
def test_unification_and_erasure_commute_without_functions(pair: Pair) -> None:
    a, b = pair
    assert erase_struct_info(unify(a, b)) is lub(erase_struct_info(a), erase_struct_info(b))


@many
@given(pairs())
def test_three_answers_agree(pair: Pair) -> None:
    a, b = pair
    answer = compatible(a, b)
    subtype = is_subtype(erase_struct_info(a), erase_struct_info(b))
    assert subtype or answer is NO
    assert (more_specific(a, b) is YES) is (answer is YES)
    assert answer is NO or fits(a, b) is answer
    assert overlaps(a, b) or answer is NO
    assert overlaps(a, b) is overlaps(b, a)


@many
@given(infos, st.sets(st.sampled_from([N, M, K])))
def test_what_is_left_outside_a_scope(info: s.StructInfo, scope: set[Any]) -> None:
    left = erase(info, scope)
    assert free_dims(left) <= scope
    assert erase(left, scope) is left
    assert erase(info, {N, M, K}) is info
    assert erase_struct_info(left) is erase_struct_info(info)


@many
@given(st.data(), data, data, environments)
def test_the_answers_come_true(draw: st.DataObject, a: s.StructInfo, b: s.StructInfo, dims: Any) -> None:
    value = draw.draw(values(a, dims))
    assert holds(value, a, dims)
    assert holds(value, unify(a, b), dims)
    assert holds(value, erase(a, {N}), dims)
    answer = fits(a, b)
    assert answer is not YES or holds(value, b, dims)
    assert answer is not NO or not holds(value, b, dims)
    assert overlaps(a, b) or not holds(value, b, dims)


@many
@given(st.data(), pairs(data), environments)
def test_a_more_general_one_describes_the_same_values(draw: st.DataObject, pair: Pair, dims: Any) -> None:
    a, b = pair
    assume(more_specific(a, b) is YES)
    assert holds(draw.draw(values(a, dims)), b, dims)
