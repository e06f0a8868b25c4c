"""`tf.TensorArray` and `tf.TensorArraySpec` (python/ops/tensor_array_ops.py)."""

from capstan.api.tensor_array_spec import TensorArraySpec
from capstan.framework import list_array as _list_array  # noqa: F401 TensorArray makes its objects
from capstan.framework.tensor_array import TensorArray

__all__ = ["TensorArray", "TensorArraySpec"]
