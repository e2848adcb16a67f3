# ruff: noqa: B018
"""Mistakes that type checkers tell: each line that has one says so. It is never run."""

import relax_explorer as rxe

module = rxe.load("model.py")
module.no_such_method()  # mistake
rxe.no_such_function(module)  # mistake
rxe.parse(3)  # mistake
rxe.apply_pass("LegalizeOps", module)  # mistake
text: int = module.script()  # mistake
rxe.check(module)[0].mesage  # mistake
rxe.compare(module, "other.py")  # mistake
rxe.Session("model.py")  # mistake
rxe.bisect(module)  # mistake
rxe.run(module, "main", 3)  # mistake
rxe.run(module, function=module)  # mistake
rxe.graph(module, layer="each")  # mistake
rxe.Diagnostic("RX0001")  # mistake
rxe.find(module)  # mistake
module["main"].no_such_field  # mistake
fine: str = module.script()
