"""Loads moved up over branches: which lanes run where, what a load needs, where it may stand, and the edit."""
