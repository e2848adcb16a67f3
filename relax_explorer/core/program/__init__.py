"""Whole programs: modules, and the structural equality and hash of all that they hold."""
