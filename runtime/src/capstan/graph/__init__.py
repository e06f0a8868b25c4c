"""The compiler's passes over the IR: prune, infer, simplify. Each returns a new graph."""
