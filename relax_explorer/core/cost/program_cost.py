"""What a function of a module costs: its work, its memory and its parameters: `relax_explorer.cost`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from relax_explorer.core.arith.polynomial import Polynomial
from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.function_work import BindingWork, FunctionWork, ModuleWork
from relax_explorer.core.cost.lives import MemoryUses
from relax_explorer.core.cost.memory_use import MemoryUse, Peak
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.expected import expect
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.core.program.module import IRModule


@dataclass(frozen=True, slots=True, repr=False)
class Amount:
    """A number of operations or bytes: `str(amount)` is an expression in the shape variables, `amount.value` a number where it is known."""

    polynomial: Polynomial
    lengths: Mapping[p.PrimVar, int]

    @property
    def value(self) -> int | None:
        """The number for the given lengths; None if one is missing."""
        return amounts.value(self.polynomial, self.lengths)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the shape variables in it."""
        return tuple(var.name for var in amounts.variables(self.polynomial))

    def at(self, **lengths: int) -> int | None:
        """The number for other lengths: `amount.at(n=64)`."""
        named = {var: lengths[var.name] for var in amounts.variables(self.polynomial) if var.name in lengths}
        return amounts.value(self.polynomial, {**self.lengths, **named})

    def __repr__(self) -> str:
        return f"<Amount {self}>"

    def __str__(self) -> str:
        return amounts.text(self.polynomial)


@dataclass(frozen=True, repr=False)
class Cost:
    """The cost of one call of a function, for given lengths. Its amounts are of type `Amount`.

    `work` and `memory` have the rows behind it. `unknown` tells what is in no number, `at_most` why a number is an upper bound.
    """

    module: IRModule
    function: str
    work: FunctionWork
    memory: MemoryUse
    lengths: Mapping[p.PrimVar, int]

    @property
    def flops(self) -> Amount:
        """Operations on floats; exp, tanh and other functions count as one each."""
        return self.amount(self.work.total.flops)

    @property
    def functions(self) -> Amount:
        """How many of them are exp, tanh, sqrt and other functions."""
        return self.amount(self.work.total.functions)

    @property
    def integers(self) -> Amount:
        """Operations on elements that are integers."""
        return self.amount(self.work.total.integers)

    @property
    def read(self) -> Amount:
        """Bytes read."""
        return self.amount(self.work.total.read)

    @property
    def written(self) -> Amount:
        """Bytes written."""
        return self.amount(self.work.total.written)

    @property
    def moved(self) -> Amount:
        """Bytes read and written."""
        return self.amount(self.work.total.moved)

    @property
    def intensity(self) -> float | None:
        """FLOPs per byte."""
        return self.work.total.intensity(self.lengths)

    @property
    def parameters(self) -> Amount:
        """The bytes of the weights and constants."""
        return self.amount(self.memory.parameters)

    @cached_property
    def peak(self) -> Peak:
        """Where most memory is held, beside parameters and constants."""
        return self.memory.peak(self.lengths)

    @cached_property
    def bound(self) -> Peak:
        """Where most memory is needed: no plan has a lower peak."""
        return self.memory.bound(self.lengths)

    @property
    def allocated(self) -> Amount:
        """The bytes of all tensors that it makes: without a plan, and if nothing were freed."""
        return self.amount(self.memory.allocated)

    @property
    def unknown(self) -> tuple[str, ...]:
        """What no number holds."""
        return tuple(dict.fromkeys((*self.work.total.unknown, *self.memory.unknown)))

    @property
    def at_most(self) -> tuple[str, ...]:
        """Why numbers are upper bounds."""
        return self.work.total.at_most

    @property
    def bindings(self) -> tuple[BindingWork, ...]:
        """The work of each binding."""
        return self.work.rows

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The names of the shape variables that the amounts depend on."""
        return tuple(dict.fromkeys(var.name for var in self.dims))

    @cached_property
    def dims(self) -> tuple[p.PrimVar, ...]:
        """The variables of all amounts; callees and branches may have several of one name."""
        memory, rows = self.memory, self.work.rows
        found = [*self.work.total.amounts, memory.parameters, memory.inputs, memory.allocated, memory.owned]
        found += [poly for row in rows for poly in row.work.amounts]
        found += {id(poly): poly for poly in (*memory.held, *memory.alive)}.values()
        return tuple(dict.fromkeys(var for poly in found for var in amounts.variables(poly)))

    def amount(self, poly: Polynomial) -> Amount:
        """An amount of this cost, with its lengths."""
        return Amount(poly, self.lengths)

    def at(self, lengths: Mapping[str, int]) -> Cost:
        """The same cost for other lengths."""
        return Cost(self.module, self.function, self.work, self.memory, _named(self, lengths))

    def at_known(self, lengths: Mapping[str, int]) -> Cost:
        """The same cost for those of some lengths that it depends on."""
        return self.at({name: length for name, length in lengths.items() if name in self.variables})

    def held(self, binding: e.Binding) -> Amount | None:
        """The bytes that are held while a binding runs; None if the function does not run it itself."""
        step = self._steps.get(binding)
        return None if step is None else self.amount(self.memory.held[step])

    @cached_property
    def _steps(self) -> dict[e.Binding, int]:
        return {binding: step for step, binding in enumerate(self.memory.bindings)}

    def __repr__(self) -> str:
        return f"<Cost of {self.function}: {self.flops} FLOPs, {self.moved} bytes moved, {self.parameters} bytes of parameters>"


class ModuleCosts:
    """The costs of the functions of one module. What they share is found once."""

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self.works = ModuleWork(module)
        self.memory = MemoryUses(self.works)

    def of(self, function: str) -> Cost:
        """The cost of a Relax function, without lengths."""
        return Cost(self.module, function, self.works.of(function), self.memory.of(function), {})


def cost(module: IRModule, function: str = "", shape: Mapping[str, int] | None = None) -> Cost:
    """What one call of a function costs: operations, bytes and memory, as expressions in its shape variables.

    Without a name, the function is `main`, or the first public one. `shape` gives lengths by the names of shape variables. Raises Failure
    if there is no such function or variable, or if the program is invalid.

    >>> rxe.cost(module).flops
    <Amount 64>
    """
    expect(module, IRModule, "cost takes a module")
    module = normal_form_of(module)
    names = module.relax_functions
    name = function or next((n for n in ("main", *names) if n in names and not names[n].is_private), "")
    name = name or next(iter(names), "")
    if name not in names:
        text = f"there is no Relax function {name!r}" if name else "the module has no Relax function"
        raise _failure(text, f"it has {', '.join(names) or 'none'}", module)
    return ModuleCosts(module).of(name).at(shape or {})


def _named(cost: Cost, lengths: Mapping[str, int]) -> dict[p.PrimVar, int]:
    """The lengths by shape variables. Callees may have variables of the same name, which are given, too."""
    unknown = sorted(set(lengths) - set(cost.variables))
    fn = cost.module.relax_functions[cost.function]
    if unknown and unknown[0] not in shape_names(fn):
        there = ", ".join(cost.variables) or "none"
        raise _failure(
            f"{cost.function} has no shape variable {unknown[0]!r}", f"its cost depends on {there}", fn
        )
    return {var: lengths[var.name] for var in cost.dims if var.name in lengths}


def shape_names(fn: e.Function) -> frozenset[str]:
    """The names of the shape variables of the parameters of a function."""
    return frozenset(
        var.name
        for param in fn.params
        if param.struct_info is not None
        for var in info_vars(param.struct_info)
    )


def _failure(text: str, hint: str, place: object) -> Failure:
    return Failure(Diagnostic(codes.WRONG_INPUT, text, (Label(place, "", True),), help=hint))
