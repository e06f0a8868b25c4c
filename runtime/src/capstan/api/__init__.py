"""TensorFlow 1's functions over the rows of ops: what `tf.` offers, a module a family."""
