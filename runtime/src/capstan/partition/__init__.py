"""Cut a placed graph into parts, one a task, and messages, one a source, destination and leg."""
