"""The work of functions: calls with other lengths, branches, recursion, closures, and code that is not shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import relax_explorer as rxe
from relax_explorer.core.cost import amounts


def program(*functions: str) -> rxe.IRModule:
    text = "\n".join(functions)
    return rxe.parse("@I.ir_module\nclass M:\n" + "".join(f"    {line}\n" for line in text.split("\n")))


HELPER = """@R.function(private=True)
def helper(x: R.Tensor(("k", 4), "float32")) -> R.Tensor(("k", 4), "float32"):
    y = R.exp(x)
    z = R.add(y, x)
    return z"""


def test_calls_have_the_work_of_the_callee_for_their_lengths() -> None:
    main = """@R.function
def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((10, 4), "float32")):
    a = M.helper(x)
    b = M.helper(w)
    c = M.helper(a)
    return (b, c)"""
    cost = rxe.cost(program(HELPER, main))
    assert str(cost.flops) == "16·n + 80"
    assert str(cost.functions) == "8·n + 40"
    assert [row.calls for row in cost.bindings] == ["helper"] * 3
    assert str(rxe.cost(program(HELPER, main), "helper").flops) == "8·k"


IF = """@R.function
def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
    if c:
        a = {}
        y = a
    else:
        b = {}
        y = b
    return y"""


@pytest.mark.parametrize("branches", [("R.exp(R.add(x, x))", "R.exp(x)"), ("R.exp(x)", "R.exp(R.add(x, x))")])
def test_an_if_has_the_work_of_its_costlier_branch_and_names_the_other(branches: tuple[str, str]) -> None:
    cost = rxe.cost(program(IF.format(*branches)))
    assert str(cost.flops) == "8·n"
    assert len(cost.at_most) == 1
    assert "4·n FLOPs" in cost.at_most[0]
    assert {row.branch for row in cost.bindings if row.branch} == {"then of y", "else of y"}


def test_equal_branches_need_no_remark() -> None:
    assert rxe.cost(program(IF.format("R.exp(x)", "R.log(x)"))).at_most == ()


def test_recursion_is_unknown_and_its_first_call_is_counted() -> None:
    text = """@R.function
def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
    e = R.exp(x)
    if c:
        y = M.main(e, c)
    else:
        y = e
    return y"""
    cost = rxe.cost(program(text))
    assert str(cost.flops) == "n"
    assert any("main calls itself" in reason for reason in cost.unknown)


def test_mutual_recursion_gives_each_function_the_same_answer_in_any_order() -> None:
    def half(name: str, other: str) -> str:
        return f"""@R.function
def {name}(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
    e = R.exp(x)
    if c:
        y = M.{other}(e, c)
    else:
        y = e
    return y"""

    module = program(half("main", "other"), half("other", "main"))
    both = [str(rxe.cost(module, name).flops) for name in ("main", "other")]
    again = [str(rxe.cost(module, name).flops) for name in ("other", "main")]
    assert both == again == ["n", "n"]


def test_recursion_through_a_local_function_is_found() -> None:
    text = """@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    @R.function
    def inner(y: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        z = R.exp(y)
        w = M.main(z)
        return w
    a = inner(x)
    return a"""
    cost = rxe.cost(program(text))
    assert str(cost.flops) == "n"
    assert any("main calls itself" in reason for reason in cost.unknown)
    assert any("memory of" in reason for reason in cost.unknown)


def test_chains_of_calls_may_be_long_and_functions_may_be_called_often() -> None:
    def function(number: int, calls: int) -> str:
        first = f"M.f{number - 1}(x)" if number else "R.exp(x)"
        more = [f"    y{n} = M.f{number - 1}(y{n - 1})" for n in range(1, calls)] if number else []
        lines = "\n".join([f"    y0 = {first}", *more])
        head = f'@R.function(private=True)\ndef f{number}(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):'
        return f"{head}\n{lines}\n    return y{len(more)}"

    long = program(*[function(number, 1) for number in range(500)])
    assert str(rxe.cost(long, "f499").flops) == "n"
    often = program(*[function(number, 3) for number in range(20)])
    cost = rxe.cost(often, "f19")
    assert cost.flops.at(n=1) == 3**19
    assert cost.peak.amount


def test_a_local_function_counts_where_it_is_called_not_where_it_is_made() -> None:
    text = """@R.function
def main(x: R.Tensor(("n",), "float32")):
    @R.function
    def inner(y: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        z = R.exp(y)
        return z
    {}
    return x"""
    assert str(rxe.cost(program(text.format("a = inner(x)\n    b = inner(a)"))).flops) == "2·n"
    assert str(rxe.cost(program(text.format("a = x"))).flops) == "0"


def test_packed_functions_have_bytes_and_no_flops_that_are_known() -> None:
    text = """@R.function
def main(x: R.Tensor(("n",), "float32")):
    y = R.call_dps_packed("mine", (x,), out_sinfo=R.Tensor(("n",), "float32"))
    z = R.exp(y)
    return z""".replace('out_sinfo=R.Tensor(("n",)', "out_sinfo=R.Tensor((n,)").replace(
        "    y =", "    n = T.int64()\n    y ="
    )
    cost = rxe.cost(program(text))
    assert (str(cost.flops), str(cost.moved)) == ("n", "16·n")
    assert [reason for reason in cost.unknown if "mine" in reason] == ["FLOPs of mine"]


def test_an_unknown_shape_is_told_and_is_no_zero() -> None:
    text = '@R.function\ndef main(x: R.Tensor(dtype="float32", ndim=2)):\n    y = R.exp(x)\n    return y'
    cost = rxe.cost(program(text))
    assert any("relax.exp" in reason for reason in cost.unknown)


def test_lengths_of_match_cast_are_variables_of_the_cost() -> None:
    text = """@R.function
def main(x: R.Tensor(dtype="float32", ndim=1)):
    m = T.int64()
    y = R.match_cast(x, R.Tensor((m,), "float32"))
    z = R.exp(y)
    return z"""
    cost = rxe.cost(program(text), shape={"m": 7})
    assert (str(cost.flops), cost.flops.value) == ("m", 7)


def test_amounts_tell_their_variables_and_their_values() -> None:
    text = '@R.function\ndef main(x: R.Tensor(("n", "m"), "float32")):\n    y = R.add(x, x)\n    return y'
    cost = rxe.cost(program(text))
    assert set(cost.flops.variables) == {"n", "m"}
    assert (cost.flops.value, cost.flops.at(n=3), cost.flops.at(n=3, m=5)) == (None, None, 15)
    given = rxe.cost(program(text), shape={"n": 3, "m": 5})
    assert given.flops.value == 15
    assert given.intensity == pytest.approx(15 / (8 * 15))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda module: rxe.cost(module, "nobody"),
        lambda module: rxe.cost(module, shape={"q": 1}),
    ],
)
def test_wrong_names_are_refused_with_a_diagnostic(wrong: Callable[[rxe.IRModule], object]) -> None:
    with pytest.raises(rxe.Failure) as caught:
        wrong(program(HELPER))
    assert caught.value.diagnostics[0].help


def test_what_is_no_module_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        rxe.cost("model.py")  # type: ignore[attr-defined]  # the mistake


def test_an_operand_that_a_kernel_gets_twice_is_read_once() -> None:
    text = '@R.function\ndef main(x: R.Tensor(("n",), "float32"), w: R.Tensor(("n",), "float32")):\n    y = R.add(x, {})\n    return y'
    for module in (program(text.format("x")), rxe.apply_pass(program(text.format("x")), "LegalizeOps")):
        assert str(rxe.cost(module).read) == "4·n"
    assert str(rxe.cost(program(text.format("w"))).read) == "8·n"


def test_the_text_of_an_amount_puts_high_degrees_first_and_names_powers() -> None:
    head = '@R.function\ndef main(x: R.Tensor(("n", "n"), "float32"), y: R.Tensor(("n",), "float32")):\n'
    text = f"{head}    a = R.matmul(x, x)\n    b = R.exp(y)\n    return (a, b)"
    cost = rxe.cost(program(text))
    assert str(cost.flops) == "2·n³ + n"
    assert amounts.text({}) == "0"
