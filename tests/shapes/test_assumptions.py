"""What follows from facts does not depend on how many others there are, nor on their order."""

from __future__ import annotations

import itertools
import random
from functools import reduce

import pytest

from relax_explorer.core.arith.assume import prove_under
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ops.kit.decl import equal_or_one
from relax_explorer.core.shapes.assumptions import Assumptions, entail


def _conditions(rng: random.Random, names: list[p.PrimVar]) -> p.PrimExpr:
    def length() -> p.PrimExpr:
        var = rng.choice(names)
        return rng.choice(
            [var, p.Mul(var, p.IntImm(2)), p.Add(var, rng.choice(names)), p.IntImm(rng.randint(1, 4))]
        )

    return rng.choice([p.EQ, p.EQ, p.LE, p.LT, p.NE])(length(), length())


def _known(facts: list[p.PrimExpr]) -> Assumptions:
    known = Assumptions()
    for fact in facts:
        known = known.plus(fact)
    return known


def test_facts_about_other_variables_change_nothing() -> None:
    rng = random.Random(3)
    names, others = ([p.PrimVar(name) for name in text] for text in ("abcd", "stuvwxyzij"))
    padding = [p.LE(x, p.Add(y, p.IntImm(2))) for x, y in itertools.pairwise(others)]
    answers = set()
    for _ in range(300):
        facts = [_conditions(rng, names) for _ in range(3)]
        question = _conditions(rng, names)
        few, many = _known(facts).prove(question), _known([*padding, *facts]).prove(question)
        assert few is many, (facts, question)
        assert few is _known([p.LT(others[0], p.IntImm(0)), *facts]).prove(question), (
            "a contradiction elsewhere"
        )
        answers.add(few)
    assert answers == set(Answer)


def test_an_answer_is_that_of_the_proof() -> None:
    rng = random.Random(4)
    names = [p.PrimVar(name) for name in "abc"]
    for _ in range(300):
        facts, question = [_conditions(rng, names) for _ in range(2)], _conditions(rng, names)
        plain = prove_under(facts, question)
        known = _known(facts)
        if known.are_contradictory:
            continue
        if plain is not Answer.UNKNOWN:
            assert known.prove(question) is plain, (facts, question)
        elif known.prove(question) is not Answer.UNKNOWN:  # values in place of variables prove more
            for values in (
                {x: i, y: j, z: k}
                for x, y, z in [names]
                for i in range(4)
                for j in range(4)
                for k in range(4)
            ):
                if all(_holds(fact, values) for fact in facts):
                    assert _holds(question, values) is (known.prove(question) is Answer.YES), (
                        facts,
                        question,
                    )


def _holds(condition: p.PrimExpr, values: dict[p.PrimVar, int]) -> bool:
    found = entail(_known([p.EQ(var, p.IntImm(value)) for var, value in values.items()]), [condition])
    return found[0].answer is Answer.YES


def test_a_refuted_answer_is_not_tried() -> None:
    n = p.PrimVar("n")
    assert prove_under([], p.GE(n, p.IntImm(0)), {Answer.NO}) is Answer.UNKNOWN
    assert prove_under([], p.LT(n, p.IntImm(0)), {Answer.YES}) is Answer.UNKNOWN
    assert prove_under([], p.GE(n, p.IntImm(0)), {Answer.YES}) is Answer.YES


def test_what_one_path_learns_is_unknown_on_others() -> None:
    n, m, k = (p.PrimVar(name) for name in "nmk")
    before = Assumptions().plus(p.LE(n, m))
    then = before.plus(p.EQ(k, n)).plus(p.GT(n, p.IntImm(3)))
    other = before.plus(p.EQ(k, m)).plus(p.LT(n, p.IntImm(3)))
    assert then.equal(k, n) is other.equal(k, m) is Answer.YES
    assert before.equal(k, n) is then.equal(k, m) is other.equal(k, n) is Answer.UNKNOWN
    assert (before.value(k), then.value(k), other.value(k)) == (None, n, m)
    assert (before.names(n), then.names(n), other.names(n)) == ([], [k], [])
    assert [known.prove(p.GT(n, p.IntImm(2))) for known in (before, then, other)] == [
        Answer.UNKNOWN, Answer.YES, Answer.NO,
    ]  # fmt: skip
    assert (len(list(before)), len(list(then)), len(list(other))) == (1, 3, 3)
    assert then.prove(p.LE(n, m)) is other.prove(p.LE(n, m)) is Answer.YES


def test_facts_about_a_variable_are_facts_about_its_later_value() -> None:
    n, m, k = (p.PrimVar(name) for name in "nmk")
    padding = [p.PrimVar(f"v{number}") for number in range(40)]
    known = Assumptions().plus(p.LE(m, p.Add(k, p.IntImm(1))))
    for a, b in itertools.pairwise(padding):
        known = known.plus(p.LE(a, b))
    known = known.plus(p.EQ(m, p.Mul(n, p.IntImm(2))))
    assert known.prove(p.LE(p.Mul(n, p.IntImm(2)), p.Add(k, p.IntImm(1)))) is Answer.YES
    assert [str(fact) for fact in known.reasons(p.LE(p.Mul(n, p.IntImm(2)), p.Add(k, p.IntImm(1))))] == [
        "m <= k + 1", "m == n * 2",
    ]  # fmt: skip


def test_a_length_that_nothing_is_known_of_may_be_any() -> None:
    n, m, k = (p.PrimVar(name) for name in "nmk")
    known = Assumptions().plus(p.LT(n, m))
    assert known.prove(p.EQ(k, n)) is Answer.UNKNOWN
    assert known.prove(p.EQ(n, p.Add(m, k))) is Answer.NO, "k would be negative"
    assert known.prove(p.EQ(k, p.Sub(n, m))) is Answer.NO, "likewise"
    odd = Assumptions().plus(p.EQ(p.FloorMod(n, p.IntImm(2)), p.IntImm(1)))
    assert odd.prove(p.EQ(p.Mul(k, p.IntImm(2)), n)) is Answer.NO
    assert known.plus(p.LT(m, k)).prove(p.EQ(k, n)) is Answer.NO


def test_what_becomes_known_later_is_unknown_before() -> None:
    names = [p.PrimVar(name) for name in "abcdefghijklm"]
    before = Assumptions()
    for a, b in itertools.pairwise(names):
        before = before.plus(p.LE(a, b))
    after = before.plus(p.LT(names[0], names[1]))
    assert after.prove(p.EQ(names[0], names[1])) is Answer.NO
    assert before.prove(p.EQ(names[0], names[1])) is Answer.UNKNOWN


def test_a_fact_is_not_read_with_a_value_that_becomes_known_later() -> None:
    m, k = (p.PrimVar(name) for name in "mk")
    before = Assumptions().plus(p.LE(m, k))
    after = before.plus(p.EQ(m, p.IntImm(5)))
    assert after.prove(p.GE(k, p.IntImm(5))) is Answer.YES
    assert before.prove(p.GE(k, p.IntImm(5))) is Answer.UNKNOWN


def test_a_counterexample_has_values_for_defined_variables() -> None:
    n, m, k = (p.PrimVar(name) for name in "nmk")
    known = Assumptions().plus(p.EQ(m, p.Add(n, p.IntImm(1)))).plus(p.GE(n, p.IntImm(2)))
    values = known.counterexample(p.EQ(m, k))
    assert values.keys() == {m, k}
    assert values[m] >= 3
    assert values[m] != values[k]


def test_a_product_that_no_fact_mentions_settles_a_question_and_a_contradiction_still_proves_all() -> None:
    n, m, k, j = (p.PrimVar(name) for name in "nmkj")
    known = Assumptions().plus(p.LE(n, p.IntImm(4))).plus(p.GE(p.Mul(n, m), k))
    assert known.prove(p.EQ(p.Mul(j, j), p.Add(n, k))) is Answer.UNKNOWN
    assert known.prove(p.EQ(p.Add(p.Mul(j, m), p.IntImm(5)), n)) is Answer.NO, "n is at most 4"
    assert known.prove(p.EQ(p.Sub(p.Mul(j, m), p.IntImm(5)), n)) is Answer.UNKNOWN
    assert known.prove(p.EQ(p.Mul(j, j), p.Mul(j, j))) is Answer.YES
    two = Assumptions().plus(p.GE(n, p.IntImm(5))).plus(p.LE(n, p.IntImm(4)))
    assert two.prove(p.EQ(p.Mul(j, j), p.Add(n, k))) is Answer.YES
    assert two.prove(p.EQ(p.Mul(j, j), k)) is Answer.UNKNOWN, "facts about other lengths are not asked"


def test_facts_about_other_lengths_change_no_answer() -> None:
    rng = random.Random(7)
    names = [p.PrimVar(name) for name in "abcd"]

    def length() -> p.PrimExpr:
        first = p.Mul(rng.choice(names), p.IntImm(rng.choice((1, 2, 4))))
        return p.Add(
            first, rng.choice([p.IntImm(rng.randint(0, 4)), p.Mul(rng.choice(names), rng.choice(names))])
        )

    answers = set()
    for _ in range(400):
        facts = [p.EQ(rng.choice([*names, length()]), length()) for _ in range(3)]
        question = p.EQ(length(), length()) if rng.random() < 0.6 else rng.choice(facts)
        few, many = Assumptions(), Assumptions()
        for fact in facts:
            few, many = few.plus(fact), many.plus(fact)
        for n in range(9):  # so many facts, and inequalities, are looked up in another way
            many = many.plus(p.GE(p.PrimVar(f"other{n}"), p.IntImm(2)))
        answers.add(few.prove(question))
        assert few.prove(question) is many.prove(question), (facts, question)
    assert len(answers) == 3


def test_a_counterexample_is_found_near_the_numbers_of_the_conditions() -> None:
    n, m, k = (p.PrimVar(name) for name in "nmk")
    number = p.IntImm
    for facts, question, found in (
        ([], p.EQ(p.Min(n, number(8)), n), {n: 9}),
        ([], p.NE(p.FloorMod(n, number(20)), number(19)), {n: 19}),
        ([p.GT(n, number(100))], p.EQ(n, number(101)), {n: 102}),
        ([p.EQ(p.Mul(n, number(2)), p.Mul(n, m)), p.EQ(m, number(3))], p.EQ(n, k), {n: 0, k: 4}),
        ([p.EQ(m, p.Add(n, number(30)))], p.LT(m, number(61)), {m: 92}),
        ([], p.NE(n, number(1000)), {n: 1000}),
        ([p.LT(n, number(1000)), p.EQ(m, p.Mul(n, number(2)))], p.LT(m, number(1998)), {m: 1998}),
    ):
        known = _known(facts)
        assert known.prove(question) is Answer.UNKNOWN
        assert known.counterexample(question) == found, question
    assert _known([p.EQ(n, number(5))]).counterexample(p.EQ(n, number(5))) == {}


def _even(var: p.PrimExpr) -> p.PrimExpr:
    return p.EQ(p.FloorMod(var, p.IntImm(2)), p.IntImm(0))


def _halved(var: p.PrimExpr) -> p.PrimExpr:
    return p.Mul(p.FloorDiv(var, p.IntImm(2)), p.IntImm(2))


def _fit(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """Broadcasting demands this."""
    return p.EQ(equal_or_one(a, b, (a, b)), p.IntImm(0))


def _times(*factors: p.PrimExpr) -> p.PrimExpr:
    return reduce(p.Mul, factors)


_N, _M, _K, _W = map(p.PrimVar, "nmkw")
_TWO = p.IntImm(2)
_SUM = reduce(p.Add, [p.PrimVar(f"a{number}") for number in range(30)])
PRODUCTS = {
    "even": ([_even(_M)], p.EQ(_times(_N, _M), _times(_N, _halved(_M))), Answer.YES),
    "even, in three": ([_even(_M)], p.EQ(_times(_N, _M, _K), _times(_halved(_M), _K, _N)), Answer.YES),
    "even twice": (
        [_even(_M), _even(_N)], p.EQ(_times(_N, _M), _times(_halved(_N), _halved(_M))), Answer.YES,
    ),
    "even, and one more": (
        [_even(_M)], p.EQ(_times(_N, _M), p.Add(_times(_N, _halved(_M)), p.IntImm(1))), Answer.NO,
    ),
    "a contradiction": (
        [_even(_M), p.LT(_M, _K), p.LT(_K, _M)],
        p.EQ(_times(_N, _M), p.Add(_times(_N, _halved(_M)), p.IntImm(1))),
        Answer.YES,
    ),
    "told by another": (
        [p.EQ(p.Add(_N, _K), p.Add(_W, _K)), p.EQ(p.Add(_N, _K), p.Add(_M, _K))],
        _fit(_W, _M),
        Answer.YES,
    ),
    "a third": ([p.EQ(p.Mul(_N, p.IntImm(3)), p.Mul(_M, _TWO))], p.EQ(_times(_N, _M), p.IntImm(0)), Answer.UNKNOWN),
    "four terms": (
        [p.EQ(p.Add(_N, _K), p.Add(_M, _W))],
        p.EQ(_times(p.Add(_N, _K), _W), _times(p.Add(_M, _W), _W)),
        Answer.YES,
    ),
    "six factors": ([p.EQ(p.Mul(_N, _TWO), p.Mul(_M, _TWO))], p.EQ(_times(*[_N] * 6), _times(*[_M] * 6)), Answer.YES),
    "too many factors": (
        [p.EQ(p.Mul(_N, _TWO), p.Mul(_M, _TWO))], p.EQ(_times(*[_N] * 7), _times(*[_M] * 7)), Answer.UNKNOWN,
    ),
    "too many terms": (
        [p.EQ(p.Mul(_N, _TWO), p.Mul(_M, _TWO))],
        p.EQ(_times(_N, _SUM), _times(_M, _SUM)),
        Answer.UNKNOWN,
    ),
    "nothing known": ([], p.EQ(_times(_N, _M), _times(_N, _halved(_M))), Answer.UNKNOWN),
    "another is even": ([_even(_K)], p.EQ(_times(_N, _M), _times(_N, _halved(_M))), Answer.UNKNOWN),
    "odd": (
        [p.EQ(p.FloorMod(_M, _TWO), p.IntImm(1))], p.EQ(_times(_N, _M), _times(_N, _halved(_M))), Answer.UNKNOWN,
    ),
    "its own double": ([p.EQ(_W, p.Mul(_W, _TWO))], _fit(_W, p.Mul(_W, _TWO)), Answer.YES),
    "doubles": ([p.EQ(p.Mul(_N, _TWO), p.Mul(_M, _TWO))], _fit(_N, _M), Answer.YES),
    "sums": ([p.EQ(p.Add(_N, _K), p.Add(_M, _K))], _fit(_N, _M), Answer.YES),
    "sums of others": ([p.EQ(p.Add(_N, _K), p.Add(_M, _W))], _fit(_N, _M), Answer.UNKNOWN),
    "thirds": ([p.EQ(p.Mul(_N, p.IntImm(3)), p.Mul(_M, _TWO))], _fit(_N, _M), Answer.UNKNOWN),
    "a square": ([p.EQ(_times(_N, _N), _M)], p.EQ(_times(_N, _N, _K), _times(_M, _K)), Answer.YES),
    "a sum of itself": (
        [p.EQ(p.Add(_times(_N, _N), _N), p.IntImm(6))], p.EQ(_times(_N, _M), _times(_TWO, _M)), Answer.UNKNOWN,
    ),
    "one of two": (
        [p.Or(p.EQ(p.Mul(_N, _TWO), p.Mul(_M, _TWO)), p.EQ(_K, _TWO))], _fit(_N, _M), Answer.UNKNOWN,
    ),
    "through another": (
        [p.EQ(p.Add(_N, _K), p.Add(_W, _K)), p.EQ(p.Add(_W, _K), p.Add(_M, _K))], _fit(_N, _M), Answer.YES,
    ),
}  # fmt: skip


def _divides(by: int, var: p.PrimExpr) -> p.PrimExpr:
    return p.EQ(p.FloorMod(var, p.IntImm(by)), p.IntImm(0))


# A fact, a question, and the answer: quotients by other numbers than the one that is known to divide.
MULTIPLES = {
    "half of a multiple of 4": (_divides(4, _N), p.EQ(_times(_N // 2, _TWO, _K), _times(_N, _K)), Answer.YES),
    "zero on the left": (
        p.EQ(p.IntImm(0), p.FloorMod(_N, p.IntImm(4))), p.EQ(_times(_N // 2, _TWO, _K), _times(_N, _K)), Answer.YES,
    ),
    "with a rest like C": (
        p.EQ(p.Mod(_N, p.IntImm(4)), p.IntImm(0)), p.EQ(_times(_N // 2, _TWO, _K), _times(_N, _K)), Answer.YES,
    ),
    "quotients like C": (
        _divides(4, _N), p.EQ(_times(p.Div(_N, _TWO), _TWO, _K), _times(_N, _K)), Answer.YES,
    ),
    "in a sum": (_divides(4, _N), p.EQ(_times((_N + 2) // 2, _TWO, _K), _times(_N + 2, _K)), Answer.YES),
    "a rest in a product": (_divides(6, _N), p.EQ(_times(_N % 3, _K), p.IntImm(0)), Answer.YES),
    "a rest like C in a product": (
        _divides(6, _N), p.EQ(_times(p.Mod(_N, p.IntImm(3)), _K), p.IntImm(0)), Answer.YES,
    ),
    "never": (_divides(4, _N), p.EQ(_times(_N // 2, _TWO, _K), _times(_N, _K) + 1), Answer.NO),
    "a third": (_divides(4, _N), p.EQ(_times(_N // 3, p.IntImm(3), _K), _times(_N, _K)), Answer.UNKNOWN),
    "an eighth": (_divides(4, _N), p.EQ(_times(_N // 8, p.IntImm(8), _K), _times(_N, _K)), Answer.UNKNOWN),
    "another length": (_divides(4, _M), p.EQ(_times(_N // 2, _TWO, _K), _times(_N, _K)), Answer.UNKNOWN),
    "another rest": (
        p.EQ(p.FloorMod(_N, p.IntImm(4)), p.IntImm(1)), p.EQ(_times(_N // 2, _TWO, _K), _times(_N, _K)), Answer.UNKNOWN,
    ),
    "another comparison": (
        p.NE(p.FloorMod(_N, p.IntImm(4)), p.IntImm(0)), p.EQ(_times(_N // 2, _TWO, _K), _times(_N, _K)), Answer.UNKNOWN,
    ),
    "half of one more than an even number": (
        _divides(2, _N), p.EQ(_times((_N + 1) // 2, _TWO, _K), _times(_N, _K)), Answer.YES,
    ),
    "a negative divisor": (_divides(-4, _N), p.LE(_N, p.IntImm(0)), Answer.UNKNOWN),
    "by a variable": (
        p.EQ(p.FloorMod(_N, _M), p.IntImm(0)), p.EQ(_times(_N // 2, _TWO, _K), _times(_N, _K)), Answer.UNKNOWN,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MULTIPLES)
def test_a_multiple_tells_of_other_quotients(case: str) -> None:
    fact, question, answer = MULTIPLES[case]
    assert prove_under([fact], question) is answer
    assert prove_under([p.LT(_N, _W), fact], question) is answer
    assert Assumptions().plus(fact).prove(question) is answer


def test_two_multiples_and_what_is_known_of_them() -> None:
    both = [_divides(4, _N), _divides(6, _M), p.LE(_N, p.IntImm(4)), p.GE(_N, p.IntImm(1))]
    assert prove_under(both, p.EQ(_times(_N // 2, _M // 3), _times(_N, _M // 6))) is Answer.YES
    assert prove_under(both, p.EQ(_N // 2, _TWO)) is Answer.YES
    assert prove_under(both, p.EQ(_N // 2, p.IntImm(1))) is Answer.NO
    for facts in ([p.EQ(_K, _N), _divides(4, _N)], [_divides(4, _N), p.EQ(_K, _N)]):
        assert prove_under(facts, p.EQ(_times(_K // 2, _M, _TWO), _times(_N, _M))) is Answer.YES


@pytest.mark.parametrize("case", PRODUCTS)
def test_equations_tell_of_products(case: str) -> None:
    facts, question, answer = PRODUCTS[case]
    assert prove_under(facts, question) is answer
    known = Assumptions()
    for fact in facts:
        known = known.plus(fact)
    assert known.prove(question) is answer


def test_what_is_learned_later_is_not_known_before() -> None:
    """Assumptions share their facts with those made from them; each counts its own."""
    n, m = p.PrimVar("n"), p.PrimVar("m")
    before = Assumptions().plus(p.LE(p.IntImm(4), n))
    later = before.plus(p.LE(n, p.IntImm(9))).plus(p.LE(p.Add(n, m), p.IntImm(6)))
    for wrong, known in ((2, before), (2, later), (11, later)):
        assert known.equal(n, p.IntImm(wrong)) is Answer.NO
    assert before.equal(n, p.IntImm(11)) is Answer.UNKNOWN
    assert before.equal(m, p.IntImm(3)) is Answer.UNKNOWN
    assert later.equal(m, p.IntImm(3)) is Answer.NO
