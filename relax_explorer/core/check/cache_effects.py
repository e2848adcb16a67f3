"""What builtins of TVM's runtime change: a cache, a tensor, or nothing.

Language models call those that change something as pure functions, by `R.call_pure_packed`. TVM relies on the order of the
bindings; here the effect is known by name.
"""

from __future__ import annotations

from relax_explorer.core.ir import expr as e

_CACHE = "vm.builtin.attention_kv_cache_"
_STATE = "vm.builtin.kv_state_"

_CHANGES_FIRST = frozenset(
    {
        *[_CACHE + name for name in ("append", "update", "window_override", "window_override_with_sinks")],
        *[
            _CACHE + name
            for name in ("array_popn", "array_clear", "append_mla_kv", "attention_with_fused_qkv")
        ],
        *[_STATE + name for name in ("clear", "add_sequence", "remove_sequence", "fork_sequence", "popn")],
        *[_STATE + name for name in ("begin_forward", "end_forward")],
        *[_CACHE + name for name in ("enable_sliding_window_for_seq", "commit_accepted_token_tree_nodes")],
        "vm.builtin.rnn_state_set",
        "vm.builtin.apply_softmax_with_temperature",
        "vm.builtin.apply_repetition_penalty",
        "vm.builtin.apply_presence_and_frequency_penalty",
    }
)
_MERGE = _CACHE + "merge_attn_output_inplace"
"""It changes two tensors, and reads a cache only to choose a kernel."""
_READING = frozenset(
    {
        *["relax.run." + name for name in ("assert_op", "nonzero", "print", "shape_to_tensor", "unique")],
        *["vm.builtin.shape_of", "vm.builtin.tensor_to_shape", "vm.builtin.multinomial_from_uniform"],
        *["vm.builtin.sample_top_p_from_logits", "vm.builtin.sample_top_p_from_prob"],
    }
)
"""They give new values, and keep and change nothing. The first ones run operators that have no kernel."""
_CREATE = frozenset(
    {_CACHE + "create", "vm.builtin.paged_attention_kv_cache_create", "vm.builtin.rnn_state_create"}
)


def changed(call: e.Call) -> tuple[e.Expr, ...]:
    """The operands whose state a call of such a builtin changes. Others are only read."""
    name, args = _callee(call)
    if name == _MERGE:
        return args[1:3]
    return args[:1] if name in _CHANGES_FIRST else ()


def only_reads(call: e.Call) -> bool:
    """True for the call of a builtin that only reads its operands. Its result shares no memory with them."""
    return _callee(call)[0] in _READING


def is_new(call: e.Call) -> bool:
    """True if a call makes a new cache each time, also of equal arguments."""
    return _callee(call)[0] in _CREATE


def _callee(call: e.Call) -> tuple[str, tuple[e.Expr, ...]]:
    """The name of the packed function that a call calls, and its arguments."""
    op, args = call.op, tuple(call.args)
    if type(op) is e.ExternFunc:
        return op.name, args
    if not args or type(args[0]) is not e.ExternFunc:
        return "", ()
    return args[0].name, args[1:]
