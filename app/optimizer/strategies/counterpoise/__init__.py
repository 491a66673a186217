"""The strategy `counterpoise`: cheap-only samples are screened, and the promising ones
are promoted to full samples.
"""
