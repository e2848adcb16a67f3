"""TVM's JSON (`tvm.ir.save_json`): `json_start` recognises it, `json_nodes` checks and decodes the nodes.

`json_module` makes the IRModule. The classes of nodes are read in `json_types`, `json_constants`,
`json_expressions` and `json_statements`.
"""
