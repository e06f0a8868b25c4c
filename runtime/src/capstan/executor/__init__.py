"""Run the part of a step that one task has: its generated code, buffers and segments."""
