"""Choose the device of each node. A session places only the nodes that are new in its graph."""
