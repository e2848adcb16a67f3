"""Rules of the checker look at each part of what they are given, on both sides, and don't take what is unknown for an answer."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.check.arguments import _conflict, _only_dims
from relax_explorer.core.check.attributes import _shown, completed
from relax_explorer.core.check.claims import _differ_plainly
from relax_explorer.core.check.conversion import counterexample
from relax_explorer.core.check.infer import Inferrer
from relax_explorer.core.check.kernel_arguments import _has_no_solution
from relax_explorer.core.check.memory_values import Fields, Held, Views, choice, pairs, shown
from relax_explorer.core.check.scope import shape_variables
from relax_explorer.core.check.stopping import _divides, _is_length, _own_dims
from relax_explorer.core.check.storage_bytes import Storage, Tensor, certain_bytes, excluded, overlap
from relax_explorer.core.check.wildcards import alike
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import INT64, dtype
from relax_explorer.core.ops import find

N, M = p.PrimVar("n", INT64), p.PrimVar("m", INT64)
F32, F16 = dtype("float32"), dtype("float16")
ANY, OTHER = p.AnyDim(), p.AnyDim()


def tensor(*dims: p.PrimExpr | int, element: object = F32, ndim: int | None = None) -> s.TensorStructInfo:
    shape = tuple([p.as_prim(dim) for dim in dims])
    return s.TensorStructInfo(shape or None, element, len(dims) if ndim is None else ndim)  # type: ignore[arg-type]


def of(*fields: s.StructInfo) -> s.TupleStructInfo:
    return s.TupleStructInfo(fields)


def function(*params: s.StructInfo, ret: s.StructInfo = s.OBJECT) -> s.FuncStructInfo:
    return s.FuncStructInfo(params, ret, True)


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        (tensor(4), tensor(5), True),
        (tensor(4), tensor(4), False),
        (tensor(N), tensor(4), False),
        (tensor(4), tensor(4, element=F16), True),
        (tensor(4), tensor(4, 4), True),
        (tensor(ndim=1), tensor(ndim=2), True),
        (tensor(ndim=1), tensor(ndim=-1), False),
        (tensor(4), s.OBJECT, False),
        (tensor(4), s.ShapeStructInfo((p.as_prim(4),)), True),
        (of(tensor(4), tensor(4)), of(tensor(4), tensor(5)), True),
        (function(tensor(4)), function(tensor(5)), True),
        (function(ret=tensor(4)), function(ret=tensor(5)), True),
        (function(ret=tensor(4)), function(ret=tensor(N)), False),
    ],
)
def test_what_no_lengths_make_equal(one: s.StructInfo, other: s.StructInfo, differ: bool) -> None:
    assert _differ_plainly(one, other) is _differ_plainly(other, one) is differ


def test_only_lengths_differ() -> None:
    assert _only_dims(of(tensor(N), tensor(M)), of(tensor(M), tensor(N)))
    for one, other in ((tensor(4), tensor(5)), (tensor(5), tensor(4))):
        assert not _only_dims(of(tensor(N), one), of(tensor(M), other))
    assert _conflict(tensor(N, 4), tensor(M, 5), {}) == (1, p.as_prim(4), p.as_prim(5))
    assert counterexample(tensor(4), tensor(5)) == ()
    assert not _has_no_solution(p.Mul(N, p.as_prim(2)), M)
    assert _has_no_solution(p.Mul(N, p.as_prim(2)), p.as_prim(5))


def test_attributes_stand_in_the_order_of_the_operator() -> None:
    op = find("relax.sum")
    assert op is not None
    assert list(completed(op, Attrs({"keepdims": True}))) == ["axis", "keepdims"]
    assert _shown((1, 2)) == "[1, 2]"


def test_the_name_that_is_most_alike_is_proposed() -> None:
    text = '@R.function\ndef main(x: R.Tensor((4,), "float32")):\n    return R.nn.relux(x)\n'
    (problem,) = [item for item in rxe.check(rxe.parse(text)) if item.is_error]
    assert "R.nn.relu?" in problem.help


def test_functions_of_branches_agree_in_what_they_capture() -> None:
    inferrer = Inferrer(Report(), lambda name: None)
    same, four, five = function(tensor(N)), function(tensor(4)), function(tensor(5))
    assert inferrer.branches((same, same), (four, four)) is same
    for pinned in ((four, five), (five, four)):
        assert inferrer.branches((same, same), pinned) is s.OBJECT


def test_wildcards_in_fields() -> None:
    assert alike(of(tensor(ANY), tensor(N)), of(tensor(OTHER), tensor(N)))
    assert not alike(of(tensor(ANY), tensor(N)), of(tensor(OTHER), tensor(M)))
    assert not alike(of(tensor(N), tensor(ANY)), of(tensor(M), tensor(ANY)))
    assert not alike(tensor(ANY, ANY), tensor(OTHER, p.AnyDim()))
    assert not alike(tensor(ANY, OTHER), tensor(ANY, ANY))


@pytest.mark.parametrize(
    ("length", "may_divide", "is_length"),
    [
        (p.FloorDiv(M, N), True, False),
        (p.FloorDiv(M, p.as_prim(2)), False, True),
        (p.FloorDiv(p.FloorDiv(M, N), p.as_prim(2)), True, False),
        (p.Sub(N, M), False, False),
    ],
)
def test_lengths_that_may_not_be(length: p.PrimExpr, may_divide: bool, is_length: bool) -> None:
    assert (_divides(length), _is_length(length)) == (may_divide, is_length)


STORAGE = Storage("s")


def at(low: int, high: int) -> Tensor:
    return Tensor("t", STORAGE, p.as_prim(low), p.as_prim(high - low), (low, high))


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (at(0, 4), at(4, 8), False),
        (at(0, 5), at(4, 8), True),
        (at(0, 8), at(2, 4), True),
        (at(0, 0), Tensor("t", STORAGE, N, p.as_prim(8)), False),
        (Tensor("t", STORAGE, N, p.as_prim(8)), Tensor("t", STORAGE, p.Add(N, p.as_prim(4)), p.as_prim(8)), True),
        (Tensor("t", STORAGE, N, p.as_prim(8), (0, 0)), Tensor("t", STORAGE, p.Add(N, p.as_prim(4)), p.as_prim(8)), False),
    ],
)  # fmt: skip
def test_bytes_in_common(one: Tensor, other: Tensor, meet: bool) -> None:
    assert overlap(one, other) is overlap(other, one) is meet


def test_bytes_that_are_certain() -> None:
    assert certain_bytes(p.as_prim(4), p.Mul(N, p.as_prim(8)), 4) == (4, 12)
    assert certain_bytes(p.as_prim(4), p.Sub(p.as_prim(64), N), 4) == (4, 8)


def test_branches_that_exclude_each_other() -> None:
    few, many = frozenset({("c", True)}), frozenset({("c", False), ("d", True)})
    assert excluded(few, many)
    assert excluded(many, few)
    assert not excluded(frozenset({("d", True)}), many)
    assert not excluded(many, frozenset({("c", False)}))


def test_values_of_both_branches() -> None:
    a, b, d, f = (shown(Tensor(name)) for name in "abdf")
    found = choice("c", Fields((a, b)), Fields((d, f)))
    assert isinstance(found, Fields)
    names = [
        [(item.tensor.name, item.when) for item in value.held]
        for value in found.values
        if isinstance(value, Views)
    ]
    first, second = frozenset({("c", True)}), frozenset({("c", False)})
    assert names == [[("a", first), ("d", second)], [("b", first), ("f", second)]]
    inner = choice("e", choice("c", a, b), d)
    assert isinstance(inner, Views)
    assert [len(item.when) for item in inner.held] == [2, 2, 1]


def test_parts_of_a_parameter() -> None:
    own, given = (
        Fields((shown(Tensor("a")), shown(Tensor("b")))),
        Fields((shown(Tensor("d")), shown(Tensor("f")))),
    )
    assert [(item.name, value.held[0].tensor.name) for item, value in pairs(own, given)] == [
        ("b", "f"),
        ("a", "d"),
    ]  # type: ignore[union-attr]
    storage, other = Storage("s"), Storage("t")
    storage.fields[0], other.fields[0] = shown(Tensor("a")), shown(Tensor("d"))
    assert [item.name for item, _ in pairs(storage, other)] == ["s", "a"]
    assert Held(Tensor("a")).when == frozenset()


WRITES = """@R.function(pure=False)
def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
    a = R.add(x, x)
    b = R.add(a, x)
    if c:
        r = a
    else:
        r = b
    _ = R.call_packed("first", r, sinfo_args=R.Tuple)
    d = R.add(x, x)
    _1 = R.call_packed("second", r, sinfo_args=R.Tuple)
    return d
"""


def test_later_writes_and_those_through_a_branch() -> None:
    module = rxe.normalize(rxe.parse(WRITES))
    fn = module.functions["main"]
    by_name = {b.var.name: b.var for block in fn.body.blocks for b in block.bindings if b.var is not None}
    known = aliases(module, "main")
    for name in ("a", "b"):
        assert known.written(by_name[name])
        assert known.written(by_name[name], after=by_name["d"])
    assert not known.written(by_name["d"])
    assert aliases(module, "main") is known


NESTED = """@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(ndim=1, dtype="float32"), c: R.Tensor((), "bool")):
    n, m, k = T.int64(), T.int64(), T.int64()
    a = R.match_cast(y, R.Tensor((m,), "float32"))
    if c:
        b = R.match_cast(y, R.Tensor((k,), "float32"))
        @R.function
        def f(u: R.Tensor(("n", "m", "k", "l"), "float32")):
            @R.function
            def g(v: R.Tensor(("l", "q"), "float32")):
                return v
            return u
        r = b
    else:
        d = R.match_cast(y, R.Tensor((k,), "float32"))
        r = d
    return r
"""


def test_variables_of_nested_functions() -> None:
    module = rxe.normalize(rxe.parse(NESTED))
    fn = module.functions["main"]
    assert [sorted(dim.name for dim in dims) for _, dims in _own_dims(fn)] == [["n"], ["l"], ["q"]]
    (choice_,) = [b.value for block in fn.body.blocks for b in block.bindings if isinstance(b.value, e.If)]
    for branch in (choice_.true_branch, choice_.false_branch):
        last = (
            branch.body.blocks[-1].bindings[-1]
            if not isinstance(branch, e.SeqExpr)
            else branch.blocks[-1].bindings[-1]
        )
        assert "m" in [dim.name for dim in shape_variables(fn, last)]
        assert [dim.name for dim in shape_variables(fn, last)][:2] == ["n", "m"]
