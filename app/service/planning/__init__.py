"""When a step is due, what it reads, and its execution and replay."""
