"""Builtins of TVM's runtime that change their first operand: equal calls before and after them are different calls."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.cache_effects import changed

CACHE, STATE = "vm.builtin.attention_kv_cache_", "vm.builtin.kv_state_"
CHANGING = [
    *[CACHE + name for name in ("append", "update", "window_override", "window_override_with_sinks")],
    *[CACHE + name for name in ("array_popn", "array_clear", "append_mla_kv", "attention_with_fused_qkv")],
    *[STATE + name for name in ("clear", "add_sequence", "remove_sequence", "fork_sequence", "popn")],
    *[STATE + name for name in ("begin_forward", "end_forward")],
    *[CACHE + name for name in ("enable_sliding_window_for_seq", "commit_accepted_token_tree_nodes")],
    "vm.builtin.rnn_state_set",
    "vm.builtin.apply_softmax_with_temperature",
    "vm.builtin.apply_repetition_penalty",
    "vm.builtin.apply_presence_and_frequency_penalty",
]
TEXT = """
@R.function
def main(x: {type}, y: {type}):
    a = {read}
    t = R.call_pure_packed("{name}", {args}, sinfo_args={type})
    c = {read}
    return (a, t, c)
"""
READS = {
    'R.Tensor((1, 4), "float32")': "R.add(x, x)",
    "R.Object": 'R.call_pure_packed("view", x, sinfo_args=R.Object)',
}


def reads(name: str, type_: str, args: str = "x, y") -> int:
    """How many of two equal reads of x are left by EliminateCommonSubexpr, with a call of `name` between them."""
    read = READS[type_]
    module = rxe.parse(TEXT.format(type=type_, read=read, name=name, args=args))
    return rxe.apply_pass(module, "EliminateCommonSubexpr").script().count(read.split(", sinfo")[0])


@pytest.mark.parametrize("name", CHANGING)
def test_what_a_builtin_changes_is_read_again(name: str) -> None:
    type_ = next(iter(READS)) if ".apply_" in name else "R.Object"
    assert reads(name, type_) == 2
    assert reads(name, type_, "y, x") == 2, "parameters may be one object"
    assert reads("vm.builtin.reads_only", type_) == 1


READING = [
    *["relax.run." + name for name in ("assert_op", "nonzero", "print", "shape_to_tensor", "unique")],
    *["vm.builtin." + name for name in ("shape_of", "tensor_to_shape", "multinomial_from_uniform")],
    *["vm.builtin." + name for name in ("sample_top_p_from_logits", "sample_top_p_from_prob")],
]


@pytest.mark.parametrize("how", ["call_packed", "call_pure_packed"])
@pytest.mark.parametrize("name", READING)
def test_a_builtin_that_only_reads_changes_nothing(name: str, how: str) -> None:
    text = f"""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def flat(a: T.Buffer((2, 2), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("flat"):
                v = T.axis.spatial(4, i)
                b[v] = a[v // 2, v % 2]
    @R.function(pure=False)
    def main(x: R.Tensor((2, 2), "float32"), y: R.Object):
        t = R.{how}("{{name}}", y, ty_args=R.Object)
        with R.dataflow():
            a = R.call_tir(M.flat, (x,), R.Tensor((4,), "float32"))
            b = R.exp(a)
            R.output(b)
        return (t, b)
"""

    def views(callee: str) -> bool:
        module = rxe.normalize(rxe.parse(text.replace("{name}", callee)))
        return "R.reshape(" in rxe.apply_pass(module, "RewriteDataflowReshape").script()

    assert views(name)
    assert views("unknown") is (how == "call_pure_packed"), "it may have kept x"


def test_a_merge_changes_its_first_result_and_logarithms() -> None:
    name = CACHE + "merge_attn_output_inplace"
    assert reads(name, next(iter(READS)), "1, y, x, 2, 2") == 2
    text = TEXT.format(type="R.Object", read="x", name=name, args="x, y, a, y, x")
    call = rxe.parse(text)["main"].body.blocks[0].bindings[1].value
    assert [operand.name for operand in changed(call)] == ["y", "a"]


@pytest.mark.parametrize(
    "name", [CACHE + "create", "vm.builtin.paged_attention_kv_cache_create", "vm.builtin.rnn_state_create"]
)
def test_a_new_cache_is_another_one(name: str) -> None:
    text = TEXT.replace("    t = ", f'    b = R.call_pure_packed("{name}", x, sinfo_args={{type}})\n    t = ')
    text = text.replace("(a, t, c)", "(a, b, t, c)").format(type="R.Object", read="x", name=name, args="x")
    assert rxe.apply_pass(rxe.parse(text), "EliminateCommonSubexpr").script().count(name) == 2
    text = text.replace(name, "pure")
    assert rxe.apply_pass(rxe.parse(text), "EliminateCommonSubexpr").script().count('"pure"') == 1
