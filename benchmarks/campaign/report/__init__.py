"""The page docs/benchmarks.md from the results on file."""
