"""The worker: asks for jobs, has them evaluated, and tells what came out, whatever happens in between."""
