"""Bindings of two texts are paired, in time nearly linear in their number."""

from __future__ import annotations

import random
import re
from difflib import SequenceMatcher

import pytest

import relax_explorer
from relax_explorer import IRModule
from relax_explorer.core.session.align import diff_modules
from relax_explorer.core.session.binding_matches import common_run
from tests.perf.generate import renamed, transformer
from tests.support.work import calls

VECTOR = 'R.Tensor((4,), "float32")'
NOTHING = {"added": 0, "removed": 0, "changed": 0, "type": 0, "kind": 0, "renamed": 0, "moved": 0}


def _read(text: str) -> IRModule:
    return relax_explorer.normalize(relax_explorer.parse(text))


def _function(*statements: str) -> str:
    body = "".join(f"        {line}\n" for statement in statements for line in statement.split("\n"))
    head = (
        "from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n\n@I.ir_module\nclass Module:\n"
    )
    return f'{head}    @R.function\n    def main(x: {VECTOR}, c: R.Tensor((), "bool")) -> {VECTOR}:\n{body}'


def test_two_readings_of_a_symbolic_module_are_the_same() -> None:
    text = transformer(100)
    assert diff_modules(_read(text), _read(text)).is_empty


def test_all_bindings_renamed_are_found() -> None:
    text = transformer(3_000)
    assert diff_modules(_read(text), _read(renamed(text))).stat == NOTHING | {"renamed": 3_000}


def test_renamed_around_what_was_added_and_removed() -> None:
    text = transformer(340)
    lines = renamed(text).split("\n")
    place = next(number for number, line in enumerate(lines) if line.strip().startswith("h4_r:"))
    added = [re.sub("h4_r", f"more{i}", lines[place]).replace("w10", f"w1{i}") for i in (1, 2, 3)]
    dead = next(number for number, line in enumerate(lines) if line.strip().startswith("dead7_r:"))
    edited = [*lines[:place], *added, *lines[place:dead], *lines[dead + 1 :]]
    assert diff_modules(_read(text), _read("\n".join(edited))).stat == NOTHING | {
        "added": 3,
        "removed": 1,
        "renamed": 339,
    }


def test_a_change_at_the_start_does_not_lose_the_renamed_behind_it() -> None:
    text = transformer(3_000)
    changed = renamed(text).replace("R.matmul(x, wq0, out_dtype=None)", "R.matmul(x, wk1, out_dtype=None)", 1)
    assert diff_modules(_read(text), _read(changed)).stat == NOTHING | {"changed": 1, "renamed": 2_999}


def test_nested_functions_and_branchesrenamed() -> None:
    closure = f"@R.function\ndef f(p: {VECTOR}) -> {VECTOR}:\n    q = R.add(p, x)\n    return q\ny = f(x)"
    branch = "if c:\n    b = R.exp(y)\nelse:\n    b = R.tanh(y)\nreturn b"
    text = _function(closure, branch)
    other = re.sub(r"\b[fqyb]\b(?!:)", lambda match: match[0] + "1", text)
    first, second = _read(text), _read(other)
    stat = diff_modules(first, second).stat
    assert stat["added"] == stat["removed"] == stat["changed"] == 0 < stat["renamed"]
    assert diff_modules(first, _read(text)).is_empty


def test_equal_computations_are_paired_in_order() -> None:
    old = _read(_function("a = R.exp(x)", "b = R.exp(x)", "c1 = R.add(a, b)", "return c1"))
    new = _read(_function("d = R.exp(x)", "e = R.exp(x)", "c2 = R.add(d, e)", "return c2"))
    (function,) = diff_modules(old, new).functions
    assert [(pair.kind, pair.a, pair.b) for pair in function.pairs] == [("renamed", i, i) for i in range(3)]


def test_a_swapped_operand_is_a_change() -> None:
    old = _read(_function("a = R.exp(x)", "b = R.tanh(x)", "c1 = R.subtract(a, b)", "return c1"))
    new = _read(_function("d = R.exp(x)", "e = R.tanh(x)", "c2 = R.subtract(e, d)", "return c2"))
    assert diff_modules(old, new).stat == NOTHING | {"changed": 1, "renamed": 2}


def test_deeply_nested_calls_are_compared() -> None:
    depth = 5_000
    old = relax_explorer.parse(_function("a = R.exp(x)", "return a"))
    new = relax_explorer.parse(_function("a = R.exp(x)", "return a"))
    from relax_explorer.core.ir import expr as e
    from relax_explorer.core.ir.node import replace

    def deep(module: IRModule) -> IRModule:
        main = module["main"]
        (block,) = main.body.blocks
        (binding,) = block.bindings
        value = binding.value
        for _ in range(depth):
            value = e.Call(value.op, (value,), value.attrs)
        body = replace(main.body, blocks=(replace(block, bindings=(replace(binding, value=value),)),))
        return module.having({"main": replace(main, body=body)})

    assert diff_modules(deep(old), deep(new)).is_empty


def _pairs_of(size: int, kinds: int) -> tuple[list[int], list[int]]:
    source = random.Random(size)
    old = [source.randrange(kinds) for _ in range(size)]
    new = [key for key in old if source.random() > 0.02]
    for _ in range(size // 50):
        new.insert(source.randrange(len(new)), source.randrange(kinds))
    return old, new


@pytest.mark.parametrize(("size", "kinds"), [(0, 1), (1, 1), (150, 4), (199, 1000), (3_000, 2_000)])
def test_a_common_run_is_one(size: int, kinds: int) -> None:
    old, new = _pairs_of(size, kinds)
    run = common_run(old, new)
    assert all(old[i] == new[j] for i, j in run)
    assert run == sorted(run)
    assert len({i for i, _ in run}) == len({j for _, j in run}) == len(run)
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    assert len(run) >= 0.9 * sum(block.size for block in blocks)


def _calls(size: int) -> int:
    """The number of function calls, also of C functions, to find a common run of texts without a common order."""
    source = random.Random(1)
    old = [source.randrange(20) for _ in range(size)]
    new = [source.randrange(20) for _ in range(size)]
    return calls(lambda: common_run(old, new))


def test_a_long_gap_is_aligned_in_linear_time() -> None:
    assert _calls(1_000) < 6 * 1_000
    assert _calls(2_000) < 6 * 2_000
