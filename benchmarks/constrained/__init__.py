"""Problems with limits and hidden constraints, beside other rules and programs."""
