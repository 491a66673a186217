"""Who may do what, and limits on what a request may cost."""
