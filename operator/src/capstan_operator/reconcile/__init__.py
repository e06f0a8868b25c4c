"""Decide the next actions for a job from observed facts: `plan` and its policies. Pure."""
