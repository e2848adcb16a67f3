"""A problem with lengths shows the source of each: the definitions behind the operand, nearest first."""

from __future__ import annotations

import relax_explorer as rxe

HEAD = """@R.function
def main(x: R.Tensor((4, 3), "float32"), w: R.Tensor((4, 5), "float32"), q: R.Tensor((7,), "float32")):
"""


def notes(*lines: str) -> list[str]:
    text = HEAD + "".join(f"    {line}\n" for line in lines)
    (problem,) = [item for item in rxe.check(text) if item.is_error]
    return list(problem.notes)


def test_a_length_is_followed_through_calls_and_tuples() -> None:
    assert notes("a = R.exp(x)", "t = (q, (w, a))", "s = t[1]", "b = s[1]", "return R.matmul(b, w)") == [
        "3 because `b = s[1]` (line 6), `s = t[1]` (line 5), `t = (q, (w, a))` (line 4), `a = R.exp(x)` (line 3)",
        '4 because `w: R.Tensor((4, 5), dtype="float32")` (line 2)',
    ]


def test_it_ends_where_the_length_is_made() -> None:
    assert notes("a = R.concat((x, x), axis=1)", "b = R.exp(a)", "return R.matmul(b, w)")[0] == (
        "6 because `b = R.exp(a)` (line 4), `a = R.concat((x, x), axis=1)` (line 3)"
    )


def test_lengths_that_the_message_names_are_explained() -> None:
    text = """@R.function
def main(x: R.Tensor(("m + 4", "m * 4"), "float32"), w: R.Tensor(("m * 4 + 1", "m + 8"), "float32"), m: R.Tensor(("m",))):
    return R.matmul(x, w)
"""
    (problem,) = [item for item in rxe.check(text) if item.code.id in ("RX0203", "RX0240")]
    assert [note.split(" because")[0] for note in problem.notes] == ["m * 4", "m * 4 + 1"]


def test_a_chain_has_four_steps_at_most() -> None:
    lines = [f"a{n + 1} = R.exp({'x' if n == 0 else f'a{n}'})" for n in range(6)]
    (first, _) = notes(*lines, "return R.matmul(a6, w)")
    assert first.count("`a") == 4
    assert first.endswith("`a3 = R.exp(a2)` (line 5)")


def test_a_length_that_is_a_sum_is_named() -> None:
    text = """@R.function
def main(x: R.Tensor(("n", 4), "float32"), u: R.Tensor((1, 4), "float32")):
    n = T.int64()
    a = R.concat((x, u), axis=0)
    b = R.concat((a, u), axis=0)
    c = R.permute_dims(b)
    return R.matmul(c, a)
"""
    (problem,) = [item for item in rxe.check(text) if item.is_error]
    assert list(problem.notes) == [
        "n + 1 + 1 because `c = R.permute_dims(b)` (line 6), `b = R.concat((a, u), axis=0)` (line 5)",
        "n + 1 because `a = R.concat((x, u), axis=0)` (line 4)",
    ]
