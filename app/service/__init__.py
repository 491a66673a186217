"""One module per use case; loads, calls the rule, commits."""
