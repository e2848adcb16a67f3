"""Benchmarks of what is known of shapes: entailment, type relations, the checks of a program, contracts."""

from __future__ import annotations

import random
from functools import partial
from itertools import pairwise

from tests.perf.benchmark import Benchmark, Work
from tests.perf.generate import transformer


def _entailment(count: int) -> tuple[str, Work]:
    """Questions under three facts over six lengths, of degree 2 at most, as shapes give them."""
    from relax_explorer.core.ir import prim as p
    from relax_explorer.core.shapes.assumptions import Assumptions

    rng = random.Random(0)
    names = [p.PrimVar(name) for name in "abcdef"]

    def length() -> p.PrimExpr:
        first = p.Mul(rng.choice(names), p.IntImm(rng.choice((1, 2, 4, 8))))
        return p.Add(
            first, rng.choice([p.IntImm(rng.randint(0, 4)), p.Mul(rng.choice(names), rng.choice(names))])
        )

    questions = []
    for _ in range(count):
        known = Assumptions()
        for _ in range(3):
            known = known.plus(p.EQ(rng.choice(names), length()))
        questions.append((known, p.EQ(length(), length())))
    return "", lambda: [known.prove(question) for known, question in questions]


def _relations(count: int) -> tuple[str, Work]:
    """A chain of broadcasts whose first type is found last."""
    from relax_explorer.core.relations.library import RELATIONS
    from relax_explorer.core.relations.relay_types import Hole, TypeRelation
    from relax_explorer.core.relations.solver import Solver, Status
    from relax_explorer.core.relations.text import read_type

    def work() -> None:
        solver, holes = Solver(), [Hole() for _ in range(count + 1)]
        other = read_type("Tensor[(10, m), float32]")
        for a, b in reversed(list(pairwise(holes))):
            solver.add(TypeRelation("Broadcast", RELATIONS["Broadcast"], (a, other, b)))
        solver.unify(holes[0], other)
        assert solver.run() is Status.SOLVED

    return "", work


def _checks(count: int) -> tuple[str, Work]:
    """The checks of a transformer."""
    import relax_explorer
    from relax_explorer.core.shapes.residual import shape_checks

    text = transformer(count)
    program = relax_explorer.normalize(relax_explorer.parse(text))
    return text, lambda: shape_checks(program)


def _casts(count: int) -> tuple[str, Work]:
    """The checks of a chain of match_casts with a new shape variable each, and why they remain."""
    import relax_explorer
    from relax_explorer.core.shapes.residual import shape_checks

    lines = ["@R.function", "def main(v0: R.Tensor(('n', 'm'), 'float32')):", "    m = T.int64()"]
    for number in range(count):
        lines.append(f"    k{number} = T.int64()")
        lines.append(f"    u = R.call_pure_packed('f', v{number}, sinfo_args=R.Tensor('float32', ndim=2))")
        lines.append(f"    v{number + 1} = R.match_cast(u, R.Tensor((k{number}, m), 'float32'))")
    text = "\n".join([*lines, f"    return v{count}\n"])
    program = relax_explorer.normalize(relax_explorer.parse(text))
    return text, lambda: [check.why for check in shape_checks(program)]


def _open(count: int) -> tuple[str, Work]:
    """The checks of casts and reshapes that no proof decides, each under facts about one length."""
    import relax_explorer
    from relax_explorer.core.shapes.residual import shape_checks

    lines = ["@R.function", "def main(v0: R.Tensor(('n', 'm'), 'float32')):", "    m = T.int64()"]
    for number in range(count):
        lines.append(f"    k{number} = T.int64()")
        lines.append(f"    u = R.call_pure_packed('f', v{number}, sinfo_args=R.Tensor('float32', ndim=2))")
        lines.append(f"    w{number} = R.match_cast(u, R.Tensor((k{number}, m), 'float32'))")
        lines.append(f"    v{number + 1} = R.reshape(w{number}, R.shape([k{number}, T.max(m, 1)]))")
    text = "\n".join([*lines, f"    return v{count}\n"])
    program = relax_explorer.normalize(relax_explorer.parse(text))
    return text, lambda: shape_checks(program)


def _contracts(count: int) -> tuple[str, Work]:
    """Layers of annotated calls: each let has a contract, an annotation and a check that binds a size variable."""
    from relax_explorer.core.shapes.contract_text import read_contract
    from relax_explorer.core.shapes.propagate import analyse

    lines = ["@layer = fn(x : Tensor([n, m], int8)) : Tensor([n, m], int8)", "let v0 : Tensor(?, ?) = ..;"]
    for number in range(count // 2):
        lines.append(f"let w{number} ! Tensor([k{number} * 2, 16], int8) = @layer(v{number});")
        lines.append(f"let v{number + 1} : Tensor([k{number} * 2, 16], int8) = @layer(w{number});")
    text = "\n".join(lines).rstrip(";")
    program, terms = read_contract(text)
    return text, lambda: analyse(program, terms)


SHAPES: list[Benchmark] = [
    Benchmark("entailment-1000", partial(_entailment, 1000), limit=0.1),
    Benchmark("relations-1000", partial(_relations, 1000), limit=0.2),
    Benchmark("relations-4000", partial(_relations, 4000), limit=0.8),
    Benchmark("shape-checks-1000", partial(_checks, 1000)),
    Benchmark("shape-checks-10000", partial(_checks, 10_000)),
    Benchmark("casts-1000", partial(_casts, 1000), limit=0.5),
    Benchmark("casts-4000", partial(_casts, 4000), limit=2.0),
    Benchmark("contracts-1000", partial(_contracts, 1000), limit=1.0),
    Benchmark("contracts-4000", partial(_contracts, 4000), limit=4.0),
    Benchmark("open-checks-300", partial(_open, 300), limit=1.0),
]
