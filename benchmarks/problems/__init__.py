"""Test problems and their Pareto fronts."""
