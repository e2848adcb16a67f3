"""Writes what a Python process executes, opens and starts to the file of `RXE_AUDIT`, one line of JSON each.

A folder on PYTHONPATH with this file puts it into every interpreter that a test starts, and into their children.
"""

import json
import os
import sys

_log = os.open(os.environ["RXE_AUDIT"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = (
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.utime",
    "shutil.rmtree", "shutil.copyfile", "shutil.move",
)  # fmt: skip
_STARTS = (
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "os.startfile",
    "webbrowser.open",
)
_LISTS = ("os.listdir", "os.scandir", "glob.glob")


def _note(event: str, given: tuple) -> None:
    if event == "open" and isinstance(given[0], (str, bytes)):
        is_write = bool(given[2] & _WRITES) or any(mode in (given[1] or "") for mode in "wax+")
        _write("write" if is_write else "read", os.fsdecode(given[0]))
    elif event == "exec":
        _write("exec", given[0].co_filename)
    elif event == "rxe.words":
        _write("words", given[0])
    elif event in _CHANGES:
        _write(
            "write", *[os.fsdecode(item) for item in given[:2] if isinstance(item, (str, bytes, os.PathLike))]
        )
    elif event in _STARTS:
        _write("start", str(given[:2]))
    elif event in _LISTS and isinstance(given[0], (str, bytes, os.PathLike)):
        _write("list", os.fsdecode(given[0]))


def _write(*words: str) -> None:
    os.write(_log, (json.dumps([*words, os.getcwd()]) + "\n").encode())


sys.addaudithook(_note)
