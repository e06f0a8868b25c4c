"""Keras's training on graphs: `compile`, `fit`, `evaluate` and `predict` (python/keras/engine)."""
