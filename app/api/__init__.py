"""HTTP only: parse, authorise, call one service function, respond."""
