"""Transfer from the cheap to the expensive objective, for two objectives."""
