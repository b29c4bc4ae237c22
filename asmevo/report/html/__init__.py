"""The page of `analyze --format html`: one file with everything in it, that needs no network."""
