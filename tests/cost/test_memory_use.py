"""The lives of values and storages over the bindings: peaks, who holds them, and what a plan wastes."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.program_cost import Cost


def main(body: str, params: str = 'x: R.Tensor(("n",), "float32")', more: str = "") -> rxe.IRModule:
    lines = "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
    return rxe.parse(f"@I.ir_module\nclass M:\n    @R.function\n    def main({params}):\n{lines}{more}")


def spans(cost: Cost) -> dict[str, list[tuple[int, int]]]:
    return {life.name: list(life.spans) for life in cost.memory.owners}


def held(cost: Cost) -> list[str]:
    return [amounts.text(poly) for poly in cost.memory.held]


def test_a_value_lives_from_its_binding_to_its_last_reader() -> None:
    cost = rxe.cost(main("a = R.exp(x)\nb = R.exp(a)\nc = R.exp(b)\nd = R.add(a, c)\nreturn d"))
    assert spans(cost) == {"a": [(1, 4)], "b": [(2, 3)], "c": [(3, 4)], "d": [(4, 4)]}
    assert held(cost) == ["4·n", "8·n", "12·n", "12·n"]
    assert (cost.peak.step, str(cost.amount(cost.peak.amount))) == (3, "12·n")
    assert {life.name for life in cost.peak.holders} == {"a", "b", "c"}
    assert str(cost.allocated) == "16·n"


def test_results_live_to_the_end_and_parameters_are_no_part_of_it() -> None:
    cost = rxe.cost(main("a = R.exp(x)\nb = R.exp(x)\nreturn (a, b)"))
    assert spans(cost) == {"a": [(1, 2)], "b": [(2, 2)]}
    assert amounts.text(cost.memory.inputs) == "4·n"


@pytest.mark.parametrize("view", ["R.reshape(a, (1, n))", "R.reshape(R.reshape(a, (1, n)), (n,))", "a"])
def test_views_and_copies_of_a_variable_keep_its_memory(view: str) -> None:
    cost = rxe.cost(main(f"n = T.int64()\na = R.exp(x)\nv = {view}\nb = R.exp(x)\nc = R.exp(v)\nreturn c"))
    names = spans(cost)
    assert list(names) == ["a", "b", "c"]
    last = len(cost.memory.bindings)
    assert names["a"] == [(1, last)]
    assert names["b"] == [(last - 1, last - 1)]


def test_fields_of_tuples_live_by_themselves() -> None:
    body = "t = R.split(x, 2, axis=0)\nu = t[0]\nv = R.exp(u)\nw = t[1]\ny = R.exp(w)\nreturn y"
    cost = rxe.cost(main(body, 'x: R.Tensor((8,), "float32")'))
    assert spans(cost)["t[0]"] == [(1, 3)]
    assert spans(cost)["t[1]"] == [(1, 5)]


def test_a_branch_does_not_hold_what_the_other_one_makes() -> None:
    body = """if c:
    a = R.exp(x)
    y = R.exp(a)
else:
    b = R.exp(x)
    y = R.exp(b)
z = R.exp(y)
return z"""
    cost = rxe.cost(main(body, 'x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")'))
    assert str(cost.amount(cost.peak.amount)) == "8·n"
    choices = [life for life in cost.memory.owners if life.is_choice]
    assert [(life.name, list(life.spans)) for life in choices] == [("y", [(6, 6)])]
    assert str(cost.allocated) == "20·n"
    assert cost.peak.value is None
    assert rxe.cost(cost.module, shape={"n": 10}).peak.value == 80


def test_the_result_of_a_branch_is_not_there_while_the_other_one_runs() -> None:
    body = """if c:
    y = R.exp(x)
else:
    b = R.exp(x)
    d = R.exp(b)
    y = x
z = R.exp(y)
return z"""
    cost = rxe.cost(main(body, 'x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")'))
    (split,) = [life for life in cost.memory.owners if len(life.spans) == 2]
    assert list(split.spans) == [(2, 2), (5, 5)]
    assert held(cost) == ["0", "4·n", "4·n", "8·n", "8·n"]


def test_a_called_function_adds_its_own_peak_at_the_call() -> None:
    helper = """    @R.function(private=True)
    def helper(y: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        p = R.exp(y)
        q = R.exp(y)
        r = R.add(p, q)
        return r
"""
    cost = rxe.cost(main("a = R.exp(x)\nb = M.helper(a)\nc = R.exp(b)\nreturn c", more=helper))
    assert held(cost) == ["4·n", "16·n", "8·n"]
    assert cost.peak.step == 2


PLANNED = """
a = R.exp(x)
b = R.exp(a)
c = R.exp(b)
d = R.exp(c)
return d
"""


def planned() -> list[Cost]:
    session = rxe.Session(main(PLANNED, 'x: R.Tensor((256,), "float32")'), "zero,default_build")
    session.run_all()
    passes = ("input", "StaticPlanBlockMemory")
    return [rxe.cost(stage.module) for stage in session.stages if stage.made_by in passes]


def test_a_plan_lets_tensors_share_storages() -> None:
    first, last = planned()[0], planned()[-1]
    assert not first.memory.is_planned
    assert last.memory.is_planned
    assert str(last.allocated) == "4,096"
    # Two storages take turns; the result has memory of its own.
    assert amounts.text(last.memory.owned) == "3,072"
    assert last.bound.value == 2048
    assert last.peak.value == 2048
    assert spans(last)["storage1"] == [(5, 10)]  # to the last reader of its tensor
    names = {tensor.storage for tensor in last.memory.tensors}
    assert len(names - {""}) == 2


def test_storages_of_lowered_programs_have_the_lengths_of_the_heap() -> None:
    session = rxe.Session(main(PLANNED), "zero,default_build")
    session.run_all()
    found = {
        stage.made_by: (
            str(cost.allocated),
            amounts.text(cost.memory.owned),
            cost.unknown,
            str(cost.moved),
            str(cost.integers),  # a function of the host computes lengths, which is no work of the program
        )
        for stage in session.stages
        for cost in [rxe.cost(stage.module)]
    }
    assert found["VMShapeLower"] == found["StaticPlanBlockMemory"]
    assert found["VMShapeLower"][2] == ()


def test_memory_that_is_not_known_is_told() -> None:
    cost = rxe.cost(main("y = R.unique(x)\nz = R.exp(x)\nreturn (y, z)"))
    assert any("bytes of y" in reason for reason in cost.unknown)
    kept = rxe.cost(main('y = R.call_pure_packed("make", x, sinfo_args=(R.Object,))\nreturn y'))
    assert any("y, an object" in reason for reason in kept.unknown)


def test_recursion_is_told() -> None:
    text = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        a = R.exp(x)
        b = M.main(a)
        return b
"""
    cost = rxe.cost(rxe.parse(text))
    assert any("memory of main" in reason for reason in cost.unknown)


def test_weights_and_constants_are_the_parameters() -> None:
    params = 'x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 8), "float16"), v: R.Tensor((8,), "float32")'
    cost = rxe.cost(main('a = R.matmul(x, R.astype(w, "float32"))\nb = R.add(a, v)\nreturn b', params))
    assert cost.parameters.value == 4 * 8 * 2 + 8 * 4
    assert amounts.text(cost.memory.inputs) == "16·n"


def test_the_number_of_inputs_tells_where_the_weights_begin() -> None:
    params = 'x: R.Tensor(("n",), "float32"), y: R.Tensor((4,), "float32"), w: R.Tensor((8,), "float32")'
    body = 'R.func_attr({"num_input": %d})\na = R.exp(x)\nreturn a'
    assert [rxe.cost(main(body % count, params)).parameters.value for count in (1, 2, 3)] == [48, 32, 0]


def test_an_empty_function_holds_nothing() -> None:
    cost = rxe.cost(main("return x"))
    assert (cost.peak.step, cost.peak.value, str(cost.flops)) == (0, 0, "0")


INPLACE = """
@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def k(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            A[i] = A[i] + B[i]

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        a = R.exp(x)
        b = R.call_tir_inplace(M.k, (a, x), out_sinfo=R.Tensor((4,), "float32"), inplace_indices=[0])
        c = R.exp(b)
        return c
"""


def test_a_kernel_in_place_has_no_memory_of_its_own() -> None:
    cost = rxe.cost(rxe.parse(INPLACE))
    assert spans(cost) == {"a": [(1, 3)], "c": [(3, 3)]}
    assert str(cost.flops) == "12"


SYMBOLIC_INPLACE = """
@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def k(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            A[i] = A[i] + B[i]

    @R.function
    def main(x: R.Tensor(("m",), "float32")):
        m = T.int64()
        a = R.exp(x)
        b = R.call_tir_inplace(M.k, (a, x), out_sinfo=R.Tensor((m,), "float32"), inplace_indices=[0])
        return b
"""


def test_a_kernel_in_place_has_the_lengths_of_its_arguments() -> None:
    cost = rxe.cost(rxe.parse(SYMBOLIC_INPLACE))
    assert (str(cost.flops), cost.unknown) == ("2·m", ())


def test_the_bytes_of_a_view_of_a_parameter_are_those_of_the_caller() -> None:
    body = "n = T.int64()\nv = R.reshape(x, (1, n))\nw = R.exp(v)\nreturn w"
    assert spans(rxe.cost(main(body))) == {"w": [(2, 2)]}
