"""The mathematics: arrays in, arrays out; no I/O, no clock, no logging, no global
random state.
"""
