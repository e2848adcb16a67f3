"""Builds programs: functions binding by binding (`block_builder`), modules function by function (`module_editor`)."""
