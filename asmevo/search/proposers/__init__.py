"""Where candidates come from: one module a proposer, and which there are."""
