"""When a step is due, what it reads and supersedes, and ratios."""
