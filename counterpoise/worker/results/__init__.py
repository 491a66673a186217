"""Results of a worker, from the evaluation to the accepted tell."""
