"""Run parts: generated code, the buffers of each step, and the order of segments."""
