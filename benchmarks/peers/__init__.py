"""Other libraries on the benchmark problems, with equal numbers of full evaluations."""
