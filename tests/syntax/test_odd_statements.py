"""Unusual statements in PrimFuncs: each is read, prints and reads back, or is refused with a diagnostic."""

from __future__ import annotations

import contextlib

import pytest

import relax_explorer as rxe

STATEMENTS = [
    "T.where()", "T.func_attr()", "T.sblock_attr()", "T.reads()", "T.writes(3)", "T.evaluate()", "T.attr()", "T.attr(1,2)", "T.assume()",
    "x = T.axis.spatial()", "x = T.axis.remap('S')", "x = T.axis.remap('SS', [1])", "x = T.match_buffer()", "x = T.alloc_buffer()",
    "x = T.sblock_alloc_buffer()", "x = T.decl_buffer()", "x = T.launch_thread()", "x = T.launch_thread('a')", "x = T.allocate()",
    "x = T.Cast()", "x: T.let[T.int32] = T.Select(1)", "x = T.int32(1,2)", "x: T.int32", "x: T.let = 3", "x: T.let[3] = 3", "T.Let()",
    "T.Ramp(1,2)", "T.Broadcast(1)", "T.ret()", "T.call_extern()", "T.tvm_access_ptr()", "T.call_packed()",
    "A[T.Ramp(0,1,4)] = A[T.Ramp(0,1,4)]", "A[0,0] = T.float32(1)", "A[()] = T.float32(1)", "A = 3", "A[0:2] = T.float32(1)",
    "A[0] += T.float32(1)", "return", "return 3", "return A", "pass", "...", "'doc'", "del A", "import os", "x = y = 3", "x, y = 3, 4",
    "x = [1]", "for i in range(): pass", "for i in T.serial(): pass", "for i in T.grid(): pass", "for i, j in T.grid(2): pass",
    "for i in T.grid(2,2): pass", "for i in A: pass", "for i in range(1,2,3,4): pass", "for i in T.thread_binding(3): pass",
    "for i in T.thread_binding(3, thread=3): pass", "while A: pass", "with T.sblock(): pass", "with T.sblock(3): pass",
    "with T.init(): pass", "with A: pass", "with T.attr(): pass", "with T.sblock('a') as b: pass", "if A: pass", "if A[0] > 0: pass",
    "assert A", "lambda: 3", "T.if_then_else(True, A, 1)", "T.max(A[0])", "T.max()", "T.float32('x')", "T.float32(A)", "T.Cast('q', 3)",
    "T.reinterpret(3)", "T.reinterpret('int32')", "T.type_annotation()", "T.type_annotation(3)", "T.handle()", "T.bool()", "T.infinity()",
    "T.min_value()", "T.min_value('x')", "T.tvm_struct_get()", "T.vectorlow()", "T.likely()", "T.bitwise_and(1)", "T.pow(A[0])",
    "T.address_of()", "T.address_of(3)", "T.address_of(A)", "T.Shuffle([1],[2])", "T.buffer_store()", "T.preflattened_buffer()",
    "T.realize()", "T.target()", "T.meta_var(3)", "x = T.meta_var()", "x = T.env_thread()", "x = T.env_thread(3)", "x = T.index_map(3)",
    "T.block('x')", "T.comm_reducer()", "Module.f()", "Module.f(A)", "Module.g(1)",
]  # fmt: skip
PLACES = {"the body": "        {}", "a block": "        with T.sblock('b'):\n            {}"}
PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4,), "float32"), n: T.int32):
{}
        A[0] = T.float32(0)
"""


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_an_odd_statement_is_read_or_refused(statement: str, place: str) -> None:
    with contextlib.suppress(rxe.ParseError):
        module = rxe.parse(PROGRAM.format(place.format(statement)))
        text = module.script()
        assert rxe.parse(text).script() == text
        assert not [item for item in rxe.check(module) if item.code.id.startswith("RX09")]


@pytest.mark.parametrize(
    "buffer",
    [
        "T.alloc_buffer((True, 4))",
        'T.alloc_buffer((4, T.bool(True)), "int32")',
        "T.match_buffer(a, (n == n,))",
    ],
)
def test_a_bool_is_no_length_of_a_buffer(buffer: str) -> None:
    text = f"@T.prim_func\ndef f(a: T.handle, n: T.int64):\n    B = {buffer}\n    T.evaluate(0)\n"
    with pytest.raises(rxe.ParseError, match="a length is an integer, this is bool") as caught:
        rxe.parse(text)
    assert [item.code.id for item in caught.value.diagnostics] == ["RX0061"]


def test_only_a_minus_negates_a_constant() -> None:
    module = rxe.parse(PROGRAM.format("        T.func_attr({'a': +1, 'b': ~1, 'c': -1})"))
    assert [str(module.functions["f"].attrs[key]) for key in "abc"] == ["+1", "~1", "-1"]
