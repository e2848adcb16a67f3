"""A recorded build from end to end: walked in a terminal, asked, bisected, held against TVM's passes and the compiled run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.syntax.tensor_text import tensor_text
from tests.cli.test_commands import rxe_cli
from tests.oracle.test_live_passes import HEAD, constants
from tests.support.oracle import ROOT, Oracle
from tests.support.roundtrip import DATA
from tests.ui.test_three_jobs import Tmux

PARSED = """
import pathlib, sys
import numpy as np
import tvm
from tvm import relax
from tests.support.oracle_child import parse
module = parse(pathlib.Path(sys.argv[1]).read_text(), False)
"""
CORPUS = (
    PARSED
    + """
machine_entry = module["forward"] if "forward" in [v.name_hint for v in module.functions] else module["main"]
name = machine_entry.attrs["global_symbol"]
numbers = np.random.default_rng(1)
arguments = [numbers.standard_normal([int(n) if isinstance(n, (int, tvm.tirx.IntImm)) else 3 for n in p.ty.shape.values])
             .astype(str(p.ty.dtype).removeprefix("T.")) for p in machine_entry.params]
"""
)
CNN = """
import numpy as np
import tvm
from tvm import relax
from tests.builds import models
module, parameters = models.cnn()
name, numbers = "forward", np.random.default_rng(1)
arguments = [numbers.standard_normal((2, 3, 8, 8)).astype("float32"), *models.weights(parameters).values()]
"""
DECODER = """
import numpy as np
import tvm
from tvm import relax
from tvm.runtime import ShapeTuple
from tests.builds import models
module, parameters = models.decoder()
"""
COMPILE = """
with tvm.target.Target("llvm"), tvm.transform.PassContext(opt_level=3):
    executable = tvm.compile(module, target="llvm")
machine = relax.VirtualMachine(executable, tvm.cpu())
"""
CALL = COMPILE + "machine[name](*map(tvm.runtime.tensor, arguments))\n"
GENERATE = (
    COMPILE
    + """
weights = [tvm.runtime.tensor(value) for value in models.weights(parameters).values()]
cache = machine["_initialize_effect"]()
logits, cache = machine["prefill"](tvm.runtime.tensor(np.array([[3, 14, 15]], "int32")), ShapeTuple([3]), cache, weights)
logits, cache = machine["decode"](tvm.runtime.tensor(np.array([[7]], "int32")), ShapeTuple([4]), cache, weights)
"""
)
PLANTED = """
@tvm.transform.module_pass(opt_level=0, name="Quicker")
def quicker(module, context):
    @relax.expr_functor.mutator
    class Wrong(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            return relax.op.subtract(*call.args) if call.op == tvm.ir.Op.get("relax.add") else call
    wrong = Wrong(module)
    for variable, function in module.functions.items():
        if isinstance(function, relax.Function):
            wrong.builder_.update_func(variable, wrong.visit_expr(function))
    return wrong.builder_.get()
module = quicker(relax.transform.FoldConstant()(module))
"""
BOUND = """
values = {p.name: tvm.runtime.tensor(value) for p, value in zip(module[name].params[1:], arguments[1:])}
module = relax.transform.BindParams(name, values)(module)
arguments = arguments[:1]
"""
MODELS = {
    "mlp": (CORPUS + CALL, "mlp/00_input.py"),
    "transformer": (CORPUS + CALL, "bert_layer/00_input.py"),
    "cnn": (CNN + CALL, ""),
    "decoder": (DECODER + GENERATE, ""),
}


@pytest.fixture(autouse=True)
def _tvm() -> None:
    if not Oracle.is_installed():
        pytest.skip("TVM is not installed")


def installed(folder: Path, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """The end of the installed program, with an expected status."""
    command = [str(Path(sys.executable).parent / "rxe"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=200,
                          env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.returncode == status, (arguments, done.stdout[-2000:], done.stderr[-2000:])
    return done


def answer(folder: Path, name: str, path: str, *arguments: str, status: int = 0) -> str:
    """What a command prints of a file in a folder, in this process, with an expected status."""
    done = rxe_cli(name, str(folder / path), *arguments)
    assert done.exit_code == status, (name, arguments, done.output[-2000:])
    return str(done.stdout)


def recorded(folder: Path, script: str, *options: str, argument: str = "") -> None:
    """Record a script as `build.rxs` in a folder."""
    (folder / "build.py").write_text(script)
    arguments = [str(DATA / argument)] if argument else []
    installed(folder, "record", *options, "--", sys.executable, "build.py", *arguments)


@pytest.mark.parametrize("model", MODELS)
def test_a_real_build_is_recorded_walked_asked_and_compared(model: str, tmp_path: Path) -> None:
    script, argument = MODELS[model]
    recorded(tmp_path, script, "--values", "--no-host", argument=argument)
    # the compiled run beside ours, binding by binding
    compared = json.loads(answer(tmp_path, "compare", "build.rxs", "--all", "--format", "json"))
    pairs = [pair for verdict in compared["verdicts"] for pair in verdict["pairs"]]
    assert len(pairs) > 5
    assert compared["equal"] is True
    # who, from the input to the last stage
    shown = json.loads(answer(tmp_path, "show", "build.rxs", "--stage", "input", "--format", "json"))
    name = re.findall(r"^ +(\w+): R\.Tensor.* = R\.", shown["text"], re.MULTILINE)[0]
    assert "LegalizeOps" in answer(tmp_path, "who", "build.rxs", name)
    # a stage beside TVM's own run of the pass behind it
    answer(tmp_path, "compare", "build.rxs@input", "-p", "LegalizeOps", "--with", "tvm:LegalizeOps")
    # walked in a terminal
    if shutil.which("tmux"):
        terminal = Tmux(tmp_path, "build.rxs")
        try:
            terminal.wait("input")
            terminal.press("]")  # to the first change
            terminal.wait("stage 5/")
            terminal.type(":stage AttachGlobalSymbol")
            terminal.wait("stage 19/19")
        finally:
            terminal.close()


def test_a_planted_wrong_pass_is_found_in_a_recording(tmp_path: Path) -> None:
    recorded(tmp_path, CNN + PLANTED + CALL, "--no-host")
    assert "first bad pass: Quicker" in answer(tmp_path, "bisect", "build.rxs", status=1)


def test_weights_that_become_constants_blame_nobody(tmp_path: Path) -> None:
    """As an importer does that keeps no parameters: the first stage has them, and the others have constants."""
    recorded(tmp_path, CNN + BOUND + CALL, "--values", "--no-host")
    first, second = [
        answer(tmp_path, "show", "build.rxs", "--stage", name) for name in ("input", "BindParams")
    ]
    assert first.count("_weight: R.Tensor") > 2
    assert second.count("_weight: R.Tensor") == 0
    assert "the test holds after every pass" in answer(tmp_path, "bisect", "build.rxs")
    assert "give the results of the first" in answer(tmp_path, "validate", "build.rxs")
    answer(tmp_path, "compare", "build.rxs@input", str(tmp_path / "build.rxs@AttachGlobalSymbol"))
    answer(tmp_path, "compare", "build.rxs")  # with the compiled run
    recorded(tmp_path, CNN + BOUND + PLANTED + CALL, "--no-host")
    assert "first bad pass: Quicker" in answer(tmp_path, "bisect", "build.rxs", status=1)


@pytest.mark.parametrize("zeros", [0, 100, 101, 102, 103, 400])
def test_constants_of_any_bits_are_recorded(zeros: int, tmp_path: Path) -> None:
    """In the text that TVM prints, backslashes stand before each slash of base64."""
    data = np.random.default_rng(0).integers(0, 256, 4 * 200, np.uint8)
    data[:zeros] = 0
    wanted = data.view("float32").reshape(10, 20)
    text = f'{HEAD}def main(x: R.Tensor((10, 20), "float32")):\n        y = R.add(x, R.const({[[0.0] * 20] * 10}))\n        return y\n'
    script = rxe.parse(text).script()
    zero = tensor_text(np.zeros((10, 20), "float32"))
    assert zero in script
    (tmp_path / "model.py").write_text(script.replace(zero, tensor_text(wanted)))
    recorded(
        tmp_path,
        PARSED + 'with tvm.target.Target("llvm"): tvm.relax.transform.LegalizeOps()(module)\n',
        argument=str(tmp_path / "model.py"),
    )
    assert (
        len([name for name in zipfile.ZipFile(tmp_path / "build.rxs").namelist() if name.startswith("data/")])
        == 1
    )
    for stage in open_build(tmp_path / "build.rxs").stages:
        (found,) = constants(stage.module)
        assert found.tobytes() == wanted.tobytes()
