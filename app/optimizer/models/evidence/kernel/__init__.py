"""The kernel of models by evidence: its factors, its matrix and its derivatives."""
