"""What registers hold: abstract values, the interpreter of programs on them, induction."""
