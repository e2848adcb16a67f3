"""Which layer of the model a binding belongs to, by the names of weights: on programs by hand, and on a model through all its stages."""

from __future__ import annotations

from collections import Counter

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.layer_names import is_in_layer, layer_names, layer_of, numbered_layer
from relax_explorer.core.ir.node import replace as with_fields
from relax_explorer.viz.table_folds import layer_folds, outline
from tests.support.roundtrip import DATA

BLOCK = """
@R.function
def main(x: R.Tensor((4, 8)), embed_weight: R.Tensor((8, 8)), layers_0_attn_q_weight: R.Tensor((8, 8)), layers_0_attn_o_weight: R.Tensor((8, 8)),
         layers_0_norm_gamma: R.Tensor((8,)), layers_1_attn_q_weight: R.Tensor((8, 8)), layers_1_attn_q_bias: R.Tensor((8,)),
         head_weight: R.Tensor((8, 8))):
    with R.dataflow():
        mask = R.zeros((4, 8), "float32")
        start = R.matmul(x, embed_weight)
        turned = R.permute_dims(layers_0_attn_q_weight)
        cast = R.astype(turned, "float32")
        q = R.matmul(start, cast)
        score = R.exp(q)
        masked = R.add(score, mask)
        o = R.matmul(masked, layers_0_attn_o_weight)
        sum0 = R.add(start, o)
        swapped = R.add(o, start)
        scaled = R.multiply(sum0, layers_0_norm_gamma)
        q1 = R.matmul(scaled, layers_1_attn_q_weight)
        biased = R.add(q1, layers_1_attn_q_bias)
        masked1 = R.add(biased, mask)
        sum1 = R.add(sum0, masked1)
        last = R.matmul(sum1, head_weight)
        end = R.exp(last)
        R.output(end)
    return end
"""
WANTED = {
    "mask": "",
    "start": "embed",
    "turned": "layers_0_attn_q",
    "cast": "layers_0_attn_q",
    "q": "layers_0_attn_q",
    "score": "layers_0_attn",
    "masked": "layers_0_attn",
    "o": "layers_0_attn_o",
    "sum0": "layers_0",
    "swapped": "layers_0",
    "scaled": "layers_0_norm",
    "q1": "layers_1_attn_q",
    "biased": "layers_1_attn_q",
    "masked1": "layers_1",
    "sum1": "layers_1",
    "last": "head",
    "end": "head",
}


def named(fn: e.Function) -> dict[str, str]:
    """The layers by the names of variables."""
    return {
        getattr(b.var, "name", "_"): layer
        for b, layer in zip(facts(fn).bindings, layer_names(fn), strict=True)
    }


def function(text: str) -> e.Function:
    (fn,) = rxe.parse(text).relax_functions.values()
    return fn


def test_bindings_lie_in_the_layers_that_they_compute() -> None:
    found = named(function(BLOCK))
    assert found == WANTED
    assert layer_of(function(BLOCK), facts(function(BLOCK)).bindings[0]) == ""  # of another function


def test_names_that_tell_no_layer() -> None:
    text = "@R.function\ndef main(x: R.Tensor((2,)), w: R.Tensor((2,)), weight: R.Tensor((2,)), h_scaled: R.Tensor((2,))):\n"
    fn = function(
        text + "    a = R.add(x, w)\n    b = R.add(a, weight)\n    c = R.add(b, h_scaled)\n    return c\n"
    )
    assert named(fn) == {"a": "", "b": "", "c": ""}


def test_fields_of_a_parameter_are_weights_by_their_names() -> None:
    fn = function("""
@R.function
def main(x: R.Tensor((2,)), packed: R.Tuple(R.Tensor((2,)), R.Tensor((2,)), R.Tensor((2,)))):
    h_0_k_cache1: R.Tensor((2,)) = packed[0]
    h_1_fc_weight2: R.Tensor((2,)) = packed[1]
    other: R.Tensor((2,)) = packed[2]
    h_2_fc_weight: R.Tensor((2,)) = packed[2]
    pair = (x, x)
    h_5_fc_weight = pair[0]
    a = R.add(x, h_0_k_cache1)
    b = R.add(a, h_1_fc_weight2)
    c = R.add(h_5_fc_weight, other)
    return (b, c)
""")
    assert named(fn) == {
        "h_0_k_cache1": "h_0", "h_1_fc_weight2": "h_1_fc", "other": "", "h_2_fc_weight": "h_2_fc",
        "pair": "", "h_5_fc_weight": "", "a": "h_0", "b": "h_1_fc", "c": "",
    }  # fmt: skip


def test_between_parts_without_a_number_the_nearer_one_counts() -> None:
    fn = function("""
@R.function
def main(x: R.Tensor((2,)), up_weight: R.Tensor((2,)), down_weight: R.Tensor((2,))):
    a = R.add(x, up_weight)
    b = R.exp(a)
    c = R.add(b, down_weight)
    return c
""")
    assert named(fn) == {"a": "up", "b": "up", "c": "down"}


def test_memory_belongs_to_the_layer_of_the_kernel_that_fills_it() -> None:
    """Also if later layers read it or, as the storage of a plan, use it again; a kill stands beside what it kills."""
    fn = function(
        """
@I.ir_module
class Module:
    @T.prim_func
    def add(a: T.Buffer((2,)), b: T.Buffer((2,)), c: T.Buffer((2,))):
        for i in range(2):
            c[i] = a[i] + b[i]
    @R.function(pure=False)
    def main(x: R.Tensor((2,)), h_0_fc_weight: R.Tensor((2,)), h_1_fc_weight: R.Tensor((2,))):
        storage = R.memory.alloc_storage(R.shape([8]), 0, "global", "float32")
        alloc = R.memory.alloc_tensor(storage, 0, R.shape([2]), "float32")
        _ = Module.add(x, h_0_fc_weight, alloc)
        alloc1 = R.memory.alloc_tensor(storage, 0, R.shape([2]), "float32")
        _1 = Module.add(alloc, alloc, alloc1)
        alloc2 = R.memory.alloc_tensor(storage, 0, R.shape([2]), "float32")
        _2 = Module.add(alloc1, h_1_fc_weight, alloc2)
        _3 = R.memory.kill_tensor(alloc1)
        return alloc2
""".replace("_1 =", "_ =")
        .replace("_2 =", "_ =")
        .replace("_3 =", "_ =")
    )
    layers = list(layer_names(fn))
    assert layers == ["h", "h_0_fc", "h_0_fc", "h_0", "h_0", "h_1_fc", "h_1_fc", "h_0"]


def test_names_with_dots_are_split_there() -> None:
    """TVM's own variables may have such names; its texts write underscores."""
    fn = function(
        "@R.function\ndef main(x: R.Tensor((2,)), w: R.Tensor((2,))):\n    y = R.add(x, w)\n    return y\n"
    )
    (block,) = fn.body.blocks
    (binding,) = block.bindings
    weight = e.Var("model.layers.3.self_attn.q_proj.weight", fn.params[1].struct_info)
    call = with_fields(binding.value, args=(fn.params[0], weight))
    body = with_fields(fn.body, blocks=(with_fields(block, bindings=(e.with_value(binding, call),)),))
    renamed = with_fields(fn, params=(fn.params[0], weight), body=body)
    assert named(renamed) == {"y": "model.layers.3.self_attn.q_proj"}


@pytest.mark.parametrize(
    ("name", "layer", "is_inside"),
    [("layers_1_ffn", "layers_1", True), ("layers_1", "layers_1", True), ("layers_10", "layers_1", False), ("h.1.a", "h.1", True), ("a", "b", False)],
)  # fmt: skip
def test_inside(name: str, layer: str, is_inside: bool) -> None:
    assert is_in_layer(name, layer) is is_inside


@pytest.mark.parametrize(
    ("name", "layer"),
    [("layers_10_ffn_down", "layers_10"), ("model.layers.3.attn", "model.layers.3"), ("embed", ""), ("", ""), ("h_1_expert_2_up", "h_1_expert_2")],
)  # fmt: skip
def test_numbered(name: str, layer: str) -> None:
    assert numbered_layer(name) == layer


def test_a_model_keeps_its_layers_to_the_last_stage() -> None:
    """Both layers of Llama have the same number of kernels at each stage, and nothing but what lies around them is in none."""
    paths = sorted((DATA / "llama").glob("*.py"))
    assert len(paths) > 10
    for path in paths:
        module = rxe.parse(path.read_text())
        fn = module.relax_functions["forward"]
        kernels = Counter(
            numbered_layer(layer)
            for binding, layer in zip(facts(fn).bindings, layer_names(fn), strict=True)
            if "cls." in str(binding.value) or "R.matmul" in str(binding.value)
        )
        assert kernels["layers_0"] == kernels["layers_1"] > 3, path.name
        assert set(kernels) <= {"layers_0", "layers_1", ""}, path.name


def test_parts_of_a_layer_fold_together() -> None:
    """A fold has all its bindings that follow each other, and hides at least one."""
    fn = function("""
@R.function
def main(x: R.Tensor((2,)), h_0_a_weight: R.Tensor((2,)), h_1_a_weight: R.Tensor((2,))):
    a = R.add(x, h_0_a_weight)
    b = R.add(x, h_1_a_weight)
    c = R.add(b, h_1_a_weight)
    d = R.add(a, h_0_a_weight)
    e = R.add(d, h_0_a_weight)
    f = R.add(e, h_0_a_weight)
    g = R.add(f, h_1_a_weight)
    i = R.add(a, h_0_a_weight)
    j = R.add(i, h_0_a_weight)
    return (g, j, c)
""")
    places = list(outline("main", fn))
    found = layer_folds(places, rxe.IRModule({"main": fn}))
    assert [(fold.name, fold.head, fold.end, fold.bindings) for fold in found] == [
        ("h_1", 2, 4, 2),
        ("h_0", 4, 7, 3),
        ("h_0", 8, 10, 2),
    ]
    assert found[1].key == found[2].key != found[0].key
