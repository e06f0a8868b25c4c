"""Which device runs which node: pure, incremental over the graph of a session."""
