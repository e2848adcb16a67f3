"""Derive functions: the result of a call of an opaque function. A FuncStructInfo names its derive function.

Without one (`empty_derive`, as in `R.Callable`) only the annotation describes the result. `default_derive` takes the result
from the call. Others are registered with `derive_function`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import signature

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s

Derive = Callable[..., s.StructInfo]


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a derive function: the signatures of global functions, and the StructInfo of operands."""

    signature: Callable[[str], s.StructInfo | None]
    info: Callable[[e.Expr], s.StructInfo]


NOWHERE = Context(lambda name: None, lambda expr: expr.struct_info or s.OBJECT)
"""The context of a call outside any module."""


def default_derive(call: e.Call) -> s.StructInfo:
    """The StructInfo that the call itself states: Object if it states none, a tuple if it states several."""
    infos = call.sinfo_args
    if not infos:
        return s.OBJECT
    return infos[0] if len(infos) == 1 else s.TupleStructInfo(infos)


def empty_derive(call: e.Call) -> s.StructInfo:
    """Object for every call."""
    return s.OBJECT


_REGISTRY: dict[str, Derive] = {
    "default_derive": default_derive,
    "empty_derive": empty_derive,
    # TVM's name for it
    "tvm.relax.type.infer_by_ty_args": default_derive,
}


def derive_function(name: str) -> Callable[[Derive], Derive]:
    """Register the decorated function as the derive function `name`. It takes the call, and optionally the Context."""

    def register(function: Derive) -> Derive:
        _REGISTRY[name] = function
        return function

    return register


def derived(callee: s.FuncStructInfo, call: e.Call, context: Context = NOWHERE) -> s.StructInfo:
    """The result of a call of an opaque function; Object if its derive function is not registered."""
    if callee.derive_func is None:
        return callee.ret
    function = _REGISTRY.get(callee.derive_func, empty_derive)
    return function(call, context) if _takes_context(function) else function(call)


@cache
def _takes_context(function: Derive) -> bool:
    """True if a derive function takes a second argument."""
    try:
        signature(function).bind(None, None)
    except TypeError:
        return False
    return True
