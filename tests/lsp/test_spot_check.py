"""Problems right after an edit are those of the whole, or there is no answer yet."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from relax_explorer.core.collector import collector_at_rest
from relax_explorer.ui.editor.document import Document, Range, TextEdit
from relax_explorer.ui.editor.regions import Checked, check
from relax_explorer.ui.editor.spot_check import Before, Spot, spot_check
from tests.lsp.documents import FILES, MAIN, PROGRAM, RULES, of_file, opened, shown


def answer(checked: Checked, new: Document) -> Spot | None:
    return spot_check(new, checked, [Before(region) for region in checked.regions], RULES)


def replaced(checked: Checked, old: str, new: str) -> Document:
    assert old in checked.document.text
    return Document(checked.document.name, checked.document.text.replace(old, new, 1))


LONG = PROGRAM + MAIN.replace("def main", "def other").replace("lv = R.exp(lv)", "lv = cls.main(x, w, c)")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("R.matmul(x, w)", "R.matmul(x, x)"),  # the shapes do not fit
        ("R.matmul(x, w)", "R.matmul(x, ww)"),  # an undefined name
        ("R.matmul(x, w)", "R.matmul(x, "),  # half typed
        ("R.matmul(x, w)", "R.mat"),
        ("R.matmul(x, w)", ""),
        ("y = R.matmul(x, w)", "y = R.matmul(x, w)\n        u = R.add(y, y)"),  # a new line, not used
        ("y = R.matmul(x, w)", "u = R.matmul(x, w)"),  # readers lose their name
        ("        z = R.nn.softmax(y)\n", ""),
        ("z = R.nn.softmax(y)", "z = R.nn.softmax(x)"),  # another type for the readers
        ("z = R.nn.softmax(y)", 'z = R.astype(y, "float16")'),
        ("z = R.nn.softmax(y)", "z = x"),
        ("z = R.nn.softmax(y)", "z = R.nn.softmax(y, axis=9)"),
        ("z = R.nn.softmax(y)", "z = R.nn.softmax(y); q = y"),
        ("z = R.nn.softmax(y)", "z = R.nn.softmax(y)  # told (here"),
        ("z = R.nn.softmax(y)", 'z = R.nn.softmax(y)\n        "a text"'),
        ("z = R.nn.softmax(y)", "z = R.print(y)"),  # an effect
        ("z = R.nn.softmax(y)", "z = cls.double(y)"),
        ("z = R.nn.softmax(y)", "y = R.nn.softmax(y)\n        z = y"),  # bound again
        ("z = R.nn.softmax(y)", "z = R.match_cast(y, R.Tensor((n, 8)))"),
        ("r = R.nn.relu(z)", "r = R.nn.relu(zz)"),  # in a branch
        ("r = R.nn.relu(z)", "q = R.nn.relu(z)"),
        ("lv = R.exp(lv)", "lv = R.exp(r)"),
        ("lv = R.exp(lv)", "lv = R.sum(lv)"),  # another type of the function
        ("return lv", "return y"),
        ("return lv", "return"),
        ("return lv", "return nothing"),
        ("if c:", "if x:"),
        ("n = T.int64()\n        y", "m = T.int64()\n        y"),
        ('x: R.Tensor(("n", 16)', 'x: R.Tensor(("n", 15)'),  # the head
        ("B[v_i, v_j] = A[v_i, v_j]", "B[v_i, v_j] = C[v_i, v_j]"),  # a kernel
        ("@R.function", "@R.func"),
        ("class Module:", "class Modul:"),
        ("class Module:\n", "class Module:\n\n"),  # all lines move
        ("from tvm.script import ir as I\n", "from tvm.script import ir as I\nN = 4\n"),
    ],
)
@pytest.mark.parametrize("text", [PROGRAM, LONG], ids=["one", "two"])
def test_it_is_what_the_whole_says(text: str, old: str, new: str) -> None:
    checked = opened(text)
    document = replaced(checked, old, new)
    spot = answer(checked, document)
    if spot is not None:
        assert shown(spot.problems) == shown(check(document, RULES).problems)


@pytest.mark.parametrize("old", ["R.matmul(x, w)", "R.nn.softmax(y)", "R.nn.relu(z)"])
@pytest.mark.parametrize("new", ["R.add(x, ww)", "R.", "R.matmul(", "R.add(z, z"])
def test_what_is_typed_most_is_answered(old: str, new: str) -> None:
    checked = opened(PROGRAM)
    document = replaced(checked, old, new)
    spot = answer(checked, document)
    assert spot is not None
    assert shown(spot.problems) == shown(check(document, RULES).problems)


def test_a_mistake_that_was_there_stays_and_one_that_is_mended_goes() -> None:
    checked = opened(PROGRAM.replace("R.nn.relu(z)", "R.nn.relu(zz)"))
    assert len(checked.problems) == 1
    for old, new, count in (("R.matmul(x, w)", "R.matmul(x, ww)", 2), ("R.nn.relu(zz)", "R.nn.relu(z)", 0)):
        spot = answer(checked, replaced(checked, old, new))
        assert spot is not None
        assert len(spot.problems) == count


def edits(document: Document, seed: int, count: int) -> Iterator[TextEdit]:
    """Random changes as a user makes them: a word typed, cut or exchanged, a line doubled, moved or removed."""
    chance = random.Random(seed)
    words = [
        "R.add(x, x)",
        "x",
        "R.",
        "(",
        ")",
        "lv",
        "=",
        "y = ",
        "R.nn.relu(lv)",
        '"float16"',
        "0",
        "\n",
        "#",
        "return ",
    ]
    for _ in range(count):
        line = chance.randrange(len(document.starts))
        text = document.line(line)
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 0, 1, 3, 8]))
        kind = chance.randrange(5)
        if kind < 3:
            place = Range(
                document.position(document.starts[line] + start),
                document.position(document.starts[line] + end),
            )
            yield TextEdit(place, chance.choice([*words, "", ""]))
        elif kind == 3:
            other = document.line(chance.randrange(len(document.starts)))
            yield TextEdit(
                Range(document.position(document.starts[line]), document.position(document.starts[line])),
                f"{other}\n",
            )
        else:
            last = document.starts[min(line + 1, len(document.starts) - 1)]
            yield TextEdit(Range(document.position(document.starts[line]), document.position(last)), "")


SMALL = [path for path in FILES if path.stat().st_size < 60_000]


@pytest.mark.parametrize("path", SMALL, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_random_edits(path: Path) -> None:
    checked = of_file(path)
    before = [Before(region) for region in checked.regions]
    answered = 0
    for number, edit in enumerate(edits(checked.document, len(path.name), 25)):
        document = checked.document.edited(edit)
        spot = spot_check(document, checked, before, RULES)
        if spot is not None:
            answered += 1
            assert shown(spot.problems) == shown(check(document, RULES).problems), (number, edit)
    assert answered > 0


def long_program(count: int) -> str:
    """One function of many bindings."""
    operations = ["R.matmul({}, w)", "R.add({}, x)", "R.nn.relu({})", "R.multiply({}, x)"]
    names = ["x", *[f"v{number}" for number in range(count)]]
    lines = [f"            v{n} = {operations[n % 4].format(names[n])}" for n in range(count)]
    head = MAIN.split("\n")[1].replace("(16, 8)", "(16, 16)")
    body = [f"            R.output({names[-1]})", f"        return {names[-1]}", ""]
    return "\n".join(
        [
            "@I.ir_module",
            "class Module:",
            "    @R.function",
            head,
            "        with R.dataflow():",
            *lines,
            *body,
        ]
    )


def test_an_edit_among_ten_thousand_bindings_takes_fifty_milliseconds() -> None:
    """Of processor time, at best; a check of the whole takes ten times as long."""
    checked = opened(long_program(10_000))
    assert checked.problems == []
    before = [Before(region) for region in checked.regions]
    for item in before:
        item.prepare()
    for new in ("R.matmul(v4998, ww)", "R.matmul(v4999, w", "R.matmul(v4998, w)", "R.matmul(v4999, x)"):
        document = replaced(checked, "R.matmul(v4999, w)", new)
        times = []
        for _ in range(3):
            start = time.process_time()
            with collector_at_rest():
                spot = spot_check(document, checked, before, RULES)
            times.append(time.process_time() - start)
        assert spot is not None
        assert shown(spot.problems) == shown(check(document, RULES).problems)
        assert min(times) < 0.05, times
