"""How the cost of a step grows with the size of a cluster, a graph or a queue."""
