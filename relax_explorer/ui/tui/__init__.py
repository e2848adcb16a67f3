"""The terminal interface: keys, selection, widgets, panes, app. Widgets read snapshots and store no IR."""
