"""Writes what people have of a build: `python -m tests.builds.make OUT` asks TVM for it, which takes about 15 s.

For each model of `models.py`, in `OUT/MODEL`: `dumpir/` (every pass of `tvm.compile`, by TVM's own DumpIR), `print_after_all.log` (the same by
PrintAfterAll), `shown.ansi` (`show()` with its colours), `module.json` (`save_json`), `executable.txt` and `executable.py`, `build.py` (a
script with the module in the middle), `weights.npz`, `io.npz` and `calls.txt` (inputs, and the answers of the compiled program).
The builds are right: no command may blame one of their passes.
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import subprocess
import sys

import numpy as np
import tvm
from tvm import relax
from tvm.ir.instrument import DumpIR
from tvm.runtime import ShapeTuple

from tests.builds import models

MODELS = ("expression", "cnn", "decoder")
PRINTED = """
import sys
from tvm.ir.instrument import PrintAfterAll
from tests.builds import make, models
make.compiled(getattr(models, sys.argv[1])()[0], PrintAfterAll())
"""
SCRIPT = """

with tvm.target.Target("llvm"):
    seq = tvm.transform.Sequential([relax.transform.LegalizeOps(), relax.transform.FuseOps(), relax.transform.FuseTIR()])
    mod = seq(Module)
    ex = tvm.compile(mod, target="llvm")
"""


def compiled(module, *instruments):
    with tvm.target.Target("llvm"), tvm.transform.PassContext(opt_level=3, instruments=list(instruments)):
        return tvm.compile(module, target="llvm")


def printed(name: str, path: pathlib.Path) -> None:
    """PrintAfterAll writes to the standard output of the process, so a child process prints."""
    with path.open("wb") as out:
        subprocess.run(
            [sys.executable, "-c", PRINTED, name], stdout=out, stderr=subprocess.DEVNULL, check=True
        )


def answer(name: str, executable, params, folder: pathlib.Path) -> None:
    """Run the compiled program, and write its inputs and results."""
    machine = relax.VirtualMachine(executable, tvm.cpu())
    made = models.weights(params)
    if params:
        np.savez(folder / "weights.npz", **made)
    values = [tvm.runtime.tensor(value) for value in made.values()]
    if name == "decoder":
        generate(machine, values, folder)
        return
    x = (
        np.random.default_rng(1)
        .standard_normal((2, 3) if name == "expression" else (2, 3, 8, 8))
        .astype("float32")
    )
    out = machine["main" if name == "expression" else "forward"](tvm.runtime.tensor(x), *values).numpy()
    np.savez(
        folder / "io.npz", x=x, out0=out, **made
    )  # by the names of the model: c1.weight where the text says c1_weight


def generate(machine, values, folder: pathlib.Path) -> None:
    """Three tokens after a prompt, with the cache that the effects carry."""
    effects = machine["_initialize_effect"]()
    prompt = tvm.runtime.tensor(np.array([[3, 14, 15]], "int32"))
    logits, effects = machine["prefill"](prompt, ShapeTuple([3]), effects, values)
    lines = [
        "effects = _initialize_effect()",
        'logits, effects = prefill([[3, 14, 15]], shape(3), effects, "weights.npz")',
    ]
    for position in (4, 5, 6):
        token = int(logits.numpy()[0, -1].argmax())
        given = tvm.runtime.tensor(np.array([[token]], "int32"))
        logits, effects = machine["decode"](given, ShapeTuple([position]), effects, values)
        lines.append(f'logits, effects = decode([[{token}]], shape({position}), effects, "weights.npz")')
    (folder / "calls.txt").write_text("\n".join(lines) + "\n")
    np.savez(folder / "io.npz", out0=logits.numpy())


def write(name: str, folder: pathlib.Path) -> None:
    """All forms of the build of one model."""
    folder.mkdir(parents=True)
    module, params = getattr(models, name)()
    executable = compiled(module, DumpIR(str(folder / "dumpir")))
    printed(name, folder / "print_after_all.log")
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        module.show()
    (folder / "shown.ansi").write_text(shown.getvalue())
    (folder / "module.json").write_text(tvm.ir.save_json(module))
    (folder / "executable.txt").write_text(executable.as_text())
    (folder / "executable.py").write_text(executable.as_python())
    head = "import tvm\nfrom tvm import relax\nfrom tvm.script import ir as I, relax as R, tirx as T\n\nBATCH = 2\n\n"
    (folder / "build.py").write_text(head + module.script(show_meta=True) + SCRIPT)
    answer(name, executable, params, folder)


if __name__ == "__main__":
    for name in MODELS:
        write(name, pathlib.Path(sys.argv[1]) / name)
