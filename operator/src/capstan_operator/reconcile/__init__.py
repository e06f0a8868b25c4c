"""The deciding half: what is seen in, what to do out. No clock, no process, no cluster. Pure."""
