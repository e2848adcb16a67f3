"""Settings come from files and the environment, and the command line overrides them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from relax_explorer.core.session.command import Argument
from relax_explorer.ui import directories
from relax_explorer.ui.cli.main import group
from relax_explorer.ui.commands import COMMANDS
from relax_explorer.ui.config import BadConfig, settings

# An error by the specification, a warning for TVM.
PROGRAM = '@R.function\ndef f(o: R.Object):\n    y: R.Tensor((2,), "float32") = o\n    return y\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p.py").write_text(PROGRAM)
    inside = tmp_path / "deep" / "er"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    monkeypatch.setattr(directories, "config", lambda: tmp_path / "user.toml")
    return tmp_path


def check(folder: Path, *arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(group, [*arguments, "check", str(folder / "p.py")], env=environment)


def test_without_settings_the_specification_decides(folder: Path) -> None:
    assert check(folder).exit_code == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("relax-explorer.toml", 'profile = "tvm"'),
        ("relax-explorer.toml", '[check]\nprofile = "tvm"'),
        ("pyproject.toml", '[tool.relax-explorer]\nprofile = "tvm"'),
        ("user.toml", 'profile = "tvm"'),
    ],
)
def test_a_file_above_sets_the_profile(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    assert check(folder).exit_code == 0
    assert check(folder, "--isolated").exit_code == 1


SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@pytest.mark.parametrize(
    "call", ["show broken_build", "shapes broken_build", "run broken_build --input randn:0", "bisect broken_build",
    "shapes shapes/fast_flatten.shapes"],
)  # fmt: skip
def test_passes_of_the_settings_leave_builds_and_other_notations_as_they_are(folder: Path, call: str) -> None:
    command, path, *more = call.split()
    arguments = [command, str(SAMPLES / path), *more]
    plain = CliRunner().invoke(group, arguments)
    (folder / "relax-explorer.toml").write_text('passes = "default"')
    done = CliRunner().invoke(group, arguments)
    assert (done.exit_code, done.stdout) == (plain.exit_code, plain.stdout)
    assert CliRunner().invoke(group, [*arguments, "-p", "FuseOps"]).exit_code == 2


def test_the_environment_and_what_is_typed_win(folder: Path) -> None:
    (folder / "relax-explorer.toml").write_text('profile = "spec"')
    assert check(folder, RXE_CHECK_PROFILE="tvm").exit_code == 0
    typed = CliRunner().invoke(
        group, ["check", "--profile", "spec", str(folder / "p.py")], env={"RXE_CHECK_PROFILE": "tvm"}
    )
    assert typed.exit_code == 1


def test_the_nearest_file_wins(folder: Path) -> None:
    (folder / "user.toml").write_text('profile = "spec"')
    (folder / "relax-explorer.toml").write_text('profile = "tvm"')
    assert check(folder).exit_code == 0


def test_a_changed_file_is_read_anew(folder: Path) -> None:
    for profile, status in (("tvm", 0), ("spec", 1)):
        (folder / "relax-explorer.toml").write_text(f'profile = "{profile}"')
        assert check(folder).exit_code == status


def test_a_named_file_replaces_the_others(folder: Path) -> None:
    (folder / "relax-explorer.toml").write_text('profile = "tvm"')
    (folder / "other.toml").write_text('profile = "spec"')
    assert check(folder, "--config", str(folder / "other.toml")).exit_code == 1


def test_an_unknown_key_is_a_warning_with_the_nearest(folder: Path) -> None:
    (folder / "relax-explorer.toml").write_text('[check]\nprofil = "tvm"')
    result = check(folder)
    assert "did you mean 'check.profile'" in result.stderr
    assert result.exit_code == 1


@pytest.mark.parametrize("text", ["profile = ", 'profile = "nobody"'])
def test_a_broken_file_is_a_usage_error(folder: Path, text: str) -> None:
    (folder / "relax-explorer.toml").write_text(text)
    result = check(folder)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("text", "status"),
    [('ignore = ["RX02", "RX0301"]', 0), ('ignore = "RX03"', 0), ('[check]\nignore = ["RX03"]', 0), ('ignore = ["RXX"]', 2),
     ('ignore = "nothing"', 2), ("ignore = 3", 2), ("ignore = [3]", 2), ("ignore = [[]]", 2), ("ignore = true", 2),
     ('[check]\nignore = {a = 1}', 2), ('profile = ["tvm"]', 2), ("profile = 1979-05-27", 2), ('[check]\nselect = ["RX0301"]', 0)],
)  # fmt: skip
def test_lists_are_taken_where_names_are_and_other_values_refused(
    folder: Path, text: str, status: int
) -> None:
    (folder / "relax-explorer.toml").write_text(text)
    (folder / "unused.py").write_text(UNUSED)
    done = CliRunner().invoke(group, ["check", str(folder / "unused.py")])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.exit_code == status, done.output
    if status == 0:
        assert ("RX03" in done.stdout) == ("select" in text)


UNUSED = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.add(x, x)\n    return x\n'


def test_settings_of_options_that_are_given_several_times(folder: Path) -> None:
    (folder / "relax-explorer.toml").write_text('[run]\nshape = "n=2"\n')
    assert settings(Path.cwd())[0]["run"] == {"shape": ["n=2"]}
    (folder / "relax-explorer.toml").write_text(
        '[opt]\npasses = ["CanonicalizeBindings", "LegalizeOps"]\nno-verify-each = true\n'
    )
    assert settings(Path.cwd())[0]["opt"] == {
        "passes": "CanonicalizeBindings,LegalizeOps",
        "no_verify_each": True,
    }
    (folder / "relax-explorer.toml").write_text('[opt]\nno-verify-each = "yes"\n')
    with pytest.raises(BadConfig, match="true or false"):
        settings(Path.cwd())


PATHS = [
    (item.name, a)
    for item in COMMANDS
    for a in item.arguments
    if a.is_personal and not a.is_typed and not a.positional
]


@pytest.mark.parametrize("name", ["relax-explorer.toml", "pyproject.toml"])
@pytest.mark.parametrize(("command", "argument"), PATHS, ids=[f"{c}.{a.key}" for c, a in PATHS])
@pytest.mark.parametrize("everywhere", [True, False])
def test_a_file_found_in_a_folder_sets_no_path(
    folder: Path, name: str, command: str, argument: Argument, everywhere: bool
) -> None:
    head = "tool.relax-explorer" if name == "pyproject.toml" else ""
    table = head if everywhere else f"{head}.{command}".lstrip(".")
    (folder / name).write_text((f"[{table}]\n" if table else "") + f'{argument.name[2:]} = "{folder}/victim"')
    merged, remarks = settings(Path.cwd())
    assert not any(merged.values())
    assert len(remarks) == 1
    assert "does not choose paths" in remarks[0]
    own = folder / "own.toml"
    own.write_text(f'[{command}]\n{argument.name[2:]} = "there"')
    assert settings(Path.cwd(), own)[0][command] == {argument.key: "there"}


def test_opt_writes_nowhere_for_a_file_found_above(folder: Path) -> None:
    victim = folder / "victim"
    victim.write_text("precious")
    (folder / "relax-explorer.toml").write_text(f'[opt]\noutput = "{victim}"')
    (folder / "fine.py").write_text("@R.function\ndef f(x: R.Object):\n    return x\n")
    done = CliRunner().invoke(group, ["opt", str(folder / "fine.py")])
    assert done.exit_code == 0
    assert "def f" in done.stdout
    assert "'opt.output' is ignored" in done.stderr
    assert victim.read_text() == "precious"


def test_options_that_write_or_read_files_say_so() -> None:
    """A new option that writes takes a `Target`, which only the kind `target` creates; its help text reveals it."""
    for item in COMMANDS:
        for argument in item.arguments:
            names_a_file = "FILE" in argument.metavar or "write" in argument.doc or "save" in argument.doc
            if names_a_file and not argument.positional:
                assert argument.is_personal, f"{item.name} {argument.name}"
            assert argument.kind in KINDS, f"{item.name} {argument.name}"


KINDS = {
    "address",
    "text",
    "optional",
    "int",
    "float",
    "flag",
    "watch",
    "permission",
    "choice",
    "form",
    "passes",
    "codes",
    "stage",
    "subject",
    "source",
    "sources",
    "target",
    "pair",
    "many",
    "code",
    "interpreter",
}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "tool = 3"),
        ("pyproject.toml", "[tool]\nrelax-explorer = 3"),
        ("relax-explorer.toml", f"profile = {'[' * 5000}{']' * 5000}"),
        ("pyproject.toml", f"profile = {'{a = ' * 5000}1{'}' * 5000}"),
    ],
)
def test_odd_settings_end_in_a_sentence(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    done = check(folder)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.exit_code == 2
    assert name in done.stderr
