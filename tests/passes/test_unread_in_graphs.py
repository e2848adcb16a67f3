"""A sweep from the end of a function finds the unread bindings that the marks of liveness find, or tells that it can't."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY
from relax_explorer.core.ir.facts import add_read, reads
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, contents
from relax_explorer.core.passes.eliminate import Live, unread_in_graphs
from tests.support.pass_material import pass_material
from tests.support.roundtrip import function

X = 'x: R.Tensor((2, 3), "float32"), t: R.Tensor(ndim=2, dtype="float32"), o: R.Object, c: R.Tensor((), "bool")'
GRAPH = "with R.dataflow():\n{}\n    R.output(z)\nreturn z"
UNREAD = {
    "a chain": ("a = R.exp(x)\nb = R.sin(a)\nz = R.cos(x)", "a b"),
    "read at the end": ("a = R.exp(x)\nb = R.sin(a)\nz = R.cos(b)", ""),
    "a tuple": ("a = R.exp(x)\nb = (a, x)\nd = R.sin(x)\nz = R.concat((d, x))", "a b"),
    "a field": ("a = (x, x)\nb = a[0]\nd = (x, x)\nz = d[0]", "a b"),
    "a tuple of a kernel": (
        'a = R.exp(x)\nd = R.sin(x)\nz = R.call_dps_packed("f", (a,), R.Tensor((2, 3), "float32"))',
        "d",
    ),
    "a shape": ("n = R.shape_of(x)\nm = R.shape_of(x)\nz = R.reshape(x, n)", "m"),
    "the shape of an annotation": (
        'n = R.shape_of(t)\nm = R.shape_of(t)\na = R.exp(t)\nz: R.Tensor(n, "float32") = R.match_cast(t, R.Tensor(n, "float32"))',
        "m a",
    ),
    "the shape of a result": (
        'n = R.shape_of(t)\nm = R.shape_of(t)\nz = R.call_pure_packed("f", t, sinfo_args=R.Tensor(n, "float32"))',
        "m",
    ),
    "a check": ('a = R.exp(x)\nb = R.match_cast(a, R.Tensor((2, 3), "float32"))\nd = R.sin(b)\nz = R.cos(x)', "d"),
}  # fmt: skip
UNKNOWN = {
    "an unread binding that may stop the run": "a = R.exp(x)\nz = R.cos(x)\nreturn z",
    "a branch": "if c:\n    k = R.exp(x)\nelse:\n    k = x\nreturn k",
    "a nested function": f"@R.function\ndef f({X}):\n    return x\nreturn x",
}


def _main(body: str) -> e.Function:
    fn = rxe.normalize(rxe.parse(function(body, X)))["main"]
    assert isinstance(fn, e.Function)
    return fn


def _marked(fn: e.Function) -> set[e.Binding]:
    live = Live(fn)
    live.keep_casts()
    return {binding for binding in bindings(fn) if not live.stays(binding)}


@pytest.mark.parametrize("case", UNREAD)
def test_unread_bindings(case: str) -> None:
    lines, expected = UNREAD[case]
    fn = _main(GRAPH.format("\n".join(f"    {line}" for line in lines.splitlines())))
    found = unread_in_graphs(fn)
    assert found is not None
    assert [b.var.name for b in bindings(fn) if b in found and b.var is not None] == expected.split()
    assert found == _marked(fn)


@pytest.mark.parametrize("case", UNKNOWN)
def test_a_sweep_does_not_tell(case: str) -> None:
    assert unread_in_graphs(_main(UNKNOWN[case])) is None


def test_effects_stay() -> None:
    fn = _main('a = R.exp(x)\nb = R.print(a, format="{}")\nreturn x')
    assert unread_in_graphs(fn) == set()


def test_what_is_read_in_front_of_its_binding_is_not_told() -> None:
    fn = _main(GRAPH.format("    a = R.exp(x)\n    b = R.sin(a)\n    z = R.cos(b)"))
    (block,) = fn.body.blocks
    a, b, z = block.bindings
    turned = replace(fn, body=replace(fn.body, blocks=(replace(block, bindings=(b, z, a)),)))
    assert unread_in_graphs(turned) is None
    assert _marked(turned) == set()


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int) -> None:
    module = rxe.normalize(rxe.parse(pass_material(seed)))
    for given in (module, rxe.run_pipeline(module, ["ConvertToDataflow", "LegalizeOps"])):
        for fn in given.relax_functions.values():
            found = unread_in_graphs(fn)
            assert found is None or found == _marked(fn)
            for binding in bindings(fn):
                read = set[e.Expr]()
                add_read(binding, read)
                assert {leaf for leaf in read if isinstance(leaf, e.Var)} == set(reads(binding))


def test_shapes_in_types_are_read_wherever_they_stand() -> None:
    n, x = e.Var("n", s.ShapeStructInfo(None, 2)), e.Var("x", s.OBJECT)
    plain, held = s.TensorStructInfo((p.IntImm(2), p.IntImm(3))), s.TensorStructInfo(n)

    def call(*stated: s.StructInfo) -> e.Call:
        return e.Call(e.op_ref("relax.call_pure_packed"), (e.ExternFunc("f"), x), EMPTY, stated, plain)

    places = {
        "nowhere": e.VarBinding(e.Var("y", plain), call(plain), plain),
        "the variable": e.VarBinding(e.Var("y", held), call(held), held),
        "the annotation": e.VarBinding(e.Var("y", plain), call(plain), held),
        "a StructInfo argument": e.VarBinding(e.Var("y", plain), call(held), plain),
        "a cast": e.MatchCast(e.Var("y", plain), x, held),
    }
    for place, binding in places.items():
        read = set[e.Expr]()
        add_read(binding, read)
        expected = {x} if place == "nowhere" else {x, n}
        assert {leaf for leaf in read if isinstance(leaf, e.Var)} == set(reads(binding)) == expected, place


def test_contents() -> None:
    fn = _main(
        "if c:\n    a = R.exp(x)\n    k: R.Object = x\nelse:\n    k: R.Object = x\n"
        '@R.function(pure=False)\ndef f(p: R.Object):\n    q = R.match_cast(p, R.Tensor((2, 3), "float32"))\n'
        '    r = R.call_packed("f", q, sinfo_args=R.Object)\n    return r\nreturn k'
    )
    found = contents(fn)
    assert found.bindings == {e.VarBinding, e.MatchCast}
    assert found.values == {e.If, e.Function, e.Call, e.Var}
    assert found.operators == {e.op_ref("relax.exp")}
    assert found.calls_packed
    assert not found.calls_functions
    assert found.hides_infos
    plain = contents(_main('a: R.Tensor((2, 3), "float32") = R.exp(x)\nreturn a'))
    assert not plain.calls_packed
    assert not plain.calls_functions
    text = "@R.function\ndef f(p: R.Object):\n    return p\ny = f(x)\nreturn y"
    assert contents(_main(text)).calls_functions
    assert not plain.hides_infos
    assert plain.bindings == {e.VarBinding}
