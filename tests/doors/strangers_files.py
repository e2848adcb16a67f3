"""What a stranger sends: files of each kind that we open, each with code in it wherever the kind has a place for code, and odd files."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.session.test_weights import mlc, record, safetensors, tensor
from tests.support.roundtrip import DATA, SAMPLES

CODE = "import os\nos.close(os.open('executed', os.O_CREAT | os.O_WRONLY))\n"
F32 = np.ones(3, "float32")


class Trap:
    """What pickle runs while it reads."""

    def __reduce__(self) -> object:
        return os.mkdir, ("executed",)


def make_files(place: Path) -> None:
    """Write the files into the folder of a stranger."""
    program = SAMPLES[0].read_text()
    samples, data = SAMPLES[0].parent, DATA.parent
    (place / "script.py").write_text(f"{CODE}{program}\nN = open('executed', 'w')\n")
    (place / "issue.md").write_text(
        f"# A mistake\n```python\n{CODE}{program}```\n```sh\ntouch executed\n```\n"
    )
    log = "\n".join(f"[12:00:00] log.cc:1: {line}" for line in program.splitlines())
    (place / "build.log").write_text(f"\x1b[2J\x1b]0;title\x07{log}\n")
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": [CODE, program, "!touch executed\n"]}
    ]
    (place / "note.ipynb").write_text(
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    shutil.copy(data / "tvm_json" / "expression.json", place / "module.json")
    shutil.copy(data / "executables" / "expression.txt", place / "executable.txt")
    shutil.copy(data / "executables" / "expression.py.txt", place / "executable.py")
    shutil.copy(samples / "shapes" / "fast_flatten.shapes", place / "contracts.shapes")
    shutil.copy(samples / "relations" / "layer.relay", place / "types.relay")
    (place / "pickled.py").write_bytes(pickle.dumps(Trap()))
    with zipfile.ZipFile(place / "build.zip", "w") as archive:
        archive.writestr("../executed", program)
    _weights(place)


def _weights(place: Path) -> None:
    """Weights that are right, and some that name places outside, or hold pickles."""
    np.save(place / "x.npy", F32)
    np.savez(place / "x.npz", x=F32)
    np.save(place / "trap.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    np.savez(place / "trap.npz", x=np.array([Trap()], dtype=object))
    safetensors(place / "x.safetensors", {"x": tensor("F32", [3], 0, 12)}, F32.tobytes())
    safetensors(place / "huge.safetensors", {"x": tensor("F32", [1 << 60], 0, 1 << 62)})
    rows = [record("x", [3], "float32", 0, 12)]
    for name, shard in (
        ("mlc", "params_shard_0.bin"),
        ("outside", "../../outside.bin"),
        ("absolute", "/etc/hostname"),
    ):
        (place / name).mkdir()
        mlc(place / name, rows, F32.tobytes(), shard)
    (place.parent / "outside.bin").write_bytes(F32.tobytes())


PROGRAMS = (
    "script.py", "issue.md", "build.log", "note.ipynb", "module.json", "executable.txt", "executable.py", "pickled.py", "build.zip",
    "contracts.shapes", "types.relay",
)  # fmt: skip
WEIGHTS = (
    "x.npy",
    "x.npz",
    "trap.npy",
    "trap.npz",
    "x.safetensors",
    "huge.safetensors",
    "mlc",
    "outside",
    "absolute",
)
REFUSED = {"pickled.py", "build.zip", "trap.npy", "trap.npz", "huge.safetensors", "outside", "absolute"}
CALLS = (
    'vm.builtin.read("/etc/hostname")', "__import__('os').mkdir('executed')", 'main("/dev/zero")', 'main("trap.npz")', "x = open('executed', 'w')",
    "os.system('touch executed')", 'main("pipe")',
)  # fmt: skip


def make_odd(place: Path) -> None:
    """Write files that can't be read, or never end."""
    os.mkfifo(place / "pipe")
    (place / "zero.py").symlink_to("/dev/zero")
    (place / "circle").symlink_to("circle")
    (place / "bytes.py").write_bytes(b"\xff\xfe\x00\xd8 main")
    loop = place / "loop"
    loop.mkdir()
    (loop / "0_a.py").symlink_to("0_a.py")
    (loop / "1_b.py").symlink_to("/dev/zero")
    (loop / "inner").symlink_to(loop)
    os.mkfifo(loop / "2_c.py")
    for name in ("calls", "keys"):
        (place / f"long.{name}").write_bytes(b"# " + b"x" * (17 << 20))
    for number, line in enumerate(CALLS):
        (place / f"{number}.calls").write_text(f"{line}\n")


VERBS = {".shapes": ("shapes", "check"), ".relay": ("relations", "check", "run")}
ODD = ("pipe", "zero.py", "circle", "bytes.py", "loop", "no\nsuch\x1b[2J", "x" * 300, "a\udcff")


def lines_of_doors() -> Iterator[list[str]]:
    """Command lines that open each of these files."""
    yield from [["--isolated", *line] for line in _lines()]


def _lines() -> Iterator[list[str]]:
    for name in PROGRAMS:
        verbs = (
            ("show",) if name.startswith("executable") else VERBS.get(Path(name).suffix, ("show", "check"))
        )
        yield from [[verb, name] for verb in verbs]
    for name in WEIGHTS:
        yield ["run", "vector.py", "--input", f"x={name}"]
    for number in range(len(CALLS)):
        yield ["run", "vector.py", "--calls", f"{number}.calls"]
    yield ["run", "vector.py", "--calls", "long.calls"]
    yield ["play", "long.keys", "vector.py", "-p", ""]
    for name in ODD:
        yield from (
            ["show", name],
            ["check", name],
            ["run", "vector.py", "--input", f"x={name}"],
            ["run", name],
        )
