"""What happens to jobs and samples: rules that fill a change set."""
