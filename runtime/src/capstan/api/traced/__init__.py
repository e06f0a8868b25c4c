"""Functions that TensorFlow traces: `tf.function` and its kin (python/eager)."""
