"""Simulations that were written for other tools, as workers: a small module for each."""
