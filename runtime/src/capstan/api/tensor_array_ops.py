"""`tf.TensorArray` (python/ops/tensor_array_ops.py)."""

from capstan.framework.tensor_array import TensorArray

__all__ = ["TensorArray"]
