"""`run --calls`: several calls in sequence, with named results."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from relax_explorer.ui.cli.main import group
from tests.exec.test_paged_cache import FOLDER, decoder, weights
from tests.session.test_call_runs import CACHE, STEPS, WRONG

ADD = """@I.ir_module
class Module:
    @R.function
    def add(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
        z = R.add(x, y)
        return z

    @R.function
    def pair(x: R.Tensor((2,), "float32"), s: R.Shape(["n"])):
        return (x, s)
"""


def run(folder: Path, text: str, calls: str, *arguments: str, program: Path | None = None) -> Result:
    path, script = folder / "p.py", folder / "calls.txt"
    path.write_text(text)
    script.write_text(calls)
    done = CliRunner().invoke(group, ["run", str(program or path), "--calls", str(script), *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_a_decoder_says_ten_tokens(tmp_path: Path) -> None:
    lines = [
        "# the cache, and a sequence in it",
        "cache = create_cache(shape(4), shape(64), shape(16), shape(16), shape(0))",
        "vm.builtin.kv_state_add_sequence(cache, 0)",
        "",
        "vm.builtin.kv_state_begin_forward(cache, shape(0), shape(5))",
        f'logits, cache = prefill([[3, 14, 15, 9, 26]], cache, "{tmp_path / "weights.npz"}")',
        "t0 = vm.builtin.sample_top_p_from_logits(logits[0, 4], 0, 1, 0.5)",
    ]
    for n in range(10):
        lines += [
            "vm.builtin.kv_state_begin_forward(cache, shape(0), shape(1))",
            f'logits, cache = decode([[t{n}]], cache, "{tmp_path / "weights.npz"}")',
            "vm.builtin.kv_state_end_forward(cache)",
            f"t{n + 1} = vm.builtin.sample_top_p_from_logits(logits[0, 0], 0, 1, 0.5)",
        ]
    arrays = {f"w{number:02}": array for number, array in enumerate(weights(decoder("normal")))}
    np.savez(tmp_path / "weights.npz", **arrays)
    done = run(tmp_path, "", "\n".join(lines), "--format", "json", program=FOLDER / "decoder.py")
    results = {row["name"]: row["value"] for row in json.loads(done.stdout)["results"]}
    expected = np.load(FOLDER / "io.npz")
    assert [results[f"t{n}"] for n in range(11)] == expected["normal_tokens"].tolist()
    np.testing.assert_allclose(results["logits"][0][0], expected["normal_decode"][9], rtol=1e-4, atol=2e-5)
    assert results["cache"] == "<paged kv cache of 1 sequence, 15 tokens, 4 of 5 pages of 16 free>"


def test_results_are_passed_on_and_saved(tmp_path: Path) -> None:
    calls = (
        'a = add([1, 2], [3, 4])\nb = add(a, a)\nx, s = pair("ones", shape(b.size))\nc = add(x, [a[0], 1])\n'
    )
    done = run(tmp_path, ADD, calls, "--output", str(tmp_path / "out.npz"))
    assert done.exit_code == 0
    assert "b: " in done.stdout
    with np.load(tmp_path / "out.npz", allow_pickle=False) as arrays:
        assert list(arrays) == ["a", "b", "x", "s", "c"]
        found = {name: arrays[name].tolist() for name in arrays}
    assert found == {"a": [4, 6], "b": [8, 12], "x": [1, 1], "s": [2], "c": [5, 2]}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a = add([1], [2]", "a line is"),
        ("a = 3", "a line is"),
        ("a = add(x=[1], y=[2])", "a line is"),
        ("a.b = add([1], [2])", "a line is"),
        ("a = add([1], [2]); b = a()", "a line is"),
        ("a = (lambda: 1)()", "a line is"),
        ("a = add([1])", "takes 2 inputs"),
        ("a = minus([1], [2])", "no Relax function 'minus'"),
        ("a = add([1], b)", "b has no value here"),
        ("a = add([1], __import__('os'))", "there are max"),
        ("a = add([[1], [2, 3]], [1])", "calls.txt:1: add"),
        ("a = add([1], [1, 2])", "n = 1, got 2"),
        ("a = add([1], shape(2))", "the shape (2)"),
        ("a = pair([1, 2], shape(0.5))", "a whole number"),
        ("a, b = add([1], [2])", "not 2 values"),
        ('a = add("nowhere.npz", [1])', "nowhere.npz"),
        ('a = add("funny", [1])', "add"),
        ('a = add("ones", [1])', "hint: write the elements"),
        ("vm.builtin.nonsense(1)", "no packed function 'vm.builtin.nonsense'"),
        ('vm.builtin.kv_state_clear("ones")', "needs a parameter"),
        ("vm.builtin.kv_state_clear(1)", "not a paged cache"),
        ("a = add([1], *[2])", ""),
    ],
)
def test_wrong_lines_are_diagnostics(tmp_path: Path, line: str, words: str) -> None:
    done = run(tmp_path, ADD, line + "\n")
    assert done.exit_code in (1, 2, 3)  # by the kind of problem
    assert "error[" in done.stderr
    assert words in " ".join(done.stderr.split())


def test_calls_stand_alone(tmp_path: Path) -> None:
    for option in (["--func", "add"], ["--shape", "n=3"], ["--input", "x=ones"]):
        done = run(tmp_path, ADD, "a = add([1], [2])", *option)
        assert done.exit_code == 2
        assert "--calls takes functions and inputs from its file" in done.stderr
    missing = CliRunner().invoke(
        group, ["run", str(tmp_path / "p.py"), "--calls", str(tmp_path / "none.txt")]
    )
    assert missing.exit_code == 2


def test_the_last_line_needs_no_name(tmp_path: Path) -> None:
    done = run(tmp_path, ADD, "a = add([1], [2])\n\n# the sum\nadd(a, a)  # printed\n")
    assert [line for line in done.stdout.split("\n") if line.startswith(("a: ", "add: "))] == [
        "a: (1,) f32 [3]",
        "add: (1,) f32 [6]",
    ]


def test_steps_watches_and_times_go_through_all_calls(tmp_path: Path) -> None:
    calls = "a = add([1], [2])\nb = add(a, [-3])\nc = add(b, b)\n"
    done = run(tmp_path, ADD, calls, "--break", "z[0] == 0")
    assert "in call 2 (add, n = 1): bind add z" in done.stdout
    watched = run(tmp_path, ADD, calls, "--watch", "z[0]").stdout
    assert [line.rsplit(" ", 1)[1] for line in watched.split("\n") if "z[0]" in line] == ["3.0", "0.0", "0.0"]
    timed = run(tmp_path, ADD, calls, "--time-bindings").stderr
    assert next(line for line in timed.split("\n") if "add: z" in line).split()[2] == "3"  # runs
    trace = tmp_path / "trace.jsonl"
    assert run(tmp_path, ADD, calls, "--trace", str(trace)).exit_code == 0
    assert [json.loads(line)["event"] for line in trace.read_text().split("\n")[:-1]].count("enter") == 3


def test_results_of_the_last_call_are_expected(tmp_path: Path) -> None:
    np.savez(tmp_path / "right.npz", out0=np.array([6], np.float32))
    calls = "a = add([1], [2])\nb = add(a, a)\n"
    assert run(tmp_path, ADD, calls, "--expect", str(tmp_path / "right.npz")).exit_code == 0
    assert run(tmp_path, ADD, calls.replace("2", "3"), "--expect", str(tmp_path / "right.npz")).exit_code == 1


def test_a_nan_is_traced_to_its_call(tmp_path: Path) -> None:
    text = ADD.replace("z = R.add(x, y)", "r = R.sqrt(x)\n        z = R.add(r, y)")
    done = run(tmp_path, text, "a = add([1], [-2])\nb = add(a, a)\n", "--stop-on", "nan")
    assert done.exit_code == 1
    assert "in call 2 (add)" in done.stdout
    assert "called from calls: b = add(a, a)" in done.stdout
    assert "sqrt" in done.stdout


def test_files_stand_beside_the_calls_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "p.py").write_text(ADD)
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "x.npy", np.full(1, 10, np.float32))
    (inner / "calls.txt").write_text('a = add("x.npy", [1])\n')
    words = ["run", "p.py", "--calls", "inner/calls.txt"]
    assert "[11.]" in CliRunner().invoke(group, words).stdout  # from the current folder
    np.save(inner / "x.npy", np.full(1, 20, np.float32))
    assert "[21.]" in CliRunner().invoke(group, words).stdout


def test_all_calls_are_debugged(tmp_path: Path) -> None:
    path, calls, script = tmp_path / "p.py", tmp_path / "calls.txt", tmp_path / "commands.txt"
    path.write_text(ADD)
    calls.write_text("a = add([1.0, 2.0], [10.0, 20.0])\nb = add(a, a)\n")
    script.write_text(")\ns\nprint x\ninfo dims\n(\n(\n)\n)\nlast-change b\n")
    words = ["debug", str(path), "--calls", str(calls)]
    done = CliRunner().invoke(group, [*words, "--script", str(script)])
    assert done.exit_code == 0, done.output
    starts = [line for line in done.stdout.split("\n") if line.startswith("call ")]
    assert [line.split()[1] for line in starts] == ["1", "2", "2", "2", "1", "2", "2", "2"]
    assert "x = (2,) f32 [11 22]" in done.stdout
    assert "n = 2" in done.stdout
    assert "next b = add(a, a)" in done.stdout

    calls.write_text("# nothing\n")
    assert "makes no call" in CliRunner().invoke(group, [*words, "--script", str(script)]).stderr
    calls.write_text("add([1.0], [2.0, 3.0])\n")
    script.write_text("c\n")
    done = CliRunner().invoke(group, [*words, "--script", str(script)])
    assert "y of add is a tensor (2,) of float32" in done.output
    for others in (["--shape", "n=3"], ["--func", "add"]):
        assert CliRunner().invoke(group, [*words, *others]).exit_code == 2
    done = CliRunner().invoke(group, ["debug", str(path), "--calls", "-", "--script", "-"], input="")
    assert done.exit_code == 2
    assert "standard input is read once" in done.stderr


def test_calls_go_through_every_command(tmp_path: Path) -> None:
    (tmp_path / "stages").mkdir()
    for number, text in enumerate((CACHE, WRONG)):
        (tmp_path / "stages" / f"{number:02}_stage.py").write_text(text)
    calls, ref, first = tmp_path / "calls.txt", tmp_path / "io.npz", str(tmp_path / "stages" / "00_stage.py")
    calls.write_text(f"# two tokens\n\n{STEPS}total(cache, shape(2))\n")
    np.savez(ref, out0=np.float32(20))

    def asked(*words: str, status: int = 0) -> str:
        done = CliRunner().invoke(group, [*words, "--calls", str(calls)])
        assert done.exit_code == status, done.output
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.output

    stages = str(tmp_path / "stages")
    for words in ([], ["--ref", str(ref)]):
        shown = asked("bisect", stages, *words, status=1)
        assert "(stage 1), in call 3 (step)" in shown
        assert "row 1 is wrong; binding 3 of step wrote it" in shown
        assert "4 calls: begin, step × 2, total (n = 2)" in shown
    assert "in call 3 (step): cache differs" in asked("validate", stages, status=1)
    assert "first difference: kept of step, in call 3 (step)" in asked("compare", stages, status=1)
    assert "only A" not in asked("compare", f"{stages}@0", "--ref", str(ref))
    (tmp_path / "steps.txt").write_text("c\n")
    walked = asked("compare", stages, "--step", "--script", str(tmp_path / "steps.txt"), status=1)
    assert "call 3, step: " in walked
    assert "in this run 2 times" in asked("shapes", first, "--run")
    page = tmp_path / "page.html"
    assert asked("report", first, "-p", "LegalizeOps", "-o", str(page)) is not None
    assert page.read_text().count("kept") > 1
    heat = [
        "graph",
        first,
        "--func",
        "step",
        "--heat",
        "time",
        "--run-calls",
        str(calls),
        "--format",
        "unicode",
    ]
    assert "time of each binding" in CliRunner().invoke(group, heat).output
    for words in (["bisect", stages, "--func", "step"], ["validate", stages, "--samples", "2"], ["compare", stages, "--shape", "n=2"],
                  ["report", first, "--func", "step"]):  # fmt: skip
        assert "no other option may give them" in " ".join(asked(*words, status=2).split())


def test_a_file_of_calls_has_a_limit(tmp_path: Path) -> None:
    done = run(tmp_path, ADD, "add([1], [2])\n" * 3000)
    assert done.exit_code == 3
    assert "at most 2,000 are made" in " ".join(done.stderr.split())


def test_stored_results_hold_no_caches(tmp_path: Path) -> None:
    text = (
        ADD
        + '\n    @R.function\n    def both(x: R.Tensor((1,), "float32"), c: R.Any):\n        return (x, (x, c))\n'
    )
    done = run(tmp_path, text, "a = add([1], [2])\nb, c = both(a, a)\n", "--output", str(tmp_path / "o.npz"))
    assert done.exit_code == 0
    with np.load(tmp_path / "o.npz", allow_pickle=False) as arrays:
        assert list(arrays) == ["a", "b", "c_0", "c_1"]
