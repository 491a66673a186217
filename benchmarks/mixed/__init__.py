"""Problems with categorical and discrete variables, beside random search and pymoo."""
