"""An unreadable part hides no problem elsewhere, and causes none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import relax_explorer as rxe
from tests.support.mdtest import read

CHAPTERS = sorted((Path(__file__).parent.parent / "spec").glob("*.md"))
_CALL = re.compile(r"^(\s+\w+ = )R\.\w[\w.]*\(.*\)(?=\s*(#|$))")

SEVERAL = """
@I.ir_module
class Module:
    @R.function
    def f(x: R.Tensor((2, 3), "float32")):
        a = R.add(x, nope)
        b = R.matmul(a, x)
        c = R.matmul(x, x)
        d = R.concat((a, x), axis=7)
        g, h = a
        return R.add(b, d)

    @R.function
    def g(x: R.Bad((2, 3), "float32"), y: R.Tensor((2,), "float32")):
        z = R.add(x, y)
        w = R.matmul(y, y, y, y)
        v = R.permute_dims(w)
        if R.less(x, +):
            q = R.add(x, y)
        else:
            q = R.add(y, R.zeros((5,), "float32"))
        return q

    @foo
    def h(x: R.Tensor((2, 3), "float32")):
        return x

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        a = Module.f(x)
        b = R.add(a, a)
        c = Module.g(x, x)
        d = Module.h(x)
        e = R.add(d, d)
        k = Module.nofun(x)
        l = R.add(x, x
        m = R.add(l, x)
        return R.reshape(x, (7,))
"""


def errors(text: str) -> list[tuple[int, str]]:
    return [(item.span.line, item.code.id) for item in rxe.check(text) if item.is_error and item.span]


def test_every_problem_of_every_function_is_reported() -> None:
    lines = [line.strip() for line in SEVERAL.splitlines()]
    found = [(lines[line - 1], code) for line, code in errors(SEVERAL)]
    assert found == [
        ("a = R.add(x, nope)", "RX0014"),
        ("c = R.matmul(x, x)", "RX0203"),
        ('def g(x: R.Bad((2, 3), "float32"), y: R.Tensor((2,), "float32")):', "RX0012"),
        ("w = R.matmul(y, y, y, y)", "RX0015"),
        ("if R.less(x, +):", "RX0005"),
        ('q = R.add(y, R.zeros((5,), "float32"))', "RX0204"),
        ('def h(x: R.Tensor((2, 3), "float32")):', "RX0008"),
        ("c = Module.g(x, x)", "RX0213"),
        ("k = Module.nofun(x)", "RX0106"),
        ("l = R.add(x, x", "RX0007"),
        ("return R.reshape(x, (7,))", "RX0208"),
    ]


QUIET = {
    "of a callee whose result is wrong": (
        "    @R.function\n    def f(x: R.Tensor((2,), 'float32')):\n        a = R.matmul(x, R.zeros((3,), 'float32'))\n        return a\n",
        "a = Module.f(x)\nb = R.add(a, x)\nc = a[0]\nreturn (b, c)", 5,
    ),
    "of a field of what is wrong": (
        "", "t: R.Tuple(R.Tensor((2,), 'float32'), R.Tensor((3,), 'float32')) = R.add(x, R.zeros((5,), 'float32'))\n"
        "a = t[0]\nb = R.add(a, R.zeros((3,), 'float32'))\nreturn b", 5,
    ),
    "of what is too large": (
        "", "t0 = (x, x)\n"
        + "".join(f"t{n + 1} = (t{n}, t{n})\n" for n in range(13)) + "y = R.exp(t13)\nreturn y", 18,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", QUIET)
def test_what_follows_from_a_problem_is_quiet(name: str) -> None:
    others, lines, at = QUIET[name]
    main = "    @R.function\n    def main(x: R.Tensor((2,), 'float32')):\n"
    text = "@I.ir_module\nclass Module:\n" + others + main
    text += "".join(f"        {line}\n" for line in lines.split("\n"))
    assert [line for line, _ in errors(text)] == [at], rxe.check(text)


@pytest.mark.parametrize("text", ["x = = 1\n", "@R.function\ndef main(:\n", ""])
def test_a_text_of_which_nothing_can_be_read_has_its_problem(text: str) -> None:
    assert [item.code.id[:4] for item in rxe.check(text)] == ["RX00"]


CLOSURE = """
@I.ir_module
class Module:
    @R.function
    def bad(x: R.Tensor((2,), "float32")):
        v = R.add(x, nope)
        return v
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        @R.function
        def good(z: R.Tensor((2,), "float32")):
            return z
        @R.function
        def g(z: R.Tensor((2,), "float32")):
            w = R.add(z, R.zeros((5,), "float32"))
            return w
"""


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("a = g(x)", False),
        ("h = g\na = h(x)", False),
        ("h = (x, g)\nk = h[1]\na = k(x)", False),
        ("a = Module.bad(x)", False),
        ("h = Module.bad\na = h(x)", False),
        ("a = good(x)", True),
        ("h = good\na = h(x)", True),
    ],
)
def test_what_follows_from_a_function_of_unknown_result_is_quiet(call: str, told: bool) -> None:
    lines = [*call.splitlines(), "b = a[0]", "return b"]
    found = [code for _, code in errors(CLOSURE + "".join(f"        {line}\n" for line in lines))]
    assert found == ["RX0014", "RX0204", *(["RX0201"] if told else [])]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('def main(x: R.Bad(("n",), "float32")) -> R.Tensor(("n",), "float32"):\n    return x', ["RX0012"]),
        (
            'def main(x: R.Tensor((2,), "float32")):\n    n = T.int64()\n    y = R.match_cast(x, R.Bad((n,)))\n'
            '    z = R.zeros(R.shape([n]), "float32")\n    return z',
            ["RX0012"],
        ),
        (
            'def main(x: R.Tensor((2,), "float32")):\n    n = T.int64()\n    z = R.zeros(R.shape([n]), "float32")\n    return z',
            ["RX0105"],
        ),
    ],
    ids=["in the head", "in a cast", "nowhere"],
)
def test_a_length_that_could_not_be_read_is_not_missed(text: str, codes: list[str]) -> None:
    assert sorted({code for _, code in errors(f"@R.function\n{text}\n")}) == codes


@pytest.mark.parametrize("broken", ["nope_", "R.add(nope_)", "(1 +", "lambda: 0"])
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_binding_that_cannot_be_read_is_the_only_problem(path: Path, broken: str) -> None:
    tried, cases = 0, read(path)
    for case in cases:
        lines = case.program.splitlines()
        # The names that a match_shape binds would be missed, too.
        places = [n for n, line in enumerate(lines) if _CALL.match(line) and "match_shape" not in line]
        if not places or errors(case.program):
            continue
        at = places[len(places) // 2]
        lines[at] = _CALL.sub(lambda match: match[1] + broken, lines[at])
        found = errors("\n".join(lines))
        assert {line for line, _ in found} == {at + 1}, (case.name, found)
        tried += 1
    few = sum(bool(case.program) for case in cases) < 3  # such as a chapter about another notation
    assert tried or few or path.stem[:2] in ("08", "13"), "no program of the chapter was tried"


def test_a_parse_error_keeps_what_could_be_read() -> None:
    with pytest.raises(rxe.ParseError) as raised:
        rxe.parse('@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.add(x, z)\n    return y\n')
    assert len(raised.value.diagnostics) == 1
    assert list(raised.value.module.functions) == ["main"]
    assert rxe.check(raised.value.module) == []


HALF_READ = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        z = R.nosuch(x)
        u = R.exp(x)
        v = x.shape[0]
        y = R.zorb(x)
        return y

    @R.function
    def other(x: R.Tensor((2,), "float32")):
        z = R.nosuch(x)
        u = R.exp(x)
        return z
"""


@pytest.mark.parametrize("is_allowed", [False, True])
def test_an_unreadable_expression_hides_no_unknown_operator(is_allowed: bool) -> None:
    """Also not as a warning; only of unused values nothing is said where an unread part may use them."""
    found = rxe.check(HALF_READ, allow_unknown_ops=is_allowed)
    assert [(item.code.id, item.span.line) for item in found if item.span is not None] == [
        ("RX0016", 6), ("RX0011", 8), ("RX0016", 9), ("RX0016", 14), ("RX0301", 15),
    ]  # fmt: skip


CASTS = """
@I.ir_module
class M:
    @R.function
    def f(x: R.Tensor(("n",), "float32"), s: R.Shape(ndim=2)) -> R.Tensor(("n",), "float32"):
        return x

    @R.function
    def main(o: R.Object, q: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")):
        k, n = T.int64(), T.int64()
        a = {}
        s = R.shape([k, n])
        b: R.Tensor((k,), "float32") = R.zeros((k,), "float32")
        d = a(q)
        e = M.f(b, s)
        t = a[0]
        u = t(q)
        g = R.concat((b, b))
        h = R.match_cast(o, R.Callable((R.Tensor((k,), "float32"),), R.Tensor((k,), "float32")))
        v = h(q)

        @R.function
        def inner(r: R.Tensor((k,), "float32")) -> R.Tensor((k,), "float32"):
            l = a(R.add(r, b))
            return h(l)

        w = inner(q)
        if c:
            i = a
        else:
            i = h
        j = i(w)
        return (b, d, e, u, g, v, w, j)
"""


@pytest.mark.parametrize(
    "cast",
    [
        'R.match_cast(o, R.Tensor((n, k, n +), "float32"))',
        'R.match_cast(o, R.Tensor((n, k), "float32")',
        'R.match_cast(o, R.Tensor((n, k), "floaty"))',
        'R.match_cast(o, struct_info=R.Tensor((n, k, undefined), "float32"))',
        'R.match_cast(o, R.Callable((R.Tensor((k,), "float32"),), foo))',
        'R.match_cast(o, R.Callable((R.Tensor((k,), "float32"),), R.Tensor((n 1,), "float32")))',
        'R.match_cast(nope, R.Tensor((n, k), "float32"))',
    ],
)
def test_a_match_cast_that_cannot_be_read_is_the_only_problem(cast: str) -> None:
    assert {line for line, _ in errors(CASTS.format(cast))} == {11}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_followers_of_a_match_cast_with_a_broken_target_are_quiet(path: Path) -> None:
    for case in read(path):
        lines = case.program.splitlines()
        for at, line in enumerate(lines):
            code = line.split("  #")[0].rstrip()
            if "R.match_cast(" in line and code.endswith("))") and not errors(case.program):
                broken = "\n".join([*lines[:at], f"{code[:-2]} +))", *lines[at + 1 :]])
                assert {line for line, _ in errors(broken)} == {at + 1}, (case.name, code)
