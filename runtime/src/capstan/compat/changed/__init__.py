"""What `tf.compat.v2` has with another meaning than `tf`: rows of arguments, and functions."""
