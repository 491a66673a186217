"""Local search with quadratic models."""
