"""What a process knows of the kernels that an earlier one translated: never more than is true, and nothing of what is damaged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import kernel_cache, kernel_code, machine_code, translations
from relax_explorer.core.exec.kernel_code import CHECKED, IN_ORDER, TRUSTING
from relax_explorer.core.exec.kernel_form import form, template
from relax_explorer.core.exec.loop_fusion import fused
from relax_explorer.core.exec.loop_statements import length_variables, translate
from relax_explorer.core.exec.loop_text import source
from relax_explorer.core.exec.translations import Translations
from relax_explorer.core.tir.stmt import PrimFunc
from tests.support.corpus import MODELS

F = np.float32
ROOT = Path(__file__).parents[2]
PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def norm(A: T.Buffer((3, 40), "float32"), B: T.Buffer((3, 40), "float32")):
        squares = T.sblock_alloc_buffer((3, 40), "float32")
        total = T.sblock_alloc_buffer((3,), "float32")
        for i, j in T.grid(3, 40):
            with T.sblock("squares"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                squares[v_i, v_j] = A[v_i, v_j] * A[v_i, v_j]
        for i, j in T.grid(3, 40):
            with T.sblock("total"):
                v_i, v_j = T.axis.remap("SR", [i, j])
                with T.init():
                    total[v_i] = T.float32(0)
                total[v_i] = total[v_i] + squares[v_i, v_j]
        for i, j in T.grid(3, 40):
            with T.sblock("B"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                B[v_i, v_j] = A[v_i, v_j] / T.sqrt(total[v_i]) * T.float32(1.7)
    @T.prim_func(private=True, s_tir=True)
    def pick(A: T.Buffer((3, 40), "float32"), P: T.Buffer((3,), "int32"), B: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.sblock("B"):
                v_i = T.axis.spatial(3, i)
                B[v_i] = A[v_i, P[v_i]]
    @T.prim_func(private=True, s_tir=True)
    def part(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n // 2,), "float32")
        for i in range(n // 2):
            with T.sblock("B"):
                v_i = T.axis.spatial(n // 2, i)
                B[v_i] = A[v_i * 2 + 1] - T.float32(3)
    @R.function
    def main(x: R.Tensor((3, 40), "float32"), p: R.Tensor((3,), "int32"), y: R.Tensor(("n",), "float32")):
        n = T.int64()
        cls = Module
        a = R.call_tir(cls.norm, (x,), out_sinfo=R.Tensor((3, 40), "float32"))
        b = R.call_tir(cls.pick, (a, p), out_sinfo=R.Tensor((3,), "float32"))
        c = R.call_tir(cls.part, (y,), out_sinfo=R.Tensor((n // 2,), "float32"))
        return (a, b, c)
"""
X = np.arange(120, dtype=F).reshape(3, 40) + 1
P = np.array([0, 39, 7], np.int32)


def results(cache: Path, p: np.ndarray = P, y: np.ndarray = X[0]) -> list[bytes]:
    """The results of the program in what a new process knows, with this folder of kernels."""
    machine_code._TEXTS.clear()
    kernel_code._CODES.clear()
    translations.translations.cache_clear()
    program = rxe.normalize(rxe.parse(PROGRAM))
    return [item.tobytes() for item in rxe.run(program, "main", [X, p, y], cache=cache)]


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> list[PrimFunc]:
    """The PrimFuncs that are translated."""
    found: list[PrimFunc] = []
    monkeypatch.setattr(
        kernel_code, "translate", lambda fn, *args, **kw: (found.append(fn), translate(fn, *args, **kw))[1]
    )
    return found


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def index(cache: Path) -> Path:
    (path,) = cache.glob("translations_*.jsonl")
    return path


def test_a_later_process_translates_nothing_but_facts_of_lengths(
    cache: Path, translated: list[PrimFunc]
) -> None:
    first = results(cache)
    assert len(translated) >= 4
    translated.clear()
    assert results(cache) == first
    assert len(translated) == 1
    assert length_variables(translated[0]), "for the lengths of `part`"
    size = index(cache).stat().st_size
    results(cache)
    assert index(cache).stat().st_size == size


def test_a_kernel_that_stops_is_translated_as_far_as_its_call_needs(cache: Path) -> None:
    wanted = np.array([0, 40, 7], np.int32)
    results(cache)
    for _ in range(2):
        with pytest.raises(rxe.Failure) as caught:
            results(cache, wanted)
        assert [item.code.id for item in caught.value.diagnostics] == ["RX0508"]


def test_lengths_that_break_a_fact_take_the_checked_text(cache: Path) -> None:
    for _ in range(2):
        for length in (0, 1, 2, 7, 120):
            y = np.arange(length, dtype=F)
            assert results(cache, P, y)[2] == (y[1::2] - 3).tobytes()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _flip(path: Path) -> None:
    path.write_bytes(
        re.sub(rb"true|false", lambda m: b"false" if m[0] == b"true" else b"true", path.read_bytes())
    )


def _garble(path: Path) -> None:
    path.write_bytes(b"\xff\x00 []\n{\n\n" + path.read_bytes().replace(b"[", b"]"))


def _open_to_others(path: Path) -> None:
    path.write_bytes(path.read_bytes())
    path.chmod(0o666)


def _no_code(path: Path) -> None:
    for file in path.parent.glob("*.o"):
        file.unlink()


def _damaged_code(path: Path) -> None:
    for file in path.parent.glob("*.o"):
        file.write_bytes(file.read_bytes()[:-9])


@pytest.mark.parametrize("damage", [_cut, _flip, _garble, _open_to_others, _no_code, _damaged_code])
def test_what_is_damaged_is_made_anew(
    cache: Path, translated: list[PrimFunc], damage: Callable[[Path], None]
) -> None:
    first = results(cache)
    damage(index(cache))
    translated.clear()
    assert results(cache) == first
    assert len(translated) > 1
    assert index(cache).stat().st_mode & 0o777 == 0o600
    translated.clear()
    assert results(cache) == first
    assert len(translated) == 1


def test_a_file_that_became_large_begins_anew(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = results(cache)
    size = index(cache).stat().st_size
    monkeypatch.setattr(translations, "_MOST", size)
    assert results(cache) == first
    assert index(cache).stat().st_size == size
    monkeypatch.setattr(translations, "_MOST", size - 1)
    translations.translations.cache_clear()
    translations.translations(cache)
    assert list(cache.glob("translations_*.jsonl")) == []
    assert results(cache) == first


def test_two_processes_add_lines_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    code = (
        "import sys; from pathlib import Path; from relax_explorer.core.exec.kernel_cache import add_line\n"
        "for n in range(500): add_line(Path(sys.argv[1]), (sys.argv[2] * (n % 90 + 1)).encode())"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, str(path), letter]) for letter in "ab"]
    assert [process.wait(60) for process in processes] == [0, 0]
    lines = kernel_cache.lines(path, 1 << 20)
    assert sorted(lines) == sorted([letter * (n % 90 + 1) for n in range(500) for letter in (b"a", b"b")])


def test_a_changed_translator_begins_another_file(tmp_path: Path) -> None:
    module = tmp_path / "exec" / "loops.py"
    module.parent.mkdir()
    module.write_text("a = 1\n")
    before = translations.made_by(tmp_path)
    assert translations.made_by(tmp_path) == before
    os.utime(module, ns=(1, 1))
    later = translations.made_by(tmp_path)
    module.write_text("a = 12\n")
    os.utime(module, ns=(1, 1))
    assert len({before, later, translations.made_by(tmp_path)}) == 3


def test_a_later_process_knows_what_the_first_one_knew(cache: Path) -> None:
    results(cache)
    outlines = []
    for fn in rxe.normalize(rxe.parse(PROGRAM)).functions.values():
        if type(fn) is not PrimFunc:
            continue
        kept = Translations(index(cache)).outlines[form(fn).digest]
        machine_code._TEXTS.clear()
        fresh = kernel_code.Code(fn, None)
        assert kept == fresh.outline
        outlines.append(fresh.outline)
        later = kernel_code.Code(fn, cache)
        assert later.outline == fresh.outline
        for name in (TRUSTING, CHECKED, IN_ORDER):
            again, text = later.text(fn, name), fresh.text(fn, name)
            assert (again.name, list(again.params), later.stopping[name]) == (
                text.name,
                list(text.params),
                fresh.stopping[name],
            )
    assert {outline.is_fused for outline in outlines} == {True, False}
    assert {outline.shares_any for outline in outlines} == {True, False}
    assert {outline.is_serial for outline in outlines} == {True, False}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_cache_that_became_too_large_loses_its_oldest_files(
    cache: Path, monkeypatch: pytest.MonkeyPatch, translated: list[PrimFunc]
) -> None:
    first = results(cache)
    below = cache / "__pycache__" / "old.nbc"
    for age, path in enumerate([below, *[cache / f"k_{n}.o" for n in range(9)]]):
        path.write_bytes(b"x" * 1000)
        os.utime(path, (age + 1, age + 1))
    size = _size(cache)
    for limit, is_large in ((size, False), (size - 1, True)):
        monkeypatch.setattr(kernel_cache, "MOST", limit)
        monkeypatch.setattr(kernel_cache, "_MEASURED", set())
        assert kernel_cache.keep(cache, 1, b"")
        names = sorted(int(path.stem[2:]) for path in cache.glob("k_?.o"))
        assert names == list(range(9 - len(names), 9)), "the newest are left"
        assert below.exists() == (not is_large)
        assert (len(names) < 9) == is_large
    assert size // 2 - 1000 < _size(cache) < size // 2
    translated.clear()
    assert results(cache) == first
    assert len(translated) == 1


# One change of a text at one place.
CHANGES = {
    r"(?<![\w.])\d+(?![\w.\"])": lambda match: str(int(match[0]) + 1),
    r"\d\.\d|\(0\)": lambda match: "(0.5)" if match[0] == "(0)" else "2.5",
    r"[*/+](?= )": lambda match: {"*": "+", "/": "*", "+": "-"}[match[0]],
    r"SS|SR": lambda match: "SR" if match[0] == "SS" else "SS",
    r"float32": lambda match: "float64",
    r"v_i\b": lambda match: "v_j",
    r"sqrt": lambda match: "exp",
    r"n // 2": lambda match: "n // 3",
    r"\bA\b": lambda match: "B",
}


def variants(text: str) -> list[PrimFunc]:
    """The PrimFuncs of a text, and of those that differ from it at one place, as far as they can be read."""
    found = []
    for pattern, change in CHANGES.items():
        for match in re.finditer(pattern, text):
            try:
                program = rxe.parse(text[: match.start()] + change(match) + text[match.end() :])
            except rxe.Failure:
                continue
            found += [fn for fn in program.functions.values() if type(fn) is PrimFunc]
    return found


def test_kernels_with_one_digest_have_one_translation() -> None:
    texts: dict[str, set[str]] = defaultdict(set)
    for fn in variants(PROGRAM[: PROGRAM.index("    @R.function")]):
        try:
            whole, numbers = template(fn)
            made = translate(whole, numbers=numbers)
        except rxe.Failure:
            continue
        texts[form(fn).digest].add(f"{made.facts}{made.ways}{source(made.routine)}")
    assert len(texts) > 60
    assert {digest: len(found) for digest, found in texts.items() if len(found) > 1} == {}


def fused_texts() -> list[str]:
    """Digests of the texts of kernels, which decide what machine code of an earlier process serves."""
    texts = []
    for model in MODELS:
        for fn in rxe.parse(model.stages[-1].read_text(encoding="utf-8")).functions.values():
            if type(fn) is PrimFunc:
                texts.append(blake2b(source(translate(fused(fn)).routine).encode()).hexdigest())
    return texts


def test_the_texts_of_kernels_do_not_depend_on_the_order_of_sets() -> None:
    code = "from tests.exec.test_translations import fused_texts\nfor text in fused_texts(): print(text)"
    command = [sys.executable, "-c", code]
    answers = []
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        answers.append(
            subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True).stdout
        )
    assert answers[0].count(b"\n") > 60
    assert answers[0] == answers[1] == answers[2]
