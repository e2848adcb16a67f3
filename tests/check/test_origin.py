"""A view can show the origin of each variable's StructInfo."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.scope import origin
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from tests.support.spec_trees import bind, block, function, normal, seq, var

PROGRAM = """
@I.ir_module
class M:
    @R.function
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), u: R.Tensor(dtype="float32", ndim=1), c: R.Tensor((), "bool"), h: R.Callable, o: R.Object):
        derived = R.add(x, x)
        called = M.f(x)
        packed = R.call_packed("g", x, sinfo_args=R.Tensor((2,), "float32"))
        silent = R.call_packed("g", x)
        opaque = h(x)
        cast = R.match_cast(u, R.Tensor((2,), "float32"))
        wide: R.Tensor(ndim=1) = derived
        assumed: R.Tensor((2,), "float32") = u
        pair = (x, u)
        one = pair[0]
        same = x
        unknown = R.nobody.knows(x)
        extern = R.ExternFunc("g")
        named = extern(x)
        odd = o(x)
        @R.function
        def inner(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return z
        if c:
            both = R.exp(x)
        else:
            both = R.sin(x)
        return (called, packed, silent, opaque, cast, wide, assumed, one, same, both)
"""
WANTED = {
    "derived": "inferred by the rule of relax.add",
    "called": "from the signature of f",
    "packed": "stated by this call; the packed function is not checked",
    "silent": "not stated",
    "opaque": "from the StructInfo of h",
    "cast": "checked at run time by this match_cast",
    "wide": 'from the annotation; inferred was R.Tensor((2,), dtype="float32")',
    "assumed": 'assumed from the annotation, not proven; inferred was R.Tensor(dtype="float32", ndim=1)',
    "pair": "from the expression itself",
    "one": "a field of pair",
    "same": "the same as x",
    "unknown": "the operator relax.nobody.knows is unknown",
    "extern": "from the expression itself",
    "named": "from the StructInfo of extern",
    "odd": "from the StructInfo of o",
    "inner": "its signature",
    "both": "the common StructInfo of both branches",
}
MAIN = normalize_with(rxe.parse(PROGRAM))[0]["main"]
FOUND = {binding.var.name: binding for binding in bindings(MAIN) if binding.var is not None}


@pytest.mark.parametrize("name", WANTED)
def test_how_it_is_known(name: str) -> None:
    assert origin(FOUND[name]) == WANTED[name]


def test_a_field_of_what_has_no_name() -> None:
    x = var("x")
    fn = normal(function([x], seq([block(bind(e.Var("y"), e.TupleGetItem(e.Tuple((x, x)), 1)))], x)))
    assert [origin(b) for b in bindings(fn)] == ["from the expression itself"]
