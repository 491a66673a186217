"""The demo: server, planner and workers as separate processes on this machine, and what came of it."""
