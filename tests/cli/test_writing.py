"""Commands write files whole or not at all, keep modes and links, and check targets before the work."""

from __future__ import annotations

import ast
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from relax_explorer.ui.cli.main import group
from relax_explorer.ui.files import CannotWrite, target
from tests.support.module_sizes import PACKAGE, ROOT

PROGRAM = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.add(x, x)\n    return y\n'
WRITERS = {"opt": "--output", "graph": "--output", "run": "--output", "run trace": "--trace"}

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    return path


def written(command: str, program: Path, to: object) -> Result:
    return CliRunner().invoke(group, [command.split()[0], str(program), WRITERS[command], str(to)])


@pytest.mark.parametrize("command", WRITERS)
def test_mode_and_symlink_stay(command: str, program: Path, tmp_path: Path) -> None:
    kept = tmp_path / "deep" / "kept"
    kept.parent.mkdir()
    kept.write_text("old")
    kept.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to("deep/kept")
    done = written(command, program, link)
    assert done.exit_code == 0, done.output
    assert link.is_symlink()
    assert kept.read_bytes() not in (b"", b"old")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "link", "p.py"]
    assert [path.name for path in kept.parent.iterdir()] == ["kept"]


@pytest.mark.parametrize("command", WRITERS)
def test_a_dangling_symlink_is_followed_and_a_hard_link_stays_one(
    command: str, program: Path, tmp_path: Path
) -> None:
    (tmp_path / "dangling").symlink_to("new")
    assert written(command, program, tmp_path / "dangling").exit_code == 0
    assert (tmp_path / "new").stat().st_size > 0
    assert (tmp_path / "dangling").is_symlink()
    os.link(tmp_path / "new", tmp_path / "twin")
    (tmp_path / "new").write_text("old")
    assert written(command, program, tmp_path / "new").exit_code == 0
    assert (tmp_path / "new").samefile(tmp_path / "twin")
    assert (tmp_path / "twin").read_bytes() != b"old"


@pytest.mark.parametrize("command", WRITERS)
def test_a_pipe_and_a_device_are_written_in_place(command: str, program: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert written(command, program, pipe).exit_code == 0
    reader.join(10)
    assert got
    assert got[0]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert written(command, program, "/dev/null").exit_code == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("command", WRITERS)
def test_a_planted_temporary_file_is_not_followed(command: str, program: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for planted in (".out.part", "out.part", ".out.tmp"):
        (tmp_path / planted).symlink_to(victim)
    assert written(command, program, tmp_path / "out").exit_code == 0
    assert victim.read_text() == "precious"


def _folder(path: Path) -> object:
    return path


def _below_nothing(path: Path) -> object:
    return path / "missing" / "out"


def _empty(_: Path) -> object:
    return ""


def _loop(path: Path) -> object:
    (path / "loop").symlink_to("loop")
    return path / "loop"


def _below_a_file(path: Path) -> object:
    return path / "p.py" / "out"


def _trailing(path: Path) -> object:
    return f"{path}/new/"


def _long(path: Path) -> object:
    return path / ("x" * 300)


@pytest.mark.parametrize("command", WRITERS)
@pytest.mark.parametrize(
    "place",
    [_folder, _below_nothing, _empty, _loop, _below_a_file, _trailing, _long],
    ids=lambda f: f.__name__,
)
def test_a_target_that_cannot_be_is_refused_before_the_work(
    command: str,
    place: Callable[[Path], object],
    program: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr("relax_explorer.ui.cli.opening.build_at", never)
    before = sorted(tmp_path.rglob("*"))
    to = place(tmp_path)
    done = written(command, program, to)
    assert done.exit_code == 2, (done.output, done.exception)
    assert "written" in done.stderr or "empty" in done.stderr
    assert [p for p in sorted(tmp_path.rglob("*")) if p.name != "loop"] == before


def test_the_results_of_run_are_in_the_file_that_was_named(program: Path, tmp_path: Path) -> None:
    assert written("run", program, tmp_path / "results").exit_code == 0
    with np.load(tmp_path / "results") as found:
        assert found.files == ["out0"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.py", "results"]
    assert CliRunner().invoke(group, ["run", str(program), "-o", "-"]).exit_code == 2


def test_a_failure_in_the_middle_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def half() -> None:
        with target(str(path)).opened() as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["out"]


def test_a_target_that_went_away_is_a_sentence(program: Path, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    goal = target(str(tmp_path / "gone" / "out"))
    (tmp_path / "gone").rmdir()
    with pytest.raises(CannotWrite, match="can't be written"):
        goal.write(b"")


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_file_that_is_not_writable_is_refused(program: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.write_text("old")
    locked.chmod(0o400)
    assert written("opt", program, locked).exit_code == 2
    assert locked.read_text() == "old"


def test_standard_output_has_a_name(program: Path) -> None:
    assert "def main" in CliRunner().invoke(group, ["opt", str(program), "-o", "-"]).stdout


WRITES = {"write_text", "write_bytes", "savez", "save", "tofile", "fdopen"}
MAY_WRITE = {
    "relax_explorer/ui/files.py",  # the writer
    "relax_explorer/ui/process.py",  # a report in the user's own folder
}


def test_one_module_writes() -> None:
    """Only one module of the user interface writes files; the core writes kernels to its cache only."""
    found = []
    for path in [*(PACKAGE / "ui").rglob("*.py"), *(PACKAGE / "viz").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                opens = node.func.attr == "open" and any(
                    isinstance(a, ast.Constant) and isinstance(a.value, str) and set(a.value) & set("wax+")
                    for a in node.args
                )
                saves = node.func.attr in WRITES and owner not in ("output",)
                if (opens or saves) and path.relative_to(ROOT).as_posix() not in MAY_WRITE:
                    found.append(f"{path.name}:{node.lineno}: {ast.unparse(node)[:60]}")
    assert [item for item in found if "np.savez(held" not in item] == []
