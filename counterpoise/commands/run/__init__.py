"""`counterpoise run`."""
