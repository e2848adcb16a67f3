"""RX00: problems of reading a text: files, syntax, names and literals."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

UNREADABLE = Code(
    "RX0001",
    "the input can't be read",
    "The path is not a regular file, or the system refuses to open it.",
    "Name a file, or - for standard input.",
)
EMPTY = Code(
    "RX0002",
    "no module found",
    "The text contains no statement.",
    "Write a class decorated with @I.ir_module.",
    "\n",
)
NOT_TEXT = Code(
    "RX0003",
    "the input is not text",
    "The first bytes of the input belong to another file format.",
    "Convert the model to TVMScript text and open that.",
)
NOT_UTF8 = Code("RX0004", "the text is not UTF-8", "TVMScript is UTF-8 text.", "Save the file as UTF-8.")
BAD_SYNTAX = Code(
    "RX0005",
    "not valid Python syntax",
    "TVMScript is Python syntax, and Python's parser stopped here.",
    "Correct the text at the mark.",
    "def f(:\n",
)
TOO_DEEP = Code(
    "RX0006",
    "nested too deeply",
    "Python's parser accepts at most 200 nested parentheses and 100 levels of indentation.",
    "Bind parts of the expression to separate variables.",
    "x = " + "(" * 300 + ")" * 300 + "\n",
)
TRUNCATED = Code(
    "RX0007",
    "the text ends too early",
    "A bracket, a string or a block is still open at the end.",
    "Check that the file is complete.",
    "x = (1,\n",
)
NOT_TVMSCRIPT = Code(
    "RX0008",
    "Python, but not TVMScript",
    "The statement is valid Python, but not part of TVMScript. The explorer never executes a text.",
    "Write a class decorated with @I.ir_module, or a function decorated with @R.function or @T.prim_func.",
    "import os\nprint(os.getcwd())\n",
)
BAD_STATEMENT = Code(
    "RX0010",
    "not a statement of a Relax function",
    "A Relax function consists of bindings, if/else, `with R.dataflow()`, nested functions and one return.",
    "Use only these statements.",
    "@R.function\ndef f():\n    for i in range(3):\n        pass\n",
)
BAD_EXPRESSION = Code(
    "RX0011",
    "not an expression of Relax",
    "Only running Python could give this text a value, and the explorer never executes a text.",
    "Write the value itself.",
    "@R.function\ndef f():\n    return [i for i in range(3)]\n",
)
BAD_ANNOTATION = Code(
    "RX0012",
    "not a StructInfo",
    "An annotation is R.Tensor, R.Shape, R.Tuple, R.Callable, R.Prim, R.Object / R.Any, or T.<dtype>.",
    "Write one of these.",
    "@R.function\ndef f(x: int):\n    return x\n",
)
BAD_DTYPE = Code(
    "RX0013",
    "unknown dtype",
    "No element type has this name.",
    "Use a name such as float32, int64, bool or bfloat16.",
    '@R.function\ndef f(x: R.Tensor((2,), "float99")):\n    return x\n',
)
UNDEFINED = Code(
    "RX0014",
    "undefined variable",
    "The name is not a parameter, not bound before this place, and not a function of the module.",
    "Bind it first, or correct the name.",
    "@R.function\ndef f():\n    return missing\n",
)
BAD_CALL = Code(
    "RX0015",
    "wrong arguments",
    "The call has an argument that the operator does not take, or lacks one that it needs.",
    "See the signature with `relax-explorer explain`.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    return R.add(x)\n',
)
UNKNOWN_OPERATOR = Code(
    "RX0016",
    "unknown operator",
    "No operator has this name. The call can be parsed, printed and passed on; its StructInfo is Object.",
    "Check the spelling, or declare the operator: rxe.ops.register, or check --allow-unknown-ops.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    return R.frobnicate(x)\n',
    Severity.WARNING,
)
BAD_NAME = Code(
    "RX0017",
    "not a usable name",
    "A name must be a Python identifier. Keywords and control characters are not allowed.",
    "Rename it.",
    "@R.function\ndef f(class):\n    return class\n",
)
MISSING_RETURN = Code(
    "RX0018",
    "the function does not return",
    "A Relax function ends in one return.",
    "Add a return at the end.",
    "@R.function\ndef f():\n    y = R.const(1)\n",
)
AFTER_RETURN = Code(
    "RX0019",
    "statement after return",
    "A Relax function has a single return, at its end.",
    "Move the return to the end.",
    "@R.function\ndef f():\n    return R.const(1)\n    return R.const(2)\n",
)
BAD_DATAFLOW = Code(
    "RX0020",
    "wrong use of R.output",
    "R.output names variables of its dataflow block, once, at the block's end.",
    "List variables bound in the block.",
    "@R.function\ndef f():\n    with R.dataflow():\n        R.output(y)\n    return R.const(1)\n",
)
BAD_BRANCH = Code(
    "RX0021",
    "branches don't match",
    "Both branches of an if end by binding the same variable.",
    "End both branches with a binding of one name.",
    '@R.function\ndef f(c: R.Tensor((), "bool")):\n    if c:\n        y = R.const(1)\n    return y\n',
)
DUPLICATE = Code(
    "RX0022",
    "defined twice",
    "Two functions, or two parameters, share a name.",
    "Rename one.",
    "@R.function\ndef f(x: R.Object, x: R.Object):\n    return x\n",
)
BAD_METADATA = Code(
    "RX0023",
    "unreadable metadata",
    "The JSON block with the constants is damaged or has an unknown format.",
    "Print the module again with show_meta=True.",
)
MISSING_METADATA = Code(
    "RX0024",
    "constant without data",
    "The text names a constant of the metadata block, but the block is missing.",
    "Print the module with show_meta=True to keep the data.",
    '@R.function\ndef f():\n    return metadata["ir.GenericConst"][0]\n',
    Severity.WARNING,
)
BAD_LITERAL = Code(
    "RX0025",
    "literal out of range",
    "The number does not fit its dtype.",
    "Use a number that fits.",
    '@R.function\ndef f(x: R.Tensor((99999999999999999999,), "float32")):\n    return x\n',
)
EXECUTES_PYTHON = Code(
    "RX0026",
    "would execute Python",
    "Only running Python could give this construct a value, and the explorer never executes a text.",
    "Print the module with TVM (`mod.script(show_meta=True)`) and open that text.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    return R.emit_te(topi.add, x, x)\n',
)
BAD_DUMP = Code(
    "RX0027",
    "not a dump of a module",
    "The JSON text is damaged, or this version of the explorer did not write it.",
    "Write it again with to_json, or open the TVMScript text instead.",
)
EXPERIMENTAL = Code(
    "RX0028",
    "experimental construct",
    "No version of TVM has this construct, and its meaning may change. A module must allow it.",
    'Write I.module_attrs({"wildcard_dims": True}) at the start of the module, or a shape variable in place of R.any_dim.',
    '@R.function\ndef f(x: R.Tensor((2, R.any_dim), "float32")):\n    return x\n',
)
TOO_LONG = Code(
    "RX0029",
    "statement too long",
    "A statement may have at most 1,000,000 characters, not counting its strings. Lines inside its brackets count.",
    "Move the data out of the text: into a constant of the metadata, or into an input of the run.",
)
BAD_PATTERN = Code(
    "RX0030",
    "not a pattern",
    "A pattern is a call of operators over names, `_`, tuples and constants, such as `matmul(_, permute_dims(_))`.",
    "See the examples of `relax-explorer find --help`, and the table in core/patterns/README.md.",
)
NOT_PRINTED = Code(
    "RX0031",
    "not expressible in the dialect",
    "The dialect of the printed text has no spelling for this, so its text says less than the program.",
    "Print in another dialect, or refuse such texts with --strict.",
    severity=Severity.WARNING,
)
BAD_JSON = Code(
    "RX0032",
    "not a module in TVM's JSON",
    "The JSON is damaged, too large or too deep, of an older form, or it holds something else than a module or a function.",
    "Write it again with tvm.ir.save_json, or print the module as TVMScript: mod.script(show_meta=True).",
)
BAD_EXECUTABLE = Code(
    "RX0033",
    "not an executable's text",
    "The text begins as an executable of TVM's virtual machine, but a line is no instruction, or a branch leaves its function.",
    "Write it again with as_text() or as_python().",
)
OLD_SPELLING = Code(
    "RX0034",
    "a spelling of 2022",
    "Texts of 2022, before StructInfo, wrote this in a way that is not read.",
    "Write it as later texts do; the message says how.",
    '@T.prim_func\ndef f(X: T.Buffer[(4,), "float32"]):\n    with T.block([4], "c") as [i]:\n        X[i] = 0.0\n',
)
BAD_RECORDING = Code(
    "RX0035",
    "not a whole recording",
    "The file is cut off, or damaged, or holds what no recording holds: entries outside of it, or twice, or content that does not have the "
    "SHA-256 of its name.",
    "Record the build again, or open the journal beside it, which ends in .journal: it has all that was recorded before the end.",
)
NEWER_RECORDING = Code(
    "RX0036",
    "a recording of another version",
    "Another version of the explorer wrote the recording, in a form that is not read here.",
    "Open it with the version that wrote it, or record the build again.",
)
