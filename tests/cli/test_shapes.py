"""`shapes` lists the checks that a program leaves to the run, and the explorer shows those of the selected binding."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.session.session import Session
from relax_explorer.ui.cli import output
from relax_explorer.ui.directories import sample
from relax_explorer.ui.tui.rows import detail_lines
from relax_explorer.ui.tui.state import Selection
from tests.cli.test_commands import rxe_cli

PROGRAM = """@I.ir_module
class Module:
    @R.function(private=True)
    def helper(x: R.Tensor(("a", "b"), "float32"), y: R.Tensor(("b",), "float32")) -> R.Tensor(("a", "b"), "float32"):
        return R.add(x, y)

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("k",), "float32"), w: R.Tensor(("n", 4), "float32")):
        n, m, k = T.int64(), T.int64(), T.int64()
        b = Module.helper(x, y)
        c = R.add(x, y)
        d = R.match_cast(w, R.Tensor((n, m), "float32"))
        return (b, c, d)
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ('x: R.Tensor(("n",), "float32")', "1 kind"),
        ('x: R.Tensor((4,), "float32")', "1 kind, 1 length"),
        ('x: R.Tensor(("n", "n"), "float32"), y: R.Tensor(("n",), "float32")', "2 kinds, 2 lengths"),
    ],
)
def test_a_call_from_outside_is_told_without_zeros(tmp_path: Path, params: str, told: str) -> None:
    path = tmp_path / "one.py"
    path.write_text(f"@R.function\ndef main({params}):\n    return x\n")
    assert f"  at each call from outside: {told}\n" in rxe_cli("shapes", str(path)).stdout


def test_the_list_tells_why_and_what_to_do(program: str) -> None:
    done = rxe_cli("shapes", program)
    assert done.exit_code == output.OK
    assert done.stdout.splitlines() == [
        "helper: nothing to check",
        "main: checks: 1 proved, 7 left to the run",
        "  at each call from outside: 3 kinds, 2 lengths",
        "  line 10   remains      k == m    (arguments: y of helper)",
        "            why: it fails with k = 3, m = 4",
        "            to remove it: write m instead of k where k is bound, if they are always equal",
        "  line 12   remains      4 == m    (match_cast: w)",
        "            why: it fails with m = 3",
        "            to remove it: write 4 instead of m where m is bound, if they are always equal",
    ]
    assert done.stderr.splitlines()[-1] == "accepted, 7 checks left to the run"


def test_proofs_and_conditions(program: str) -> None:
    proved = rxe_cli("shapes", program, "--func", "main", "--proved").stdout
    assert (
        "m == k or m == 1 or k == 1    (operator: add in c)\n            because k == m (checked in line 10)"
        in proved
    )
    assert "remains      w.shape[0] == n    (parameters: w)" in proved
    given = rxe_cli("shapes", program, "--given", "m == 4, k == 4")
    assert "remains" not in given.stdout
    wrong = rxe_cli("shapes", program, "--given", "m < 4")
    assert wrong.exit_code == output.FOUND
    assert "always fails 4 == m" in wrong.stdout
    assert "because m < 4 (given)" in wrong.stdout


def test_data_and_a_run(program: str) -> None:
    done = rxe_cli(
        "shapes", program, "--run", "--shape", "n=2", "--shape", "m=4", "--shape", "k=4", "--format", "json"
    )
    rows = json.loads(done.stdout)["checks"]
    cast = next(row for row in rows if row["kind"] == "match_cast")
    assert (cast["binding"], cast["line"], cast["answer"], cast["times"]) == ("d", 12, "remains", 1)
    assert cast["seconds"] > 0
    assert cast["bytes"] > 0
    ran = json.loads(done.stdout)["run"]
    assert 0 < ran["checking"] < ran["seconds"]
    assert [place["kind"] for place in ran["places"]].count("match_cast") == 1
    call = next(place for place in ran["places"] if place["kind"] == "arguments")
    assert call["times"] == call["call"]["times"] == 1
    assert call["call"]["seconds"] > call["checking"] > 0
    text = rxe_cli("shapes", program, "--run", "--shape", "n=2", "--shape", "m=4", "--shape", "k=4").stdout
    assert "3 kinds, 2 lengths; in this run 1 time, " in text
    assert text.count("            in this run 1 time, ") == 2, (
        "the arguments of the call, and the match_cast"
    )
    assert "; the call: 1 time, " in text
    assert "in this run checks took " in text
    assert "; those left to it, by place:" in text
    table = [
        line.split("  ") for line in text.splitlines() if "line 12" in line and re.search(" [mµ]s", line)
    ]
    assert len(table) == 1
    assert "main: d, match_cast, line 12" in text
    assert {row["times"] for row in rows if row["kind"] == "parameters"} == {1}


def test_the_explorer_shows_the_checks_of_the_selected_binding() -> None:
    session = Session(rxe.parse(PROGRAM))
    stage = session.stages[0]
    main = stage.module.relax_functions["main"]
    found = {
        one.var.name: detail_lines(session, stage, Selection(0, "main", one))
        for one in bindings(main)
        if one.var
    }
    assert "left to the run: k == m; it fails with k = 3, m = 4" in found["b"]
    assert "proved: m == k or m == 1 or k == 1, because k == m (checked in line 10)" in found["c"]


@pytest.mark.parametrize(
    ("name", "command"), [("shapes/fast_flatten.shapes", "shapes"), ("relations/layer.relay", "relations")]
)
def test_a_program_in_another_notation_names_its_command(name: str, command: str, tmp_path: Path) -> None:
    path = sample(f"samples/{name}")
    pasted = tmp_path / "pasted.py"
    pasted.write_text(Path(path).read_text())
    done = rxe_cli("show", str(pasted))
    assert f"give it to `relax-explorer {command}`" in done.stderr
    assert rxe_cli(command, path).exit_code == output.OK


@pytest.mark.parametrize(
    "command", [("show",), ("opt", "-p", "LegalizeOps"), ("graph", "--format", "mermaid")]
)
def test_a_file_in_a_notation_is_the_relax_program_that_it_stands_for(command: tuple[str, ...]) -> None:
    done = rxe_cli(command[0], sample("samples/relations/layer.relay"), *command[1:])
    assert done.exit_code == output.OK
    assert "matmul" in done.stdout


def test_the_sample_of_contracts_runs_with_what_computes_its_function(tmp_path: Path) -> None:
    path, packed = (
        sample("samples/shapes/fast_flatten.shapes"),
        ("--packed", sample("samples/shapes/fast_flatten.py")),
    )
    np.save(tmp_path / "e.npy", np.ones((8, 32), "int8"))
    inputs = ("--shape", "k=2", "--input", f"e={tmp_path / 'e.npy'}", "--input", "c=ones")
    done = rxe_cli("run", path, *packed, *inputs)
    assert done.exit_code == output.OK
    assert "d: (8,) i32 4 … 4" in done.stdout
    (tmp_path / "keys.txt").write_text("next\nnext\nprint b\nwhere\ncontinue\n")
    debugged = rxe_cli("debug", path, *packed, *inputs, "--script", str(tmp_path / "keys.txt"))
    assert debugged.exit_code == output.OK
    assert "> 0 main, 9: let c" in debugged.stdout  # places of the notation
    assert "(8,) i32 4 … 4" in debugged.stdout  # of two rows: `k` is a length of the inputs
    assert "warning" not in debugged.stderr
    rxe.extensions.forget("ff")


@pytest.mark.parametrize("command", ["run", "debug"])
def test_a_function_that_nothing_computes_names_the_way(command: str) -> None:
    done = rxe_cli(command, sample("samples/shapes/fast_flatten.shapes"))
    assert done.exit_code != output.OK
    assert 'rxe.extensions.primitive("ff")' in done.stderr


def test_where_a_length_comes_from(program: str) -> None:
    done = rxe_cli("shapes", program, "--why", "main.b.1")
    assert done.exit_code == output.OK
    assert done.stdout.splitlines() == [
        "main.b[1] = m",
        "  line 10   b[1] = m: helper returns b",
        "  line 8    x[1] = m: stated by the parameter",
        "k == m is left to the run (arguments: y of helper)",
        "  one side",
        "    line 8    y[0] = k: stated by the parameter",
        "  the other side",
        "    line 8    x[1] = m: stated by the parameter",
        "  they have nothing in common",
    ]
    data = json.loads(rxe_cli("shapes", program, "--why", "d[1]", "--format", "json").stdout)
    assert (data["function"], data["value"]) == ("main", "d")
    assert [step["how"] for step in data["lengths"][0]] == [
        "checked by the match_cast",
        "the length of x[1], which binds it",
    ]
    assert data["mismatches"][0]["answer"] == "is left to the run"
    wrong = rxe_cli("shapes", program, "--why", "main.q")
    assert wrong.exit_code == output.FOUND
    assert "main has no value 'q'" in wrong.stderr


def test_what_lengths_become(program: str) -> None:
    done = rxe_cli("shapes", program, "--what-if", "m = 4")
    assert done.exit_code == output.OK
    lines = done.stdout.splitlines()
    assert lines[0] == "main, if m = 4:"
    assert (
        '  line 8    x: R.Tensor((n, m), dtype="float32") becomes R.Tensor((n, 4), dtype="float32")' in lines
    )
    assert lines[-1] == "  line 12   then 4 == m is proved (match_cast: w)"
    failing = rxe_cli("shapes", program, "--what-if", "m = 5", "--format", "json")
    assert failing.exit_code == output.FOUND
    data = json.loads(failing.stdout)
    assert data["condition"] == "m = 5"
    assert data["decided"] == [
        {"kind": "match_cast", "subject": "w", "condition": "4 == m", "answer": "always fails", "line": 12}
    ]
    helper = rxe_cli("shapes", program, "--func", "helper", "--what-if", "b = 2")
    assert 'y: R.Tensor((b,), dtype="float32") becomes R.Tensor((2,), dtype="float32")' in helper.stdout


def test_what_divides_by_zero_is_told(tmp_path: Path) -> None:
    path = tmp_path / "divided.py"
    path.write_text(
        "@R.function\ndef main(x: R.Tensor(('n', 'm'), 'float32')):\n    n, m = T.int64(), T.int64()\n"
        "    y = R.zeros(R.shape([n // m]), 'float32')\n    return y\n"
    )
    shown = rxe_cli("shapes", str(path), "--what-if", "m = 0")
    assert shown.exit_code == output.FOUND
    row = '  line 4    y: R.Tensor((n // m,), dtype="float32") cannot be: n // m divides by m, which is 0'
    assert row in shown.stdout.splitlines()
    data = json.loads(rxe_cli("shapes", str(path), "--what-if", "m = 0", "--format", "json").stdout)
    assert data["values"][1]["after"] is None
    assert data["values"][1]["impossible"] == ["n // m divides by m, which is 0"]
    assert rxe_cli("shapes", str(path), "--what-if", "m = 1").exit_code == output.OK


def test_a_program_in_another_notation_is_printed_where_no_terminal_is() -> None:
    relations, contracts = (
        sample("samples/relations/waiting.relay"),
        sample("samples/shapes/fast_flatten.shapes"),
    )
    assert rxe_cli(relations).stdout == rxe_cli("relations", relations).stdout
    assert rxe_cli(contracts).stdout == rxe_cli("shapes", contracts).stdout
    assert "%z : Tensor[(3, 4), float32]" in rxe_cli(relations).stdout


def test_a_step_of_relations_is_printed_with_what_was_known() -> None:
    path = sample("samples/relations/waiting.relay")
    lines = rxe_cli("relations", path, "--at", "5").stdout.splitlines()
    assert lines[0] == "5. ✓ 4  Broadcast holds: ?3 := Tensor[(3, 4), float32]"
    assert "  ~    4  %y : Tensor[(3, 4), float32]" in lines
    assert "  ·    5  %z : ?2" in lines
    assert lines[-2:] == ["Queue", "  +    5  relation 2, Broadcast"]
    data = json.loads(rxe_cli("relations", path, "--format", "json").stdout)
    queues = [data["queued"][run["queued"] - run["waiting"] : run["queued"]] for run in data["runs"]]
    assert queues == [[2, 3], [3], [2], [], [2], []]
    assert [run["relation"] for run in data["runs"]] == [1, 2, 3, 2, 1, 2]
    assert [item["outcome"] for item in data["relations"]] == ["holds"] * 3
    assert rxe_cli("relations", path, "--at", "8").exit_code == output.USAGE


def test_the_steps_of_contracts_are_printed() -> None:
    path = sample("samples/shapes/fast_flatten.shapes")
    done = rxe_cli("shapes", path, "--trace")
    steps = [line for line in done.stdout.splitlines() if line[:4].strip().isdigit()]
    data = json.loads(rxe_cli("shapes", path, "--format", "json").stdout)
    assert len(steps) == len(data["steps"]) == 22
    assert "a : Tensor([8, 16], int8)" in done.stdout.splitlines(), "the types follow"
    left = [step for step in data["steps"] if step.get("answer") == "left to the run"]
    assert [step["here"] for step in left][:2] == ["e.rank == 2", "e.dim(1) % 4 == 0"]
    assert left[1]["fails_with"]["e.dim(1)"] % 4
    assert len(left) == len(data["residual"])
    assert data["steps"][0]["captured"] == {"n": "x.dim(0)", "m": "x.dim(1) // 4"}


CONTRACTS = """@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32)
@filter = fn(x : Tensor(?, d)) : Tensor(?, d)
let a : Tensor([8, 16], int8) = ..;
let b = @ff(a);
let c : Tensor([k, 16], int8) = ..;
let d = @ff(c)
"""


def test_other_forms_of_contracts(tmp_path: Path) -> None:
    program = tmp_path / "two.shapes"
    program.write_text(CONTRACTS)
    matches = rxe_cli("shapes", str(program), "--matches").stdout.splitlines()
    assert matches[:4] == [
        "@ff = fn(x : DynTensor) : DynTensor {",
        "  match_shape(x, [n, m], [n, m * 4]);",
        "  match_shape(out, [], [n * m]);",
        "}",
    ]
    assert matches[4:] == ["@filter = fn(x : DynTensor) : DynTensor {", "}"]
    program.write_text(
        "let y ! Tensor([8, k], int32) = ..; let z : Tensor([k, j], int8) = ..; let w : Tensor([j], int8) = @f(z)\n"
    )
    assert rxe_cli("shapes", str(program), "--matches").stdout.splitlines() == [
        "match_shape(y, [k], [8, k]);", "match_shape(w, [], [j]);",
    ]  # fmt: skip
    program.write_text(CONTRACTS)
    split = rxe_cli("shapes", str(program), "--split").stdout.splitlines()
    assert "  build_shape_1(out, x.dim(0) * (x.dim(1) // 4))" in split
    filtering = "@filter_tir_shape = fn(x : handle, out : shape) {"
    assert split[split.index(filtering) - 1] == "  @ff_tir(%0, %5)"
    assert "  @filter_tir_shape(%0, %1)" in split
    copy = rxe_cli("shapes", str(program), "--copy", "ff: n=8, m=4").stdout.splitlines()
    assert copy == [
        "@ff_8_4 : fn(Tensor([8, 16], int8)) : Tensor([32], int32)",
        "  line 4    b = @ff_8_4(...)",
    ]
    partly = rxe_cli("shapes", str(program), "--copy", "@ff:m=4").stdout.splitlines()
    assert [line.split()[-1] for line in partly[1:]] == ["@ff_4(...)", "@ff_4(...)"]
    for wrong, words in (
        ("gg: n=8", "gives no sizes"),
        ("ff: q=8", "no size variable q"),
        ("ff", "gives no sizes"),
        ("ff: n=8, m=4, n=9", "n has two sizes"),
        ("ff: n=9223372036854775808", "9223372036854775808 does not fit int64"),
        ("ff: n=" + "9" * 5000, "does not fit int64"),
        ("ff: n=4611686018427387904, m=4", "which does not fit int64"),
    ):
        done = rxe_cli("shapes", str(program), "--copy", wrong)
        assert done.exit_code != 0
        assert words in done.stderr
    assert rxe_cli("shapes", str(program), "--copy", "ff: n=8", "--split").exit_code == 2
    assert rxe_cli("shapes", str(program), "--matches", "--format", "json").exit_code == 2


TWICE = """@twice = fn(x : Tensor([n, m * 4], int8)) : Tensor([n, m * 8], int8) { @concat(x, x, axis=1) }
let a : Tensor([k, 16], int8) = ..;
let b = @twice(a);
let e : Tensor(?, int8) = ..;
let f ! Tensor([j, 64], int8) = @twice(e);
assert b.dim(1) == 32;
"""


def test_run_and_check_take_programs_with_contracts(tmp_path: Path) -> None:
    file = tmp_path / "twice.shapes"
    file.write_text(TWICE)
    for name, width in (("fits", 32), ("odd", 6), ("wide", 64)):
        np.save(tmp_path / f"{name}.npy", np.ones((3, width), "int8"))

    def run(name: str, *more: str) -> tuple[int, str]:
        given = ("--input", "a=ones", "--input", f"e={tmp_path / name}.npy", "--shape", "k=2")
        result = rxe_cli("run", str(file), *given, *more)
        return result.exit_code, result.output

    code, text = run("fits")
    assert code == 0
    assert [line.split(" i8")[0] for line in text.splitlines()[:4]] == [
        "a: (2, 16)", "b: (2, 32)", "e: (3, 32)", "f: (3, 64)",
    ]  # fmt: skip
    assert "7 assertions made" in text, text
    data = json.loads(run("fits", "--format", "json")[1].split("\n7 assert")[0])
    assert (data["assertions"], data["values"]["f"]["shape"]) == (7, [3, 64])
    for name, words in (("odd", "x.dim(1) % 4 == 0 does not hold"), ("wide", "f.dim(1) == 64 does not hold")):
        code, text = run(name)
        assert code == 1
        assert words in text
    assert run("fits", "--trace", "t.jsonl")[0] == 2
    assert rxe_cli("check", str(file)).exit_code == 0
    file.write_text(TWICE.replace("[k, 16]", "[k, 15]"))
    for command in ("check", "run"):
        result = rxe_cli(command, str(file))
        assert result.exit_code == 1
        assert "m * 4 = 15 has no solution" in result.output, result.output
    wrong = tmp_path / "wrong.relay"
    wrong.write_text("let %x = Constant(1, (2, 3), float32);\nmatmul(%x, %x)\n")
    result = rxe_cli("check", str(file), str(wrong))
    assert result.exit_code == 1
    assert "RX0603" in result.output


def test_a_run_that_stops_tells_what_it_measured(program: str) -> None:
    done = rxe_cli("shapes", program, "--run", "--shape", "n=2", "--shape", "m=3", "--shape", "k=3")
    assert done.exit_code == output.FOUND
    assert "main: b, arguments, line 10" in done.stdout
    assert "match_cast, line 12" not in done.stdout
    assert "RX0503" in done.stderr
    quiet = rxe_cli(
        "shapes", program, "--run", "--shape", "n=2", "--shape", "m=4", "--shape", "k=3", "--format", "json"
    )
    assert quiet.exit_code == 2, "as for `run`: an input of the callee is wrong"
    assert json.loads(quiet.stdout)["run"]["places"][0]["kind"] == "parameters"


def test_the_sample_of_partly_known_shapes_shows_what_it_says(tmp_path: Path) -> None:
    path = sample("samples/partly_known.py")
    told = rxe_cli("shapes", path).stdout
    assert [line.split("remains ")[1].strip() for line in told.splitlines() if "remains" in line] == [
        "images.shape[2] == 28    (match_cast: images)"
    ]
    assert rxe_cli("check", path).exit_code == output.OK
    lowered = rxe_cli("opt", path, "-p", "LowerWildcards").stdout
    assert "any_dim" not in lowered
    assert rxe.structural_equal(rxe.parse(lowered), rxe.parse(rxe.parse(lowered).script()))
    np.save(tmp_path / "images.npy", np.ones((2, 28, 28), np.float32))
    ran = rxe_cli("run", path, "--input", f"images={tmp_path / 'images.npy'}", "--input", "weight=ones")
    assert ran.exit_code == output.OK
    np.save(tmp_path / "images.npy", np.ones((2, 28, 27), np.float32))
    refused = rxe_cli("run", path, "--input", f"images={tmp_path / 'images.npy'}", "--input", "weight=ones")
    assert "RX0503" in refused.stderr


def test_a_list_of_implementations_is_chosen_from(tmp_path: Path) -> None:
    path = tmp_path / "list.shapes"
    text = (
        "@mm_16 = fn(x : Tensor([16, 16], int8), y : Tensor([16, 16], int8)) : Tensor([16, 16], int8) { @matmul(x, y) }\n"
        "@mm_any = fn(x : Tensor([m, k], d), y : Tensor([k, n], d)) : Tensor([m, n], d) { @matmul(x, y) }\n"
        "@mm = [@mm_16, @mm_any]\n"
        "let a : Tensor([16, 16], int8) = ..;\nlet b = @mm(a, a);\nlet c : Tensor([n, 16], int8) = ..;\nlet e = @mm(c, a)\n"
    )
    path.write_text(text)
    told = rxe_cli("shapes", str(path)).stdout
    assert "  line 5    @mm is @mm_16\n  line 7    @mm is @mm_any\n" in told
    assert [
        row["implementation"]
        for row in json.loads(rxe_cli("shapes", str(path), "--format", "json").stdout)["chosen"]
    ] == ["mm_16", "mm_any"]
    fits, other = (rxe_cli("run", str(path), "--shape", f"n={n}") for n in (16, 4))
    assert "@mm is @mm_16\n" in fits.stderr
    assert "@mm is @mm_any\n" not in fits.stderr, "the lengths of the run fit the specific one, too"
    assert "@mm is @mm_16\n@mm is @mm_any\n" in other.stderr
    values = [dict(line.split(": ", 1) for line in run.stdout.splitlines()) for run in (fits, other)]
    assert values[0]["b"] == values[1]["b"]
    path.write_text(text.replace("[@mm_16, @mm_any]", "[@mm_any, @mm_16]"))
    told = rxe_cli("shapes", str(path)).stderr
    assert "order violates specificity: @mm_any asserts no more than @mm_16, which stands behind it" in told


def test_implementations_in_the_wrong_order_are_told_once_with_both_places(tmp_path: Path) -> None:
    path = tmp_path / "order.shapes"
    text = "@any = fn(x : Tensor([n], int8)) : Tensor([n], int8) { <body> }\n@small = fn(x : Tensor([4], int8)) : Tensor([4], int8) { <body> }\n"
    path.write_text(text + "@f = [@any, @small]\nlet a : Tensor([4], int8) = ..; let b = @f(a)\n")
    for command in ("check", "shapes"):
        told = rxe_cli(command, str(path))
        assert (told.exit_code, told.output.count("RX0614")) == (0, 1), command
        assert f"{path}:1:1" in told.output
        assert "2 | @small" in told.output
    path.write_text(text + "@f = [@small, @any]\n")
    assert "RX0614" not in rxe_cli("check", str(path)).output


def test_data_tell_the_nested_function_of_a_check(tmp_path: Path) -> None:
    path = tmp_path / "nested.py"
    path.write_text(
        """@R.function
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    @R.function
    def outer(y: R.Tensor((n,), "float32")):
        @R.function
        def inner(z: R.Tensor((n,), "float32")) -> R.Tensor((3,), "float32"):
            c = R.match_cast(z, R.Tensor((4,), "float32"))
            return z
        return y
    c = R.match_cast(x, R.Tensor((4,), "float32"))
    return c
"""
    )
    rows = json.loads(rxe_cli("shapes", str(path), "--format", "json").stdout)["checks"]
    within = {(row["line"], row["kind"]): row["within"] for row in rows}
    assert within == {
        (2, "parameters"): [],
        (5, "parameters"): ["outer"],
        (7, "parameters"): ["outer", "inner"],
        (7, "result"): ["outer", "inner"],
        (8, "match_cast"): ["outer", "inner"],
        (11, "match_cast"): [],
    }


def test_relay_programs_have_a_command_of_their_own(tmp_path: Path) -> None:
    program = tmp_path / "one.relay"
    program.write_text("add(1, 2)\n")
    done = rxe_cli("shapes", str(program))
    assert done.exit_code == 2
    assert "`relax-explorer relations` solves its types" in done.stderr
    program.write_text("def @g(%a : Tensor[(n, 2), int8]) { %a }\n@g(Constant(1, (4, 2), int8))\n")
    done = rxe_cli("relations", str(program))
    assert (done.exit_code, done.stderr.count("warning[RX0606]")) == (1, 1)
    assert "one.relay:2:4" in done.stderr


OWN = """import relax_explorer as rxe
@rxe.extensions.relation("test.Twice")
def twice(types, inputs, attrs, solver):
    data, result = types
    return solver.unify(result, rxe.extensions.TensorType((data.shape[0] * 2, *data.shape[1:]), data.dtype))
"""


@pytest.mark.parametrize("command", ["relations", "run", "debug"])
def test_a_file_with_relations_of_ones_own_is_executed_before_a_notation_is_read(
    command: str, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN.replace("test.Twice", f"Twice_{command}"))
    path = tmp_path / "own.relay"
    path.write_text(
        f"def @twice(%x : Tensor[(4,), int8]) -> Tensor[(8,), int8] where Twice_{command} {{ concatenate((%x, %x), axis=0) }}\n"
        "@twice(Constant(1, (4,), int8))\n"
    )
    (tmp_path / "keys.txt").write_text("continue\n")
    script = ("--script", str(tmp_path / "keys.txt")) if command == "debug" else ()
    done = rxe_cli(command, str(path), "--packed", str(tmp_path / "own.py"), *script)
    assert done.exit_code == output.OK
    assert "(8,)" in done.stdout
    rxe.extensions.forget(f"Twice_{command}")
