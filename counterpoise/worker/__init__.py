"""The worker: asks for jobs, evaluates them, and tells their results."""
