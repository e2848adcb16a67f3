"""Stages that run equal programs are run once, and runs share arguments that nobody overwrote."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.check.call_graph import mentioned, mentioned_packed
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.exec import builtins
from relax_explorer.core.exec.compiled_kernel import compile_prim_func
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.session.bisect import SameOutput
from relax_explorer.core.session.counterparts import _Labels
from relax_explorer.core.session.difference import BY_DTYPE, median, same_bits
from relax_explorer.core.session.judging import Judge, Ran
from relax_explorer.core.session.recording import Arguments, Recording, finished, finished_on, machine_factory
from relax_explorer.core.session.samples import Sample, SampleRun
from relax_explorer.core.session.shadows import Shadows
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.session.validate import validate

KERNELS = """
@T.prim_func(private=True)
def plus(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
    T.func_attr({"op_pattern": 0})
    for i in range(4):
        y[i] = x[i] + T.float32(1)
"""
MARKED = """
@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    cls = Module
    with R.dataflow():
        a = R.call_tir(cls.plus, (x,), out_sinfo=R.Tensor((4,), "float32"))
        b = R.add(a, x)
        R.output(b)
    return b
"""
PLAIN = (
    MARKED.replace("    with R.dataflow():\n", "")
    .replace("        R.output(b)\n", "")
    .replace("        ", "    ")
)
FORCED = PLAIN.replace("    cls", '    R.func_attr({"relax.force_pure": True})\n    cls')


def module(main: str, kernels: str = KERNELS) -> rxe.IRModule:
    body = "".join(f"    {line}\n" for line in (kernels + main).strip().split("\n"))
    return rxe.parse(f"@I.ir_module\nclass Module:\n{body}")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The modules that ran."""
    found: list[object] = []
    run = SampleRun.finished

    def counted(self: SampleRun, stage: rxe.IRModule, *others: object) -> Recording:
        found.append(stage)
        return run(self, stage, *others)

    monkeypatch.setattr(SampleRun, "finished", counted)
    return found


SWAPPED = KERNELS.replace("T.float32(1)", "T.float32(2)")
ARGUMENT = KERNELS.replace('"op_pattern": 0', '"op_pattern": 2')


@pytest.mark.parametrize(
    ("after", "times"),
    [
        (module(MARKED), 1),
        (module(MARKED, ARGUMENT), 1),
        (module(PLAIN), 1),
        (module(FORCED, ARGUMENT), 1),
        (module(PLAIN, SWAPPED), 2),
        (module(MARKED.replace("R.add(a, x)", "R.add(x, a)")), 2),
        (module(PLAIN.replace("R.add(a, x)", "R.add(a, a)")), 2),
        (
            module(
                PLAIN.replace("cls.plus, (x,)", "cls.plus, (x,)").replace(
                    "    b = ", "    c = R.add(a, x)\n    b = "
                )
            ),
            2,
        ),
    ],
)
def test_stages_that_differ_in_marks_and_attributes_only_run_once(
    runs: list[object], after: rxe.IRModule, times: int
) -> None:
    validate([module(MARKED), after])
    assert len(runs) == times


def test_marks_that_are_new_are_run(runs: list[object]) -> None:
    validate([module(PLAIN), module(MARKED)])
    assert len(runs) == 2


def ending_early() -> rxe.IRModule:
    """The marked program, with a block that ends before its variable is read. No text says this, but a pass may."""
    given = module(MARKED)
    fn = given["main"]
    assert type(fn) is e.Function
    (block,) = fn.body.blocks
    early, late = block.bindings[:1], block.bindings[1:]
    blocks = replace(block, bindings=early), e.BindingBlock(late)
    return given.having({**given.functions, "main": replace(fn, body=replace(fn.body, blocks=blocks))})


def inside_only() -> rxe.IRModule:
    """The program that gives `a`, which now ends with its block."""
    given = module(BOTH)
    fn = given["main"]
    assert type(fn) is e.Function
    (block,) = fn.body.blocks
    a, b = block.bindings
    assert type(b) is e.VarBinding
    assert type(b.value) is e.Call
    ends = e.DataflowVar("a", a.var.struct_info)
    second = replace(b, value=replace(b.value, args=(ends, b.value.args[1])))
    blocks = (replace(block, bindings=(replace(a, var=ends), second)),)
    body = replace(fn.body, blocks=blocks, body=ends)
    return given.having({**given.functions, "main": replace(fn, body=body)})


BOTH = MARKED.replace("R.output(b)", "R.output(a, b)").replace("return b", "return a")


@pytest.mark.parametrize(
    ("before", "after"), [(module(MARKED), ending_early()), (module(BOTH), inside_only())]
)
def test_a_variable_that_ends_earlier_is_run(
    runs: list[object], before: rxe.IRModule, after: rxe.IRModule
) -> None:
    validate([before, after])
    assert len(runs) == 2


def test_a_stage_without_the_marks_of_one_that_stops_is_run(runs: list[object]) -> None:
    stops = MARKED.replace(
        "R.add(a, x)", 'R.call_pure_packed("nobody.knows", a, sinfo_args=(R.Tensor((4,), "float32"),))'
    )
    plain = (
        stops.replace("    with R.dataflow():\n", "")
        .replace("        R.output(b)\n", "")
        .replace("        ", "    ")
    )
    validate([module(stops), module(plain)])
    assert len(runs) == 2


SYMBOLS = """
@T.prim_func
def one(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
    T.func_attr({"global_symbol": "FIRST"})
    for i in range(4):
        y[i] = x[i] + T.float32(1)

@T.prim_func
def two(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
    T.func_attr({"global_symbol": "SECOND"})
    for i in range(4):
        y[i] = x[i] + T.float32(2)
"""
BY_SYMBOL = """
@R.function(pure=False)
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y: R.Tensor((4,), "float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
    z: R.Tensor((4,), "float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
    _: R.Tuple = R.call_packed("k1", x, y, sinfo_args=(R.Tuple,))
    _1: R.Tuple = R.call_packed("k2", x, z, sinfo_args=(R.Tuple,))
    return y
"""


def test_symbols_that_name_other_kernels_are_run(runs: list[object]) -> None:
    first = module(BY_SYMBOL, SYMBOLS.replace("FIRST", "k1").replace("SECOND", "k2"))
    rows = validate([first, module(BY_SYMBOL, SYMBOLS.replace("FIRST", "k2").replace("SECOND", "k1"))])
    assert len(runs) == 2
    assert not rows[0].equal


# -- arguments ---------------------------------------------------------------------------------------------------------

DOUBLED = "@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    y = R.add(x, x)\n    return y"
SAME = "@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    y = x\n    return y"
INSIDE = "@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    y = R.add(x, x)\n    return (y, (x, y))"
WRITES = module(
    """
@R.function(pure=False)
def main(x: R.Tensor((4,), "float32")) -> R.Tuple:
    cls = Module
    _: R.Tuple = cls.plus(x, x)
    return R.tuple()
"""
)
X = np.arange(4, dtype=np.float32)


@pytest.mark.parametrize(("text", "shares"), [(DOUBLED, True), (SAME, False), (INSIDE, False)])
def test_copies_serve_the_next_run_unless_the_result_holds_them(text: str, shares: bool) -> None:
    given = Arguments((X.copy(),))
    run = finished(rxe.parse(text), "main", given)
    assert run.inputs[0] is given.given[0]
    first = given._spare
    assert (first is not None) is shares
    assert given.copies()[0] is not given.given[0]
    assert given._spare is None  # they belong to one run at a time


def test_overwritten_copies_serve_no_other_run() -> None:
    given = Arguments((X.copy(),))
    for _ in range(2):
        run = finished(WRITES, "main", given)
        assert run.failure is None, run.failure
        assert run.inputs[0].tolist() == [1, 2, 3, 4]
        assert given._spare is None
    assert given.given[0].tolist() == [0, 1, 2, 3]


def test_one_array_that_is_given_twice_stays_two_arguments() -> None:
    text = "@R.function\ndef main(x: R.Tensor((4,), 'float32'), y: R.Tensor((4,), 'float32')):\n    z = R.add(x, y)\n    return z"
    given = Arguments((X, X))
    one, two = (finished(rxe.parse(text), "main", given) for _ in range(2))
    assert same_bits(one.result, two.result)
    copies = given.copies()
    assert copies[0] is not copies[1]


@pytest.mark.parametrize(("times", "count"), [(1, 0), (2, 1), (5, 1)])
def test_calls_of_a_run_are_remembered_from_the_second_time_on(
    monkeypatch: pytest.MonkeyPatch, times: int, count: int
) -> None:
    text = """
@R.function
def main(n: R.Tensor((), "int64"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    cls = Module
    c = R.greater(n, R.const(0, "int64"))
    if c:
        m = R.subtract(n, R.const(1, "int64"))
        y = R.call_tir(cls.plus, (x,), out_sinfo=R.Tensor((4,), "float32"))
        r: R.Tensor((4,), "float32") = cls.main(m, y)
    else:
        r = x
    return r
"""
    remembered: list[object] = []
    remember = builtins.remember_kernel
    monkeypatch.setattr(builtins, "remember_kernel", lambda *args: (remembered.append(args), remember(*args)))
    make = machine_factory(module(text), "main")
    run = finished_on(make, [np.array(times, np.int64), X])
    assert run.failure is None, run.failure
    assert run.result.tolist() == (X + times).tolist()
    assert len(remembered) == count


def test_calls_of_one_kernel_are_remembered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [f"y{n + 1} = R.call_tir(M.plus, (y{n},), out_sinfo=R.Tensor((4,), 'float32'))" for n in range(6)]
    lines = "\n    ".join(calls)
    remembered: list[object] = []
    remember = builtins.remember_kernel
    monkeypatch.setattr(builtins, "remember_kernel", lambda *args: (remembered.append(args), remember(*args)))
    text = (
        f"@R.function\ndef main(y0: R.Tensor((4,), 'float32')):\n    M = Module\n    {lines}\n    return y6\n"
    )
    run = finished_on(machine_factory(module(text), "main"), [X])
    assert run.failure is None, run.failure
    assert run.result.tolist() == (X + 6).tolist()
    assert len(remembered) == 1


# -- equal values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 3, 8, (1 << 16) * 2, (1 << 17) + 7])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", "float16"])
def test_arrays_are_compared_by_their_bytes(size: int, dtype: str) -> None:
    a = (np.arange(size) % 2).astype(dtype)
    assert same_bits(a, a.copy())
    for place in {0, size // 2, size - 1} if size else ():
        b = a.copy()
        b[place] = not b[place]
        assert not same_bits(a, b)
    assert same_bits(a[::2], a[::2].copy())


def test_bytes_tell_zeros_and_nan_apart() -> None:
    nan, other = np.array([np.nan, 1]), np.array([np.nan, 1])
    assert same_bits(nan, other)
    assert not same_bits(np.array([0.0]), np.array([-0.0]))
    other.view(np.uint64)[0] ^= 1  # another NaN
    assert not same_bits(nan, other)


def test_equal_values_have_one_label() -> None:
    labels = _Labels(BY_DTYPE)
    values = [np.array([0.0, np.nan, np.inf, 1.0]), np.array([0.0, np.nan, np.inf, 2.0])]
    first = [labels.label(value) for value in values]
    assert first[0] != first[1]
    assert [labels.label(value.copy()) for value in values] == first
    assert labels.label(np.array([-0.0, np.nan, np.inf, 1.0])) == first[0]
    assert labels.label(np.array([0.0, 1.0, np.inf, 1.0])) not in first
    assert labels.label(values[0].reshape(2, 2)) not in first
    assert labels.label(values[0].astype(np.float32)) not in first


@pytest.mark.parametrize("size", [1, 2, 5, 8, 1001])
def test_the_median_is_that_of_numpy(size: int) -> None:
    numbers = np.floor(np.random.default_rng(size).standard_normal(size) * 3)
    assert median(numbers) == float(np.median(numbers))


def test_a_bisection_compares_up_to_the_first_sample_that_differs() -> None:
    text = "@R.function\ndef main(x: R.Tensor(('n',), 'float32')):\n    y = R.exp(x)\n    return y"
    first = Stage(0, "input", rxe.parse(text))
    samples = [Sample((("n", n),)) for n in (0, 3, 4, 5)]  # nothing differs in an empty tensor
    found = rxe.bisect(
        [first, Stage(1, "wrong", rxe.parse(text.replace("exp", "tanh")))], SameOutput(first, "main", samples)
    )
    assert found.comparison is not None
    assert [verdict.equal for verdict in found.comparison.verdicts] == [True, False]


# -- packed functions --------------------------------------------------------------------------------------------------

PACKED = """
@R.function(pure=False)
def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
    f = R.ExternFunc("held")
    a = R.call_dps_packed("first", (x,), out_sinfo=R.Tensor((4,), "float32"))
    g = (R.ExternFunc("in_tuple"), a)
    if c:
        b = R.call_packed("in_branch", a, sinfo_args=(R.Tensor((4,), "float32"),))
        r = b
    else:
        d = R.call_pure_packed("pure", a, sinfo_args=(R.Tensor((4,), "float32"),))
        r = d

    @R.function(pure=False)
    def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        z = R.call_packed("nested", y, sinfo_args=(R.Tensor((4,), "float32"),))
        return z

    return r
"""


@pytest.mark.parametrize("is_normal", [False, True])
def test_packed_functions_are_found_wherever_they_stand(is_normal: bool) -> None:
    given = rxe.parse(PACKED)
    fn = (normalize_with(given)[0] if is_normal else given)["main"]
    assert type(fn) is e.Function
    assert set(mentioned_packed(fn)) == {"held", "first", "in_tuple", "in_branch", "pure", "nested"}
    assert mentioned(fn) == ()


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_a_length_that_its_variable_cannot_hold_is_refused(dtype: str) -> None:
    text = f"""
@T.prim_func
def f(x: T.handle, y: T.handle):
    n = T.{dtype}()
    X = T.match_buffer(x, (n,), "int8")
    Y = T.match_buffer(y, (n,), "int8")
    for i in range(n):
        Y[i] = X[i]
"""
    fn = rxe.parse(text)["f"]
    kernel = compile_prim_func(fn)
    most = 1 << (int(dtype[3:]) - 1)
    if most < 1 << 20:
        with pytest.raises(rxe.Failure, match=f"which {dtype} can't hold"):
            kernel(np.zeros(most, np.int8), np.zeros(most, np.int8))
    x, y = np.arange(most - 1 & 127, dtype=np.int8), np.zeros(most - 1 & 127, np.int8)
    kernel(x, y)
    assert same_bits(x, y)


def test_growth_is_that_of_the_program_that_is_asked_for() -> None:
    judge, values = Judge(None, None, Shadows()), (np.linspace(1, 2, 64, dtype=np.float32),)
    texts = [
        "    b = R.add(x, R.const(1000.1, 'float32'))\n    c = R.subtract(b, R.const(1000.1, 'float32'))\n",
        "    c = R.add(x, x)\n",
    ]
    head = "@R.function\ndef main(x: R.Tensor((64,), 'float32')):\n"
    modules = [rxe.normalize(rxe.parse(f"{head}{text}    return c")) for text in texts]
    runs = [Ran(item, "main", values, finished(item, "main", values)) for item in modules]
    found = [[growth.name for growth in judge.grown(run)] for run in (*runs, *runs)]
    assert found == [["c"], [], ["c"], []]


@pytest.mark.parametrize("copies", ["    h = g\n", "    t = (g, x)\n    s = t\n    h = s[0]\n"])
def test_copies_of_a_function_are_the_function_in_checks(copies: str) -> None:
    text = f"""@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    g = main
{copies}    with R.dataflow():
        y = h(x)
        R.output(y)
    return y
"""
    assert "RX0141" in [problem.code.id for problem in rxe.check(rxe.parse(text))]
