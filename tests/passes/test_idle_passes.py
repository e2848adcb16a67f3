"""A pass that changes nothing returns the same module, walks it a bounded number of times, and builds no node."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import FrameType
from typing import Any

import pytest

import relax_explorer as rxe
from relax_explorer.core import passes as registry
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import all_blocks, bindings, map_blocks, map_sequences
from relax_explorer.core.tir import stmt as t
from tests.perf.generate import transformer

NESTED = """
@R.function(private=True)
def half(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
    n = T.int64()
    y = R.multiply(x, R.const(0.5, "float32"))
    return y

@R.function
def main(x: R.Tensor(("n", 4), "float32"), u: R.Tensor("float32", ndim=2), c: R.Tensor((), "bool")):
    n = T.int64()

    @R.function
    def inner(a: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 4), "float32"):
        with R.dataflow():
            b = R.exp(a)
            d = R.add(b, a)
            R.output(d)
        return d

    k = T.int64()
    v = R.match_cast(u, R.Tensor((k, 4), "float32"))
    pair = (x, v)
    if c:
        p = R.reshape(v, R.shape([k * 2, 2]))
        w = R.reshape(p, R.shape([k, 4]))
        r = half(w)
    else:
        q = R.exp(v)
        r = R.nn.relu(q)
    z = inner(R.zeros(R.shape([2, 4]), "float32"))
    first = pair[0]
    s = R.concat((first, r, z), axis=0)
    return s
"""
TEXTS = {"transformer": transformer(100), "nested": NESTED}

# How often a pass walks the bindings of each program if all facts are known: a loop over them counts once, a walk that asks for
# kinds and then for values of the bindings of a block twice. Most passes need one walk, some none.
_ONE = (1, 1)
_CLEANED = "it cleans up functions with bindings outside dataflow blocks, as TVM does: copies, common subexpressions, unread bindings"
_PATTERNS = dict.fromkeys(
    ("RemoveRedundantReshape", "ExpandMatmulOfSum", "AdjustMatmulOrder", "ReorderPermuteDimsAfterConcat", "ReorderTakeAfterMatmul",
     "OptimizeLayoutTransform", "FoldBatchnormToConv2D"), ((1, 10), _CLEANED),
)  # fmt: skip
_CANONICAL = "bindings are canonical if copies, casts, outputs of blocks and unread bindings are looked at one after the other"
_SIGNATURES = "it looks who calls a function and what of it is read, then drops what became unread"
WALKS: dict[str, tuple[tuple[int, int], str]] = {
    **_PATTERNS,
    "CanonicalizeBindings": ((2, 7), _CANONICAL),
    "ConvertToDataflow": ((7, 16), f"it finds the runs of bindings and the recursive calls, and {_CANONICAL}"),
    "KillAfterLastUse": ((3, 8), _CANONICAL),
    "RemoveUnusedOutputs": ((2, 8), _SIGNATURES),
    "ExpandTupleArguments": ((2, 8), _SIGNATURES),
    "FuseTIR": ((2, 8), _SIGNATURES),
    "ToMixedPrecision": ((2, 1), "it notes readers first, unless one look at the calls finds nothing to do"),
    "TopologicalSort": ((5, 4), "it looks for definitions, readers, and the order of bindings in each block"),
    "LiftTransformParams": ((4, 4), "it finds what only weights lead to, in each function"),
    "BundleModelParams": ((2, 2), "it looks for the calls of functions that take weights"),
    "RealizeVDevice": ((4, 4), "it looks at the StructInfo of bindings, of nested functions, and of the bindings in those"),
    "FoldConstant": ((1, 2), "it drops what became unread"),
    "EliminateShapeChecks": ((0, 4), "it looks for the checks, and for what each of them proves"),
    "CombineParallelMatmul": ((4, 2), "it groups products by operand, and looks where each operand is bound"),
    "FuseTransposeMatmul": ((3, 1), "it matches bindings by their operators, and asks what they lead to"),
    "RunCodegen": ((3, 4), "it asks for impure calls and for unread bindings"),
    "DataflowUseInplaceCalls": ((3, 1), "one walk tells what the block binds, one what is read last, and one looks for nested functions"),
    "LegalizeOps": ((3, 3), "it asks for calls of closures first, and for memory that is written"),
    "LambdaLift": ((2, 2), "it asks for kinds and values of bindings"),
}  # fmt: skip
# Passes that ask the prover about lengths. It names each unknown length by a variable of its own.
PROVERS = ("EliminateShapeChecks", "SimplifyShapes")
NODES = {cls.__module__ for cls in (e.Call, p.PrimVar, p.Add, s.TensorStructInfo, t.PrimFunc)}
ANALYSES = 9  # walks that find the facts which passes share, and which stay known: contents, calls, effects, readers, types


class Counted(tuple[e.Binding, ...]):
    """The bindings of a block. It counts how many of them are read."""

    read = 0

    def __iter__(self) -> Iterator[e.Binding]:
        Counted.read += len(self)
        return super().__iter__()

    def __reversed__(self) -> Iterator[e.Binding]:
        Counted.read += len(self)
        return iter(tuple(super().__iter__())[::-1])

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        Counted.read += len(found) if isinstance(place, slice) else 1
        return found


def counted(module: rxe.IRModule) -> rxe.IRModule:
    """A copy of a module that counts the walks over its bindings, also in branches and nested functions."""

    def sequence(seq: e.SeqExpr) -> e.SeqExpr:
        inner = map_blocks(seq, lambda binding: map_sequences(binding, sequence))
        return replace(
            inner,
            blocks=tuple([replace(block, bindings=Counted(list(block.bindings))) for block in inner.blocks]),
        )

    functions = {
        name: replace(fn, body=sequence(fn.body)) if type(fn) is e.Function else fn
        for name, fn in module.functions.items()
    }
    return module.having(functions)


def walks(name: str, module: rxe.IRModule) -> int:
    """How often a pass walks a module. It must not change it."""
    Counted.read = 0
    new, site = registry.own()[name].apply(module)
    assert new is module
    assert not site.recorded.entries
    read = Counted.read
    return read // sum(
        [len(block.bindings) for fn in module.relax_functions.values() for block in all_blocks(fn)]
    )


def built(work: Callable[[], object]) -> set[type]:
    """The classes of the nodes of programs that some work builds, also of those that it drops again."""
    found = set[type]()

    def notice(frame: FrameType, event: str, _given: object) -> None:
        if event == "call" and frame.f_code.co_name == "__init__":
            found.add(type(frame.f_locals["self"]))

    sys.setprofile(notice)
    try:
        work()
    finally:
        sys.setprofile(None)
    return {cls for cls in found if cls.__module__ in NODES}


@cache
def idle(name: str, text: str) -> rxe.IRModule:
    """A module that a pass does not change: its result, or the result of a later run."""
    module = rxe.normalize(rxe.parse(TEXTS[text]))
    for _ in range(4):
        new, _site = registry.own()[name].apply(module)
        if new is module:
            return module
        module = new
    raise AssertionError(f"{name} never leaves its own result as it is")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", registry.own())
def test_a_pass_that_changes_nothing_returns_the_same_module_after_few_walks(name: str, text: str) -> None:
    module = counted(idle(name, text))
    allowed = WALKS.get(name, (_ONE, ""))[0][list(TEXTS).index(text)]
    assert walks(name, module) <= allowed + ANALYSES
    assert walks(name, module) <= allowed


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", registry.own())
def test_a_pass_that_changes_nothing_builds_no_node(name: str, text: str) -> None:
    module = idle(name, text)
    assert built(lambda: registry.own()[name].apply(module)) <= ({p.PrimVar} if name in PROVERS else set())


def test_every_node_that_is_built_is_noticed() -> None:
    fn = rxe.parse(NESTED).relax_functions["half"]
    first = fn.body.blocks[0].bindings[0]
    assert built(lambda: replace(first, value=e.Tuple(fn.params))) == {type(first), e.Tuple}
    assert built(lambda: list(bindings(fn))) == set()


def test_no_bound_is_out_of_date() -> None:
    assert WALKS.keys() <= registry.own().keys()
    assert all(reason and max(bounds) > 1 for bounds, reason in WALKS.values())


def test_every_walk_is_counted() -> None:
    module = counted(rxe.normalize(rxe.parse(NESTED)))
    fn = module.relax_functions["main"]
    total = len(list(bindings(fn)))
    Counted.read = 0
    assert len(list(bindings(fn))) == total
    assert Counted.read >= total
    for block in all_blocks(fn):
        assert type(block.bindings) is Counted
