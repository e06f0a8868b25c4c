"""`tf.train`: optimizers, checkpoints, and sessions that survive the loss of a task."""
