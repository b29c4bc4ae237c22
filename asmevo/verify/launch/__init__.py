"""Launch files: their form, their data, and the dispatches that they make for a kernel."""
