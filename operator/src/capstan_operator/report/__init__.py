"""The reports of `capstanctl` on a job: why it does not run, its tasks, its output. Pure."""
