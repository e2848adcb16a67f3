"""How an operator is declared: one class with its operands, attributes, inference, evaluation and lowering.

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
from relax_explorer.core.diagnostics import Code, Diagnostic, Label, Report
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.expr import Expr
from relax_explorer.core.ir.prim import IntImm, Mul, PrimExpr, Sub
from relax_explorer.core.ir.struct_info import OBJECT, StructInfo, TensorStructInfo

REQUIRED: Any = object()
ANY_OPERAND = ("*",)
"""What `shares` and `writes` say of a call that takes any operands, and may use each."""
_RELATIONS = (codes.RANK_WRONG, codes.SIZE_MISMATCH, codes.DIMS_DIFFER)  # of one operand to others
# The kinds of operands and attributes. The reader of text goes by these names.
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
    """The phases of a program on its way to the virtual machine, in order; `core/passes` tells which one it has reached."""

    PARSED = "parsed"
    HIGH = "high"
    LEGALIZED = "legalized"
    LOWERED = "lowered"
    VM = "vm"

    def includes(self, other: Phase) -> bool:
        """Whether a program of this phase has gone through the other one, or is in it."""
        order = list(Phase)
        return order.index(self) >= order.index(other)


CALLING_PHASES = tuple([phase for phase in Phase if phase is not Phase.PARSED])
"""The phases that operators belong to."""


class Fusion(IntEnum):
    """How a kernel may be fused with its neighbours; the numbers are TVM's operator patterns."""

    ELEMENTWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    REDUCE = 3
    OUT_ELEMENTWISE = 4
    TUPLE = 7
    OPAQUE = 8


class Stops(Enum):
    """What may stop the run at a call that inference accepted; each entry includes those above it."""

    NEVER = "nothing stops it"
    RELATIONS = "stops where lengths that inference could not compare differ"
    FLOATS = "as before for floats; other dtypes stop at some values of elements, such as a divisor 0"
    LENGTHS = "may stop at some lengths"
    VALUES = "may stop at some values of elements"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of an operator: an operand (a value) or an attribute (a constant of the program).

    `kind` is the annotation as written: for operands Tensor, Tensors (a tuple), Shape, Prim, Prims, DType, str, Function,
    Arguments (a tuple of any values, one value stands for a tuple of it), Value; for attributes a Python type, DType, Axes,
    Ints, IntList (never one number), `int | Ints` (where one number is no list), Numbers, IndexMap, Expr. Each may
    end in `| None`, and does where None is the default. The words for each stand in page.py.
    """

    name: str
    kind: str
    doc: str
    is_operand: bool
    default: Any = REQUIRED
    unit: str = ""

    @property
    def required(self) -> bool:
        """Whether the argument must be given."""
        return self.default is REQUIRED


def _written(parameter: Parameter) -> str:
    """A parameter of a signature."""
    if parameter.required:
        return parameter.name
    default = None if parameter.is_operand and parameter.default == () else parameter.default
    if isinstance(default, tuple):
        default = list(default)
    return f"{parameter.name}={str(default) if isinstance(default, DType) else default!r}"


def operand(doc: str, *, default: Any = REQUIRED) -> Any:
    """A value that the operator takes.

    A default is what stands for an operand that is left out; None leaves it out of the call, so do `()`, which stands for
    it only when a later one is given.
    """
    return Parameter("", "", doc, True, default)


def attr(default: Any, doc: str, *, unit: str = "") -> Any:
    """A compile-time constant that the operator takes; REQUIRED as default makes it necessary."""
    return Parameter("", "", doc, False, default, unit)


class InferFailure(Exception):
    """A call whose StructInfo can't be derived because the program is wrong; carries the diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class NotLowered(Exception):
    """A call that has no lowering though calls of its operator have; says why."""


@dataclass(slots=True)
class Site:
    """The call that an operator's rule is asked about: makes diagnostics with labels on operands, collects obligations."""

    call: Any  # the Call; None when a lowering asks again what inference accepted
    op: type[Op] | None = None
    report: Report = field(default_factory=Report)
    obligations: list[tuple[PrimExpr, PrimExpr]] = field(default_factory=list)  # what the run finds equal
    definitions: Mapping[Any, Expr] = field(default_factory=dict)  # what variables are bound to, where known
    places: Mapping[str, Any] = field(
        default_factory=dict
    )  # the devices and meshes of the module, where known

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
        """What a rule raises: a diagnostic whose labels are keyed by operand or attribute name."""
        return InferFailure(self._diagnostic(code, message, labels))

    def warn(self, code: Code, message: str, **labels: str) -> None:
        """Report something that does not stop the inference."""
        self.report.add(self._diagnostic(code, message, labels))

    def refuse_by_spec(self, code: Code, message: str, **labels: str) -> None:
        """Report what the specification refuses and TVM 0.27 takes; the inference goes on."""
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
        """What the other tensors are, for a problem between operands of which either may be meant otherwise."""
        found = []
        for q in self.op.operands if self.op is not None else ():
            arg = self.arg(q.name)
            info = arg.struct_info if arg is not None else None
            if q.name not in named and isinstance(info, TensorStructInfo):
                found.append(Label(arg, f"this is {info}"))
        return found

    def equal(self, a: PrimExpr, b: PrimExpr, or_one: tuple[PrimExpr, ...] = ()) -> Answer:
        """Whether two lengths are equal: yes, no, or unknown, which becomes an obligation that the run checks.

        Where a length of `or_one` is 1 the two may differ, as lengths that broadcast.
        """
        answer = equal(a, b)
        if answer is Answer.UNKNOWN and or_one:
            zero: PrimExpr = Sub(a, b)
            for length in or_one:
                zero = Mul(zero, Sub(length, IntImm(1)))
            self.obligations.append((zero, IntImm(0)))
        elif answer is Answer.UNKNOWN:
            self.obligations.append((a, b))
        return answer


class Op:
    """Base of all operators; a subclass is a declaration and is never instantiated."""

    name: ClassVar[str] = ""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    operands: ClassVar[tuple[Parameter, ...]] = ()
    attributes: ClassVar[tuple[Parameter, ...]] = ()
    pure: ClassVar[bool] = True
    pure_in_spec: ClassVar[bool] = True  # whether the specification, too, calls a pure operator pure
    shares: ClassVar[tuple[str, ...]] = ()  # operands whose memory the result may be; ANY_OPERAND for all
    writes: ClassVar[tuple[str, ...] | None] = (
        None  # operands it may overwrite; None: all if impure, else none
    )
    allocates: ClassVar[bool] = False  # two equal calls give two pieces of memory, each to be filled
    stops: ClassVar[Stops] = Stops.VALUES
    fusion: ClassVar[Fusion] = Fusion.OPAQUE
    examples: ClassVar[tuple[str, ...]] = ()
    source: ClassVar[str] = ""  # the document that defines the operator; subclasses name their own
    raises: ClassVar[
        tuple[Code, ...]
    ] = ()  # what its rules refuse or warn of, beside counts and kinds of arguments
    kernel: ClassVar[str] = (
        ""  # what TVM calls the PrimFunc of a lowered call; the last part of the name when empty
    )
    no_evaluate: ClassVar[str] = ""  # why the operator has no evaluation, when it has none
    no_legalize: ClassVar[str] = ""  # why it has no lowering
    printed_order: ClassVar[
        tuple[str, ...]
    ] = ()  # attributes that are printed first, where that is not the order above
    variadic: ClassVar[bool] = False  # takes any number of operands after the declared ones
    by_info: ClassVar[bool] = (
        True  # the result depends on the operands' StructInfo alone, not on the operands themselves
    )
    takes_sinfo: ClassVar[bool] = False  # takes StructInfo arguments (`sinfo_args` / `out_sinfo`)
    types: ClassVar[str] = ""  # what the signature calls them; empty where they are hardly ever given
    phase: ClassVar[Phase] = Phase.HIGH  # the first one whose programs may call the operator
    says_place: ClassVar[bool] = False  # the rule itself says on which device, or mesh, the result lies

    by_machine: ClassVar[bool] = (
        False  # the machine runs it itself (calls, closures, effects), not `evaluate`
    )

    evaluate: ClassVar[Callable[..., Any] | None] = None
    doubt: ClassVar[Callable[..., str] | None] = (
        None  # takes what `evaluate` does, and says why the value is hardly meant; empty when nothing is odd
    )
    legalize: ClassVar[Callable[..., Any] | None] = None  # raises NotLowered for a call that has none
    packed: ClassVar[str] = (
        ""  # the function of the runtime that a lowered call is a call of, where it is no kernel
    )
    unfolds_to: ClassVar[str] = "several bindings"
    unfold: ClassVar[Callable[..., Any] | None] = (
        None  # (emitter, call, infos) -> the value after several bindings: lowers a result whose shape is not known
    )
    refine: ClassVar[Callable[..., Any] | None] = (
        None  # (call, infos) -> call: completes arguments, as reshape does with -1
    )

    def __init_subclass__(cls, name: str = "", **more: object) -> None:
        super().__init_subclass__(**more)
        if name:
            cls.name = name
        found: dict[str, Parameter] = {p.name: p for p in cls.parameters}
        for field_name, kind in inspect.get_annotations(cls).items():
            value = cls.__dict__.get(field_name)
            if isinstance(value, Parameter):
                made = Parameter(
                    field_name, str(kind).strip("'\""), value.doc, value.is_operand, value.default, value.unit
                )
                found[field_name] = made
        cls.parameters = tuple(found.values())
        cls.operands = tuple(p for p in cls.parameters if p.is_operand)
        attributes = [p for p in cls.parameters if not p.is_operand]
        place = {name: n for n, name in enumerate(cls.printed_order)}
        cls.attributes = tuple(sorted(attributes, key=lambda p: place.get(p.name, len(place))))

    @staticmethod
    def infer(at: Site, *args: Any, **attrs: Any) -> StructInfo:
        """StructInfo of the result; raises `at.fail(…)` for a call that can't be right."""
        return OBJECT

    @classmethod
    def overwritten(cls) -> tuple[str, ...]:
        """The operands whose memory a call may overwrite; ANY_OPERAND for an impure operator that does not say."""
        return cls.writes if cls.writes is not None else () if cls.pure else ANY_OPERAND

    @classmethod
    def calls_first(cls) -> bool:
        """Whether the first operand is the function that a call of the operator calls."""
        return bool(cls.operands) and cls.operands[0].kind == "Function"

    @classmethod
    def is_lowered(cls) -> bool:
        """Whether calls of it have a lowering: a kernel, a function of the runtime, or several bindings."""
        return cls.legalize is not None or cls.unfold is not None or bool(cls.packed)

    @classmethod
    def kernel_name(cls) -> str:
        """How the PrimFunc of a lowered call is called, before it is numbered."""
        return cls.kernel or cls.name.rsplit(".", 1)[-1]

    @classmethod
    def signature(cls) -> str:
        """The operator's signature as TVMScript text."""
        operands = [_written(p) for p in cls.operands] + (["*args"] if cls.variadic else [])
        parts = [*operands, *[_written(p) for p in cls.parameters if not p.is_operand]]
        parts += [f"{cls.types}=…"] if cls.types else []
        return f"R.{cls.name.removeprefix('relax.')}({', '.join(parts)})"
