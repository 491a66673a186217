"""Ordinary kriging with its own likelihood."""
