"""Models of the objectives: Gaussian processes, how they are fitted and on what data."""
