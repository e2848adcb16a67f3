"""Operators of detectors: boxes, their suppression, and features of regions."""
