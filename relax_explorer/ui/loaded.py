"""Programs for `relax_explorer.load`: texts as the core reads them, and models as TVM's importers read them in a child."""

from __future__ import annotations

from os import PathLike, fspath

from relax_explorer.core.expected import expect
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.folders import model_at
from relax_explorer.core.syntax import load as texts
from relax_explorer.ui.directories import sample


def load(path: str | PathLike[str]) -> IRModule:
    """The module in a file: TVMScript or another form of text, or a model of ONNX, PyTorch (.pt2) or TFLite.

    Of several modules in a text of any kind, the first. `samples/…` that is not there is a sample of this
    package. Raises ParseError for what is no program, and Failure for a model that can't be imported.

    >>> rxe.load("samples/01_tensor_program.py")
    <IRModule Module: main>
    """
    expect(path, (str, PathLike), "load takes a path", "`parse` takes a text")
    found = sample(fspath(path))
    if model_at(found):
        from relax_explorer.ui.imported_models import build_of_model

        return build_of_model(found).stages[0].module
    return texts.load(found)
