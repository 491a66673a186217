"""Studies, samples, steps and their lists."""
