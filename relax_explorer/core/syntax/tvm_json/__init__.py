"""TVM's JSON (`tvm.ir.save_json`): `json_start` recognises it, `json_graph` checks the nodes, `json_nodes` decodes them.

`json_module` makes the IRModule. The classes of nodes are read in `json_types`, `json_scalars`, `json_constants`, `json_places`,
`json_expressions` and `json_statements`.
"""
