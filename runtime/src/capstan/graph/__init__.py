"""The compiler's passes over the graph of a step, such as prune, inline, lift and simplify."""
