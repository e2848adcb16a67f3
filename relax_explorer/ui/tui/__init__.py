"""The terminal interface: keys, selection, widgets, panes, app. Widgets read snapshots and hold no IR of their own."""
