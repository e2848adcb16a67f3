"""Arithmetic on dimensions, in reading order.

polynomial and form (canonical forms), simplify (shorter expressions, counterexamples), bounds (least and greatest values), cases
(unsatisfiable constraints), prove (equality and lower bounds), assume (proofs from facts).
"""
