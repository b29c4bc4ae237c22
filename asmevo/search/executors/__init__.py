"""Where tasks run: in this process, in local processes, on a Ray cluster. The results are the same."""
