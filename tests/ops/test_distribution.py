"""Distributed tensors and collective communication: read, printed and typed as in TVM, and refused at run time."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from tests.support import type_texts
from tests.support.oracle import Oracle

MESH = "R.device_mesh((2,), I.Range(0, 2))"
SHARDED = f'R.DTensor((4, 4), "float32", {MESH}, "S[0]")'
REPLICA = f'R.DTensor((4, 4), "float32", {MESH}, "R")'
PLAIN = 'R.Tensor((4, 4), "float32")'
TEXT = """
@I.ir_module
class Module:
    I.module_attrs({{"mesh": 1}})
    I.module_global_infos({{"mesh": [R.device_mesh((2,), I.Range(0, 2))]}})

    @T.prim_func(private=True, s_tir=True)
    def k(a: T.Buffer((T.int64(4), T.int64(4)), "float32"), b: T.Buffer((T.int64(4), T.int64(4)), "float32")):
        for i, j in T.grid(T.int64(4), T.int64(4)):
            with T.sblock("b"):
                v, w = T.axis.remap("SS", [i, j])
                b[v, w] = a[v, w]

    @T.prim_func(private=True, s_tir=True)
    def two(
        a: T.Buffer((T.int64(4), T.int64(4)), "float32"),
        b: T.Buffer((T.int64(4), T.int64(4)), "float32"),
        c: T.Buffer((T.int64(4), T.int64(4)), "float32"),
    ):
        for i, j in T.grid(T.int64(4), T.int64(4)):
            with T.sblock("b"):
                v, w = T.axis.remap("SS", [i, j])
                b[v, w] = a[v, w]
                c[v, w] = a[v, w]

    @R.function
    def main(x: {param}):
        cls = Module
        result = {call}
        return result
"""

# The type of x, the call, and its type, empty if it is refused.
CALLS = [
    (PLAIN, f'R.dist.annotate_sharding(x, device_mesh={MESH}, placement="S[0]")', PLAIN),
    (SHARDED, f'R.dist.redistribute(x, device_mesh={MESH}, placement="S[1]")', SHARDED.replace("[0]", "[1]")),
    (SHARDED, f'R.dist.redistribute(x, device_mesh={MESH}, placement="R")', REPLICA),
    (REPLICA, "R.dist.redistribute_replica_to_shard(x, num_workers=2, axis=1)", SHARDED.replace("[0]", "[1]")),
    (PLAIN, "R.dist.redistribute_replica_to_shard(x, num_workers=2, axis=1)", 'R.Tensor((4, 2), "float32")'),
    (SHARDED, f"R.dist.call_tir(cls.k, (x,), out_ty={SHARDED})", SHARDED),
    (SHARDED, f"R.dist.call_tir(cls.two, (x,), out_ty=[{SHARDED}, {REPLICA}])", f"R.Tuple({SHARDED}, {REPLICA})"),
    (SHARDED, f"R.dist.call_tir_local_view(cls.k, (x,), out_ty={SHARDED})", SHARDED),
    (PLAIN, f'R.dist.const(1.0, R.DTensor((), "float32", {MESH}, "R"))', f'R.DTensor((), "float32", {MESH}, "R")'),
    (PLAIN, f'R.dist.const([1.0, -2.5], R.DTensor((2,), "float32", {MESH}, "R"))', f'R.DTensor((2,), "float32", {MESH}, "R")'),
    (PLAIN, "R.ccl.allreduce(x)", PLAIN),
    (SHARDED, "R.ccl.allreduce(x)", REPLICA),
    (SHARDED, "R.add(x, x)", SHARDED),
    (SHARDED, "R.permute_dims(x)", SHARDED.replace("[0]", "[1]")),
    (SHARDED, "R.matmul(x, R.permute_dims(x))", SHARDED.replace("[0]", "[1]")),
    (SHARDED, "R.sum(x, axis=[0], keepdims=True)", REPLICA.replace("(4, 4)", "(1, 4)")),
    (SHARDED, "R.reshape(x, (2, 2, 4))", REPLICA.replace("(4, 4)", "(2, 2, 4)")),
    (SHARDED, "R.argsort(x)", ""),
    (SHARDED, "R.concat((x, x), axis=0)", ""),
    (PLAIN, 'R.ccl.allreduce(x, "avg", False)', PLAIN),
    (PLAIN, "R.ccl.allgather(x, 2)", 'R.Tensor((8, 4), "float32")'),
    (PLAIN, "R.ccl.broadcast_from_worker0(x)", PLAIN),
    (PLAIN, "R.ccl.scatter_from_worker0(x, 2, 1)", 'R.Tensor((4, 2), "float32")'),
    (PLAIN, f'R.dist.redistribute(x, device_mesh={MESH}, placement="S[1]")', ""),
    (SHARDED, f'R.dist.redistribute(x, device_mesh={MESH}, placement="S[2]")', ""),
    (SHARDED, f'R.dist.redistribute(x, device_mesh={MESH}, placement="S[0], R")', ""),
    (SHARDED, f'R.dist.redistribute(x, device_mesh={MESH}, placement="foo")', ""),
    (SHARDED, "R.dist.redistribute_replica_to_shard(x, num_workers=2, axis=1)", ""),
    (REPLICA, "R.dist.redistribute_replica_to_shard(x, num_workers=3, axis=1)", ""),
    (REPLICA, "R.dist.redistribute_replica_to_shard(x, num_workers=0, axis=1)", ""),
    (REPLICA, "R.dist.redistribute_replica_to_shard(x, num_workers=2, axis=2)", ""),
    (SHARDED, f"R.dist.call_tir_local_view(cls.k, (x,), out_ty={PLAIN})", ""),
    (PLAIN, f"R.dist.const(1.0, {PLAIN})", ""),
]  # fmt: skip
each_call = pytest.mark.parametrize(("param", "call", "expected"), CALLS)
each_good_call = pytest.mark.parametrize(("param", "call"), [(x, call) for x, call, type_ in CALLS if type_])


@each_call
def test_type_is_that_of_tvm(param: str, call: str, expected: str, oracle: Oracle) -> None:
    text = TEXT.format(param=param, call=call)
    answer = oracle.types(text)
    assert answer.ok == bool(expected)
    try:
        module = rxe.parse(text)
        problems = [problem for problem in rxe.check(module, profile="tvm") if problem.is_error]
    except rxe.Failure as failure:
        problems = list(failure.diagnostics)
    assert bool(problems) == (not expected)
    assert all(problem.help for problem in problems)
    if expected:
        binding = rxe.normalize(module)["main"].body.blocks[0].bindings[-1]
        ours, theirs = str(binding.var.struct_info), answer.get()[-1].type
        assert type_texts.spelled(ours) == type_texts.spelled(theirs)


@each_good_call
@pytest.mark.parametrize("dialect", ["tvm-0.27", "tvm-0.19"])
def test_prints_as_what_it_was(param: str, call: str, dialect: str) -> None:
    module = rxe.parse(TEXT.format(param=param, call=call))
    text = module.script(dialect=dialect)
    assert rxe.structural_equal(module, rxe.parse(text))
    assert rxe.parse(text).script(dialect=dialect) == text


@each_good_call
def test_tvm_reads_what_we_print(param: str, call: str, oracle: Oracle) -> None:
    text = TEXT.format(param=param, call=call)
    printed = rxe.parse(text).script()
    assert oracle.types(printed).get()[-1] == oracle.types(text).get()[-1]


@pytest.mark.parametrize(
    "call",
    [
        "R.ccl.allreduce(x)",
        "R.ccl.allgather(x, 2)",
        "R.ccl.broadcast_from_worker0(x)",
        "R.ccl.scatter_from_worker0(x, 2)",
        f'R.dist.annotate_sharding(x, device_mesh={MESH}, placement="R")',
        "R.dist.redistribute_replica_to_shard(x, num_workers=2, axis=0)",
        f"R.dist.call_tir(cls.k, (x,), out_ty={SHARDED})",
        f"R.dist.call_tir_local_view(cls.k, (x,), out_ty={SHARDED})",
    ],
)
def test_it_is_said_that_it_does_not_run_here(call: str) -> None:
    module = rxe.parse(TEXT.format(param=PLAIN, call=call))
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(module, "main", [np.ones((4, 4), np.float32)])
    problem = caught.value.diagnostics[0]
    assert problem.code.id == "RX0504"
    assert "several workers" in problem.message
    assert problem.help
