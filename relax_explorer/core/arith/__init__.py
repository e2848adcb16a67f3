"""Arithmetic on dimensions, in reading order.

polynomial and form (canonical forms), simplify (shorter expressions), bounds (least and greatest values), linear and cases
(unsatisfiable constraints), prove (equality and lower bounds), assume (proofs from facts), witness (counterexamples).
"""
