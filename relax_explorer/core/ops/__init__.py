"""The operators, in reading order. Nothing registers itself: an operator that isn't listed here does not exist."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from relax_explorer.core.ops.decl import Op

# One module per family; the listing of this folder is the index of operators.
FAMILIES: tuple[str, ...] = (
    "elementwise",
    "binary",
    "ternary",
    "linalg",
    "einsum",
    "manipulate",
    "joining",
    "sequences",
    "layout",
    "index",
    "dynamic_slice",
    "gather",
    "scatter",
    "sort",
    "create",
    "create_pattern",
    "reduction",
    "median",
    "collapse",
    "scan",
    "sampling",
    "vision_roi",
    "vision_box",
    "vision_nms",
    "vision_all_class",
    "qdq",
    "grid",
    "nn_activation",
    "nn_softmax",
    "nn_norm",
    "nn_batch_norm",
    "nn_conv",
    "nn_conv_transpose",
    "nn_pool",
    "nn_adaptive_pool",
    "nn_pad",
    "nn_attention",
    "nn_attention_var_len",
    "nn_loss",
    "image",
    "image_affine",
    "image_sample",
    "grad",
    "grad_pool",
    "call",
    "shape",
    "effect",
    "memory",
    "view",
    "inspect",
    "ccl",
    "dist",
)


@cache
def table() -> dict[str, type[Op]]:
    """Every operator by name, in reading order."""
    found: dict[str, type[Op]] = {}
    for family in FAMILIES:
        for value in vars(import_module(f"relax_explorer.core.ops.{family}")).values():
            if (
                isinstance(value, type)
                and issubclass(value, Op)
                and value.name
                and value.__module__.endswith(f".{family}")
            ):
                found[value.name] = value
    return found


def find(name: str) -> type[Op] | None:
    """The operator called `name` (with its `relax.` prefix), None when there is none."""
    return table().get(name)


def get(name: str) -> type[Op]:
    """The operator called `name`; raises KeyError, with near names, when there is none."""
    hit = find(name) or find(f"relax.{name}")
    if hit is None:
        from difflib import get_close_matches

        near = get_close_matches(name, table(), 3)
        raise KeyError(f"no operator {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
    return hit


def names() -> list[str]:
    """Names of all operators, in reading order."""
    return list(table())
