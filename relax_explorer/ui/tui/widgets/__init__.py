"""Widgets that draw lines they are given."""
