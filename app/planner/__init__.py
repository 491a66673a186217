"""The planner's process, and the processes that compute for it."""
