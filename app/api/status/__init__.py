"""Health checks, metrics, and that a server is up."""
