"""Test problems, the paper's protocol and tables, a simulation of heterogeneous
workers, and timings.
"""
