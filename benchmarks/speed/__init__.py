"""CPU time of models and steps."""
