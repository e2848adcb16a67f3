"""RX06: Relay's type relations, and shape contracts in the notation of the notes."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

NOTATION = Code(
    "RX0601",
    "not in the notation of the notes",
    "The text is not a program of this notation. Nothing of it was checked.",
    "Compare it with the samples, such as samples/relations/layer.relay.",
)
KIND_WRONG = Code(
    "RX0602",
    "a type parameter of another kind stands here",
    "A type parameter stands for a type, a base type, a shape, or one dimension, and only where such a thing stands.",
    "Declare the parameter with the kind that the place needs: Type, BaseType, Shape or ShapeVar.",
)
RELATION_FAILS = Code(
    "RX0603",
    "a type relation does not hold",
    "The types of the arguments and of the result do not fulfil the relation of the function that is called.",
    "Change the argument that the message names.",
)
TYPES_DIFFER = Code(
    "RX0604",
    "two types that must be the same differ",
    "Both branches of an `if`, an annotation and its value, an argument and its parameter have one type.",
    "Change one of the two.",
)
INFINITE_TYPE = Code(
    "RX0605",
    "a type would be a part of itself",
    "The only solution is an infinite type.",
    "A value cannot contain itself; look for a variable that is used as two things.",
)
ANNOTATION_NEEDED = Code(
    "RX0606",
    "a type stays unknown",
    "No relation and no use tells the type.",
    "Annotate the variable that the message names.",
    severity=Severity.WARNING,
)
UNBOUND = Code(
    "RX0607",
    "nothing of this name is defined here",
    "A variable, a function, a relation or a type parameter is used outside of where it is defined. "
    "A type parameter is bound to one function.",
    "Define it, or correct the name.",
)
NEVER_SETTLES = Code(
    "RX0608",
    "a relation never settles",
    "Each run of the relation changes a type again, so the queue would never be empty.",
    "A relation must not give a new unknown type at each run.",
)
CALL_SHAPE = Code(
    "RX0609",
    "a call does not fit its function",
    "The number of arguments or of type arguments is not that of the function, or the callee is no function.",
    "Compare the call with the definition.",
)
SHAPE_ERROR = Code(
    "RX0611",
    "a shape contract is broken",
    "The shape or element type of a value is not what the contract of a function, or an annotation, asks for.",
    "Change the value, or the contract.",
)
NO_SOLUTION = Code(
    "RX0612",
    "a dimension cannot be solved",
    "A dimension in a contract tells the size variables in it only if it is linear in one new variable.",
    "Bind the other variables by an earlier dimension.",
)
SIZE_IN_EXPRESSION = Code(
    "RX0613",
    "a shape variable in an expression",
    "Size variables are for types. Targets need not compute with sizes, so programs cannot.",
    "Use the variable in a type only; assert conditions over x.dim(0).",
)
LESS_SPECIFIC = Code(
    "RX0614",
    "implementations in the wrong order",
    "The first implementation whose assertions are certain is taken. One that asserts more stands behind one that asserts less, "
    "so it is never taken.",
    "List the implementations from the most to the least specific.",
    severity=Severity.WARNING,
)
