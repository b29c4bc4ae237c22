"""How sound and how fast the equivalence proof is: windows cut from kernels, legal edits, mutants, and what is said of them."""
