"""Small packages: a wheel of some modules, installed by pip into a folder."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path


def install(folder: Path, name: str, modules: Mapping[str, str], entry_points: Mapping[str, str]) -> None:
    """Install modules (file name → text) with entry points of our passes (name → `module:value`)."""
    dist = f"{name.replace('-', '_')}-1.0"
    points = "".join(f"{key} = {value}\n" for key, value in entry_points.items())
    files = {
        **modules,
        f"{dist}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{dist}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{dist}.dist-info/entry_points.txt": f"[relax_explorer.passes]\n{points}",
    }
    record = f"{dist}.dist-info/RECORD"
    wheel = folder / f"{dist}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, record: "".join(f"{path},,\n" for path in (*files, record))}.items():
            archive.writestr(path, text)
    target = folder / "site"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
    ]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=120)
