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
    '@R.function(pure=True)\ndef f(x: R.Tensor((2,), "float32")):\n    R.print(x, format="")\n    return x\n',
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
NARROW_ANNOTATION = Code(
    "RX0116",
    "annotation says more than is known",
    "The annotation names a kind, rank or dtype that the value is not known to have; only a match_cast may claim it.",
    "Write a match_cast.",
    '@R.function\ndef f(x: R.Object):\n    y: R.Tensor((2,), "float32") = x\n    return y\n',
)
INFERRED_IMPURE = Code(
    "RX0117",
    "function is inferred impure",
    "The function does not say whether it is pure, and something in it may have a side effect. TVM takes it for pure.",
    "Write @R.function(pure=False).",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    R.print(x, format="")\n    return x\n',
    Severity.NOTE,
)
FORCE_PURE_MIXED = Code(
    "RX0118",
    "force_pure contradicts pure=False",
    "A function can't be declared impure and forced to be pure.",
    "Remove one of the two.",
    '@R.function(pure=False)\ndef f(x: R.Tensor((2,), "float32")):\n    R.func_attr({"relax.force_pure": True})\n    return x\n',
)
FORCED_PURE = Code(
    "RX0119",
    "function is forced to be pure",
    "Something in the function may have a side effect; relax.force_pure says that nobody outside can tell.",
    "Remove relax.force_pure unless that is so.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    R.func_attr({"relax.force_pure": True})\n    R.print(x, format="")\n    return x\n',
    Severity.NOTE,
)
RECURSION_UNANNOTATED = Code(
    "RX0140",
    "recursive function without return annotation",
    "What a recursive call returns must be known before the body is read.",
    "Write the return annotation.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    y = f(x)\n    return y\n',
)
RECURSION_IN_DATAFLOW = Code(
    "RX0141",
    "recursive call in a dataflow block",
    "A dataflow block is a graph without control flow, so it can't call back into its own function.",
    "Move the call outside the block.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n'
    "    with R.dataflow():\n        y = f(x)\n        R.output(y)\n    return y\n",
)
OP_AS_VALUE = Code(
    "RX0142",
    "operator used as a value",
    "An operator can only be called; it is no value.",
    "Wrap it in a function.",
)
CAPTURED_DATAFLOW_VAR = Code(
    "RX0143",
    "closure captures a dataflow variable",
    "The closure may outlive the dataflow block, whose variables nobody sees afterwards.",
    "Pass the value as an argument.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    with R.dataflow():\n        lv = R.add(x, x)\n'
    '        @R.function\n        def g(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n'
    "            z = R.add(lv, y)\n            return z\n        w = g(x)\n        R.output(w)\n    return w\n",
)
NO_PUBLIC_FUNCTION = Code(
    "RX0144",
    "module has no public function",
    "Nothing outside can call a function of this module.",
    "Make one public: remove private=True.",
    '@R.function(private=True)\ndef f(x: R.Tensor((2,), "float32")):\n    return x\n',
)
SYMBOLIC_PRIM_VALUE = Code(
    "RX0146",
    "scalar value made of shape variables",
    "The specification allows literals only; TVM allows any expression.",
    "Pass R.shape([...]) instead.",
    '@R.function(pure=False)\ndef f(x: R.Tensor(("n",), "float32")):\n    n = T.int64()\n'
    '    y = R.call_packed("g", R.prim_value(n), sinfo_args=R.Object)\n    return y\n',
    Severity.WARNING,
)
BAD_SCALAR_TYPE = Code(
    "RX0147",
    "not the dtype of a scalar",
    "A scalar is an integer, a float or a bool; void and handle are no scalars.",
    "Name an integer or float dtype.",
    '@R.function\ndef f(p: R.Prim("handle")):\n    return p\n',
)
UNTYPED_PARAM = Code(
    "RX0148",
    "parameter without StructInfo",
    "Nothing is known of the parameter, so it is taken as Object.",
    "Annotate it.",
    severity=Severity.WARNING,
)
ORDINARY_IN_DATAFLOW = Code(
    "RX0149",
    "ordinary block inside a dataflow block",
    "A sequence inside a dataflow block may have dataflow blocks only; an ordinary one could have side effects.",
    "Move the sequence before the dataflow block.",
)
BAD_ELEMENT = Code(
    "RX0150",
    "not the dtype of a tensor's elements",
    "The elements of a tensor are scalars: no vectors of several lanes, and no handles. TVM allows both in annotations.",
    "Name a scalar dtype; lanes become a dimension of their own.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32x4")):\n    return x\n',
)
SHAPE_VAR_AS_TENSOR = Code(
    "RX0152",
    "shape variable in place of a tensor",
    "A shape variable stands in dimensions and in scalars; the specification has no tensor made of it. TVM takes the scalar.",
    "Make it a tensor: R.shape_to_tensor(R.shape([...])).",
    '@R.function\ndef f(x: R.Tensor(("n",), "int64")):\n    n = T.int64()\n    y = R.add(x, n)\n    return y\n',
)
NO_SHAPE_HELD = Code(
    "RX0120",
    "shape taken from a variable that holds none",
    "The shape of a tensor may be given by a variable, which then has to hold a shape.",
    "Use R.shape_of(x), or another value that is a shape.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32"), y: R.Tensor("float32")):\n'
    '    z = R.match_cast(y, R.Tensor(x, "float32"))\n    return z\n',
)
DIRECT_KERNEL_CALL = Code(
    "RX0121",
    "PrimFunc called directly",
    "A PrimFunc is no function of the language: it fills arrays that it is given. Only lowered programs, which allocate "
    "these themselves, call it.",
    "Use R.call_tir, which allocates the result.",
    "@I.ir_module\nclass M:\n    @T.prim_func\n"
    '    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n'
    "        for i in range(4):\n            B[i] = A[i]\n\n"
    "    @R.function(pure=False)\n"
    '    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):\n'
    "        _ = M.k(x, y)\n        return y\n",
)
BAD_WIDTH = Code(
    "RX0154",
    "width that the specification does not have",
    "Integers have 8, 16, 32 or 64 bits, floats 16, 32 or 64. TVM allows others.",
    "Use a wider dtype.",
    '@R.function\ndef f(x: R.Tensor((2,), "uint4")):\n    return x\n',
)
YOUNG_DTYPE = Code(
    "RX0153",
    "dtype younger than the specification",
    "bfloat16 and the floats of 8 bits and less are not in the specification; TVM has them, and they run here.",
    "Nothing, if TVM is what runs the program: check with the profile tvm.",
    '@R.function\ndef f(x: R.Tensor((2,), "bfloat16")):\n    return x\n',
    Severity.NOTE,
)
NEGATIVE_LENGTH = Code(
    "RX0155",
    "negative length",
    "No tensor has fewer elements than none along an axis; only R.reshape takes -1, for what is left over.",
    "Write the length, a shape variable, or leave the shape out.",
    '@R.function\ndef f(x: R.Tensor((-1,), "float32")):\n    return x\n',
)
