"""Programs with one mistake each have TVM's verdict in the profile `tvm`; `python -m tests.oracle.mistakes` asks about many."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.oracle import mistakes
from tests.oracle.mistake_reasons import REASONS
from tests.oracle.mistakes import compare, explanation, our_codes, tvm_words
from tests.support.oracle import Oracle

LEAST = 99.8
"""The least share of equal verdicts on the programs that are changed, in percent."""
PAGES = 3
"""The programs of pages of codes that TVM accepts: rules that only our language has."""
HEAD = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32"), r: R.Tensor((), "float32")):
        n = T.int64()
"""
KERNEL = """    @T.prim_func(private=True)
    def k(a: T.handle):
        A = T.match_buffer(a, (2,), "float32")
        B = T.match_buffer(a, (2,), "float32")
        A[0] = B[1]
"""
WIDER = """    @R.function
    def g(x: R.Tensor((2,), "float32")) -> R.Tensor(dtype="float32", ndim=1):
        return x
    @R.function
    def f(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return x
    @R.function
    def h(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        return x
"""
CONTRADICTED = """    @R.function
    def double(x: R.Tensor((2,), "float32")) -> R.Tensor((3,), "float32"):
        return x
    @R.function
    def apply(f: R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32")), x: R.Tensor((2,), "float32")):
        r = f(x)
        return r
"""
NESTED = """        with R.dataflow():
            s = R.zeros(R.shape([2]), "float32")
            p = R.exp(s)
            q = R.exp(x)
            @R.function
            def g(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "uint8"):
                v = R.add(q, p)
                return z
            a = g(x)
            R.output(a, p, q)
"""
OWN = """        with R.dataflow():
            k = T.int64()
            m = R.match_cast(x, R.Tensor((k,), "float32"))
            R.output(m)
        c = R.zeros((k,), "float32")
"""
PROGRAMS = {
    "nothing of the text": HEAD + "        y = [i for i in range(3)]\n        return x\n",
    "widths that no": HEAD.replace('(2,), "float32"', '(2,), "float99"') + "        return x\n",
    "a parameter that is matched": HEAD + "        return x\n" + KERNEL,
    "a nested function whose": HEAD + NESTED + "        return a\n",
    "a number beside": HEAD + "        y = Module.h(R.add(r, 2.0))\n        return x\n" + WIDER,
    "a return annotation that is wider": HEAD.replace("    @R.function\n", WIDER + "    @R.function\n")
    + "        y = Module.f(Module.g(x))\n        return x\n",
    "a function that is cast": HEAD.replace(
        'r: R.Tensor((), "float32")', "f: R.Callable((R.Shape,), R.Object)"
    )
    + "        g = R.match_cast(f, R.Callable((R.Tensor,), R.Object))\n        return x\n",
    "an annotation that is wider": HEAD
    + '        z: R.Tensor("float32") = x\n        w: R.Tensor("float32", ndim=2) = z\n        return x\n',
    "call_packed with": HEAD.replace("@R.function", "@R.function(pure=False)")
    + '        y = R.call_packed("f", x, sinfo_args=R.Tensor((2,), "float32"))\n        z = R.exp(y)\n        return x\n',
    "functions of Python": HEAD
    + '        s = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), str("global"), R.dtype("uint8"))\n        return x\n',
    "a text in place of lengths": HEAD.replace('r: R.Tensor((), "float32")', 's: R.Shape("m")')
    + "        return x\n",
    "a window that fits": HEAD.replace(
        "x: R", 'i: R.Tensor((1, 1, 8, 8), "float32"), w: R.Tensor((1, 1, 3, 99), "float32"), x: R'
    )
    + '        y = R.nn.conv2d(i, w)\n        z = R.zeros((1, 1, 6, 6), "float32")\n'
    + "        u = R.reshape(z, R.shape_of(y))\n        return x\n",
    "a return annotation that the result": HEAD.replace(
        "    @R.function\n", CONTRADICTED + "    @R.function\n"
    )
    + "        y = Module.apply(Module.double, x)\n        return x\n",
    "words that TVM reads": HEAD + '        y = R.nn.pad(x, [1, 1], pad_mode="edges")\n        return x\n',
    "an element type without": HEAD + '        y = R.zeros((2,), dtype="")\n        return x\n',
    "a length that a dataflow": HEAD + OWN + "        return x\n",
}
"""Programs with one of the constructs, by the beginnings of the reasons."""


@pytest.fixture
def words(oracle: Oracle) -> mistakes.Verdicts:
    """Asks for both verdicts."""
    return lambda text: (our_codes(text), tvm_words(oracle, text))


def test_verdicts_on_programs_with_one_mistake(oracle: Oracle, mistake_counts: Counter[str]) -> None:
    table = compare(oracle, 800, 4800)
    for kind, row in table.items():
        mistake_counts[f"{kind}|equal"] += row.equal
        mistake_counts[f"{kind}|explained"] += row.explained.total()
    assert [text for row in table.values() for text in row.unexplained] == []
    assert table.pop("pages of codes").explained.total() == PAGES
    asked, equal = sum(row.asked for row in table.values()), sum(row.equal for row in table.values())
    assert 100 * equal / asked >= LEAST


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_reason_is_about_its_construct_and_excuses_no_second_difference(
    name: str, words: mistakes.Verdicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PROGRAMS[name]
    codes, theirs = words(text)
    found = explanation(text, " ".join(codes) or "accept", theirs, words)
    assert found is not None, (codes, theirs)
    assert found.text.startswith(name)
    # The same program with a second difference: an operator that our checker does not see, or that TVM does not.
    second = re.sub(r"(        n = T.int64\(\)\n)", r"\1        w_ = R.nope(x)\n", text)
    assert second != text

    def half_blind(other: str) -> tuple[list[str], str]:
        ours, others = words(other)
        if theirs == "accept":
            return ours, "accept"  # TVM would accept the operator, too
        return [code for code in ours if code not in ("RX0016", "RX0014")], others

    assert explanation(second, " ".join(codes) or "accept", theirs, half_blind) is None


def test_each_reason_has_a_program_or_is_seen_in_the_pages() -> None:
    tried = {reason.text for reason in REASONS if reason.text.startswith(tuple(PROGRAMS))}
    assert len(tried) == len(PROGRAMS)
