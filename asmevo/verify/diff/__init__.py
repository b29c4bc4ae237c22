"""What differs between two kernels or objects, and what is the same."""
