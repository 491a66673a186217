"""Queries of the dashboard; each reads a bounded number of rows."""
