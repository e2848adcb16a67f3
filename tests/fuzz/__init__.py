"""Damaged programs: whatever the text, it is read or refused in good time, and what is read prints and reads back."""
