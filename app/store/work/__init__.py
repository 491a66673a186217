"""Queues, leases, locks and counters of jobs."""
