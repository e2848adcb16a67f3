"""Programs become smaller while they show the same fault: planted passes, NaN, broken programs, commands."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.codes import passes as pass_codes
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pipeline import Step
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.session import smaller
from relax_explorer.core.session.recorded_inputs import fitting, values_of_run, with_own_names
from relax_explorer.core.session.samples import Sample
from relax_explorer.core.session.smaller import Case
from relax_explorer.core.session.smallest import Fault, Reduction, reduce
from relax_explorer.ui.cli.main import group
from tests.perf.generate import transformer

Change = Callable[[Rewriter, e.Binding, Callable[[e.Var], list[str]]], Answer]


def name(value: e.Expr) -> str:
    """The operator of a call."""
    return getattr(value.op, "name", "") if type(value) is e.Call else ""


def planted(title: str, change: Change) -> Step:
    """A pass with a mistake, which may depend on the operators that read a variable."""

    @function_pass(title)
    def wrong(fn: e.Function, at: PassSite) -> e.Function:
        """Make a mistake."""
        known = facts(fn)

        def readers(var: e.Var) -> list[str]:
            users = [n for n in known.users(var) if n < len(known.bindings)]
            return [name(known.bindings[n].value) for n in users]

        return rewrite(fn, at, lambda walk, binding: change(walk, binding, readers))

    return Step(wrong)


def wrong_axis(walk: Rewriter, binding: e.Binding, readers: Callable[[e.Var], list[str]]) -> Answer:
    """The softmax that a product reads runs along the wrong axis."""
    value, var = binding.value, binding.var
    if name(value) != "relax.nn.softmax" or var is None or "relax.matmul" not in readers(var):
        return binding
    assert type(value) is e.Call
    return replace(binding, value=replace(value, attrs=value.attrs.having(axis=0)))


def lost_transposition(walk: Rewriter, binding: e.Binding, readers: Callable[[e.Var], list[str]]) -> Answer:
    """A square matrix is not transposed if a product reads it."""
    value, var = binding.value, binding.var
    if name(value) != "relax.permute_dims" or var is None or "relax.matmul" not in readers(var):
        return binding
    assert type(value) is e.Call
    return e.VarBinding(var, value.args[0])


def failing(walk: Rewriter, binding: e.Binding, readers: Callable[[e.Var], list[str]]) -> Answer:
    """It fails at a sigmoid."""
    if name(binding.value) == "relax.sigmoid":
        raise rxe.Failure(Diagnostic(pass_codes.FOREIGN_FAILURE, "no sigmoid here"))
    return binding


NOTHING = Step(rxe.passes.get("CanonicalizeBindings"))
LEGALIZE = Step(rxe.passes.get("LegalizeOps"))
SQUARES = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def unused(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]
    @R.function
    def helper(x: R.Tensor((8, 8), "float32")):
        y = R.exp(x)
        return y
    @R.function
    def main(x: R.Tensor((8, 8), "float32"), y: R.Tensor((8, 8), "float32"), flag: R.Tensor((), "bool")):
        cls = Module
        if flag:
            a = R.add(x, y)
            b = R.permute_dims(a)
            z = R.matmul(x, b)
        else:
            a = R.subtract(x, y)
            z = R.multiply(a, a)
        u = cls.helper(z)
        v = R.tanh(u)
        w = R.add(v, R.sigmoid(y))
        return (u, w)
"""


def function(params: str, body: str) -> str:
    """A function of these bindings, which returns the last variable."""
    found = body.split("; ")
    lines = "".join([f"    {line}\n" for line in found])
    return f"@R.function\ndef main({params}):\n{lines}    return {found[-1].partition(' ')[0]}\n"


def case_of(text: str, *passes: Step, entry: str = "main") -> Case:
    return Case(rxe.normalize(rxe.parse(text)), entry, passes)


def reduced(case: Case, fault: Fault | None = None, **options: Any) -> Reduction:
    """The smallest case. It is well-formed, and shows the fault in the same way."""
    fault = Fault() if fault is None else fault
    found = reduce(case, fault, **options)
    assert found is not None
    assert found.sizes[0] == case.with_module(case.module).size
    assert list(found.sizes) == sorted(found.sizes, reverse=True)
    text = found.case.module.script()
    again = Case(rxe.parse(text), found.case.entry, found.case.passes, found.case.lengths)
    assert fault.kind(again) == found.kind == fault.kind(case)
    return found


def test_a_layer_of_a_transformer_becomes_two_operators() -> None:
    case = case_of(transformer(500), NOTHING, planted("WrongAxis", wrong_axis), LEGALIZE)
    found = reduced(case)
    assert found.sizes[0] == 500
    assert found.operators == ["nn.softmax", "matmul"]
    assert [step.of.name for step in found.case.passes] == ["WrongAxis"]
    assert found.least == (("n", 2),)  # along an axis of length 1 there is nothing to get wrong
    assert found.tries < 100
    lengths = {n for param in found.case.function.params for n in param.struct_info.dims}  # type: ignore[union-attr]
    assert {str(n) for n in lengths} == {"1", "n"}


def test_branches_calls_and_lengths_go() -> None:
    found = reduced(case_of(SQUARES, planted("LostTransposition", lost_transposition)))
    assert found.operators == ["permute_dims", "matmul"]
    assert list(found.case.module.functions) == ["main"]
    assert {str(n) for param in found.case.function.params for n in param.struct_info.dims} == {"2"}  # type: ignore[union-attr]


def test_a_pass_that_fails() -> None:
    found = reduced(case_of(SQUARES, NOTHING, planted("Failing", failing)))
    assert found.operators == ["sigmoid"]
    assert found.kind == f"Failing reports {pass_codes.FOREIGN_FAILURE}"
    assert len(found.case.passes) == 1


def test_nan_and_programs_that_are_broken() -> None:
    text = function(
        "x: R.Tensor(('n', 6), 'float32')", "a = R.exp(x); b = R.negative(a); c = R.log(b); d = R.tanh(c)"
    )
    assert reduced(case_of(text), Fault("no-nan")).operators == ["log"]
    broken = text.replace("R.negative(a)", "R.matmul(a, a)")
    found = reduced(Case(rxe.parse(broken.replace("'n'", "5")), "main"), Fault("well-formed"))
    assert found.operators == ["matmul"]
    assert found.kind == "RX0203"


def test_a_fault_in_another_function() -> None:
    text = SQUARES.replace("y = R.exp(x)", "t = R.sqrt(x)\n        y = R.log(t)")
    found = reduced(case_of(text), Fault("no-nan"))
    assert (found.case.entry, len(found.case.module.relax_functions)) == ("helper", 1)


def test_a_program_that_stops_itself_shows_no_fault_of_passes() -> None:
    text = function(
        "x: R.Tensor(('n',), 'float32')", "a = R.match_cast(x, R.Tensor((50,), 'float32')); b = R.exp(a)"
    )
    assert reduce(case_of(text, NOTHING), Fault()) is None


def test_a_single_parameter_that_nothing_reads() -> None:
    text = function(
        "x: R.Tensor((4,), 'float32')", "a = R.full((4,), R.const(-1.0), dtype='float32'); b = R.log(a)"
    )
    found = reduced(case_of(text, entry="main"), Fault("no-nan", samples=1))
    assert len(found.case.function.params) <= 1
    module = rxe.normalize(
        rxe.parse(text.replace("b = R.log(a)", "b = R.full((2,), R.const(float('nan')), dtype='float32')"))
    )
    assert reduced(Case(module, "main"), Fault("no-nan", samples=1)).case.function.params == ()


def test_no_fault_and_no_time() -> None:
    assert reduce(case_of(SQUARES, NOTHING), Fault()) is None
    assert reduce(case_of(SQUARES), Fault("no-nan")) is None
    case = case_of(transformer(100), planted("WrongAxis", wrong_axis))
    late = reduce(case, Fault(), seconds=0)
    assert late is not None
    assert (late.is_whole, late.case.size) == (False, 100)


def test_another_fault_is_not_taken_for_the_first_one() -> None:
    """Where the right program stops, nothing is said about its results."""
    text = function(
        "x: R.Tensor((4, 4), 'float32')", "a = R.permute_dims(x); b = R.matmul(a, x); c = R.sigmoid(b)"
    )
    both = case_of(text, planted("Failing", failing), planted("LostTransposition", lost_transposition))
    found = reduced(both)
    assert found.kind.startswith("Failing reports")
    assert [step.of.name for step in found.case.passes] == ["Failing"]


def test_processes_side_by_side() -> None:
    case = case_of(SQUARES)
    text = SQUARES.replace("R.tanh(u)", "R.sqrt(R.negative(u))")
    with ProcessPoolExecutor(2) as pool:
        found = reduced(case_of(text), Fault("no-nan"), executor=pool, workers=3)
    assert len(found.operators) == 1
    assert case.size > found.case.size


# -- single steps ----------------------------------------------------------------------------------------------------


def made(change: smaller.Smaller, case: Case) -> list[str]:
    """The functions that are tried, as text."""
    found = [make() for make in change(case)]
    return [item.module.script() for item in found if item is not None]


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if " = " in line and "TypeVar" not in line]


def test_what_is_read_of_bindings_that_go_are_parameters() -> None:
    case = case_of(SQUARES)
    found = [b for b in smaller.bindings_of(case) if b.var is not None and b.var.name in ("a", "u")]
    assert len(found) == 3  # one `a` in each branch
    new = smaller.without_bindings(case, found)
    assert [param.name for param in new.function.params[:3]] == ["x", "y", "flag"]
    assert sorted(param.name for param in new.function.params[3:]) == ["a", "a", "u"]
    assert "helper" not in new.module.functions
    assert not [item for item in rxe.check(new.module.script()) if item.is_error]


def test_operands_in_place_of_values() -> None:
    params = "x: R.Tensor((4,), 'float32'), y: R.Tensor((4, 4), 'float32')"
    text = function(params, "a = R.exp(x); b = R.add(a, y); c = R.multiply(b, y)")
    tried = made(smaller.bypassed, case_of(text))
    assert len(tried) == 4  # a by x; b by y; c by b and by y
    assert not any("R.exp" in item for item in tried[:1])
    assert all(len(lines(item)) == 2 for item in tried)


def test_each_branch_in_place_of_an_if() -> None:
    tried = made(smaller.without_branches, case_of(SQUARES))
    assert ["R.permute_dims" in item for item in tried] == [True, False]
    assert not any("if flag" in item for item in tried)


def test_parameters_in_place_of_constants() -> None:
    lines_of = "a = R.add(x, R.const([1.0, 2.0, 3.0, 4.0], 'float32')); b = R.add(a, R.const(2.0, 'float32'))"
    module = rxe.normalize(rxe.parse(function("x: R.Tensor((4,), 'float32')", lines_of)))
    (tried,) = made(smaller.without_constants, Case(module, "main"))
    assert "a_c1: R.Tensor((4,)" in tried
    assert "R.const(2.0" in tried


def test_shorter_axes_are_shorter_everywhere() -> None:
    text = "@R.function\ndef main(x: R.Tensor((6, 24), 'float32')):\n    a = R.reshape(x, R.shape([6, 4, 6]))\n    return a\n"
    tried = made(smaller.shorter, case_of(text))
    assert any(
        "R.shape([2, 4, 2])" in item and "R.Tensor((2, 8)" in item for item in tried
    )  # 24 is 4 times 6
    module = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps")
    lowered = made(smaller.shorter, Case(module, "main"))
    whole = [
        item
        for item in lowered
        if "T.grid(2, 4, 2)" in item.replace("T.int64(2)", "2").replace("T.int64(4)", "4")
    ]
    x = np.arange(16, dtype="float32").reshape(2, 8)
    assert whole
    assert np.array_equal(rxe.run(rxe.parse(whole[0]), "main", [x]), x.reshape(2, 4, 2))


def test_parameters_and_dead_bindings() -> None:
    case = case_of(SQUARES)
    assert smaller.without_parameters(case, case.function.params[:1]) is None  # it is read
    text = "@R.function\ndef main(x: R.Tensor((4,), 'float32'), y: R.Tensor((4,), 'float32')):\n    a = R.exp(x)\n    b = R.exp(y)\n    return a\n"
    (tried,) = made(smaller.without_dead, case_of(text))
    assert "R.exp(y)" not in tried
    case = case_of(tried)
    unread = smaller.without_parameters(case, case.function.params[1:])
    assert unread is not None
    assert len(unread.function.params) == 1


# -- command ---------------------------------------------------------------------------------------------------------

NAN = function(
    "x: R.Tensor(('n', 6), 'float32'), w: R.Tensor((6, 6), 'float32')",
    "a = R.matmul(x, w); b = R.log(a); c = R.matmul(b, w)",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nan.py").write_text(NAN)
    return tmp_path


def run(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(group, list(words))
    return done.exit_code, done.stdout, done.stderr


def test_the_program_is_written_and_the_command_shows_the_fault(folder: Path) -> None:
    status, text, errors = run("reduce", "nan.py", "--test", "no-nan")
    assert (status, errors) == (0, "")
    said = text.split("\n")
    assert said[0].startswith("3 bindings → ")
    assert said[1].startswith("1 binding in 1 function; needed: log")
    assert said[3] == "written: nan.reduced.py"
    written = (folder / "nan.reduced.py").read_text()
    assert written.startswith("# Reduced by relax-explorer from nan.py\n")
    assert written.endswith("\n")
    words = said[4].removeprefix("show it: relax-explorer ").split()
    assert run(*words)[0] == 1
    assert [type(b.value).__name__ for b in bindings(rxe.parse(written)["main"])] == ["Call"]  # type: ignore[arg-type]


def test_another_file_stays_and_the_own_one_is_replaced(folder: Path) -> None:
    (folder / "nan.reduced.py").write_text("mine\n")
    status, _, errors = run("reduce", "nan.py", "--test", "no-nan")
    assert (status, (folder / "nan.reduced.py").read_text()) == (2, "mine\n")
    assert "give another one with -o" in errors
    assert run("reduce", "nan.py", "--test", "no-nan", "-o", "other.py")[0] == 0
    (folder / "nan.reduced.py").unlink()
    assert [run("reduce", "nan.py", "--test", "no-nan")[0] for _ in range(2)] == [0, 0]


def test_json_and_standard_output(folder: Path) -> None:
    status, text, _ = run("reduce", "nan.py", "--test", "no-nan", "-o", "x.py", "--format", "json")
    found = json.loads(text)
    assert (status, found["schema"], found["fault"], found["operators"]) == (
        0,
        "rxe.reduce/1",
        "NaN",
        ["log"],
    )
    assert found["sizes"][0] == 3
    assert found["sizes"][-1] == found["bindings"] == 1
    status, text, _ = run("reduce", "nan.py", "--test", "no-nan", "-o", "-")
    assert status == 0
    assert len(list(rxe.parse(text).relax_functions)) == 1


def test_a_command_is_the_test(folder: Path) -> None:
    script = folder / "test.sh"
    script.write_text('#!/bin/sh\ngrep -q "R.log" "$1" && exit 4\nexit 0\n')
    script.chmod(0o755)
    status, text, _ = run("reduce", "nan.py", "-o", "x.py", "--", str(script))
    assert status == 0
    assert "exited with 4" in text
    assert "R.matmul" not in (folder / "x.py").read_text()


def test_no_fault(folder: Path) -> None:
    status, text, errors = run("reduce", "nan.py", "-p", "LegalizeOps")
    assert (status, text, errors) == (
        3,
        "",
        "nan.py shows no fault: the test same-output holds after every pass\n",
    )
    assert not (folder / "nan.reduced.py").exists()
    assert run("reduce", "nan.py")[0] == 2


def test_a_flag_is_true_or_false() -> None:
    text = "@R.function\ndef main(flag: R.Prim('bool')):\n    return flag\n"
    module = rxe.normalize(rxe.parse(text))
    for source, value in (("zeros", False), ("ones", True), ("", True), ("0", False)):
        (given,) = Sample(sources=(("flag", source),) if source else ()).values(module["main"])  # type: ignore[arg-type]
        assert given is value
        assert rxe.run(module, "main", [given]) == value


def words_of(text: str, start: str) -> list[str]:
    """The command of a line that `reduce` prints, without the name of the program."""
    line = next(line for line in text.split("\n") if line.startswith(start))
    return shlex.split(line.removeprefix(start))[1:]


BIG = function(
    "x: R.Tensor(('n', 6), 'float32'), w: R.Tensor((6, 6), 'float32')",
    "a = R.matmul(x, w); b = R.tanh(w); c = R.matmul(b, b); d = R.exp(a); e = R.subtract(d, d); f = R.matmul(e, c)",
)


@pytest.fixture
def big(folder: Path) -> Path:
    """A program whose fault shows with the values of a file alone: no random number is beyond 80."""
    (folder / "big.py").write_text(BIG)
    np.savez(folder / "io.npz", x=np.full((2, 6), 100, "float32"), w=np.eye(6, dtype="float32"))
    return folder


def test_values_of_the_run_take_the_place_of_bindings(big: Path) -> None:
    words = ["reduce", "big.py", "--test", "no-nan", "--input", "io.npz", "-o", "x.py"]
    status, text, _ = run(*words)
    assert status == 0, text
    assert "needed: subtract" in text
    with np.load(big / "x.values.npz") as values:
        assert {name: values[name].tolist() for name in values.files} == {"d": [[np.inf]]}
    shown = words_of(text, "show it: ")
    assert run(*shown)[0] == 1
    assert run(*shown[:2], "--stop-on", "nan")[0] == 0  # without the values it does not show
    assert run("reduce", "big.py", "--test", "no-nan", "-o", "y.py")[0] == 3
    assert "np.array([inf" in run(*words_of(text, "for TVM: ")[:-2])[1].replace("b64", "np.array([inf")


def test_files_with_values_of_others_stay(big: Path) -> None:
    (big / "x.values.npz").write_text("mine")
    words = ["reduce", "big.py", "--test", "no-nan", "--input", "io.npz", "-o", "x.py"]
    for _ in range(2):
        assert "x.values-2.npz" in run(*words)[1]
    assert (big / "x.values.npz").read_text() == "mine"
    assert sorted(path.name for path in big.glob("x.*")) == ["x.py", "x.values-2.npz", "x.values.npz"]
    status, text, _ = run(*words[:-1], "-")
    assert (status, "which only a file can have beside it" in text) == (0, True)


def test_values_of_branches_constants_and_variables_of_one_name(big: Path) -> None:
    """The value of `a` in the branch that runs, not that of the other `a`; axes that are cut have its first elements."""
    text = """@R.function
def main(x: R.Tensor((8, 6), 'float32'), flag: R.Tensor((), 'bool')):
    if flag:
        a = R.multiply(x, R.const(1000.0, 'float32'))
        z = R.exp(a)
    else:
        a = R.tanh(x)
        z = R.negative(a)
    s = R.add(z, R.const([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 'float32'))
    t = R.subtract(s, z)
    return t
"""
    (big / "branch.py").write_text(text)
    status, said, _ = run(
        "reduce", "branch.py", "--test", "no-nan", "--input", "flag=1", "--input", "x=ones", "-o", "x.py"
    )
    assert status == 0, said
    assert "needed: subtract" in said
    with np.load(big / "x.values.npz") as values:
        assert {name: values[name].tolist() for name in values.files} == {
            "z": [[np.inf]]
        }  # that of the branch that runs
    assert run(*words_of(said, "show it: "))[0] == 1


def test_names_that_are_replaced(big: Path) -> None:
    words = ["reduce", "big.py", "--test", "no-nan", "--input", "io.npz", "-o", "x.py", "--anonymous"]
    status, text, _ = run(*words)
    assert status == 0, text
    written = (big / "x.py").read_text()
    assert "big.py" not in written
    assert "v0: R.Tensor((n0, 1)" in written
    assert run(*words_of(text, "show it: "))[0] == 1


WEIGHTS = """@R.function
def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 4), "float32"), b: R.Tensor((4,), "float32")):
    R.func_attr({"num_input": 1, "rx.weights": "model.npz"})
    a = R.matmul(x, w)
    t = R.tanh(b)
    c = R.exp(a)
    d = R.subtract(c, c)
    e = R.add(d, t)
    return e
"""


def test_weights_of_an_imported_model_count(folder: Path) -> None:
    """The fault shows with the weights in the file that the program names; they keep their places while parameters go."""
    (folder / "model.py").write_text(WEIGHTS)
    w = np.full((4, 4), 1000, "float32")
    np.savez(folder / "model.npz", w=w, b=np.ones(4, "float32"))
    words = ["reduce", "model.py", "--test", "no-nan", "--input", "x=ones", "-o", "x.py"]
    status, text, _ = run(*words)
    assert status == 0, text
    assert "needed: subtract" in text
    assert run(*words_of(text, "show it: "))[0] == 1
    np.savez(folder / "model.npz", w=w / 1e6, b=np.ones(4, "float32"))
    assert run(*words)[0] == 3  # other weights, no fault


def test_weights_that_stay_parameters_have_their_values(folder: Path) -> None:
    (folder / "model.py").write_text(
        WEIGHTS.replace("R.exp(a)", "R.log(w)").replace("R.subtract(c, c)", "R.matmul(a, c)")
    )
    np.savez(folder / "model.npz", w=np.full((4, 4), -1, "float32"), b=np.ones(4, "float32"))
    status, text, _ = run("reduce", "model.py", "--test", "no-nan", "-o", "x.py")
    assert (status, "needed: log" in text) == (0, True), text


def test_variables_of_one_name_have_values_of_their_own(folder: Path) -> None:
    lines = "a = R.multiply(x, R.const(0.0, 'float32')); h = R.add(a, R.const(1000.0, 'float32')); a = R.exp(h); n = R.subtract(a, a)"
    (folder / "twice.py").write_text(function("x: R.Tensor((4,), 'float32')", lines))
    status, text, _ = run("reduce", "twice.py", "--test", "no-nan", "-o", "x.py")
    assert (status, "function; needed: subtract\n" in text) == (0, True), text
    assert run(*words_of(text, "show it: "))[0] == 1


def test_memory_that_a_kernel_fills_has_what_was_written(folder: Path) -> None:
    lines = "h = R.add(x, R.const(1000.0, 'float32')); a = R.exp(h); n = R.subtract(a, a)"
    module = rxe.normalize(rxe.parse(function("x: R.Tensor((4,), 'float32')", lines)))
    lowered = rxe.run_pipeline(module, "LegalizeOps,RemovePurityChecking,CallTIRRewrite", verify=False)
    (folder / "lowered.py").write_text(lowered.script())
    status, text, _ = run("reduce", "lowered.py", "--test", "no-nan", "-o", "x.py")
    assert (status, "1 kernel" in text) == (0, True), text
    with np.load(folder / "x.values.npz") as values:
        assert any(np.isposinf(values[name]).all() for name in values.files)


def test_values_that_are_too_short_are_made_up() -> None:
    case = case_of(function("x: R.Tensor(('n', 6), 'float32'), y: R.Tensor((4,), 'float32')", "a = R.exp(x)"))
    values = {"x": np.arange(12, dtype="float32").reshape(2, 6), "y": np.ones(3, "float32"), "z": np.ones(1)}
    assert {name: value.shape for name, value in fitting(case, values).items()} == {"x": (2, 6)}
    shorter = Case(case.module, "main", (), (("n", 1),))
    assert fitting(shorter, values)["x"].tolist() == [[0, 1, 2, 3, 4, 5]]
    longer = Case(case.module, "main", (), (("n", 3),))
    assert fitting(longer, values) == {}


def test_constants_have_values_under_the_names_of_their_parameters() -> None:
    lines = "a = R.add(x, R.const([1.0, 2.0, 3.0, 4.0], 'float32'))"
    case = with_own_names(case_of(function("x: R.Tensor((4,), 'float32')", lines)))
    values = values_of_run(case, Sample())
    assert values["a_c1"].tolist() == [1, 2, 3, 4]
    assert set(values) == {"x", "a", "a_c1"}


def test_a_fault_that_depends_on_a_name_is_told(folder: Path) -> None:
    (folder / "named.py").write_text(function("secret: R.Tensor((4,), 'float32')", "a = R.exp(secret)"))
    test = ["--", "sh", "-c", '! grep -q secret "$0"', "{}"]
    assert run("reduce", "named.py", "-o", "x.py", *test)[0] == 0
    status, _, errors = run("reduce", "named.py", "-o", "y.py", "--anonymous", *test)
    assert (status, "does not show the fault under other names" in errors) == (2, True), errors
    assert not (folder / "y.py").exists()
