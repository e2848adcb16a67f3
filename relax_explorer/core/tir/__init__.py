"""PrimFuncs as data: buffer, prim_expr, stmt, traverse."""
