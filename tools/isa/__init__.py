"""Generator-time tools over the instruction tables: probing, cross-checks, pages. Users of AsmEvo never need them."""
