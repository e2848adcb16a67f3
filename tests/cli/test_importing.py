"""Models of ONNX open as programs: values are those of the framework, and bad models and bad children end in a diagnostic."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner, Result

from relax_explorer.core.session.arrays import SafetensorsFile
from relax_explorer.core.session.imported import write_container
from relax_explorer.ui import imported_models as models
from relax_explorer.ui.cli.main import group
from relax_explorer.viz.answering_child import AnsweringChild
from tests.support.models import ONNX, OnnxModel, onnx_mlp, write_onnx

onnx: Any = pytest.importorskip("onnx", reason="onnx makes the models of these tests")
pytestmark = pytest.mark.skipif(find_spec("tvm") is None, reason="the importers are TVM's")


def invoke(*arguments: str, status: int = 0) -> Result:
    done = CliRunner().invoke(group, list(arguments))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == status, done.output
    return done


@pytest.fixture(scope="module")
def one_child() -> Iterator[AnsweringChild]:
    """A child for several questions: TVM takes seconds to be imported."""
    child = models.Importer().child()
    yield child
    child.close()


@pytest.fixture
def shared(one_child: AnsweringChild, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let every import of a test ask one child, in an empty folder."""

    class Open:
        ask = staticmethod(one_child.ask)

        def close(self) -> None:
            """It stays for the next question."""

    monkeypatch.setattr(models.Importer, "child", lambda self: Open())
    monkeypatch.chdir(tmp_path)


# -- models ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("name", sorted(ONNX))
def test_a_model_computes_what_its_framework_does(name: str, tmp_path: Path) -> None:
    path = write_onnx(name, tmp_path)
    invoke("import", path, "-o", "model.rxs")
    found = json.loads(invoke("compare", path, "model.rxs", "--all", "--format", "json").stdout)
    model = onnx.load(path)
    nodes = {node.output[0] for node in model.graph.node}
    assert found["a"].startswith(f"onnx.reference {onnx.__version__} on ")
    for verdict in found["verdicts"]:
        assert verdict["equal"], verdict
        names = {pair["b"]["name"] for pair in verdict["pairs"]}
        assert len(names) >= len(nodes) - len(
            model.graph.output
        )  # a result may be a name for the value of a node


@pytest.mark.usefixtures("shared")
def test_a_planted_fault_is_named_by_its_layer(tmp_path: Path) -> None:
    path = write_onnx("cnn", tmp_path)
    invoke("import", path, "-o", "model.py")
    text = Path("model.py").read_text()
    assert text.count("R.nn.relu(block_0_bn_BatchNormalization_output_0)") == 1
    Path("model.py").write_text(text.replace("R.nn.relu(block_0_bn", "R.nn.silu(block_0_bn"))
    done = invoke("compare", path, "model.py", "--samples", "1", status=1)
    assert "first difference" in done.stdout
    assert "block_act_Relu_output_0" in done.stdout
    assert "block_1_conv" not in done.stdout.partition("block_act_Relu_output_0")[0]


@pytest.mark.usefixtures("shared")
def test_lengths_keep_their_names_and_weights_their_values(tmp_path: Path) -> None:
    path = write_onnx("bert", tmp_path)
    text = invoke("show", path).stdout
    assert 'ids: R.Tensor((batch, seq), dtype="int64")' in text
    assert "metadata" not in text  # no weight is in the text
    invoke("import", path, "-o", "model.py")
    model = onnx.load(path)
    with SafetensorsFile("model.safetensors") as file:
        for item in model.graph.initializer:
            if item.name in file.names:
                assert np.array_equal(file.read(item.name), onnx.numpy_helper.to_array(item))
        kept = {item.name for item in model.graph.initializer if item.name.endswith((".weight", ".bias"))}
        assert kept <= set(file.names)


@pytest.mark.usefixtures("shared")
def test_a_length_is_fixed(tmp_path: Path) -> None:
    path = write_onnx("bert", tmp_path)
    invoke("import", path, "--shape", "seq=5", "-o", "model.py")
    assert 'ids: R.Tensor((batch, 5), dtype="int64")' in Path("model.py").read_text()
    done = invoke("import", path, "--shape", "sequence=5", "-o", "other.py", status=2)
    assert "it has batch, seq" in done.stderr
    assert not Path("other.py").exists()


@pytest.mark.usefixtures("shared")
def test_every_form_runs_with_its_weights(tmp_path: Path) -> None:
    path = write_onnx("mlp", tmp_path)
    invoke("import", path)
    invoke("import", path, "-o", "folder.py")
    invoke("opt", "folder.py", "-p", "default", "-o", "lowered.py")
    arguments = ("--shape", "batch=2", "--format", "json")
    results = [
        json.loads(invoke("run", name, *arguments).stdout)["results"]
        for name in (path, "mlp.rxs", "folder.py", "lowered.py")
    ]
    direct, *others = [np.array(item[0]["value"]) for item in results]
    for other in others:
        assert np.allclose(other, direct, 1e-5, 1e-5)
    Path("folder.safetensors").unlink()  # made-up weights give something else
    assert not np.allclose(
        np.array(json.loads(invoke("run", "folder.py", *arguments).stdout)["results"][0]["value"]), direct
    )


@pytest.mark.usefixtures("shared")
def test_weights_of_the_user_come_first(tmp_path: Path) -> None:
    path = write_onnx("mlp", tmp_path)
    invoke("import", path, "-o", "m.py")
    with SafetensorsFile("m.safetensors") as file:
        np.savez(
            "zero.npz",
            **{name: np.zeros_like(file.read(name)) for name in file.names},
            x=np.ones((1, 16), "float32"),
        )
    np.savez("x.npz", x=np.ones((1, 16), "float32"))
    zero = json.loads(invoke("run", "m.py", "--input", "zero.npz", "--format", "json").stdout)["results"][0][
        "value"
    ]
    own = json.loads(invoke("run", "m.py", "--input", "x.npz", "--format", "json").stdout)["results"][0][
        "value"
    ]
    one = json.loads(
        invoke(
            "run",
            "m.py",
            "--input",
            "x=ones",
            "--input",
            "fc2_weight=zeros",
            "--shape",
            "batch=1",
            "--format",
            "json",
        ).stdout
    )
    assert not np.any(zero)
    assert np.any(own)
    with SafetensorsFile("m.safetensors") as file:
        assert np.allclose(one["results"][0]["value"], file.read("fc2.bias"))


def test_a_text_does_not_choose_among_the_files_of_a_machine(tmp_path: Path) -> None:
    np.savez(tmp_path / "secret.npz", w=np.full(2, 42.0, "float32"))
    (tmp_path / "inner").mkdir()
    program = '@R.function\ndef main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):\n'
    program += '    R.func_attr({"num_input": 1, "rx.weights": NAME})\n    y = R.add(x, w)\n    return y\n'
    for name, is_read in (
        ("secret.npz", True),
        ("../secret.npz", False),
        (str(tmp_path / "secret.npz"), False),
        ("..", False),
    ):
        file = tmp_path / ("inner/m.py" if name.startswith("..") else "m.py")
        file.write_text(program.replace("NAME", json.dumps(name)))
        done = invoke("run", str(file), "--input", "x=zeros", "--format", "json")
        assert (json.loads(done.stdout)["results"][0]["value"] == [42.0, 42.0]) == is_read, name


# -- bad models ------------------------------------------------------------------------------------------------------


def _external(location: str, length: str = "16") -> Callable[[Path], Any]:
    def made(folder: Path) -> Any:
        model = onnx_mlp()
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in {"location": location, "length": length}.items():
            tensor.external_data.add(key=key, value=value)
        return model

    return made


def _having(change: Callable[[Any], object]) -> Callable[[Path], Any]:
    def made(folder: Path) -> Any:
        model = onnx_mlp()
        change(model)
        return model

    return made


def _link(folder: Path) -> Any:
    (folder / "inside.bin").symlink_to("/etc/passwd")
    return _external("inside.bin")(folder)


def _huge(model: Any) -> None:
    model.graph.initializer[0].dims[:] = [1 << 20, 1 << 20]


def _cycle(model: Any) -> None:
    model.graph.node[0].input[0] = model.graph.node[2].output[0]


def _unranked(folder: Path) -> Any:
    at = OnnxModel()
    shape = at.constant("shape", np.array([-1, 0], "int64"))
    model = at.model({"x": []}, {"y": at.node("Conv", ["x", at.weight("w", 2, 2, 3, 3)], "conv"), "z": shape})
    model.graph.input[0].type.tensor_type.ClearField("shape")
    return model


BAD: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "garbage": (lambda folder: b"\x00\xff" * 500, "RX0711", "no ONNX model"),
    "nothing": (lambda folder: b"", "RX0711", "no ONNX model"),
    "half a file": (lambda folder: onnx_mlp().SerializeToString()[:700], "RX0711", "damaged"),
    "data outside": (_external("../../etc/passwd"), "RX0712", "'../../etc/passwd'"),
    "data at a path": (_external("/etc/passwd"), "RX0712", "'/etc/passwd'"),
    "data behind a link": (_link, "RX0712", "'inside.bin'"),
    "no data": (_external("gone.bin"), "RX0711", "'gone.bin'"),
    "a huge weight": (_having(_huge), "RX0711", "claims 4,398,046,511,104 bytes"),
    "an unknown operator": (
        _having(lambda m: setattr(m.graph.node[1], "op_type", "Frobnicate")),
        "RX0713",
        "no Frobnicate, as in the node /fc1/Add",
    ),
    "an unknown domain": (
        _having(lambda m: setattr(m.graph.node[1], "domain", "my.own")),
        "RX0713",
        "no my.own.Add",
    ),
    "a future opset": (
        _having(lambda m: setattr(m.opset_import[0], "version", 999)),
        "RX0713",
        "the opset 999",
    ),
    "no opset": (_having(lambda m: m.opset_import.pop()), "RX0713", "does not tell its opset"),
    "a cycle": (_having(_cycle), "RX0713", "cyclic: the node /fc1/"),
    "an unmade value": (_having(lambda m: m.graph.node[1].input.append("ghost")), "RX0711", "reads 'ghost'"),
    "a dynamic rank": (_unranked, "RX0713", "the number of dimensions of x is unknown"),
}


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("name", BAD)
def test_a_bad_model_is_a_diagnostic(name: str, tmp_path: Path) -> None:
    make, code, part = BAD[name]
    made = make(tmp_path)
    (tmp_path / "bad.onnx").write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
    before = sorted(os.listdir(tmp_path))
    done = invoke("import", "bad.onnx", "-o", "out.rxs", status=2)
    assert f"bad.onnx:1:1: error[{code}]" in done.stderr
    assert part in done.stderr
    assert "hint: " in done.stderr
    assert sorted(os.listdir(tmp_path)) == before  # nothing was written


@pytest.mark.usefixtures("shared")
def test_a_file_of_two_gigabytes_is_not_read(tmp_path: Path) -> None:
    with Path("big.onnx").open("wb") as file:
        file.truncate((2 << 30) + 1)  # a hole on the disk
    done = invoke("show", "big.onnx", status=2)
    assert "error[RX0711]" in done.stderr
    assert "save_as_external_data" in done.stderr


@pytest.mark.usefixtures("shared")
def test_nodes_in_another_order_are_sorted(tmp_path: Path) -> None:
    model = onnx_mlp()
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, "turned.onnx")
    done = invoke("import", "turned.onnx")
    assert "have been sorted" in done.stdout
    invoke("compare", "turned.onnx", "turned.rxs")


@pytest.mark.usefixtures("shared")
def test_a_damaged_container_is_a_diagnostic(tmp_path: Path) -> None:
    invoke("import", write_onnx("mlp", tmp_path))
    with zipfile.ZipFile("mlp.rxs") as archive:
        parts = {item.filename: archive.read(item) for item in archive.infolist()}
    manifest = json.loads(parts["manifest.json"])
    key = manifest["weights"]["fc1.weight"]
    changes: dict[str, dict[str, bytes]] = {
        "a weight that is not there": {f"data/{key}.npy": b""},
        "a weight without a digest": {
            "manifest.json": json.dumps({**manifest, "weights": {"w": "../../x"}}).encode()
        },
    }
    for change in changes.values():
        with zipfile.ZipFile("bad.rxs", "w") as archive:
            for name, data in (parts | change).items():
                archive.writestr(name, data)
        done = CliRunner().invoke(group, ["run", "bad.rxs"])
        assert (done.exit_code, "RX0035" in done.stderr) == (2, True), done.output


# -- bad children ----------------------------------------------------------------------------------------------------


CHILDREN = {
    "no onnx": ("onnx", "raise ModuleNotFoundError('none', name='onnx')", "RX0702", "pip install"),
    "no TVM": ("tvm", "raise ModuleNotFoundError('none', name='tvm')", "RX0702", "has no tvm"),
    "a broken TVM": ("tvm", "raise OSError('libtvm.so: no')", "RX0702", "libtvm.so"),
    "killed": ("onnx", "import os; os.kill(os.getpid(), 9)", "RX0703", "SIGKILL"),
    "crashed": ("onnx", "import ctypes; ctypes.string_at(0)", "RX0703", "SIGSEGV"),
    "hangs": ("onnx", "import time; time.sleep(60)", "RX0704", "--max-seconds"),
    "takes all memory": ("onnx", "held = bytearray(1 << 40)", "RX0703", "--max-memory"),
}


@pytest.mark.parametrize("name", CHILDREN)
def test_a_bad_child_is_a_diagnostic(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, text, code, part = CHILDREN[name]
    monkeypatch.chdir(tmp_path)
    write_onnx("mlp", tmp_path)
    Path("packages").mkdir()
    Path("packages", f"{module}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    status = 4 if code == "RX0703" else 3  # a crash, or what can't be done here
    done = invoke("import", "mlp.onnx", "--max-seconds", "2" if name == "hangs" else "120", status=status)
    assert f"error[{code}]" in done.stderr
    assert part in done.stderr
    assert sorted(os.listdir()) == ["mlp.onnx", "packages"]


def test_an_interpreter_that_is_none(tmp_path: Path) -> None:
    path = write_onnx("mlp", tmp_path)
    done = invoke(
        "import", path, "--python", str(tmp_path / "nothing"), "-o", str(tmp_path / "out.rxs"), status=3
    )
    assert "error[RX0701]" in done.stderr


def test_another_python_reads_the_model(tmp_path: Path) -> None:
    path = write_onnx("mlp", tmp_path)
    invoke("import", path, "--python", sys.executable, "-o", str(tmp_path / "out.rxs"))
    assert "fc1_MatMul_output_0" in invoke("show", str(tmp_path / "out.rxs")).stdout


def test_only_the_user_names_an_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("relax-explorer.toml").write_text('[import]\npython = "./evil"\n')
    Path("evil").write_text("#!/bin/sh\ntouch ran\n")
    Path("evil").chmod(0o755)
    invoke("import", write_onnx("mlp", tmp_path))
    assert not Path("ran").exists()


def test_another_version_of_tvm_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_onnx("mlp", tmp_path)
    told = tmp_path / "packages" / "apache_tvm-0.20.0.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: apache-tvm\nVersion: 0.20.0\n")
    (tmp_path / "packages" / "tvm.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    done = invoke("import", path, "-o", str(tmp_path / "out.rxs"), status=3)
    assert "error[RX0702]" in done.stderr
    assert "has TVM 0.20.0; the importers of 0.27 are asked here" in done.stderr
    assert "apache-tvm==0.27.*" in done.stderr


# -- weights of every dtype ------------------------------------------------------------------------------------------


def test_weights_of_bfloat16_stand_in_a_container(tmp_path: Path) -> None:
    value = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    head = json.dumps({"a.w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    (tmp_path / "w.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + value.tobytes())
    text = '@R.function\ndef main(x: R.Tensor((2,), "bfloat16"), a_w: R.Tensor((2,), "bfloat16")):\n'
    text += '    R.func_attr({"num_input": 1, "rx.weights": "m.rxs"})\n    y = R.add(x, a_w)\n    return y\n'
    with SafetensorsFile(str(tmp_path / "w.safetensors")) as weights, (tmp_path / "m.rxs").open("wb") as file:
        write_container(file, text, weights, {})
    found = json.loads(invoke("run", str(tmp_path / "m.rxs"), "--input", "x=ones", "--format", "json").stdout)
    assert found["results"][0]["value"] == [2.5, -1.0]
