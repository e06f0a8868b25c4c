"""What a task is told: the ClusterSpec and its environment. Pure."""
