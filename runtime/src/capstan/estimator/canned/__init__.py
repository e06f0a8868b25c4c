"""The models that `tf.estimator` has ready: linear ones, neural networks, and both at once."""
