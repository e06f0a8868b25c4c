"""`tf.contrib`: the little of it that training between graphs uses, `tf.contrib.training`."""

from capstan.train import ps_strategy as training

__all__ = ["training"]
