"""PrimFuncs as data: buffer, prim_expr, stmt, fields, traverse, mutator."""
