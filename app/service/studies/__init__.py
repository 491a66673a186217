"""What engineers call: create, steer, list and explain."""
