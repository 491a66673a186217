"""`counterpoise study …`: create, steer and watch studies."""
