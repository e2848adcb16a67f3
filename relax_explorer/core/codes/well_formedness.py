"""RX01: well-formedness and types."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

NOT_NORMAL = Code(
    "RX0101",
    "not in normal form",
    "An operand is a computation. In normal form, every computation is bound to a variable first.",
    "Run Normalize.",
)
UNBOUND_VAR = Code(
    "RX0102",
    "variable used outside its scope",
    "The variable is not bound where it is used.",
    "Bind it before the use, or pass it as a parameter.",
)
UNBOUND_DATAFLOW_VAR = Code(
    "RX0103",
    "dataflow variable used outside its block",
    "A DataflowVar is visible only inside its dataflow block.",
    "List it in R.output.",
)
BOUND_TWICE = Code(
    "RX0104",
    "variable bound twice",
    "Each variable is bound exactly once (single assignment).",
    "Use a new variable for the second binding.",
)
UNBOUND_SHAPE_VAR = Code(
    "RX0105",
    "shape variable has no value",
    "A shape variable gets its value where it is a whole dimension of a parameter or of a match_cast.",
    "Add a parameter or a match_cast that binds it.",
    '@R.function\ndef f(x: R.Tensor(("n * 2",), "float32")):\n    return x\n',
)
UNDEFINED_GLOBAL = Code(
    "RX0106",
    "function is not in the module",
    "The module defines no function of this name.",
    "Define the function, or correct the name.",
    "@I.ir_module\nclass M:\n    @R.function\n    def f():\n        return M.g()\n",
)
IF_IN_DATAFLOW = Code(
    "RX0107",
    "control flow in a dataflow block",
    "A dataflow block is a graph without control flow, so it can't contain an If.",
    "Move the If outside the block.",
)
GLOBAL_SYMBOL = Code(
    "RX0108",
    "global_symbol differs from the name",
    "The global_symbol of a public function must be its name in the module.",
    "Use the same name for both.",
)
BAD_ANNOTATION_INFO = Code(
    "RX0109",
    "annotation contradicts the value",
    "The inferred StructInfo of the value contradicts the annotation.",
    "Correct the annotation, or remove it.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    y: R.Tensor((3,), "float32") = R.add(x, x)\n    return y\n',
)
MAYBE_ANNOTATION = Code(
    "RX0110",
    "annotation not proven",
    "Inference can't prove that the value fits the annotation.",
    "Write a match_cast, which checks the value at run time.",
    '@R.function\ndef f(x: R.Tensor(("n",), "float32")):\n    n = T.int64()\n    y: R.Tensor((3,), "float32") = R.add(x, x)\n    return y\n',
    Severity.WARNING,
)
BAD_RETURN = Code(
    "RX0111",
    "return value contradicts the annotation",
    "The StructInfo of the returned value contradicts the return annotation.",
    "Correct the annotation.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")) -> R.Tensor((3,), "float32"):\n    return x\n',
)
IMPURE_IN_DATAFLOW = Code(
    "RX0112",
    "impure call in a dataflow block",
    "A dataflow block must not have side effects.",
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
    "The condition of an If must be a bool tensor of rank 0, or a scalar bool.",
    "Compare or reduce the value to a single bool.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    if x:\n        y = x\n    else:\n        y = R.add(x, x)\n    return y\n',
)
NARROW_ANNOTATION = Code(
    "RX0116",
    "annotation is more precise than the value",
    "The annotation claims a kind, rank or dtype that inference can't derive. Only a match_cast may claim it.",
    "Write a match_cast.",
    '@R.function\ndef f(x: R.Object):\n    y: R.Tensor((2,), "float32") = x\n    return y\n',
)
INFERRED_IMPURE = Code(
    "RX0117",
    "function is inferred impure",
    "The function does not declare whether it is pure, and something in it may have a side effect. TVM assumes that it is pure.",
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
    "Something in the function may have a side effect. relax.force_pure promises that no caller can observe it.",
    "Remove relax.force_pure unless this is true.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    R.func_attr({"relax.force_pure": True})\n    R.print(x, format="")\n    return x\n',
    Severity.NOTE,
)
RECURSION_UNANNOTATED = Code(
    "RX0140",
    "recursive function without return annotation",
    "Inference needs the StructInfo of a recursive call before it has read the body.",
    "Write the return annotation.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    y = f(x)\n    return y\n',
)
RECURSION_IN_DATAFLOW = Code(
    "RX0141",
    "recursive call in a dataflow block",
    "A dataflow block is a graph without control flow, so it can't call the function that contains it.",
    "Move the call outside the block.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n'
    "    with R.dataflow():\n        y = f(x)\n        R.output(y)\n    return y\n",
)
OP_AS_VALUE = Code(
    "RX0142",
    "operator used as a value",
    "An operator can be called, but not bound, passed or returned.",
    "Wrap it in a function.",
)
CAPTURED_DATAFLOW_VAR = Code(
    "RX0143",
    "closure captures a dataflow variable",
    "The closure may outlive the dataflow block, and the variables of the block end with it.",
    "Pass the value as an argument.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    with R.dataflow():\n        lv = R.add(x, x)\n'
    '        @R.function\n        def g(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n'
    "            z = R.add(lv, y)\n            return z\n        w = g(x)\n        R.output(w)\n    return w\n",
)
NO_PUBLIC_FUNCTION = Code(
    "RX0144",
    "module has no public function",
    "No function of this module can be called from outside.",
    "Make one function public: remove private=True.",
    '@R.function(private=True)\ndef f(x: R.Tensor((2,), "float32")):\n    return x\n',
)
SYMBOLIC_PRIM_VALUE = Code(
    "RX0146",
    "scalar value computed from shape variables",
    "The specification allows only a literal here. TVM allows any expression.",
    "Pass R.shape([...]) instead.",
    '@R.function(pure=False)\ndef f(x: R.Tensor(("n",), "float32")):\n    n = T.int64()\n'
    '    y = R.call_packed("g", R.prim_value(n), sinfo_args=R.Object)\n    return y\n',
    Severity.WARNING,
)
BAD_SCALAR_TYPE = Code(
    "RX0147",
    "not the dtype of a scalar",
    "A scalar is an integer, a float or a bool. void and handle are not scalars.",
    "Name an integer or float dtype.",
    '@R.function\ndef f(p: R.Prim("handle")):\n    return p\n',
)
UNTYPED_PARAM = Code(
    "RX0148",
    "parameter without StructInfo",
    "A parameter without annotation has the StructInfo Object.",
    "Annotate the parameter.",
    severity=Severity.WARNING,
)
ORDINARY_IN_DATAFLOW = Code(
    "RX0149",
    "ordinary block inside a dataflow block",
    "A sequence inside a dataflow block may contain only dataflow blocks. An ordinary block could have side effects.",
    "Move the sequence before the dataflow block.",
)
BAD_ELEMENT = Code(
    "RX0150",
    "not the dtype of a tensor's elements",
    "The elements of a tensor are scalars, not vectors of several lanes or handles. TVM allows both in annotations.",
    "Use a scalar dtype, and a further dimension for the lanes.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32x4")):\n    return x\n',
)
SHAPE_VAR_AS_TENSOR = Code(
    "RX0152",
    "shape variable in place of a tensor",
    "A shape variable may be used in dimensions and in scalars. The specification does not allow it as a tensor operand; TVM does.",
    "Convert it to a tensor: R.shape_to_tensor(R.shape([...])).",
    '@R.function\ndef f(x: R.Tensor(("n",), "int64")):\n    n = T.int64()\n    y = R.add(x, n)\n    return y\n',
)
NO_SHAPE_HELD = Code(
    "RX0120",
    "shape of a tensor is not a shape value",
    "A variable that gives the shape of a tensor must hold a shape.",
    "Use R.shape_of(x), or another shape value.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32"), y: R.Tensor("float32")):\n'
    '    z = R.match_cast(y, R.Tensor(x, "float32"))\n    return z\n',
)
DIRECT_KERNEL_CALL = Code(
    "RX0121",
    "PrimFunc called directly",
    "A PrimFunc writes its results into arrays that the caller passes. Only a lowered program allocates these arrays and may "
    "call it directly.",
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
    "bit width outside the specification",
    "The specification has integers of 8, 16, 32 or 64 bits and floats of 16, 32 or 64 bits. TVM allows other widths.",
    "Use a wider dtype.",
    '@R.function\ndef f(x: R.Tensor((2,), "uint4")):\n    return x\n',
)
YOUNG_DTYPE = Code(
    "RX0153",
    "dtype newer than the specification",
    "The specification has neither bfloat16 nor floats of 8 bits or less. TVM has them, and they run here.",
    "If the program is for TVM, nothing needs to change; check it with the profile tvm.",
    '@R.function\ndef f(x: R.Tensor((2,), "bfloat16")):\n    return x\n',
    Severity.NOTE,
)
NEGATIVE_LENGTH = Code(
    "RX0155",
    "negative length",
    "A length can't be negative, neither a number nor an expression such as `n - n - 1`. Only R.reshape accepts -1, for a length that it computes.",
    "Write the length or a shape variable, or omit the shape.",
    '@R.function\ndef f(x: R.Tensor((-1,), "float32")):\n    return x\n',
)
ZERO_DIVISION = Code(
    "RX0156",
    "division by zero in a length",
    "No run can compute a length that divides by what is always 0.",
    "Divide by a length that is not 0.",
    '@R.function\ndef f(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n // (n - n)",), "float32")):\n    return x\n',
)
SHARED_MEMORY = Code(
    "RX0157",
    "write that destroys another tensor",
    "A planned program places several tensors in one storage, one after the other. A write to one destroys the elements of every other "
    "tensor in its bytes, so those must not be read afterwards. TVM does not check this: the program runs and computes wrong values.",
    "Give one of the two a storage of its own, or other bytes of this one.",
    "@I.ir_module\nclass M:\n    @T.prim_func\n"
    '    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n'
    "        for i in range(4):\n            B[i] = A[i] + T.float32(1)\n\n"
    "    @R.function(pure=False)\n"
    '    def main(x: R.Tensor((4,), "float32")):\n'
    '        s = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))\n'
    '        a = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))\n'
    "        _ = M.k(x, a)\n"
    '        b = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))\n'
    "        _ = M.k(x, b)\n        return (a, b)\n",
    unchecked=True,
)
