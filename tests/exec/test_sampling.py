"""The choice of the next token. The expected tokens are those that TVM's runtime chose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe

RANDOM = (0, 0.2, 0.45, 0.7, 0.9, 0.999)
SHARES = (0, 0.1, 0.5, 0.9, 1)
LOGITS = np.array([[1, 3, 2, 3, 0]], np.float32)
CHANCES = np.array([0.1, 0.3, 0.2, 0.35, 0.05], np.float32)
FROM_LOGITS = {
    0: ["111111", "111111", "111111", "111111", "111111"],
    0.5: ["111111", "111111", "111333", "111333", "111334"],
    1: ["111111", "111111", "111333", "113322", "113324"],
    2: ["111111", "111111", "111333", "113200", "113204"],
}
FROM_CHANCES = ["333333", "333333", "333111", "331200", "331204"]


def called(name: str, *args: Any, after: str = "out") -> Any:
    """The result of a call of a builtin with tensors and numbers; `after` is what the program returns instead."""
    params, words = [], []
    for n, arg in enumerate(args):
        tensor = isinstance(arg, np.ndarray)
        info = f'R.Tensor({arg.shape}, "{arg.dtype}")' if tensor else 'R.Prim("float64")'
        params.append(f"x{n}: {info}")
        words.append(f"x{n}")
    text = (
        f"@I.ir_module\nclass M:\n    @R.function(pure=False)\n    def f({', '.join(params)}):\n"
        f'        out = R.call_packed("vm.builtin.{name}", {", ".join(words)}, ty_args=[R.Any])\n'
        f"        return {after}\n"
    )
    values = [arg if isinstance(arg, np.ndarray) else float(arg) for arg in args]
    return rxe.run(rxe.parse(text), "f", values)


@pytest.mark.parametrize("temperature", FROM_LOGITS)
def test_top_p_from_logits(temperature: float) -> None:
    for share, expected in zip(SHARES, FROM_LOGITS[temperature], strict=True):
        tokens = [called("sample_top_p_from_logits", LOGITS, temperature, share, random) for random in RANDOM]
        assert "".join(map(str, tokens)) == expected, share


def test_top_p_from_probabilities() -> None:
    for share, expected in zip(SHARES, FROM_CHANCES, strict=True):
        tokens = [called("sample_top_p_from_prob", CHANCES, share, random) for random in RANDOM]
        assert "".join(map(str, tokens)) == expected, share


def test_a_random_number_at_a_border_takes_the_next_token() -> None:
    chances = np.array([0.5, 0.25, 0.25], np.float32)
    assert [called("sample_top_p_from_prob", chances, 1, random) for random in (0.49, 0.5, 0.75)] == [0, 1, 2]


def test_logits_may_be_far_apart() -> None:
    logits = np.array([-900, 200, -900], np.float32)
    assert called("sample_top_p_from_logits", logits, 1.0, 0.9, 0.5) == 1


def test_a_token_for_each_row() -> None:
    chances = np.array([[0.25, 0.5, 0.25], [0.5, 0.5, 0]], np.float32)
    for first, second, expected in (
        (0, 0.2, [0, 0]),
        (0.25, 0.5, [1, 1]),
        (0.75, 1, [2, 2]),
        (0.5, 0.49, [1, 0]),
    ):
        random = np.array([[first], [second]], np.float32)
        tokens = called("multinomial_from_uniform", chances, random)
        assert (tokens.shape, tokens.dtype, tokens.ravel().tolist()) == ((2, 1), np.int64, expected)


def test_logits_are_changed_in_place() -> None:
    logits, tokens = np.array([[1, 3, 2, 3, -1]], np.float32), np.array([1, 4], np.int32)
    warm = called("apply_softmax_with_temperature", logits.copy(), 2.0, after="x0")
    expected = [0.118298896, 0.32156977, 0.19504191, 0.32156977, 0.04351973]
    np.testing.assert_allclose(warm, [expected], rtol=1e-6)
    twice = np.array([1, 4, 1], np.int32)
    penalty = called("apply_repetition_penalty", logits.copy(), twice, 4.0, after="x0")
    assert penalty.tolist() == [[1, 0.75, 2, 3, -4]]
    counts = np.array([1, 3], np.int32)
    both = called(
        "apply_presence_and_frequency_penalty", logits.copy(), tokens, counts, 0.5, 0.25, after="x0"
    )
    assert both.tolist() == [[1, 2.25, 2, 3, -2.25]]


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("sample_top_p_from_logits", (np.ones((2, 3), np.float32), 1, 1, 0.5), "one row"),
        ("sample_top_p_from_logits", (np.ones(3, np.float16), 1, 1, 0.5), "float32"),
        ("sample_top_p_from_logits", (np.ones((1, 0), np.float32), 1, 1, 0.5), "elements"),
        ("sample_top_p_from_logits", (np.full(3, np.nan, np.float32), 1, 1, 0.5), "NaN"),
        ("sample_top_p_from_logits", (LOGITS, -1, 1, 0.5), "negative"),
        ("sample_top_p_from_logits", (LOGITS, 1, 1, 1.5), "between 0 and 1"),
        ("sample_top_p_from_logits", (LOGITS, 1, 1), "at least 4"),
        ("sample_top_p_from_prob", (-CHANCES, 1, 0.5), "negative"),
        ("sample_top_p_from_prob", (CHANCES, CHANCES, 0.5), "must be a number"),
        (
            "multinomial_from_uniform",
            (CHANCES, np.zeros((1, 1), np.float32)),
            "one random number for each row",
        ),
        ("apply_repetition_penalty", (LOGITS, np.array([5], np.int32), 1), "below 5"),
        ("apply_repetition_penalty", (LOGITS, np.array([-1], np.int32), 1), "below 5"),
        ("apply_repetition_penalty", (LOGITS, np.array([1], np.int32), 0), "not positive"),
        ("apply_softmax_with_temperature", (LOGITS, 0), "not positive"),
        (
            "apply_presence_and_frequency_penalty",
            (LOGITS, np.zeros(2, np.int32), np.ones(1), 1, 1),
            "1 counts",
        ),
    ],
)
def test_wrong_calls_are_diagnostics(name: str, args: tuple[Any, ...], words: str) -> None:
    with pytest.raises(rxe.Failure) as problem:
        called(name, *args)
    diagnostic = problem.value.diagnostics[0]
    assert str(diagnostic.code) == "RX0518"
    assert words in diagnostic.message
