"""A lifted function that differs from the nested one in names only keeps its StructInfo; others get theirs by inference."""

from __future__ import annotations

from textwrap import indent

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.normalize_function import FunctionNormalizer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import forget, has_facts
from relax_explorer.core.passes.contract import PassSite, infer_again
from relax_explorer.core.passes.pipeline import run, steps
from relax_explorer.core.phases.module_properties import CLOSURES_CONVERTED, WELL_FORMED
from relax_explorer.core.program.module import IRModule
from tests.support.copies import with_new_body

FLAT = 'R.Tensor((4,), "float32")'


def _program(
    body: str,
    shape: str = "(4,)",
    pure: bool | None = None,
    result: str = "",
    other: str = "",
    takes: str = "",
) -> str:
    """A module with a function that holds and calls another one."""
    of = f'R.Tensor({shape}, "float32")'
    head = "    @R.function\n" if pure is None else f"    @R.function(pure={pure})\n"
    return (
        f"@I.ir_module\nclass M:\n{other}{head}    def main(x: {of}, c: R.Tensor((), 'bool'){takes}){result}:\n"
        "        two = (x, x)\n        lengths = R.shape_of(x)\n"
        "        held = R.match_cast(x, R.Tensor(lengths, 'float32'))\n"
        f"    {head}        def f(p: {of}{takes}){result}:\n{indent(body, ' ' * 12)}\n"
        f"        return f(x{', k' if takes else ''})\n"
    )


def _using(*lines: str) -> str:
    """A module with a function that captures something, and lines that use it."""
    return _program("return R.add(p, x)").replace(
        "        return f(x)\n", indent("\n".join(lines), " " * 8) + "\n"
    )


BRANCH = "if c:\n    y = {}\nelse:\n    y = p\nreturn y"
CLOSURES = f", k: R.Tuple(R.Callable(({FLAT},), {FLAT}), {FLAT})"
TAKES_CLOSURE = (
    f"@R.function\ndef g(k: R.Callable(({FLAT},), {FLAT})) -> {FLAT}:\n    return R.add(k(x), x)",
)
GIVES_CLOSURE = f"""    @R.function
    def made(x: {FLAT}):
        @R.function
        def g(q: {FLAT}) -> {FLAT}:
            return R.add(q, x)
        return (g, x)
"""
# Programs, each with the number of functions whose StructInfo is derived again.
PROGRAMS = {
    "captured": (_program("return R.add(p, x)"), 0),
    "nothing captured": (_program("return R.add(p, p)"), 0),
    "no binding": (_program("return x"), 0),
    "a tuple": (_program("t = (p, x)\nreturn (t, t[0])"), 0),
    "a branch": (_program(BRANCH.format("R.exp(x)")), 2),
    "an effect": (_program('q = R.print(x, format="{}")\nreturn p', pure=False), 0),
    "a cast": (_program(f"y = R.match_cast(x, {FLAT})\nreturn y"), 2),
    "an undeclared effect": (_program('q = R.print(x, format="{}")\nreturn p'), 2),
    "a length": (_program("return R.add(p, x)", '("n",)'), 0),
    "a length that ends": (_program("return R.sum(R.add(p, x))", '("n",)'), 0),
    "a length that no argument tells": (
        _program("return R.zeros(R.shape([n]), 'float32')", '("n",)').replace(
            "f(p: " + 'R.Tensor(("n",)', "f(p: R.Tensor((4,)"
        ),
        0,
    ),
    "a length bound inside": (
        _program(
            'k = T.int64()\ny = R.match_cast(p, R.Tensor((k,), "float32"))\nreturn R.add(y, y)', '("n",)'
        ),
        2,
    ),
    "an unknown shape": (_program("return R.add(p, x)", "None"), 2),
    "a captured tuple": (_program("return R.add(p, two[0])"), 2),
    "a captured shape": (_program("return R.reshape(p, lengths)"), 2),
    "a shape that a variable holds": (_program("return R.add(p, held)"), 2),
    "itself": (_program(BRANCH.format("f(x)"), result=f" -> {FLAT}"), 2),
    "the function around": (_program(BRANCH.format("M.main(x, c)"), result=f" -> {FLAT}"), 2),
    "the function around, after an effect": (
        _program('q = R.print(x, format="{}")\n' + BRANCH.format("M.main(x, c)"), result=f" -> {FLAT}"),
        4,
    ),
    "a declared function around, after an effect": (
        _program(
            'q = R.print(x, format="{}")\n' + BRANCH.format("M.main(x, c)"), result=f" -> {FLAT}"
        ).replace("    @R.function\n    def main", "    @R.function(pure=False)\n    def main"),
        3,
    ),
    "a function inside": (
        _program(f"@R.function\ndef g(q: {FLAT}):\n    return R.add(q, p)\nreturn g(x)"),
        3,
    ),
    "a function that gives a closure": (_program("t = M.made(x)\nreturn t", other=GIVES_CLOSURE), 4),
    "a given closure": (_program("h = k[0]\nreturn h(p)", takes=CLOSURES), 0),
    "a given closure that it returns": (_program("return k", takes=CLOSURES), 2),
    "a length without a name": (_program("return R.add(p, p)", "(R.any_dim,)"), 2),
    "a closure in a tuple": (_using("t = (f, x)", "return t[1]"), 2),
    "a closure under another name": (_using("g = f", "return g(x)"), 0),
    "a closure as an argument": (_using("y = f(x)", *TAKES_CLOSURE, "return g(f)"), 0),
    "a closure of a branch": (_using("if c:", "    h = f", "else:", "    h = f", "return h(x)"), 2),
    "a closure that is checked": (_using("h = R.match_cast(f, R.Callable)", "return h"), 2),
    "a closure that is returned": (_using("return f"), 2),
    "a closure behind an annotation": (_using("return f").replace("'bool')):", "'bool')) -> R.Any:"), 2),
    "a given closure beside another one": (
        _using("g = k[0]", "y = g(x)", "return f(x)").replace("'bool')):", f"'bool'){CLOSURES}):"),
        0,
    ),
    "a captured length without a name": (_program("return R.add(p, x)", "(R.any_dim,)"), 2),
    "two functions around": (_program("return R.add(p, x)", other=GIVES_CLOSURE), 4),
    "a closure that only another one calls": (
        _using(f"@R.function\ndef g(q: {FLAT}):\n    return f(q)", "return g(x)"),
        3,
    ),
}


def _counted_runs(monkeypatch: pytest.MonkeyPatch) -> list[e.Function]:
    """The functions whose StructInfo is derived from now on."""
    run, runs = FunctionNormalizer.run, list[e.Function]()

    def counted(normalizer: FunctionNormalizer, fn: e.Function) -> e.Function:
        runs.append(fn)
        return run(normalizer, fn)

    monkeypatch.setattr(FunctionNormalizer, "run", counted)
    return runs


@pytest.mark.parametrize("kind", PROGRAMS)
def test_what_is_lifted_has_the_struct_info_that_follows(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, count = PROGRAMS[kind]
    module = rxe.normalize(rxe.parse(text, experimental="any_dim" in text))
    runs = _counted_runs(monkeypatch)
    after, _ = rxe.passes.get("LambdaLift").apply(module)
    assert len(runs) == count
    copies = {name: with_new_body(fn) for name, fn in after.functions.items()}
    derived = rxe.normalize(IRModule(copies, after.attrs))
    assert derived.script() == after.script()
    assert [fn.struct_info for fn in derived.relax_functions.values()] == [
        fn.struct_info for fn in after.relax_functions.values()
    ]


CALLS = f"""
@I.ir_module
class M:
    @R.function(private=True)
    def f(x: {FLAT}):
        return R.exp(x)
    @R.function
    def main(x: {FLAT}):
        return M.f(x)
"""


@pytest.mark.parametrize(("result", "derived"), [(FLAT, 0), ("R.Tensor((4,))", 2)])
def test_callers_are_derived_again_unless_a_new_function_keeps_its_signature(
    result: str, derived: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = rxe.normalize(rxe.parse(CALLS))
    other = rxe.normalize(rxe.parse(CALLS.replace(f"(x: {FLAT}):", f"(x: {FLAT}) -> {result}:", 1)))
    runs = _counted_runs(monkeypatch)
    site = PassSite(module)
    site.editor.replace("f", with_new_body(other["f"]))
    after = infer_again(site.editor.done(), site)
    assert len(runs) == derived
    assert after["main"].body.body.struct_info is other["main"].body.body.struct_info


@pytest.mark.parametrize(
    ("body", "converted"),
    [
        ("return R.add(p, x)", False),
        ("return R.add(p, p)", True),
        ("q = f(p)\nreturn q", True),  # a function may read its own name
        ("q = f(x)\nreturn q", False),
        (f"@R.function\ndef g(q: {FLAT}) -> {FLAT}:\n    return R.add(q, p)\nreturn g(p)", False),
    ],
)
def test_closures_are_converted_when_no_nested_function_captures(body: str, converted: bool) -> None:
    module = rxe.normalize(rxe.parse(_program(body, result=f" -> {FLAT}")))
    assert CLOSURES_CONVERTED.holds(module) is converted
    lifted = next(run(module, steps("LambdaLift")))
    assert CLOSURES_CONVERTED in lifted.holding(())
    assert CLOSURES_CONVERTED.holds(lifted.module)


def test_only_a_function_that_captures_lengths_alone_has_its_uses_listed() -> None:
    counted = set()
    for kind, (text, _) in PROGRAMS.items():
        module = rxe.normalize(rxe.parse(text, experimental="any_dim" in text))
        for fn in module.relax_functions.values():
            forget(fn)
        rxe.passes.get("LambdaLift").apply(module)
        if any(map(has_facts, module.relax_functions.values())):
            counted.add(kind)
    assert counted == {"a length bound inside"}


def test_a_function_that_nothing_calls_is_given_its_lengths() -> None:
    """Its parameters do not tell `m`."""
    text = """@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
    @R.function
    def unread(z: R.Tensor(("n",), "float32")) -> R.Tensor(("m",), "float32"):
        w = R.match_cast(z, R.Tensor(("m",), "float32"))
        return w
    @R.function
    def told(z: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        return z
    return x
"""
    module = rxe.normalize(rxe.parse(text))
    lifted = next(run(module, steps("LambdaLift"), [WELL_FORMED])).module
    params = {
        name: [str(p.struct_info) for p in fn.params[1:]] for name, fn in lifted.relax_functions.items()
    }
    assert params["main_unread"] == ["R.Shape([n, m])"], lifted.script()
    assert params["main_told"] == []


PLAIN = f"@R.function\ndef g(q: {FLAT}) -> {FLAT}:\n    return R.add(q, q)"
READER = f"@R.function\ndef o(q: {FLAT}) -> {FLAT}:\n    return k(q)"


def _with_plain(*lines: str) -> str:
    """A module with a nested function `g` that captures nothing, and lines that use it."""
    return (
        f"@I.ir_module\nclass M:\n    @R.function\n    def main(x: {FLAT}, c: R.Tensor((), 'bool'), t: R.Tuple({FLAT},"
        f" R.Callable(({FLAT},), {FLAT}))):\n{indent(PLAIN, ' ' * 8)}\n{indent(chr(10).join(lines), ' ' * 8)}\n"
    )


@pytest.mark.parametrize(
    ("lines", "invoked"),
    [
        (("k = g", "return k(x)"), 0),
        (("k = g", READER, "return o(k(x))"), 1),
        (("s = (g, (x, g))", "u = s[1]", "k = u[1]", "return k(x)"), 0),
        (("if c:", "    k = g", "else:", "    k = t[1]", "return k(x)"), 0),
        (("k = t[1]", "return k(x)"), 0),
        ((f'k = R.call_packed("make", x, sinfo_args=R.Callable(({FLAT},), {FLAT}))', "return k(x)"), 0),
        ((f'k = R.call_pure_packed("make", x, sinfo_args=R.Callable(({FLAT},), {FLAT}))', "return k(x)"), 0),
        ((*READER.replace("k(q)", "R.add(q, x)").split("\n"), "if c:", "    k = g", "else:", "    k = o", "return k(x)"), 1),
        ((*READER.replace("k(q)", "R.add(q, x)").split("\n"), "s = (g, (x, o))", "u = s[1]", "k = u[1]", "return k(x)"), 1),
        ((*PLAIN.replace("g(", "r(").split("\n")[:2], "    h = r", "    return h(q)", "return r(x)"), 0),
        ((*PLAIN.replace("g(", "r(").split("\n")[:2], "    h = r", "    return h(x)", "return r(x)"), 2),
    ],
)  # fmt: skip
def test_only_what_may_be_a_closure_is_invoked_as_one(lines: tuple[str, ...], invoked: int) -> None:
    module = rxe.normalize(rxe.parse(_with_plain(*lines)))
    text = rxe.apply_pass(module, "LambdaLift").script()
    assert text.count("invoke_pure_closure(") == invoked, text


LENGTHS = """
@I.ir_module
class M:
    @R.function
    def made(x: R.Tensor(("n",), "float32")) -> R.Tuple(R.Callable((R.Tensor(("n",), "float32"),), R.Tensor(("n",), "float32")), R.Object):
        n = T.int64()
        @R.function
        def g(q: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            h = g
            return LINE
        return (g, x)
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        t = M.made(x)
        s = (t, x)
        u = s[0]
        k = u[0]
        return k(x)
"""


@pytest.mark.parametrize(("line", "invoked"), [("h(q)", 2), ("q", 1)])
def test_a_closure_goes_through_tuples_and_captures_lengths(line: str, invoked: int) -> None:
    module = rxe.normalize(rxe.parse(LENGTHS.replace("LINE", line)))
    text = rxe.apply_pass(module, "LambdaLift").script()
    assert text.count("invoke_pure_closure(") == invoked, text


def test_a_function_that_captures_nothing_passes_itself_on_by_its_name() -> None:
    lines = (*PLAIN.replace("g(", "r(").split("\n")[:2], "    h = r", "    return h(q)", "return r(x)")
    text = rxe.apply_pass(rxe.normalize(rxe.parse(_with_plain(*lines))), "LambdaLift").script()
    assert "= cls.main_r\n" in text
    assert "make_closure" not in text
