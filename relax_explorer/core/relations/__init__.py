"""Relay's types and type relations, in reading order.

relay_types (kinds, types, holes, which type may stand where), library (the relations), solver (unification and the queue),
program and text (the notation `def @f(%x : Tensor[(5,), float32]) { … }`, and the types of operators),
inference (types of a program), to_relax (a module that runs), adapt (a relation as the StructInfo rule of a Relax operator, and shape functions).
"""
