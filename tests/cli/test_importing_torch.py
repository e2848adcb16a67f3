"""Exported programs of PyTorch and models of TFLite open as programs. PyTorch is not imported here: it takes seconds, and threads."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from relax_explorer.ui.cli.main import group
from tests.support.tflite_models import addition
from tests.support.torch_models import TORCH

pytestmark = pytest.mark.skipif(find_spec("tvm") is None, reason="the importers are TVM's")
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
ROOT = Path(__file__).parent.parent.parent


def invoke(*arguments: str, status: int = 0) -> Result:
    done = CliRunner().invoke(group, list(arguments))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == status, done.output
    return done


@needs_torch
@pytest.mark.parametrize("name", sorted(TORCH))
def test_an_exported_program_computes_what_pytorch_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / f"{name}.pt2")
    subprocess.run([sys.executable, "-m", "tests.support.torch_models", name, path], cwd=ROOT, check=True)
    invoke("import", path)
    found = json.loads(
        invoke("compare", path, f"{name}.rxs", "--all", "--samples", "2", "--format", "json").stdout
    )
    assert found["a"].startswith("torch ")
    for verdict in found["verdicts"]:
        assert verdict["equal"], verdict
        assert len(verdict["pairs"]) >= 4  # values on the way have the names of their modules
    text = invoke("show", f"{name}.rxs").stdout
    assert '"rx.weights"' in text
    assert "metadata" not in text
    if name in ("bert", "decoder"):
        assert "query_addmm" in text
        assert "query_weight" in text


@needs_torch
def test_no_pickle_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = b"cos\nsystem\n(S'touch ran'\ntR."
    Path("evil.pt2").write_bytes(code)
    with zipfile.ZipFile("archive.pt2", "w") as archive:
        archive.writestr("archive/data.pkl", code)
        archive.writestr("archive/version", "3")
    for name in ("evil.pt2", "archive.pt2"):
        done = invoke("import", name, status=2)
        assert "error[RX0711]" in done.stderr, done.stderr
    assert not Path("ran").exists()


def test_a_pickled_model_is_told_from_an_exported_program(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(b"\x80\x02}q\x00.")
    done = invoke("import", str(tmp_path / "model.pt"), status=2)
    assert ".pt2" in done.stderr


# -- TFLite ----------------------------------------------------------------------------------------------------------

needs_tflite = pytest.mark.skipif(find_spec("tflite") is None, reason="the package tflite is not installed")


@needs_tflite
def test_a_model_of_tflite_opens_with_its_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    weight = np.arange(512, dtype="float32").reshape(2, 256)
    Path("add.tflite").write_bytes(addition(weight))
    invoke("import", "add.tflite", "-o", "add.py")
    text = Path("add.py").read_text()
    assert 'layer_weight: R.Tensor((2, 256), dtype="float32")' in text
    assert "layer_y" in text
    found = json.loads(invoke("run", "add.py", "--input", "x=ones", "--format", "json").stdout)
    assert np.array_equal(found["results"][0]["value"], weight + 1)
    done = invoke("compare", "add.tflite", "add.py", status=2)
    assert "is not run by its framework here" in done.stderr


@needs_tflite
def test_a_damaged_model_of_tflite(tmp_path: Path) -> None:
    file = tmp_path / "bad.tflite"
    file.write_bytes(addition(np.zeros((2, 2)))[:100])
    done = invoke("import", str(file), "-o", str(tmp_path / "out.py"), status=2)
    assert "error[RX0711]" in done.stderr
