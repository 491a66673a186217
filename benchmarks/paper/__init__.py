"""The protocol and tables of [SBP-BO]."""
