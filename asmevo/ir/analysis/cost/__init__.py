"""What instructions cost and resources allow."""
