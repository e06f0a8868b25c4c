"""Turn jobs of other operators into TrainingJobs. Pure."""
