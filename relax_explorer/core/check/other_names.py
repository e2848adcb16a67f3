"""What operators are called in PyTorch, NumPy, ONNX and Relay, for those who write such a name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from relax_explorer.core import ops

OTHER_NAMES: dict[str, str] = {
    "amax": "max", "amin": "min", "bmm": "matmul", "broadcast": "broadcast_to", "cast": "astype", "cat": "concat", "concatenate": "concat",
    "dense": "matmul", "div": "divide", "dot": "matmul", "embedding": "take", "expand": "broadcast_to", "fill": "full", "gather": "gather_elements",
    "gemm": "matmul", "hstack": "concat", "index_select": "take", "masked_fill": "where", "mm": "matmul", "mul": "multiply", "neg": "negative",
    "permute": "permute_dims", "pow": "power", "reduce_max": "max", "reduce_mean": "mean", "reduce_min": "min", "reduce_prod": "prod",
    "reduce_sum": "sum", "repeat_interleave": "repeat", "select": "where", "sub": "subtract", "swapaxes": "permute_dims", "to": "astype",
    "transpose": "permute_dims", "unsqueeze": "expand_dims", "view": "reshape", "vstack": "concat",
}  # fmt: skip
_ALIKE = 0.7  # of the letters; below it, a neighbour is a stranger


def meant(name: str) -> str:
    """The operator that an unknown name means, without its `relax.`: by another name, in a group, or written alike. Empty if none is near."""
    last = name.rpartition(".")[2].casefold()
    short = [known.removeprefix("relax.") for known in ops.names()]
    if last in OTHER_NAMES:
        return OTHER_NAMES[last]
    same = [known for known in short if known.rpartition(".")[2] == last]
    return _first(same) or _first(get_close_matches(name.removeprefix("relax."), short, 1, _ALIKE))


def _first(names: Sequence[str]) -> str:
    return names[0] if names else ""
