"""Files of weights: what is read, and what is refused before anything is allocated."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session import arrays
from relax_explorer.core.session.weight_files import open_weights

F32 = np.arange(6, dtype=np.float32).reshape(2, 3)


def safetensors(path: Path, header: Any, data: bytes = b"", length: int | None = None) -> str:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return str(path)


def tensor(dtype: str, shape: list[Any], *offsets: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": list(offsets)}


def mlc(folder: Path, records: list[dict[str, Any]], data: bytes, shard: Any = "params_shard_0.bin") -> str:
    (folder / "params_shard_0.bin").write_bytes(data)
    index = {"metadata": {"ParamSize": len(records)}, "records": [{"dataPath": shard, "records": records}]}
    (folder / "ndarray-cache.json").write_text(json.dumps(index))
    return str(folder)


def record(
    name: str, shape: list[int], dtype: str, start: int, nbytes: int, form: str = "raw"
) -> dict[str, Any]:
    return {
        "name": name,
        "shape": shape,
        "dtype": dtype,
        "byteOffset": start,
        "nbytes": nbytes,
        "format": form,
    }


def read(path: str) -> dict[str, Any]:
    with open_weights(path) as file:
        return {name: file.read(name) for name in file.names}


def refused(path: str) -> str:
    with pytest.raises(Failure) as caught:
        read(path)
    assert caught.value.diagnostics[0].code is codes.BAD_INPUT_FILE
    return caught.value.diagnostics[0].message


def test_safetensors_of_every_kind_are_read(tmp_path: Path) -> None:
    half = F32.astype(ml_dtypes.bfloat16)
    header = {
        "__metadata__": {"format": "pt"},
        "b.w": tensor("BF16", [2, 3], 24, 36),
        "a": tensor("F32", [2, 3], 0, 24),
        "e": tensor("I64", [0, 4], 36, 36),
        "s": tensor("U8", [], 36, 37),
    }
    found = read(safetensors(tmp_path / "w.safetensors", header, F32.tobytes() + half.tobytes() + b"\7"))
    assert list(found) == ["b.w", "a", "e", "s"]
    np.testing.assert_array_equal(found["a"], F32)
    assert found["b.w"].dtype.name == "bfloat16"
    assert found["b.w"].tolist() == half.tolist()
    assert (found["e"].shape, found["s"].item()) == ((0, 4), 7)


@pytest.mark.parametrize(
    ("header", "data"),
    [
        ({"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [2], 4, 12)}, 12),  # overlapping
        ({"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [1], 12, 16)}, 16),  # a gap
        ({"a": tensor("F32", [2], -8, 0)}, 8),
        ({"a": tensor("F32", [2], 8, 0)}, 8),
        ({"a": tensor("F32", [2], 0, 8)}, 4),  # truncated
        ({"a": tensor("F32", [2], 0, 8)}, 9),  # nothing describes the last byte
        ({"a": tensor("F32", [3], 0, 8)}, 8),
        ({"a": tensor("F32", [2**40, 2**40], 0, 8)}, 8),
        ({"a": tensor("F32", [-2], 0, 8)}, 8),
        ({"a": tensor("F32", [True, 2], 0, 8)}, 8),
        ({"a": tensor("F32", [1.5], 0, 8)}, 8),
        ({"a": tensor("F32", [1] * 100, 0, 4)}, 4),
        ({"a": tensor("F32", [2], 0)}, 8),
        ({"a": {"dtype": "F32"}}, 8),
        ({"a": 3}, 8),
        (b"[]", 0),
        (b"{", 0),
        (b"[" * 100_000, 0),
        (b'{"a": 1' + b"0" * 10_000 + b"}", 0),
        (b'{"a": {}, "a": {}}', 0),
    ],
)  # fmt: skip
def test_headers_of_safetensors_that_lie_are_refused(header: Any, data: int, tmp_path: Path) -> None:
    refused(safetensors(tmp_path / "w.safetensors", header, bytes(data)))


@pytest.mark.parametrize("length", [1 << 62, 1 << 30, 3, 0])
def test_a_length_of_a_header_allocates_nothing(length: int, tmp_path: Path) -> None:
    refused(safetensors(tmp_path / "w.safetensors", {"a": tensor("F32", [2], 0, 8)}, bytes(8), length))
    (tmp_path / "short.safetensors").write_bytes(b"\1\0")
    refused(str(tmp_path / "short.safetensors"))


def test_a_folder_of_mlc_weights_is_read(tmp_path: Path) -> None:
    upper = F32.astype(ml_dtypes.bfloat16)
    records = [
        record("z.weight", [2, 3], "float32", 0, 12, "f32-to-bf16"),
        record("a.q_weight", [1], "uint32", 12, 4),
        record("half", [1], "bfloat16", 16, 2),
        record("q", [2], "int4", 18, 1),
    ]
    folder = mlc(tmp_path, records, upper.tobytes() + b"\1\0\0\0" + b"\x80\x3f" + b"\0")
    with open_weights(folder) as file:
        assert file.names == ("z.weight", "a.q_weight", "half", "q")
        assert file.read("z.weight").dtype == np.float32
        np.testing.assert_array_equal(file.read("z.weight"), upper.astype(np.float32))
        assert (file.read("a.q_weight")[0], float(file.read("half")[0])) == (1, 1.0)
        assert "int4" in file.entry("q").refusal
    assert read(f"{mlc(tmp_path, records[:1], upper.tobytes())}/ndarray-cache.json").keys() == {"z.weight"}


@pytest.mark.parametrize(
    "shard", ["../../etc/passwd", "/etc/passwd", "a/../../x", "a/../params_shard_0.bin", "..\\x", "C:\\x", "absent.bin", "out.bin", ".", "", None, 3,
     "a\0b"]
)  # fmt: skip
def test_an_index_names_files_of_its_folder_alone(shard: Any, tmp_path: Path) -> None:
    inner = tmp_path / "weights"
    inner.mkdir()
    (tmp_path / "x").write_bytes(bytes(8))
    (inner / "out.bin").symlink_to(tmp_path / "x")
    refused(mlc(inner, [record("a", [2], "float32", 0, 8)], bytes(8), shard))


@pytest.mark.parametrize(
    "records",
    [
        [record("a", [2], "float32", 4, 8)],  # beyond the end
        [record("a", [2], "float32", -8, 8)],
        [record("a", [3], "float32", 0, 8)],
        [record("a", [2], "float32", 0, 8), record("b", [1], "float32", 4, 4)],
        [record("a", [1], "float32", 0, 4), record("a", [1], "float32", 4, 4)],
        [{"name": "a"}],
        [3],
        "all",
    ],
)
def test_an_index_that_lies_is_refused(records: Any, tmp_path: Path) -> None:
    refused(mlc(tmp_path, records, bytes(8)))


def test_a_pipe_is_no_file_of_weights(tmp_path: Path) -> None:
    for name in ("w.safetensors", "w.npz"):
        os.mkfifo(tmp_path / name)
        refused(str(tmp_path / name))


def test_the_headers_of_an_archive_are_read_when_they_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "w.npz", **{f"w{n}": F32 for n in range(50)})
    opened: list[Any] = []
    real: Callable[..., Any] = zipfile.ZipFile.open
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda self, *a: (opened.append(a), real(self, *a))[1])
    with open_weights(str(tmp_path / "w.npz")) as file:
        assert len(file.names) == 50
        assert not opened
        assert file.entry("w7").shape == (2, 3)
        assert len(opened) == 1


def test_an_archive_with_two_entries_of_one_name_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w.npz", "w") as archive:
        archive.writestr("a.npy", b"")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.npy", b"")
    refused(str(tmp_path / "w.npz"))


def test_a_small_file_of_a_large_array_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros become a thousand times smaller: 3 GB in 3 MB."""
    monkeypatch.setattr(arrays, "_LARGE", 1 << 20)
    path = tmp_path / "w.npz"
    np.savez_compressed(path, a=np.zeros(1 << 21, np.uint8))
    assert "would grow" in refused(str(path))
    np.savez(path, a=np.zeros(1 << 21, np.uint8))
    assert read(str(path))["a"].size == 1 << 21


def _pickled(tmp_path: Path) -> bytes:
    """An array file whose pickle makes a folder while it is read."""

    class Trap:
        def __reduce__(self) -> object:
            return os.mkdir, (str(tmp_path / "executed"),)

    file = io.BytesIO()
    np.save(file, np.array([Trap()], dtype=object), allow_pickle=True)
    return file.getvalue()


def test_each_lock_against_pickles_holds_by_itself(tmp_path: Path) -> None:
    """The header refuses an array of objects, and so does what reads elements."""
    trap = _pickled(tmp_path)
    with pytest.raises(ValueError, match="Object arrays"):
        arrays._array(io.BytesIO(trap))
    with pytest.raises(Failure, match="never unpickled"):
        arrays._header(io.BytesIO(trap), "x", "trap.npy", len(trap))
    assert not (tmp_path / "executed").exists()
