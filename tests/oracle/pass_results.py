"""Ask TVM about the results of passes: `python -m tests.oracle.pass_results [PASS …] [-n 200] [--seed 0]`."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace

from relax_explorer.core import passes
from tests.oracle import (
    test_convert_layout,
    test_gradient,
    test_legalized,
    test_mixed_precision,
    test_orders,
    test_pass_results,
    test_pattern_passes,
    test_signature_passes,
    test_whole_programs,
)
from tests.support.known_differences import reasons
from tests.support.oracle import Oracle
from tests.support.pass_agreement import MATERIALS, Outcome, compare, imported, programs, random_programs
from tests.support.pass_variants import Variant, variants

KNOWN = {
    **test_pass_results.DIFFERENT,
    **test_signature_passes.DIFFERENT,
    **test_pattern_passes.DIFFERENT,
    **test_whole_programs.DIFFERENT,
    **{("Gradient", title): row for title, row in test_gradient.DIFFERENT.items()},
    ("TopologicalSort", test_orders.CAPTURED.split(": ", 1)[1].rsplit(" #", 1)[0]): test_orders.ROW,
    **{("ToMixedPrecision", title): row for title, row in test_mixed_precision.DIFFERENT.items()},
    **{("ConvertLayout", title): row for title, row in test_convert_layout.DIFFERENT.items()},
    (
        "TopologicalSort",
        "A match_cast that binds a length",
    ): "TopologicalSort of a dataflow block with a match_cast",
    ("LegalizeOps", "Layer norms"): "`center` and `scale` of `layer_norm`",
    ("FuseTIR", "A cast of a cast as an output"): test_pass_results.OUTPUT,
    ("FuseOps", "Equal tuples and fields"): "Field of a tuple that a group reads twice",
    ("RewriteDataflowReshape", "Fusion: g2"): "RewriteDataflowReshape of a kernel whose lengths",
    (
        "BindSymbolicVars",
        "A cast that always fails is a warning (TYPE-58, TYPE-59)",
    ): "Length of the function in the type",
}
"""Rows of `differences.md` by pass and heading, for differences that `known_differences` does not recognise."""


REFUSED = {
    "Normalize": (("RX0116",), "Annotation that is more precise"),
    "BindSymbolicVars": (
        ("RX0109", "RX0213", "RX0111", "RX0203", "RX0155"),
        "BindSymbolicVars with values that contradict",
    ),
    "Gradient": (("RX0409",), "Gradient of calls of functions and PrimFuncs"),
    **dict.fromkeys(
        ("BindParams", "DecomposeOpsForInference", "DecomposeOpsForTraining"),
        (("RX0404",), "BindParams, Decompose"),
    ),
}
"""Rows of programs that a pass refuses, by its name, with the codes of the problems."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.pass_results", description=__doc__)
    parser.add_argument("passes", nargs="*", help="names of passes; all by default")
    parser.add_argument("-n", type=int, default=100, help="how many random programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument(
        "--material",
        choices=[*MATERIALS, "imported"],
        default="general",
        help="what the random programs are about; with `imported`, the models of TVM's importers and no others",
    )
    parser.add_argument("--only", default="", help="a part of the names of programs")
    parser.add_argument("--show", type=int, default=3, help="how many differences to print")
    arguments = parser.parse_args()
    texts = [*imported().items()]
    if arguments.material != "imported":
        texts = [*programs().items(), *random_programs(arguments.n, arguments.seed, arguments.material)]
    chosen = [(title, text) for title, text in texts if arguments.only in title]
    oracle = Oracle()
    for name in arguments.passes or passes.names():
        for variant in variants(name):
            _campaign(oracle, variant, chosen, arguments.show)
    oracle.close()
    return 0


def _campaign(oracle: Oracle, variant: Variant, texts: list[tuple[str, str]], show: int) -> None:
    """Compare the results of one pass, and print the shares."""
    outcomes, rows, unexplained = Counter[str](), Counter[str](), list[str]()
    for title, given in texts:
        ready = oracle.apply(given, variant.before) if variant.before else None
        if ready is not None and not ready.ok:
            outcomes["not asked"] += 1
            continue
        text = given if ready is None else ready.get()
        try:
            outcome = compare(oracle, text, (variant.name, variant.options), variant.in_tvm)
        except Exception as error:  # noqa: BLE001  # a fault of a pass; the other programs are still of interest
            outcome = Outcome("crashed", f"{type(error).__name__}: {error}")
        heading = title.split(": ", 1)[-1].rsplit(" #", 1)[0]
        reason: tuple[str, ...] = ()
        if outcome.kind == "differ":
            row = KNOWN.get((variant.name, heading))
            reason = (row,) if row else reasons(oracle, text, variant)
        if outcome.kind == "differ" and not reason and variant.name in test_whole_programs.LAST:
            alike = test_legalized.run_alike(oracle, text, variant.name, variant.in_tvm)
            outcome = replace(outcome, kind="runs alike") if alike else outcome
        codes, row = REFUSED.get(variant.name, ((), ""))
        if outcome.kind == "refused" and any(f"[{code}]" in outcome.details for code in codes):
            reason = (row,)
        outcomes["explained" if reason else outcome.kind] += 1
        rows.update(reason)
        if outcome.kind in ("differ", "refused", "crashed") and not reason:
            unexplained.append(title)
            if len(unexplained) <= show:
                print(f"==== {variant.title}: {title}: {outcome.kind}: {outcome.details}", flush=True)
    print(f"{variant.title}: {_shares(outcomes)}; {dict(outcomes)}")
    for row, count in rows.most_common():
        print(f"   {count:>4}  {row}")
    print("   unexplained: " + ", ".join(unexplained[:200]), flush=True)


def _shares(outcomes: Counter[str]) -> str:
    """The shares of the programs that the pass changes: results that are equal or run alike, and that differ for a known reason."""
    changed = sum(
        outcomes[kind] for kind in ("agree", "runs alike", "explained", "differ", "refused", "crashed")
    )
    if not changed:
        return "nothing changes"
    return f"{(outcomes['agree'] + outcomes['runs alike']) / changed:.1%} agree, {outcomes['explained'] / changed:.1%} are explained"


if __name__ == "__main__":
    raise SystemExit(main())
