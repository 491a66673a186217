"""Import and export of evaluations."""
