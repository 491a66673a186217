"""Attacks on a server that is started for it, on this machine; bounded in number and time."""
