"""The declaration of an operator: one class with its operands, attributes, inference, evaluation and lowering.

    class Matmul(Op, name="relax.matmul"):
        x1: Tensor = operand("left matrix")
        out_dtype: DType | None = attr(None, "dtype of the result")

The order of the fields is the order of the arguments in TVMScript. An operator's `infer` gets a Site, then the StructInfo of
each operand (None for an optional one left out), then each attribute by its declared name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum, StrEnum
from typing import Any, ClassVar

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Label, Report, Severity
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.expr import Expr
from relax_explorer.core.ir.prim import IntImm, Mul, PrimExpr, Sub
from relax_explorer.core.ir.struct_info import OBJECT, StructInfo, TensorStructInfo
from relax_explorer.core.ops.kit.flop_count import FlopCount

# -- kinds -----------------------------------------------------------------------------------------------------------
# The kinds of operands and attributes. An operator names them in its annotations.


class Kind(StrEnum):
    """What an operand or attribute may be. The value is the annotation; `page.py` has the words."""

    # operands
    TENSOR = "Tensor"
    TENSORS = "Tensors"  # a tuple of tensors
    SHAPE = "Shape"
    PRIM = "Prim"
    PRIMS = "Prims"
    FUNCTION = "Function"
    ARGUMENTS = "Arguments"  # a tuple of any values; a single value means a tuple of one
    VALUE = "Value"
    # operands and attributes
    DTYPE = "DType"
    STR = "str"
    # attributes
    INT = "int"
    FLOAT = "float"
    FLOAT_IMM = "FloatImm"  # TVM keeps these as an expression: `T.float32(0.5)`
    BOOL = "bool"
    AXES = "Axes"
    INTS = "Ints"
    INT_LIST = "IntList"  # never a single number
    INT_OR_INTS = "int | Ints"  # a single number stays a number
    NUMBERS = "Numbers"
    INDEX_MAP = "IndexMap"
    EXPR = "Expr"
    ANY = "Any"
    UNKNOWN = ""  # `page.problems` reports it

    @classmethod
    def of(cls, annotation: str) -> Kind:
        """The kind that an annotation names. A last `| None` does not count."""
        return _KINDS.get(annotation.removesuffix(" | None"), Kind.UNKNOWN)


_KINDS = {kind.value: kind for kind in Kind}


# -- decl ------------------------------------------------------------------------------------------------------------


REQUIRED: Any = object()
ANY_OPERAND = ("*",)
"""The value of `shares` and `writes` that means all operands."""
_RELATIONS = (codes.RANK_WRONG, codes.SIZE_MISMATCH, codes.DIMS_DIFFER)  # between operands
# The kinds of operands and attributes, for annotations. `kinds.Kind` knows them by these names.
Prim = Any
Prims = Any
Shape = Any
Tensors = Any
Value = Any
Function = Any
Arguments = Any
Axes = tuple[int, ...]
Ints = tuple[int, ...]
IntList = tuple[int, ...]
Numbers = tuple[float, ...]


class Phase(StrEnum):
    """The phases of lowering, in order. `core/passes` computes the phase of a program."""

    PARSED = "parsed"
    HIGH = "high"
    LEGALIZED = "legalized"
    NON_DATAFLOW = "non-dataflow"
    LOWERED = "lowered"
    VM = "vm"

    def includes(self, other: Phase) -> bool:
        """True if `other` is this phase or an earlier one."""
        order = list(Phase)
        return order.index(self) >= order.index(other)


PHASE_ORDER: list[str] = [*Phase]
"""The names of all phases in order; `phases.register_phase` puts others between them."""
CALLING_PHASES = tuple([phase for phase in Phase if phase not in (Phase.PARSED, Phase.NON_DATAFLOW)])
"""The phases that an operator may belong to."""


class Fusion(IntEnum):
    """How a kernel may be fused with its neighbours. The numbers are TVM's operator patterns."""

    ELEMENTWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    REDUCE = 3
    OUT_ELEMENTWISE = 4
    TUPLE = 7
    OPAQUE = 8


class Stops(Enum):
    """The run-time errors that a call may raise after inference accepted it. Each entry includes the entries above it."""

    NEVER = "nothing stops it"
    DTYPES = "stops at a dtype that it refuses and that inference did not know"
    RANKS = "stops at an axis that is missing, if inference did not know the rank"
    RELATIONS = "stops if lengths differ that inference could not compare"
    LENGTHS = "may stop at some lengths"
    VALUES = "may stop at some elements"


FLOATS = ("float", "bfloat")
NUMBERS = ("int", "uint", *FLOATS)
INTEGERS = ("bool", "int", "uint")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of an operator: an operand (a value) or an attribute (a constant of the program).

    The annotation names the kind. It may end in `| None`; it must if None is the default.
    """

    name: str
    annotation: str
    doc: str
    is_operand: bool
    default: Any = REQUIRED
    unit: str = ""
    kind: Kind = field(init=False)
    is_optional: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", Kind.of(self.annotation))
        object.__setattr__(self, "is_optional", self.annotation.endswith(" | None"))

    @property
    def required(self) -> bool:
        """Whether the argument must be given."""
        return self.default is REQUIRED


def _written(parameter: Parameter) -> str:
    """A parameter as the signature shows it."""
    if parameter.required:
        return parameter.name
    default = None if parameter.is_operand and parameter.default == () else parameter.default
    if isinstance(default, tuple):
        default = list(default)
    return f"{parameter.name}={str(default) if isinstance(default, DType) else default!r}"


def operand(doc: str, *, default: object = REQUIRED) -> Any:
    """Declare an operand.

    `default` replaces an omitted operand. With None the operand is dropped from the call. With `()` it is dropped too, unless
    a later operand is given; then `()` is passed.
    """
    return Parameter("", "", doc, True, default)


def attr(default: object, doc: str, *, unit: str = "") -> Any:
    """Declare an attribute, a compile-time constant. With the default REQUIRED it must be given."""
    return Parameter("", "", doc, False, default, unit)


class InferFailure(Exception):
    """Inference refuses a call. Carries the diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class NotLowered(Exception):
    """This call has no lowering, although its operator has one. The message gives the reason."""


@dataclass(slots=True)
class Site:
    """The call that a rule is applied to. Builds diagnostics with labels on operands, and collects obligations."""

    call: Any  # the Call; None when a lowering repeats the inference of an accepted call
    op: type[Op] | None = None
    report: Report = field(default_factory=Report)
    obligations: list[tuple[PrimExpr, PrimExpr]] = field(
        default_factory=list
    )  # pairs that must be equal at run time
    definitions: Mapping[Any, Expr] = field(default_factory=dict)  # values of variables, where known
    places: Mapping[str, Any] = field(default_factory=dict)  # devices and meshes of the module, where known
    wildcards: bool = False  # True if a length that is not known may be a wildcard

    def arg(self, name: str) -> Expr | None:
        """The operand called `name`, as an expression."""
        if self.op is None:
            return None
        if self.call is None:
            return None
        names = [parameter.name for parameter in self.op.operands]
        index = names.index(name) if name in names else -1
        return self.call.args[index] if 0 <= index < len(self.call.args) else None

    def fail(self, code: Code, message: str, **labels: str) -> InferFailure:
        """The exception that a rule raises. `labels` maps names of operands or attributes to remarks."""
        return InferFailure(self._diagnostic(code, message, labels))

    def fail_by_spec(self, code: Code, message: str, **labels: str) -> InferFailure:
        """The exception for what the specification refuses and TVM 0.27 accepts; nothing more is said about the result."""
        return InferFailure(replace(self._diagnostic(code, message, labels), unchecked=True))

    def refuse_in_tvm(self, code: Code, message: str, **labels: str) -> None:
        """Note what TVM 0.27 refuses and our language does not; the inference continues."""
        found = self._diagnostic(code, message, labels)
        self.report.add(replace(found, severity=Severity.NOTE, tvm_only=True))

    def warn(self, code: Code, message: str, **labels: str) -> None:
        """Report a problem and continue the inference."""
        self.report.add(self._diagnostic(code, message, labels))

    def refuse_by_spec(self, code: Code, message: str, **labels: str) -> None:
        """Report a problem that the specification refuses and TVM 0.27 accepts; the inference continues."""
        self.report.add(replace(self._diagnostic(code, message, labels), spec_only=True))

    def _diagnostic(self, code: Code, message: str, labels: dict[str, str]) -> Diagnostic:
        name = self.op.name if self.op else ""
        help_text = labels.pop("help", "") or code.fix.replace("OPERATOR", name or "OPERATOR")
        placed = [Label(self.arg(name) or self.call, text) for name, text in labels.items()]
        if code in _RELATIONS and len(placed) < 2:
            placed += self._others(labels)
        return Diagnostic(
            code,
            f"{name}: {message}" if name else message,
            (Label(self.call, "", True), *placed),
            help=help_text,
        )

    def _others(self, named: Collection[str]) -> list[Label]:
        """Labels with the StructInfo of the other tensors. In a mismatch between operands, either may be the wrong one."""
        labels = []
        for q in self.op.operands if self.op is not None else ():
            arg = self.arg(q.name)
            info = arg.struct_info if arg is not None else None
            if q.name not in named and isinstance(info, TensorStructInfo):
                labels.append(Label(arg, f"this is {info}"))
        return labels

    def equal(self, a: PrimExpr, b: PrimExpr, or_one: tuple[PrimExpr, ...] = ()) -> Answer:
        """Compare two lengths. If the answer is unknown, the equality becomes an obligation, checked at run time.

        The obligation also holds if a length of `or_one` is 1, as in broadcasting.
        """
        answer = equal(a, b)
        if answer is Answer.UNKNOWN:
            self.oblige(a, b, or_one)
        return answer

    def oblige(self, a: PrimExpr, b: PrimExpr, or_one: tuple[PrimExpr, ...] = ()) -> None:
        """Leave the equality of two lengths to the run; with `or_one`, a length of 1 will do too."""
        self.obligations.append((equal_or_one(a, b, or_one), IntImm(0)) if or_one else (a, b))


def equal_or_one(a: PrimExpr, b: PrimExpr, or_one: tuple[PrimExpr, ...]) -> PrimExpr:
    """A product that is 0 if two lengths are equal, or a length of `or_one` is 1."""
    zero: PrimExpr = Sub(a, b)
    for length in or_one:
        zero = Mul(zero, Sub(length, IntImm(1)))
    return zero


class Op:
    """Base of all operators. A subclass is a declaration and is never instantiated."""

    name: ClassVar[str] = ""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    operands: ClassVar[tuple[Parameter, ...]] = ()
    attributes: ClassVar[tuple[Parameter, ...]] = ()
    pure: ClassVar[bool] = True
    pure_in_spec: ClassVar[bool] = True  # False if the operator is pure in TVM but not in the specification
    shares: ClassVar[tuple[str, ...]] = ()  # operands whose memory the result may alias; ANY_OPERAND for all
    writes: ClassVar[tuple[str, ...] | None] = (
        None  # operands that a call may overwrite; None: all if impure, else none
    )
    allocates: ClassVar[bool] = (
        False  # each call returns new memory to be filled, so equal calls are not interchangeable
    )
    stops: ClassVar[Stops] = Stops.VALUES
    defined_for: ClassVar[
        tuple[str, ...]
    ] = ()  # kinds of dtypes; at elements of others it may stop. () means all
    broadcasts: ClassVar[bool] = False  # operands of one shape, and scalars beside them, always fit
    takes_numbers: ClassVar[bool] = (
        False  # numbers of Python as operands, with the dtype of the other operand
    )
    dtypes_may_differ: ClassVar[bool] = False
    fusion: ClassVar[Fusion] = Fusion.OPAQUE
    examples: ClassVar[tuple[str, ...]] = ()
    source: ClassVar[str] = ""  # the document that defines the operator; subclasses name their own
    raises: ClassVar[
        tuple[Code, ...]
    ] = ()  # codes of its rules, beyond the checks of counts and kinds of arguments
    kernel: ClassVar[str] = (
        ""  # TVM's name for the PrimFunc of a lowered call; when empty, the last part of the operator's name
    )
    no_evaluate: ClassVar[str] = ""  # why the operator has no evaluation
    no_legalize: ClassVar[str] = ""  # why the operator has no lowering
    printed_order: ClassVar[
        tuple[str, ...]
    ] = ()  # attributes that are printed first, if the order differs from the declaration
    unnamed: ClassVar[bool] = False  # attributes are printed without their names
    variadic: ClassVar[bool] = False  # takes any number of operands after the declared ones
    by_info: ClassVar[bool] = (
        True  # the result depends on the operands' StructInfo alone, not on the operands themselves
    )
    by_literals: ClassVar[bool] = (
        False  # it also depends on literals among the operands, and on their kinds, but on nothing else
    )
    takes_sinfo: ClassVar[bool] = False  # takes StructInfo arguments (`sinfo_args` / `out_sinfo`)
    types: ClassVar[str] = ""  # their name in the signature; empty if they are rarely given
    phase: ClassVar[Phase] = Phase.HIGH  # the first phase whose programs may call the operator
    says_place: ClassVar[bool] = False  # `infer` itself sets the device or mesh of the result

    leaves_length: ClassVar[bool] = False  # a length -1 in its shape operand is the one that is left over
    by_machine: ClassVar[bool] = (
        False  # the machine runs the operator itself (calls, closures, effects), without `evaluate`
    )

    evaluate: ClassVar[Callable[..., Any] | None] = None
    view: ClassVar[Callable[..., Any] | None] = (
        None  # `evaluate` without a copy, where only operators that take views read the result
    )
    by_kernel: ClassVar[bool] = False  # its kernel was measured to be faster than `evaluate`
    takes_views: ClassVar[bool] = False  # operands with strides are as good as compact ones
    doubt: ClassVar[Callable[..., str] | None] = (
        None  # takes the arguments of `evaluate`; returns a warning about a suspicious value, or ""
    )
    legalize: ClassVar[Callable[..., Any] | None] = None  # raises NotLowered for a call without a lowering
    flops: ClassVar[Callable[..., FlopCount | None] | None] = (
        None  # of floats, by definition (`flop_count.py`); without it, those of the loops that it is lowered to
    )
    literals: ClassVar[
        tuple[str, ...]
    ] = ()  # operands: the first one that is a constant of rank 0 becomes a literal of the kernel, as in TVM
    packed: ClassVar[str] = ""  # the runtime function that a lowered call calls, if it is not a kernel
    unfolds_to: ClassVar[str] = "several bindings"
    unfold: ClassVar[Callable[..., Any] | None] = (
        None  # (emitter, call, infos) -> value: lowers to several bindings, for a result of unknown shape
    )
    refine: ClassVar[Callable[..., Any] | None] = (
        None  # (call, infos) -> call: completes arguments, as reshape does with -1
    )

    def __init_subclass__(cls, name: str = "", **options: object) -> None:
        super().__init_subclass__(**options)
        if name:
            cls.name = name
        parameters: dict[str, Parameter] = {p.name: p for p in cls.parameters}
        for field_name, written in inspect.get_annotations(cls).items():
            value = cls.__dict__.get(field_name)
            if isinstance(value, Parameter):
                annotation = str(written).strip("'\"")
                parameters[field_name] = replace(value, name=field_name, annotation=annotation)
        cls.parameters = tuple(parameters.values())
        cls.operands = tuple(p for p in cls.parameters if p.is_operand)
        attributes = [p for p in cls.parameters if not p.is_operand]
        place = {name: n for n, name in enumerate(cls.printed_order)}
        cls.attributes = tuple(sorted(attributes, key=lambda p: place.get(p.name, len(place))))

    @staticmethod
    def infer(at: Site, *args: Any, **attrs: Any) -> StructInfo:
        """StructInfo of the result. Raises `at.fail(…)` for a wrong call."""
        return OBJECT

    @classmethod
    def overwritten(cls) -> tuple[str, ...]:
        """The operands whose memory a call may overwrite; ANY_OPERAND for an impure operator without `writes`."""
        return cls.writes if cls.writes is not None else () if cls.pure else ANY_OPERAND

    @classmethod
    def stops_with(cls, attrs: Mapping[str, Any]) -> Stops:
        """The run-time errors of a call with these attributes."""
        return cls.stops

    @classmethod
    def runs_by_kernel(cls, attrs: Mapping[str, Any]) -> bool:
        """True if the kernel of a large call with these attributes is faster than `evaluate`."""
        return cls.by_kernel

    @classmethod
    def calls_first(cls) -> bool:
        """True if the first operand is a function, which the operator calls."""
        return bool(cls.operands) and cls.operands[0].kind is Kind.FUNCTION

    @classmethod
    def is_lowered(cls) -> bool:
        """True if the operator has a lowering: a kernel, a runtime function, or several bindings."""
        return cls.legalize is not None or cls.unfold is not None or bool(cls.packed)

    @classmethod
    def kernel_name(cls) -> str:
        """The name of the PrimFunc of a lowered call, before a number is added."""
        return cls.kernel or cls.name.rsplit(".", 1)[-1]

    @classmethod
    def signature(cls) -> str:
        """The operator's signature as TVMScript text."""
        operands = [_written(p) for p in cls.operands] + (["*args"] if cls.variadic else [])
        parts = [*operands, *[_written(p) for p in cls.parameters if not p.is_operand]]
        parts += [f"{cls.types}=…"] if cls.types else []
        return f"R.{cls.name.removeprefix('relax.')}({', '.join(parts)})"
