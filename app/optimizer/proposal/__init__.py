"""From a final population to the points that a step proposes."""
