"""`cost`: the table of stages, columns of lengths, parts, the chart, and the same as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relax_explorer.viz.cost_text import bytes_text, change_text, number_text
from tests.cli.test_commands import rxe_cli
from tests.support.corpus import MODELS

LLAMA = str(MODELS[1].directory / "00_input.py")
BUILD = str(MODELS[1].directory)
SAMPLE = Path(__file__).resolve().parent.parent.parent / "samples" / "12_transformer_layer.py"


def asked(*arguments: str) -> list[str]:
    """The lines of a call that ends well."""
    done = rxe_cli("cost", *arguments)
    assert done.exit_code == 0, done.stderr
    return str(done.stdout).splitlines()


def test_the_summary_has_expressions_and_the_table_a_row_for_each_stage_that_differs() -> None:
    lines = asked(LLAMA, "-p", "zero,default_build", "--shape", "b=1", "--no-chart")
    assert lines[0].startswith("forward: 312·b·s² + 45,327·b·s FLOPs · 93.1 KiB of parameters · peak memory ")
    assert lines[1].split() == [
        "b",
        "=",
        "1,",
        "s",
        "=",
        "16",
        "b",
        "=",
        "1,",
        "s",
        "=",
        "128",
        "b",
        "=",
        "1,",
        "s",
        "=",
        "1,024",
    ]
    # 312·16² + 45,327·16, 312·128² + 45,327·128, 312·1,024² + 45,327·1,024
    assert lines[2].split()[:7] == ["FLOPs", "805", "k", "10.9", "M", "374", "M"]
    assert sum(line.startswith("FLOPs  ") for line in lines) == 1
    moved = lines[lines.index(next(line for line in lines if line.startswith("bytes moved"))) :]
    assert "(−38 %)" in moved[2]
    assert moved[2].endswith("stage 5 FuseTIR")
    assert any("StaticPlanBlockMemory" in line for line in lines)
    assert any("above the lower bound" in line for line in lines)


def test_lengths_of_several_variables_make_columns() -> None:
    both = asked(LLAMA, "--shape", "b=1,2", "--shape", "s=8", "--no-chart")
    again = asked(LLAMA, "--shape", "b=1", "--shape", "s=8", "--shape", "b=2", "--no-chart")
    assert both == again
    assert both[1].split() == ["b", "=", "1,", "s", "=", "8", "b", "=", "2,", "s", "=", "8"]
    # (312·64 + 45,327·8) · 1 and · 2
    assert both[2].split()[1:5] == ["383", "k", "765", "k"]


def test_a_build_of_tvm_is_told_stage_by_stage() -> None:
    lines = asked(BUILD, "--shape", "b=1", "--shape", "s=128")
    assert any(line.endswith("stage 12 FuseTIRInner") for line in lines)
    assert any(line.endswith("stage 26 StaticPlanBlockMemory") for line in lines)


def test_one_stage_can_be_chosen() -> None:
    lines = asked(BUILD, "--stage", "4")
    assert not any("FuseTIR" in line for line in lines)


def test_the_chart_peaks_where_the_table_says() -> None:
    lines = asked(str(SAMPLE), "--shape", "b=1", "--shape", "s=128")
    title = next(line for line in lines if line.startswith("memory over the bindings"))
    assert title == "memory over the bindings (b = 1, s = 128), peak 520 KiB at 14"
    chart = lines[lines.index(title) + 1 :]
    assert len(chart) == 5
    top = chart[0].partition("┤")[2]
    assert set(top) <= set(" ▁▂▃▄▅▆▇█")
    assert "█" in top
    step = 1 + (top.index("█") * 24) // len(chart[-1].partition("└")[2])
    assert step == 14


def test_bindings_add_up_to_the_whole() -> None:
    done = rxe_cli(
        "cost", str(SAMPLE), "--shape", "b=2", "--shape", "s=16", "--by", "binding", "--format", "json"
    )
    data = json.loads(done.stdout)
    parts, whole = data["parts"], data["stages"][0]
    for name in ("flops", "functions", "read", "written"):
        assert sum(part[name]["value"] for part in parts) == whole[name]["values"][0]
    assert data["lengths"] == [{"b": 2, "s": 16}]
    assert max(data["memory"]) == whole["peaks"][0]["value"]
    assert data["memory"].index(max(data["memory"])) + 1 == whole["peaks"][0]["binding"]
    assert sum(holder["value"] for holder in whole["peaks"][0]["holders"]) == whole["peaks"][0]["value"]


def test_layers_that_repeat_have_a_row_each(tmp_path: Path) -> None:
    layer = "\n".join(
        f"    a{n} = R.matmul(x{n}, w{n})\n    b{n} = R.nn.gelu(a{n})\n    c{n} = R.add(b{n}, x{n})\n    x{n + 1} = R.nn.softmax(c{n})"
        for n in range(4)
    )
    weights = ", ".join(f'w{n}: R.Tensor((8, 8), "float32")' for n in range(4))
    text = f'@R.function\ndef main(x0: R.Tensor(("n", 8), "float32"), {weights}):\n{layer}\n    return x4\n'
    (tmp_path / "m.py").write_text(text)
    data = json.loads(rxe_cli("cost", str(tmp_path / "m.py"), "--by", "layer", "--format", "json").stdout)
    names = [part["name"] for part in data["parts"]]
    assert names == [f"layer {n} of 4" for n in (1, 2, 3, 4)]
    assert len({part["flops"]["expression"] for part in data["parts"]}) == 1


def test_functions_are_counted_for_their_own_lengths(tmp_path: Path) -> None:
    text = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((3, 4), "float32")):
        y = M.helper(x)
        return y

    @R.function(private=True)
    def helper(x: R.Tensor(("k", 4), "float32")) -> R.Tensor(("k", 4), "float32"):
        z = R.exp(x)
        return z
"""
    (tmp_path / "m.py").write_text(text)
    lines = asked(str(tmp_path / "m.py"), "--by", "function", "--no-chart")
    rows = {line.split()[0]: line for line in lines if line.startswith(("main ", "helper "))}
    assert rows["main"].split()[1] == "12"
    assert rows["helper"].endswith("4·k")


def test_ascii_writes_powers_apart_from_numbers() -> None:
    lines = asked(LLAMA, "--ascii")
    assert "312*b*s^2 + 45,327*b*s FLOPs" in lines[0]
    assert all(line.isascii() for line in lines)


def test_branches_stand_in_the_share_of_their_if() -> None:
    line = next(line for line in asked(str(SAMPLE.parent / "05_if.py")) if "most FLOPs" in line)
    shares = [int(word) for word in line.replace("%,", "%").split() if word.isdecimal()]
    assert sum(shares) == 100
    assert "If 50 %" in line


def test_a_column_of_the_chart_has_the_most_of_its_bindings(tmp_path: Path) -> None:
    lines = [f"    a{n} = R.exp({f'a{n - 1}' if n else 'x'})" for n in range(300)]
    lines.insert(150, "    t = R.split(R.concat((x, x, x, x, x, x, x, x)), 8)")
    text = (
        '@R.function\ndef main(x: R.Tensor((64,), "float32")):\n' + "\n".join(lines) + "\n    return a299\n"
    )
    (tmp_path / "m.py").write_text(text)
    chart = asked(str(tmp_path / "m.py"))[-5:]
    assert chart[0].partition("┤")[2].strip(), "the highest row is empty: a column lost its peak"
    assert len(chart[0].partition("┤")[2].strip()) <= 2


def test_what_is_not_known_is_told(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        '@R.function\ndef main(x: R.Tensor(("n",), "float32")):\n    y = R.unique(x)\n    return y\n'
    )
    lines = asked(str(tmp_path / "m.py"))
    assert "  not counted: FLOPs of relax.unique" in lines
    assert lines[0].startswith("main: 0 + ? FLOPs")
    assert lines[0].endswith("peak memory 0 + ? bytes")
    assert next(line for line in lines if line.startswith("FLOPs ")).split()[1] == "0+?"
    assert "0 B+?" in next(line for line in lines if line.startswith("peak of memory"))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "?"),
        (0, "0"),
        (999, "999"),
        (1000, "1 k"),
        (12_345, "12.3 k"),
        (3_100_000, "3.1 M"),
        (-1500, "-1.5 k"),
    ],
)
def test_numbers_have_three_digits(number: int | None, text: str) -> None:
    assert number_text(number) == text


def test_bytes_are_binary_and_changes_are_percent() -> None:
    assert bytes_text(1536) == "1.5 KiB"
    assert [change_text(100, 69), change_text(100, 131), change_text(7, 7), change_text(None, 1), change_text(0, 5)] == [
        " (−31 %)", " (+31 %)", "", "", "",
    ]  # fmt: skip
    assert change_text(100_000, 99_999) == " (−0.1 %)"
