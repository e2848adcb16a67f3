"""Widgets that draw given lines."""
