"""TVM's JSON (`tvm.ir.save_json`): `graph` checks the nodes, `values` decodes them, `module` makes the IRModule.

The classes of nodes are read in `types`, `scalars`, `constants`, `expressions` and `statements`.
"""
