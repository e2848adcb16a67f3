"""TopologicalSort keeps each binding after those that it reads, whatever the order."""

from __future__ import annotations

from itertools import product

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from tests.support.random_programs import random_program

OPTIONS = [
    {"order": order, "direction": direction}
    for order, direction in product(("depth-first", "breadth-first"), ("from-inputs", "from-outputs"))
]


def program(lines: str, params: str, result: str) -> rxe.IRModule:
    block = "".join(f"        {line}\n" for line in lines.splitlines())
    outputs = result.strip("()")
    return rxe.normalize(
        rxe.parse(f"@R.function\ndef main({params}):\n    with R.dataflow():\n{block}        R.output({outputs})\n    return {result}\n")
    )  # fmt: skip


def order(module: rxe.IRModule, **options: str) -> str:
    result = rxe.apply_pass(module, "TopologicalSort", **options)
    assert rxe.normalize(result) is result
    assert rxe.well_formed(result)
    return " ".join("-" if b.var is None else b.var.name for b in bindings(result["main"]))


def test_a_cast_to_a_known_length_holds_nothing_up() -> None:
    lines = (
        'z = R.zeros(R.shape([n]), "float32")\na = R.exp(x)\nm = R.match_cast(y, R.Tensor((n,), "float32"))'
    )
    given = 'x: R.Tensor(("n",), "float32"), y: R.Tensor("float32", ndim=1)'
    block = "".join(f"        {line}\n" for line in lines.splitlines())
    text = f"@R.function\ndef main({given}):\n    n = T.int64()\n    with R.dataflow():\n{block}        R.output(z, a, m)\n    return (z, a, m)\n"
    assert order(rxe.normalize(rxe.parse(text)), order="breadth-first") == "z a m"


XY = 'x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")'
LINES = "a = R.exp(x)\nb = R.exp(y)\nc = R.sin(a)\nd = R.sin(b)\ne = R.add(c, d)\nf = R.cos(a)"


@pytest.mark.parametrize(
    ("options", "expected"),
    list(zip(OPTIONS, ["a c f b d e", "a c b d e f", "a b c f d e", "b a d c f e"], strict=True)),
)
def test_the_orders(options: dict[str, str], expected: str) -> None:
    assert order(program(LINES, XY, "(e, f)"), **options) == expected


@pytest.mark.parametrize("kind", ["depth-first", "breadth-first"])
def test_a_search_from_inputs_begins_with_the_first_parameter(kind: str) -> None:
    assert order(program("a = R.exp(y)\nb = R.exp(x)", XY, "(a, b)"), order=kind) == "b a"


def test_a_deep_search_from_outputs_takes_the_last_of_equal_operands() -> None:
    module = program("a = R.exp(x)\nb = R.exp(y)\nc = R.ewise_fma(a, b, a)", XY, "c")
    assert order(module, direction="from-outputs") == "b a c"


@pytest.mark.parametrize("options", OPTIONS)
def test_a_length_is_bound_before_it_is_used(options: dict[str, str]) -> None:
    lines = """b = R.exp(y)
m = R.match_cast(x, R.Tensor((n,), "float32"))
z = R.zeros(R.shape([n]), "float32")
k = R.call_pure_packed("f", y, sinfo_args=R.Tensor((n,), "float32"))
j = R.call_pure_packed("f", R.shape([n]), sinfo_args=R.Tensor((2,), "float32"))
R.match_cast(y, R.Tensor((n,), "float32"))
q = R.exp(z)"""
    given = 'x: R.Tensor("float32", ndim=1), y: R.Tensor((2,), "float32")'
    module = rxe.normalize(
        rxe.parse(
            f"@R.function\ndef main({given}):\n    n = T.int64()\n    with R.dataflow():\n"
            + "".join(f"        {line}\n" for line in lines.splitlines())
            + "        R.output(q, k, j, b)\n    return (q, k, j, b)\n"
        )
    )
    names = order(module, **options).split()
    assert names.index("m") < min(names.index(name) for name in ("z", "k", "j", "-"))


@pytest.mark.parametrize("options", OPTIONS)
def test_random_programs_stay_well_formed(options: dict[str, str]) -> None:
    count = 0
    for seed in range(60):
        try:
            module = rxe.normalize(rxe.parse(random_program(seed)))
        except rxe.Failure:
            continue
        result = rxe.apply_pass(module, "TopologicalSort", **options)
        if rxe.well_formed(module):
            assert rxe.well_formed(result)
            assert (
                rxe.apply_pass(result, "TopologicalSort", **options) is result
                or "breadth" in options["order"]
            )
        for name, fn in module.relax_functions.items():
            assert set(bindings(fn, nested=False)) >= {
                b for b in bindings(result[name], nested=False) if type(b.value).__name__ == "Call"
            }
        count += 1
    assert count > 20


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("body", ["v = R.add(q, p)\nreturn z", "v = R.add(z, p)\nu = g(v)\nreturn u"])
def test_a_function_stays_behind_what_it_captures(body: str, options: dict[str, str]) -> None:
    given = 'z: R.Tensor((2,), "float32")'
    inner = "".join(f"    {line}\n" for line in body.splitlines())
    lines = (
        's = R.zeros(R.shape([2]), "float32")\np = R.exp(s)\nq = R.exp(y)\n@R.function\n'
        f'def g({given}) -> R.Tensor((2,), "float32"):\n{inner}a = g(x)\nc = R.exp(p)'
    )
    names = order(program(lines, XY, "(a, c, p, q)"), **options).split()
    captured = ("p", "q") if "q" in body else ("p",)
    assert names.index("g") > max(names.index(name) for name in captured)


def test_a_block_that_has_the_order_is_the_same_object() -> None:
    module = program("a = R.exp(x)\nc = R.sin(a)\nb = R.exp(y)", XY, "(c, b)")
    assert rxe.apply_pass(module, "TopologicalSort") is module
    assert rxe.apply_pass(module, "TopologicalSort", order="breadth-first") is not module


@pytest.mark.parametrize("options", [{"order": "deep"}, {"direction": "in"}])
def test_other_orders_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(rxe.Failure, match=r"is 'deep'|is 'in'") as caught:
        rxe.apply_pass(program(LINES, XY, "(e, f)"), "TopologicalSort", **options)
    assert caught.value.diagnostics[0].code.id == "RX0404"
