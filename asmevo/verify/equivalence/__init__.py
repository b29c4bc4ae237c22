"""Local equivalence: straight-line windows executed symbolically and compared, z3 for what is not the same term."""
