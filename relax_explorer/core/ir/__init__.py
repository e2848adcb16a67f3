"""The IR of Relax. Reading order: node, dtype, prim, struct_info, types, attrs, expr, walk, facts, dataflow; pauses."""
