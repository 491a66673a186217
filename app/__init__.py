"""The Counterpoise server: HTTP, use cases, storage and the optimiser."""
