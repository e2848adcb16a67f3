"""The pages as a new user follows them: the wheel in a fresh environment, in an empty folder, without a checkout.

    python -m tests.pages.from_outside --python python3.13

It builds the wheel, installs it with nothing else, runs each page in a folder of its own by the shell, compares what the page shows, and prints the
size of the wheel and the time of an import. What needs TVM, onnx or PyTorch is left out, as in a fresh environment. The README speaks of files of
the reader: a build from the samples stands for hers, and what opens the explorer is opened without a terminal and left by its key.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from relax_explorer.ui.commands import COMMANDS
from tests.pages.snippets import KEYS, Snippet, events, fits, snippets

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LARGEST = 0.15  # seconds of an import
NAMES = {item.name for item in COMMANDS}


def pages() -> list[Path]:
    """The pages that are followed."""
    return [
        ROOT / "README.md",
        DOCS / "start.md",
        *sorted(path for room in ("learn", "find", "use") for path in (DOCS / room).glob("*.md")),
    ]


def told(words: list[str], **options: object) -> str:
    """What a command prints, which has to succeed."""
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout  # type: ignore[call-overload,no-any-return]  # options as they are


def installed(python: str, folder: Path) -> Path:
    """An environment of this Python with the wheel, and nothing of ours in the settings."""
    told(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    )
    (wheel,) = folder.glob("*.whl")
    told([python, "-m", "venv", str(folder / "venv")])
    told([str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", str(wheel)])
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    return folder / "venv" / "bin"


def environment(programs: Path, home: Path) -> dict[str, str]:
    """The variables of a new user."""
    return {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "COLUMNS": "120",
        "TERM": "xterm-256color",
    }


def differences(path: Path, programs: Path, folder: Path) -> Iterator[str]:
    """What a page shows and does not happen."""
    place = folder / "pages" / path.parent.name / path.stem
    place.mkdir(parents=True)
    if path.name == "README.md":
        _bring_files(place, environment(programs, folder))
    script = ""
    for snippet in snippets(path.read_text(encoding="utf-8")):
        if snippet.needs:
            continue
        if snippet.kind == "python" and not snippet.file:
            script, text = _python(script, snippet, place, environment(programs, folder))
        else:
            text = _run(
                replace(snippet, text=_headless(snippet.text)) if path.name == "README.md" else snippet,
                place,
                environment(programs, folder),
            )
        if snippet.shown is not None and not fits(snippet.shown.text, text):
            yield f"{path.name}:{snippet.line} prints\n{text}"
        if "Traceback" in text:
            yield f"{path.name}:{snippet.line} ends with\n{text}"


FILES = """
from pathlib import Path
import shutil, numpy, relax_explorer
build = Path(relax_explorer.__file__).parent / "samples" / "wrong_fusion"
shutil.copytree(build, "dumps", ignore=shutil.ignore_patterns("README.md"))
for name in ("model.py", "model.reduced.py"):
    shutil.copy(build / "00_input.py", name)
shapes = {"x": (3, 16), "w": (16, 16), "b": (16,), "w_out": (16, 4)}
numpy.save("x.npy", numpy.ones((5, 16), "float32"))
numpy.savez("weights.npz", **{name: numpy.random.default_rng(0).normal(size=shape).astype("float32") for name, shape in shapes.items()})
Path("prefill_and_decode.txt").write_text('main("x.npy", "randn:2", "randn:3", "randn:4")\\n')
Path("leave.keys").write_text("size 80 24\\nkey ctrl+q\\n")
"""


def _bring_files(place: Path, variables: dict[str, str]) -> None:
    """The files that the README takes for granted."""
    told(["python", "-c", FILES], cwd=place, env=variables)
    told(["rxe", "run", "model.py", "--input", "weights.npz", "-o", "io.npz"], cwd=place, env=variables)


def _headless(text: str) -> str:
    """Commands as they are, but for those that install a checkout, ask TVM or the package index, or open the explorer."""
    kept = []
    for line in text.replace("pip install -e . && ", "").splitlines():
        words = shlex.split(line, comments=True)
        if "tvm:zero" in words or words[0] != "rxe":  # the tests run the others
            continue
        if words[1] not in NAMES:
            words[1:1] = ["play", "leave.keys"]
        status = int(words[1] == "bisect")  # it finds the fault
        kept.append(
            f"{shlex.join(words)} < /dev/null > told.txt 2>&1; [ $? = {status} -a -s told.txt ] || cat told.txt -"
        )
        kept[-1] += f" <<< {shlex.quote('Traceback: ' + line)}"
    return "\n".join(kept)


def _python(script: str, snippet: Snippet, place: Path, variables: dict[str, str]) -> tuple[str, str]:
    """All Python of the page so far, and what its last part prints."""
    mark = "\nprint('-- next --')\n"
    script += mark + snippet.text
    (place / "page.py").write_text(script, encoding="utf-8")
    done = subprocess.run(["python", "page.py"], cwd=place, env=variables, capture_output=True, text=True)
    return script, done.stdout.rpartition("-- next --\n")[2] + done.stderr


def _run(snippet: Snippet, place: Path, variables: dict[str, str]) -> str:
    if snippet.file:
        (place / snippet.file).write_text(snippet.text, encoding="utf-8")
        return ""
    text = snippet.text
    if snippet.kind == "keys":
        match = KEYS.fullmatch(snippet.text)
        assert match
        program, keys, shown = match.groups()
        (place / "page.keys").write_text("\n".join(["size 120 40", *events(keys), ""]), encoding="utf-8")
        text = f"rxe play page.keys {program} | grep -qF -- {shlex.quote(shown)} || echo Traceback: no {shlex.quote(shown)}"
    text = re.sub(r"^rxe (samples/\S+)( .*)?$", r"true \1", text, flags=re.MULTILINE)  # it opens the explorer
    done = subprocess.run(
        ["bash", "-c", text],
        cwd=place,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return re.sub(r"[^\s(]+/relax_explorer/samples/", "samples/", done.stdout)


def import_time(programs: Path) -> float:
    """The seconds of processor time of an import, the least of five: other work may keep it waiting."""
    code = "import time; t = time.process_time(); import relax_explorer; print(time.process_time() - t)"
    return min(float(told([str(programs / "python"), "-c", code])) for _ in range(5))


def main() -> int:
    """Follow all pages; the exit status is 1 if something else happens."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = installed(parser.parse_args().python, folder)
        print(told([str(programs / "python"), "-VV"]).strip())
        os.environ.pop("PYTHONPATH", None)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each command would compile the program anew
        seconds = import_time(programs)
        print(f"import relax_explorer: {seconds:.3f} s")
        wrong = [text for path in pages() for text in differences(path, programs, folder)]
        print("\n".join([*wrong, f"{len(pages())} pages followed, {len(wrong)} places differ"]))
    return int(bool(wrong) or seconds > LARGEST)


if __name__ == "__main__":
    sys.exit(main())
