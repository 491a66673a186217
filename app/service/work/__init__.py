"""What workers call: ask, tell, heartbeat, release; and the expiry of their leases."""
