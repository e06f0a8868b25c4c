"""What `capstanctl` says about a job: why it does not run, its tasks, its output. Pure."""
