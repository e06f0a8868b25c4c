"""The graph that a program builds: operations, tensors, scopes, gradients; a row for each op."""
