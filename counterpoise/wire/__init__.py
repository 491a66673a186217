"""The shapes of what goes over the wire, the same for server and client."""
