"""The graph that a program builds (operations, tensors, gradients), and the registry of ops."""
