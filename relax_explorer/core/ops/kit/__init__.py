"""The vocabulary of operators: decl (declaration), rules (inference), te, loops and legalize (lowering), page (documentation).

The other modules are shared by several families: broadcasting, windows, data_layout, devices, binary_math, special.
"""
