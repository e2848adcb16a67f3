"""RX04: passes, contracts and phases."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

UNKNOWN_PASS = Code(
    "RX0401", "unknown pass", "No pass or pipeline has this name.", "List them with `relax-explorer passes`."
)
UNMET_REQUIREMENT = Code(
    "RX0402",
    "requirement not met",
    "The pass requires a property that the module does not have here, and no earlier pass establishes it.",
    "Run the pass that the message names first.",
    "",
    Severity.WARNING,
)
BROKEN_CONTRACT = Code(
    "RX0403",
    "the pass broke its contract",
    "The pass promises to keep or to establish a property, and the property does not hold after it.",
    "This is a defect of the pass; disable the pass. Where the message tells what an operator or an annotation refuses, the program "
    "itself may be wrong: a pass that puts known lengths in the place of their names, or a function in the place of its call, shows it.",
)
BAD_OPTION = Code(
    "RX0404",
    "wrong option of a pass",
    "The pass has no such option, or the value has the wrong type.",
    "See `relax-explorer explain PASS`.",
)
NEEDS_ANOTHER_PASS = Code(
    "RX0407",
    "the pass can't run on this module",
    "The module has a construct that another pass must lower first.",
    "Run the named pass before this one.",
)
WRONG_PHASE = Code(
    "RX0408",
    "the module is not in the phase that it claims",
    "The attribute `rx.phase` names a phase, and the module lacks a property of it. Without the attribute, the module has code of two "
    "phases: operators of memory or of the virtual machine, and operators that LegalizeOps lowers.",
    "Run the pass that establishes the property (`relax-explorer phases`), or correct the attribute.",
    example="""
@I.ir_module
class Module:
    I.module_attrs({"rx.phase": "lowered"})

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y
""",
)
NO_GRADIENT = Code(
    "RX0409",
    "a value has no gradient",
    "The result depends on a value or a call that Gradient cannot differentiate.",
    "Differentiate a float scalar, and leave out operators without a derivative, or mark them with `R.grad.no_grad`.",
)
WRONG_ORDER = Code(
    "RX0410",
    "passes in the wrong order",
    "An earlier pass made constructs that this pass can't change. Their contracts do not tell this order.",
    "Run LegalizeOps before LambdaLift; `relax-explorer passes --explain A,B,C` checks an order.",
    "",
    Severity.WARNING,
)
BROKEN_ENTRY_POINT = Code(
    "RX0411",
    "a package gives no pass",
    "An installed package names a pass in the entry point group `relax_explorer.passes`, but it can't be used.",
    "Mend or uninstall the package; docs/writing-a-pass.md tells what a pass is.",
    "",
    Severity.WARNING,
)
FOREIGN_FAILURE = Code(
    "RX0412",
    "a pass of a package failed",
    "The pass is not part of relax_explorer. It raised an exception, or returned something else than a function or a module.",
    "Report it to its authors, or leave the pass out.",
)
STOPS_UNREAD = Code(
    "RX0406",
    "an unused binding may stop the run",
    "Outside a dataflow block a pass preserves errors. Removing this binding would remove its error, too.",
    'Remove it with DeadCodeElimination{profile="tvm"}, as TVM does, or move it into a dataflow block.',
    "",
    Severity.NOTE,
)
CHECK_PROVED = Code(
    "RX0413",
    "a check can't fail",
    "Annotations, earlier checks or the condition of the branch prove what the check demands, so EliminateShapeChecks drops it.",
    "`relax-explorer shapes FILE --proved` shows the proofs of all checks.",
    "",
    Severity.NOTE,
)
NO_CALL = Code(
    "RX0414",
    "no call for a specialized function",
    "SpecializeShapes adds a copy of a function only if the StructInfo of the arguments of a call tells its lengths.",
    "Add it for callers outside of the module with `public=True`.",
    "",
    Severity.NOTE,
)
EXTERNAL_EFFECT = Code(
    "RX0415",
    "external code where side effects are forbidden",
    "RunCodegen calls packed functions. The specification says that these may overwrite their arguments, TVM takes them for pure.",
    "Run ToNonDataflow and RemovePurityChecking behind it, as a build does, or use the profile `tvm`.",
    "",
    Severity.WARNING,
)
NO_CODE_GENERATOR = Code(
    "RX0416",
    "a composite function without a code generator",
    "MergeCompositeFunctions moves calls of composite functions into functions for a code generator, but only in dataflow blocks.",
    "Move the calls into dataflow blocks with ConvertToDataflow.",
    "",
    Severity.WARNING,
)
STAYS = Code(
    "RX0417",
    "a function for a code generator stays",
    "RunCodegen replaces calls only if the caller can allocate the results: tensors of known shape and dtype. A function that is used as a "
    "value stays, too.",
    "State the shape of the result with a match_cast before FuseOpsByPattern, or call the function by its name.",
    "",
    Severity.WARNING,
)
FINDS_NOTHING = Code(
    "RX0418",
    "an earlier pass has removed what the pass reads",
    "The pass looks for something that an earlier pass of the order replaced, such as dataflow blocks or high-level operators. It finds "
    "nothing of it, and changes nothing.",
    "Move the pass in front of the one that is named.",
    "",
    Severity.WARNING,
)
NO_LEGALIZATION = Code(
    "RX0405",
    "operator has no lowering",
    "LegalizeOps leaves the call unchanged.",
    "Skip the operator, or lower it by hand.",
    "",
    Severity.WARNING,
)
