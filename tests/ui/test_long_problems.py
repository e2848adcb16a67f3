"""A long problem is read whole in 80 columns, and a changed result of a function in one look."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.ui.tui.rows import problem_rows
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.table_diff import TableDiff


def test_a_long_message_has_all_its_words() -> None:
    message = " ".join(f"word{number}" for number in range(40))
    shown = [row.text for row in problem_rows(Diagnostic(codes.CONTRADICTED, message))][:-1]
    told = [line for line in shown if "word" in line]
    assert len(told) > 3
    assert all(len(line) <= 76 for line in told)
    assert " ".join(line.strip() for line in told).endswith(message)


def test_a_long_note_and_a_long_hint_have_all_their_words() -> None:
    note, hint = (" ".join(f"{kind}{number}" for number in range(20)) for kind in ("note", "hint"))
    problem = Diagnostic(codes.CONTRADICTED, "short", notes=(note,), help=hint)
    shown = [row.text for row in problem_rows(problem)]
    assert all(len(line) <= 76 for line in shown)
    whole = " ".join(line.strip() for line in shown)
    assert f"note: {note}" in whole
    assert f"hint: {hint}" in whole
    assert sum(line.startswith("    ") for line in shown) >= 2


def test_a_short_message_has_one_line() -> None:
    assert problem_rows(Diagnostic(codes.CONTRADICTED, "short"))[0].text == "error[RX0223]: short"


PROGRAM = """@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    y = R.add(x, x)
    return y
"""


def test_a_changed_result_of_a_function_has_one_arrow(tmp_path: Path) -> None:
    (tmp_path / "00_input.py").write_text(PROGRAM)
    (tmp_path / "01_Pass.py").write_text(PROGRAM.replace('-> R.Tensor(("n",), "float32")', "-> R.Object"))
    session = RecordedSession(open_build(tmp_path))
    session.run_all()
    old, new = [IrTable(stage) for stage in session.stages]
    infos = [row.right for row in TableDiff(old, new, session.diff(0, 1)) if "(was" in row.right]
    assert len(infos) == 1
    assert infos[0].startswith("→ object (was ")
    assert infos[0].count("→") == 1
