"""TVM's relations between pairs of StructInfo: compatibility, least upper bound, and types.

TVM has four answers where the language has three (see `differences.md`): each pair gets TVM's answer that corresponds
to ours. DIFFERENCES lists the rules of intended differences; all other answers must agree.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator

from relax_explorer.core.check.compatible import NO, YES, compatible, erase, fits, unify
from relax_explorer.core.check.matching import free_dims
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import BOOL, FLOAT16, FLOAT32, INT64
from relax_explorer.core.ir.struct_info import StructInfoText
from relax_explorer.core.ir.types import PACKED_FUNC_TYPE, erase_struct_info, wrap_type
from tests.support.oracle import Oracle, Relation

PROGRAMS, PAIRS, TOP = 12, 50, 2
WRITER = StructInfoText(quote_all=True)
N, M = p.PrimVar("n"), p.PrimVar("m")
LENGTHS = [p.IntImm(2), p.IntImm(3), N, M, N + 1, N * 2, N + M, M + N, N + N]


def drawn(pick: random.Random, depth: int = TOP) -> s.StructInfo:
    """A random StructInfo."""
    kind = pick.randrange(10 if depth else 7)
    dims = tuple(pick.choices(LENGTHS, k=pick.randrange(3)))
    element = pick.choice([None, FLOAT32, FLOAT32, FLOAT16])
    if kind < 3:
        return s.TensorStructInfo(dims, element)
    if kind == 3:
        return s.TensorStructInfo(None, element, pick.randrange(-1, 3))
    if kind < 6:
        return (
            s.ShapeStructInfo(dims) if kind == 4 and dims else s.ShapeStructInfo(None, pick.randrange(-1, 3))
        )
    if kind == 6:
        scalars = (
            [s.PrimStructInfo(INT64), s.PrimStructInfo(BOOL)] if depth == TOP else []
        )  # TVM does not read scalars inside other types
        return pick.choice([s.OBJECT, s.FuncStructInfo(None, s.OBJECT, False), *scalars])
    fields = tuple([drawn(pick, depth - 1) for _ in range(pick.randrange(3))])
    if kind < 9:
        return s.TupleStructInfo(fields)
    return s.FuncStructInfo(tuple(map(without_dims, fields)), drawn(pick, 0), pick.random() < 0.5)


def without_dims(info: s.StructInfo) -> s.StructInfo:
    """Parameters of functions without shape variables: in a signature they would belong to that signature."""
    return erase(info, ())


def varied(pick: random.Random, info: s.StructInfo) -> s.StructInfo:
    """Another StructInfo, often nearly the same."""
    if isinstance(info, s.TupleStructInfo) and info.fields:
        return s.TupleStructInfo((*info.fields[:-1], varied(pick, info.fields[-1])))
    if isinstance(info, s.FuncStructInfo) and info.params:
        return s.FuncStructInfo(info.params, varied(pick, info.ret), pick.random() < 0.5)
    if isinstance(info, s.TensorStructInfo) and info.dims and pick.random() < 0.8:
        dims = (*info.dims[:-1], pick.choice(LENGTHS))
        return s.TensorStructInfo(dims, pick.choice([info.dtype, None]))
    if isinstance(info, s.ShapeStructInfo) and info.values:
        return s.ShapeStructInfo((*info.values[:-1], pick.choice(LENGTHS)))
    return drawn(pick, 0)


def pairs(seed: int) -> list[tuple[s.StructInfo, s.StructInfo]]:
    """Some random pairs; every third one is nearly alike."""
    pick, found = random.Random(seed), []
    for number in range(PAIRS):
        first = drawn(pick)
        found.append((first, varied(pick, first) if number % 3 else drawn(pick)))
    return found


def program(asked: list[tuple[s.StructInfo, s.StructInfo]]) -> str:
    """A function for each pair."""
    lines = ["@I.ir_module", "class Module:"]
    for number, (a, b) in enumerate(asked):
        signature = f's: R.Shape(["n", "m"]), a: {WRITER.write(a)}, b: {WRITER.write(b)}'
        lines += ["    @R.function", f"    def f{number:03}({signature}):", "        return s", ""]
    return "\n".join(lines)


def spelled(text: str) -> str:
    """TVM's text of a type in our spelling."""
    text = (
        re.sub(r"T\.int64\((\d+)\)", r"\1", text)
        .replace("T.Tuple(", "R.Tuple(")
        .replace("R.Shape(ndim=-1)", "R.Shape")
    )
    text = re.sub(r"\bNone\b", "R.Tuple", text)
    return f"T.{text}" if text in ("bool", "int64") else text


def verdict(a: s.StructInfo, b: s.StructInfo) -> str:
    """Our answers in TVM's terms."""
    answer = compatible(a, b)
    if answer is YES:
        return "PASS"
    if answer is NO:
        return "FAIL_L0" if fits(a, b) is NO else "FAIL_L1"
    return "FAIL_L2"


def asked_pairs() -> Iterator[list[tuple[s.StructInfo, s.StructInfo]]]:
    """All pairs in question, one program after the other: random ones, then pairs of functions."""
    yield from map(pairs, range(PROGRAMS))
    tensor, known = s.TensorStructInfo(None, FLOAT32, 1), s.TensorStructInfo((p.IntImm(2),), FLOAT32)
    functions = [
        s.FuncStructInfo((a,), b, pure)
        for a in (tensor, known)
        for b in (known, s.OBJECT)
        for pure in (True, False)
    ]
    functions += [s.FuncStructInfo((), known), s.FuncStructInfo(None, s.OBJECT, False), s.OBJECT]
    for first in functions:
        yield [(first, other) for other in functions]


def mentions_function(info: s.StructInfo) -> bool:
    """True if it contains a function with known parameters."""
    if isinstance(info, s.TupleStructInfo):
        return any(map(mentions_function, info.fields))
    return isinstance(info, s.FuncStructInfo)


def proved(a: s.StructInfo, b: s.StructInfo, row: Relation) -> bool:
    """True if the lengths provably differ for all values of the shape variables."""
    return row.check == "FAIL_L2" and verdict(a, b) == "FAIL_L0" and not closed_dims(a, b)


def closed_dims(a: s.StructInfo, b: s.StructInfo) -> bool:
    return not (free_dims(a) or free_dims(b))


# Question, difference, condition; `differences.md` has the reasons.
DIFFERENCES: tuple[tuple[str, str, Callable[[s.StructInfo, s.StructInfo, Relation], bool]], ...] = (
    ("check", "lengths that differ for every value of the variables", proved),
    (
        "check",
        "an unknown dtype hides a wrong rank",
        lambda a, b, row: (row.check, verdict(a, b)) == ("FAIL_L1", "FAIL_L0"),
    ),
    ("check", "functions", lambda a, b, row: mentions_function(a) and mentions_function(b)),
    ("common", "functions", lambda a, b, row: mentions_function(a) and mentions_function(b)),
    ("erased", "functions keep variables that are out of scope", lambda a, b, row: mentions_function(a)),
)


def ours(a: s.StructInfo, b: s.StructInfo) -> dict[str, str]:
    """Our answers to the four questions."""
    static = str(wrap_type(erase_struct_info(a)))
    return {
        "check": verdict(a, b),
        "common": str(unify(a, b)),
        "static": static.replace(str(wrap_type(PACKED_FUNC_TYPE)), "R.PackedFunc"),
        "erased": str(erase(a, ())),
    }


def test_tvm_relates_struct_infos_as_we_do(oracle: Oracle) -> None:
    unexplained: list[str] = []
    occurred: Counter[tuple[str, str]] = Counter()
    for asked in asked_pairs():
        for (a, b), row in zip(asked, oracle.lattice(program(asked)).get(), strict=True):
            for question, answer in ours(a, b).items():
                theirs = spelled(getattr(row, question))
                if theirs == answer:
                    continue
                found = next((d for d in DIFFERENCES if d[0] == question and d[2](a, b, row)), None)
                if found is None:
                    unexplained.append(f"{question} {a} | {b}: TVM {theirs}, we {answer}")
                else:
                    occurred[found[:2]] += 1
    assert unexplained == []
    assert set(occurred) == {difference[:2] for difference in DIFFERENCES}, (
        "a difference that no longer occurs"
    )
