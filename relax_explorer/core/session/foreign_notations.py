"""Programs in the notations of Relay's types and of contracts, as Relax modules."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.packed import packed_function
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.relations.inference import infer_relay
from relax_explorer.core.relations.to_relax import lower_relay
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.lower import lower
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.core.source import Source, Span
from relax_explorer.core.syntax.parser import parse


def of_relations(text: str, path: str = "<relay>") -> IRModule:
    """A program of Relay as a Relax module."""
    return lower_relay(infer_relay(text, path), Source(text, path))


def of_contracts(text: str, path: str = "<shapes>") -> IRModule:
    """A program with contracts as a Relax module. What computes its primitives is registered as packed functions."""
    program, terms = read_contract(text, path)
    wrong = analyse(program, terms).report.errors
    if wrong:
        raise Failure(*wrong)
    lowered = lower(program, terms)
    for name, function in lowered.packed.items():
        packed_function(name)(function)
    module = parse(lowered.text, path)
    functions = {
        name: _placed(fn, lowered.places.get(name, [])) for name, fn in module.relax_functions.items()
    }
    entry = {"main": functions.pop("main")}
    return IRModule({**entry, **functions}, source=Source(text, path))


def _placed(fn: e.Function, places: list[Span | None]) -> e.Function:
    """A function whose bindings have the places of the notation, in order."""
    left = iter(places)
    blocks = tuple([
        replace(block, bindings=tuple(_with_place(binding, left) for binding in block.bindings))
        for block in fn.body.blocks
    ])  # fmt: skip
    first = next((place for place in places if place is not None), None)
    return replace(fn, body=replace(fn.body, blocks=blocks), span=first)


def _with_place(binding: e.Binding, left: Iterator[Span | None]) -> e.Binding:
    place = next(left, None)
    value = binding.value
    if type(value) is e.Call:
        value = replace(value, span=place)
    return replace(binding, value=value, span=place)
