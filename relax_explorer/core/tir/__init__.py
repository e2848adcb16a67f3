"""PrimFuncs as data: buffer, expr, stmt, walk."""
