"""The vocabulary of operators: decl (the class of an operator), rules (inference), te and loops (lowering), legalize, page.

The other modules hold terms that several families share: broadcasting, windows, data_layout, devices, binary_math, special.
"""
