"""Tables of many runs: which runs, how they are executed, tables and plots."""
