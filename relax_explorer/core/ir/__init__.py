"""The IR of Relax, in reading order: node, dtype, prim, struct_info, types, attrs, expr, walk, facts."""
