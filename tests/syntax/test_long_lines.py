"""A statement that is too long is refused at no cost; strings, comments and many statements do not count."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.syntax import python_tree
from relax_explorer.core.syntax.python_tree import LONGEST, first_too_long

HEAD = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    z = R.add(x, x)\n'
MANY = LONGEST // 2
PLAIN = "    y = R.add(x, x)\n"
LIST = "    y = R.const([" + "1, " * MANY + "])\n"
TOO_LONG = {
    "list": LIST,
    "lines": "    y = R.const([\n" + "1,\n" * MANY + "])\n",
    "lists": "    y = R.const([" + "[1]," * MANY + "])\n",
    "strings between": "    y = R.const([" + '"(", ' * (MANY + 1) + "])\n",
    "comparison": "    y = 1" + " < 1" * MANY + "\n",
    "joined lines": "    y = 1" + " < \\\n1" * MANY + "\n",
    "unclosed": "    y = R.const([" + "1, " * MANY + "\n",
    "unclosed string": "    y = R.const(['\n" + "1, " * MANY + ")\n",
    "among plain lines": PLAIN * 20 + LIST + PLAIN * 20,
}
FINE = {
    "string": '    y = R.call_packed("f", R.str("' + "([," * MANY + '"))\n',
    "long string": '    """' + "[(1, \n" * MANY + '"""\n',
    "escapes": '    y = R.str("' + '\\"' * MANY + '")\n',
    "comment": "    # " + "[1, " * MANY + "\n",
    "comments between": "    y = R.add(x,\n" + ("# " + "(" * 100 + "\n") * (LONGEST // 90) + "x)\n",
    "open quotes": "    y = R.str('" + "\\'" * MANY + "\n" + "'\n" * MANY,
    "statements": PLAIN * (LONGEST // 15),
}


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_long_statement_is_refused_early(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{HEAD}{TOO_LONG[name]}    return y\n"
    monkeypatch.setattr(python_tree.ast, "parse", None)  # it would take seconds, and a gigabyte
    (problem,) = rxe.check(text)
    assert problem.code.id == "RX0029"
    assert problem.span is not None
    assert problem.span.line == 4 + 20 * (name == "among plain lines")


@pytest.mark.parametrize("name", FINE)
def test_strings_comments_and_many_statements_are_not_long(name: str) -> None:
    assert first_too_long(f"{HEAD}{FINE[name]}    return x\n") is None
