"""Programs that the tests of the editor open, as documents, and what a check says of them."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.ui.editor.document import Document, Position
from relax_explorer.ui.editor.regions import Checked, Region, Rules, check
from tests.support.corpus import MODELS, STAGES
from tests.support.roundtrip import SAMPLES

RULES = Rules()
STEPS = [path for path in STAGES if "FuseTIR" in path.name or "LegalizeOps" in path.name]
FILES = [*SAMPLES, *[model.directory / "00_input.py" for model in MODELS], *STEPS]
HEAD = """from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(8)))
        B = T.match_buffer(b, (n, T.int64(8)))
        for i, j in T.grid(n, T.int64(8)):
            with T.block("double"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                B[v_i, v_j] = A[v_i, v_j] * T.float32(2)

"""
MAIN = """    @R.function
    def main(x: R.Tensor(("n", 16), "float32"), w: R.Tensor((16, 8), "float32"), c: R.Tensor((), "bool")):
        n = T.int64()
        y = R.matmul(x, w)
        z = R.nn.softmax(y)
        if c:
            r = R.add(z, y)
        else:
            r = R.nn.relu(z)
        lv = R.call_tir(cls.double, (r,), out_sinfo=R.Tensor((n, 8), "float32"))
        lv = R.exp(lv)
        return lv
"""
PROGRAM = HEAD + MAIN
PYTHON = f"""import numpy as np

WIDTH = 8
label = "😀 𝕏"


def build(flag):
    x = np.zeros(3)
    return x


{PROGRAM.partition("tir as T")[2].strip()}


def after():
    y = "R.matmul(x, w)"
    return y
"""


def opened(text: str, name: str = "model.py") -> Checked:
    """A text, checked."""
    return check(Document(name, text), RULES)


def program(text: str = PROGRAM) -> Region:
    """The one program of a text."""
    (region,) = opened(text).regions
    return region


def of_file(path: Path) -> Checked:
    """A file, checked."""
    return opened(path.read_text(encoding="utf-8"), str(path))


def place(region: Region, text: str, skip: int = 0) -> Position:
    """Where a text stands in the document of a program, after some others."""
    at = -1
    for _ in range(skip + 1):
        at = region.document.text.index(text, at + 1)
    return region.document.position(at)


def shown(problems: list[Diagnostic] | tuple[Diagnostic, ...]) -> list[tuple[object, ...]]:
    """What an editor shows of problems, but for the name that a hint guesses: a spot check looks among fewer names."""
    return [
        (
            item.code.id,
            str(item.level),
            item.message,
            "" if item.help.startswith("did you mean") else item.help,
            str(item.span),
            tuple((str(label.span), label.text) for label in item.labels),
            tuple((str(edit.span), edit.text) for edit in item.edits),
        )
        for item in problems
    ]
