"""The class of a kernel: that of the operators that it came from, which its name tells, else what its loops do, else the pattern that it states."""

from __future__ import annotations

import re
from functools import lru_cache

from relax_explorer.core import ops
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops.kit.decl import Fusion
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.computation import computation
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.viz.compact import OpClass, of_computation, of_fusion, of_operator, op_class

_STRENGTH = (OpClass.MATMUL, OpClass.REDUCE, OpClass.ELEMENTWISE, OpClass.SHAPE)
"""What a kernel of several operators is: the first of these classes that one of them has."""
_TOPI = {"transpose": "permute_dims", "concatenate": "concat", "cast": "astype", "conv2d": "nn.conv2d"}
"""Operators whose kernels have the name of a function of TVM's library."""
_GROUPS = frozenset({"Primitive", "Composite", "Codegen"})
"""The attributes of functions whose operators are one kernel later, here or in a library."""
_NUMBER = re.compile(r"\d*(_\d+)?$")
_MOST_WORDS = 24  # of a name


def class_of(value: e.Expr, module: IRModule) -> OpClass:
    """The class of a bound expression. A call of a kernel, or of a group of operators that is one kernel later, has theirs."""
    own = op_class(value)
    return of_function(called_function(value), module) or own if own is OpClass.CALL else own


def called_function(value: e.Expr) -> str:
    """The name of the function of the module that a value calls, itself or by an operator; empty if it calls none."""
    if type(value) is not e.Call:
        return ""
    callee = value.args[0] if type(value.op) is e.OpRef and value.args else value.op
    return callee.name if type(callee) is e.GlobalVar else ""


def of_function(name: str, module: IRModule) -> OpClass:
    """The class of a kernel or a group; `OTHER`, which is false, for other functions."""
    fn = module.functions.get(name)
    if isinstance(fn, PrimFunc):
        return of_name(name, ops.edition()) or of_computation(computation(fn)) or _stated(fn)
    if isinstance(fn, e.Function) and not _GROUPS.isdisjoint(fn.attrs):
        return strongest([class_of(binding.value, module) for binding in bindings(fn)])
    return OpClass.OTHER


def strongest(classes: list[OpClass]) -> OpClass:
    """The class of a kernel whose operators have these classes."""
    return next((item for item in _STRENGTH if item in classes), OpClass.OTHER)


@lru_cache(maxsize=1024)
def of_name(name: str, edition: int) -> OpClass:
    """The class that the operators in a name have, as in `fused_matmul1_add`. `edition` is that of the table of operators."""
    words = name.split("_")[:_MOST_WORDS]
    known, found, at = _by_last_word(edition), list[OpClass](), 0
    while at < len(words):
        ends = range(len(words), at, -1)
        hits = (
            (end, known.get(_NUMBER.sub("", "_".join(words[at:end]))) or known.get("_".join(words[at:end])))
            for end in ends
        )
        at, operator = next(((end, full) for end, full in hits if full), (at + 1, ""))
        if operator:
            found.append(of_operator(operator))
    return strongest(found)


@lru_cache(maxsize=4)
def _by_last_word(edition: int) -> dict[str, str]:
    """Full names of operators by the last part, which kernels have in theirs."""
    short = {name.rpartition(".")[2]: name for name in ops.names()}
    return short | {topi: f"relax.{name}" for topi, name in _TOPI.items()}


def stated_pattern(fn: PrimFunc) -> Fusion | None:
    """The pattern that a kernel states, for fusion."""
    stated = fn.attrs.get("op_pattern")
    return next((pattern for pattern in Fusion if pattern == stated), None)


def kernel_text(fn: PrimFunc, kind: OpClass) -> str:
    """`matmul kernel, op_pattern 4`: its class, and the pattern if it states one."""
    pattern = stated_pattern(fn)
    word = f"{kind.word} kernel" if kind else "kernel"
    return word if pattern is None else f"{word}, op_pattern {pattern.value}"


def _stated(fn: PrimFunc) -> OpClass:
    pattern = stated_pattern(fn)
    return OpClass.OTHER if pattern is None else of_fusion(pattern)
