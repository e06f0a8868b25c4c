"""The objects of a job on a cluster: its pods, its Service and its tasks' environment. Pure."""
