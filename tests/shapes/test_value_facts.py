"""What one check tells of a value whose element type, rank or kind only the run knows, later ones of the same value need not ask."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.residual import CAST, RESULT, ShapeCheck, shape_checks
from relax_explorer.core.shapes.value_terms import (
    BOOL_OR_INTEGER,
    FLOAT,
    INTEGER,
    NUMBER,
    condition_text,
    element_number,
    of_elements,
)

CHANGE = "R.call_packed('change', {}, sinfo_args=R.Object())"
HEAD = """@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(ndim=2), w: R.Tensor, o: R.Object, t: R.Tuple(R.Tensor, R.Object), c: R.Tensor((), "bool")):
        n, m = T.int64(), T.int64()
        cls = Module
        {lines}
        return (x, w)
    @R.function(private=True)
    def sub(x: R.Tensor(ndim=2), p: R.Tuple(R.Tensor, R.Tensor)) -> R.Tensor(ndim=2):
        n, m = T.int64(), T.int64()
        {inner}
        return x
    @R.function
    def other(x: R.Tensor(ndim=2), w: R.Tensor, o: R.Object) -> R.Tensor(ndim=2):
        n, m = T.int64(), T.int64()
        {other}
        return x
"""
F4 = 'R.match_cast({}, R.Tensor((4, 4), "float32"))'
TYPED, RANKED = 'R.match_cast({}, R.Tensor(dtype="float32", ndim=2))', "R.match_cast({}, R.Tensor(ndim=2))"


def module_of(lines: str, inner: str = "", other: str = "") -> rxe.IRModule:
    texts = [text.replace("; ", "\n        ") for text in (lines, inner, other)]
    return rxe.normalize(
        rxe.parse(HEAD.format(**dict(zip(("lines", "inner", "other"), (t or "pass" for t in texts), strict=True))).replace("        pass\n", ""))
    )  # fmt: skip


def checks_of(*lines: str) -> list[ShapeCheck]:
    return [check for check in shape_checks(module_of(*lines)) if check.kind == CAST]


def answers(*lines: str) -> list[str]:
    """The answers of the last cast of the program, in order."""
    found = checks_of(*lines)
    return [check.answer.value for check in found if check.place is found[-1].place]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (f"a = {F4.format('x')}; b = {F4.format('x')}", ["yes", "yes", "yes"]),
        (f"a = {F4.format('x')}; b = {TYPED.format('x')}", ["yes"]),
        (f"a = {TYPED.format('x')}; b = {F4.format('x')}", ["yes", "unknown", "unknown"]),
        (f"a = {RANKED.format('w')}; b = {TYPED.format('w')}", ["unknown", "yes"]),
        (f"y = x; a = {F4.format('y')}; z = y; b = {F4.format('z')}", ["yes", "yes", "yes"]),
        (f"a = {RANKED.format('w')}; b = {TYPED.format('a')}; d = {TYPED.format('w')}", ["yes", "yes"]),
        (f"a = {F4.format('o')}; b = {F4.format('o')}", ["yes", "yes", "yes"]),
        (f"a = {RANKED.format('o')}; b = {TYPED.format('o')}", ["unknown"]),
        (f"a = {TYPED.format('o')}; b = {RANKED.format('o')}", ["yes"]),
        (f"f = t[0]; a = {TYPED.format('f')}; g = t[0]; b = {TYPED.format('g')}", ["yes", "yes"]),
        (f"f = t[0]; a = {TYPED.format('f')}; g = t[1]; b = {TYPED.format('g')}", ["unknown"]),
        (f"p = (w, x); f = p[0]; a = {TYPED.format('f')}; b = {TYPED.format('w')}", ["yes", "yes"]),
        (f"p = ((w, x), o); q = p[0]; f = q[0]; a = {TYPED.format('w')}; b = {TYPED.format('f')}", ["yes", "yes"]),
        (f"p = (w, x); f = p[1]; a = {TYPED.format('w')}; b = {TYPED.format('f')}", ["unknown"]),
        (f"s = t; f = s[0]; a = {TYPED.format('f')}; g = t[0]; b = {TYPED.format('g')}", ["yes", "yes"]),
        (f"v = {CHANGE.format('w')}; a = {TYPED.format('v')}; v = {CHANGE.format('w')}; b = {TYPED.format('v')}", ["unknown"]),
        ('a = R.match_cast(w, R.Tensor(dtype="float32x4")); b = R.match_cast(w, R.Tensor(dtype="float32"))', ["unknown"]),
        ('a = R.match_cast(w, R.Tensor(dtype="int32")); b = R.match_cast(w, R.Tensor(dtype="uint32"))', ["no"]),
        (f"a = {TYPED.format('w')}; x = w; b = {TYPED.format('x')}", ["yes", "yes"]),
        (f"x = t[0]; a = {TYPED.format('x')}; x = t[1]; b = {TYPED.format('x')}", ["unknown"]),
        ("a = R.match_cast(o, R.Tuple(R.Tensor, R.Object)); b = R.match_cast(o, R.Tuple(R.Object, R.Object))", ["yes"]),
        ("a = R.match_cast(o, R.Tuple(R.Tensor, R.Object)); b = R.match_cast(o, R.Tuple(R.Object))", ["no"]),
        ("a = R.match_cast(o, R.Shape(ndim=2)); b = R.match_cast(o, R.Shape(ndim=2))", ["yes"]),
        ("a = R.match_cast(o, R.Shape(ndim=2)); b = R.match_cast(o, R.Shape(ndim=3))", ["no"]),
        ('a = R.match_cast(o, R.Prim("int64")); b = R.match_cast(o, R.Prim("int64"))', ["yes"]),
        ('a = R.match_cast(o, R.Prim("int64")); b = R.match_cast(o, R.Prim("float32"))', ["no"]),
        (f"a = {F4.format('o')}; b = R.match_cast(o, R.Shape(ndim=2))", ["no"]),
        (f"a = {F4.format('x')}; b = R.match_cast(x, R.Tensor((4, 4), \"int8\"))", ["no", "yes", "yes"]),
        (f"a = R.match_cast(w, R.Tensor(ndim=3)); b = {TYPED.format('w')}", ["unknown", "no"]),
        ('a = R.match_cast(w, R.Tensor(dtype="float8_e4m3")); b = R.match_cast(w, R.Tensor(dtype="float8_e4m3"))', ["yes"]),
        ('a = R.match_cast(w, R.Tensor(dtype="float8_e4m3")); b = R.match_cast(w, R.Tensor(dtype="float16"))', ["unknown"]),
        (f"d = {CHANGE.format('w')}; a = {TYPED.format('w')}; e = {CHANGE.format('w')}; b = {TYPED.format('w')}", ["yes", "yes"]),
        ("a = R.match_cast(x, R.Tensor((n, 4))); y = x; b = R.match_cast(y, R.Tensor((n, 4)))", ["yes", "yes"]),
        ("a = R.match_cast(x, R.Tensor((n, 4))); y = x; b = R.match_cast(y, R.Tensor((m, m)))", ["unknown"]),
    ],
)  # fmt: skip
def test_the_second_cast(lines: str, told: list[str]) -> None:
    assert answers(lines) == told


BRANCHES = """if c:
            a = {then}
            r = x
        else:
            b = {otherwise}
            r = x
        d = {after}"""


@pytest.mark.parametrize(
    ("before", "then", "otherwise", "after", "told"),
    [
        (TYPED.format("w"), TYPED.format("w"), TYPED.format("w"), TYPED.format("w"), ["yes", "yes", "yes"]),
        ("x", TYPED.format("w"), TYPED.format("w"), TYPED.format("w"), ["unknown", "unknown", "unknown"]),
        (RANKED.format("w"), TYPED.format("w"), RANKED.format("w"), TYPED.format("w"), ["unknown", "yes", "unknown"]),
    ],
)  # fmt: skip
def test_branches_know_what_was_before_and_tell_nothing(
    before: str, then: str, otherwise: str, after: str, told: list[str]
) -> None:
    lines = f"e = {before}; " + BRANCHES.format(then=then, otherwise=otherwise, after=after)
    found = checks_of(lines)
    places = [check for check in found if ".dtype" in check.text or check.place.var.name == "b"]
    got = {check.place.var.name: check.answer.value for check in places}
    assert [got[name] for name in "abd"] == told


def test_a_nested_function_knows_what_was_checked_of_a_captured_value() -> None:
    lines = f"""a = {TYPED.format("w")}
        @R.function
        def inner(v: R.Tensor, x: R.Tensor) -> R.Tensor:
            b = {TYPED.format("w")}
            d = {TYPED.format("x")}
            return v
        e = inner(x, w)"""
    found = {check.place.var.name: check.answer.value for check in checks_of(lines) if ".dtype" in check.text}
    assert found == {"a": "unknown", "b": "yes", "d": "unknown"}


@pytest.mark.parametrize(
    ("lines", "inner", "other", "told"),
    [
        (f"a = {TYPED.format('x')}", "", f"b = {TYPED.format('x')}", ["unknown"]),
        (f"a = {F4.format('x')}; d = cls.sub(x, (w, x))", f"b = {F4.format('x')}", "", ["yes", "yes", "yes"]),
        (f"a = {TYPED.format('x')}; d = cls.sub(x, (w, x))", f"b = {F4.format('x')}", "", ["yes", "unknown", "unknown"]),
        (f"a = {TYPED.format('x')}; d = cls.sub(x, (w, x))", f"q = p[1]; b = {TYPED.format('q')}", "", ["yes", "yes"]),
        (f"a = {TYPED.format('x')}; y = (w, x); d = cls.sub(x, y)", f"q = p[1]; b = {TYPED.format('q')}", "", ["yes", "yes"]),
        (f"a = {TYPED.format('x')}; d = cls.sub(x, (w, x))", f"q = p[0]; b = {TYPED.format('q')}", "", ["unknown", "unknown"]),
        (f"a = {TYPED.format('x')}; d = cls.sub(a, (w, x)); y = (w, w); e = cls.sub(x, y)", f"b = {TYPED.format('x')}", "", ["yes"]),
        (f"d = cls.sub(x, (w, x)); a = {TYPED.format('x')}", f"b = {TYPED.format('x')}", "", ["unknown"]),
        (f"d = cls.sub(x, (w, x)); a = {RANKED.format('w')}; e = cls.sub(a, (w, x))", f"b = {TYPED.format('x')}", "", ["unknown"]),
    ],
)  # fmt: skip
def test_a_private_function_knows_what_every_call_gives(
    lines: str, inner: str, other: str, told: list[str]
) -> None:
    assert answers(lines, inner, other) == told


@pytest.mark.parametrize(
    ("element", "condition_text"),
    [
        ("int64", "an int64"),
        ("int4", "an int4"),
        ("uint8", "a uint8"),
        ("float16", "a float16"),
        ("bool", "a bool"),
    ],
)
def test_the_article_fits_the_element(element: str, condition_text: str) -> None:
    found = checks_of(f'a = R.match_cast(o, R.Tensor(dtype="{element}", ndim=2))')
    assert found[0].text == f"o is {condition_text} tensor of rank 2"


def test_facts_are_told_in_words() -> None:
    found = checks_of(f"a = {TYPED.format('o')}; b = {TYPED.format('o')}; d = cls.sub(x, (w, x))")
    assert found[-1].text == "o is a float32 tensor of rank 2"
    line = found[0].place.span.line
    assert [str(fact) for fact in found[-1].proof] == [
        f"{text} (checked in line {line})" for text in ("o is a tensor", "o.dtype == float32", "o.ndim == 2")
    ]


def test_a_result_is_the_value_that_was_checked() -> None:
    text = """@R.function
def main(x: R.Tensor(ndim=2)) -> R.Tensor((4, 4), "float32"):
    a = R.match_cast(x, R.Tensor((4, 4), "float32"))
    return x
"""
    found = [check for check in shape_checks(rxe.normalize(rxe.parse(text))) if check.kind == RESULT]
    assert [(check.text, check.answer.value) for check in found] == [
        ("x.dtype == float32", "yes"), ("x.shape[0] == 4", "yes"), ("x.shape[1] == 4", "yes"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("R.exp(w)", "R.exp(w)", ["yes", "yes"]),
        ("R.exp(w)", "R.sqrt(w)", ["yes", "unknown"]),
        ("R.add(w, v)", "R.multiply(w, v)", ["yes", "unknown"]),
        ("R.add(w, v)", "R.add(v, w)", ["yes", "unknown"]),
        ("R.match_cast(w, R.Tensor(dtype='float16'))", "R.exp(w)", ["yes", "unknown"]),
        ("R.match_cast(w, R.Tensor(dtype='int8'))", "R.exp(w)", ["no", "unknown"]),
        ("R.match_cast(w, R.Tensor(dtype='float8_e4m3'))", "R.exp(w)", ["unknown", "unknown"]),
        ("R.concat((w, v), axis=0)", "R.concat((w, v), axis=0)", ["yes", "yes"]),
        ("R.concat((w, v), axis=0)", "R.concat((w, v), axis=1)", ["yes", "unknown"]),
        ("R.concat((w, v), axis=0)", "R.concat((v, w), axis=0)", ["yes", "unknown"]),
    ],
)
def test_a_demand_of_an_operator_is_known_after_it(first: str, second: str, told: list[str]) -> None:
    text = f"@R.function\ndef main(w: R.Tensor, u: R.Tensor):\n    v = u\n    a = {first}\n    b = {second}\n    return b\n"
    found = shape_checks(rxe.normalize(rxe.parse(text)))
    assert [
        check.answer.value for check in found if check.place is found[-1].place and check.kind == "operator"
    ] == told


WRITES = """@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), s: R.Shape(["n"])):
    n = T.int64()
    t = R.shape_to_tensor(R.shape([n]))
    {before}
    d = R.min(R.equal(t, R.const([7], "int64")))
    {between}
    if d:
        z = R.match_cast(x, R.Tensor((n - 5,), "float32"))
        y = x
    else:
        y = x
    return y
"""


@pytest.mark.parametrize(
    ("before", "between", "told"),
    [
        ("q = R.call_packed('change', x, sinfo_args=R.Object())", "p = t", "unknown"),
        ("q = R.call_packed('change', t, sinfo_args=R.Object())", "p = t", "unknown"),
        ("q = t", "q = R.call_packed('change', x, sinfo_args=R.Object())", "unknown"),
        ("q = R.call_pure_packed('read', t, sinfo_args=R.Object())", "p = t", "yes"),
        ("q = t", "q = R.print(x, format='')", "yes"),
    ],
)
def test_a_test_of_lengths_is_forgotten_when_memory_is_written(before: str, between: str, told: str) -> None:
    text = WRITES.format(before=before, between=between)
    (check,) = [one for one in shape_checks(rxe.normalize(rxe.parse(text))) if one.kind == CAST]
    assert check.answer.value == told


def test_a_nested_function_that_runs_later_knows_no_tensor_that_may_change() -> None:
    text = """@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), s: R.Shape(["n"])):
    n = T.int64()
    t = R.shape_to_tensor(R.shape([n]))
    d = R.min(R.equal(t, R.const([7], "int64")))
    @R.function(pure=False)
    def inner(v: R.Tensor((2,), "float32"), q: R.Shape([n])) -> R.Object:
        if d:
            z = R.match_cast(x, R.Tensor((n - 5,), "float32"))
            y = v
        else:
            y = v
        return y
    e = {}
    return inner(x, s)
"""
    for between, told in ((CHANGE.format("d"), "unknown"), ("R.exp(x)", "yes")):
        written = text if told == "unknown" else text.replace("(pure=False)", "")
        found = shape_checks(rxe.normalize(rxe.parse(written.format(between))))
        assert [one.answer.value for one in found if one.text == "2 == n - 5"] == [told]


def test_kinds_of_element_types_are_told_apart() -> None:
    fitting = {
        FLOAT: {"float16", "float32", "float64", "bfloat16"}, INTEGER: {"int8", "int16", "int32", "int64", "uint8", "uint64"},
    }  # fmt: skip
    fitting |= {NUMBER: fitting[FLOAT] | fitting[INTEGER], BOOL_OR_INTEGER: fitting[INTEGER] | {"bool"}}
    term, numbers = p.PrimVar("x.dtype"), set()
    for name in fitting[NUMBER] | {"bool"}:
        numbers.add(element_number(dtype(name)))
        known = Assumptions().plus(p.EQ(term, element_number(dtype(name))))
        for word, names in fitting.items():
            assert known.prove(of_elements(term, word)) is (Answer.YES if name in names else Answer.NO), (
                name,
                word,
            )
            assert condition_text(of_elements(term, word)) == f"x.dtype is {word}"
        assert condition_text(p.EQ(term, element_number(dtype(name)))) == f"x.dtype == {name}"
    assert len(numbers) == 11


PROGRAMS = (
    f"a = {F4.format('x')}; b = {F4.format('x')}; y = x; d = {F4.format('y')}; e = R.add(b, d)",
    f"f = t[0]; a = {TYPED.format('f')}; g = t[0]; b = {TYPED.format('g')}; e = R.add(a, b)",
    f"a = {TYPED.format('o')}; b = {RANKED.format('o')}; d = {TYPED.format('o')}; e = R.add(a, d)",
    f"p = (w, x); f = p[0]; a = {TYPED.format('f')}; b = {TYPED.format('w')}; d = {F4.format('x')}; e = R.add(b, a)",
    f"a = {TYPED.format('x')}; d = cls.sub(x, (w, x)); q = {TYPED.format('d')}",
)


@pytest.mark.parametrize("lines", PROGRAMS)
def test_a_program_without_proved_checks_stops_in_the_same_runs(lines: str) -> None:
    inner = f"q = p[1]; b = {TYPED.format('q')}; d = {TYPED.format('q')}" if "cls.sub" in lines else ""
    module = module_of(lines, inner)
    fewer = rxe.apply_pass(module, "EliminateShapeChecks")
    assert fewer.script().count("match_cast") < module.script().count("match_cast")
    stopped = set()
    for element in ("float32", "int8"):
        for shape in ((4, 4), (2, 4), (4, 4, 4)):
            for odd in range(4):
                values = [np.ones((4, 4), "float32") for _ in range(4)]
                values[odd] = np.ones(shape, element)
                x, w, o, f = values
                given = [x, w, o, (f, o), np.asarray(True)]
                outcomes = []
                for one in (module, fewer):
                    try:
                        outcomes.append(str(rxe.run(one, "main", given)))
                    except Failure as failure:
                        outcomes.append(failure.diagnostics[0].code.id)
                assert outcomes[0] == outcomes[1], (element, shape, odd)
                stopped.add(outcomes[0].startswith("RX"))
    assert stopped == {True, False}
