"""The routes, by who calls them and what they are about."""
