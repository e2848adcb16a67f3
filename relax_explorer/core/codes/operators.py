"""RX02: operators and StructInfo."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

_T = '@R.function\ndef f(x: R.Tensor({}, "{}"), y: R.Tensor({}, "{}")):\n    return {}\n'

WRONG_KIND = Code(
    "RX0201",
    "operand of another kind",
    "The operator needs a tensor (or a shape, a tuple) here.",
    "Pass a value of the kind that the message names.",
    _T.format("(2,)", "float32", "(2,)", "float32", "R.add(x, R.shape([2]))"),
)
DTYPES_DIFFER = Code(
    "RX0202",
    "dtypes differ",
    "All operands of the operator need the same dtype. Relax does not convert operands by itself.",
    "Convert one with R.astype.",
    _T.format("(2,)", "float32", "(2,)", "int32", "R.add(x, y)"),
)
INNER_LENGTHS = Code(
    "RX0203",
    "inner dimensions differ",
    "A matrix product needs equal inner lengths.",
    "Transpose or reshape an operand.",
    _T.format("(2, 3)", "float32", "(4, 5)", "float32", "R.matmul(x, y)"),
)
NOT_BROADCASTABLE = Code(
    "RX0204",
    "shapes don't broadcast",
    "The shapes are aligned from the right. Each pair of dimensions must be equal, or one of them must be 1.",
    "Reshape or broadcast an operand.",
    _T.format("(2,)", "float32", "(3,)", "float32", "R.add(x, y)"),
)
AXIS_RANGE = Code(
    "RX0205",
    "axis out of range",
    "An axis counts from 0 to rank - 1, or from -rank to -1.",
    "Name an axis that exists.",
    _T.format("(2,)", "float32", "(2,)", "float32", "R.nn.softmax(x, axis=3)"),
)
AXIS_TWICE = Code(
    "RX0206",
    "axis named twice",
    "Each axis can be named once.",
    "Remove one.",
    _T.format("(2, 3)", "float32", "(2,)", "float32", "R.permute_dims(x, axes=[0, 0])"),
)
RANK_WRONG = Code(
    "RX0207",
    "wrong rank",
    "The operand has more or fewer dimensions than the operator takes.",
    "Reshape the operand, or use the operator for its rank.",
    _T.format("(2,)", "float32", "(2,)", "float32", "R.nn.conv2d(x, y)"),
)
SIZE_MISMATCH = Code(
    "RX0208",
    "numbers of elements differ",
    "A reshape keeps the number of elements.",
    "Give dimensions with the same product.",
    _T.format("(2, 3)", "float32", "(2,)", "float32", "R.reshape(x, (5,))"),
)
DIMS_DIFFER = Code(
    "RX0209",
    "dimensions differ",
    "The operator needs equal lengths here.",
    "Make them equal.",
    _T.format("(2, 3)", "float32", "(4, 5)", "float32", "R.concat((x, y), axis=0)"),
)
DTYPE_WRONG = Code(
    "RX0210",
    "dtype not accepted",
    "The operator is not defined for this dtype.",
    "Convert the operand with R.astype.",
    _T.format("(2,)", "int32", "(2,)", "int32", "R.nn.softmax(x)"),
)
BAD_ATTRIBUTE = Code(
    "RX0211",
    "attribute out of range",
    "The operator does not accept this value of the attribute.",
    "See its page: relax-explorer explain OPERATOR.",
    _T.format("(4,)", "float32", "(2,)", "float32", "R.split(x, 0)"),
)
ARGUMENT_COUNT = Code(
    "RX0212",
    "wrong number of arguments",
    "The call passes more or fewer arguments than the callee takes.",
    "See the signature.",
)
ARGUMENT_INFO = Code(
    "RX0213",
    "argument does not fit the parameter",
    "The argument's StructInfo contradicts the parameter's.",
    "Pass a value that fits the parameter.",
)
NOT_CALLABLE = Code(
    "RX0214",
    "not a function",
    "Only operators, functions and closures can be called.",
    "Call a function.",
    _T.format("(2,)", "float32", "(2,)", "float32", "x(y)"),
)
TUPLE_INDEX = Code(
    "RX0215",
    "tuple index out of range",
    "The index is not below the number of fields.",
    "Use an index below the number of fields.",
    _T.format("(2,)", "float32", "(2,)", "float32", "(x, y)[2]"),
)
IMPOSSIBLE_CAST = Code(
    "RX0217",
    "match_cast can never succeed",
    "The value's StructInfo contradicts the target of the match_cast.",
    "Correct the target.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    y = R.match_cast(x, R.Tensor((3,), "float32"))\n    return y\n',
    Severity.WARNING,
)
MAYBE_ARGUMENT = Code(
    "RX0218",
    "argument not proven to fit",
    "Inference can't prove that the argument has the shape of the parameter.",
    "Write a match_cast, which checks the shape at run time.",
    '@R.function\ndef g(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):\n    return x\n\n'
    '@R.function\ndef f(x: R.Tensor(dtype="float32", ndim=1)):\n    y = g(x)\n    return y\n',
    Severity.WARNING,
)
ARGUMENT_DIMS = Code(
    "RX0219",
    "dimensions of the arguments contradict each other",
    "Two arguments give different values to one shape variable of the callee.",
    "Pass arguments whose shapes agree.",
    '@R.function\ndef g(x: R.Tensor(("n", "n"), "float32")) -> R.Tensor(("n",), "float32"):\n'
    "    y = R.sum(x, axis=[1])\n    return y\n\n"
    '@R.function\ndef f(x: R.Tensor((3, 4), "float32")):\n    y = g(x)\n    return y\n',
)
OF_NOTHING = Code(
    "RX0220",
    "reduction of nothing",
    "The axis has length 0. The maximum, minimum or mean of no elements is undefined; TVM returns the dtype's limit, or NaN.",
    "Check where the length comes from.",
    '@R.function\ndef f(x: R.Tensor((0, 3), "float32")):\n    y = R.max(x, axis=[0])\n    return y\n',
    Severity.WARNING,
)
CONTRADICTED = Code(
    "RX0223",
    "lengths contradict what is known",
    "Annotations, earlier checks or the condition of the branch contradict what stands here. Every run that gets here stops.",
    "Correct the call, or the check that the message points at; `relax-explorer shapes FILE --why VALUE` shows where both lengths come from.",
    '@R.function\ndef g(x: R.Tensor(("k",), "float32"), y: R.Tensor(("k",), "float32")) -> R.Tensor(("k",), "float32"):\n'
    "    return x\n\n"
    '@R.function\ndef f(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):\n    n, m = T.int64(), T.int64()\n'
    '    z = R.match_cast(y, R.Tensor((n + 2,), "float32"))\n    w = g(x, y)\n    return (z, w)\n',
)
MAYBE_RETURN = Code(
    "RX0240",
    "return value not proven to fit",
    "Inference can't prove that the value has the shape of the return annotation.",
    "Write a match_cast, which checks the shape at run time.",
    '@R.function\ndef f(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):\n'
    "    return x\n",
    Severity.WARNING,
)
NEEDLESS_CAST = Code(
    "RX0241",
    "match_cast always succeeds",
    "The value already fits the target, so the match_cast checks nothing. The result keeps only the StructInfo of the target, "
    "which may be less precise.",
    "Remove the match_cast, or annotate the variable instead.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    y = R.match_cast(x, R.Tensor(ndim=1))\n    return y\n',
    Severity.NOTE,
)
NO_INFERENCE = Code(
    "RX0222",
    "operator without inference",
    "The operator's class has no `infer`, so the result has the StructInfo Object.",
    "Give the class an `infer`, or cast the result with R.match_cast.",
    "",
    Severity.WARNING,
)
LENGTH_OVERFLOW = Code(
    "RX0245",
    "a length does not fit int64",
    "Lengths are int64. This one, or a number of elements, is larger than 9223372036854775807, or less than its negative.",
    "Use smaller lengths.",
    '@R.function\ndef f(x: R.Tensor((9223372036854775807,), "float32")):\n    return R.concat((x, x))\n',
    unchecked=True,
)
TOO_LARGE = Code(
    "RX0221",
    "StructInfo too large to be written out",
    "The StructInfo of this value doubles with each binding. Its text would be too long to read or to process.",
    "Name the lengths with R.match_cast, or use separate variables instead of tuples of tuples.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    t0 = (x, x)\n'
    + "".join([f"    t{n} = (t{n - 1}, t{n - 1})\n" for n in range(1, 16)])
    + "    return x\n",
)
