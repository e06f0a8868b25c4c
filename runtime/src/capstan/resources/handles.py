"""Handles that leave their task, and the objects behind them.

In a part, the handle of a variable, a queue, a stack or a TensorArray is the object itself. The
handle that another task or another step of the same task gets is an array: a ResourceHandleProto
with a number. The task of the object finds the object again by this number. Other tasks only pass
the array on.
"""

import secrets
import threading
import weakref
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes
from capstan.core.arrays import Array


class Handles:
    """The objects of one task whose handles have left a part. Thread-safe.

    The table keeps no object alive.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._objects: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

    def sent(self, handle: Any, device: str) -> Array:
        """Return the array that stands for `handle`, of dtype `dtypes.np_resource`.

        `handle` is an object with a `container` and a `name`, or an array that this task passes on.
        """
        from tensorboard.compat.proto import resource_handle_pb2

        if isinstance(handle, np.ndarray):
            return handle
        with self._lock:
            number = self._numbers.get(handle)
            if number is None:
                number = secrets.randbits(63)
                self._numbers[handle] = number
                self._objects[number] = handle
        proto = resource_handle_pb2.ResourceHandleProto(
            device=device, container=handle.container, name=handle.name, hash_code=number
        )
        return np.frombuffer(proto.SerializeToString(), dtypes.np_resource)

    def received(self, value: Any) -> Any:
        """Return the object that `value` stands for.

        Return `value` itself if it is not a handle, or if the object is on another task or is gone.

        Raises:
            InvalidArgumentError: `value` is a handle that cannot be read. A client may feed any
                bytes as a handle.
        """
        from google.protobuf import message
        from tensorboard.compat.proto import resource_handle_pb2

        if not isinstance(value, np.ndarray) or value.dtype != dtypes.np_resource:
            return value
        try:
            proto = resource_handle_pb2.ResourceHandleProto.FromString(value.tobytes())
        except message.DecodeError:
            raise errors.InvalidArgumentError(
                None,
                None,
                "A handle is not a serialized ResourceHandleProto. Feed a fetched handle",
            ) from None
        with self._lock:
            return self._objects.get(proto.hash_code, value)
