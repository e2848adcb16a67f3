"""Printing and assertions, as operators and as the packed functions that TVM lowers them to."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from tests.support.oracle import Oracle

HEAD = """
@I.ir_module
class M:
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool"), s: R.Shape(["m"])):
        n = T.int64()
        m = T.int64()
"""
CALLED = {
    "print": "R.print({values}, format={text})",
    "assert": "R.assert_op({condition}, {values}, format={text})",
}
LOWERED = {
    "print": 'R.call_packed("relax.run.print", R.str({text}), {values}, ty_args=(R.Tuple,))',
    "assert": 'R.call_packed("relax.run.assert_op", {condition}, R.str({text}), {values}, ty_args=(R.Tuple,))',
}
FORMS = {"called": CALLED, "lowered": LOWERED}


def program(lines: list[str]) -> rxe.IRModule:
    """A module with these lines."""
    body = "".join([f"        _{number} = {line}\n" for number, line in enumerate(lines)])
    return rxe.parse(f"{HEAD}{body}        return x\n".replace(", , ", ", ").replace("(, ", "("))


def stops(lines: list[str], n: int = 2, m: int = 2, c: bool = True) -> tuple[str, list[str]]:
    """The message that ends a run, or no text, and what was printed until then."""
    run = rxe.debug(program(lines), "main", [np.arange(n, dtype="float32"), np.array(c), (m,)])
    try:
        while not run.done:
            run.step()
    except rxe.Failure as failure:
        return f"{failure.diagnostics[0].code.id} {failure.diagnostics[0].message}", run.machine.output
    return "", run.machine.output


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("text", "values", "said"),
    [
        ("x is {}", "x", "x is [0. 1.]"),
        ("{} and {}", "x, c", "[0. 1.] and True"),
        ("{}, {}", "c", "True, {}"),
        ("{}", "c, x", "True"),
        ("{}{}", 'R.str("{}"), c', "{}True"),
        ("only text", "", "only text"),
        ("", "x, c", "[0. 1.] True"),
        ("", "", ""),
        ("{}", "R.prim_value(n + m)", "4"),
        ("{}", "(c, c)", "(array(True), array(True))"),
        ("{}", "s", "shape(2)"),
    ],
)
def test_what_is_printed(form: str, text: str, values: str, said: str) -> None:
    call = FORMS[form]["print"].format(text=f'"{text}"', values=values)
    assert stops([call]) == ("", [said])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("condition", "text", "values", "said"),
    [
        ("c", "", "", "the condition is false"),
        ("c", "no", "", "no"),
        ("c", "{} of {}", 'R.str("{}"), s', "{} of shape(3)"),
        ("c", "{} of {}", "x, s", "[0. 1.] of shape(3)"),
        ("c", "", "R.prim_value(n), R.prim_value(m)", "2, 3"),
        ("R.prim_value(n == m)", "lengths {}", "R.prim_value(n)", "lengths 2"),
        ("R.prim_value(m < n + 1)", "", "", "the condition is false"),
    ],
)
def test_what_a_false_assertion_says(form: str, condition: str, text: str, values: str, said: str) -> None:
    call = FORMS[form]["assert"].format(condition=condition, text=f'"{text}"', values=values)
    fault, _ = stops([call], n=2, m=3, c=False)
    assert fault in (f"RX0510 {said}", f"RX0510 held: {said}")


@pytest.mark.parametrize("form", FORMS)
def test_true_assertions_say_nothing_and_prints_keep_their_order(form: str) -> None:
    one, two = [FORMS[form]["print"].format(text=f'"{text}"', values="c") for text in ("first {}", "then {}")]
    held = FORMS[form]["assert"].format(condition="c", text='"no"', values="x")
    equal = FORMS[form]["assert"].format(condition="R.prim_value(n == m)", text='"no"', values="x")
    lines = [one, held, two, equal, one]
    assert stops(lines) == ("", ["first True", "then True", "first True"])
    fault, printed = stops(lines, m=3)
    assert fault == "RX0510 no"
    assert printed == ["first True", "then True"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ('"relax.run.print"', "at least 1"),
        ('"relax.run.print", x', "a format is needed"),
        ('"relax.run.assert_op", c', "at least 2"),
        ('"relax.run.assert_op", c, x', "a format is needed"),
        ('"relax.run.assert_op", x, R.str("")', "not one bool"),
    ],
)
def test_what_the_packed_functions_refuse(call: str, words: str) -> None:
    assert words in stops([f"R.call_packed({call}, ty_args=(R.Tuple,))"])[0]


def test_output_of_a_packed_function_goes_when_its_step_is_undone() -> None:
    line = LOWERED["print"].format(text='"{}"', values="c")
    run = rxe.debug(program([line, line]), "main", [np.zeros(1, "float32"), np.array(True), (1,)])
    run.step()
    assert run.machine.output == ["True"]
    run.back()
    assert run.machine.output == []
    run.step()
    run.step()
    assert run.machine.output == ["True", "True"]


TRIED = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(c: R.Tensor((), "bool"), s: R.Shape(["n", "m"])):
        n = T.int64()
        m = T.int64()
        _ = R.assert_op(R.prim_value(n == m), [R.prim_value(n), R.prim_value(m)])
        _1 = R.assert_op(c, R.prim_value(n), format="of {} lengths")
        return c
"""


@pytest.mark.parametrize(
    ("lengths", "c", "said"), [((2, 3), True, "2, 3"), ((2, 2), False, "of 2 lengths"), ((2, 2), True, "")]
)
def test_a_lowered_assertion_says_what_it_says_in_tvm(
    oracle: Oracle, lengths: tuple[int, int], c: bool, said: str
) -> None:
    values = [np.array(c), lengths]
    theirs = oracle.run(TRIED, "main", values)
    lowered = rxe.parse(oracle.apply(TRIED, ["LegalizeOps"]).get().text)
    if not said:
        assert theirs.ok
        rxe.run(lowered, "main", values)
        return
    assert said in theirs.error
    with pytest.raises(rxe.Failure, match=said):
        rxe.run(lowered, "main", values)
