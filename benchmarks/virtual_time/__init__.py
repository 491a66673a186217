"""Test problems with heterogeneous workers in virtual time."""
