"""Which operators compute in float16, and which follow the dtype of their operands, in ToMixedPrecision."""

from __future__ import annotations

ALWAYS = frozenset(
    f"relax.{name}"
    for name in (
        "matmul", "outer", "nn.attention", "nn.attention_bias", "nn.attention_var_len", "nn.conv1d", "nn.conv1d_transpose",
        "nn.conv2d", "nn.conv2d_transpose", "nn.conv3d", "nn.conv3d_transpose",
    )
)  # fmt: skip
"""Operators whose operands become float16. Those with an `out_dtype` accumulate in the `out_dtype` of the pass."""

FOLLOW = frozenset(
    f"relax.{name}"
    for name in (
        # element by element
        "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_not", "bitwise_or",
        "bitwise_xor", "ceil", "cos", "cosh", "divide", "equal", "erf", "ewise_fma", "exp", "floor", "floor_divide", "floor_mod",
        "greater", "greater_equal", "isfinite", "isinf", "isnan", "left_shift", "less", "less_equal", "log", "log_add_exp",
        "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply", "negative",
        "not_equal", "power", "right_shift", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "subtract",
        "tan", "tanh", "trunc",
        # created, cast and moved elements
        "arange", "astype", "broadcast_to", "concat", "dynamic_strided_slice", "expand_dims", "eye", "flatten", "full",
        "full_like", "hamming_window", "layout_transform", "meshgrid", "ones", "permute_dims", "reshape", "split", "squeeze",
        "stack", "strided_slice", "zeros",
        # images and neural networks
        "image.affine_grid", "image.grid_sample", "image.resize2d", "image.resize3d", "vision.roi_align", "vision.roi_pool",
        "nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d", "nn.avg_pool1d", "nn.avg_pool2d",
        "nn.avg_pool3d", "nn.batch_flatten", "nn.dropout", "nn.gelu", "nn.gelu_tanh", "nn.group_norm", "nn.instance_norm",
        "nn.layer_norm", "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "nn.relu", "nn.rms_norm", "nn.selu", "nn.silu",
    )
)  # fmt: skip
"""Operators that compute in float32 if one of their variables is float32, and else in float16."""
