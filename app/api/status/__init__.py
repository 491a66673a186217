"""Health checks, metrics, and the server's uptime."""
