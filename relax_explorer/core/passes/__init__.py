"""The passes, in pipeline order. Each pass must be listed here; passes of one subject share a file."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from relax_explorer.core.later import later

if TYPE_CHECKING:
    from relax_explorer.core.diagnostics import Diagnostic
    from relax_explorer.core.passes import third_party
    from relax_explorer.core.passes.contract import Pass

# What authors of passes use.
_HOMES = {
    **dict.fromkeys(("function_pass", "module_pass"), "contract"),
    **dict.fromkeys(
        ("register_phase", "unregister_phase", "register_property", "unregister_property"),
        "relax_explorer.core.phases.phases",
    ),
}
__getattr__ = later(__name__, _HOMES)


# The functions, each with the file that it stands in.
FUNCTIONS: dict[str, str] = {
    "normalize_pass": "symbols",
    "replace_module": "replace_module",
    "normalize_global_var": "symbols",
    "inline_private_functions": "inline_private_functions",
    "remove_unused_parameters": "unused_signatures",
    "remove_unused_outputs": "unused_signatures",
    "expand_tuple_arguments": "unused_signatures",
    "decompose_ops_for_inference": "decompositions",
    "decompose_ops_for_training": "decompositions",
    "to_mixed_precision": "to_mixed_precision",
    "convert_layout": "convert_layout",
    "gradient": "gradient",
    "topological_sort": "dataflow_blocks",
    "bind_params": "bind_values",
    "canonicalize_bindings": "canonicalize_bindings",
    "lift_transform_params": "lift_transform_params",
    "bundle_model_params": "lift_transform_params",
    "bind_symbolic_vars": "bind_values",
    "specialize_shapes": "bind_values",
    "lower_wildcards": "lower_wildcards",
    "update_param_type": "replace_module",
    "realize_vdevice": "vdevices",
    "update_vdevice": "vdevices",
    "eliminate_dead_code": "eliminate",
    "eliminate_common_subexpr": "eliminate",
    "fold_constant": "fold_constant",
    "elide_checks": "shape_checks",
    "eliminate_shape_checks": "shape_checks",
    "simplify_shapes": "shape_checks",
    "convert_to_dataflow": "dataflow_blocks",
    "annotate_tir_op_pattern": "fuse_ops",
    "fuse_ops": "fuse_ops",
    "fuse_tir": "fused_kernel",
    "rewrite_dataflow_reshape": "reshapes",
    "to_non_dataflow": "dataflow_blocks",
    "remove_redundant_reshape": "reshapes",
    "expand_matmul_of_sum": "matmul_order",
    "adjust_matmul_order": "matmul_order",
    "reorder_permute_dims_after_concat": "matmul_order",
    "reorder_take_after_matmul": "matmul_order",
    "optimize_layout_transform": "reshapes",
    "combine_parallel_matmul": "combine_parallel_matmul",
    "fold_batchnorm_to_conv2d": "fold_constant",
    "fuse_transpose_matmul": "combine_parallel_matmul",
    "fuse_ops_by_pattern": "fusion_groups",
    "merge_composite_functions": "composites",
    "run_codegen": "composites",
    "dispatch_sampling": "legalize_ops",
    "dispatch_sort_scan": "legalize_ops",
    "fast_math_transform": "decompositions",
    "dataflow_use_inplace_calls": "memory_lowering",
    "legalize_ops": "legalize_ops",
    "lambda_lift": "lambda_lift",
    "remove_purity_checking": "dataflow_blocks",
    "call_tir_rewrite": "machine_lowering",
    "static_plan_block_memory": "memory_lowering",
    "rewrite_cuda_graph": "memory_lowering",
    "lower_alloc_tensor": "memory_lowering",
    "kill_after_last_use": "memory_lowering",
    "lower_runtime_builtin": "machine_lowering",
    "compute_prim_value": "machine_lowering",
    "vm_shape_lower": "vm_shape_lower",
    "attach_global_symbol": "symbols",
}
ALIASES = {
    "VMBuiltinLower": "LowerRuntimeBuiltin",
    "VMLowerBuiltin": "LowerRuntimeBuiltin",
    "LambdaLifting": "LambdaLift",
    "CanonicalizeRelaxBindings": "CanonicalizeBindings",
}
PIPELINES: dict[str, tuple[str, ...]] = {
    "default": (
        "CanonicalizeBindings", "EliminateCommonSubexpr", "FoldConstant", "DeadCodeElimination", "LegalizeOps", "ToNonDataflow",
    ),
    "zero": ("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"),
    "default_build": (
        "DispatchSampling", "DispatchSortScan", "LegalizeOps", "RewriteDataflowReshape", "LambdaLift", "ToNonDataflow", "RemovePurityChecking",
        "CallTIRRewrite", "StaticPlanBlockMemory", "RewriteCUDAGraph", "LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin",
        "ComputePrimValue", "VMShapeLower", "AttachGlobalSymbol",
    ),
    "simplify": ("CanonicalizeBindings", "EliminateCommonSubexpr", "FoldConstant", "DeadCodeElimination"),
}  # fmt: skip


@cache
def own() -> dict[str, Pass]:
    """The passes of this package by TVM's name, in reading order."""
    from relax_explorer.core.passes.contract import Pass

    passes = {}
    for function, file in FUNCTIONS.items():
        value = getattr(import_module(f"relax_explorer.core.passes.{file}"), function)
        assert isinstance(value, Pass)  # as listed
        passes[value.name] = value
    return passes


def table() -> dict[str, Pass]:
    """Every pass by name, in reading order; behind our own those of installed packages, then the registered ones."""
    from relax_explorer.core.passes import third_party

    return {**own(), **_installed().passes, **third_party.REGISTERED}


def problems() -> tuple[Diagnostic, ...]:
    """Why entry points of installed packages give no pass."""
    return _installed().problems


def _installed() -> third_party.Installed:
    from relax_explorer.core.passes import third_party

    return third_party.installed(frozenset({*own(), *ALIASES, *PIPELINES}))


def register(of: Pass) -> Pass:
    """Add a pass of your own; usable as a decorator. Raises ValueError for a name in use, or a pass without a docstring."""
    from relax_explorer.core.passes import third_party

    wrong = third_party.mistake(of, {*table(), *ALIASES, *PIPELINES})
    if wrong:
        raise ValueError(wrong)
    third_party.REGISTERED[of.name] = of
    return of


def unregister(name: str) -> None:
    """Remove a pass added by `register`. Raises KeyError for any other."""
    from relax_explorer.core.passes import third_party

    del third_party.REGISTERED[name]


def names() -> list[str]:
    """Names of all passes, in reading order."""
    return list(table())


def get(name: str) -> Pass:
    """The pass called `name`. Raises KeyError with similar names if there is none."""
    from relax_explorer.core.passes import third_party

    known = ALIASES.get(name, name)
    entry = own().get(known) or third_party.REGISTERED.get(known) or table().get(known)
    if entry is None:
        from difflib import get_close_matches

        near = get_close_matches(name, [*table(), *PIPELINES], 3)
        raise KeyError(f"no pass {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
    return entry


def makers(property_: str) -> list[str]:
    """The names of the passes that establish the property of this name."""
    return [p.name for p in table().values() if any(q.name == property_ for q in p.establishes)]
