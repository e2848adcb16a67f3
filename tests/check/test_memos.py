"""What is remembered of one call says nothing of another one that differs in one part only."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.infer import Inferrer
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace

HEAD = """@I.ir_module
class Module:
    @T.prim_func(private=True)
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)
    @T.prim_func(private=True)
    def longer(A: T.Buffer((4,), "float32"), B: T.Buffer((5,), "float32")):
        for i in range(4):
            A[i] = A[i] + B[i]
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((5,), "float32"), s: R.Shape([2, 2]), i: R.Tensor((3,), "int64"),
             u: R.Tensor("float32", ndim=2), v: R.Tensor(("n", "m"), "float32"), w: R.Tensor((4, 4), "float32")):
"""
OUT = 'out_ty=R.Tensor((4,), "float32")'
# The first call of each pair is right, the second wrong in the part after which the pair is named.
PAIRS = {
    "results of a kernel": (
        f"R.call_tir(Module.twice, (x,), {OUT})",
        'R.call_tir(Module.twice, (x,), out_ty=R.Tensor((5,), "float32"))',
    ),
    "dtype of the result of a kernel": (
        f"R.call_tir(Module.twice, (x,), {OUT})",
        'R.call_tir(Module.twice, (x,), out_ty=R.Tensor((4,), "float16"))',
    ),
    "arguments of a kernel": (
        f"R.call_tir(Module.twice, (x,), {OUT})",
        f"R.call_tir(Module.twice, (y,), {OUT})",
    ),
    "the kernel": (f"R.call_tir(Module.twice, (x,), {OUT})", f"R.call_tir(Module.longer, (x,), {OUT})"),
    "the operand that a kernel overwrites": (
        f"R.call_tir_inplace(Module.longer, (x, y), inplace_indices=[0], {OUT})",
        f"R.call_tir_inplace(Module.longer, (x, y), inplace_indices=[1], {OUT})",
    ),
    "what a kernel allocates": (
        f"R.call_tir_inplace(Module.longer, (x, y), inplace_indices=[0], {OUT})",
        f"R.call_tir_inplace(Module.longer, (x, y), inplace_indices=[-1], {OUT})",
    ),
    "an attribute": ("R.sum(w, axis=[1])", "R.sum(w, axis=[2])"),
    "an operand": ("R.matmul(w, w)", "R.matmul(w, y)"),
    "the operator": ("R.nn.softmax(x, axis=0)", "R.concat(x, axis=0)"),
    "a shape that is written": ("R.reshape(x, R.shape([2, 2]))", "R.reshape(x, R.shape([2, 3]))"),
}


def errors(*calls: str) -> list[tuple[str, int]]:
    """The errors of calls in a function, each with the number of its call."""
    body = "".join([f"        a{number} = {call}\n" for number, call in enumerate(calls)])
    first = HEAD.count("\n") + 1
    text = f"{HEAD}{body}        return x\n"
    problems = rxe.check(rxe.parse(text))
    return [(item.code.id, item.span.line - first) for item in problems if item.is_error and item.span]


@pytest.mark.parametrize("part", PAIRS)
def test_a_wrong_call_is_told_behind_a_right_one(part: str) -> None:
    right, wrong = PAIRS[part]
    assert errors(right) == []
    alone = errors(wrong)
    assert alone
    assert errors(right, wrong) == [(code, line + 1) for code, line in alone]
    assert errors(wrong, right) == alone
    assert errors(right, wrong, right, wrong) == [(code, line + at) for at in (1, 3) for code, line in alone]


STALE = {
    "attributes": ("R.sum(x, axis=[0])", "R.sum(x, axis=[1])"),
    "operators": ("R.exp(x)", "R.isnan(x)"),
    "operands": ("R.permute_dims(x)", "R.permute_dims(y)"),
    "written shapes": ("R.zeros(R.shape([3, 2]), 'float32')", "R.zeros(R.shape([2, 3]), 'float32')"),
    "dtypes": ("R.astype(x, 'float16')", "R.astype(x, 'float32')"),
}


@pytest.mark.parametrize("part", STALE)
def test_a_call_with_the_structinfo_of_another_one_is_derived_again(part: str) -> None:
    """A pass may change a call and keep what was known of it."""
    first, second = STALE[part]
    text = f"""@R.function
def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((4, 5), "float32"), s: R.Shape([3, 2])):
    a = {first}
    a1 = {first}
    b = {second}
    return (a, a1, b)
"""
    module = rxe.normalize(rxe.parse(text))
    calls = [binding.value for binding in module.functions["main"].body.blocks[0].bindings]
    right, again, other = [call for call in calls if isinstance(call, e.Call)][:3]
    inferrer = Inferrer(Report(), lambda name: None)
    assert inferrer.info(replace(right, struct_info=None)) is right.struct_info
    assert inferrer.settles(again)
    for call in (right, other, right, again):
        assert inferrer.derived(replace(call, struct_info=None)).struct_info is call.struct_info
    stale = replace(other, struct_info=right.struct_info)
    assert inferrer.repeats(replace(right))
    assert not inferrer.repeats(stale)
    assert not inferrer.settles(stale)
