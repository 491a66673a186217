"""Ready-made simulation workers: the demo's simulators, synthetic problems and examples."""
