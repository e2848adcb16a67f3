"""Lengths are explained by those that they are made of, and conditions tell what they become."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.shapes.origins import Origins
from relax_explorer.core.shapes.why import what_if, why
from relax_explorer.viz.length_text import what_if_data, what_if_lines, why_data, why_lines
from tests.support.random_lengths import outcome, program

TEXT = """@I.ir_module
class Module:
    @R.function(private=True)
    def wide(p: R.Tensor(("a", "b"), "float32")) -> R.Tensor(("a", "b * 2"), "float32"):
        return R.concat((p, p), axis=1)

    @R.function(private=True)
    def same(p: R.Tensor(("a",), "float32"), q: R.Tensor(("a",), "float32")) -> R.Tensor(("a",), "float32"):
        return p

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("k", "m"), "float32"), w: R.Tensor("float32", ndim=2), f: R.Tensor((), "bool"),
             u: R.Tensor(("m", 4), "float32"), t: R.Tuple(R.Tensor(("j", "n + 2"), "float32"), R.Shape(["i"]))):
        n, m, k, l, j, i = T.int64(), T.int64(), T.int64(), T.int64(), T.int64(), T.int64()
        a = R.exp(x)
        b = R.concat((a, y), axis=0)
        c = R.matmul(b, u)
        d = R.reshape(c, R.shape([(n + k) * 4]))
        g = Module.wide(b)
        h = R.match_cast(w, R.Tensor((l, m), "float32"))
        o = (c, R.permute_dims(h))
        p = o[1]
        if f:
            q = R.add(c, c)
            r = q
        else:
            r = c
        s = R.split(g, 2, axis=1)
        e = R.reshape(x, R.shape([n * m]))
        v = Module.same(d, e)
        z = R.add(t[0], y)
        copy = p
        return (r, s, v, z, copy)
"""


@pytest.fixture(scope="module")
def module() -> rxe.IRModule:
    return rxe.normalize(rxe.parse(TEXT))


STEPS = {
    "x.0": ["x[0] = n: stated by the parameter"],
    "t.0.1": ["t[0][1] = n + 2: stated by the parameter", "n: the length of x[0], which binds it"],
    "a.1": ["a[1] = m: exp makes it: x[1]", "x[1] = m: stated by the parameter"],
    "b.0": [
        "b[0] = n + k: concat makes it: a[0] + y[0]", "a[0] = n: exp makes it: x[0]",
        "y[0] = k: stated by the parameter", "x[0] = n: stated by the parameter",
    ],
    "c.1": ["c[1] = 4: matmul makes it: u[1]", "u[1] = 4: stated by the parameter"],
    "d.0": [
        "d[0] = (n + k) * 4: reshape makes it: (n + k) * 4",
        "n: the length of x[0], which binds it", "k: the length of y[0], which binds it",
    ],
    "h.0": ["h[0] = l: stated by the match_cast"],
    "h.1": ["h[1] = m: checked by the match_cast", "m: the length of x[1], which binds it"],
    "copy.1": [
        "copy[1] = l: a copy of p", "p[1] = l: field 1", "o[1][1] = l: field 1", "gv[1] = l: permute_dims makes it: h[0]",
        "h[0] = l: stated by the match_cast",
    ],
}  # fmt: skip


@pytest.mark.parametrize("place", STEPS)
def test_the_steps_of_a_length(module: rxe.IRModule, place: str) -> None:
    (explanation,) = why(module, "main", place).lengths
    texts = [
        f"{one.value}{'' if one.value == one.length else f' = {one.length}'}: {one.how}"
        for one in explanation.steps
    ]
    assert texts == STEPS[place]
    assert all(source > number for number, one in enumerate(explanation.steps) for source in one.sources)


def test_a_function_is_asked_for_its_result(module: rxe.IRModule) -> None:
    (explanation,) = why(module, "main", "g.1").lengths
    first, second = explanation.steps[:2]
    assert (first.how, second.value) == ("wide returns b * 2", "b[1]")


TUPLE = """@R.function
def main(x: R.Tensor(("n", "m"), "float32"), t: R.Tuple(R.Tensor(("k",), "float32"), R.Shape(["j"]))):
    n, m, k, j = T.int64(), T.int64(), T.int64(), T.int64()
    y = R.exp(x)
    return (y, (t, y), R.const(1.0))
"""


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("result", ["y[0] = n", "y[1] = m", "t[0][0] = k", "t[1][0] = j", "y[0] = n", "y[1] = m"]),
        ("result.0", ["y[0] = n", "y[1] = m"]),
        ("main.result[1].0.1", ["t[1][0] = j"]),
        ("result.1.1.1", ["y[1] = m"]),
    ],
)
def test_a_result_of_several_values_has_the_lengths_of_all(place: str, shown: list[str]) -> None:
    found = why(rxe.normalize(rxe.parse(TUPLE)), "main", place)
    assert [f"{one.steps[0].value} = {one.steps[0].length}" for one in found.lengths] == shown


@pytest.mark.parametrize(
    "place", ["result.2", "result.3", "result.0.2", "result.0.0.0", "result.x", "results"]
)
def test_what_a_result_does_not_have_is_told(place: str) -> None:
    with pytest.raises(Failure, match=r"no length|no value"):
        why(rxe.normalize(rxe.parse(TUPLE)), "main", place)


def test_both_branches_are_shown(module: rxe.IRModule) -> None:
    (explanation,) = why(module, "main", "r[0]").lengths
    first = explanation.steps[0]
    assert first.how == "the same in both branches"
    assert [explanation.steps[source].value for source in first.sources] == ["q[0]", "c[0]"]


def test_all_lengths_of_a_value_and_of_one_field(module: rxe.IRModule) -> None:
    assert [one.steps[0].value for one in why(module, "main", "main.s").lengths] == [
        "s[0][0]",
        "s[0][1]",
        "s[1][0]",
        "s[1][1]",
    ]
    assert [one.steps[0].value for one in why(module, "main", "s.1").lengths] == ["s[1][0]", "s[1][1]"]
    assert [one.steps[0].length for one in why(module, "main", "wide.gv").lengths] == ["a", "b * 2"]


def test_a_mismatch_has_both_chains_and_their_parting(module: rxe.IRModule) -> None:
    (mismatch,) = why(module, "main", "v").mismatches
    assert mismatch.check.text == "n * m == (n + k) * 4"
    assert [side.steps[0].value for side in mismatch.sides] == ["e[0]", "d[0]"]
    assert mismatch.common is not None
    assert mismatch.common.value == "n"
    lines = [text for text, _ in why_lines(why(module, "main", "v"))]
    assert lines[-1] == "  they part behind n in line 12"


def test_a_value_without_lengths_has_its_mismatches(module: rxe.IRModule) -> None:
    found = why(module, "main", "z")
    assert not found.lengths
    first, second = found.mismatches
    assert [side.steps[0].value for side in first.sides] == ["gv1[1]", "y[1]"]
    assert [side.steps[0].value for side in second.sides] == ["gv1[0]", "y[0]"]
    assert second.common is None
    lines = [text for text, _ in why_lines(found)]
    assert lines[-1] == "  they have nothing in common"
    assert "j == k or j == 1 or k == 1 is left to the run (operator: add in z)" in lines
    assert [one["common"] for one in why_data(found)["mismatches"]] == [None, None]


OWN = """@R.function
def main(x: R.Tensor(("w",), "float32"), y: R.Tensor(("w * 2",), "float32"), t: R.Tuple(R.Shape(["w"]), R.Tensor(("k",), "float32"))):
    w, k = T.int64(), T.int64()
    a = R.add(y, x)
    z = R.match_cast(x, R.Tensor((w * 2,), "float32"))
    b = R.match_cast(x, R.Tensor((k + 1,), "float32"))
    return a
"""


@pytest.mark.parametrize(
    ("value", "common"),
    [("z", ("x[0]", 2)), ("a", ("w", 2)), ("b", None)],
    ids=["checked", "operands", "other"],
)
def test_a_variable_is_the_length_that_binds_it(value: str, common: tuple[str, int] | None) -> None:
    (mismatch,) = why(rxe.normalize(rxe.parse(OWN)), "main", value).mismatches
    step = mismatch.common
    assert (None if step is None or step.span is None else (step.value, step.span.line)) == common


NESTED = """@I.ir_module
class Module:
    @R.function
    def inner(x: R.Tensor((3,), "float32")):
        u = R.exp(x)
        return u

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), f: R.Tensor((), "bool")):
        n, m = T.int64(), T.int64()
        @R.function
        def inner(q: R.Tensor(("k", "m"), "float32")) -> R.Tensor(("k * m",), "float32"):
            k, m = T.int64(), T.int64()
            u = R.flatten(q)
            result = R.exp(q)
            @R.function
            def deep(q: R.Tensor(("j",), "float32")):
                j = T.int64()
                u = R.concat((q, q))
                return u
            w = deep(u)
            return u
        r = inner(x)
        if f:
            @R.function
            def other(p: R.Tensor((5,), "float32")):
                s = R.exp(p)
                return s
            a = x
        else:
            a = R.exp(x)
        u = R.exp(x)
        return (r, u)
"""


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("main.u.0", "main.u[0] = n"),
        ("u.0", "main.u[0] = n"),
        ("inner.u", "inner.u[0] = 3"),
        ("main.inner.u", "main.inner.u[0] = k * m"),
        ("main.inner.u[0]", "main.inner.u[0] = k * m"),
        ("main.inner.q.1", "main.inner.q[1] = m"),
        ("main.inner.deep.u", "main.inner.deep.u[0] = j * 2"),
        ("main.inner.deep.q", "main.inner.deep.q[0] = j"),
        ("main.inner.result", "main.inner.result[0] = k"),
        ("main.result.1", "main.u[0] = n"),
        ("main.inner.deep.result", "main.inner.deep.u[0] = j * 2"),
        ("main.other.s", "main.other.s[0] = 5"),
        ("other.result", "main.other.s[0] = 5"),
    ],
)
def test_values_of_nested_functions_have_the_names_of_these(place: str, shown: str) -> None:
    found = why(rxe.normalize(rxe.parse(NESTED)), "main", place)
    assert why_lines(found)[0][0] == shown
    assert ".".join([found.function, *why_data(found)["within"]]) == shown.rpartition(".")[0]


def test_the_result_of_a_nested_function_has_its_checks() -> None:
    text = NESTED.replace(
        'def deep(q: R.Tensor(("j",), "float32")):',
        'def deep(q: R.Tensor(("j",), "float32")) -> R.Tensor(("j",), "float32"):',
    )
    (mismatch,) = why(rxe.normalize(rxe.parse(text)), "main", "main.inner.deep.result").mismatches
    assert [side.steps[0].value for side in mismatch.sides] == ["u[0]", "j"]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("main.inner.r", "main.inner has no value 'r'; it has q, q, u, result, deep, u, w."),
        ("main.inner.x", "main.inner has no value 'x'"),
        ("main.inner.deep.w", "main.inner.deep has no value 'w'; it has q, u."),
        ("main.deep.w", "main.inner.deep has no value 'w'"),
        ("main.inner", "no length 'main.inner' is known"),
        ("main.r.u", "no length 'main.r.u' is known"),
    ],
)
def test_what_a_nested_function_does_not_have_is_told(place: str, text: str) -> None:
    with pytest.raises(Failure) as failure:
        why(rxe.normalize(rxe.parse(NESTED)), "main", place)
    (problem,) = failure.value.diagnostics
    assert f"{problem.message}; i{(problem.help or '')[1:]}".startswith(text)


HEAD = """@R.function
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("k", "m"), "float32"), z: R.Tensor(("n", "m"), "float32")):
    n, m, k = T.int64(), T.int64(), T.int64()
"""


def first_reason(lines: str, place: str) -> str:
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    return why(rxe.normalize(rxe.parse(HEAD + body)), "main", place).lengths[0].steps[0].how


def test_equal_lengths_are_told_apart_where_inference_can() -> None:
    square = 'o = R.zeros(R.shape([n, n]), "float32")\na = R.permute_dims(o)\nreturn a'
    assert first_reason(square, "a.0") == "permute_dims makes it: o[1]"
    assert first_reason("a = R.add(x, z)\nreturn a", "a.0") == "add makes it: x[0]"
    written = "p = R.zeros(R.shape([(n - 1) // 2 + 1]), 'float32')\nq = R.zeros(R.shape([(n + 1) // 2]), 'float32')\n"
    assert first_reason(f"{written}a = R.add(p, q)\nreturn a", "a.0") == "add makes it: p[0]", (
        "they are equal"
    )
    ones = 'o = R.zeros(R.shape([1, m]), "float32")\na = R.add(y, o)\nreturn a'
    assert first_reason(ones, "a.0") == "add makes it: y[0]"


def test_the_last_value_of_a_name_is_meant() -> None:
    assert first_reason("a = R.exp(x)\na = R.permute_dims(a)\nreturn a", "a.0").startswith("permute_dims")


def test_proved_checks_are_no_mismatches() -> None:
    lines = 'a = R.match_cast(y, R.Tensor((n, m), "float32"))\nb = R.match_cast(y, R.Tensor((n, m), "float32"))\nreturn (a, b)'
    program = rxe.normalize(rxe.parse(HEAD + "".join(f"    {line}\n" for line in lines.splitlines())))
    assert len(why(program, "main", "a").mismatches) == 1
    assert not why(program, "main", "b").mismatches


def test_the_condition_of_a_branch_says_nothing_of_its_result() -> None:
    lines = "h = R.prim_value(k == n)\nif h:\n    r = R.exp(y)\nelse:\n    r = R.abs(y)\nreturn r"
    program = rxe.normalize(rxe.parse(HEAD + "".join(f"    {line}\n" for line in lines.splitlines())))
    values = [one.value for one in what_if(program, "main", "n = 3").values]
    assert "r" not in values
    assert any(name.startswith("r") for name in values), "in the branch it does"


def test_the_result_of_a_function_has_both_chains() -> None:
    lines = "a = R.exp(y)\nreturn a"
    head = HEAD.replace("):\n    n, m", ') -> R.Tensor(("n", "m"), "float32"):\n    n, m')
    program = rxe.normalize(rxe.parse(head + "".join(f"    {line}\n" for line in lines.splitlines())))
    found = why(program, "main", "main.result.0")
    assert [one.steps[0].value for one in found.lengths] == ["a[0]"]
    (mismatch,) = found.mismatches
    assert [[step.value for step in side.steps] for side in mismatch.sides] == [["a[0]", "y[0]"], ["n", "n"]]


def test_what_has_many_readers_is_one_step() -> None:
    lines = ["@R.function", 'def main(v0: R.Tensor(("n",), "float32")):', "    n = T.int64()"]
    lines += [f"    v{number} = R.concat((v{number - 1}, v{number - 1}))" for number in range(1, 25)]
    deep = rxe.normalize(rxe.parse("\n".join([*lines, "    return v24\n"])))
    (explanation,) = why(deep, "main", "v24.0").lengths
    assert len(explanation.steps) == 25
    assert len(why_lines(why(deep, "main", "v24.0"))) < 60


def test_a_long_way_is_folded() -> None:
    lines = ["@R.function", 'def main(v0: R.Tensor(("n",), "float32")):', "    n = T.int64()"]
    lines += [f"    v{number} = R.exp(v{number - 1})" for number in range(1, 3000)]
    deep = rxe.normalize(rxe.parse("\n".join([*lines, "    return v2999\n"])))
    found = why(deep, "main", "v2999")
    assert [text for text, _ in why_lines(found)] == [
        "main.v2999[0] = n",
        "  line 3002 v2999[0] = n: exp makes it: v2998[0]",
        "            … 2997 more values of length n",
        "  line 4    v1[0] = n: exp makes it: v0[0]",
        "  line 2    v0[0] = n: stated by the parameter",
    ]
    assert len(why_data(found)["lengths"][0]) == 3000


@pytest.mark.parametrize("place", ["nothing", "main.", "main.x.7", "main.x.0.0", "other.x", "f.0", ""])
def test_what_does_not_exist_is_told(module: rxe.IRModule, place: str) -> None:
    with pytest.raises(Failure) as failure:
        why(module, "main", place)
    assert failure.value.diagnostics[0].code.id == "RX0607"
    assert failure.value.diagnostics[0].help


def test_what_a_condition_makes_of_lengths(module: rxe.IRModule) -> None:
    found = what_if(module, "main", "n = 7, k == n + 1")
    after = {
        one.value: str(one.after).removeprefix("R.Tensor(").removesuffix(', dtype="float32")')
        for one in found.values
    }
    assert after["x"] == "(7, m)"
    assert (after["b"], after["c"], after["d"], after["g"]) == ("(15, m)", "(15, 4)", "(60,)", "(15, m * 2)")
    assert "h" not in after
    assert [(one.text, one.answer.value) for one in found.decided if one.kind == "arguments"] == [
        ("n * m == (n + k) * 4", "no")
    ]
    assert what_if_lines(found, "n = 7")[0][0] == "main, if n = 7:"
    assert what_if_data(found)["values"][0]["after"].startswith("R.Tensor((7, m)")


DIVISIONS = """@R.function
def main(x: R.Tensor(("n", "m"), "float32"), s: R.Shape(["k"])):
    n, m, k = T.int64(), T.int64(), T.int64()
    y = R.reshape(x, R.shape([m, n * m // m]))
    z = R.zeros(R.shape([n // m, n % m, 3]), "float32")
    w = R.zeros(R.shape([n // (m - k), 2]), "float32")
    v = R.match_cast(w, R.Tensor((n // (m * k), 2), "float32"))
    t = (z, (w, v))
    r = R.zeros(R.shape([n - k, T.if_then_else(m == 0, 1, n // m)]), "float32")
    return t
"""
BY_M = {"y": ["n * m // m"], "z": ["n // m", "n % m"]}


@pytest.mark.parametrize(
    ("condition", "wrong"),
    [
        ("m = 0", {**BY_M, "v": ["n // (m * k)"], "t": ["n // m", "n % m", "n // (m * k)"]}),
        ("m <= 0", {**BY_M, "t": ["n // m", "n % m"]}),
        ("m = k", {"w": ["n // (m - k)"], "t": ["n // (m - k)"]}),
        ("m = k, k = 2", {"w": ["n // (m - k)"], "t": ["n // (m - k)"]}),
        ("k = 0", {"v": ["n // (m * k)"], "t": ["n // (m * k)"]}),
        (
            "k = 0, m = 0",
            {
                **BY_M,
                "w": ["n // (m - k)"],
                "v": ["n // (m * k)"],
                "t": ["n // m", "n % m", "n // (m - k)", "n // (m * k)"],
            },
        ),
        ("n = 0", {}),
        ("m = 2", {}),
        ("m >= 0", {}),
        ("n = 1, k = 3", {"r": ["n - k is -2"]}),
        ("n < k", {"r": ["n - k is negative"]}),
    ],
)
def test_lengths_that_cannot_be_are_told(condition: str, wrong: dict[str, list[str]]) -> None:
    found = what_if(rxe.normalize(rxe.parse(DIVISIONS)), "main", condition)
    told = {one.value: one.impossible for one in found.values if one.impossible}
    assert {name: [text.partition(" divides")[0] for text in texts] for name, texts in told.items()} == wrong
    data = {one["value"]: one for one in what_if_data(found)["values"]}
    assert {name for name, one in data.items() if one["after"] is None} == wrong.keys()
    for line, _ in what_if_lines(found, condition):
        assert not any(part in line for part in ("// 0", "% 0")), line
        assert (" cannot be: " in line) is (line.split(":")[0].split()[-1] in wrong)
    if "m = 0" in condition:
        assert not found.decided, "a check of lengths that divide by 0 is not proved"


def test_what_is_wrong_without_the_condition_is_no_consequence() -> None:
    text = DIVISIONS.replace("n - k", "n // (m - m)")
    found = what_if(rxe.normalize(rxe.parse(text)), "main", "k = 1")
    assert "r" not in [one.value for one in found.values]


@pytest.mark.parametrize("condition", ["n = 1", "n <= 1", "n < 1"])
def test_nothing_is_told_of_a_place_that_no_run_gets_to(condition: str) -> None:
    text = """@R.function
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n - 4",), "float32")):
    n, m = T.int64(), T.int64()
    z = R.zeros(R.shape([m // n]), "float32")
    return z
"""
    found = what_if(rxe.normalize(rxe.parse(text)), "main", condition)
    assert {one.value for one in found.values if one.impossible} == {"y"}
    divided = what_if(rxe.normalize(rxe.parse(text.replace("n - 4", "n"))), "main", "n < 1")
    assert {one.value for one in divided.values if one.impossible} == {"z"}


def test_what_holds_anyway_is_no_consequence() -> None:
    text = """@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("k",), "float32"), w: R.Tensor("float32", ndim=1)):
    n, k, l = T.int64(), T.int64(), T.int64()
    a = R.match_cast(y, R.Tensor((n,), "float32"))
    b = R.match_cast(w, R.Tensor((l,), "float32"))
    c = R.exp(y)
    return (a, b, c)
"""
    module = rxe.normalize(rxe.parse(text))
    assert [one.value for one in what_if(module, "main", "l = 3").values] == ["b"]
    assert [one.value for one in what_if(module, "main", "k = 3").values] == ["y", "a", "c"]
    assert what_if_lines(what_if(module, "main", "n >= 0"), "n >= 0")[-1][0] == "  nothing changes"
    with pytest.raises(Failure):
        what_if(module, "main", "q = 1")


@pytest.mark.parametrize("seed", range(4))
def test_what_is_said_to_make_a_length_makes_it_in_every_run(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = 0
    for _ in range(90):
        text = program(rng)
        names = re.findall(r"^        (v\d+) = ", text, re.MULTILINE)
        text = re.sub(r"return \w+\n$", f"return ({', '.join(['x', 'y', 'z', *names])})\n", text)
        if any(item.is_error for item in rxe.check(rxe.parse(text))):
            continue
        module = rxe.normalize(rxe.parse(text))
        origins = Origins(module, "main")
        for lengths in ({"n": 4, "m": 4, "k": 4}, {"n": 2, "m": 4, "k": 2}, {"n": 4, "m": 1, "k": 4}):
            result = outcome(module, lengths, True)
            if isinstance(result, Diagnostic):
                continue
            shapes = {name: value.shape for name, value in zip(["x", "y", "z", *names], result, strict=True)}
            for name in names:
                var = origins.named(name)
                assert var is not None
                for axis in range(len(getattr(var.struct_info, "dims", None) or ())):
                    step = origins.explain(var, (axis,)).steps[0]
                    formula = step.how.partition(" makes it: ")[2]
                    if formula:
                        seen += 1
                        assert eval(formula, {**shapes, **lengths}) == shapes[name][axis], (text, step)
    assert seen > 20


CHOSEN = """@R.function
def main(x: R.Tensor(("n", "m"), "float32"), w: R.Tensor(("T.max(n, 4)", "T.min(m, 8) + 1"), "float32"), t: R.Tensor(("n - m",), "float32")):
    n, m = T.int64(), T.int64()
    y = R.zeros(R.shape([T.max(n, 4) * 2, m]), "float32")
    if_y = R.match_cast(w, R.Tensor((n, m + 1), "float32"))
    h = R.reshape(w, R.shape([n * m + n]))
    return (y, if_y, h)
"""


@pytest.mark.parametrize(
    ("condition", "after"),
    [
        ("n >= 4", {"w": "(n, T.min(m, 8) + 1)", "y": "(n * 2, m)"}),
        ("n > 4, m <= 8", {"w": "(n, m + 1)", "y": "(n * 2, m)"}),
        ("n <= 4", {"w": "(4, T.min(m, 8) + 1)", "y": "(8, m)"}),
        ("n >= 3", {}),
        ("T.max(n, 4) == n", {"w": "(n, T.min(m, 8) + 1)", "y": "(n * 2, m)"}),
        ("T.min(m, T.max(n, n)) == m, n <= 8", {"w": "(T.max(n, 4), m + 1)"}),
    ],
)
def test_minima_that_facts_tell_are_not_left(condition: str, after: dict[str, str]) -> None:
    module = rxe.normalize(rxe.parse(CHOSEN))
    found = {
        one.value: str(one.after) for one in what_if(module, "main", condition).values if one.value in "wy"
    }
    assert found == {name: f'R.Tensor({dims}, dtype="float32")' for name, dims in after.items()}


def test_a_place_that_no_run_gets_to_has_no_shorter_lengths() -> None:
    found = what_if(rxe.normalize(rxe.parse(CHOSEN)), "main", "n < m")  # n - m is negative
    assert [(one.value, bool(one.impossible)) for one in found.values] == [("t", True)]
    assert not found.decided
