"""The language server: editors ask in the Language Server Protocol, and `ui/editor` answers. Only this package knows pygls."""
