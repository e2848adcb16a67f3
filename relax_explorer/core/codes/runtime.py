"""RX05: while a program runs."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

WRONG_INPUT = Code(
    "RX0501",
    "input does not fit the parameter",
    "The value given has another dtype, rank or length than the parameter says.",
    "Pass a value that fits.",
)
INPUT_COUNT = Code(
    "RX0502",
    "wrong number of inputs",
    "The function has another number of parameters.",
    "Pass one value for each parameter.",
)
CAST_FAILED = Code(
    "RX0503",
    "match_cast failed",
    "The value does not have the StructInfo it was cast to.",
    "Look at the value's shape and dtype.",
)
NO_EVALUATION = Code(
    "RX0504",
    "can't be run here",
    "The operator has no evaluation in this program.",
    "Skip it, or give its value from a file.",
)
UNKNOWN_PACKED = Code(
    "RX0505",
    "unknown packed function",
    "No packed function of this name is registered.",
    "Register one with packed_function, or give its value.",
)
UNKNOWN_FUNCTION = Code(
    "RX0506",
    "no such function",
    "The module has no Relax function of this name.",
    "Name one of its functions.",
)
SHAPE_CHECK = Code(
    "RX0507",
    "shapes do not fit at run time",
    "Lengths and ranks that are known only when the program runs are not what the operator takes, or not what a type says; the "
    "message is the one that such lengths get when they are written out.",
    "Look at where the lengths come from; R.match_cast says early what they must be.",
)
OUT_OF_BOUNDS = Code(
    "RX0508",
    "index out of bounds",
    "An index lies outside its axis. TVM's kernels do not look, and read or write what lies there in memory.",
    "Look at where the indices come from; R.clip keeps them inside.",
)
BAD_ARITHMETIC = Code(
    "RX0509",
    "undefined arithmetic",
    "A division by zero, or a shift by the width or more.",
    "Look at the operands.",
)
ASSERTION = Code(
    "RX0510",
    "assertion failed",
    "The condition of R.assert_op, or of an assert in a PrimFunc, is false.",
    "Look at the operands.",
)
TOO_LARGE = Code(
    "RX0511",
    "needs too much memory",
    "A value would need more memory than the limit.",
    "Use smaller shapes, or raise the limit.",
)
NO_KERNEL = Code(
    "RX0512",
    "PrimFunc can't be compiled",
    "The PrimFunc uses something that has no translation to numba.",
    "See the note for the construct.",
)
DEPTH = Code(
    "RX0513",
    "calls nested too deeply",
    "More than 10,000 frames are open: a recursion without end.",
    "Look at the recursion's base case.",
)
OVERFLOW = Code(
    "RX0515",
    "a number is too large",
    "The value of a dimension does not fit its dtype; it is reported instead of being wrapped around.",
    "Use smaller lengths.",
)
BAD_INPUT_FILE = Code(
    "RX0514",
    "input file can't be read",
    "The file is no .npy or .npz file of plain arrays.",
    "Save the arrays with numpy.save or numpy.savez.",
)
PLAIN_RESULT = Code(
    "RX0516",
    "packed function returned a plain Python value",
    "A packed function gives tensors, tuples, shapes and objects. A number is taken as a scalar, text as a string; said once.",
    "Return a numpy array of rank 0, or use what it gives as a scalar.",
    severity=Severity.WARNING,
)
USED_AFTER_END = Code(
    "RX0517",
    "used after its end",
    "A tensor or storage was killed, and its memory may hold something else by now.",
    "Move the kill behind the last use.",
)
UNDEFINED_FOR_DTYPE = Code(
    "RX0519",
    "not defined for the dtype",
    "The operator was given operands of dtypes for which it has no meaning, such as a shift of floats.",
    "Convert the operand with R.astype.",
)
BAD_VALUE = Code(
    "RX0520",
    "value without meaning",
    "An operand has the right type, and a value that the operator can do nothing with, such as a step of 0.",
    "Look at where the value comes from.",
)
NOTHING_REDUCED = Code(
    "RX0521",
    "reduction of nothing",
    "The axis has length 0, and the largest, smallest or mean of no elements has no value; as in TVM it is the dtype's limit, "
    "-1 for a position, or NaN. Said once for each place.",
    "Look at where the length comes from.",
    severity=Severity.WARNING,
)
PACKED_FAILED = Code(
    "RX0522",
    "packed function failed",
    "A Python function that was registered as a packed function raised an exception.",
    "Look at the line that the message names, and at the arguments.",
)
CANCELLED = Code(
    "RX0523",
    "cancelled",
    "The run was stopped from outside before its end: ctrl+c on the command line, or a key of the explorer.",
    "Run it again; the step that was under way has not happened.",
)
CACHE_REFUSED = Code(
    "RX0524",
    "cache of kernels is not used",
    "Compiled kernels are code that is executed; a directory that others can write to is not trusted with them, nor one that "
    "belongs to another user. Kernels are compiled anew in each process.",
    "Remove the directory, or take the right to write away from others: chmod -R go-w.",
    severity=Severity.WARNING,
)
WRONG_ARGUMENT = Code(
    "RX0518",
    "argument is not what the builtin takes",
    "A builtin of the virtual machine was called with a value of another kind, or it checked a value that does not fit.",
    "Look at the value that the message names.",
)
