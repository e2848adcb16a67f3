"""RX05: problems of a running program."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

WRONG_INPUT = Code(
    "RX0501",
    "input does not fit the parameter",
    "The dtype, rank or a length of the input differs from the parameter's StructInfo.",
    "Pass a value that fits the parameter.",
)
INPUT_COUNT = Code(
    "RX0502",
    "wrong number of inputs",
    "There are more or fewer inputs than the function has parameters.",
    "Pass one value for each parameter.",
)
CAST_FAILED = Code(
    "RX0503",
    "match_cast failed",
    "The value does not fit the StructInfo of the match_cast.",
    "Check the value's shape and dtype.",
)
NO_EVALUATION = Code(
    "RX0504",
    "can't be run here",
    "The explorer has no evaluation for this operator.",
    "Skip the call, or supply its value from a file.",
)
UNKNOWN_PACKED = Code(
    "RX0505",
    "unknown packed function",
    "No packed function of this name is registered.",
    "Register one with packed_function, or supply its value.",
)
UNKNOWN_FUNCTION = Code(
    "RX0506",
    "no such function",
    "The module has no Relax function of this name.",
    "Name a Relax function of the module.",
)
SHAPE_CHECK = Code(
    "RX0507",
    "shapes do not fit at run time",
    "A length or rank that became known at run time does not fit the operator or an annotation. The message is the same as for "
    "a length written in the program.",
    "Check where the lengths come from. An earlier R.match_cast reports the problem sooner.",
)
OUT_OF_BOUNDS = Code(
    "RX0508",
    "index out of bounds",
    "An index lies outside its axis. TVM's kernels do not check indices; they read or write other memory.",
    "Check where the indices come from; R.clip keeps them in range.",
)
BAD_ARITHMETIC = Code(
    "RX0509",
    "undefined arithmetic",
    "The operation divides by zero, or shifts by the number of bits or more.",
    "Check the operands.",
)
ASSERTION = Code(
    "RX0510",
    "assertion failed",
    "The condition of R.assert_op, or of an assert in a PrimFunc, is false.",
    "Check the operands of the condition.",
)
TOO_LARGE = Code(
    "RX0511",
    "needs too much memory",
    "A value would need more memory than the limit allows.",
    "Use smaller shapes, or raise the limit.",
)
NO_KERNEL = Code(
    "RX0512",
    "PrimFunc can't be compiled",
    "The PrimFunc uses a construct that can't be compiled.",
    "The note names the construct.",
)
DEPTH = Code(
    "RX0513",
    "calls nested too deeply",
    "More than 10,000 calls are open; the recursion probably never ends.",
    "Check the recursion's base case.",
)
OVERFLOW = Code(
    "RX0515",
    "a number is too large",
    "The value of a dimension does not fit its dtype. The run stops instead of wrapping the value around.",
    "Use smaller lengths.",
)
BAD_INPUT_FILE = Code(
    "RX0514",
    "input file can't be read",
    "The file is no whole .npy, .npz or .safetensors file of plain arrays, nor an index of MLC weights.",
    "Save the arrays with numpy.save, numpy.savez or safetensors.",
)
PLAIN_RESULT = Code(
    "RX0516",
    "packed function returned a plain Python value",
    "A packed function returns tensors, tuples, shapes or objects. A Python number becomes a scalar, and text becomes a string. "
    "This is reported once.",
    "Return a numpy array of rank 0, or use the result as a scalar.",
    severity=Severity.WARNING,
)
USED_AFTER_END = Code(
    "RX0517",
    "used after its end",
    "The tensor or storage was killed, and its memory may have been reused.",
    "Move the kill behind the last use.",
)
UNDEFINED_FOR_DTYPE = Code(
    "RX0519",
    "not defined for the dtype",
    "The operator is not defined for the dtypes of its operands, for example a shift of floats.",
    "Convert the operand with R.astype.",
)
BAD_VALUE = Code(
    "RX0520",
    "invalid value",
    "An operand has the right type, but the operator does not accept its value, for example a step of 0.",
    "Check where the value comes from.",
)
NOTHING_REDUCED = Code(
    "RX0521",
    "reduction of nothing",
    "The axis has length 0. The maximum, minimum or mean of no elements is undefined. As in TVM, the result is the dtype's limit, "
    "-1 for a position, or NaN. This is reported once for each place.",
    "Check where the length comes from.",
    severity=Severity.WARNING,
)
PACKED_FAILED = Code(
    "RX0522",
    "packed function failed",
    "A Python function registered as a packed function raised an exception.",
    "Check the line that the message names, and the arguments.",
)
CANCELLED = Code(
    "RX0523",
    "cancelled",
    "The run was stopped before its end: by ctrl+c on the command line, or by a key in the explorer.",
    "Run it again. The interrupted step had no effect.",
)
CACHE_REFUSED = Code(
    "RX0524",
    "kernel cache is not used",
    "The cache holds compiled code. A directory that other users own or can write to is not safe, so it is not used. "
    "Kernels are compiled again in each process.",
    "Remove the directory, or remove the write permission of other users: chmod -R go-w.",
    severity=Severity.WARNING,
)
BAD_EXPRESSION = Code(
    "RX0525",
    "not an expression",
    "Conditions, watches and `print` take expressions over shape variables and values: elements, slices, shapes, arithmetic, "
    "comparisons, and max, min, mean, sum, abs, any, all, nan or inf of a value. A condition is one number. The text is read and "
    "never executed as Python.",
    "Write for example n > 2048, max(y) > 1e4, x.shape[0] == 1, nan(y), x[0, :3] or max(abs(x - y)).",
)
BAD_COMMAND = Code(
    "RX0530",
    "wrong debugger command",
    "The debugger does not know this command, or an argument of it: a variable, function, line or number that the program or "
    "the debugger does not have.",
    "`help` lists the commands, and `help step` explains one.",
)
NOT_COMPILED = Code(
    "RX0527",
    "kernel is not compiled",
    "Numba, which compiles PrimFuncs, refused the text of this one. The reference evaluator runs it statement by statement: the "
    "values are the same, but it takes about a thousand times as long.",
    "Split the PrimFunc, or make its expressions shorter.",
    severity=Severity.WARNING,
)
PRIVATE = Code(
    "RX0526",
    "private function run from outside",
    "A private function (`@R.function(private=True)`) has no name outside its module, so that only functions of the module call it. "
    "TVM's virtual machine runs it all the same.",
    "Run a function that calls it, or allow private functions: `run --private`, or `private=True` from Python.",
)
OTHER_THAN_STATED = Code(
    "RX0528",
    "packed function returned another value than its call states",
    "Nobody checks what a packed function returns (Relax, call_packed): the compiler takes the StructInfo that the call states, or the "
    "function's own, for granted, and drops checks that it proves. The run goes on with the value as it is. This is told once for each call.",
    "Correct the StructInfo; or state less, for example R.Tensor(ndim=2), and check the result by R.match_cast.",
    severity=Severity.WARNING,
)
WRONG_ARGUMENT = Code(
    "RX0518",
    "wrong argument of a builtin",
    "A builtin of the virtual machine got a value of the wrong kind, or a check that it makes failed.",
    "Check the value that the message names.",
)
RANKS_APART = Code(
    "RX0531",
    "ranks do not meet at a collective",
    "A collective (`R.ccl`, or the function of Disco that it is lowered to) waits until each rank has called it, with the same attributes and "
    "tensors that fit together. One rank ended or stopped before, or they called different collectives. TVM's runtime would wait for ever.",
    "Look for a branch that one rank takes and another does not; `--ranks` must be the number that the program was divided for.",
)

NOT_HERE = frozenset({NO_EVALUATION, UNKNOWN_PACKED, NO_KERNEL})
"""What ends a run because this evaluator goes no further. About the program it tells nothing."""
