"""`counterpoise worker` and `counterpoise workers`."""
