"""Whole programs: modules, structural equality, and structural hashes."""
