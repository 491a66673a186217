"""The demo: server, planner and workers as separate processes on this machine, and a
report of the result.
"""
