"""`tf.distribute`: the part of TensorFlow's later namespace that tells a task about its cluster."""

from capstan.api import cluster_resolver

__all__ = ["cluster_resolver"]
