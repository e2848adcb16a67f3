"""The words of the language, each with what it means: `explain StructInfo` prints such a page, and the site lists them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its meaning, other names for it, an example in TVMScript, and the subjects that lead on."""

    name: str
    text: str
    others: Sequence[str] = ()
    see: Sequence[str] = ()
    example: str = ""

    @property
    def title(self) -> str:
        """The word with its other names."""
        return f"{self.name} ({', '.join(self.others)})" if self.others else self.name


def folded(name: str) -> str:
    """A name without what people write in different ways: case, spaces, hyphens, underscores, and the module in front."""
    return re.sub(r"[\s_\-]+", "", re.sub(r"^(relax|R|T|I)\.", "", name)).casefold()


WORDS: tuple[Word, ...] = (
    # -- programs -----------------------------------------------------------------------------------------------------
    Word(
        "Relax",
        "The graph-level IR of Apache TVM: functions of tensors, whose StructInfo holds shapes with symbolic lengths. "
        "TIR, the IR of loops, lies below it, and one module holds functions of both.",
        see=("IRModule", "TVMScript", "PrimFunc"),
    ),
    Word(
        "IRModule",
        "A collection of functions by name: those of Relax (`@R.function`) and PrimFuncs (`@T.prim_func`), which call each other. "
        "A pass makes the next module of it.",
        ("module",),
        ("function", "PrimFunc", "pass"),
    ),
    Word(
        "TVMScript",
        "The text of a module: a subset of Python's syntax with the names `I` (modules), `R` (Relax) and `T` (TIR). "
        "It is parsed and never executed.",
        see=("dialect", "IRModule"),
    ),
    Word(
        "dialect",
        "The spelling of TVMScript in one era of TVM, from 2022 on. Texts of every era are read as what they mean today.",
        ("era",),
        ("TVMScript",),
    ),
    Word(
        "function",
        "Parameters, a body and a result with StructInfo. It may be private to its module, recursive, or a value inside of another function.",
        see=("closure", "purity", "PrimFunc"),
        example='@R.function\ndef main(x: R.Tensor((2, 3), "float32")):\n    y = R.exp(x)\n    return y\n',
    ),
    Word(
        "binding",
        "One `var = value` of a block; the unit that passes rewrite, the debugger steps over and diffs compare. "
        "A variable is bound once, and never changes.",
        ("variable",),
        ("normal form", "match_cast", "dataflow block"),
    ),
    Word(
        "operator",
        "An operation with a name, such as `R.matmul`: it has rules for the StructInfo of its result, for its values, and for its lowering.",
        ("op",),
        ("matmul", "lowering"),
    ),
    Word(
        "constant",
        'A value that stands in the program: `R.const(1.0, "float32")`, or data beside the text, in its metadata.',
        ("const", "metadata"),
        ("binding", "FoldConstant"),
    ),
    Word(
        "tuple",
        "Several values as one; `t[0]` selects a field, by a number that is known.",
        see=("Tuple",),
        example="parts = R.split(x, 3, axis=1)\nfirst = parts[0]\n",
    ),
    # -- types --------------------------------------------------------------------------------------------------------
    Word(
        "StructInfo",
        "The static type of a value: tensor, shape, tuple, scalar, function or object, with shape and dtype where inference knows them. "
        'What it does not know is left open, as in `R.Tensor(dtype="float32", ndim=2)`.',
        ("sinfo", "type", "annotation"),
        ("Tensor", "Shape", "Tuple", "Callable", "Prim", "Object", "match_cast"),
    ),
    Word(
        "symbolic shape",
        "A shape with lengths that are expressions of shape variables, such as `(n, n * 4)`: known as soon as the run knows `n`.",
        ("dynamic shape", "symbolic length", "shape variable", "tir.Var", "TypeVar"),
        ("StructInfo", "match_cast", "check of lengths"),
        'def main(x: R.Tensor((n, 4), "float32")):\n    flat = R.reshape(x, R.shape([n * 4]))\n',
    ),
    Word(
        "dtype",
        "The type of one element: `float32`, `int64`, `bool`, `float8_e4m3fn` and others. "
        "Operators do not convert: both operands of an addition have one.",
        see=("StructInfo", "astype"),
    ),
    Word(
        "match_cast",
        "A binding that checks a value against a StructInfo at run time and binds the shape variables that stand in it.",
        see=("StructInfo", "symbolic shape", "check of lengths"),
        example='m = T.int64()\nknown = R.match_cast(x, R.Tensor((m, 4), "float32"))\n',
    ),
    Word(
        "check of lengths",
        "A comparison of lengths that is left to the run, because nothing proves it before: at a call, a return or a match_cast. "
        "`rxe shapes` lists them with reasons.",
        ("shape check", "residual check"),
        ("match_cast", "symbolic shape"),
    ),
    Word(
        "inference",
        "The derivation of the StructInfo of each binding from those of its operands. What is annotated is compared with what was derived.",
        ("deduction",),
        ("StructInfo", "Normalize"),
    ),
    # -- blocks and effects -------------------------------------------------------------------------------------------
    Word(
        "dataflow block",
        "A block of bindings without side effects or control flow (`with R.dataflow()`); its variables end with it, unless `R.output` names them. "
        "Passes may reorder, merge and drop what stands in it.",
        ("dataflow", "R.output"),
        ("purity", "ConvertToDataflow", "ToNonDataflow"),
        "with R.dataflow():\n    lv = R.matmul(x, w)\n    gv = R.nn.relu(lv)\n    R.output(gv)\n",
    ),
    Word(
        "purity",
        "A pure function computes its result and does nothing else. `@R.function(pure=False)` may also print, write into memory or call what may; "
        "a pure one that does is refused.",
        ("pure", "impure", "side effect"),
        ("effect", "call_pure_packed", "RemovePurityChecking"),
    ),
    Word(
        "effect",
        "An action of a call beyond its result: it writes to an operand, keeps one for later, prints, or frees memory.",
        see=("purity", "alias"),
    ),
    Word(
        "alias",
        "Two values that may use the same memory, so that a write to one is seen through the other.",
        see=("effect", "memory planning"),
    ),
    Word(
        "If",
        "A branch on a scalar bool; both branches end by binding the same variable. It can't stand in a dataflow block.",
        ("branch", "conditional"),
        ("dataflow block",),
    ),
    Word(
        "closure",
        "A function as a value, with the variables around it that it reads. LambdaLift makes functions of the module of them.",
        ("nested function", "captured variable", "lambda"),
        ("LambdaLift", "make_closure", "invoke_closure"),
    ),
    Word(
        "packed function",
        "A function outside of the language, called by its name with values; it may have any effect.",
        ("PackedFunc", "call_packed", "extern"),
        ("purity", "call_pure_packed", "call_dps_packed"),
        'y = R.call_packed("vm.builtin.copy", x, ty_args=(R.Tensor((3,), dtype="float32"),))\n',
    ),
    # -- kernels ------------------------------------------------------------------------------------------------------
    Word(
        "PrimFunc",
        "A function of TIR over buffers and scalars; it writes its results into buffers that it is given.",
        ("TIR", "TensorIR"),
        ("call_tir", "kernel", "destination-passing style"),
    ),
    Word(
        "destination-passing style",
        "The caller allocates the result and passes it as a last argument. "
        "`R.call_tir` does so for a PrimFunc, `R.call_dps_packed` for a packed function.",
        ("DPS",),
        ("call_tir", "call_dps_packed", "CallTIRRewrite"),
    ),
    Word(
        "kernel",
        "A PrimFunc compiled to machine code (by LLVM; rare parts by numba).",
        see=("PrimFunc", "fusion"),
    ),
    Word(
        "fusion",
        "Several operations become one kernel, so that the values between them stay out of memory: "
        "FuseOps makes groups, FuseTIR one PrimFunc of each.",
        ("fused",),
        ("FuseOps", "FuseTIR", "AnnotateTIROpPattern"),
    ),
    Word(
        "composite function",
        "A private function that a pattern cut out, with the attribute `Composite`: what a code generator outside of TVM takes as one.",
        ("BYOC",),
        ("FuseOpsByPattern", "MergeCompositeFunctions", "RunCodegen"),
    ),
    # -- lowering -----------------------------------------------------------------------------------------------------
    Word(
        "pass",
        "A function from a module (or function) to the next one; it returns the same object if nothing changed.",
        see=("pipeline", "contract", "stage"),
    ),
    Word(
        "pipeline",
        "Passes in an order, with one name: `default`, `zero`, `default_build`. `-p` takes names of both.",
        see=("default", "zero", "default_build"),
    ),
    Word(
        "contract",
        "The properties that a pass requires, establishes and invalidates, as its decorator declares them.",
        see=("property", "phase"),
    ),
    Word(
        "property",
        "A predicate on modules with a name, such as normal form, which a pass may require, establish or invalidate.",
        see=("NORMAL_FORM", "phase"),
    ),
    Word(
        "phase",
        "How far lowering has come: parsed, high, legalized, lowered, vm.",
        see=("high", "legalized", "lowered", "vm"),
    ),
    Word(
        "stage",
        "A numbered point in a session: stage 0 is the input, every later one is the module after a pass.",
        see=("pass",),
    ),
    Word(
        "normal form",
        "Every operand is a variable or another leaf, so each computation has a binding of its own.",
        ("ANF", "A-normal form"),
        ("Normalize", "NORMAL_FORM", "RX0101"),
        "# not in normal form: y = R.add(R.exp(x), x)\nlv = R.exp(x)\ny = R.add(lv, x)\n",
    ),
    Word(
        "well-formed",
        "A module that breaks no rule of the language; `check` reports each broken rule as a diagnostic.",
        see=("normal form", "RX0101"),
    ),
    Word(
        "lowering",
        "Replacing operators by calls of PrimFuncs, memory and virtual-machine builtins; `legalize` is the lowering of one operator.",
        ("legalize", "legalization"),
        ("LegalizeOps", "call_tir", "phase"),
    ),
    # -- memory and the machine ---------------------------------------------------------------------------------------
    Word(
        "memory planning",
        "Tensors whose lives do not overlap get the same storage. "
        "StaticPlanBlockMemory decides it; a storage is a piece of memory, and tensors are views of it.",
        ("storage", "memory plan"),
        ("StaticPlanBlockMemory", "memory.alloc_storage", "memory.alloc_tensor", "alias"),
    ),
    Word(
        "shape heap",
        "An array of integers that holds the values of shape variables while a lowered function runs: "
        "VMShapeLower makes code that fills and reads it.",
        see=("VMShapeLower", "symbolic shape"),
    ),
    Word(
        "virtual machine",
        "What runs a lowered module in TVM: registers, calls of kernels and builtins, jumps and returns.",
        ("VM", "executable", "bytecode"),
        ("default_build", "vm", "shape heap"),
    ),
    Word(
        "KV cache",
        "The keys and values of attention for the tokens so far; a language model fills it at `prefill` and adds one row at each `decode`.",
        ("paged KV cache", "prefill", "decode"),
        ("purity", "packed function"),
    ),
    Word(
        "parameter",
        "A variable of a function that its caller gives a value. The attribute `num_input` tells how many are inputs; those behind it are weights.",
        ("weight", "num_input", "params"),
        ("function",),
    ),
    Word(
        "oracle",
        "Apache TVM, asked by the tests about the same program in a child process.",
        see=("TVMScript",),
    ),
)
"""In reading order: programs, types, blocks and effects, kernels, lowering, memory and the machine."""

BY_NAME: dict[str, Word] = {
    folded(name): word for word in reversed(WORDS) for name in (*word.others, word.name)
}
"""Words by each of their names, folded."""
