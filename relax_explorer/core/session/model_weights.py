"""The weights of an imported model: parameters whose values stand in a file that the program names.

The function attribute `rx.weights` is the name of a file beside the text, and `num_input` counts the parameters before the weights. A name
with a folder is not followed: a text must not choose among the files of a machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_inputs import REST, WEIGHTS, CallInputs
from relax_explorer.core.session.folders import address, is_container

ATTRIBUTE = "rx.weights"
INPUTS = "num_input"


def weights_file(module: IRModule, function: str) -> str:
    """The file with the weights of a function; empty if it names none, or the file is not there."""
    fn = module.functions.get(function)
    name = fn.attrs.get(ATTRIBUTE) if type(fn) is e.Function else None
    if not isinstance(name, str) or module.source is None:
        return ""
    path = address(module.source.filename)[0]
    if is_container(path):
        return path
    if not name or os.path.basename(name) != name or name in (os.curdir, os.pardir):
        return ""
    found = os.path.join(module.source.folder or os.path.dirname(path), name)
    return found if os.path.isfile(found) else ""


def input_count(fn: e.Function) -> int:
    """The number of parameters before the weights; all of them, if the function tells of no weights."""
    count = fn.attrs.get(INPUTS)
    return count if ATTRIBUTE in fn.attrs and type(count) is int else len(fn.params)


def weight_numbers(fn: e.Function) -> Sequence[int]:
    """The numbers of the parameters that are weights."""
    return range(input_count(fn), len(fn.params))


def with_weights(call: CallInputs, modules: Iterable[IRModule], function: str) -> CallInputs:
    """A call that takes weights from the file that a module names, unless the user gives all values. The nearest stage comes first."""
    path = next(filter(None, [weights_file(module, function) for module in modules]), "")
    if not path:
        return call
    sources = {REST: call.whole} if call.whole else dict(call.sources)
    return replace(call, sources={**sources, WEIGHTS: path})
