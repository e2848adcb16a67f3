"""`record` on real builds: what TVM ran is a build here, its answers and statuses are those without a recorder, and no failure reaches it."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from relax_explorer import recorder
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.containers import open_container
from relax_explorer.core.session.stages import Kind
from relax_explorer.ui.cli.recorded_child import default_name
from tests.cli.test_commands import rxe_cli
from tests.support.oracle import ROOT, Oracle

BUILD = """
import sys
import tvm
from tests.builds import models
module = models.{model}()[0]
with tvm.target.Target("llvm"), tvm.transform.PassContext(opt_level=3):
    executable = tvm.compile(module, target="llvm")
"""
SMALL = """
import tvm
from tests.builds import models
module = models.expression()[0]
"""


@pytest.fixture(autouse=True)
def _tvm() -> None:
    if not Oracle.is_installed():
        pytest.skip("TVM is not installed")


def recorded(
    folder: Path, script: str, *options: str, python: tuple[str, ...] = (sys.executable,), **more: object
) -> subprocess.CompletedProcess[str]:
    """The end of `record` on a script in a folder."""
    (folder / "build.py").write_text(textwrap.dedent(script))
    command = [sys.executable, "-m", "relax_explorer", "record", *options, "--", *python, "build.py"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TVM_LOG_DEBUG": ""}
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=200, **more
    )


@pytest.mark.parametrize("model", ["cnn", "decoder"])
def test_a_real_build_is_recorded_as_its_passes_were_nested(model: str, tmp_path: Path) -> None:
    done = recorded(tmp_path, BUILD.format(model=model))
    assert done.returncode == 0, done.stderr
    last = done.stderr.splitlines()[-2:]
    assert last[0].startswith("recorded 79 passes (2")
    assert last[0].endswith("s over the build; exit status 0")
    assert ", 1 helper module; " in last[0]
    assert last[1] == "open it: rxe build.rxs"
    build = open_build(tmp_path / "build.rxs")
    names = [stage.made_by for stage in build.stages]
    assert names[:6] == [
        "input",
        "NormalizeGlobalVar",
        "DispatchSampling",
        "NormalizeGlobalVar",
        "DispatchSortScan",
        "LegalizeOps",
    ]
    assert names[-1] == "AttachGlobalSymbol"
    found = [(item.kind, item.numbers, item.of) for item in build.asides]
    assert found == [
        (Kind.HELPER, "15–16", "ComputePrimValue"),
        (Kind.MANAGER, "20–21", ""),
        (Kind.KERNELS, "22–80", ""),
    ]
    assert [item.recorded.run_by for item in build.stages[:3] if item.recorded is not None] == [
        "build.py:7",
        "build.py:7 › _pipeline › sequential › DispatchSampling",
        "build.py:7 › _pipeline › sequential",
    ]
    assert all(stage.module.functions for stage in build.stages)


def test_a_recording_says_what_a_dump_of_the_same_build_says(tmp_path: Path) -> None:
    """TVM's own DumpIR, in the same context: its texts lack the metadata alone."""
    script = BUILD.format(model="cnn").replace("opt_level=3", 'opt_level=3, instruments=[DumpIR("dumps")]')
    done = recorded(tmp_path, "from tvm.ir.instrument import DumpIR\n" + script)
    assert done.returncode == 0, done.stderr
    ours = [
        stage
        for stage in open_build(tmp_path / "build.rxs").every
        if not getattr(stage.recorded, "is_input", True)
    ]
    theirs = open_build(tmp_path / "dumps").every
    assert len(ours) == len(theirs) == 79
    texts = [stage.text.rpartition('}""")\n')[2].strip() for stage in ours]
    host = ours.index(next(stage for stage in ours if stage.made_by == "tirx.MakePackedAPI"))
    assert texts[:host] == [stage.text.strip() for stage in theirs[:host]]


SCRIPTS = {
    "a pass without a context": "tvm.relax.transform.LegalizeOps()(module)",
    "a context of its own": "with tvm.transform.PassContext(opt_level=1): tvm.relax.transform.LegalizeOps()(module)",
    "a thread": "import threading\nt = threading.Thread(target=lambda: tvm.relax.transform.LegalizeOps()(module))\nt.start()\nt.join()",
    "other instruments later": "with tvm.transform.PassContext() as c:\n c.override_instruments([])\n tvm.relax.transform.LegalizeOps()(module)",
    "a fork": "import os\npid = os.fork()\nif not pid:\n    tvm.relax.transform.LegalizeOps()(module)\n    os._exit(0)\nos.waitpid(pid, 0)",
    "a child": 'import subprocess, sys\nsubprocess.run([sys.executable, "-c", "import tvm; from tests.builds import models\\n'
    'tvm.relax.transform.LegalizeOps()(models.expression()[0])"], check=True)',
    "exec": 'import os, sys\nos.execv(sys.executable, [sys.executable, "-c", "import tvm; from tests.builds import models\\n'
    'tvm.relax.transform.LegalizeOps()(models.expression()[0])"])',
    "os._exit": "tvm.relax.transform.LegalizeOps()(module)\nimport os\nos._exit(0)",
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_way_to_run_a_pass_is_recorded(name: str, tmp_path: Path) -> None:
    done = recorded(tmp_path, SMALL + SCRIPTS[name])
    assert done.returncode == 0, done.stderr
    assert "recorded 1 pass (1 changed)" in done.stderr
    assert [stage.made_by for stage in open_build(tmp_path / "build.rxs").stages] == ["input", "LegalizeOps"]
    assert sorted(item.name for item in tmp_path.iterdir()) == ["build.py", "build.rxs"]


def test_a_context_inside_of_a_pass_is_recorded(tmp_path: Path) -> None:
    script = (
        SMALL
        + """
@tvm.transform.module_pass(opt_level=0, name="Outer")
def outer(mod, ctx):
    with tvm.transform.PassContext(opt_level=1):
        return tvm.relax.transform.LegalizeOps()(mod)
outer(module)
"""
    )
    done = recorded(tmp_path, script)
    assert done.returncode == 0, done.stderr
    build = open_build(tmp_path / "build.rxs")
    assert [stage.made_by for stage in build.every] == ["input", "LegalizeOps", "Outer"]
    assert [stage.recorded.inside for stage in build.every if stage.recorded is not None] == [
        (),
        ("Outer",),
        (),
    ]


def test_processes_are_joined(tmp_path: Path) -> None:
    script = (
        SMALL + "tvm.relax.transform.LegalizeOps()(module)\n" + SCRIPTS["a child"] + "\n" + SCRIPTS["a fork"]
    )
    done = recorded(tmp_path, script)
    assert "recorded 3 passes (3 changed), in 3 processes" in done.stderr
    build = open_build(tmp_path / "build.rxs")
    assert ([str(stage) for stage in build.stages], len(build.every)) == (["0 input", "1 LegalizeOps"], 6)
    assert [item.kind for item in build.asides] == [Kind.OTHER]


@pytest.mark.parametrize(
    ("ending", "status", "sentence"),
    [
        ("sys.exit(7)", 7, "exit status 7"),
        ("raise ValueError('no')", 1, "exit status 1"),
        ("os.kill(os.getpid(), 11)", 139, "ended by SIGSEGV"),
        ("os.kill(os.getpid(), 9)", 137, "ended by SIGKILL"),
    ],
)
def test_the_status_is_that_of_the_build(ending: str, status: int, sentence: str, tmp_path: Path) -> None:
    script = SMALL + f"import os, sys\ntvm.relax.transform.LegalizeOps()(module)\n{ending}"
    done = recorded(tmp_path, script, "--json-status", "status.json")
    assert done.returncode == status
    assert f"; {sentence}\n" in done.stderr
    told = json.loads((tmp_path / "status.json").read_text())
    assert (told["status"], told["passes"], told["schema"]) == (status, 1, "rxe.record/1")
    assert told["signal"] == (sentence.removeprefix("ended by ") if status > 128 else None)
    assert [stage.made_by for stage in open_build(tmp_path / "build.rxs").stages] == ["input", "LegalizeOps"]


def test_a_pass_that_fails_is_told_and_the_error_is_the_one_of_the_build(tmp_path: Path) -> None:
    script = (
        SMALL
        + """
@tvm.transform.module_pass(opt_level=0, name="Bad")
def bad(mod, ctx):
    tvm.relax.transform.LegalizeOps()(mod)
    raise ValueError("no way")
try:
    bad(module)
except ValueError as error:
    print("caught", error)
tvm.relax.transform.FuseOps()(module)
"""
    )
    done = recorded(tmp_path, script)
    assert "caught no way" in done.stdout
    build = open_build(tmp_path / "build.rxs")
    assert build.remarks == ("Bad failed (build.py:11): ValueError: no way",)
    assert [stage.made_by for stage in build.every] == ["input", "LegalizeOps", "FuseOps"] or len(
        build.every
    ) == 4


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--include", "Legalize*"), ["input", "LegalizeOps"]),
        (("--exclude", "[!L]*"), ["input", "LegalizeOps", "LowerAllocTensor", "LowerRuntimeBuiltin"]),
        (("--max-stages", "3"), ["input", "NormalizeGlobalVar", "DispatchSampling", "NormalizeGlobalVar"]),
    ],
)
def test_passes_are_chosen_by_name(options: tuple[str, ...], names: list[str], tmp_path: Path) -> None:
    done = recorded(tmp_path, BUILD.format(model="expression"), *options)
    assert done.returncode == 0, done.stderr
    assert [stage.made_by for stage in open_build(tmp_path / "build.rxs").stages] == names


def test_without_the_host_recording_stops_where_its_code_begins(tmp_path: Path) -> None:
    recorded(tmp_path, BUILD.format(model="expression"), "--no-host")
    names = [stage.made_by for stage in open_build(tmp_path / "build.rxs").every]
    assert ("tirx.SplitHostDevice" in names, "tirx.MakePackedAPI" in names, names[-1]) == (
        True,
        False,
        "tirx.SplitHostDevice",
    )


# -- what must not be disturbed --------------------------------------------------------------------------------------


def test_instruments_of_the_user_and_answers_are_as_without_a_recorder(tmp_path: Path) -> None:
    script = (
        SMALL
        + """
import numpy as np
from tvm import relax
from tvm.ir.instrument import PassTimingInstrument
timing = PassTimingInstrument()
with tvm.target.Target("llvm"), tvm.transform.PassContext(instruments=[timing]):
    executable = tvm.compile(module, target="llvm")
    print(len(timing.render().splitlines()))
machine = relax.VirtualMachine(executable, tvm.cpu())
print(machine["main"](tvm.runtime.tensor(np.full((2, 3), 2, "float32"))).numpy().tobytes().hex())
"""
    )
    done = recorded(tmp_path, script)
    plain = subprocess.run(
        [sys.executable, "build.py"], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == plain.stdout
    assert len(done.stdout.split()) == 2


def test_a_sitecustomize_of_the_user_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import sys\nsys.mark = __file__\n")
    (tmp_path / "build.py").write_text(
        "import sys\nprint(sys.mark, [p for p in sys.path if 'injected' in p], sys.modules['sitecustomize'].__file__)\n"
    )
    own = str(tmp_path / "site")
    command = [sys.executable, "-m", "relax_explorer", "record", "--", sys.executable, "build.py"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), own])}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [f"{own}/sitecustomize.py", "[]", f"{own}/sitecustomize.py"]


@pytest.mark.parametrize(
    ("python", "script", "reason"),
    [
        ((sys.executable, "-I"), "print(1)", "no Python process took the recorder: -I, -E and -S keep it out"),
        ((sys.executable,), "print(1)", "the command did not import TVM"),
        ((sys.executable,), "import tvm", "TVM was imported, but no pass ran"),
        ((sys.executable,), "import sys\nsys.path.clear()\ntry:\n    import tvm\nexcept ImportError:\n    pass",
         "has no TVM; install it there (pip install apache-tvm)"),
    ],
)  # fmt: skip
def test_a_build_without_tvm_gets_one_sentence(
    python: tuple[str, ...], script: str, reason: str, tmp_path: Path
) -> None:
    done = recorded(tmp_path, script, python=python)
    assert done.returncode == 3
    first = done.stderr.splitlines()[0]
    assert first.startswith("nothing was recorded: ")
    assert reason in first
    assert not list(tmp_path.glob("*.rxs*"))


def test_two_recordings_do_not_write_into_one_file(tmp_path: Path) -> None:
    (tmp_path / "build.rxs.journal").write_bytes(b"of another")
    done = recorded(tmp_path, SMALL)
    assert (done.returncode, "a recording is running, or ended early" in done.stderr) == (2, True)
    assert (tmp_path / "build.rxs.journal").read_bytes() == b"of another"


def test_a_full_disk_ends_the_recording_and_not_the_build(tmp_path: Path) -> None:
    def narrow() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    done = recorded(tmp_path, BUILD.format(model="cnn") + "print('built')\n", preexec_fn=narrow)
    assert "built" in done.stdout
    assert "recording ended: OSError: [Errno 27] File too large; the build goes on" in done.stderr
    build = open_build(tmp_path / "build.rxs")
    assert 3 < len(build.every) < 79


# -- the file that is copied -----------------------------------------------------------------------------------------


def test_the_recorder_runs_alone_beside_a_script(tmp_path: Path) -> None:
    shutil.copy(ROOT / "relax_explorer" / "recorder.py", tmp_path / "recorder.py")
    model = ROOT / "tests" / "builds" / "models.py"
    shutil.copy(model, tmp_path / "models.py")
    script = """
import sys
import tvm, models
from recorder import record
module = models.expression()[0]
with record("run.rxs") as recording:
    tvm.relax.transform.LegalizeOps()(module)
tvm.relax.transform.FuseOps()(module)
print([name for name in sys.modules if name.startswith("relax_explorer")])
"""
    (tmp_path / "build.py").write_text(script)
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import build"],
                          cwd=tmp_path, capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout == "[]\n"
    build = open_build(tmp_path / "run.rxs")
    assert ([stage.made_by for stage in build.every], build.remarks) == (["input", "LegalizeOps"], ())
    assert zipfile.is_zipfile(tmp_path / "run.rxs")
    assert sorted(item.name for item in tmp_path.glob("run.rxs*")) == ["run.rxs"]


@pytest.mark.parametrize("ending", ["raise ValueError('no')", "recorder.Recorder.give_up(recording._recorder, 'full')",
                                    "recorder.write_archive = None"])  # fmt: skip
def test_a_block_that_does_not_end_well_leaves_a_journal_under_its_name(ending: str, tmp_path: Path) -> None:
    script = (
        SMALL
        + f"""
from relax_explorer import recorder
try:
    with recorder.record({str(tmp_path / "run.rxs")!r}) as recording:
        tvm.relax.transform.LegalizeOps()(module)
        {ending}
except ValueError as error:
    print(error)
"""
    )
    (tmp_path / "build.py").write_text(script)
    subprocess.run([sys.executable, "build.py"], cwd=tmp_path, capture_output=True, check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert (tmp_path / "run.rxs").read_bytes()[:4] == recorder.MAGIC
    assert [stage.made_by for stage in open_build(tmp_path / "run.rxs").every] == ["input", "LegalizeOps"]
    assert sorted(item.name for item in tmp_path.glob("run.rxs*")) == ["run.rxs"]


def test_a_recording_that_cannot_be_written_is_a_note(tmp_path: Path) -> None:
    script = (
        SMALL
        + f"""
from relax_explorer.recorder import record
with record({str(tmp_path / "missing" / "run.rxs")!r}):
    print(len(tvm.relax.transform.LegalizeOps()(module).functions))
"""
    )
    (tmp_path / "build.py").write_text(script)
    done = subprocess.run([sys.executable, "build.py"], cwd=tmp_path, capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.stdout == "2\n"
    assert "recording ended: FileNotFoundError" in done.stderr


KILLS = 20


def test_a_recording_that_is_killed_loses_at_most_the_pass_that_ran(tmp_path: Path) -> None:
    """One build is killed at random times, by bytes of its journal: what its standard output has told is there."""
    script = BUILD.format(model="expression").replace("import sys", """
import sys
from relax_explorer.recorder import record, Journal
import random, os
chance = random.Random(int(sys.argv[1]))
after = chance.randrange(2, 400)
class Deadly(Journal):
    count = 0
    def add(self, kind, data):
        super().add(kind, data)
        Deadly.count += 1
        if kind == b"S" and not b'"input"' in data:
            os.write(1, b"x")
        if Deadly.count == after:
            os.kill(os.getpid(), 9)
import relax_explorer.recorder
relax_explorer.recorder.Journal = Deadly
recording = record("run.rxs")
recording.__enter__()
""")  # fmt: skip
    (tmp_path / "build.py").write_text(script)
    seen = set()
    for seed in range(KILLS):
        done = subprocess.run([sys.executable, "build.py", str(seed)], cwd=tmp_path, capture_output=True, check=False,
                              env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
        journal = tmp_path / "run.rxs.journal"
        try:
            build = open_build(journal)
        except Failure:
            assert done.stdout == b""
        else:
            passes = [
                stage for stage in build.every if stage.recorded is not None and not stage.recorded.is_input
            ]
            assert len(passes) == len(done.stdout)
            assert all(stage.text for stage in build.every)
            seen.add(len(passes))
        journal.unlink()
    assert len(seen) > KILLS // 4


def test_a_recording_that_is_killed_from_outside_loses_at_most_the_pass_that_ran(tmp_path: Path) -> None:
    """At any time: between frames, in the middle of one, while the archive is made."""
    command = [sys.executable, "-m", "tests.oracle.recording_kills", str(KILLS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=200,
                          env={**os.environ, "TMPDIR": str(tmp_path)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    *lines, _ = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == KILLS
    assert [line for line in lines if not 0 <= line["recorded"] - line["told"] <= 1] == []
    assert sum(line["file"] != "none" for line in lines) >= KILLS // 4


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("python", "build.py"), "build.rxs"),
        (("python", "-u", "models/llama.py", "x.txt"), "llama.rxs"),
        (("python", "-m", "mlc_llm.compile"), "compile.rxs"),
        (("mlc_llm", "compile"), "mlc_llm.rxs"),
        (("/usr/bin/make", "all"), "make.rxs"),
    ],
)
def test_the_file_is_named_after_the_build(command: tuple[str, ...], name: str) -> None:
    assert default_name(command) == name


def test_random_names_are_kept(tmp_path: Path) -> None:
    """Strange names of files and folders are only names."""
    chance = random.Random(3)
    name = "a b'$(x)" + chr(chance.randrange(0x3B1, 0x3C9)) + ".rxs"
    done = recorded(tmp_path, SMALL + SCRIPTS["a pass without a context"], "-o", name)
    assert done.returncode == 0, done.stderr
    assert len(open_build(tmp_path / name).stages) == 2


# -- values ----------------------------------------------------------------------------------------------------------

RUN = """
import numpy as np
from tvm import relax
machine = relax.VirtualMachine(executable, tvm.cpu())
x = np.random.default_rng(1).standard_normal((2, 3, 8, 8)).astype("float32")
weights = models.weights(parameters)
result = machine["forward"](tvm.runtime.tensor(x), *[tvm.runtime.tensor(value) for value in weights.values()])
print(result.numpy().tobytes().hex())
"""


def test_the_compiled_run_is_compared_binding_by_binding(tmp_path: Path) -> None:
    script = (
        BUILD.format(model="cnn").replace("module = models.cnn()[0]", "module, parameters = models.cnn()")
        + RUN
    )
    done = recorded(tmp_path, script, "--values")
    assert done.returncode == 0, done.stderr
    assert "103 calls of the virtual machine" in done.stderr
    plain = subprocess.run(
        [sys.executable, "build.py"], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == plain.stdout
    found = rxe_cli("compare", str(tmp_path / "build.rxs"), "--all", "--format", "json")
    assert found.exit_code == 0, found.output
    (verdict,) = json.loads(found.stdout)["verdicts"]
    assert [pair["a"]["name"] for pair in verdict["pairs"]].count("alloc15") == 1
    assert len(verdict["pairs"]) == 18
    before = rxe_cli("compare", str(tmp_path / "build.rxs") + "@LegalizeOps")
    assert before.exit_code == 0, before.output


def test_a_machine_is_attached_by_hand(tmp_path: Path) -> None:
    script = (
        SMALL
        + """
import numpy as np
from tvm import relax
from relax_explorer.recorder import record
with record("run.rxs") as recording:
    with tvm.target.Target("llvm"):
        executable = tvm.compile(module, target="llvm")
    machine = relax.VirtualMachine(executable, tvm.cpu())
    recording.attach(machine)
    machine["main"](tvm.runtime.tensor(np.full((2, 3), 2, "float32")))
"""
    )
    (tmp_path / "build.py").write_text(script)
    subprocess.run([sys.executable, "build.py"], cwd=tmp_path, capture_output=True, check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    found = rxe_cli("compare", str(tmp_path / "run.rxs"), "--all")
    assert (found.exit_code, "alloc: equal" in found.stdout) == (0, True), found.output
    names = zipfile.ZipFile(tmp_path / "run.rxs").namelist()
    assert len(names) == len(set(names))  # modules with other hashes may have one text


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_a_build_of_compiled_functions_gets_no_warning_and_says_that_it_makes_no_calls(
    mode: str, tmp_path: Path
) -> None:
    run = f"""
    import sys
    import tvm
    from tvm import relax
    from tests.builds import models
    import numpy as np
    module = models.expression()[0]
    machine = relax.VirtualMachine(relax.build(module, target="llvm", exec_mode="{mode}"), tvm.cpu())
    machine["main"](tvm.runtime.tensor(np.ones((2, 3), "float32")))
    """
    done = recorded(tmp_path, run, "--values", "-o", "run.rxs")
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr  # TVM warns of each operator that it has no name for, in each text
    assert ("no call of a virtual machine was seen" in done.stderr) == (mode == "compiled")
    texts = [stage.text for stage in open_build(tmp_path / "run.rxs").every]
    assert any("T.tirx.TVMBackendAnyListSetPackedArg(" in text for text in texts) == (mode == "compiled")
    assert "no call" not in recorded(tmp_path, run, "-o", "plain.rxs").stderr


def test_only_calls_with_such_names_are_recorded(tmp_path: Path) -> None:
    begin = "module, parameters = models.cnn()"
    script = BUILD.format(model="cnn").replace("module = models.cnn()[0]", begin) + RUN
    done = recorded(tmp_path, script, "--values=conv2d*,relu", "--no-host")
    assert done.returncode == 0, done.stderr
    told = open_container(str(tmp_path / "build.rxs")).told
    names = [line["name"] for item in told for line in item.lines[recorder.CALL]]
    assert names == ["conv2d", "relu", "conv2d1", "relu", "conv2d2"]


GENERATE = """
import numpy as np
from tvm import relax
from tvm.runtime import ShapeTuple
machine = relax.VirtualMachine(executable, tvm.cpu())
weights = [tvm.runtime.tensor(value) for value in models.weights(parameters).values()]
cache = machine["_initialize_effect"]()
logits, cache = machine["prefill"](tvm.runtime.tensor(np.array([[3, 14, 15]], "int32")), ShapeTuple([3]), cache, weights)
for position in (4, 5):
    logits, cache = machine["decode"](tvm.runtime.tensor(np.array([[7]], "int32")), ShapeTuple([position]), cache, weights)
"""


def test_runs_with_a_cache_follow_each_other(tmp_path: Path) -> None:
    """No call tells what a cache holds; the one that the run before has returned here is taken."""
    begin = "module, parameters = models.decoder()"
    script = BUILD.format(model="decoder").replace("module = models.decoder()[0]", begin) + GENERATE
    done = recorded(tmp_path, script, "--values", "--no-host")
    assert done.returncode == 0, done.stderr
    found = rxe_cli("compare", str(tmp_path / "build.rxs"), "--format", "json")
    assert found.exit_code == 0, found.output
    verdicts = json.loads(found.stdout)["verdicts"]
    assert [item["sample"].split(", ")[1] for item in verdicts] == [
        "_initialize_effect",
        "prefill",
        "decode",
        "decode",
    ]
    assert [len(item["results"]) for item in verdicts] == [0, 1, 1, 1]
    assert all(len(item["pairs"]) > 50 for item in verdicts[1:])
    before = rxe_cli("compare", str(tmp_path / "build.rxs") + "@input", "--func", "decode")
    assert before.exit_code == 0, before.output
    assert before.stdout.count("out0: equal") == 2
