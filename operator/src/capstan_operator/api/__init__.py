"""The TrainingJob as values: names, spec, status, and how text becomes them. Pure."""
