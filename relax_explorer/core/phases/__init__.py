"""What a module has, by name: properties, the phases that they make, and the checks of a module in order."""
