"""Arithmetic on dimensions: simplify (canonical form), prove (yes / no / unknown)."""
