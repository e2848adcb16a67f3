"""The passes that a script applies: calls such as `relax.transform.FuseOps(fuse_opt_level=0)`, in order. Nothing is executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from relax_explorer.core.syntax.python_tree import python_tree
from relax_explorer.core.syntax.surroundings import Literal, NotLiteral, literal

_CALL = re.compile(
    r"(?<![\w.])(?:tvm\.)?(?:relax|tirx?|s_tir|dlight|dl)\.transform\.(?P<name>[A-Z]\w*)\("
    r"|(?<![\w.])(?:tvm\.)?relax\.(?:get_pipeline\(\s*(?P<quote>[\"'])(?P<pipeline>\w+)(?P=quote)|pipeline\.(?P<function>\w+)_pipeline\()"
)
_IMPORT = re.compile(
    r"^[ \t]*from[ \t]+tvm\.relax\.transform[ \t]+import[ \t]+\(?([\w,\s]+)\)?", re.MULTILINE
)
_LONGEST = 2_000  # characters of a call


@dataclass(frozen=True, slots=True)
class WrittenPass:
    """A pass as a script calls it: its name, its arguments, and its line. `unknown` are arguments that only running it would tell."""

    name: str
    line: int
    args: tuple[Literal, ...] = ()
    options: tuple[tuple[str, Literal], ...] = ()
    unknown: tuple[str, ...] = ()


def written_passes(text: str, programs: Sequence[tuple[int, int]]) -> tuple[WrittenPass, ...]:
    """The passes that a text calls outside of its programs, whose first and last lines are given."""
    if "transform" not in text and "pipeline" not in text:
        return ()
    inside = {line for first, last in programs for line in range(first, last + 1)}
    imported = {name for hit in _IMPORT.finditer(text) for name in re.findall(r"\b[A-Z]\w*", hit[1])}
    pattern = _CALL
    if imported:
        names = "|".join(map(re.escape, sorted(imported)))
        pattern = re.compile(rf"{_CALL.pattern}|(?<![\w.])(?P<bare>{names})\(")
    found, start, line = [], 0, 1
    for hit in pattern.finditer(text):
        line, start = line + text.count("\n", start, hit.start()), hit.start()
        before = text[text.rfind("\n", 0, hit.start()) + 1 : hit.start()]
        if line in inside or "#" in before:
            continue
        groups = hit.groupdict()
        pipeline = groups["pipeline"] or groups["function"]
        if pipeline is not None:
            found.append(WrittenPass(pipeline, line))
        else:
            found.append(_called(text, hit.start(), groups["name"] or groups.get("bare") or "", line))
    return tuple(found)


def _called(text: str, start: int, name: str, line: int) -> WrittenPass:
    """A call with its arguments."""
    end = text.find("(", start)
    depth = 0
    for place in range(end, min(len(text), end + _LONGEST)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if not depth:
            end = place + 1
            break
    try:
        call = python_tree(text[start:end], "eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return WrittenPass(name, line, unknown=("its arguments",))
    if not isinstance(call, ast.Call):
        return WrittenPass(name, line)
    args, options, unknown = [], [], []
    for number, node in enumerate(call.args):
        try:
            args.append(literal(ast.unparse(node), {}))
        except NotLiteral:
            unknown.append(f"argument {number}: {ast.unparse(node)[:40]}")
    for item in call.keywords:
        try:
            options.append((item.arg or "**", literal(ast.unparse(item.value), {})))
        except NotLiteral:
            unknown.append(f"{item.arg or '**'}={ast.unparse(item.value)[:40]}")
    return WrittenPass(name, line, tuple(args), tuple(options), tuple(unknown))
