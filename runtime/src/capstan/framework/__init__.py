"""The graph that a program builds: operations, tensors, scopes, gradients, and a row for each op."""
