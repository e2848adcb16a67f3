"""Straight lines of calls run without checks of each, and give what each call gives by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import known_call, trace
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.known_call import Step
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.plan import plan
from relax_explorer.core.exec.trace_blocks import Blocks
from relax_explorer.core.exec.trace_rows import Rows
from relax_explorer.core.exec.values import Shape

F = np.float32
VECTORS = 'x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")'
CHAIN = "a = R.add(x, y)\nb = R.multiply(a, y)\nc = R.subtract(b, x)\nd = R.maximum(c, a)\nreturn d"


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of instructions in the traces that ran."""
    found: list[int] = []
    run = trace.Trace.run

    def watched(self: Any, machine: Any, frame: Any) -> bool:
        before = frame.pc
        done = run(self, machine, frame)
        found.extend([frame.pc - before] if done else [])
        return done

    monkeypatch.setattr(trace.Trace, "run", watched)
    return found


def program(body: str, params: str = VECTORS, before: str = "") -> rxe.IRModule:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    text = f"@I.ir_module\nclass Module:\n{before}\n    @R.function\n    def main({params}):\n{lines}\n"
    return rxe.normalize(rxe.parse(text))


def stepped(module: rxe.IRModule, *args: object) -> Any:
    """The result of a run that records each step, with all checks."""
    machine = Machine(module, "main", args, record=True)
    while machine.frames:
        machine.step()
    return machine.result


def same(one: Any, two: Any) -> bool:
    if isinstance(one, tuple):
        return len(one) == len(two) and all(same(a, b) for a, b in zip(one, two, strict=True))
    if not isinstance(one, np.ndarray):
        return type(one) is type(two) and one == two
    return type(two) is np.ndarray and one.dtype == two.dtype and np.array_equal(one, two, equal_nan=True)


def runs(module: rxe.IRModule, *args: object) -> Any:
    """The result of the sixth run; from the fourth on, rows run. All must give what a stepped run gives."""
    expected = stepped(module, *args)
    for _ in range(6):
        result = rxe.run(module, "main", args)
        assert same(result, expected)
    return result


def refused(module: rxe.IRModule, *args: object) -> tuple[str, int]:
    """The code and the line of the problem that stops a run."""
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(module, "main", args)
    problem = caught.value.diagnostics[0]
    return problem.code.id, problem.span.line if problem.span else 0


VALUES = np.array([1, -2, np.nan, 4], F)


@pytest.mark.parametrize(
    ("body", "instructions"),
    [
        (CHAIN, 4),
        ("a = R.add(x, y)\nt = (a, (x, a))\nu = t[1]\nb = R.exp(u[1])\nc = R.multiply(b, t[0])\nd = R.add(c, y)\nreturn (d, t)", 9),
        ("a = R.add(x, y)\nt = ((x, a), a)\nu = t[0]\nb = R.exp(u[1])\nc = R.add(b, t[1])\nd = R.add(c, u[0])\nreturn (d, t)", 8),
        ("a = R.add(x, y)\nb = a\nc = R.add(b, a)\ns = R.sum(c)\nd = R.add(s, R.const(2.5))\nreturn (d, s)", 5),
        ("a = R.add(x, y)\nb = R.add(a, y)\nc = R.zeros(R.shape([n]), 'float32')\nd = R.add(c, b)\nreturn d", 5),
        ("a = R.split(x, 2)\nb = R.add(x, y)\nc = R.add(b, y)\nd = R.add(c, c)\nf = R.exp(d)\nreturn (f, a[0])", 5),
        ("a = R.split(x, [1, 3])\nb = R.exp(a[1])\nt = (a, b)\nu = t[0]\nc = R.concat((u[2], b))\nd = R.add(c, c)\nreturn (d, u, a[0])", 9),
        ("a = R.reshape(x, R.shape([n, 1]))\nb = R.permute_dims(a)\nc = R.add(b, a)\nd = R.mean(c, axis=[0])\nreturn d", 4),
        ("a = R.add(x, x)\nb = R.add(a, y)\nc = R.add(b, y)\np = R.prim_value(n)\nd = R.add(c, c)\nreturn (d, p)", 5),
    ],
    ids=["chain", "tuples", "tuples first", "rank 0", "shapes", "a call of two tensors", "a call of three tensors", "views", "scalars"],
)  # fmt: skip
def test_a_trace_gives_the_values_of_its_calls(body: str, instructions: int, lengths: list[int]) -> None:
    module = program(body)
    runs(module, VALUES, np.array([2, 3, 5, -7], F))
    assert max(lengths) >= instructions


def test_other_operands_are_checked_again(lengths: list[int]) -> None:
    module = program(CHAIN, "x: R.Tensor(ndim=1), y: R.Tensor(ndim=1)")
    three, two = np.arange(3, dtype=F), np.arange(2, dtype=F)
    runs(module, three, three)
    assert refused(module, three, two)[0] == "RX0507"
    assert refused(module, three, three.astype("int32"))[0] == "RX0519"
    del lengths[:]
    assert runs(module, two, two).tolist() == [0, 2]
    assert lengths, "after a run with other lengths there is a trace of its own"
    assert runs(module, three.astype("int64"), three.astype("int64")).dtype == "int64"
    assert runs(module, three, three[:1]).shape == (3,)


def test_other_values_of_shape_variables_are_other_results(lengths: list[int]) -> None:
    body = "a = R.zeros(R.shape([n]), 'float32')\nb = R.full(R.shape([2]), R.const(1.0), 'float32')\nc = R.add(b, b)\n"
    module = program(
        body + "d = R.add(c, c)\ne = R.sum(a)\nf = R.add(d, e)\nreturn (f, a)", 's: R.Shape(["n"])'
    )
    for n in (3, 4, 4, 4, 0, 3):
        assert rxe.run(module, "main", [Shape((n,))])[1].shape == (n,)
    assert lengths


KERNEL = """
    @T.prim_func
    def kernel(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                v = T.axis.spatial(T.int64(4), i)
                B[v] = A[v] {op}
"""
FILL = """
    @T.prim_func
    def fill(out: T.handle, n: T.int64):
        B = T.match_buffer(out, (n,), "float32")
        for i in range(n):
            with T.sblock("b"):
                v = T.axis.spatial(n, i)
                B[v] = T.float32(1)
"""


def test_a_kernel_gets_the_lengths_of_its_run(lengths: list[int]) -> None:
    calls = "".join(
        f'{name} = R.call_tir(Module.fill, (), R.Tensor((n,), "float32"), tir_vars=R.shape([n]))\n'
        for name in "abcd"
    )
    module = program(
        f"p = R.add(x, x)\n{calls}return (a, d, p)", 'x: R.Tensor((2,), "float32"), s: R.Shape(["n"])', FILL
    )
    for n in (3, 3, 4, 4, 4, 3):
        a, d, _ = rxe.run(module, "main", [np.ones(2, F), Shape((n,))])
        assert a.tolist() == d.tolist() == [1] * n
    assert lengths == [14, 14, 14]


def test_a_shape_that_fails_stops_no_call_before_it() -> None:
    body = "a = R.add(x, x)\nb = R.floor_divide(a, y)\nc = R.add(b, b)\nd = R.add(c, c)\ne = R.zeros(R.shape([6 // n]), 'int32')\nreturn (d, e)"
    module = program(body, 'x: R.Tensor((2,), "int32"), y: R.Tensor((2,), "int32"), s: R.Shape(["n"])')
    one = np.ones(2, "int32")
    runs(module, one, one, Shape((6,)))
    assert refused(module, one, one, Shape((0,))) == ("RX0509", 10)
    assert refused(module, one, one * 0, Shape((0,))) == ("RX0509", 7)


def test_values_go_after_their_last_read(monkeypatch: pytest.MonkeyPatch) -> None:
    module = program(
        "\n".join([f"v{n} = R.add({f'v{n - 1}' if n else 'x'}, y)" for n in range(20)]) + "\nreturn v19"
    )
    monkeypatch.setattr(trace, "RUNS_BEFORE", -1)  # no rows
    runs(module, VALUES, VALUES)
    kept, do = [], Step.run

    def counting(step: Any, registers: Any, interrupt: Any) -> bool:
        kept.append(sum([type(value) is np.ndarray for value in registers]))
        return do(step, registers, interrupt)

    monkeypatch.setattr(Step, "run", counting)
    rxe.run(module, "main", [VALUES, VALUES])
    assert len(kept) == 20
    assert max(kept) == min(kept[1:])


def test_large_values_are_left_to_blocks_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_call, "LARGE", 3)
    apart = "a = R.add(x, y)\ns = R.sum(a)\nb = R.add(s, x)\nt = R.sum(b)\nc = R.add(t, y)\nreturn c"
    found: list[tuple[str, int]] = []
    for kind in (Rows, Blocks):
        run = kind.run
        monkeypatch.setattr(
            kind,
            "run",
            lambda *of, run=run: (found.append((type(of[0]).__name__, of[0].length)), run(*of))[1],
        )
    runs(program(apart), VALUES, VALUES)
    assert not found
    runs(program(CHAIN), VALUES, VALUES)
    assert set(found) == {("Blocks", 4)}


def test_a_value_that_was_killed_is_not_read(lengths: list[int]) -> None:
    body = "a = R.add(x, y)\nif k:\n    _ = R.memory.kill_tensor(a)\n    i = x\nelse:\n    i = y\n"
    body += "b = R.add(a, i)\nc = R.add(b, y)\nd = R.add(c, b)\ne = R.add(d, b)\nreturn e"
    module = program(body, VECTORS + ', k: R.Tensor((), "bool")')
    runs(module, VALUES, VALUES, np.array(False))
    assert not lengths, "a killed value can be told from a live one"
    for _ in range(2):
        assert refused(module, VALUES, VALUES, np.array(True)) == ("RX0517", 12)


def test_a_kernel_never_gets_a_value_of_another_length(lengths: list[int]) -> None:
    body = "a = R.add(x, x)\nb = R.add(a, x)\nu = R.unique(b)\n"
    body += (
        'f = R.astype(u, "float32")\nd = R.call_tir(Module.kernel, (f,), R.Tensor((4,), "float32"))\nreturn d'
    )
    module = program(body, 'x: R.Tensor((4,), "int32")', KERNEL.format(op="+ T.float32(1)"))
    assert runs(module, np.array([4, 2, 3, 1], "int32")).tolist() == [4, 7, 10, 13]
    assert lengths[-1] == 6
    assert refused(module, np.array([4, 2, 3, 3], "int32"))[0] == "RX0507"


def test_a_call_that_fails_says_so_at_its_line(lengths: list[int]) -> None:
    params = 'x: R.Tensor((4,), "int32"), y: R.Tensor((4,), "int32")'
    module = program(
        "a = R.add(x, x)\nb = R.add(a, x)\nc = R.add(b, x)\nd = R.floor_divide(c, y)\ne = R.add(d, d)\nf = R.add(e, d)\nreturn f",
        params,
    )
    good, zero = np.array([1, 2, 3, 4], "int32"), np.array([1, 0, 1, 1], "int32")
    runs(module, good, good)
    assert refused(module, good, zero) == ("RX0509", 9)
    assert lengths[-1] == 3
    assert refused(module, good, zero) == ("RX0509", 9)
    assert runs(module, good, good).tolist() == [12, 12, 12, 12]


def test_a_call_that_failed_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    params = 'x: R.Tensor(("n",), "int32"), y: R.Tensor(("n",), "int32")'
    chain = "\n".join([f"v{n} = R.add({f'v{n - 1}' if n else 'x'}, x)" for n in range(8)])
    module = program(f"{chain}\nd = R.floor_divide(v7, y)\nreturn d", params)
    good, zero = np.array([1, 2, 3, 4], "int32"), np.array([1, 0, 1, 1], "int32")
    monkeypatch.setattr(trace, "RUNS_BEFORE", -1)  # no rows
    runs(module, good, good)
    outcomes, do = [], Step.run

    def watched(step: Any, registers: Any, interrupt: Any) -> bool:
        outcomes.append(do(step, registers, interrupt))
        return outcomes[-1]

    monkeypatch.setattr(Step, "run", watched)
    for _ in range(3):
        assert refused(module, good, zero)[0] == "RX0509"
    assert outcomes == [True] * 8 + [False] + [True] * 16
    del outcomes[:]
    assert runs(module, good[:2], good[:2]).tolist() == [9, 9]
    assert outcomes == [True] * (7 + 5 * 8), "nor by a new trace for other lengths"


def cut_chain(monkeypatch: pytest.MonkeyPatch) -> rxe.IRModule:
    """30 additions and a tuple. Stretches have at most 8 instructions at first, and then 24."""
    monkeypatch.setattr(trace, "MOST", 8)
    monkeypatch.setattr(trace, "LONGEST", 24)
    chain = [f"v{n} = R.add({f'v{n - 1}' if n else 'x'}, y)" for n in range(30)]
    return program("\n".join([*chain, "return (v29, v7, v8)"]))


def test_a_trace_that_ran_to_its_end_takes_in_what_follows(
    lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = cut_chain(monkeypatch)
    expected = stepped(module, VALUES, VALUES)
    for _ in range(8):
        assert same(rxe.run(module, "main", [VALUES, VALUES]), expected)
    assert lengths[:3] == [8, 8, 8], "the first run checks each call; it makes no trace"
    assert lengths[-2:] == [24, 7], "with the tuple"


def test_a_call_that_fails_beyond_the_first_cut_is_named(
    lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "MOST", 8)
    params = 'x: R.Tensor(("n",), "int32"), y: R.Tensor(("n",), "int32")'
    chain = [f"v{n} = R.add({f'v{n - 1}' if n else 'x'}, x)" for n in range(20)]
    module = program("\n".join([*chain, "d = R.floor_divide(v19, y)\ne = R.add(d, x)\nreturn e"]), params)
    good, zero = np.array([1, 2, 3, 4], "int32"), np.array([1, 0, 1, 1], "int32")
    runs(module, good, good)
    assert max(lengths) == 22
    failed = refused(module, good, zero)
    assert failed[0] == "RX0509"
    del lengths[:]
    assert runs(module, good, good).tolist() == [22, 23, 24, 25]
    assert max(lengths) == 20, "the call that failed keeps its checks"


def test_a_length_that_depends_on_elements_ends_the_trace_once(lengths: list[int]) -> None:
    body = "a = R.add(x, x)\nb = R.add(a, x)\nc = R.add(b, x)\nu = R.unique(c)\n"
    after = "d = R.add(b, c)\ne = R.add(d, d)\nf = R.add(e, d)\ng = R.add(f, f)\nreturn (u, g)"
    module = program(body + after, 'x: R.Tensor((4,), "int32")')
    for values in ([1, 1, 2, 3], [1, 1, 1, 1], [4, 3, 2, 1], [0, 0, 1, 1]):
        given = np.array(values, "int32")
        result = rxe.run(module, "main", [given])
        assert result[0].tolist() == sorted({4 * v for v in values})
        assert result[1].tolist() == [42 * v for v in values]


CALLS = "".join(
    f'{name} = R.call_tir(Module.kernel, ({of},), R.Tensor((4,), "float32"))\n'
    for name, of in ("ax", "ba", "cb", "dc")
)


def test_kernels_of_this_module_are_called(lengths: list[int]) -> None:
    plus = program(CALLS + "return d", 'x: R.Tensor((4,), "float32")', KERNEL.format(op="+ T.float32(1)"))
    other = program("return x", VECTORS, KERNEL.format(op="* T.float32(2)"))
    twice = plus.having({**plus.functions, "kernel": other["kernel"]})
    given = np.ones(4, F)
    assert runs(plus, given).tolist() == [5] * 4
    assert lengths[-1] == 7, "four kernels and three tuples between them"
    assert runs(twice, given).tolist() == [16] * 4
    assert runs(plus, given[::-1]).tolist() == [5] * 4
    assert runs(plus, np.ones(8, F)[::2]).tolist() == [5] * 4


def test_a_cancelled_run_stops_inside_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    module, given = program(CHAIN), [np.ones(3, F), np.ones(3, F)]
    monkeypatch.setattr(trace, "RUNS_BEFORE", -1)  # no rows
    runs(module, *given)
    interrupt, done = Interrupt(), []
    do = Step.run

    def cancelling(step: Any, registers: Any, interrupt: Interrupt) -> bool:
        done.append(step.at.node.op.name)
        if len(done) == 2:
            interrupt.cancel()
        return do(step, registers, interrupt)

    monkeypatch.setattr(Step, "run", cancelling)
    with pytest.raises(Cancelled):
        Machine(module, "main", given, interrupt=interrupt).run()
    assert done == ["relax.add", "relax.multiply"]


def test_programs_that_overwrite_arrays_have_no_trace(lengths: list[int]) -> None:
    module = program(
        CHAIN.replace("return d", '_ = R.call_packed("vm.builtin.copy", d, sinfo_args=R.Tensor)\nreturn d')
    )
    rxe.run(module, "main", [VALUES, VALUES])
    rxe.run(module, "main", [VALUES, VALUES])
    assert bool(lengths) is not Machine(module, "main", [VALUES, VALUES]).is_mutable


def test_values_that_are_read_later_stay_and_others_go() -> None:
    module = program(
        "a = R.add(x, y)\nb = R.add(a, y)\nc = R.add(b, y)\nd = R.add(c, a)\ne = R.add(d, x)\nreturn (e, b)"
    )
    assert [item.tolist() for item in runs(module, np.ones(2, F), np.ones(2, F))] == [[7, 7], [3, 3]]


def test_a_function_that_calls_itself_has_one_trace(lengths: list[int]) -> None:
    before = """
    @R.function
    def down(k: R.Tensor((), "int32"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        more = R.greater(k, R.const(0, "int32"))
        if more:
            a = R.add(x, x)
            b = R.subtract(a, x)
            c = R.add(b, R.const(1.0))
            j = R.subtract(k, R.const(1, "int32"))
            r = Module.down(j, c)
        else:
            r = x
        return r
"""
    module = program(
        "y = Module.down(k, x)\nreturn y", 'k: R.Tensor((), "int32"), x: R.Tensor((2,), "float32")', before
    )
    assert runs(module, np.array(5, "int32"), np.zeros(2, F)).tolist() == [5, 5]
    assert 4 in lengths


def test_a_program_that_is_only_parsed_runs_again() -> None:
    """The shapes and scalars in its calls have no StructInfo yet."""
    folder = Path(__file__).parent.parent / "data" / "corpus" / "llama"
    module = rxe.parse((folder / "02_AnnotateTIROpPattern.py").read_text(encoding="utf-8"))
    with np.load(folder / "io.npz") as saved:
        given = [saved[name] for name in saved.files if name.startswith("in")]
        wanted = saved["out0"]
    for _ in range(3):
        result = Machine(module, next(iter(module.relax_functions)), given).run()
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_tensors_of_a_call_are_new_in_each_run() -> None:
    module = program(
        "a = R.split(x, 2)\nb = R.exp(a[0])\nc = R.add(b, b)\nd = R.add(c, c)\nreturn (a, d)", VECTORS
    )
    x = np.arange(4, dtype=F)
    results = [rxe.run(module, "main", [x, x])[0] for _ in range(4)]
    x[:] = 9
    for one, two in results:
        assert (one.tolist(), two.tolist()) == ([0, 1], [2, 3])
        one[:] = two[:] = 7


@pytest.mark.parametrize(
    ("grown", "calls"),
    [("R.concat(({1}, d{0}))", 4), ("R.broadcast_to(R.sum(d{0}), R.shape([p]))", 5)],
    ids=["a tuple", "a shape"],
)
def test_a_length_that_grows_takes_no_trace_from_what_does_not_depend_on_it(
    grown: str, calls: int, lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What prepares the call of `grown` is of another type in each run; the calls before that are not."""
    params = (
        'x: R.Tensor((4,), "float32"), past: R.Tensor(("p",), "float32"), more: R.Tensor(("p",), "float32")'
    )
    part = "a{0} = R.add({1}, x)\nb{0} = R.multiply(a{0}, x)\nc{0} = R.subtract(b{0}, x)\nd{0} = R.maximum(c{0}, x)\n"
    first, second = (
        f"{part.format(n, value)}s{n} = R.sum({grown.format(n, past)})"
        for n, value, past in ((0, "x", "past"), (1, "s0", "more"))
    )
    module = program(f"{first}\n{second}\nreturn (s0, s1)", params)
    builds, build = [], trace._Builder.build
    monkeypatch.setattr(
        trace._Builder, "build", lambda self, most: (builds.append(most), build(self, most))[1]
    )
    made: list[trace.Trace] = []
    for run, count in enumerate([1, 2, 3, 4, 5, 6, 2, 6, 2]):
        given, before = [np.ones(4, F), np.ones(count, F), np.ones(count, F)], made
        del lengths[:], builds[:]
        assert same(rxe.run(module, "main", given), stepped(module, *given))
        made = [at.trace for at in plan(module.relax_functions["main"], "main").code if at.trace]
        if run > 1:
            assert lengths == [calls, calls]
            assert builds == []
            assert made == before, "the traces of the run before"
