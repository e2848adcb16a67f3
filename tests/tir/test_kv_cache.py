"""Kernels of a paged KV cache from TVM's frontend for language models: read, printed, and run here."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.compiled_kernel import compile_prim_func
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc
from tests.support.oracle import Oracle

DATA = Path(__file__).parents[1] / "data" / "kv_cache"
TARGETS = ("cpu", "cuda")
HEADS, DIM, PAGE = 4, 16, 16


@cache
def module(target: str) -> IRModule:
    return rxe.parse((DATA / f"{target}.py").read_text(encoding="utf-8"))


def kernel(name: str) -> Any:
    fn = module("cpu")[name]
    assert isinstance(fn, PrimFunc)
    return compile_prim_func(fn)


@pytest.mark.parametrize("dialect", ["tvm-0.27", "tvm-0.19"])
@pytest.mark.parametrize("target", TARGETS)
def test_what_is_printed_reads_back(target: str, dialect: str) -> None:
    printed = module(target).script(dialect=dialect)
    again = rxe.parse(printed)
    assert again.script(dialect=dialect) == printed
    assert rxe.structural_equal(module(target), again) or dialect == "tvm-0.19"


@pytest.mark.parametrize("target", TARGETS)
def test_tvm_reads_it_too_and_finds_it_right(target: str, oracle: Oracle) -> None:
    printed = module(target).script()
    assert oracle.well_formed(printed).get().well_formed
    assert [item for item in rxe.check(module(target), profile="tvm") if item.is_error] == []


def test_lengths_of_kernels_are_int32_where_they_say_so() -> None:
    query, *_ = module("cpu")["batch_decode_paged_kv_cpu"].params
    assert str(query.shape[0].dtype) == "int32"


def test_attention_over_pages() -> None:
    rng = np.random.default_rng(0)
    query = rng.standard_normal((2, HEADS, DIM)).astype(np.float16)
    pages = rng.standard_normal((5, 2, HEADS, PAGE, DIM)).astype(np.float16)
    begins, values, last = (
        np.array([0, 2, 3], np.int32),
        np.array([3, 1, 4], np.int32),
        np.array([5, 9], np.int32),
    )
    out, weight = np.zeros_like(query), np.zeros((2, HEADS), np.float32)
    zeros = np.zeros(2, np.int32)
    decode = kernel("batch_decode_paged_kv_cpu")
    decode(query, pages, begins, values, last, zeros, zeros, out, weight, 0, 1.0, 1e4, 0.25)
    for b, own in enumerate(([3, 1], [4])):
        length = (len(own) - 1) * PAGE + last[b]
        keys, vals = (
            np.concatenate([pages[page, part] for page in own], 1)[:, :length].astype(np.float32)
            for part in range(2)
        )
        scores = np.einsum("hd,hkd->hk", query[b].astype(np.float32), keys) * 0.25
        shares = np.exp(scores - scores.max(1, keepdims=True))
        wanted = np.einsum("hk,hkd->hd", shares / shares.sum(1, keepdims=True), vals)
        np.testing.assert_allclose(out[b], wanted, rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(weight[b], np.log2(np.exp(scores).sum(1)), rtol=1e-4)


def test_states_of_attention_are_merged() -> None:
    rng = np.random.default_rng(1)
    values = [rng.standard_normal((3, HEADS, DIM)).astype(np.float16) for _ in range(2)]
    logs = [rng.standard_normal((3, HEADS)).astype(np.float32) for _ in range(2)]
    weights = [np.exp2(log)[..., None] for log in logs]
    wanted = sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)
    total = np.log2(sum(weights))[..., 0]
    kernel("merge_state_inplace_cpu")(values[0], logs[0], values[1], logs[1])
    np.testing.assert_allclose(values[0], wanted, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(logs[0], total, rtol=1e-5)


def test_positions_are_rotated() -> None:
    rng = np.random.default_rng(2)
    both = rng.standard_normal((3, 3 * HEADS, DIM)).astype(np.float16)
    places = np.array([0, 7, 2], np.int32)
    parts = [np.zeros((3, HEADS, DIM), np.float16) for _ in range(3)]
    kernel("fused_rope")(both, places, *parts, 1)
    angle = places[:, None] / 1e4 ** (np.arange(DIM) * 2 % DIM / DIM)
    halves = np.concatenate([-both[..., DIM // 2 :], both[..., : DIM // 2]], -1)
    turned = both * np.cos(angle)[:, None] + halves * np.sin(angle)[:, None]
    wanted = [turned[:, :HEADS], turned[:, HEADS : 2 * HEADS], both[:, 2 * HEADS :]]
    for made, right in zip(parts, wanted, strict=True):
        np.testing.assert_allclose(made, right, rtol=3e-3, atol=3e-3)
