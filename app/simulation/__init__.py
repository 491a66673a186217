"""Studies in virtual time: the same rules, workers that only pretend to take their
time.
"""
