"""Strategies: records of functions put together from the parts."""
