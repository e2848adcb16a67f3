"""The names that `python` blocks of the literate chapters may use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import dtype, expr, prim, struct_info
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.phases.module_properties import PURE_DATAFLOW, WELL_FORMED
from relax_explorer.core.program.module import IRModule
from tests.support import (
    packed_functions,
    spec_contracts,
    spec_dims,
    spec_lattice,
    spec_phases,
    spec_relations,
    spec_shapes,
    spec_trees,
)
from tests.support.ready_modules import after as after_pass


def namespace(module: IRModule | None, problems: list[Diagnostic]) -> dict[str, Any]:
    """The names for a block: the classes of the IR, the API, and the program above the block."""
    names: dict[str, Any] = {}
    for room in (dtype, prim, struct_info, expr):
        names.update({name: value for name, value in vars(room).items() if not name.startswith("_")})
    names.update(_API)
    names.update(spec_lattice.NAMES)
    names.update(spec_trees.NAMES)
    names.update(spec_contracts.NAMES)
    names.update(spec_dims.NAMES)
    names.update(spec_relations.NAMES)
    names.update(spec_shapes.NAMES)
    names.update(spec_shapes.about(module))
    names.update(spec_phases.NAMES)
    names.update(spec_phases.about(module))
    names.update(spec_lattice.about(module))
    names.update(_about(module, problems))
    packed_functions.LOG.clear()
    names["log"] = packed_functions.LOG
    return names


_API = {
    "np": np,
    "rxe": rxe,
    "after_pass": after_pass,
    "raises": pytest.raises,
    "parse": rxe.parse,
    "normalize": rxe.normalize,
    "check": rxe.check,
    "PURE_DATAFLOW": PURE_DATAFLOW,
    "WELL_FORMED": WELL_FORMED,
    "structural_equal": rxe.structural_equal,
    "structural_hash": rxe.structural_hash,
    "bindings": bindings,
}


def _about(module: IRModule | None, problems: list[Diagnostic]) -> dict[str, Any]:
    """`module` is the program as parsed, `problems` its diagnostics."""

    def run(function: str, *arguments: Any) -> Any:
        """Run a function of the program on values."""
        assert module is not None
        return rxe.run(rxe.normalize(module), function, list(arguments))

    def info(name: str) -> Any:
        """The inferred StructInfo of the first variable of that name, in any function."""
        assert module is not None
        for fn in rxe.normalize(module).relax_functions.values():
            variables = [*fn.params, *(b.var for b in bindings(fn) if b.var is not None)]
            for var in variables:
                if var.name == name:
                    return var.struct_info
        raise KeyError(name)

    codes = [(item.code.id, str(item.level)) for item in problems]
    return {"module": module, "problems": problems, "codes": codes, "run": run, "info": info}
