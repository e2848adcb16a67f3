"""The first binding where two programs part, whatever the names, the order, and the memory."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.session.bisect import NoNan, SameOutput, WellFormed, first_failing
from relax_explorer.core.session.compare import Trial, Verdict, judged, links_between
from relax_explorer.core.session.difference import Tolerance
from relax_explorer.core.session.judging import Ran
from relax_explorer.core.session.recording import recorded
from relax_explorer.core.session.samples import Sample, samples_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.stages import Stage

KERNEL = """
    @T.prim_func
    def twice(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                A[i] = A[i] * T.float32(2)

    @T.prim_func
    def plus(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                B[i] = A[i] + T.float32(1)
"""


def module(
    body: str, params: str = 'x: R.Tensor((4,), "float32")', more: str = "", pure: bool = True
) -> rxe.IRModule:
    head = "@R.function" if pure else "@R.function(pure=False)"
    lines = "\n".join(f"        {line}" for line in body.strip().split("\n"))
    return rxe.parse(f"@I.ir_module\nclass M:\n{more}\n    {head}\n    def main({params}):\n{lines}\n")


def parted(a: rxe.IRModule, b: rxe.IRModule) -> Verdict:
    """The first verdict that tells two programs apart."""
    found = rxe.compare(a, b).first
    assert found is not None
    return found


def name(a: rxe.IRModule, b: rxe.IRModule) -> str:
    first = parted(a, b).first
    assert first is not None
    side = first.b or first.a
    assert side is not None
    return side.name


CHAIN = "a = R.add(x, x)\nb = R.exp(a)\nc = R.multiply(b, x)\nreturn c"


@pytest.mark.parametrize(
    ("wrong", "binding"),
    [
        (CHAIN.replace("R.exp(a)", "R.tanh(a)"), "b"),
        (CHAIN.replace("R.multiply(b, x)", "R.multiply(b, a)"), "c"),
        (CHAIN.replace("return c", "return b"), "b"),  # no value is wrong, another one is returned
        # other numbers: `b` is what was `a`
        ("b = R.add(x, x)\nc = R.tanh(b)\nd = R.multiply(c, x)\nreturn d", "c"),
        # a value in between that the first program does not have
        (
            'h = R.multiply(x, R.const(3.0, "float32"))\na = R.negative(h)\nb = R.exp(a)\nc = R.multiply(b, x)\nreturn c',
            "a",
        ),
        # through a copy and a tuple
        ("a = R.add(x, x)\nt = (a, x)\nb = R.exp(t[1])\nd = b\nc = R.multiply(d, x)\nreturn c", "b"),
    ],
)
def test_the_first_wrong_binding_is_named(wrong: str, binding: str) -> None:
    assert name(module(CHAIN), module(wrong)) == binding


def test_equal_programs_with_other_names_and_another_order_are_equal() -> None:
    a = module("a = R.exp(x)\nb = R.tanh(x)\nc = R.add(a, b)\nreturn c")
    b = module("p = R.tanh(x)\nq = R.exp(x)\nr = R.add(q, p)\nreturn r")
    found = rxe.compare(a, b, everything=True)
    assert found.equal
    pairs = found.verdicts[0].pairs
    assert [(pair.a and pair.a.name, pair.b and pair.b.name) for pair in pairs] == [
        ("b", "p"),
        ("a", "q"),
        ("c", "r"),
    ]
    assert all(pair.equal for pair in pairs)
    assert "moved" in pairs[0].by or "moved" in pairs[1].by


def test_a_wrong_value_that_nothing_reads_is_no_difference() -> None:
    a = module("a = R.exp(x)\nb = R.tanh(x)\nreturn b")
    assert rxe.compare(a, module("a = R.sin(x)\nb = R.tanh(x)\nreturn b")).equal


INNER = """
    @R.function(private=True)
    def inner(y: R.Tensor((4,), "float32")):
        i = R.exp(y)
        j = R.add(i, y)
        return j
"""


def test_the_wrong_binding_of_another_function_or_branch_is_named() -> None:
    body = "a = R.tanh(x)\nb = M.inner(a)\nc = R.add(b, x)\nreturn c"
    found = parted(module(body, more=INNER), module(body, more=INNER.replace("add", "subtract")))
    assert found.first is not None
    assert found.first.b is not None
    assert (found.first.b.function, found.first.b.name) == ("inner", "j")
    assert [pair.b and pair.b.name for pair in found.operands] == ["i", "a"]
    branches = "if p:\n    t = R.exp(x)\n    r = R.add(t, x)\nelse:\n    u = R.tanh(x)\n    r = R.add(u, x)\nreturn r"
    params = 'x: R.Tensor((4,), "float32"), p: R.Tensor((), "bool")'
    ref = module(branches, params)
    other = module(branches.replace("R.tanh", "R.sin").replace("R.exp", "R.cos"), params)
    assert name(ref, other) in ("t", "u")


def test_inlining_changes_no_value() -> None:
    inner = '    @R.function(private=True)\n    def inner(y: R.Tensor((4,), "float32")):\n        i = R.exp(y)\n        return i\n'
    a = module("b = M.inner(x)\nc = R.add(b, x)\nreturn c", more=inner)
    assert rxe.compare(a, module("b = R.exp(x)\nc = R.add(b, x)\nreturn c")).equal
    assert name(a, module("b = R.tanh(x)\nc = R.add(b, x)\nreturn c")) == "b"


# -- memory -----------------------------------------------------------------------------------------------------------

PLACED = """a = R.add(x, x)
b = R.call_tir_inplace(M.twice, (a,), [0], out_sinfo=R.Tensor((4,), "float32"))
c = R.exp(b)
return c"""


def test_a_value_is_compared_as_it_was_when_it_was_bound() -> None:
    lowered = module(PLACED, more=KERNEL, pure=False)
    plain = module('a = R.add(x, x)\nb = R.multiply(a, R.const(2.0, "float32"))\nc = R.exp(b)\nreturn c')
    found = rxe.compare(plain, lowered, everything=True)
    assert found.equal
    assert [(pair.a and pair.a.name, pair.equal) for pair in found.verdicts[0].pairs] == [
        ("a", True),
        ("b", True),
        ("c", True),
    ]
    run = recorded(lowered, "main", [np.ones(4, np.float32)])
    assert [float(item.value[0]) for item in run.productions[:2]] == [2, 4]
    assert name(plain, module(PLACED.replace("add", "subtract"), more=KERNEL, pure=False)) == "a"


FILLED = """s = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
_ = M.plus(x, s)
t = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
_1 = M.plus(s, t)
y = R.add(s, t)
return y"""


def test_the_call_that_fills_a_tensor_is_named() -> None:
    plain = module(
        'one = R.add(x, R.const(1.0, "float32"))\ntwo = R.add(one, R.const(1.0, "float32"))\ny = R.add(one, two)\nreturn y'
    )
    assert rxe.compare(plain, module(FILLED, more=KERNEL, pure=False)).equal
    found = parted(plain, module(FILLED.replace("M.plus(s, t)", "M.plus(x, t)"), more=KERNEL, pure=False))
    assert found.first is not None
    assert found.first.b is not None
    assert (found.first.b.name, found.first.b.operation) == ("t", "plus")


def test_a_filled_tensor_and_its_name_have_one_counterpart() -> None:
    plain = module('s = R.add(x, R.const(1.0, "float32"))\ny = R.exp(s)\nreturn y')
    alloc = 'R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))'
    filled = module(f"m = {alloc}\n_ = M.plus(x, m)\ns = m\ny = R.exp(s)\nreturn y", more=KERNEL, pure=False)
    pairs = rxe.compare(plain, filled, everything=True).verdicts[0].pairs
    assert [(pair.a and pair.a.name, pair.b and pair.b.name) for pair in pairs] == [
        ("s", "m"),
        ("s", "s"),
        ("y", "y"),
    ]
    assert all(pair.equal for pair in pairs)


def test_an_operand_overwritten_before_it_is_read_is_said() -> None:
    wrong = FILLED.replace("y = R.add", "_2 = M.twice(s)\ny = R.add")
    found = parted(module(FILLED, more=KERNEL, pure=False), module(wrong, more=KERNEL, pure=False))
    assert found.first is not None
    view = FILLED.replace(
        "y = R.add(s, t)", "v = R.memory.view(s, R.shape([4]))\n_2 = M.twice(v)\ny = R.add(s, t)"
    )
    found = parted(module(FILLED, more=KERNEL, pure=False), module(view, more=KERNEL, pure=False))
    assert found.first is not None
    assert found.first.b is not None
    assert (found.first.b.name, found.first.b.stale) == ("y", ("s (by v)",))


def test_overwritten_inputs_and_printed_lines_count() -> None:
    plain = module("y = R.exp(x)\nreturn y")
    writes = module(
        '_ = M.twice(x)\nh = R.multiply(x, R.const(0.5, "float32"))\ny = R.exp(h)\nreturn y',
        more=KERNEL,
        pure=False,
    )
    found = parted(plain, writes)
    assert found.reason == "x (overwritten) differs"
    assert found.first is not None
    assert found.first.b is not None
    assert found.first.b.operation == "twice"
    said = module('y = R.exp(x)\n_ = R.print(y, format="{}")\nreturn y', pure=False)
    assert parted(plain, said).reason == "they print different lines"


# -- stops ------------------------------------------------------------------------------------------------------------


def test_a_stop_on_one_side_is_a_difference() -> None:
    params = 'x: R.Tensor(ndim=1, dtype="float32"), s: R.Shape(["n"])'
    body = 'y = R.match_cast(x, R.Tensor((n,), "float32"))\nz = R.exp(y)\nreturn z'
    good, bad = module(body, params), module(body.replace("(n,)", "(n + 1,)"), params)
    three = (Sample((("n", 3),)),)
    for a, b, side in ((good, bad, "B"), (bad, good, "A")):
        found = rxe.compare(a, b, samples=three).first
        assert found is not None
        assert found.reason == f"only {side} stops"
        assert found.first is not None
        assert (found.first.b or found.first.a).name == "y"  # type: ignore[union-attr]  # a pair has a side
        assert bool(found.stopped[0]) == (side == "A")
    both = rxe.compare(bad, bad, samples=three)
    assert both.equal
    assert not both.ran


def test_a_value_that_is_wrong_before_the_stop_is_named() -> None:
    params = 'x: R.Tensor((4,), "float32"), t: R.Tensor((3, 2), "float32")'
    body = 'a = R.zeros((2,), "int64")\nb = R.take(t, a, axis=0)\nreturn b'
    wrong = body.replace('R.zeros((2,), "int64")', 'R.full((2,), R.const(7, "int64"), "int64")')
    found = parted(module(body, params), module(wrong, params))
    assert found.reason == "only B stops"
    assert found.first is not None
    assert found.first.b is not None
    assert found.first.b.name == "a"


# -- samples and provenance -------------------------------------------------------------------------------------------

SIZED = 'x: R.Tensor(("n", "m"), "float32")'


def test_lengths_are_primes_ones_and_zeros() -> None:
    program = module("y = R.add(x, x)\nreturn y", SIZED)
    chosen = samples_of(program, "main")
    assert [dict(sample.lengths) for sample in chosen] == [
        {"n": 2, "m": 3},
        {"n": 1, "m": 1},
        {"n": 0, "m": 0},
    ]
    assert samples_of(program, "main", 5) == samples_of(program, "main", 5)
    assert all(length for _, length in samples_of(program, "main", 5)[4].lengths)
    assert [dict(sample.lengths) for sample in samples_of(program, "main", 2, {}, {"n": 9})] == [
        {"n": 9, "m": 2},
        {"n": 9, "m": 1},
    ]
    values = chosen[0].values(program["main"])  # type: ignore[arg-type]  # a function
    assert values[0].shape == (2, 3)
    assert len(samples_of(module(CHAIN), "main")) == 1


def test_a_mistake_that_only_other_lengths_show() -> None:
    a, b = (
        module("y = R.sum(x, axis=0)\nreturn y", SIZED),
        module("y = R.sum(x, axis=[0], keepdims=False)\nreturn y", SIZED),
    )
    assert rxe.compare(a, b).equal
    late = module("z = R.max(x)\ny = R.add(x, z)\nreturn y", SIZED)
    found = rxe.compare(late, module("z = R.mean(x)\ny = R.add(x, z)\nreturn y", SIZED))
    assert [verdict.equal for verdict in found.verdicts] == [False, True, True]


def test_provenance_pairs_what_has_another_name() -> None:
    session = Session(module(CHAIN), "LegalizeOps")
    session.run_all()
    before, after = (stage.module for stage in session.stages)
    links = links_between(session.stages, 0, 1)
    assert len(links) == 3
    found = rxe.compare(before, after, links=links, everything=True)
    assert found.equal
    assert {pair.by for pair in found.verdicts[0].pairs} == {"provenance, equal value"}


@pytest.mark.parametrize("wrong", ["R.tanh(v999)", "R.add(v999, v2)"])
def test_one_of_many_values(wrong: str) -> None:
    chain = ["v0 = R.add(x, x)"]  # sin(4 v) forgets nothing
    for n in range(1, 2000):
        chain.append(f"v{n} = R.add(v{n - 1}, v{n - 1})" if n % 3 else f"v{n} = R.sin(v{n - 1})")
    a = module("\n".join([*chain, "return v1999"]))
    chain[1000] = f"v1000 = {wrong}"
    assert name(a, module("\n".join([*chain, "return v1999"]))) == "v1000"


def test_values_that_all_occur_elsewhere() -> None:
    chain = ["v0 = R.add(x, x)", *[f"v{n} = R.add(v{n - 1}, x)" for n in range(1, 10)], "return v9"]
    a = module("\n".join(chain))
    chain[5] = "v5 = R.subtract(v4, x)"
    assert name(a, module("\n".join(chain))) == "v5"


def test_values_beyond_the_memory_limit_are_no_difference() -> None:
    x = [np.ones(4, np.float32)]
    both = [module(text) for text in (CHAIN, CHAIN.replace("R.exp", "R.tanh"))]
    runs = [recorded(item, "main", x, most=16) for item in both]
    assert [run.unkept for run in runs] == [2, 2]
    stages = [Stage(n, "", item) for n, item in enumerate(both)]
    a, b = [Ran(item, "main", x, run) for item, run in zip(both, runs, strict=True)]
    found, _ = judged(Trial(*stages, "main", Sample(), everything=True), (a, b))
    assert found.reason == "out0 differs"
    assert [pair.by for pair in found.pairs] == ["name, equal value", "not kept", "not kept"]
    assert found.first is None or found.first.by == "result"
    assert found.unkept == 4


# -- executors --------------------------------------------------------------------------------------------------------


class Sending(Executor):
    """Sends work and results as another process would, one after the other."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        work, values = ForkingPickler.loads(ForkingPickler.dumps((fn, args)))
        future.set_result(ForkingPickler.loads(ForkingPickler.dumps(work(*values))))
        return future


@pytest.fixture(params=["sent", "threads"])
def executor(request: pytest.FixtureRequest) -> Executor:
    return Sending() if request.param == "sent" else ThreadPoolExecutor(2)


@pytest.fixture
def stages() -> list[Stage]:
    right, wrong = (module(text).script() for text in (CHAIN, CHAIN.replace("R.exp", "R.tanh")))
    return [Stage(0, "one", right), Stage(1, "two", right), Stage(2, "three", wrong), Stage(3, "four", right)]


def test_executors_give_the_same_answers(executor: Executor, stages: list[Stage]) -> None:
    assert rxe.compare(*stages[1:3], executor=executor) == rxe.compare(*stages[1:3])
    rows = rxe.validate(stages, executor=executor)
    assert rows == rxe.validate(stages)
    assert [row.equal for row in rows] == [True, False, True]
    for test in (SameOutput(stages[0], "main"), NoNan(stages[0], "main", (Sample(),)), WellFormed()):
        assert first_failing(stages, test, executor) == first_failing(stages, test)
    assert rxe.bisect(stages, executor=executor) == rxe.bisect(stages)
    session = Session(stages[0].module, "default")
    session.run_all()
    exact = SameOutput(stages[0], "main", tolerance=Tolerance(0, 0))
    assert rxe.bisect(session, exact, executor=executor).left_out == rxe.bisect(session, exact).left_out


def test_a_cluster_of_dask_gives_the_same_answers(stages: list[Stage]) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra `distributed` is not installed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor(pure=False)
        assert rxe.compare(*stages[1:3], executor=executor) == rxe.compare(*stages[1:3])
        assert rxe.validate(stages, executor=executor) == rxe.validate(stages)
        assert rxe.bisect(stages, executor=executor) == rxe.bisect(stages)


def test_the_order_of_dumped_stages_survives_sending(tmp_path: Path) -> None:
    stage = Stage(3, "FuseOps", module(CHAIN), str(tmp_path))
    again = ForkingPickler.loads(ForkingPickler.dumps(stage))
    assert (again.number, again.made_by, again.file) == (3, "FuseOps", str(tmp_path))
    assert rxe.structural_equal(rxe.normalize(again.module), rxe.normalize(stage.module))
