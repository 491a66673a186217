"""The planner process and the process that computes its steps."""
