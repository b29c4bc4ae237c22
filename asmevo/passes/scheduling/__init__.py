"""Orders for a region: the scheduler's own picture of time, the list scheduler, and the cost of an order by the cycle model."""
