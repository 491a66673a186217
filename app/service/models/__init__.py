"""What the models of steps predict, and how well."""
