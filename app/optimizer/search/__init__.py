"""Search on the models: designs, genetic operators, RVEA."""
