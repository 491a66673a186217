"""Jobs of a worker, from the ask to the evaluation; heartbeats meanwhile."""
