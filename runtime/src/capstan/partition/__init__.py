"""Cut a placed graph into one part per task, and messages between the parts."""
