"""Load on the store and the HTTP service."""
