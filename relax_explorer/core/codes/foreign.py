"""RX07: programs of others that are asked in a process of their own: a Python interpreter, TVM in it, and passes of users."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code

NO_INTERPRETER = Code(
    "RX0701",
    "the Python interpreter can't be started",
    "TVM, and passes of your own, run in a Python process of their own: the interpreter that `--python` names, or the one that runs us.",
    "Name a Python that has TVM: `--python /path/to/venv/bin/python`.",
)
NO_PACKAGE = Code(
    "RX0702",
    "the interpreter lacks a package",
    "The Python process was started, but a package that it needs is not installed there, or can't be imported.",
    "Install it there, or name another Python with `--python`; `relax-explorer doctor` tells what fits.",
)
CRASHED = Code(
    "RX0703",
    "the process ended",
    "Compiled code in the Python process of TVM crashed, or something killed the process. The explorer is another process, and goes on; "
    "the next question starts a new one.",
    "`relax-explorer doctor` tells if the versions of TVM and its ffi fit. Else export the program (`relax-explorer export`), and report it.",
)
TOO_LONG = Code(
    "RX0704",
    "the process took too long",
    "The Python process of TVM did not answer within the time limit, and was ended.",
    "Allow more with `--pass-seconds`, or make the program smaller (`relax-explorer reduce`).",
)
RAISED = Code(
    "RX0705",
    "TVM or a pass raised an error",
    "The Python process of TVM is well, but the pass ended with an exception instead of a module.",
    "Read the error of TVM; the command and the file of the message raise it again.",
)
NOT_A_MODULE = Code(
    "RX0706",
    "the pass gives no module",
    "A pass of your own is called with a `tvm.IRModule` and gives one back. It may also be a `tvm.transform.Pass`, or a function that makes "
    "one.",
    "Return the module at the end of the pass.",
)
NOT_READ_BACK = Code(
    "RX0707",
    "TVM does not read the program",
    "A program goes to TVM as its text. Some texts can't be read there: TVM prints a few forms that it does not read, and some programs "
    "that are right here break a rule of TVM.",
    "Run the TVM passes before it in one pipeline, so that the module stays in TVM, or check the program with `--profile tvm`.",
)
NOT_ALLOWED = Code(
    "RX0708",
    "passes of TVM run only where you asked for them",
    "A pass of TVM or of your own executes code in another process. So only what you type starts it: the option `--passes` of a command, or a "
    "line of the explorer; no file, no setting and no recording of keys does.",
    "Type the pipeline yourself.",
)
BAD_MODEL = Code(
    "RX0711",
    "the model can't be read",
    "The file is no model of its format, or is cut off, or damaged: a tensor claims more than is there, or a node reads what nothing makes. "
    "A protobuf file has at most 2 GB.",
    "Export the model again; save large weights beside it.",
)
DATA_OUTSIDE = Code(
    "RX0712",
    "data outside of the folder of the model",
    "A model may keep weights in files beside it. This one names a file elsewhere, which is not opened: a model of a stranger could name any.",
    "Put the file into the folder of the model, and name it there.",
)
NOT_IMPORTED = Code(
    "RX0713",
    "the importer does not take the model",
    "TVM's importer has no such operator, or not in this form; or the model has a newer opset than the packages know, or its graph has a cycle.",
    "Export the model in another way, or for an older opset; another version of TVM may know more: name its Python with `--python`.",
)
