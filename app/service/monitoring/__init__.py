"""Events, metrics and checks of the installation."""
