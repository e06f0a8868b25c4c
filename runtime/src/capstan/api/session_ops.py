"""TensorFlow 1's tensors that a session keeps between its steps (python/ops/session_ops.py)."""

from typing import Any

from capstan.api import context, creation_ops
from capstan.core import devices, dtypes
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["delete_session_tensor", "get_session_handle", "get_session_tensor"]


def get_session_handle(data: Any, name: str | None = None) -> Any:
    """Return a tensor that makes `data` outlive a step. Fetching it gives a TensorHandle.

    Raises:
        TypeError: `data` is not a tensor.
    """
    if not isinstance(data, graphs.Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with context.colocate_with(data):
        return raw.GetSessionHandle(data, name=name)


def get_session_tensor(handle: str, dtype: Any, name: str | None = None) -> tuple[Any, Any]:
    """Return a placeholder for a handle, and the tensor with that handle.

    `handle` is used only to find the device of the tensor. Feed the handle to the placeholder.
    """
    with context.device(_device(handle)):
        holder = creation_ops.placeholder(dtypes.string)
        return holder, raw.GetSessionTensor(holder, dtype=dtype, name=name)


def delete_session_tensor(handle: str, name: str | None = None) -> tuple[Any, Any]:
    """Return a placeholder for a handle, and an operation that deletes the tensor."""
    with context.device(_device(handle)):
        holder = creation_ops.placeholder(dtypes.string)
        return holder, raw.DeleteSessionTensor(holder, name=name)


def _device(handle: str) -> str:
    return devices.canonical(str(handle).rsplit(";", 1)[-1])
