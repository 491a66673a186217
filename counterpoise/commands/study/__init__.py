"""`counterpoise study …`."""
