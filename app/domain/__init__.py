"""Pure records and rules: studies, samples, jobs, steps. No I/O, no clock."""
