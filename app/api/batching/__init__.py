"""Requests of many clients, served together."""
