"""The cycle model. What it gives are modelled cycles, never measured time."""
