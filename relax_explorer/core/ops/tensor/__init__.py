"""Operators on any tensors: element by element, products, rearranging, indexing, ordering, creating, reducing, quantizing."""
