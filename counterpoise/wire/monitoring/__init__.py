"""Responses that the dashboard draws, and that any program can read."""
