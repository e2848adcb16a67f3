"""The order in which the functions of a module can be counted: callees before their callers, without recursion along chains of calls."""

from __future__ import annotations

from relax_explorer.core.check.call_graph import call_graph, components, reached, recursive
from relax_explorer.core.program.module import IRModule


class CallOrder:
    """Who calls whom in a module. The calls inside of a recursion have no number: it is not known how many there are."""

    def __init__(self, module: IRModule) -> None:
        self._module, self._graph = module, call_graph(module)
        self._groups = recursive(module)

    def up_to(self, name: str) -> list[str]:
        """The functions that a call of `name` may run, each behind those that it calls; `name` is the last one."""
        names = set(reached(self._module, name))
        graph = {
            one: tuple([callee for callee in self._graph[one] if callee in names])
            for one in self._graph
            if one in names
        }
        groups = [group for group in components(graph) if name not in group]
        return [one for group in groups for one in group] + [name]

    def is_recursion(self, caller: str, callee: str) -> bool:
        """True if a call leads back to its caller."""
        return callee in self._groups.get(caller, ())
