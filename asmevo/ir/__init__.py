"""The kernel as plain data, and the one door through which it changes."""
