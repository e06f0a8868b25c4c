"""The devices of a task: their memory, copies into and out of it, and their streams."""
