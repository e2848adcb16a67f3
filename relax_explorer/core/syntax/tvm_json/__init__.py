"""TVM's JSON (`tvm.ir.save_json`): `start` recognises it, `graph` checks the nodes, `nodes` decodes them, `module` makes the IRModule.

The classes of nodes are read in `types`, `scalars`, `constants`, `places`, `expressions` and `statements`.
"""
