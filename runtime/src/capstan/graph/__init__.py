"""The compiler's passes over the IR: prune, infer, simplify. Each takes a graph and returns another one."""
