"""The commands, by topic. Each imports what it needs only when it runs."""
