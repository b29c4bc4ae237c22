"""Which values reach where: liveness, definitions, SSA, dependence, active lanes."""
