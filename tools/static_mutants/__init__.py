"""Mutants that the static checks must refuse: how they are made, why they are broken, and how many are caught."""
