"""`counterpoise worker`, `counterpoise workers` and `counterpoise explain`."""
