"""Properties that passes require, establish and keep. Each can be checked on a module."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.check.normal_form import violations as normal_form_violations
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.purity import violations as purity_violations
from relax_explorer.core.check.well_formed import violations as well_formed_violations
from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import free_variables
from relax_explorer.core.ir.walk import bindings, contents, dataflow_blocks, functions_in, operands, sequences
from relax_explorer.core.ops import find
from relax_explorer.core.phases.external_code import unmarked
from relax_explorer.core.phases.machine_calls import ALLOCATION
from relax_explorer.core.phases.memory_plan import plan
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.program.new_bindings import NewBindings, Read
from relax_explorer.core.tir.stmt import PrimFunc

Violation = tuple[Any, str] | None


@dataclass(frozen=True, eq=False)
class Property:
    """A predicate on modules. `violation` returns the first offending binding with a sentence, or None if the property holds.

    `in_new` does so for a module that came from one with the property: it need not look at what is not new.
    """

    name: str
    meaning: str
    violation: Callable[[IRModule], Violation]
    made_by: list[str] = field(default_factory=list)  # names of the passes that establish it
    in_new: Callable[[IRModule, NewBindings], Violation] | None = None

    def holds(self, module: IRModule) -> bool:
        """True if the module has the property."""
        return self.violation(module) is None

    def violation_in(self, module: IRModule, new: NewBindings) -> Violation:
        """`violation` of a module that came from one with the property."""
        return self.violation(module) if self.in_new is None else self.in_new(module, new)

    def __repr__(self) -> str:
        return self.name


def _of_bindings(
    name: str, meaning: str, rule: Callable[[IRModule, Read], Violation], made_by: list[str]
) -> Property:
    """A property of single bindings: those that a module had before need no second look."""
    return Property(
        name,
        meaning,
        lambda module: rule(module, bindings),
        made_by,
        lambda module, new: rule(module, new.of),
    )


def _each_binding(
    test: Callable[[e.Binding], str], kind: Callable[[e.Function], bool]
) -> Callable[[IRModule, Read], Violation]:
    """A test of the bindings of functions of a kind: others have no such binding."""

    def violation(module: IRModule, read: Read) -> Violation:
        for fn in filter(kind, module.relax_functions.values()):
            for binding in read(fn):
                problem = test(binding)
                if problem:
                    return binding, problem
        return None

    return violation


def _error(found: Iterable[Diagnostic], module: IRModule) -> Violation:
    """The place and the message of the first error."""
    for diagnostic in found:
        if diagnostic.is_error:
            return diagnostic.primary.place if diagnostic.primary else module, diagnostic.message
    return None


def _operators(is_gone: Callable[[str], bool]) -> Callable[[IRModule], Violation]:
    """A test that no operator is called that should be gone, by name. It tells the first call in the text."""

    def violation(module: IRModule) -> Violation:
        for fn in module.relax_functions.values():
            called = [op.name for op in contents(fn).operators if type(op) is e.OpRef]
            found = set(filter(is_gone, called))
            for binding in bindings(fn) if found else ():
                name = _operator(binding.value)
                if name in found:
                    return binding, f"{name} is still there"
        return None

    return violation


def _operator(value: e.Expr) -> str:
    return value.op.name if type(value) is e.Call and type(value.op) is e.OpRef else ""


def is_high_level(name: str) -> bool:
    """True for the name of an operator that lowering replaces."""
    # The virtual machine has the builtins: RewriteDataflowReshape makes calls of `reshape` for it.
    if name in _BUILTINS:
        return False
    op = find(name)
    return op is not None and op.is_lowered()


def _dataflow(module: IRModule) -> Violation:
    for fn in module.relax_functions.values():
        for block in dataflow_blocks(fn):
            return block, "a dataflow block is still there"
    return None


DERIVED: WeakSet[IRModule] = WeakSet()
"""Modules whose StructInfo was derived from that of a module in normal form: they need no second look."""


def _not_derived(module: IRModule) -> Violation:
    if module in DERIVED:
        return None
    new, _ = normalize_with(module)
    for name, fn in module.relax_functions.items():
        derived_fn = new.relax_functions[name]
        if fn is derived_fn:
            continue
        pairs = zip(bindings(fn), bindings(derived_fn), strict=False)
        different = [old for old, derived in pairs if old is not derived]
        if different:
            return _innermost(different), "its StructInfo is not what its value gives"
        return fn, "its StructInfo, or the order of its blocks, is not what its body gives"
    return None


def _innermost(different: list[e.Binding]) -> e.Binding:
    """The first binding, or the first one in its branches or its nested function that makes it different."""
    found, others = different[0], set(different)
    while True:
        blocks = [block for seq in sequences(found.value) for block in seq.blocks]
        inner = [binding for block in blocks for binding in block.bindings if binding in others]
        if not inner:
            return found
        found = inner[0]


def _alias(binding: e.Binding) -> str:
    if type(binding) is not e.VarBinding or type(binding.var) is not e.DataflowVar:
        return ""
    have, want = binding.value.struct_info, binding.var.struct_info
    renames = isinstance(binding.value, e.Var) and (
        have is want or not have or not want or always_fits(have, want)
    )
    return "a variable that only renames another" if renames else ""


def _promised_pure(module: IRModule) -> Violation:
    for fn in module.relax_functions.values():
        for each in functions_in(fn):
            info = each.struct_info
            if isinstance(info, s.FuncStructInfo) and info.pure and not each.attrs.get("relax.force_pure"):
                return each, "its purity is still checked"
    return _PURE_CALLS_GONE(module)


def _has_nested(fn: e.Function) -> bool:
    return e.Function in contents(fn).values


def _may_rename(fn: e.Function) -> bool:
    return not contents(fn).values.isdisjoint((e.Var, e.DataflowVar))


def _nested(binding: e.Binding) -> str:
    return "a nested function" if type(binding.value) is e.Function else ""


def _captures(binding: e.Binding) -> str:
    value = binding.value
    if type(value) is e.Function and any(var is not binding.var for var in free_variables(value)):
        return "a nested function that reads variables around it"
    return ""


_NOT_COMPUTED = "a symbolic length that no builtin computes"


def _computed_shape(module: IRModule, read: Read) -> Violation:
    places = [symbolic_length(fn, read) for fn in module.relax_functions.values()]
    return next(((place, _NOT_COMPUTED) for place in places if place is not None), None)


def symbolic_length(fn: e.Function, read: Read = bindings) -> e.Function | e.Binding | None:
    """Where a function has a symbolic length as an operand; the function itself stands for its result."""
    if any(map(_is_symbolic, _leaves(fn.body.body))):
        return fn
    for binding in read(fn):
        value = binding.value
        if type(value) is e.Call and _WITH_LENGTHS.isdisjoint(map(type, value.args)):  # most often
            continue
        results = [leaf for branch in sequences(value) for leaf in _leaves(branch.body)]
        if any(map(_is_symbolic, (*_leaves(value), *results))):
            return binding
    return None


def _leaves(value: e.Expr) -> tuple[e.Expr, ...]:
    """The operands of a value, with the fields of tuples."""
    found = operands(value) if not e.LEAVES.intersection((type(value),)) else (value,)
    return tuple([leaf for item in found for leaf in (item.fields if type(item) is e.Tuple else (item,))])


def _is_symbolic(leaf: e.Expr) -> bool:
    if type(leaf) is e.ShapeExpr:
        return any(type(value) is not p.IntImm for value in leaf.values)
    return type(leaf) is e.PrimValue and not leaf.value.is_literal and bool(p.free_vars(leaf.value))


_WITH_LENGTHS = frozenset({e.ShapeExpr, e.PrimValue, e.Tuple})


def _unplanned(module: IRModule) -> Violation:
    for fn in module.relax_functions.values():
        if ALLOCATION not in contents(fn).operators:  # as of the next passes on
            continue
        either = plan(fn, module, True).storages  # what one profile leaves is planned in the other
        for binding in [b for b in plan(fn, module, False).storages if b in either]:
            return binding, "its life ends in its block, and it has no storage"
    return None


def _without_pattern(module: IRModule) -> Violation:
    for name, fn in module.functions.items():
        if isinstance(fn, PrimFunc) and "op_pattern" not in fn.attrs:
            return fn, f"{name} has no op_pattern"
    return None


def _without_symbol(module: IRModule) -> Violation:
    for name, fn in module.functions.items():
        if isinstance(fn, (e.Function, PrimFunc)) and "global_symbol" not in fn.attrs:
            return fn, f"{name} has no global symbol"
    return None


_PURE_CALLS = frozenset({"relax.call_pure_packed", "relax.call_inplace_packed", "relax.invoke_pure_closure"})
_PURE_CALLS_GONE = _operators(_PURE_CALLS.__contains__)
_ALLOCATING_CALLS = frozenset(
    {"relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad", "relax.call_dps_packed"}
)
_BUILTINS = frozenset(
    f"relax.{name}"
    for name in (
        "memory.alloc_storage", "memory.alloc_tensor", "memory.kill_storage", "memory.kill_tensor", "memory.view",
        "memory.ensure_zero_offset", "to_vdevice", "reshape", "shape_of", "tensor_to_shape", "make_closure", "invoke_closure",
        "builtin.alloc_tensor",
    )
)  # fmt: skip

WELL_FORMED = Property(
    "WELL_FORMED",
    "every rule of the language holds, but perhaps those about side effects",
    lambda module: _error(well_formed_violations(module, effects=False), module),
    in_new=lambda module, new: _error(well_formed_violations(module, effects=False, new=new), module),
)
PURE_DATAFLOW = Property(
    "PURE_DATAFLOW",
    "dataflow blocks, and functions that promise purity, have no side effects",
    lambda module: _error(
        (problem for fn in module.relax_functions.values() for problem in purity_violations(fn, False)),
        module,
    ),
)
NORMAL_FORM = _of_bindings(
    "NORMAL_FORM",
    "each binding is one operation over leaves",
    lambda module, read: _error(normal_form_violations(module, read), module),
    ["Normalize", "ReplaceModule"],
)
NORMALIZED = Property("NORMALIZED", "normalizing changes nothing: all StructInfo is derived", _not_derived)
NO_HIGH_LEVEL_OPS = Property(
    "NO_HIGH_LEVEL_OPS",
    "operators with a lowering are calls of kernels, or builtins of the virtual machine",
    _operators(is_high_level),
    made_by=["LegalizeOps"],
)
NO_DATAFLOW = Property("NO_DATAFLOW", "no dataflow block is left", _dataflow, made_by=["ToNonDataflow"])
CANONICAL_BINDINGS = _of_bindings(
    "CANONICAL_BINDINGS",
    "no dataflow variable only renames another",
    _each_binding(_alias, _may_rename),
    [
        "InlinePrivateFunctions",
        "RemoveUnusedOutputs",
        "ExpandTupleArguments",
        "CanonicalizeBindings",
        "ConvertToDataflow",
    ],
)
PATTERNS_ANNOTATED = Property(
    "PATTERNS_ANNOTATED",
    "every PrimFunc has its pattern for fusion",
    _without_pattern,
    made_by=["AnnotateTIROpPattern"],
)
PURITY_ERASED = Property(
    "PURITY_ERASED",
    "no function promises purity: later passes may write into memory",
    _promised_pure,
    made_by=["RemovePurityChecking"],
)
EXPLICIT_ALLOCATION = Property(
    "EXPLICIT_ALLOCATION",
    "no call allocates its results",
    _operators(_ALLOCATING_CALLS.__contains__),
    made_by=["CallTIRRewrite"],
)
MEMORY_PLANNED = Property(
    "MEMORY_PLANNED",
    "tensors whose lives end in their block lie in storages that others use again",
    _unplanned,
    made_by=["StaticPlanBlockMemory"],
)
ALLOCATION_LOWERED = Property(
    "ALLOCATION_LOWERED",
    "every tensor lies in a storage",
    _operators((_ALLOCATING_CALLS | {"relax.builtin.alloc_tensor"}).__contains__),
    made_by=["LowerAllocTensor"],
)
BUILTINS_LOWERED = Property(
    "BUILTINS_LOWERED",
    "operators of the virtual machine are calls of its builtins",
    _operators(_BUILTINS.__contains__),
    made_by=["LowerRuntimeBuiltin"],
)
NO_TENSOR_TO_SHAPE = Property(
    "NO_TENSOR_TO_SHAPE",
    "shapes that tensors hold have named lengths",
    _operators(frozenset({"relax.tensor_to_shape"}).__contains__),
    made_by=["DecomposeOpsForInference", "DecomposeOpsForTraining"],
)
NO_NESTED_FUNCTIONS = _of_bindings(
    "NO_NESTED_FUNCTIONS", "no function contains another", _each_binding(_nested, _has_nested), ["LambdaLift"]
)
CLOSURES_CONVERTED = _of_bindings(
    "CLOSURES_CONVERTED",
    "no nested function reads variables around it: make_closure holds them",
    _each_binding(_captures, _has_nested),
    ["LambdaLift"],
)
BYOC_MARKED = Property(
    "BYOC_MARKED",
    "each composite function lies in one that names its code generator",
    unmarked,
    made_by=["MergeCompositeFunctions"],
)
SHAPES_LOWERED = _of_bindings(
    "SHAPES_LOWERED",
    "no operand has a symbolic length: the shape heap holds them",
    _computed_shape,
    ["VMShapeLower"],
)
SYMBOLS_ATTACHED = Property(
    "SYMBOLS_ATTACHED", "every function has a global symbol", _without_symbol, made_by=["AttachGlobalSymbol"]
)
# Properties that lowering establishes, in this order. An earlier pass may break them again.
LOWERED = (
    PURITY_ERASED,
    EXPLICIT_ALLOCATION,
    MEMORY_PLANNED,
    ALLOCATION_LOWERED,
    BUILTINS_LOWERED,
    SHAPES_LOWERED,
)
# Properties that a pass breaks if it adds calls of new kernels.
ADDED_KERNELS = (*LOWERED, PATTERNS_ANNOTATED, SYMBOLS_ATTACHED)

PROPERTIES: list[Property] = [
    WELL_FORMED,
    PURE_DATAFLOW,
    NORMAL_FORM,
    NORMALIZED,
    CANONICAL_BINDINGS,
    BYOC_MARKED,
    NO_TENSOR_TO_SHAPE,
    NO_HIGH_LEVEL_OPS,
    PATTERNS_ANNOTATED,
    NO_DATAFLOW,
    NO_NESTED_FUNCTIONS,
    CLOSURES_CONVERTED,
    PURITY_ERASED,
    EXPLICIT_ALLOCATION,
    MEMORY_PLANNED,
    ALLOCATION_LOWERED,
    BUILTINS_LOWERED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
]
REGISTERED: list[
    Property
] = []  # of PROPERTIES, those that a user added: other passes do not know them, and may break them


@collector_at_rest()
def holding(module: IRModule, well_formed: bool | None = None) -> set[Property]:
    """The properties of a module. `well_formed` is the result of that check, with that of side effects, if known."""
    known = {WELL_FORMED: True, PURE_DATAFLOW: True} if well_formed else {}
    return {q for q in PROPERTIES if (known[q] if q in known else q.holds(module))}
