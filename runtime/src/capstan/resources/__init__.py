"""State that outlives a step: variables, by container and name."""
