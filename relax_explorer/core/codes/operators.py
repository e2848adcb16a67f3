"""RX02: operators and StructInfo."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

_T = '@R.function\ndef f(x: R.Tensor({}, "{}"), y: R.Tensor({}, "{}")):\n    return {}\n'

WRONG_KIND = Code(
    "RX0201",
    "operand of another kind",
    "The operator needs a tensor (or a shape, a tuple) here.",
    "Pass a value of that kind.",
    _T.format("(2,)", "float32", "(2,)", "float32", "R.add(x, R.shape([2]))"),
)
DTYPES_DIFFER = Code(
    "RX0202",
    "dtypes differ",
    "The operator needs operands of one dtype and converts none by itself.",
    "Convert one with R.astype.",
    _T.format("(2,)", "float32", "(2,)", "int32", "R.add(x, y)"),
)
INNER_LENGTHS = Code(
    "RX0203",
    "inner dimensions differ",
    "A product needs equal inner lengths.",
    "Transpose or reshape an operand.",
    _T.format("(2, 3)", "float32", "(4, 5)", "float32", "R.matmul(x, y)"),
)
NOT_BROADCASTABLE = Code(
    "RX0204",
    "shapes don't broadcast",
    "Aligned from the right, two dimensions must be equal or one of them 1.",
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
    "The operator needs an operand of another number of dimensions.",
    "Reshape it, or use the operator for that rank.",
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
    "The attribute's value has no meaning for this operator.",
    "See its page: relax-explorer explain OPERATOR.",
    _T.format("(4,)", "float32", "(2,)", "float32", "R.split(x, 0)"),
)
ARGUMENT_COUNT = Code(
    "RX0212",
    "wrong number of arguments",
    "The callee takes another number of arguments.",
    "See the signature.",
)
ARGUMENT_INFO = Code(
    "RX0213",
    "argument does not fit the parameter",
    "The argument's StructInfo can't be what the parameter says.",
    "Pass a value that fits.",
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
    "The tuple has fewer fields.",
    "Use an index below the number of fields.",
    _T.format("(2,)", "float32", "(2,)", "float32", "(x, y)[2]"),
)
IMPOSSIBLE_CAST = Code(
    "RX0217",
    "match_cast can never succeed",
    "The value can't have the StructInfo it is cast to.",
    "Correct the target.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    y = R.match_cast(x, R.Tensor((3,), "float32"))\n    return y\n',
    Severity.WARNING,
)
MAYBE_ARGUMENT = Code(
    "RX0218",
    "argument not proven to fit",
    "Whether the argument has the shape of the parameter is known only when the program runs.",
    "Write a match_cast, which checks it then.",
    '@R.function\ndef g(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):\n    return x\n\n'
    '@R.function\ndef f(x: R.Tensor(dtype="float32", ndim=1)):\n    y = g(x)\n    return y\n',
    Severity.WARNING,
)
ARGUMENT_DIMS = Code(
    "RX0219",
    "dimensions of the arguments contradict each other",
    "One argument gives a shape variable of the callee its value, and another needs a different one.",
    "Pass arguments whose shapes agree.",
    '@R.function\ndef g(x: R.Tensor(("n", "n"), "float32")) -> R.Tensor(("n",), "float32"):\n'
    "    y = R.sum(x, axis=[1])\n    return y\n\n"
    '@R.function\ndef f(x: R.Tensor((3, 4), "float32")):\n    y = g(x)\n    return y\n',
)
OF_NOTHING = Code(
    "RX0220",
    "reduction of nothing",
    "The axis has length 0, and the largest, smallest or mean of no elements has no value; TVM gives the dtype's limit, or NaN.",
    "Look at where the length comes from.",
    '@R.function\ndef f(x: R.Tensor((0, 3), "float32")):\n    y = R.max(x, axis=[0])\n    return y\n',
    Severity.WARNING,
)
MAYBE_RETURN = Code(
    "RX0240",
    "return value not proven to fit",
    "Whether the value has the shape of the return annotation is known only when the function returns.",
    "Write a match_cast, which checks it then.",
    '@R.function\ndef f(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):\n'
    "    return x\n",
    Severity.WARNING,
)
NEEDLESS_CAST = Code(
    "RX0241",
    "match_cast always succeeds",
    "The value is known to be what it is cast to; nothing is checked, and what was known beyond it is forgotten.",
    "Remove it, or annotate the variable instead.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    y = R.match_cast(x, R.Tensor(ndim=1))\n    return y\n',
    Severity.NOTE,
)
NO_INFERENCE = Code(
    "RX0222",
    "operator without inference",
    "The operator's class has no `infer`, so that nothing is known of the result: it is taken as an object.",
    "Give the class an `infer`, or cast the result with R.match_cast.",
    "",
    Severity.WARNING,
)
TOO_LARGE = Code(
    "RX0221",
    "StructInfo too large to be written out",
    "What is known of this value doubles with each binding, and would take more text than any reader or program can use.",
    "Give names to the lengths, with R.match_cast, or keep the values in variables of their own instead of tuples of tuples.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    t0 = (x, x)\n'
    + "".join([f"    t{n} = (t{n - 1}, t{n - 1})\n" for n in range(1, 16)])
    + "    return x\n",
)
