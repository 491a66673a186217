"""The commands of `counterpoise bench`, one module per group."""
