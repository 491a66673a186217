"""What evaluates jobs: Python functions, commands, clusters."""
