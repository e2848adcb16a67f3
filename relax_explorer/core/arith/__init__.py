"""Arithmetic on dimensions, in reading order.

polynomial and form (the canonical forms), simplify (shorter expressions), bounds (least and greatest values), linear and
cases (constraints that can't hold), prove (equal? at least?), assume (what follows from facts), witness
(lengths for which two dimensions differ).
"""
