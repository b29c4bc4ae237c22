"""One pass a file, and the machinery that runs them."""
