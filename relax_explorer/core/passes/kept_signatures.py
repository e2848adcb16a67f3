"""What every pass keeps of functions that are visible outside: their symbols, parameters and attributes, and what they return."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.check.compatible import YES, fits, never_fits
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.passes.contract import Kept, PassSite
from relax_explorer.core.passes.kept_effects import Loss
from relax_explorer.core.program.module import IRModule

_OF_PASSES = ("Codegen", "Composite", "Primitive", "num_input", "op_pattern", "rx.", "relax.")
"""Attributes that tell passes what to do, by the beginnings of their names: a pass that did it may drop them."""


def resigned(before: IRModule, after: IRModule, site: PassSite) -> Iterator[Loss]:
    """Visible functions that are gone or can't be called as before, and functions whose results contradict their annotation."""
    symbols = {fn.attrs.get("global_symbol") for fn in after.relax_functions.values()}
    for name, fn in before.relax_functions.items():
        new = after.relax_functions.get(name)
        if new is fn:
            continue
        symbol = fn.attrs.get("global_symbol")
        is_gone = symbol is not None and symbol not in symbols and Kept.SIGNATURES not in site.changes
        if is_gone and not fn.attrs.get("Codegen"):
            yield Loss(fn.body, f"no function has the global_symbol {symbol!r} any more")
        if new is None:
            continue
        if not fn.is_private and Kept.SIGNATURES not in site.changes:
            yield from _other_params(name, fn, new)
        yield from _lost_attributes(name, fn, new)
        if (
            _contradicts(new) and not _contradicts(fn) and Kept.RESULTS not in site.changes
        ):  # lengths that options give may
            yield Loss(
                new.body,
                f"{name} returns {new.body.struct_info}, its annotation says {new.ret_struct_info}",
            )


def _other_params(name: str, fn: e.Function, new: e.Function) -> Iterator[Loss]:
    """The first difference of parameters that a caller would see."""
    was, now = [p.name for p in fn.params], [p.name for p in new.params]
    if len(was) != len(now):
        yield Loss(new.body, f"{name} has {len(now)} parameters, it had {len(was)}")
    elif was != now and sorted(was) == sorted(now):
        yield Loss(new.body, f"the parameters of {name} are {', '.join(now)} now; they were {', '.join(was)}")
    elif fits(_accepting(new), _accepting(fn)) is not YES:
        infos = [", ".join([f"{p.name}: {p.struct_info}" for p in of.params]) for of in (new, fn)]
        yield Loss(new.body, f"{name} takes {infos[0]} now, it took {infos[1]}")


def _accepting(fn: e.Function) -> s.FuncStructInfo:
    """A function of these parameters, of which only they are of interest."""
    return s.FuncStructInfo(tuple([param.struct_info or s.OBJECT for param in fn.params]), s.OBJECT)


def _lost_attributes(name: str, fn: e.Function, new: e.Function) -> Iterator[Loss]:
    """The first attribute that is gone."""
    for key, value in fn.attrs.items():
        if key not in new.attrs and key != "global_symbol" and not key.startswith(_OF_PASSES):
            yield Loss(new.body, f"the attribute {key!r} of {name} is gone: {value}")
            return


def _contradicts(fn: e.Function) -> bool:
    """True if the result can't be what the annotation says."""
    result, said = fn.body.body.struct_info, fn.ret_struct_info
    return result is not None and said is not None and never_fits(result, said)
