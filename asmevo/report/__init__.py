"""Views over results; computes nothing of its own."""
