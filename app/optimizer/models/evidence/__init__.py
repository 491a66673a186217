"""Gaussian processes whose structure is chosen by evidence: kernels, fit, posterior,
leave-one-out, data rules.
"""
