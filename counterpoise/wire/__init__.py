"""Requests and responses, the same shapes for server and client."""
