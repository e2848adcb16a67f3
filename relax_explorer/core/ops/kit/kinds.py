"""The kinds of operands and attributes. An operator names them in its annotations."""

from __future__ import annotations

from enum import StrEnum


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
