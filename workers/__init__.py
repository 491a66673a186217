"""Ready-made simulation workers: the simulators of the demo, synthetic problems and
examples.
"""
