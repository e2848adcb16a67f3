"""The one door to Python's parser. It reads text and never executes it.

CPython 3.11 counts the depth of a tree in a place that all threads share: two threads that parse at once can see a SystemError for
good text. So one thread parses at a time here, and a thread of the host that met us is answered by parsing again. What Python
warns of, such as `1if`, does not apply to TVMScript.
"""

from __future__ import annotations

import ast
import threading
import warnings
from typing import Literal, overload

_TRIES = 8  # a thread of the host parses at most a few times while one text is read

_one_thread = threading.Lock()


@overload
def python_tree(text: str, mode: Literal["exec"] = "exec") -> ast.Module: ...
@overload
def python_tree(text: str, mode: Literal["eval"]) -> ast.Expression: ...


def python_tree(text: str, mode: Literal["exec", "eval"] = "exec") -> ast.Module | ast.Expression:
    """Python's tree of a module, or of one expression with the mode "eval". Raises what `ast.parse` raises."""
    with _one_thread, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(_TRIES):
            try:
                return ast.parse(text) if mode == "exec" else ast.parse(text, mode="eval")
            except SystemError as error:
                disturbed = error
        raise disturbed


def expression_tree(text: str) -> ast.expr:
    """Python's tree of one expression. Raises ValueError if the text is not an expression."""
    try:
        return python_tree(text.strip(), "eval").body
    except (SyntaxError, RecursionError, MemoryError, OverflowError) as error:
        raise ValueError(str(error)) from None
