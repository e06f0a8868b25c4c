"""Run parts: segments of generated code, the contexts that own their buffers, and who may run when."""
