"""Ways to evaluate a job: functions, commands, executors."""
