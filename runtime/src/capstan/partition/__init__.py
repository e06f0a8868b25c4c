"""Cut a placed graph into one part per task, joined by one message per source, destination and leg."""
