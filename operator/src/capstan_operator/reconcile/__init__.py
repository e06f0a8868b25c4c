"""Decide what to do about a job, from what is observed: `plan` and its policies. Pure."""
