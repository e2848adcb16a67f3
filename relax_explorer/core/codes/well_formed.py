"""RX01: well-formedness and types."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

NOT_NORMAL = Code(
    "RX0101",
    "not in normal form",
    "An operand is itself a computation; in normal form each has a variable of its own.",
    "Run Normalize.",
)
UNBOUND_VAR = Code(
    "RX0102",
    "variable used outside its scope",
    "The variable is not bound where it is used.",
    "Bind it before, or pass it as a parameter.",
)
UNBOUND_DATAFLOW_VAR = Code(
    "RX0103",
    "dataflow variable used outside its block",
    "A DataflowVar can be seen only inside its dataflow block.",
    "Name it in R.output.",
)
BOUND_TWICE = Code(
    "RX0104",
    "variable bound twice",
    "Each variable is bound once (single assignment).",
    "Give the second binding a variable of its own.",
)
UNBOUND_SHAPE_VAR = Code(
    "RX0105",
    "shape variable has no value",
    "A shape variable is bound where it stands alone as a dimension of a parameter or of a match_cast.",
    "Add a parameter or a match_cast that binds it.",
    '@R.function\ndef f(x: R.Tensor(("n * 2",), "float32")):\n    return x\n',
)
UNDEFINED_GLOBAL = Code(
    "RX0106",
    "function is not in the module",
    "The name of a global function has no definition.",
    "Define it, or correct the name.",
    "@I.ir_module\nclass M:\n    @R.function\n    def f():\n        return M.g()\n",
)
IF_IN_DATAFLOW = Code(
    "RX0107",
    "control flow in a dataflow block",
    "A dataflow block is a graph: it has no If.",
    "Move the If outside the block.",
)
GLOBAL_SYMBOL = Code(
    "RX0108",
    "global_symbol differs from the name",
    "A public function's global_symbol is its name in the module.",
    "Make them equal.",
)
BAD_ANNOTATION_INFO = Code(
    "RX0109",
    "annotation contradicts the value",
    "The value's StructInfo can't be what the annotation says.",
    "Correct the annotation, or remove it.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    y: R.Tensor((3,), "float32") = R.add(x, x)\n    return y\n',
)
MAYBE_ANNOTATION = Code(
    "RX0110",
    "annotation not proven",
    "Whether the value is what the annotation says is known only when the program runs.",
    "Write a match_cast, which checks it then.",
    '@R.function\ndef f(x: R.Tensor(("n",), "float32")):\n    n = T.int64()\n    y: R.Tensor((3,), "float32") = R.add(x, x)\n    return y\n',
    Severity.WARNING,
)
BAD_RETURN = Code(
    "RX0111",
    "return value contradicts the annotation",
    "The function's value can't be what its return annotation says.",
    "Correct the annotation.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")) -> R.Tensor((3,), "float32"):\n    return x\n',
)
IMPURE_IN_DATAFLOW = Code(
    "RX0112",
    "impure call in a dataflow block",
    "A dataflow block has no side effects.",
    "Move the call outside the block.",
)
IMPURE_IN_PURE = Code(
    "RX0113",
    "impure call in a pure function",
    "The function is declared pure but may have side effects.",
    "Write @R.function(pure=False).",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    R.print(x, format="")\n    return x\n',
)
DATAFLOW_VAR_PLACE = Code(
    "RX0114",
    "dataflow variable bound outside a dataflow block",
    "A DataflowVar is bound only inside a dataflow block.",
    "Use an ordinary variable.",
)
BAD_CONDITION = Code(
    "RX0115",
    "condition is not a scalar bool",
    "The condition of an If is a bool tensor of rank 0, or a scalar bool.",
    "Reduce or compare it to one bool.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    if x:\n        y = x\n    else:\n        y = R.add(x, x)\n    return y\n',
)
