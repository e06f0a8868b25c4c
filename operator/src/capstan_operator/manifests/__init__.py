"""What a job becomes on a cluster: its pods, its Service, and what its tasks are told. Pure."""
