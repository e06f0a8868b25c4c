"""Run parts: segments of generated code, contexts that own buffers, and who may run when."""
