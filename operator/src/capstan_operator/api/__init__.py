"""The TrainingJob as values: names, spec and status, and their parser. Pure."""
