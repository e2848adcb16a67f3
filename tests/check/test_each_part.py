"""Rules of the checker look at each part of what they are given, on both sides, and don't take what is unknown for an answer."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.check.arguments import _conflict, _only_dims, completed
from relax_explorer.core.check.arguments import _shown_value as _shown
from relax_explorer.core.check.call_graph import Callees
from relax_explorer.core.check.claims import _differ_plainly
from relax_explorer.core.check.compatible import counterexample
from relax_explorer.core.check.infer import Inferrer
from relax_explorer.core.check.memory_hazards import _moved
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.prim_funcs import _has_no_solution
from relax_explorer.core.check.scope import shape_variables
from relax_explorer.core.check.stopping import Stopping, _divides, _is_length, _own_dims
from relax_explorer.core.check.storage import (
    Fields,
    Held,
    Lengths,
    Storage,
    Tensor,
    Views,
    callee,
    certain_bytes,
    choice,
    excluded,
    least_bytes,
    overlap,
    pairs,
    part,
    shown,
    spread,
)
from relax_explorer.core.check.wildcards import alike
from relax_explorer.core.codes import well_formedness as codes
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
    assert certain_bytes(p.as_prim(4), least_bytes(p.Mul(N, p.as_prim(8)), 4)) == (4, 12)
    assert certain_bytes(p.as_prim(4), least_bytes(p.Sub(p.as_prim(64), N), 4)) == (4, 8)


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
        assert [dim.name for dim in shape_variables(fn, last)[:2]] == ["n", "m"]


HEAD = '@R.function(pure=False)\ndef main(x: R.Tensor(("n",), "float32"), y: R.Tensor(dtype="float32")):\n    n = T.int64()\n    '


def told(*lines: str, head: str = HEAD) -> list[tuple[str, int]]:
    """The problems of a function, each with the number of its line behind the head."""
    found = rxe.check(rxe.parse(head + "\n    ".join(lines) + "\n"))
    return [(item.code.id, (item.span.line if item.span else 0) - head.count("\n") - 1) for item in found]


def test_a_length_that_cannot_be_is_told_once() -> None:
    cast = "a = R.match_cast(y, R.Tensor((0 - 1, 4), 'float32'))"
    for line in ("b = R.concat((a, a), axis=1)", "b = R.nn.relu(a)", "b = (a, a)"):
        assert [item for item in told(cast, line, "return b") if item[0] == "RX0155"] == [("RX0155", 0)], line
    assert (
        told(cast, "b = R.match_cast(y, R.Tensor((0 - 1, 4), 'float32'))", "return b").count(("RX0155", 1))
        == 1
    )


def test_a_scalar_is_no_tensor_among_several() -> None:
    assert ("RX0152", 0) in told("a = R.concat(R.prim_value(n))", "return a")


PRIVATE = """@I.ir_module
class M:
    @R.function(private=True)
    def f(x: R.Tensor((4,))):
        return x
    @R.function(private=True)
    def g(x: R.Tensor((4,))):
        return x
"""


def test_the_first_function_is_shown() -> None:
    (problem,) = rxe.check(rxe.parse(PRIVATE))
    assert problem.span is not None
    assert problem.span.line == 4


def forced(name: str, *args: e.Expr, info: s.StructInfo, **attrs: object) -> e.Call:
    return e.Call(e.op_ref(name), args, Attrs(attrs), (), info)


def var(name: str, info: s.StructInfo, is_dataflow: bool = False) -> e.Var:
    return (e.DataflowVar if is_dataflow else e.Var)(name, info)


def test_a_call_that_may_stop_behind_one_that_does_not() -> None:
    x, y = var("x", tensor(N, M)), var("y", tensor(p.PrimVar("k", INT64), M))
    result = tensor(N, M)
    both, other = (e.Tuple(two, of(*[one.struct_info for one in two])) for two in ((x, x), (x, y)))
    concat = forced("relax.concat", both, info=result, axis=1)
    for safe, open_ in (
        (
            forced("relax.concat", other, info=result, axis=0),
            forced("relax.stack", other, info=result, axis=0),
        ),
        (
            forced("relax.concat", other, info=result, axis=0),
            forced("relax.concat", other, info=result, axis=1),
        ),
        (concat, forced("relax.concat", other, info=result, axis=1)),
        (concat, forced("relax.concat", both, info=tensor(ndim=2), axis=1)),
    ):
        stopping = Stopping(rxe.IRModule({}))
        assert [stopping.binding(e.VarBinding(var("v", result), call)) for call in (safe, open_, safe)] == [
            False,
            True,
            False,
        ]


def test_what_a_variable_holds_has_lengths() -> None:
    short = tensor(p.Sub(N, p.as_prim(4)), 4)
    for is_dataflow in (True, False):
        x = var("x", short, is_dataflow)
        call = forced("relax.matmul", x, var("w", tensor(4, 4)), info=short, out_dtype=None)
        assert not Stopping(rxe.IRModule({})).binding(e.VarBinding(var("v", short), call))
    unknown = var("u", tensor(ndim=2))
    assert not Stopping(rxe.IRModule({})).binding(
        e.VarBinding(
            var("v", tensor(ndim=2)), forced("relax.nn.softmax", unknown, info=tensor(ndim=2), axis=-1)
        )
    )


KERNELS = """@I.ir_module
class Module:
    @T.prim_func(private=True)
    def half(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n * 2,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = A[i]
    @T.prim_func(private=True)
    def copy(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = A[i]
    @T.prim_func(private=True)
    def third(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n * 2,), "float32")
        B = T.match_buffer(b, (n * 3,), "float32")
        for i in range(n):
            B[i] = A[i]
    @T.prim_func(private=True)
    def both(A: T.Buffer((4,), "float32"), B: T.Buffer((5,), "float32")):
        for i in range(4):
            A[i] = A[i] + B[i]
    @R.function(private=True, pure=False)
    def own(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        return x
    @R.function
    def main(x: R.Tensor((8,), "float32"), a: R.Tensor((4,), "float32"), b: R.Tensor((5,), "float32"), s: R.Tensor(("m",), "float32")):
        m = T.int64()
        """


def test_arguments_of_kernels() -> None:
    (wrong,) = [
        item
        for item in rxe.check(
            rxe.parse(
                f"{KERNELS}c = R.call_tir(Module.third, (x,), out_ty=R.Tensor((15,), 'float32'))\n        return c\n"
            )
        )
        if item.is_error
    ]
    assert wrong.code.id == "RX0213"
    two = "out_ty=[R.Tensor((4,), 'float32'), R.Tensor((5,), 'float32')]"
    calls = [
        f"R.call_tir_inplace(Module.both, (a, b), inplace_indices=[{places}], {two})"
        for places in ("0, 1", "1, 0")
    ]
    texts = [
        f"{KERNELS}c = {first}\n        d = {second}\n        return d\n"
        for first, second in (calls, [calls[0]] * 2)
    ]
    assert [any(item.is_error for item in rxe.check(rxe.parse(text))) for text in texts] == [True, False]
    (relax,) = [
        item
        for item in rxe.check(
            rxe.parse(
                f"{KERNELS}c = R.call_tir(Module.own, (x,), out_ty=R.Tensor((8,), 'float32'))\n        return c\n"
            )
        )
        if item.labels[1:]
    ]
    assert relax.labels[1].place is relax.labels[0].place.args[0]  # type: ignore[union-attr]
    text = f"{KERNELS}c = R.call_tir(Module.copy, (x,), out_ty=R.Tensor((m,), 'float32'))\n        return c\n"
    (maybe,) = [item for item in rxe.check(rxe.parse(text), profile="tvm") if item.code.id == "RX0218"]
    assert "m = " in " ".join(maybe.notes)


LOOPS = """@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), scope="global")
    for i in T.parallel(4):
        for j in range(i, i + 1):
            {}
"""


def test_a_length_that_two_others_tell() -> None:
    text = KERNELS[: KERNELS.index("    @R.function")]
    assert "RX0065" in {item.code.id for item in rxe.check(rxe.parse(text), profile="tvm")}


def test_a_call_that_allocates_more_than_another() -> None:
    three = """def three(A: T.Buffer((4,)), B: T.Buffer((4,)), C: T.Buffer((4,))):
        for i in range(4):
            C[i] = A[i]
    @T.prim_func(private=True)
    def copy(a"""
    head = KERNELS.replace("def copy(a", three)
    four = "out_ty=[R.Tensor((4,), 'float32'), R.Tensor((4,), 'float32')]"
    first, second = (
        f"R.call_tir_inplace(Module.three, (a, a), inplace_indices=[{places}], {four})"
        for places in ("0, -1", "0, 1")
    )
    for one, other, is_wrong in ((first, first, False), (first, second, True), (second, first, True)):
        text = f"{head}c = {one}\n        d = {other}\n        return d\n"
        assert any(item.is_error for item in rxe.check(rxe.parse(text))) is is_wrong


def test_loops_at_once_write_different_elements() -> None:
    assert [bool(rxe.check(rxe.parse(LOOPS.format(store)))) for store in ("A[j] = T.float32(1)", "A[0] = T.float32(1)", "B[0] = T.float32(1)")] == [
        False, True, True,
    ]  # fmt: skip


def test_the_first_is_shown() -> None:
    text = '@R.function\ndef main(x: R.Tensor((4,))):\n    R.print(x, format="")\n    R.print(x, format="")\n    return x\n'
    (item,) = rxe.check(rxe.parse(text))
    assert item.labels[-1].place.span.line == 3  # type: ignore[union-attr]
    missing = [f'metadata["ir.GenericConst"][{number}]' for number in (0, 1)]
    text = f"@R.function\ndef main():\n    y = {missing[0]}\n    z = {missing[1]}\n    return (y, z)\n"
    (only,) = [item for item in rxe.check(text) if item.code.id == "RX0024"]
    assert only.span is not None
    assert only.span.line == 3


def test_a_function_at_the_end_of_a_sequence() -> None:
    x, y = var("x", tensor(4)), var("y", tensor(4))
    inner = e.Function((y,), e.SeqExpr((), y), None, True)
    held = e.Var("f", None)
    block = e.BindingBlock((e.VarBinding(held, e.SeqExpr((), inner)),))
    module = rxe.IRModule(
        {"main": e.Function((x,), e.SeqExpr((block,), held), None, True, Attrs({"global_symbol": "main"}))}
    )
    (binding,) = [b for each in rxe.normalize(module).functions["main"].body.blocks for b in each.bindings]
    assert isinstance(binding.value, e.Function)


def test_an_ordinary_block_in_a_dataflow_block_is_shown_at_its_first_binding() -> None:
    x = var("x", tensor(4))
    two = [e.VarBinding(e.Var(name, None), forced("relax.exp", x, info=tensor(4))) for name in "ab"]
    seq = e.SeqExpr((e.BindingBlock(tuple(two)),), two[1].var)
    block = e.DataflowBlock((e.VarBinding(e.Var("c", None), seq),))
    report = normalize_with(
        rxe.IRModule({"main": e.Function((x,), e.SeqExpr((block,), block.bindings[0].var), None, True)})
    )[1]
    (problem,) = [item for item in report if item.code.id == codes.ORDINARY_IN_DATAFLOW.id]
    assert problem.labels[0].place is two[0]


def test_an_annotation_that_no_data_could_make_right() -> None:
    text = '@R.function\ndef main():\n    y: R.Shape([2]) = R.exp(metadata["ir.GenericConst"][0])\n    return y\n'
    assert [item.code.id for item in rxe.check(text) if item.is_error]


def test_what_a_call_through_another_calls() -> None:
    x, y, callees = var("x", tensor(4)), var("y", tensor(4)), Callees()
    both = e.Tuple((x, y), of(tensor(4), tensor(4)))
    plain = forced("relax.call_builtin_with_ctx", e.ExternFunc("f"), both, info=tensor(4))
    assert spread(plain, callees) == ("f", (x, y))
    assert callee(plain, callees) is plain.args[0]
    inner = e.ExternFunc("g")
    cached = e.ExternFunc("vm.builtin.cuda_graph.run_or_capture")
    run = forced(
        "relax.call_builtin_with_ctx", cached, e.Tuple((inner, both), of(s.OBJECT, s.OBJECT)), info=tensor(4)
    )
    assert callee(run, callees) is inner
    assert spread(run, callees) == (cached.name, (x, y))
    assert part((x, e.ShapeExpr((p.as_prim(2),))), Lengths()) == (0, 8)


def test_a_tensor_in_a_storage_of_the_caller() -> None:
    mine, own = Storage("s"), Storage("t")
    moved = _moved(Tensor("a", mine, p.as_prim(4), p.as_prim(8), (4, 12)), {mine: own})
    assert (moved.storage, moved.offset, moved.size) == (own, p.as_prim(4), p.as_prim(8))
    moved = _moved(Tensor("a", mine, N, p.as_prim(8)), {mine: own})
    assert (moved.offset, moved.size) == (None, p.as_prim(8))
