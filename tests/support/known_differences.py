"""Differences from TVM that have a row in `differences.md`, recognised by what the row is about.

A row explains a difference if both results are equal without its subject: for a program without it (a check becomes a call that is
unknown to all passes), or for a result without it (a block that one side divides).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from tests.support import subject_tests as subject
from tests.support.annotations import strip_binding_annotations
from tests.support.oracle import Answer, Applied, Handle, Oracle
from tests.support.pass_agreement import asked, readable
from tests.support.pass_variants import Variant
from tests.support.same_forms import (
    annotated_anew,
    with_bare_casts_of_functions,
    with_closures_called_as_annotated,
    with_closures_of_objects,
    with_direct_constants,
    with_folded_numbers,
    with_made_constants,
    with_made_fields,
    with_names_for_symbols,
    with_names_of_regions,
    with_names_of_symbols,
    with_opaque_closures,
    with_own_lengths,
    with_plain_extents,
    with_pure_closures,
    with_sorted_lengths,
    with_sorted_shapes,
    without_devices,
    without_hints,
    without_lengths_of_functions,
    without_numbers_of_devices,
)
from tests.support.without_memory import (
    without_kills,
    without_late_kills,
    without_written_constants,
)
from tests.support.without_subjects import (
    Change,
    canonical,
    cleaned_up,
    is_packed,
    is_unlowered,
    with_first_regions,
    with_read_equal_results,
    with_read_results,
    with_rounded_constants,
    with_short_lengths,
    with_sorted_stores,
    without,
    without_blocks,
    without_branches,
    without_casts,
    without_chained_products,
    without_checked_arguments,
    without_comparing_casts,
    without_copies,
    without_dead,
    without_equal_values,
    without_harmless,
    without_inner_casts,
    without_inner_copies,
    without_named_constants,
    without_outside,
    without_plain_patterns,
    without_products_of_products,
    without_recursion,
    without_return_annotations,
    without_scalars,
    without_shared,
    without_unknown_vectors,
    without_unread,
    without_unread_and_uncalled,
    without_vector_products,
)

CLEANING = frozenset(
    {
        "RemoveUnusedParameters",
        "RemoveUnusedOutputs",
        "ExpandTupleArguments",
        "InlinePrivateFunctions",
        "FuseTIR",
    }
)
PATTERNS = frozenset(
    {
        "AdjustMatmulOrder",
        "CombineParallelMatmul",
        "ExpandMatmulOfSum",
        "FoldBatchnormToConv2D",
        "OptimizeLayoutTransform",
        "RemoveRedundantReshape",
        "ReorderPermuteDimsAfterConcat",
        "ReorderTakeAfterMatmul",
    }
)
PROFILED = PATTERNS | {"ConvertToDataflow", "FuseTIR", "MergeCompositeFunctions", "RunCodegen"}
CANONICAL = CLEANING | PATTERNS | {"CanonicalizeBindings", "ConvertToDataflow", "KillAfterLastUse"}
LIFTING = frozenset({"LambdaLift", "LiftTransformParams"})
ANNOTATED = LIFTING | {"RemovePurityChecking", "TopologicalSort", "ConvertLayout", "VMShapeLower"}
LENGTHS = frozenset({"RemoveUnusedParameters", "FuseTIR"})
DECOMPOSITIONS = frozenset({"DecomposeOpsForInference", "DecomposeOpsForTraining"})
PER_FUNCTION = PATTERNS | {"FoldConstant", "InlinePrivateFunctions", "RemoveUnusedParameters"}
PLACED = frozenset({"CallTIRRewrite", "LowerAllocTensor", "LowerRuntimeBuiltin"})
DERIVING = frozenset(
    {
        *("FoldConstant", "FastMathTransform", "RunCodegen", "FuseTIR", "KillAfterLastUse"),
        *("ToNonDataflow", "ToMixedPrecision"),
    }
)
MAKING = frozenset({"FastMathTransform", "DataflowUseInplaceCalls"})
DEAD = CLEANING | PATTERNS | {"DeadCodeElimination", "FoldConstant", "MergeCompositeFunctions", "RunCodegen"}


def same(module: IRModule) -> IRModule:
    """The module itself."""
    return module


def derived(module: IRModule) -> IRModule:
    """All StructInfo of bindings and results is derived."""
    return without_return_annotations(annotated_anew(module))


@dataclass(frozen=True)
class Reason:
    """A row of `differences.md` by its first words, the passes that it is about, and programs or results without its subject."""

    row: str
    passes: frozenset[str] = frozenset()  # every pass
    program: Change = same
    ours: Change = same
    theirs: Change = same
    options: dict[str, object] = field(default_factory=dict)
    unannotated: bool = False
    """True if the StructInfo of TVM's result is derived again."""
    ill_formed: bool = False
    """True if the row is about results that TVM itself finds not well-formed."""
    is_wrong: bool = False
    """True if TVM's result must be not well-formed, and both results equal without the subject."""


def reasons(oracle: Oracle, text: str | Applied, of: Variant) -> tuple[str, ...]:
    """The rows that explain why the results of a pass differ: the first that does alone, else the fewest together. Empty if none do.

    `text` may be TVM's module after other passes, too.
    """
    known = [reason for reason in REASONS if not reason.passes or of.name in reason.passes]
    difference = Difference(oracle, text, of)
    for reason in known:
        if difference.is_explained([reason]):
            return (reason.row,)
    known = [reason for reason in known if not reason.ill_formed]
    if not difference.is_explained(known):
        return ()
    for reason in list(known):
        fewer = [other for other in known if other is not reason]
        if difference.is_explained(fewer):
            known = fewer
    return tuple([reason.row for reason in known])


def explains(oracle: Oracle, text: str | Applied, of: Variant, row: str) -> bool:
    """True if a row alone explains the difference, if there is one."""
    difference = Difference(oracle, text, of)
    return any(difference.is_explained([reason]) for reason in REASONS if reason.row == row)


@dataclass
class Difference:
    """The results of a pass for one program. Most rows change neither the program nor a result, so that both are made once."""

    oracle: Oracle
    text: str | Applied
    of: Variant

    @cached_property
    def given(self) -> IRModule:
        """The program."""
        return _normal(self.text if isinstance(self.text, str) else self.text.text)

    @cached_property
    def mine(self) -> IRModule:
        """Our result."""
        return self._ours(self.given, {})

    @cached_property
    def answer(self) -> Answer[Applied]:
        """TVM's answer."""
        return self.oracle.apply(asked(self.text), [self.of.in_tvm])

    @cached_property
    def theirs(self) -> IRModule:
        """TVM's result."""
        return _normal(self.answer.get().text)

    @cached_property
    def theirs_unannotated(self) -> IRModule:
        """TVM's result, with StructInfo of bindings that is derived again."""
        return _normal(strip_binding_annotations(self.answer.get().text))

    @cached_property
    def is_none(self) -> bool:
        """True if both results are equal as they are."""
        return self._is_equal(self.mine, self.theirs, self.answer.get().handle)

    def is_explained(self, about: list[Reason]) -> bool:
        """True if both results are equal without the subjects of these rows."""
        try:
            return self._without(about)
        except Failure:
            return False

    def _without(self, about: list[Reason]) -> bool:
        before = _chain(self.given, [reason.program for reason in about])
        options = {key: value for reason in about for key, value in reason.options.items()}
        is_same = before is self.given
        if not is_same:
            before = _normal(readable(before.script()))
        is_plain = is_same and not options
        ours = self.mine if is_plain else self._ours(before, options)
        answer = self.answer if is_same else self.oracle.apply(before.script(), [self.of.in_tvm])
        if not answer.ok:
            return False
        theirs = answer.get()
        if any(reason.ill_formed for reason in about):
            return not self.oracle.well_formed(theirs.handle).get().well_formed
        if any(reason.is_wrong for reason in about) and not self._is_wrong():
            return False
        is_bare = any(reason.unannotated for reason in about)
        if is_same:
            result = self.theirs_unannotated if is_bare else self.theirs
        else:
            result = _normal(strip_binding_annotations(theirs.text) if is_bare else theirs.text)
        mine = _chain(ours, [reason.ours for reason in about])
        changed = _chain(result, [reason.theirs for reason in about])
        as_it_was = changed is result and not is_bare
        if is_plain and mine is ours and as_it_was:
            return self.is_none
        return self._is_equal(mine, changed, theirs.handle if as_it_was else None)

    def _ours(self, program: IRModule, options: dict[str, object]) -> IRModule:
        result: IRModule = rxe.apply_pass(program, self.of.name, **self.of.options, **options)
        return result

    def _is_equal(self, mine: IRModule, theirs: IRModule, handle: Handle | None) -> bool:
        """True if two results are equal. TVM has a `handle` for its own, unless that was changed."""
        if rxe.structural_equal(mine, theirs, map_free_vars=True):
            return True
        if handle is None and len(theirs.relax_functions) == len(theirs.functions):
            return False
        # There a declared purity is the same as none, and the regions of blocks may be left out.
        equal = self.oracle.equal(readable(mine.script()), handle or theirs.script())
        return equal.ok and equal.get().mapped

    def _is_wrong(self) -> bool:
        """True if TVM's result for the program itself is not well-formed."""
        return not self.oracle.well_formed(self.answer.get().handle).get().well_formed


def _normal(text: str) -> IRModule:
    module: IRModule = rxe.normalize(rxe.parse(text))
    return module


def _chain(module: IRModule, changes: Iterable[Change]) -> IRModule:
    for change in changes:
        new = change(module)
        module = rxe.normalize(new) if new is not module else module
    return module


REASONS = [
    Reason("Unused binding outside of dataflow blocks", PER_FUNCTION, ours=without_unread),
    Reason("Unused binding outside of dataflow blocks", DEAD - PER_FUNCTION, ours=without_unread_and_uncalled),
    Reason("Unused binding outside of dataflow blocks", PROFILED, options={"profile": "tvm"}),
    Reason("`match_cast` that compares two known lengths", CANONICAL, program=without_comparing_casts),
    Reason("`match_cast` that compares two known lengths", program=without_return_annotations),
    Reason("`match_cast` that compares two known lengths", frozenset({"FuseTIR"}), options={"profile": "tvm"}),
    Reason("Constant that a call may overwrite", CANONICAL | {"FoldConstant"}, program=without_written_constants),
    Reason("Weaker annotation of a call", DERIVING, ours=derived, theirs=derived),
    Reason("Argument that a call checks", frozenset({"InlinePrivateFunctions"}), program=without_checked_arguments),
    Reason("RemoveUnusedParameters for an argument", frozenset({"RemoveUnusedParameters", "FuseTIR"}), program=without_checked_arguments),
    Reason("`tensor_to_shape` of a vector of unknown length", DECOMPOSITIONS, program=without_unknown_vectors),
    Reason("Recursive call in ConvertToDataflow", frozenset({"ConvertToDataflow"}), program=without_recursion),
    Reason("StructInfo of an If", ANNOTATED, unannotated=True),
    Reason("StructInfo of an If", ANNOTATED | {"CallTIRRewrite"}, ours=annotated_anew, unannotated=True),
    Reason("Unused binding outside of dataflow blocks", PER_FUNCTION, ours=without_unread, theirs=without_harmless),
    Reason("Unused binding outside of dataflow blocks", DEAD - PER_FUNCTION, ours=without_unread_and_uncalled, theirs=without_harmless),
    Reason("An output of one of two neighbouring blocks", CANONICAL, theirs=canonical),
    Reason("Shapes that variables hold", frozenset({"ConvertToDataflow"}), theirs=canonical),
    Reason("Shapes that variables hold", frozenset({"ConvertToDataflow"}), ill_formed=True),
    Reason("BundleModelParams for a weight", frozenset({"BundleModelParams"}), ill_formed=True),
    Reason(
        "AnnotateTIROpPattern of a PrimFunc without blocks",
        frozenset({"AnnotateTIROpPattern"}),
        ours=without_plain_patterns,
        theirs=without_plain_patterns,
    ),
    Reason("Length of the function in the type", frozenset({"BindSymbolicVars"}), ill_formed=True),
    Reason("Length of the function in the type", frozenset({"BindSymbolicVars"}), ours=derived, theirs=derived),
    Reason("`repeat` of all elements in ConvertLayout", frozenset({"ConvertLayout"}), program=without(subject.is_whole_repeat)),
    Reason("Blocks of an inlined function", frozenset({"InlinePrivateFunctions"}), ours=without_blocks, theirs=without_blocks),
    Reason("Operators that FoldConstant begins to legalize", frozenset({"FoldConstant"}), program=without(subject.is_dynamic_slice), is_wrong=True),
    Reason("Rounding", frozenset({"FoldConstant"}), ours=with_rounded_constants, theirs=with_rounded_constants),
    Reason("InlinePrivateFunctions of a function with lengths", frozenset({"InlinePrivateFunctions"}), unannotated=True),
    Reason("InlinePrivateFunctions of a function with lengths", frozenset({"InlinePrivateFunctions"}), ill_formed=True),
    Reason("LiftTransformParams for a result", frozenset({"LiftTransformParams"}), program=with_read_results, is_wrong=True),
    Reason("Cleaning of a function of dataflow blocks", PATTERNS, ours=cleaned_up, theirs=cleaned_up),
    Reason("Products with a vector in CombineParallelMatmul", frozenset({"CombineParallelMatmul"}), program=without_vector_products),
    Reason("A branch of less precise StructInfo", frozenset({"CombineParallelMatmul", "FuseTIR"}), program=without_branches),
    Reason("Lengths of the result of an If", PATTERNS | {"InlinePrivateFunctions"}, program=without_branches),
    Reason("Field of a tuple that only products read", frozenset({"ToMixedPrecision"}), ours=cleaned_up, theirs=cleaned_up),
    Reason("Result of a dataflow block that only products", frozenset({"ToMixedPrecision"}), ill_formed=True),
    Reason("Field of a tuple as a result in ConvertLayout", frozenset({"ConvertLayout"}), ours=without_copies, theirs=without_copies),
    Reason("FuseOpsByPattern for a match that shares", frozenset({"FuseOpsByPattern"}), program=without_dead),
    Reason("FuseOpsByPattern for a match that shares", frozenset({"FuseOpsByPattern"}), program=without_outside),
    Reason("FuseOpsByPattern for a match that shares", frozenset({"FuseOpsByPattern"}), program=without_shared),
    Reason("FuseOpsByPattern for a match that shares", frozenset({"FuseTransposeMatmul"}), ill_formed=True),
    Reason("FuseOps and FuseOpsByPattern for a group that reads", frozenset({"FuseOps", "FuseOpsByPattern"}), ill_formed=True),
    Reason("FuseOpsByPattern for a tensor whose shape", frozenset({"FuseOpsByPattern"}), program=without(subject.has_held_shape, False)),
    Reason("Result of `invoke_closure`", frozenset({"LowerRuntimeBuiltin"}), ours=with_closures_of_objects, theirs=with_closures_of_objects),
    Reason("Copy of a variable that a kill ends", CANONICAL | {"EliminateCommonSubexpr"}, program=without_kills),
    Reason("Length of a match_cast in a function type", CANONICAL, ours=with_bare_casts_of_functions, theirs=with_bare_casts_of_functions),
    Reason("`global_symbol` that is not the name", frozenset({"AttachGlobalSymbol"}), ours=with_names_for_symbols),
    Reason("Weaker annotation of a call", frozenset({"LambdaLift"}), ours=with_closures_called_as_annotated),
    Reason("Names of functions in Dispatch", frozenset({"DispatchSampling", "DispatchSortScan"}), ours=with_names_of_symbols),
    Reason("Value that a match_cast reads in FuseOps", frozenset({"FuseOps"}), program=without_casts),
    Reason("Number of a device in the text", frozenset({"VMShapeLower"}), ours=without_numbers_of_devices, theirs=without_numbers_of_devices),
    Reason("VMShapeLower of scalars", frozenset({"VMShapeLower"}), program=without_scalars),
    Reason("FuseTransposeMatmul for a product that nothing reads", frozenset({"FuseTransposeMatmul"}), program=without_dead),
    Reason("Gradient of a product with a matrix", frozenset({"Gradient"}), program=without_chained_products),
    Reason("Gradient of values with symbolic lengths", frozenset({"Gradient"}), ours=without_equal_values, theirs=without_equal_values),
    Reason("Equal values that are bound twice", frozenset({"LiftTransformParams"}), program=without_equal_values),
    Reason("Equal values that are bound twice", frozenset({"LiftTransformParams"}), program=with_read_equal_results),
    Reason("Regions and annotations of blocks in FuseTIR", frozenset({"FuseTIR"}), ours=with_first_regions, theirs=with_first_regions),
    Reason("TopologicalSort of a dataflow block with a match_cast", frozenset({"TopologicalSort"}), ill_formed=True),
    Reason("LambdaLift of a function that compares", LIFTING, program=without_inner_casts),
    Reason("LambdaLift of a function that compares", LIFTING, program=with_own_lengths),
    Reason("LambdaLift of a function that compares", frozenset({"LambdaLift"}), ill_formed=True),
    Reason("LambdaLift of a function that compares", frozenset({"LiftTransformParams"}), program=without(lambda q: type(q) is e.Function, False)),
    Reason("KillAfterLastUse behind an If", frozenset({"KillAfterLastUse"}), ours=without_late_kills),
    Reason("StaticPlanBlockMemory of branches", frozenset({"StaticPlanBlockMemory"}), program=without_branches, is_wrong=True),
    Reason("StaticPlanBlockMemory of nested functions", frozenset({"StaticPlanBlockMemory"}), program=without(lambda q: type(q) is e.Function)),
    Reason("StaticPlanBlockMemory of the operand of an operator", frozenset({"StaticPlanBlockMemory"}), program=without(is_unlowered)),
    Reason("StaticPlanBlockMemory of the operand of a packed", frozenset({"StaticPlanBlockMemory"}), program=without(is_packed)),
    Reason("StaticPlanBlockMemory of the operand of a reshape", frozenset({"StaticPlanBlockMemory"}), program=without(subject.is_reshape)),
    Reason("StructInfo of an If", frozenset({"VMShapeLower"}), program=without(lambda q: type(q) is e.If)),
    Reason("Stores of `shape_func`", frozenset({"VMShapeLower"}), ours=with_sorted_stores, theirs=with_sorted_stores),
    Reason("Values of a nested function", frozenset({"EliminateCommonSubexpr"}), ill_formed=True),
    Reason("StructInfo of an If", frozenset({"CallTIRRewrite", "StaticPlanBlockMemory"}), program=annotated_anew),
    Reason("`call_dps_packed` | pure", program=without(subject.is_packed_filling, False)),
    Reason("Value that a call overwrites", PATTERNS | {"EliminateCommonSubexpr"}, program=without(subject.is_overwriting, False)),
    Reason("Constant in DataflowUseInplaceCalls", frozenset({"DataflowUseInplaceCalls"}), program=with_made_constants),
    Reason("Numbers of floating point in ComputePrimValue", frozenset({"ComputePrimValue"}), program=without(subject.has_float_number)),
    Reason("Product of two products in AdjustMatmulOrder", frozenset({"AdjustMatmulOrder"}), program=without_products_of_products),
    Reason("Operand of a function in DataflowUse", frozenset({"DataflowUseInplaceCalls"}), program=without(subject.is_module_call, False)),
    Reason("Field of a tuple in DataflowUse", frozenset({"DataflowUseInplaceCalls"}), program=without(subject.is_tuple, False)),
    Reason("Field of a tuple in DataflowUse", frozenset({"DataflowUseInplaceCalls"}), program=with_made_fields),
    Reason("Extents of loops", MAKING, ours=with_plain_extents, theirs=with_plain_extents),
    Reason("Lengths that scalar parameters tell", frozenset({"RemovePurityChecking"}), ours=derived, theirs=derived),
    Reason("Operators that FoldConstant begins to legalize", frozenset({"FoldConstant"}), program=without(subject.reads_held_shape)),
    Reason("Attention with a bias or a mask", frozenset({"ToMixedPrecision"}), program=without(subject.is_attention, False)),
    Reason("Products of integers or float64", frozenset({"ToMixedPrecision"}), program=without(subject.is_other_product, False)),
    Reason("Products of float16 tensors", frozenset({"ToMixedPrecision"}), program=without(subject.is_ready_product, False)),
    Reason("Constants of functions for code generators", frozenset({"RunCodegen"}), theirs=without_named_constants),
    Reason("RunCodegen of a function whose result", frozenset({"RunCodegen"}), program=without(subject.is_unshaped_module_call, False)),
    Reason("Function that does not declare its purity", frozenset({"RemovePurityChecking"}), options={"profile": "tvm"}),
    Reason("Scalar as a result in ConvertLayout", frozenset({"ConvertLayout"}), program=without(subject.is_scalar, False)),
    Reason("Operators on constants for which TVM", frozenset({"FoldConstant"}), program=without(subject.is_kept_constant, False)),
    Reason(
        "MergeCompositeFunctions for a function that names",
        frozenset({"MergeCompositeFunctions"}),
        ours=with_names_of_regions,
        theirs=with_names_of_regions,
    ),
    Reason("MergeCompositeFunctions with copies", frozenset({"MergeCompositeFunctions"}), program=without_inner_copies),
    Reason("MergeCompositeFunctions with copies", frozenset({"MergeCompositeFunctions"}), ill_formed=True),
    Reason("MergeCompositeFunctions with copies", frozenset({"MergeCompositeFunctions"}), program=without_copies),
    Reason("Copy that RewriteDataflowReshape makes a view", frozenset({"RewriteDataflowReshape"}), program=without(subject.is_overwriting, False)),
    Reason("LiftTransformParams for a length", frozenset({"LiftTransformParams"}), program=without(subject.is_module_call, False)),
    Reason("BundleModelParams of a function", frozenset({"BundleModelParams"}), program=without(subject.is_module_call, False)),
    Reason("Value that a call overwrites", PATTERNS | {"EliminateCommonSubexpr"}, program=without(is_packed, False)),
    Reason("Equal calls that make a cache", frozenset({"EliminateCommonSubexpr"}), program=without(subject.makes_cache, False)),
    Reason("Value of a dataflow block that a nested", frozenset({"ConvertToDataflow"}), program=without(lambda q: type(q) is e.Function, False)),
    Reason("Result of `hint_on_device`", frozenset({"DataflowUseInplaceCalls"}), program=without_hints),
    Reason("FuseOpsByPattern for a match that shares", frozenset({"FuseOpsByPattern"}), program=without_copies),
    Reason("TopologicalSort of a dataflow block with a match_cast", frozenset({"TopologicalSort"}), program=without_casts),
    Reason("Numbers among the operands", frozenset({"BindSymbolicVars"}), theirs=with_folded_numbers),
    Reason("BindSymbolicVars of a scalar parameter", frozenset({"BindSymbolicVars"}), program=without(subject.passes_scalar, False)),
    Reason("Constant that a call may overwrite", frozenset({"InlinePrivateFunctions"}), ours=with_direct_constants, theirs=with_direct_constants),
    Reason("RemoveUnusedParameters: the order", LENGTHS, ours=with_sorted_lengths, theirs=with_sorted_lengths),
    Reason("The order of several lengths", frozenset({"FuseOps", "FuseOpsByPattern"}), ours=with_sorted_shapes, theirs=with_sorted_shapes),
    Reason("StructInfo of an If", PATTERNS | {"RemovePurityChecking"}, ours=without_lengths_of_functions, theirs=without_lengths_of_functions),
    Reason("Shapes that variables hold", DECOMPOSITIONS | {"ConvertToDataflow"}, ill_formed=True),
    Reason("Device of an allocated tensor", PLACED, ours=without_devices, theirs=without_devices),
    Reason("Lengths of the result of a group in FuseOps", frozenset({"FuseOps", "FuseTIR"}), ours=with_short_lengths, theirs=with_short_lengths),
    Reason("Call of a closure with effects", LIFTING, ours=with_pure_closures),
    Reason("Value of more than a million elements", frozenset({"FoldConstant"}), options={"profile": "tvm"}),
    Reason("Closure that a function returns", LIFTING, ours=with_opaque_closures, theirs=with_opaque_closures),
]  # fmt: skip
"""The rows that are recognised, narrow ones first."""
