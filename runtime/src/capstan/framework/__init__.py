"""The graph that a program builds: operations, tensors, scopes and gradients. Also the ops."""
