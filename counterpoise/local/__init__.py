"""A whole study on this machine: a server, its planner and workers for one study."""
